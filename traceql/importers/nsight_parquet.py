"""Nsight Systems Parquet exports: `nsys export --type parquetdir`, a folder.

Tables and columns are those of the SQLite export, so its mapping serves.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa

from traceql.errors import ImportFailed
from traceql.importers import Context, Head, _nsight, nsight_sqlite

if TYPE_CHECKING:
    from collections.abc import Set

_ENDING = ".parquet"


class NsightParquet:
    """Importer of folders with one Parquet file a table."""

    name = "nsight-parquet"
    # Its answers are those of the mapping that it shares.
    version = nsight_sqlite.IMPORTER.version
    title = "Nsight Systems Parquet export (a folder)"

    def sniff(self, head: Head) -> float:
        """Sure by the files' names, whatever the folder is called."""
        return 0.95 if _nsight.is_capture(_tables(head.entries)) else 0.0

    def read(
        self, path: Path, con: duckdb.DuckDBPyConnection, ctx: Context
    ) -> dict[str, Any]:
        """Imports one export; see `Importer.read`.

        Raises:
            ImportFailed: A file of it is damaged.
        """
        from traceql.importers._parquet import ParquetFolder

        try:
            return _nsight.import_tables(ParquetFolder(path), con, ctx)
        except (pa.ArrowException, OSError) as error:
            raise ImportFailed(
                f"{path}: the Parquet export is damaged: {error}",
                hint="Export the report again: nsys export --type parquetdir REPORT",
            ) from error


IMPORTER = NsightParquet()


def _tables(entries: Set[str]) -> frozenset[str]:
    return frozenset(
        entry.removesuffix(_ENDING) for entry in entries if entry.endswith(_ENDING)
    )
