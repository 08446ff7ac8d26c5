"""Parquet exports: the answers of the SQLite export of the same capture, row by row.

The nsys that Debian carries writes none, so they are made here of SQLite exports, as
nsys 2023.4 was seen to write them: one file a table, ids and sizes unsigned, flags
boolean, small row groups, rows in the same order.
"""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import traceql
from traceql import schema
from traceql.errors import ImportFailed
from traceql.importers import _nsight

FIXTURES = Path(__file__).parents[2] / "fixtures" / "nsight"
_UNSIGNED = {
    *("globalPid", "globalTid", "endGlobalTid", "contextId", "greenContextId"),
    *("streamId", "nameId", "demangledName", "shortName", "mangledName", "bytes"),
    *("graphNodeId", "domainId", "category", "rangeId", "uint64Value", "pid"),
    *("utcEpochNs", "totalMemory", "memoryBandwidth", "duration", "startTime"),
}
_FLAGS = {"isDiscrete", "isGreenContext", "isMigrated"}
_ROW_GROUP = 100


def parquetdir(export: Path, folder: Path) -> Path:
    """The Parquet export of the capture of a SQLite export."""
    folder.mkdir(parents=True)
    with closing(
        sqlite3.connect(f"file:{export}?mode=ro&immutable=1", uri=True)
    ) as con:
        con.text_factory = bytes
        tables = con.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        for name in [str(row[0], "utf-8") for row in tables]:
            columns = [
                (str(row[1], "utf-8"), str(row[2], "utf-8"))
                for row in con.execute(f'PRAGMA table_info("{name}")')
            ]
            rows = con.execute(f'SELECT * FROM "{name}" ORDER BY rowid').fetchall()
            arrays = {
                column: _array(column, type_, [row[i] for row in rows])
                for i, (column, type_) in enumerate(columns)
            }
            pq.write_table(
                pa.table(arrays),
                folder / f"{name}.parquet",
                row_group_size=_ROW_GROUP,
                compression="none",
            )
    return folder


def _array(column: str, type_: str, values: list[Any]) -> pa.Array:
    if column in _FLAGS:
        return pa.array([None if v is None else bool(v) for v in values], pa.bool_())
    if any(isinstance(v, bytes) for v in values) or "TEXT" in type_:
        texts = [v if v is None or isinstance(v, bytes) else b"%d" % v for v in values]
        # Not checked, as nsys does not: names may be no UTF-8.
        array = pa.array(texts, pa.binary())
        return array if "BLOB" in type_ else array.view(pa.string())
    if any(isinstance(v, float) for v in values) or type_ in ("REAL", "FLOAT"):
        return pa.array(values, pa.float64())
    if column in _UNSIGNED:
        return pa.array([v and v % 2**64 for v in values], pa.uint64())
    return pa.array(values, pa.int64())


def rows_of(store: traceql.Store, run_id: str) -> dict[str, list[tuple[Any, ...]]]:
    """All rows of a run by table, but for what names the source itself."""
    con = store.session(run_id).con
    own = "run_id, source_uri, source_sha256, source_bytes, format, importer, "
    own += "importer_version, ingested_at"
    return {
        table: con.execute(
            f"SELECT * EXCLUDE ({own if table == 'run' else 'run_id'}) "
            f"FROM {table} ORDER BY ALL"
        ).fetchall()
        for table in schema.load().tables
    }


def _same(store: traceql.Store, export: Path, folder: Path) -> None:
    outcomes = store.ingest(export, folder)
    runs = [outcome.run for outcome in outcomes]
    assert runs[0] is not None and runs[1] is not None, outcomes
    assert runs[0].run_id != runs[1].run_id
    sqlite, parquet = (rows_of(store, run.run_id) for run in runs if run)
    for table, rows in sqlite.items():
        assert parquet[table] == rows, table


