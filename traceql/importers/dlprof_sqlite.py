"""DLProf databases, dlprof_dldb.sqlite: operations, and what DLProf made of them.

The tables hold a profile's operations, kernels and calls once, and an aggregation of
them for each time that DLProf was asked; a table or column may be missing.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Set
from pathlib import Path
from typing import TYPE_CHECKING, Any

from traceql.errors import ImportFailed
from traceql.importers import Context, Head, _dlprof_pair
from traceql.importers._once import run_mapping
from traceql.importers._sqlite import SqliteSource, missing_bytes, settled
from traceql.importers._tables import declared, decode_lenient
from traceql.mapping import read_mapping

if TYPE_CHECKING:
    import duckdb

_HERE = Path(__file__).parent
# What the database alone says; what it says of the GPU; what it had added up.
KNOWN = (_HERE / "dlprof_sqlite.sql",)
OF_GPU = (_HERE / "dlprof_sqlite_gpu.sql",)
REPORTS = (_HERE / "dlprof_sqlite_reports.sql",)
# Tables of its own in this schema: another source may share the connection.
SCHEMA = "dlprof"
_HINT = "Aggregate the profile again: dlprof --database=nsys_profile.sqlite"


class DlprofSqlite:
    """Importer of DLProf databases."""

    name = "dlprof-sqlite"
    version = 1
    title = "DLProf database (dlprof_dldb.sqlite)"

    def sniff(self, head: Head) -> float:
        """Sure by the tables, whatever the file is called."""
        return 0.95 if is_database(head.sqlite_tables) else 0.0

    def read(
        self, path: Path, con: duckdb.DuckDBPyConnection, ctx: Context
    ) -> dict[str, Any]:
        """Imports one database; see `Importer.read`.

        Raises:
            ImportFailed: The database is damaged.
        """
        load(path, con, ctx)
        facts = map_loaded(con, ctx, *KNOWN, *OF_GPU, *REPORTS)
        captures = _dlprof_pair.captures(path.parent)
        exports = [c for c in captures if c.suffix == ".sqlite"]
        differ = [_dlprof_pair.difference(path, capture) for capture in exports]
        if all(differ):
            for differs in differ:
                warn_of_other(ctx, differs)
        return facts


IMPORTER = DlprofSqlite()


def warn_of_other(ctx: Context, differs: str | None) -> None:
    """Adds the finding that a capture beside a database is not joined with it."""
    ctx.diagnostics.add(
        "capture_differs",
        "warning",
        "The Nsight Systems capture beside the DLProf database is not the one that it "
        "was made of, or cannot be read: they are not joined.",
        example=differs,
    )


def is_database(tables: Set[str]) -> bool:
    """Whether tables of these names are those of a DLProf database."""
    return tables >= _dlprof_pair.SIGNS


def load(path: Path, con: duckdb.DuckDBPyConnection, ctx: Context) -> None:
    """Brings the tables of a database into the schema `dlprof` of the connection.

    Raises:
        ImportFailed: The database is damaged.
    """
    from adbc_driver_manager import Error

    con.create_function("lenient", decode_lenient, ["BLOB"], "VARCHAR")
    con.execute(f"CREATE SCHEMA {SCHEMA}; SET schema = '{SCHEMA}'")
    try:
        with settled(path) as database:
            missing = missing_bytes(database)
            if missing:
                raise ImportFailed(
                    f"{path}: the SQLite database is cut: {missing} bytes are missing "
                    "at its end",
                    hint="Copy the file again. " + _HINT,
                )
            source = SqliteSource(database)
            ddl = (_HERE / "dlprof_sqlite_source.sql").read_text()
            for name, relation in declared(con, ddl).items():
                if name not in source.tables:
                    continue
                lost = source.load(con, f'INSERT INTO "{name}"', relation)
                for column, count in lost.items():
                    ctx.diagnostics.add(
                        f"lossy_{name}_{column}",
                        "data_loss",
                        f"Values of {name}.{column} do not fit "
                        f"{relation.columns[column]}: they are NULL.",
                        count=count,
                    )
    except (sqlite3.Error, Error) as error:
        raise ImportFailed(
            f"{path}: the SQLite database is damaged: {error}", hint=_HINT
        ) from error
    finally:
        con.execute("SET schema = 'main'")
        con.remove_function("lenient")  # another source brings its own


def map_loaded(
    con: duckdb.DuckDBPyConnection, ctx: Context, *mappings: Path
) -> dict[str, Any]:
    """Runs mappings over the tables that `load` brought.

    Returns:
        Columns of the run table.
    """
    con.execute(f"SET schema = '{SCHEMA}'")
    try:
        facts = run_mapping(con, ctx, read_mapping(*mappings))
    finally:
        con.execute("SET schema = 'main'")
    environment, host = facts.pop("environment", None), facts.pop("host", None)
    if ctx.keep_environment:
        facts |= {"host": host, "extra": _joined(facts.get("extra"), environment)}
    return facts


def _joined(*objects: str | None) -> str | None:
    """JSON objects as one."""
    inner = [o[1:-1] for o in objects if o and o != "{}"]
    return "{" + ",".join(inner) + "}" if inner else None
