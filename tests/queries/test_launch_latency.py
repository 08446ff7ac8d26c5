from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from query_database import Database, empty

LAUNCHES = st.lists(
    st.tuples(st.integers(0, 20), st.integers(0, 20), st.integers(0, 1)), max_size=9
)


def launch(
    db: Database, number: int, call: tuple[int, int], ts: int, **more: Any
) -> None:
    """A call and its kernel of 10 ns."""
    common = {"pid": 1, "correlation_id": number, "api_call_id": number}
    db.insert(
        "api_call",
        common
        | {"ts_ns": call[0], "dur_ns": call[1], "tid": 2}
        | {"api": "cuda_runtime", "name": "cudaLaunchKernel"},
    )
    kernel = {"ts_ns": ts, "dur_ns": 10, "kernel_id": number, "name": f"k{number}"}
    db.insert("kernel", common | kernel | {"launch_ts_ns": call[0]} | more)


def test_delays_are_signed_and_only_the_late_queue() -> None:
    db = empty()
    db.window(0, 1000)
    launch(db, 1, (100, 20), 150, name="k")
    launch(db, 2, (200, 20), 210, name="k")
    launch(db, 3, (300, 20), 295, name="k")
    (row,) = db.ask("launch_latency")
    assert (row["api"], row["tid"], row["name"]) == ("cudaLaunchKernel", 2, "k")
    assert row["kernel_count"] == 3
    assert (row["queued_count"], row["early_count"]) == (1, 2)
    assert row["before_call_count"] == 1
    assert (row["delay_min_ns"], row["delay_median_ns"], row["delay_max_ns"]) == (
        *(-5, 10, 50),
    )
    assert (row["after_call_min_ns"], row["after_call_max_ns"]) == (-25, 30)
    assert (row["queue_mean_ns"], row["queue_stddev_ns"]) == (30, 0)
    assert (row["total_min_ns"], row["total_max_ns"]) == (20, 60)


def test_orphans_are_a_row_of_their_own() -> None:
    db = empty()
    db.window(0, 1000)
    launch(db, 1, (100, 20), 150, name="k")
    orphan = {"ts_ns": 7, "dur_ns": 5, "name": "k"}
    db.insert("kernel", orphan | {"kernel_id": 2}, orphan | {"kernel_id": 3})
    rows = db.ask("launch_latency")
    assert [(r["api"], r["kernel_count"]) for r in rows] == [
        ("cudaLaunchKernel", 1),
        (None, 2),
    ]
    assert rows[1]["kernel_mean_ns"] == 5
    assert rows[1]["delay_mean_ns"] is rows[1]["total_max_ns"] is None
    assert rows[1]["mean_queue_depth"] is rows[1]["queue_stddev_ns"] is None


@settings(deadline=None)
@given(launches=LAUNCHES)
def test_queue_depth_equals_a_count(launches: list[tuple[int, int, int]]) -> None:
    db = empty()
    db.window(0, 100)
    for number, (at, wait, stream) in enumerate(launches):
        launch(db, number, (at, 1), at + wait, stream_id=stream)
    rows = {row["name"]: row for row in db.ask("launch_latency")}
    for number, (at, _, stream) in enumerate(launches):
        before = [
            other_at + wait
            for other, (other_at, wait, s) in enumerate(launches)
            if s == stream and (other_at, other) < (at, number)
        ]
        depth = sum(start >= at for start in before)
        assert rows[f"k{number}"]["max_queue_depth"] == depth
    spared = db.ask("launch_latency", with_queue_depth=False)
    assert all(row["max_queue_depth"] is None for row in spared)
    assert len(spared) == len(launches)