@pytest.mark.parametrize("generation", ["2020", "2022_4", "2026"])
@pytest.mark.parametrize("chunk_rows", [250, 250_000])
def test_answers_of_sqlite(
    store: traceql.Store,
    tmp_path: Path,
    generation: str,
    chunk_rows: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """In one chunk, and in chunks of several row groups."""
    monkeypatch.setattr(_nsight, "_CHUNK_ROWS", chunk_rows)
    export = FIXTURES / f"nsight_{generation}.sqlite"
    _same(store, export, parquetdir(export, tmp_path / "x_pqtdir"))


@pytest.mark.corpus
@pytest.mark.parametrize(
    "name",
    [
        "torch-ex-2024.6.2.sqlite",
        "pipit-saxpy-mpi.sqlite",
        "flameox-cuda-graph-2025.5.2.sqlite",
        "GindaChen-healthy_1pct.sqlite",
    ],
)
def test_public_captures(
    store: traceql.Store, corpus: Path, tmp_path: Path, name: str
) -> None:
    export = corpus / "nsys" / name
    _same(store, export, parquetdir(export, tmp_path / "x_pqtdir"))


def test_hard_values(store: traceql.Store, tmp_path: Path) -> None:
    """Numbers of 2^63 and more, names that are no UTF-8, binary payloads."""
    export = tmp_path / "x.sqlite"
    shutil.copyfile(FIXTURES / "nsight_2026.sqlite", export)
    with closing(sqlite3.connect(export)) as con:
        con.executescript(
            "UPDATE NVTX_EVENTS SET uint64Value = -2 WHERE eventType = 34;"
            "UPDATE NVTX_EVENTS SET binaryData = x'ff00fe80' WHERE eventType = 59;"
            "UPDATE StringIds SET value = CAST(x'6162ff' AS TEXT) WHERE id = "
            "(SELECT max(demangledName) FROM CUPTI_ACTIVITY_KIND_KERNEL);"
        )
    _same(store, export, parquetdir(export, tmp_path / "x_pqtdir"))
    session = store.session("@latest")
    assert session.con.execute(
        "SELECT DISTINCT payload::VARCHAR FROM annotation WHERE kind = 'mark'"
    ).fetchall() == [(str(2**64 - 2),)]
    assert session.con.execute(
        "SELECT count(*) > 0 FROM kernel WHERE name = 'ab\N{REPLACEMENT CHARACTER}'"
    ).fetchall() == [(True,)]


def test_named_by_its_content(store: traceql.Store, tmp_path: Path) -> None:
    """The folder's own name and hidden files matter to nothing; a file's name does."""
    export = FIXTURES / "nsight_2022_4.sqlite"
    first = parquetdir(export, tmp_path / "a")
    second = parquetdir(export, tmp_path / "b_pqtdir")
    (second / ".DS_Store").write_bytes(b"\x00")
    (one,), (two,) = store.ingest(first), store.ingest(f"{second}/")
    assert (one.status, two.status) == ("imported", "present")
    assert one.run is not None
    size = sum(p.stat().st_size for p in first.iterdir())
    assert one.run.manifest.source["bytes"] == size
    (second / "OSRT_API.parquet").unlink(missing_ok=True)
    (second / "PROCESSES.parquet").unlink()
    (three,) = store.ingest(second)
    assert three.status == "imported"


def test_found_in_a_folder(store: traceql.Store, tmp_path: Path) -> None:
    """As one capture, not as its files; other Parquet files are passed over."""
    parquetdir(FIXTURES / "nsight_2020.sqlite", tmp_path / "night" / "a" / "x_pqtdir")
    pq.write_table(pa.table({"n": [1]}), tmp_path / "night" / "StringIds.parquet")
    outcomes = store.ingest(tmp_path / "night", jobs=2)
    assert [(Path(o.source).name, o.status) for o in outcomes] == [
        ("x_pqtdir", "imported")
    ]


def test_one_file_of_it_names_the_folder(store: traceql.Store, tmp_path: Path) -> None:
    folder = parquetdir(FIXTURES / "nsight_2020.sqlite", tmp_path / "x_pqtdir")
    (outcome,) = store.ingest(folder / "StringIds.parquet")
    assert outcome.error is not None and outcome.error.hint is not None
    assert str(folder) in outcome.error.hint


@pytest.mark.parametrize("table", ["StringIds", "CUPTI_ACTIVITY_KIND_KERNEL"])
@pytest.mark.parametrize("kept", [0.0, 0.5])
def test_damaged(store: traceql.Store, tmp_path: Path, table: str, kept: float) -> None:
    """A cut file is an error that names it, and leaves no run."""
    folder = parquetdir(FIXTURES / "nsight_2026.sqlite", tmp_path / "x_pqtdir")
    path = folder / f"{table}.parquet"
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * kept)])
    (outcome,) = store.ingest(folder)
    assert isinstance(outcome.error, ImportFailed)
    assert str(folder) in str(outcome.error) and outcome.error.hint
    assert store.runs() == []


def test_corrupt_pages(store: traceql.Store, tmp_path: Path) -> None:
    """A file whose end is whole and whose pages are not."""
    folder = parquetdir(FIXTURES / "nsight_2026.sqlite", tmp_path / "x_pqtdir")
    path = folder / "CUPTI_ACTIVITY_KIND_KERNEL.parquet"
    content = bytearray(path.read_bytes())
    content[4:2000] = b"\xff" * 1996
    path.write_bytes(content)
    (outcome,) = store.ingest(folder)
    assert isinstance(outcome.error, ImportFailed)
    assert store.runs() == []
