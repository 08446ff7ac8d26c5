"""Nsight exports that lack a table, or a column, of those that the mapping uses."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import duckdb
import pytest

import traceql
from fixtures.nsight_more import write_nsight_more
from traceql.errors import UnrecognisedInput
from traceql.importers import _nsight
from traceql.importers._tables import declared
from traceql.ingest import Outcome

FIXTURES = Path(__file__).parents[2] / "fixtures" / "nsight"
CAPTURE = FIXTURES / "nsight_2026.sqlite"


def _one(store: traceql.Store, path: Path, **options: object) -> Outcome:
    (outcome,) = store.ingest(path, **options)
    return outcome


def _lost(outcome: Outcome) -> dict[str, int]:
    return {f.code: f.count for f in outcome.findings if f.severity == "data_loss"}


def _copy(folder: Path, statement: str, of: Path = CAPTURE) -> Path:
    """A fixture after a statement."""
    path = folder / "changed.sqlite"
    shutil.copyfile(of, path)
    with closing(sqlite3.connect(path)) as con:
        con.execute(statement)
        con.commit()
    return path


def _declared() -> dict[str, list[str]]:
    """Tables and columns that the mapping uses, as the importer declares them."""
    folder = Path(_nsight.__file__).parent
    ddl = "\n".join((folder / n).read_text() for n in _nsight.SOURCES)
    with duckdb.connect() as con:
        return {n: list(r.columns) for n, r in declared(con, ddl).items()}


def _columns(path: Path) -> dict[str, list[str]]:
    """Tables and columns of a file that the mapping uses."""
    used = _declared()
    with closing(sqlite3.connect(path)) as con:
        return {
            table: [
                c[1]
                for c in con.execute(f'PRAGMA table_info("{table}")')
                if c[1] in used[table]
            ]
            for (table,) in con.execute(
                "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name"
            ).fetchall()
            if table in used
        }


@pytest.fixture(scope="module")
def more(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of the rarer tables, without most of what one macro maps alike."""
    path = tmp_path_factory.mktemp("more") / "more.sqlite"
    write_nsight_more(path)
    with closing(sqlite3.connect(path)) as con:
        tables = con.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        for (table,) in tables.fetchall():
            if table.startswith("OPENMP") and not table.endswith("_TASK"):
                con.execute(f"DROP TABLE {table}")
        con.commit()
    return path


ALL_TABLES = sorted(_columns(CAPTURE))


@pytest.mark.parametrize("table", ALL_TABLES)
def test_without_each_table(store: traceql.Store, tmp_path: Path, table: str) -> None:
    """Exports are lazy: no table is missed by the others' rows."""
    path = _copy(tmp_path, f'DROP TABLE "{table}"')
    outcome = _one(store, path)
    if table == "StringIds":
        # Nothing is a capture without its names.
        assert isinstance(outcome.error, UnrecognisedInput)
        return
    assert outcome.error is None and outcome.run is not None
    ours = {
        "CUPTI_ACTIVITY_KIND_KERNEL": ("kernel", 196),
        "CUPTI_ACTIVITY_KIND_MEMCPY": ("memcpy", 85),
        "CUPTI_ACTIVITY_KIND_MEMSET": ("memset", 14),
        "NVTX_EVENTS": ("annotation", 218),
    }
    for name, (schema_table, count) in ours.items():
        assert outcome.run.rows.get(schema_table, 0) == (0 if name == table else count)


def test_without_each_rarer_table(
    store: traceql.Store, tmp_path: Path, more: Path
) -> None:
    """The same of MPI, memory, network, payloads, samples: one by one."""
    tables = sorted(_columns(more))
    assert len(tables) > 40
    whole = _one(store, more, with_samples=True)
    assert whole.run is not None
    for table in tables:
        path = _copy(tmp_path, f'DROP TABLE "{table}"', of=more)
        outcome = _one(store, path, with_samples=True)
        if table == "StringIds":
            continue
        assert outcome.error is None, (table, outcome.error)
        assert outcome.run is not None
        assert outcome.run.rows["run"] == 1


def _without_column(con: sqlite3.Connection, table: str, column: str) -> None:
    names = [c[1] for c in con.execute(f'PRAGMA table_info("{table}")')]
    kept = ", ".join(f'"{n}"' for n in names if n != column) or "1 AS nothing"
    con.execute(f'CREATE TABLE cut AS SELECT {kept} FROM "{table}"')
    con.execute(f'DROP TABLE "{table}"')
    con.execute(f'ALTER TABLE cut RENAME TO "{table}"')


# Rows of these tables stand even where their time or key is gone, or mean nothing then.
_NEEDED = {"start", "timestamp", "eventType", "rawTimestamp"}


@pytest.mark.parametrize("which", ["newest", "more"])
def test_without_each_column(
    store: traceql.Store, tmp_path: Path, more: Path, which: str
) -> None:
    """Every column that the mapping uses, missing once: rows stay as far as time does.

    Each import lacks one column of every table, the next one the next.
    """
    source = CAPTURE if which == "newest" else more
    columns = _columns(source)
    rounds = max(len(names) for names in columns.values())
    whole = _one(store, source, with_samples=True).run
    assert whole is not None
    tried = 0
    for number in range(rounds):
        path = tmp_path / f"without-{number}.sqlite"
        shutil.copyfile(source, path)
        gone = {t: names[number] for t, names in columns.items() if number < len(names)}
        # Names without their ids or texts are another matter: see the table's test.
        gone.pop("StringIds", None)
        with closing(sqlite3.connect(path)) as con:
            for table, column in gone.items():
                _without_column(con, table, column)
            con.commit()
        tried += len(gone)
        outcome = _one(store, path, with_samples=True)
        assert outcome.error is None, (gone, outcome.error)
        assert outcome.run is not None
        for table, ours in (
            ("CUPTI_ACTIVITY_KIND_KERNEL", "kernel"),
            ("CUPTI_ACTIVITY_KIND_MEMCPY", "memcpy"),
            ("NVTX_EVENTS", "annotation"),
            ("CUDA_GPU_MEMORY_USAGE_EVENTS", "memory_event"),
        ):
            if gone.get(table) not in _NEEDED:
                found = outcome.run.rows.get(ours, 0)
                assert found == whole.rows.get(ours, 0), (gone.get(table), ours)
    print(f"{which}: {tried} columns missing once each")


def test_strings_without_columns(store: traceql.Store, tmp_path: Path) -> None:
    """No texts at all: rows without names, which is said."""
    path = tmp_path / "nameless.sqlite"
    shutil.copyfile(CAPTURE, path)
    with closing(sqlite3.connect(path)) as con:
        _without_column(con, "StringIds", "value")
        con.commit()
    outcome = _one(store, path)
    assert outcome.error is None and outcome.run is not None
    assert _lost(outcome)["unnamed_kernels"] == 196
