"""Nsight Systems SQLite exports."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING, Any

from traceql.errors import ImportFailed
from traceql.importers import Context, Head, _nsight
from traceql.importers._sqlite import SqliteSource, missing_bytes, settled

if TYPE_CHECKING:
    import duckdb


class NsightSqlite:
    """Importer of `nsys export --type sqlite` files."""

    name = "nsight-sqlite"
    version = 3
    title = "Nsight Systems SQLite export"

    def sniff(self, head: Head) -> float:
        """Sure by the tables, whatever the file is called."""
        return 0.95 if _nsight.is_capture(head.sqlite_tables) else 0.0

    def read(
        self, path: Path, con: duckdb.DuckDBPyConnection, ctx: Context
    ) -> dict[str, Any]:
        """Imports one export; see `Importer.read`.

        Raises:
            ImportFailed: The database is damaged.
        """
        try:
            with settled(path) as database:
                missing = missing_bytes(database)
                if missing:
                    raise ImportFailed(
                        f"{path}: the SQLite database is cut: {missing} bytes are "
                        "missing at its end",
                        hint="Copy the file again, or export the report again.",
                    )
                return _nsight.import_tables(SqliteSource(database), con, ctx)
        except (sqlite3.Error, _adbc_error()) as error:
            raise ImportFailed(
                f"{path}: the SQLite database is damaged: {error}",
                hint="Export the report again: nsys export --type sqlite REPORT",
            ) from error


IMPORTER = NsightSqlite()


def _adbc_error() -> type[Exception]:
    from adbc_driver_manager import Error

    return Error
