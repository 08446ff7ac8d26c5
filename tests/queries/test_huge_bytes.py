"""Sums that 64 bits do not hold: NULL, never a failure of the whole answer."""

from __future__ import annotations

import pytest
from query_database import empty

HUGE = 2**62


@pytest.mark.parametrize(
    ("query", "column"),
    [
        ("memcpy_summary", "total_bytes"),
        ("memcpy_per_iteration", "copy_bytes"),
        ("run_summary", "h2d_bytes"),
        ("memory_peak", "allocation_bytes"),
        ("memory_timeline", "net_bytes"),
        ("memory_by_op", "self_increase_bytes"),
    ],
)
def test_a_sum_beyond_64_bits_is_null(query: str, column: str) -> None:
    db = empty()
    db.window(0, 100)
    db.window(0, 100, run_id="r2")
    for run_id, size in (("r1", HUGE), ("r2", 8)):
        for ts in (10, 20, 30):
            row = {"run_id": run_id, "ts_ns": ts, "bytes": size, "device_id": 0}
            db.insert("memcpy", row | {"dur_ns": 5, "kind": "H2D"})
            db.insert("memory_event", row | {"pid": 1, "kind": "allocation"})
    rows = db.ask(query)
    last = {row["run_id"]: row[column] for row in rows}
    assert last == {"r1": None, "r2": 24}
