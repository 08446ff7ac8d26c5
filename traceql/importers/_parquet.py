"""Folders of Parquet files, one a table, as DuckDB relations.

Invariant: a row id is the row's number in its file, from one: what SQLite numbers the
same rows with.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from traceql.importers._tables import BINARY, Relation, Tables

_BATCH_ROWS = 65_536


def table_names(folder: Path) -> frozenset[str]:
    """Names of the Parquet files of a folder, without their ending."""
    return frozenset(path.stem for path in folder.glob("*.parquet"))


class ParquetFolder(Tables):
    """One folder: what it holds, and streams over parts of it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.tables = set(table_names(folder))
        self._footer = cache(self._read_footer)

    def columns(self, table: str) -> set[str]:
        """Columns of a table that its file has; empty for an absent table."""
        if table not in self.tables:
            return set()
        return set(self._footer(table).schema.to_arrow_schema().names)

    def row_count(self, table: str) -> int:
        """How many rows a table has; 0 for an absent one."""
        return int(self._footer(table).num_rows) if table in self.tables else 0

    def chunks(self, table: str, rows: int) -> Iterator[tuple[int, int]]:
        """Row groups, put together until there are `rows`; see `Tables.chunks`."""
        low = 1
        for _, _, last in self._groups(table):
            if last - low + 1 >= rows:
                yield low, last
                low = last + 1
        if low <= self.row_count(table):
            yield low, self.row_count(table)

    @contextmanager
    def stream(
        self, relation: Relation, low: int | None = None, high: int | None = None
    ) -> Iterator[Any]:
        """An Arrow stream of the relation's present columns; see `Tables.stream`.

        Args:
            relation: What to read.
            low: First row id; the first of a row group.
            high: Last row id; the last of a row group.
        """
        groups = [
            (group, first)
            for group, first, last in self._groups(relation.name)
            if (low is None or first >= low) and (high is None or last <= high)
        ]
        with pq.ParquetFile(self._path(relation.name)) as file:
            types = {
                field.name: _plain_type(field.type, relation.columns[field.name])
                for field in file.schema_arrow
                if field.name in relation.columns and field.name not in relation.unread
            }
            schema = pa.schema(
                {"row_id": pa.int64()} | {n: t for n, t in types.items() if t}
            )
            yield pa.RecordBatchReader.from_batches(
                schema, _batches(file, groups, schema)
            )

    def _path(self, table: str) -> Path:
        return self._folder / f"{table}.parquet"

    def _read_footer(self, table: str) -> Any:
        return pq.read_metadata(self._path(table))

    def _groups(self, table: str) -> Iterator[tuple[int, int, int]]:
        """Number, first and last row id of each row group that has rows."""
        if table not in self.tables:
            return
        footer = self._footer(table)
        first = 1
        for group in range(footer.num_row_groups):
            rows = footer.row_group(group).num_rows
            if rows:
                yield group, first, first + rows - 1
            first += rows


def _batches(
    file: pq.ParquetFile, groups: list[tuple[int, int]], schema: pa.Schema
) -> Iterator[pa.RecordBatch]:
    """The rows of some row groups (number, first row id) as `schema` has them."""
    names = [name for name in schema.names if name != "row_id"]
    for group, row_id in groups:
        first = row_id
        # One thread: chunks are read side by side as it is.
        for batch in file.iter_batches(
            _BATCH_ROWS, row_groups=[group], columns=names, use_threads=False
        ):
            rows = batch.num_rows
            columns = [pc.cumulative_sum(pa.repeat(1, rows), start=first - 1)]
            for name in names:
                columns.append(_plain(batch.column(name), schema.field(name).type))
            yield pa.RecordBatch.from_arrays(columns, schema=schema)
            first += rows


def _plain(column: pa.Array, type_: pa.DataType) -> pa.Array:
    if column.type == pa.uint64() and type_ == pa.int64():
        # Numbers of the upper half of 64 bits are negative, as in SQLite.
        return column.view(type_)
    if type_ == pa.binary() and not _is_text(column.type):
        column = column.cast(pa.string())
    return column.cast(type_)


def _plain_type(found: pa.DataType, declared: str) -> pa.DataType | None:
    """The type in which a column is streamed; None for one that cannot be read."""
    if pa.types.is_nested(found):
        return None
    if declared in BINARY:
        return pa.binary()
    if found == pa.uint64():
        return pa.int64()
    return pa.float64() if declared == "DOUBLE" else found


def _is_text(found: pa.DataType) -> bool:
    return any(
        is_(found)
        for is_ in (
            pa.types.is_string,
            pa.types.is_binary,
            pa.types.is_large_string,
            pa.types.is_large_binary,
        )
    )
