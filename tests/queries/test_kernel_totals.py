from __future__ import annotations

import statistics
from typing import Any

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from query_database import empty

from traceql import queries

KERNEL = st.tuples(
    st.integers(0, 40), st.integers(0, 12), st.integers(0, 1), st.sampled_from("ab")
)


def kernel(
    ts: int, dur: int | None, device: int = 0, name: str = "a"
) -> dict[str, Any]:
    return {"ts_ns": ts, "dur_ns": dur, "device_id": device, "name": name}


@settings(deadline=None)
@given(kernels=st.lists(KERNEL, min_size=1, max_size=12))
def test_equals_a_count_of_every_nanosecond(
    kernels: list[tuple[int, int, int, str]],
) -> None:
    db = empty()
    db.window(0, 60)
    db.insert("kernel", *(kernel(*k) for k in kernels))
    busy = {(dev, t) for ts, dur, dev, _ in kernels for t in range(ts, ts + dur)}
    total = sum(dur for _, dur, _, _ in kernels)
    rows = {row["name"]: row for row in db.ask("kernel_totals")}
    assert set(rows) == {name for *_, name in kernels}
    for name, row in rows.items():
        durations = sorted(dur for _, dur, _, n in kernels if n == name)
        mine = sum(durations)
        assert row["kernel_count"] == len(durations)
        assert row["total_ns"] == mine
        assert (row["min_ns"], row["max_ns"]) == (durations[0], durations[-1])
        assert row["median_ns"] == statistics.median(durations)
        if len(durations) > 1:
            quartiles = statistics.quantiles(durations, n=4, method="inclusive")
            assert [row["q1_ns"], row["q3_ns"]] == pytest.approx(quartiles[::2])
            assert row["stddev_ns"] == pytest.approx(statistics.stdev(durations))
        else:
            assert row["stddev_ns"] == 0
        if total:
            assert row["sum_pct"] == pytest.approx(100 * mine / total)
            assert row["busy_pct"] == pytest.approx(100 * mine / len(busy))
        else:
            assert row["sum_pct"] is row["busy_pct"] is None


def test_a_kernel_beside_itself_has_more_than_the_busy_time() -> None:
    db = empty()
    db.window(0, 100)
    db.insert("kernel", kernel(0, 10), kernel(0, 10))
    (row,) = db.ask("kernel_totals")
    assert (row["sum_pct"], row["busy_pct"]) == (100, 200)


def test_per_device_shares_are_of_that_device() -> None:
    db = empty()
    db.window(0, 100)
    db.insert("kernel", kernel(0, 10, 0), kernel(0, 30, 1), kernel(50, 10, 1, "b"))
    rows = db.ask("kernel_totals", per_device=True, top=1)
    assert [(r["device_id"], r["name"], r["sum_pct"]) for r in rows] == [
        (0, "a", 100),
        (1, "a", 75),
    ]


def test_groups_by_short_name_and_by_grid_and_block() -> None:
    db = empty()
    db.window(0, 100)
    shape = {"block_x": 32, "block_y": 1, "block_z": 1, "grid_y": 1, "grid_z": 1}
    for number, name in enumerate(("f<int>", "f<float>")):
        row = kernel(0, 5, 0, name) | {"short_name": "f", "grid_x": 1 + number}
        db.insert("kernel", row | shape, row | shape | {"grid_x": 9})
    (row,) = db.ask("kernel_totals", group_by="short_name")
    assert (row["name"], row["kernel_count"], row["grid"]) == ("f", 4, None)
    rows = db.ask("kernel_totals", group_by="name_grid_block")
    assert [(r["name"], r["grid"], r["block"]) for r in rows] == [
        ("f<float>", "2,1,1", "32,1,1"),
        ("f<float>", "9,1,1", "32,1,1"),
        ("f<int>", "1,1,1", "32,1,1"),
        ("f<int>", "9,1,1", "32,1,1"),
    ]
    with pytest.raises(duckdb.Error, match="group_by must be"):
        db.ask("kernel_totals", group_by="nmae")


def test_a_range_counts_what_starts_in_it_whole_and_once() -> None:
    db = empty()
    db.window(0, 100)
    db.insert("kernel", kernel(5, 10), kernel(10, 30), kernel(20, 1), kernel(100, 0))
    for start, end, total in ((0, 10, 10), (10, 20, 30), (20, 30, 1)):
        (row,) = db.ask("kernel_totals", from_ns=start, to_ns=end)
        assert row["total_ns"] == total
        assert row["window_name"] == "range"
        assert (row["window_start_ns"], row["window_end_ns"]) == (start, end)
    assert db.ask("kernel_totals")[0]["kernel_count"] == 4


def test_runs_do_not_mix() -> None:
    db = empty()
    db.window(0, 100)
    db.window(0, 100, "r2")
    db.insert("kernel", kernel(0, 10), kernel(0, 30) | {"run_id": "r2"})
    rows = db.ask("kernel_totals")
    assert [(r["run_id"], r["sum_pct"], r["busy_pct"]) for r in rows] == [
        ("r1", 100, 100),
        ("r2", 100, 100),
    ]


def test_an_unfinished_kernel_counts_and_has_no_time() -> None:
    db = empty()
    db.window(0, 100)
    db.insert("kernel", kernel(0, None), kernel(10, 5), kernel(20, -3))
    (row,) = db.ask("kernel_totals")
    assert (row["kernel_count"], row["total_ns"], row["busy_pct"]) == (3, 5, 100)


def test_totals_of_a_report_are_named_where_there_is_no_kernel() -> None:
    db = empty()
    query = queries.find(db.catalog, "kernel_totals")
    note = queries.missing_input(db.con, query)
    assert note is not None
    assert "report_row" not in note
    db.insert("report_row", {"report": "kernel", "row_number": 0, "fields": "{}"})
    assert "table report_row" in (queries.missing_input(db.con, query) or "")
