"""Begin and end events of one thread made into ranges, with repairs.

Well-formed threads are matched in SQL by their depth; threads whose ends name another
range than the innermost open one take a pass with a stack.

Invariant: an end closes the nearest open range of its name; what it closes on the way
has no end. No range is invented, none is dropped.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

if TYPE_CHECKING:
    import duckdb

# Events at one moment stay in the file's order. An end without a beginning lowers the
# running sum below all before it: the level counts from there.
_PAIR = """
CREATE TABLE paired (
    begin_id BIGINT, end_id BIGINT, end_ns BIGINT, popped_ns BIGINT
);
CREATE TABLE unmatched_end (event_id BIGINT, name VARCHAR);

CREATE TABLE half AS
WITH numbered AS (
    SELECT
        event_id, ph, name, pid, tid, ts_ns,
        CAST(sum(CASE ph WHEN 'B' THEN 1 ELSE -1 END) OVER moments AS BIGINT) AS sum
    FROM event
    WHERE ph IN ('B', 'E') AND ts_ns IS NOT NULL
    WINDOW moments AS (
        PARTITION BY pid, tid ORDER BY ts_ns, event_id ROWS UNBOUNDED PRECEDING
    )
),
floored AS (
    SELECT
        *,
        least(0, min(sum) OVER (
            PARTITION BY pid, tid ORDER BY ts_ns, event_id ROWS UNBOUNDED PRECEDING
        )) AS floor
    FROM numbered
),
levelled AS (
    SELECT *, sum - floor + CASE ph WHEN 'E' THEN 1 ELSE 0 END AS level
    FROM floored
)
SELECT
    event_id, ph, name, pid, tid, ts_ns,
    lag(ph) OVER levels AS before_ph, lag(name) OVER levels AS before_name,
    lag(event_id) OVER levels AS before_id
FROM levelled
WINDOW levels AS (PARTITION BY pid, tid, level ORDER BY ts_ns, event_id);

CREATE TABLE irregular AS
SELECT DISTINCT pid, tid
FROM half
WHERE ph = 'E' AND (
    before_ph IS DISTINCT FROM 'B'
    OR (name <> '' AND name IS DISTINCT FROM before_name)
);

INSERT INTO paired
SELECT b.event_id, e.event_id, e.ts_ns, e.ts_ns
FROM half AS b
LEFT JOIN half AS e ON e.before_id = b.event_id AND e.ph = 'E'
WHERE b.ph = 'B' AND NOT EXISTS (
    FROM irregular AS i
    WHERE i.pid IS NOT DISTINCT FROM b.pid AND i.tid IS NOT DISTINCT FROM b.tid
)
"""
_IRREGULAR = """
SELECT h.pid, h.tid, h.event_id, h.ph, h.name, h.ts_ns
FROM half AS h
SEMI JOIN irregular AS i
    ON h.pid IS NOT DISTINCT FROM i.pid AND h.tid IS NOT DISTINCT FROM i.tid
ORDER BY h.pid, h.tid, h.ts_ns, h.event_id
"""
# Arguments of ends are rare: kept aside, so that no chunk looks for its ends in the
# whole file.
_FINISH = """
CREATE TABLE begin_end AS
SELECT p.*, a.args AS end_args
FROM paired AS p
LEFT JOIN (
    SELECT event_id, CAST(args AS VARCHAR) AS args
    FROM event WHERE ph = 'E' AND args <> '{}'
) AS a ON a.event_id = p.end_id;
DROP TABLE paired; DROP TABLE half; DROP TABLE irregular
"""
_PAIRED = pa.schema(
    {
        "begin_id": pa.int64(),
        "end_id": pa.int64(),
        "end_ns": pa.int64(),
        "popped_ns": pa.int64(),
    }
)
_UNMATCHED = pa.schema({"event_id": pa.int64(), "name": pa.string()})


def pair(con: duckdb.DuckDBPyConnection) -> None:
    """Makes `begin_end` and `unmatched_end` of the relation `event`.

    begin_end has a row for each B: the E that ends it, when, and with what arguments;
    `popped_ns` is when it ceased to be open, NULL at the capture's end.
    """
    con.execute(_PAIR)
    if con.execute("SELECT 1 FROM irregular LIMIT 1").fetchall():
        rows = con.cursor().sql(_IRREGULAR).to_arrow_reader(65_536)
        for paired, unmatched in _stack_pass(rows):
            _insert(con, "paired", pa.Table.from_pylist(paired, _PAIRED))
            _insert(con, "unmatched_end", pa.Table.from_pylist(unmatched, _UNMATCHED))
    con.execute(_FINISH)


def _insert(con: duckdb.DuckDBPyConnection, table: str, rows: pa.Table) -> None:
    if rows.num_rows:
        con.register("paired_rows", rows)
        con.execute(f"INSERT INTO {table} SELECT * FROM paired_rows")
        con.unregister("paired_rows")


@dataclass
class _Begun:
    id: int
    name: str | None
    popped_ns: int | None = None

    def row(self, end_id: int | None = None, end_ns: int | None = None) -> _Row:
        popped = self.popped_ns if end_ns is None else end_ns
        return {
            "begin_id": self.id,
            "end_id": end_id,
            "end_ns": end_ns,
            "popped_ns": popped,
        }


_Row = dict[str, int | str | None]


def _stack_pass(
    rows: pa.RecordBatchReader,
) -> Iterator[tuple[list[_Row], list[_Row]]]:
    """Pairs events sorted by thread and time; yields what has been settled."""
    thread: tuple[int | None, int | None] | None = None
    stack: list[_Begun] = []
    # Closed by another's end at this moment: an end of their own may still come.
    popped: list[_Begun] = []
    paired: list[_Row] = []
    unmatched: list[_Row] = []
    for batch in rows:
        columns = (batch.column(i).to_pylist() for i in range(6))
        for pid, tid, id_, ph, name, ts_ns in zip(*columns, strict=True):
            if (pid, tid) != thread:
                thread = (pid, tid)
                paired += [b.row() for b in (*popped, *stack)]
                stack, popped = [], []
            elif popped and popped[0].popped_ns != ts_ns:
                paired += [b.row() for b in popped]
                popped = []
            if ph == "B":
                stack.append(_Begun(id_, name))
                continue
            late = next((b for b in reversed(popped) if b.name == name), None)
            holder = next(
                (i for i in reversed(range(len(stack))) if _fits(stack[i], name)), None
            )
            if late is not None and (holder is None or holder < len(stack) - 1):
                popped.remove(late)
                paired.append(late.row(id_, ts_ns))
            elif holder is None:
                unmatched.append({"event_id": id_, "name": name})
            else:
                paired.append(stack[holder].row(id_, ts_ns))
                for begun in stack[holder + 1 :]:
                    begun.popped_ns = ts_ns
                popped += stack[holder + 1 :]
                del stack[holder:]
        yield paired, unmatched
        paired, unmatched = [], []
    yield [b.row() for b in (*popped, *stack)], []


def _fits(begun: _Begun, name: str | None) -> bool:
    return not name or begun.name == name
