"""Chunks of a table read where Arrow holds them, without a copy into DuckDB.

Invariant: what a view over a chunk shows is what a table loaded from it would hold.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pyarrow as pa

from traceql.importers._tables import BINARY, Relation, Tables

if TYPE_CHECKING:
    import duckdb

# 146 years to either side of the session's start: differences cannot overflow.
TIMES = "-4611686018427387904 AND 4611686018427387904"
_BOUNDS = {"TINYINT": 1 << 7, "SMALLINT": 1 << 15, "INTEGER": 1 << 31}


@contextmanager
def shown(
    con: duckdb.DuckDBPyConnection,
    source: Tables,
    relation: Relation,
    low: int,
    high: int,
    most_bytes: int,
) -> Iterator[bool | None]:
    """Shows a chunk as a temporary view of its table's name, private to `con`.

    Args:
        con: Connection that is to see it.
        source: What to read.
        relation: Table that the chunk is of.
        low: First row id.
        high: Last row id.
        most_bytes: What the chunk may take; DuckDB's limit does not count it.

    Yields:
        Whether the rows come sorted by time. None where there is no view, and the
        chunk must be loaded: it takes more, or holds what does not fit its columns or
        is no time.
    """
    with source.stream(relation, low, high) as stream:
        columns = source.select_list(relation, stream)
        rows = None
        numbers_bytes = (high - low + 1) * len(stream.schema) * 8
        if _is_plain(relation, stream.schema) and numbers_bytes <= most_bytes:
            rows = _held(stream, most_bytes)
    if rows is None:
        yield None
        return
    con.register("chunk_rows", rows)
    try:
        in_order = _order(con, relation, rows.schema)
        if in_order is not None:
            view = f'temp."{relation.name}"'
            con.execute(f"CREATE TEMP VIEW {view} AS SELECT {columns} FROM chunk_rows")
        yield in_order
        if in_order is not None:
            con.execute(f"DROP VIEW {view}")
    finally:
        con.unregister("chunk_rows")


def _held(stream: pa.RecordBatchReader, most_bytes: int) -> pa.Table | None:
    """The rows of a stream; None where they take more than `most_bytes`."""
    batches: list[pa.RecordBatch] = []
    taken = 0
    for batch in stream:
        taken += batch.nbytes
        if taken > most_bytes:
            return None
        batches.append(batch)
    return pa.Table.from_batches(batches, schema=stream.schema)


def _is_plain(relation: Relation, schema: pa.Schema) -> bool:
    """Whether all numbers come in types that need no check value by value."""
    for field in schema:
        declared = relation.columns[field.name]
        wanted = pa.float64() if declared == "DOUBLE" else pa.int64()
        if declared not in BINARY and field.type != wanted:
            return False
    return all(c in schema.names for c in {"start", "end"} & relation.columns.keys())


def _order(
    con: duckdb.DuckDBPyConnection, relation: Relation, schema: pa.Schema
) -> bool | None:
    """Whether the rows are sorted by time; None where some value does not do.

    A table without `start` never is: an event record may take its call's time.
    """
    fits = []
    for name in schema.names:
        bound = _BOUNDS.get(relation.columns[name])
        if bound is not None:
            fits.append(f'min("{name}") >= -{bound} AND max("{name}") < {bound}')
    late = "true"
    if "start" in relation.columns:
        fits.append(f'bool_and("start" BETWEEN {TIMES})')
        fits.append('count("start") = count(*)')
        late = '"start" < lag("start") OVER ()'
    if "end" in relation.columns:
        fits.append(f'bool_and("end" BETWEEN {TIMES})')
    # Of no values these say NULL, and all of none fit.
    sound = " AND ".join(f"coalesce({test}, true)" for test in fits) or "true"
    ((fit, in_order),) = con.execute(
        f"SELECT {sound}, count(*) FILTER (late) = 0 "
        f"FROM (SELECT *, {late} AS late FROM chunk_rows)"
    ).fetchall()
    return bool(in_order) if fit else None
