"""Nesting of host ranges: depth and parent of each, in SQL, without an interval join.

A running sum of +1 at each start and -1 at each end gives the depth; the parent is
the latest start one level up. That is right while a thread's ranges nest. Threads on
which ranges cross take a pass with a stack, over sorted Arrow batches.

Ranges may have a kind: depth then counts those of the own kind only, and what seeks an
operation learns the innermost one that holds it. Both come out of the same sweep.

Invariant: a parent starts no later and ends no earlier than its child, on the same
thread, and is the tightest such range that was open.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

import pyarrow as pa

if TYPE_CHECKING:
    import duckdb

_FOREVER = 9_223_372_036_854_775_807
# Ranges that one sweep takes: sorting more at once would go to disk.
_SLAB = 2_000_000

_RANGES = f"""
CREATE OR REPLACE TABLE nest_range AS
SELECT
    id, pid, tid, ts_ns,
    greatest(coalesce(end_ns, {_FOREVER}), ts_ns) AS end_ns{{kind}}
FROM {{relation}}
"""

# What begins in a slab of time, and what is open at its start: the depth there, and
# every parent that a range of the slab can have.
_SLAB_RANGES = """
CREATE OR REPLACE TEMP VIEW nest_slab AS
SELECT id, pid, tid, ts_ns, end_ns, {carried} AS carried{kind}
FROM nest_range
WHERE {begun} AND (NOT {carried} OR {still_open})
"""

# Ends come before starts at the same moment, but for ranges without length, whose
# end follows their start. Of starts at the same moment the longest is the outermost.
# Windows without an order stream over the sorted rows, and a thread ends at depth 0:
# none needs a partition.
_SWEEP = """
CREATE OR REPLACE TABLE nest_open AS
SELECT pid, tid, id, end_ns, carried, rank, depth{open}
FROM (
    SELECT
        pid, tid, id, end_ns, carried, step,
        row_number() OVER () AS rank,
        CAST(sum(step) OVER so_far AS BIGINT) - 1 AS depth{opened}
    FROM (
        FROM (
            SELECT pid, tid, ts_ns AS at_ns, 1 AS turn, 1 AS step, id, end_ns,
                carried{kind}
            FROM nest_slab
            UNION ALL
            SELECT pid, tid, end_ns, CASE WHEN end_ns > ts_ns THEN 0 ELSE 2 END, -1,
                id, end_ns, carried{kind}
            FROM nest_slab
        )
        ORDER BY pid, tid, at_ns, turn, end_ns DESC, id
    )
    WINDOW so_far AS (ROWS UNBOUNDED PRECEDING)
)
WHERE step = 1;
"""

_NEST = """
SELECT child.id, parent.id AS parent_id, child.{depth} AS depth, false AS crossing,
    child.pid, child.tid, coalesce(child.end_ns > parent.end_ns, false) AS crosses
FROM (FROM nest_open WHERE NOT carried) AS child
ASOF LEFT JOIN nest_open AS parent
    ON child.pid IS NOT DISTINCT FROM parent.pid
    AND child.tid IS NOT DISTINCT FROM parent.tid
    AND child.depth - 1 = parent.depth
    AND child.rank > parent.rank
