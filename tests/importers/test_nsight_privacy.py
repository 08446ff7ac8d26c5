"""Privacy: what machine, user and bystanders were stays out of store and report.

Looked for in every byte of every file, in every value of every Parquet file (their
pages are compressed), in the manifests and in the HTML report.
"""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import traceql
from fixtures.nsight_more import write_nsight_more

FIXTURES = Path(__file__).parents[2] / "fixtures" / "nsight"
PLANTED = ("never-store-me", "bystander", "fixture-user")
# Keys of the environment and metadata tables whose values tell of machine or user.
_TELLING = re.compile(
    r"Hostname|UserName|Kernel|CpuInfo|GpuInfo|NicInfo|LinuxPerfInfo|SystemUID"
    r"|NamespacePID|InstallDir|StoragePath|HOST|USER|DISPLAY_NAME|ARGUMENT|COMMAND"
    r"|WORKING_DIR|UUID|_PATH|_FILE$|TIME_LOCAL|SoftwareReleaseVersion"
)


def _texts(column: pa.ChunkedArray) -> list[str]:
    """All distinct values of a column as text, whatever its type."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        return [t for t in pc.unique(column).to_pylist() if t]
    if pa.types.is_nested(column.type):
        return [str(v) for v in column.to_pylist() if v]
    return []


def _held(store: traceql.Store) -> str:
    """Everything that a store says, as one text: file names, bytes and values."""
    parts: list[str] = []
    for path in sorted(Path(store.path).rglob("*")):
        if not path.is_file():
            continue
        parts += [str(path.relative_to(store.path)), path.read_bytes().decode("latin1")]
        if path.suffix == ".parquet":
            table = pq.read_table(path, partitioning=None)
            parts += [t for column in table.columns for t in _texts(column)]
            parts.append(str(table.schema.metadata))
    return "\n".join(parts)


def test_the_search_finds_what_is_there(store: traceql.Store) -> None:
    """Asked for, the environment is kept: the search must then see it."""
    store.ingest(FIXTURES / "nsight_2026.sqlite", keep_environment=True)
    assert "never-store-me" in _held(store)


@pytest.mark.parametrize("with_samples", [False, True])
def test_planted_secrets(
    store: traceql.Store, tmp_path: Path, with_samples: bool
) -> None:
    """A secret stands in every table that can carry one: none comes through."""
    more = tmp_path / "more.sqlite"
    write_nsight_more(more)
    files = [*sorted(FIXTURES.glob("*.sqlite")), more]
    planted = set()
    for file in files:
        data = file.read_bytes()
        planted |= {s for s in PLANTED if s.encode() in data}
    assert planted == set(PLANTED)
    outcomes = store.ingest(*files, with_samples=with_samples)
    assert [o.error for o in outcomes] == [None] * 5
    held = _held(store)
    for run in store.runs():
        page = store.report(tmp_path / f"{run.run_id}.html", run=run.run_id)
        held += page.read_text()
    assert "traceql" in held
    for secret in PLANTED:
        assert secret not in held, held[held.index(secret) - 200 :][:400]
    messages = str([f for o in outcomes for f in o.findings])
    assert not any(secret in messages for secret in PLANTED)


def _secrets(path: Path, traced: set[int]) -> set[str]:
    """What a real file tells of its machine, and the trace itself has no name for."""
    found: set[str] = set()
    with closing(sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)) as con:
        con.text_factory = lambda data: data.decode(errors="replace")
        tables = {t for (t,) in con.execute("SELECT name FROM sqlite_master")}
        names = "\n".join(v for (v,) in con.execute("SELECT value FROM StringIds") if v)
        if "NVTX_EVENTS" in tables:
            texts = con.execute("SELECT DISTINCT text FROM NVTX_EVENTS").fetchall()
            names += "\n".join(t for (t,) in texts if t)
        for table in ("TARGET_INFO_SYSTEM_ENV", "META_DATA_CAPTURE"):
            if table in tables:
                rows = con.execute(f"SELECT name, value FROM {table}").fetchall()
                found |= {v for n, v in rows if v and _TELLING.search(n)}
        for table in ("META_DATA_EXPORT", "EXPORT_META_DATA"):
            if table in tables:
                rows = con.execute(f"SELECT name, value FROM {table}").fetchall()
                found |= {v for n, v in rows if v and _TELLING.search(n)}
        if "ANALYSIS_FILE" in tables:
            found |= {f for (f,) in con.execute("SELECT filename FROM ANALYSIS_FILE")}
        if "PROCESSES" in tables:
            processes = con.execute("SELECT globalPid, name FROM PROCESSES").fetchall()
            known = {n for g, n in processes if g >> 24 & 0xFFFFFF in traced}
            names += "\n".join(n for n in known if n)
            found |= {n for _, n in processes if n and n not in known}
        texts_of_nsys = "DIAGNOSTIC_EVENT" in tables and con.execute(
            "SELECT text FROM DIAGNOSTIC_EVENT WHERE severity IN (2, 3)"
        )
        names += "\n".join(t for (t,) in texts_of_nsys or ())
    # Too short to mean anything, or a word that the trace's own names use.
    names += str(path)
    return {s for s in found if len(s) >= 6 and not s.isdigit() and s not in names}


@pytest.mark.parametrize("with_samples", [False, True])
def test_public_captures(
    store: traceql.Store, tmp_path: Path, corpus: Path, with_samples: bool
) -> None:
    """Host, user, command line, paths, kernel and process list of real files."""
    files = sorted((corpus / "nsys").glob("*.sqlite"))
    tried = 0
    for file in files:
        single = traceql.open_store(tmp_path / file.stem, create=True)
        (outcome,) = single.ingest(file, with_samples=with_samples)
        assert outcome.error is None and outcome.run is not None
        rows = single.sql("SELECT DISTINCT pid FROM thread WHERE pid IS NOT NULL")
        secrets = _secrets(file, {row["pid"] for row in rows.rows()})
        held = _held(single) + str(outcome.findings)
        if outcome.run.rows.get("kernel", 0) < 100 and not with_samples:
            held += single.report(tmp_path / f"{file.stem}.html").read_text()
        tried += len(secrets)
        assert [s for s in secrets if s in held] == [], file.name
    print(f"{len(files)} files, {tried} secrets looked for")
    assert tried > 500
