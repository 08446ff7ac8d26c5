"""Nesting of host ranges: depth and parent of each, in SQL, without an interval join.

A running sum of +1 at each start and -1 at each end gives the depth; the parent is
the latest start one level up. That is right while a thread's ranges nest. Threads on
which ranges cross take a pass with a stack, over sorted Arrow batches.

Invariant: a parent starts no later and ends no earlier than its child, on the same
thread, and is the tightest such range that was open.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

if TYPE_CHECKING:
    import duckdb

_FOREVER = 9_223_372_036_854_775_807

# Ends come before starts at the same moment, but for ranges without length, whose
# end follows their start. Of starts at the same moment the longest is the outermost.
_SWEEP = f"""
CREATE OR REPLACE TABLE nest_range AS
SELECT id, pid, tid, ts_ns, greatest(coalesce(end_ns, {_FOREVER}), ts_ns) AS end_ns
FROM {{relation}};

CREATE OR REPLACE TABLE nest_open AS
SELECT pid, tid, id, end_ns, rank, depth
FROM (
    SELECT
        pid, tid, id, end_ns, step,
        row_number() OVER moments AS rank,
        CAST(sum(step) OVER moments AS BIGINT) - 1 AS depth
    FROM (
        SELECT pid, tid, ts_ns AS at_ns, 1 AS turn, 1 AS step, id, end_ns
        FROM nest_range
        UNION ALL
        SELECT pid, tid, end_ns, CASE WHEN end_ns > ts_ns THEN 0 ELSE 2 END, -1, id,
            end_ns
        FROM nest_range
    )
    WINDOW moments AS (
        PARTITION BY pid, tid ORDER BY at_ns, turn, end_ns DESC, id
        ROWS UNBOUNDED PRECEDING
    )
)
WHERE step = 1;

CREATE OR REPLACE TABLE nested AS
SELECT child.id, parent.id AS parent_id, child.depth, false AS crossing,
    child.pid, child.tid, coalesce(child.end_ns > parent.end_ns, false) AS crosses
FROM nest_open AS child
ASOF LEFT JOIN nest_open AS parent
    ON child.pid IS NOT DISTINCT FROM parent.pid
    AND child.tid IS NOT DISTINCT FROM parent.tid
    AND child.depth - 1 = parent.depth
    AND child.rank > parent.rank;

CREATE OR REPLACE TABLE nest_crossed AS
SELECT DISTINCT pid, tid FROM nested WHERE crosses;
"""


def nest(con: duckdb.DuckDBPyConnection, relation: str) -> None:
    """Makes the table `nested` (id, parent_id, depth, crossing) of a relation.

    Args:
        con: Connection that sees the relation.
        relation: Name, or SELECT in parentheses, with id, pid, tid, ts_ns, end_ns;
            an end of NULL lasts for ever.
    """
    con.execute(_SWEEP.format(relation=relation))
    if con.execute("SELECT 1 FROM nest_crossed LIMIT 1").fetchall():
        _redo_crossed(con)
    con.execute("DROP TABLE nest_range; DROP TABLE nest_open; DROP TABLE nest_crossed")


def _redo_crossed(con: duckdb.DuckDBPyConnection) -> None:
    of_crossed = "r.pid IS NOT DISTINCT FROM c.pid AND r.tid IS NOT DISTINCT FROM c.tid"
    # A cursor of its own: a stream holds its connection until its end.
    ranges = (
        con.cursor()
        .sql(
            "SELECT r.pid, r.tid, r.id, r.ts_ns, r.end_ns FROM nest_range AS r "
            f"SEMI JOIN nest_crossed AS c ON {of_crossed} "
            "ORDER BY r.pid, r.tid, r.ts_ns, r.end_ns DESC, r.id"
        )
        .to_arrow_reader(65_536)
    )
    stacked = pa.Table.from_batches(_stack_pass(ranges), schema=_NESTED)
    con.execute(f"DELETE FROM nested AS r USING nest_crossed AS c WHERE {of_crossed}")
    con.register("nest_stacked", stacked)
    con.execute("INSERT INTO nested BY NAME SELECT * FROM nest_stacked")
    con.unregister("nest_stacked")


_NESTED = pa.schema(
    {
        "id": pa.int64(),
        "parent_id": pa.int64(),
        "depth": pa.int64(),
        "crossing": pa.bool_(),
    }
)


@dataclass
class _Open:
    """A range on the stack; `crossing` may turn true until it leaves."""

    id: int
    start_ns: int
    end_ns: int
    parent_id: int | None
    depth: int
    crossing: bool = False


def _stack_pass(ranges: pa.RecordBatchReader) -> Iterator[pa.RecordBatch]:
    """Nests ranges sorted by thread, start, longest first; yields what has left."""
    thread: tuple[int | None, int | None] | None = None
    stack: list[_Open] = []
    for batch in ranges:
        left: list[_Open] = []
        columns = (batch.column(i).to_pylist() for i in range(5))
        for pid, tid, id_, start_ns, end_ns in zip(*columns, strict=True):
            if (pid, tid) != thread:
                thread = (pid, tid)
                left += stack
                stack = []
            still_open: list[_Open] = []
            for range_ in stack:
                over = range_.end_ns < start_ns or (
                    range_.end_ns == start_ns and range_.start_ns < start_ns
                )
                (left if over else still_open).append(range_)
            stack = still_open
            own = _Open(id_, start_ns, end_ns, None, 0)
            for range_ in stack:
                if range_.end_ns < end_ns:
                    range_.crossing = own.crossing = True
            holder = next((r for r in reversed(stack) if r.end_ns >= end_ns), None)
            if holder is not None:
                own.parent_id, own.depth = holder.id, holder.depth + 1
            stack.append(own)
        yield _batch(left)
    yield _batch(stack)


def _batch(ranges: list[_Open]) -> pa.RecordBatch:
    rows = [
        {"id": r.id, "parent_id": r.parent_id, "depth": r.depth, "crossing": r.crossing}
        for r in ranges
    ]
    return pa.RecordBatch.from_pylist(rows, schema=_NESTED)