"""

# The innermost operation at a row is the latest that began one level up, counting
# operations alone.
_SOUGHT = """
SELECT slab.*, sought.op_id
FROM ({nest}) AS slab
LEFT JOIN (
    SELECT child.id, op.id AS op_id
    FROM (SELECT * FROM nest_open WHERE seeks AND NOT carried) AS child
    ASOF LEFT JOIN (SELECT * FROM nest_open WHERE kind = 'op') AS op
        ON child.pid IS NOT DISTINCT FROM op.pid
        AND child.tid IS NOT DISTINCT FROM op.tid
        AND child.ops_open = op.ops_open
        AND child.rank > op.rank
) AS sought ON sought.id = slab.id
"""

_CROSSED = """
CREATE OR REPLACE TABLE nest_crossed AS
SELECT DISTINCT pid, tid FROM nested WHERE crosses
"""


def nest(con: duckdb.DuckDBPyConnection, relation: str) -> None:
    """Makes the table `nested` (id, parent_id, depth, crossing) of a relation.

    Args:
        con: Connection that sees the relation.
        relation: Name, or SELECT in parentheses, with id, pid, tid, ts_ns, end_ns;
            an end of NULL lasts for ever. With columns `kind` and `seeks` (true but for
            ranges of kind op) depth counts the ranges of the own kind, and `nested` has
            a column op_id for what seeks: the innermost range of kind op around it.
    """
    columns = con.execute(f"DESCRIBE (FROM {relation})").fetchall()
    with_kinds = any(name == "kind" for name, *_ in columns)
    kind = ", kind, seeks" if with_kinds else ""
    con.execute(_RANGES.format(relation=relation, kind=kind))
    how = _by_kind(con) if with_kinds else _PLAIN
    nested = _NEST.format(**how)
    if with_kinds:
        nested = _SOUGHT.format(nest=nested)
    into = "CREATE OR REPLACE TABLE nested AS"
    for slab in _slabs(con):
        con.execute(_SLAB_RANGES.format(kind=kind, **slab))
        con.execute(_SWEEP.format(kind=kind, **how))
        con.execute(f"{into} {nested}")
        into = "INSERT INTO nested"
    con.execute(_CROSSED)
    if con.execute("SELECT 1 FROM nest_crossed LIMIT 1").fetchall():
        _redo_crossed(con, with_kinds)
    con.execute(
        "DROP VIEW nest_slab; DROP TABLE nest_range; DROP TABLE nest_open; "
        "DROP TABLE nest_crossed"
    )


def _slabs(con: duckdb.DuckDBPyConnection) -> Iterator[dict[str, str]]:
    """Conditions of slabs that hold about as many starts each.

    What has no start belongs to the first.
    """
    ((ranges,),) = con.execute("SELECT count(*) FROM nest_range").fetchall()
    parts = ranges // _SLAB + 1
    shares = ", ".join(str(part / parts) for part in range(1, parts))
    ((found,),) = con.execute(
        f"SELECT approx_quantile(ts_ns, [{shares}]) FROM nest_range"
        if shares
        else "SELECT []"
    ).fetchall()
    for low, high in pairwise([None, *sorted(set(found)), None]):
        yield {
            "begun": "true" if high is None else f"coalesce(ts_ns < {high}, true)",
            "carried": "false" if low is None else f"(ts_ns < {low})",
            "still_open": "true" if low is None else f"end_ns > {low}",
        }


_PLAIN = {"open": "", "opened": "", "depth": "depth"}


def _by_kind(con: duckdb.DuckDBPyConnection) -> dict[str, str]:
    """What the sweep says where ranges have kinds: a running sum for each."""
    found = con.execute("SELECT DISTINCT kind FROM nest_range").fetchall()
    kinds = sorted({"op", *(k for (k,) in found if k is not None)})
    sums = ", ".join(
        f"CAST(sum(CASE WHEN kind = '{k}' THEN step ELSE 0 END) OVER so_far AS BIGINT)"
        f" AS open_{i}"
        for i, k in enumerate(kinds)
    )
    own = " ".join(f"WHEN '{k}' THEN open_{i}" for i, k in enumerate(kinds))
    return {
        "opened": f", kind, seeks, {sums}",
        "open": f", kind, seeks, open_{kinds.index('op')} AS ops_open, "
        f"CASE kind {own} END - 1 AS own_depth",
        "depth": "own_depth",
    }


def _redo_crossed(con: duckdb.DuckDBPyConnection, with_kinds: bool) -> None:
    kind = "r.kind, r.seeks" if with_kinds else "NULL, false"
    of_crossed = "r.pid IS NOT DISTINCT FROM c.pid AND r.tid IS NOT DISTINCT FROM c.tid"
    # A cursor of its own: a stream holds its connection until its end.
    ranges = (
        con.cursor()
        .sql(
            f"SELECT r.pid, r.tid, r.id, r.ts_ns, r.end_ns, {kind} "
            f"FROM nest_range AS r SEMI JOIN nest_crossed AS c ON {of_crossed} "
            "ORDER BY r.pid, r.tid, r.ts_ns, r.end_ns DESC, r.id"
        )
        .to_arrow_reader(65_536)
    )
    stacked = pa.Table.from_batches(_stack_pass(ranges), schema=_NESTED)
    con.execute(f"DELETE FROM nested AS r USING nest_crossed AS c WHERE {of_crossed}")
    if not with_kinds:
        stacked = stacked.drop_columns("op_id")
    con.register("nest_stacked", stacked)
    con.execute("INSERT INTO nested BY NAME SELECT * FROM nest_stacked")
    con.unregister("nest_stacked")


_NESTED = pa.schema(
    {
        "id": pa.int64(),
        "parent_id": pa.int64(),
        "depth": pa.int64(),
        "crossing": pa.bool_(),
        "op_id": pa.int64(),
    }
)


@dataclass
class _Open:
    """A range on the stack; `crossing` may turn true until it leaves.

    Attributes:
        op_id: The innermost operation that holds it, or itself.
        depths: Ranges of each kind that hold it.
        sought_id: What it says for op_id in the end.
    """

    id: int
    start_ns: int
    end_ns: int
    kind: str | None
    parent_id: int | None = None
    op_id: int | None = None
    depths: dict[str | None, int] = field(default_factory=dict)
    sought_id: int | None = None
    crossing: bool = False

    def enter(self, holder: _Open | None, seeks: bool) -> None:
        """Takes its place under the range that holds it."""
        if holder is not None:
            self.parent_id, self.op_id = holder.id, holder.op_id
            self.depths = dict(holder.depths)
            self.depths[holder.kind] = self.depths.get(holder.kind, 0) + 1
        self.sought_id = self.op_id if seeks else None
        if self.kind == "op":
            self.op_id = self.id


def _stack_pass(ranges: pa.RecordBatchReader) -> Iterator[pa.RecordBatch]:
    """Nests ranges sorted by thread, start, longest first; yields what has left."""
    thread: tuple[int | None, int | None] | None = None
    stack: list[_Open] = []
    for batch in ranges:
        left: list[_Open] = []
        columns = (batch.column(i).to_pylist() for i in range(7))
        for pid, tid, id_, start_ns, end_ns, kind, seeks in zip(*columns, strict=True):
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
            own = _Open(id_, start_ns, end_ns, kind)
            for range_ in stack:
                if range_.end_ns < end_ns:
                    range_.crossing = own.crossing = True
            holder = next((r for r in reversed(stack) if r.end_ns >= end_ns), None)
            own.enter(holder, seeks)
            stack.append(own)
        yield _batch(left)
    yield _batch(stack)


def _batch(ranges: list[_Open]) -> pa.RecordBatch:
    rows = [
        {
            "id": r.id,
            "parent_id": r.parent_id,
            "depth": r.depths.get(r.kind, 0),
            "crossing": r.crossing,
            "op_id": r.sought_id,
        }
        for r in ranges
    ]
    return pa.RecordBatch.from_pylist(rows, schema=_NESTED)
