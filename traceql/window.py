"""The capture window of an import: from its first event to the end of its last.

Invariant: what nobody did, such as a profiler's own marks, does not stretch it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import duckdb

_EVENTS = (
    "kernel",
    "memcpy",
    "memset",
    "graph_launch",
    "api_call",
    "annotation",
    "op",
    "slice",
    "async_slice",
)
# The profiler's own marks are nobody's work, and sometimes of another clock.
_NO_MARKS = " WHERE category IS DISTINCT FROM 'profiler'"


def of_written(con: duckdb.DuckDBPyConnection) -> dict[str, Any]:
    """First start and length of the window, ns; NULL without events.

    A log of samples alone has the window of its samples; one moment of them lasts 1 ns.

    Args:
        con: Connection with the views `written.<table>` of the import.
    """
    arms = " UNION ALL ".join(
        f"SELECT min(ts_ns) AS first, max(ts_ns + greatest(coalesce(dur_ns, 0), 0)) "
        f"AS last FROM written.{table}{_NO_MARKS if table == 'async_slice' else ''}"
        for table in _EVENTS
    )
    ((first, last),) = con.execute(
        f"SELECT min(first), max(last) FROM ({arms})"
    ).fetchall()
    if first is None:
        ((first, last),) = con.execute(
            "SELECT min(ts_ns), greatest(max(ts_ns), min(ts_ns) + 1) "
            "FROM written.counter"
        ).fetchall()
    span = None if first is None else last - first
    return {"first_ts_ns": first, "span_ns": span}


def has_events(con: duckdb.DuckDBPyConnection) -> bool:
    """Whether the import holds anything that host or devices did."""
    return any(holds(con, table) for table in _EVENTS)


def holds(con: duckdb.DuckDBPyConnection, table: str) -> bool:
    """Whether the import wrote rows of a table."""
    return bool(con.execute(f"SELECT 1 FROM written.{table} LIMIT 1").fetchall())
