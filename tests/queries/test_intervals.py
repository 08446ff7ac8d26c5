"""The window queries over streams and devices, against slow interval arithmetic."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import duckdb
import pytest
import reference
from hypothesis import given
from hypothesis import strategies as st
from query_database import empty
from random_traces import (
    COPIES,
    FAST,
    KERNELS,
    WINDOWS,
    Op,
    Row,
    loaded,
    ops,
    sort_key,
    spans,
    window,
    windows,
)
from reference import concurrency_ns, sum_ns, union_ns

Stream = tuple[int | None, int | None, int | None]


def devices(trace: list[Op], run: str) -> list[int | None]:
    """Devices that ran anything in the order of the results."""
    found = {op.device for op in trace if op.run == run}
    return sorted(found, key=sort_key)


def streams(
    trace: list[Op], run: str, device: int | None, params: dict[str, int]
) -> dict[Stream, list[Op]]:
    """Operations in the window by stream, in the order of pid, context and stream."""
    found: dict[Stream, list[Op]] = {}
    for op in trace:
        here = op.run == run and op.device == device
        if here and op.meets(*window(run, params)):
            found.setdefault(op.stream, []).append(op)
    return dict(sorted(found.items(), key=lambda item: sort_key(*item[0])))


def stream_of(row: dict[str, Any], prefix: str = "") -> Stream:
    return row[f"{prefix}pid"], row[f"{prefix}context_id"], row[f"{prefix}stream_id"]


def pick(rows: list[dict[str, Any]], *names: str) -> list[tuple[Any, ...]]:
    return [tuple(row[name] for name in names) for row in rows]


def test_reference_by_hand() -> None:
    nested = [(0, 10), (2, 4), (12, 12), (15, 20), (20, 22)]
    assert union_ns(nested) == 17
    assert sum_ns(nested) == 19
    assert reference.common_ns(nested, [(3, 16)]) == 8
    assert concurrency_ns([nested, [(3, 16)]], 0, 30) == {0: 8, 1: 14, 2: 8}
    assert reference.gaps(nested, 0, 22) == [(10, 12), (12, 15)]
    assert reference.bins(0, 10, 4) == [(0, 2), (2, 5), (5, 7), (7, 10)]


@FAST
@given(ops(), windows(), st.integers(1, 40) | st.none())
def test_utilization(trace: list[Op], params: dict[str, int], bins: int | None) -> None:
    expected: list[Row] = []
    for run in WINDOWS:
        for device in devices(trace, run):
            mine = [op for op in trace if (op.run, op.device) == (run, device)]
            tiles = reference.bins(*window(run, params), bins or 1)
            for number, tile in enumerate(tiles):
                k = spans((op for op in mine if op.activity in KERNELS), tile)
                m = spans((op for op in mine if op.activity in COPIES), tile)
                c = spans((op for op in mine if op.activity == "communication"), tile)
                figures: Row = (
                    run,
                    device,
                    number,
                    *tile,
                    union_ns(k),
                    union_ns(k, m),
                )
                figures += (union_ns(c), union_ns(m), sum_ns(k), sum_ns(k) + sum_ns(m))
                expected.append(figures)
    with loaded(trace) as database:
        rows = database.ask("gpu_utilization", **params, bins=bins)
    assert expected == pick(
        rows,
        *("run_id", "device_id", "bin", "bin_start_ns", "bin_end_ns"),
        *("kernel_union_ns", "busy_union_ns", "communication_union_ns"),
        *("copy_union_ns", "kernel_sum_ns", "busy_sum_ns"),
    )
    for row in rows:
        assert row["idle_ns"] + row["busy_union_ns"] == row["bin_ns"]
        assert 0 <= row["kernel_pct"] <= row["busy_pct"] <= 100
        assert row["busy_pct"] == pytest.approx(
            100 * row["busy_union_ns"] / row["bin_ns"]
        )


def test_utilization_by_hand() -> None:
    database = empty()
    database.window(0, 100)
    database.insert("device", {"device_id": 0}, {"device_id": 1, "kind": "gpu"})
    database.insert("device", {"device_id": 9, "kind": "cpu"})
    database.insert(
        "kernel",
        {"ts_ns": 10, "dur_ns": 40, "name": "gemm", "device_id": 0},
        {"ts_ns": 30, "dur_ns": 40, "name": "ncclKernel", "device_id": 0},
        {"ts_ns": 35, "dur_ns": None, "name": "cut", "device_id": 0},
    )
    database.insert(
        "memcpy", {"ts_ns": 60, "dur_ns": 20, "kind": "H2D", "device_id": 0}
    )
    # Device 1 ran nothing in all the run: nobody knows whether it was idle.
    [busy] = database.ask("gpu_utilization")
    assert (busy["kernel_union_ns"], busy["kernel_sum_ns"]) == (60, 80)
    assert (busy["busy_union_ns"], busy["busy_sum_ns"]) == (70, 100)
    assert (busy["communication_pct"], busy["copy_pct"]) == (40, 20)
    assert (busy["busy_pct"], busy["busy_sum_with_overlaps_pct"]) == (70, 100)
    # In a window that its work misses a device is known to be idle.
    [idle] = database.ask("gpu_utilization", from_ns=80, to_ns=100)
    assert (idle["device_id"], idle["busy_union_ns"], idle["idle_ns"]) == (0, 0, 20)
    bins = database.ask("gpu_utilization", bins=3)[:3]
    assert pick(bins, "bin_start_ns", "bin_end_ns", "busy_union_ns") == [
        *((0, 33, 23), (33, 66, 33), (66, 100, 14)),
    ]
    gpu = database.ask("gpu_utilization", time_window="gpu")[0]
    assert (gpu["window_name"], gpu["bin_start_ns"], gpu["bin_end_ns"]) == (
        "gpu",
        10,
        80,
    )
    assert gpu["busy_pct"] == 100


def test_bins_of_a_window_of_days() -> None:
    database = empty()
    day = 86_400_000_000_000
    database.window(0, 30 * day)
    database.insert("kernel", {"ts_ns": day, "dur_ns": 2 * day, "name": "k"})
    rows = database.ask("gpu_utilization", bins=100_000)
    assert len(rows) == 100_000
    assert sum(row["busy_union_ns"] for row in rows) == 2 * day


@pytest.mark.parametrize("query", ["gpu_utilization", "timeline_bins"])
def test_no_bins_is_an_error(query: str) -> None:
    with (
        loaded([Op("r1", "compute", 0, (1, 1, 1), 0, 5)]) as database,
        pytest.raises(duckdb.Error, match="bins must be"),
    ):
        database.ask(query, bins=0)


@FAST
@given(ops(), windows())
def test_stream_summary(trace: list[Op], params: dict[str, int]) -> None:
    expected: list[Row] = []
    for run in WINDOWS:
        limits = window(run, params)
        for device in devices(trace, run):
            for stream, mine in streams(trace, run, device, params).items():
                cut = [
                    (max(op.span[0], limits[0]), min(op.span[1], limits[1]))
                    for op in mine
                ]
                first, last = min(a for a, _ in cut), max(b for _, b in cut)
                idle = reference.gaps(cut, first, last)
                kinds = [op.activity for op in mine]
                figures: Row = (
                    run,
                    device,
                    *stream,
                    len(mine),
                    union_ns(cut),
                    sum_ns(cut),
                )
                figures += (first, last, sum_ns(idle), len(idle))
                figures += (max((b - a for a, b in idle), default=0),)
                figures += (kinds.count("compute") + kinds.count("communication"),)
                figures += (kinds.count("copy_h2d"), kinds.count("copy_d2h"))
                figures += (kinds.count("memset"), kinds.count("graph"))
                runs = {
                    k.removeprefix("copy_").upper() if "_" in k else k for k in kinds
                }
                expected.append((*figures, runs))
    with loaded(trace) as database:
        rows = database.ask("stream_summary", **params)
    found = pick(
        rows,
        *("run_id", "device_id", "pid", "context_id", "stream_id", "op_count"),
        *("busy_union_ns", "busy_sum_ns", "first_ns", "last_ns", "idle_between_ns"),
        *("gap_count", "longest_gap_ns", "kernel_count", "h2d_count", "d2h_count"),
        *("memset_count", "graph_count"),
    )
    assert expected == [
        (*row, set(full["runs"].split(", ")))
        for row, full in zip(found, rows, strict=True)
    ]


@FAST
@given(ops(), windows())
def test_stream_overlap(trace: list[Op], params: dict[str, int]) -> None:
    expected: list[Row] = []
    for run in WINDOWS:
        limits = window(run, params)
        for device in devices(trace, run):
            by_stream = streams(trace, run, device, params)
            busy = {s: spans(mine, limits) for s, mine in by_stream.items()}
            busy = {stream: cut for stream, cut in busy.items() if cut}
            for a, b in combinations(busy, 2):
                figures: Row = (
                    run,
                    device,
                    a,
                    b,
                    union_ns(busy[a]),
                    union_ns(busy[b]),
                )
                expected.append((*figures, reference.common_ns(busy[a], busy[b])))
    with loaded(trace) as database:
        rows = database.ask("stream_overlap", **params)
    found = [
        (
            *(row["run_id"], row["device_id"]),
            *(stream_of(row, "a_"), stream_of(row, "b_")),
            *(row["a_busy_ns"], row["b_busy_ns"], row["overlap_ns"]),
        )
        for row in rows
    ]
    assert expected == found
    assert all(0 <= row["overlap_of_smaller_share"] <= 1 for row in rows)


@pytest.mark.parametrize("count", [60, 61, 120, 121, 257])
def test_overlap_of_many_streams(count: int) -> None:
    """Stream s is busy in [s, s + 3) and [1000, 1000 + s % 3): neighbours overlap."""
    trace = [Op("r1", "compute", 0, (1, 1, s), s, 3) for s in range(count)]
    trace += [Op("r1", "compute", 0, (1, 1, s), 1000, s % 3) for s in range(count)]
    with loaded(trace) as database:
        rows = database.ask("stream_overlap", from_ns=0, to_ns=2000)
    found = {
        (row["a_stream_id"], row["b_stream_id"]): row["overlap_ns"] for row in rows
    }
    expected = {
        (a, b): max(0, 3 - (b - a)) + min(a % 3, b % 3)
        for a, b in combinations(range(count), 2)
    }
    if count > 256:
        expected = {pair: common for pair, common in expected.items() if common}
    assert found == expected


@FAST
@given(ops(), windows())
def test_stream_concurrency(trace: list[Op], params: dict[str, int]) -> None:
    expected: list[Row] = []
    for run in WINDOWS:
        limits = window(run, params)
        for device in devices(trace, run):
            busy = [spans(x) for x in streams(trace, run, device, params).values()]
            times = sorted(concurrency_ns(busy, *limits).items())
            expected += [(run, device, k, time) for k, time in times]
            assert sum(time for _, time in times) == limits[1] - limits[0]
    with loaded(trace) as database:
        rows = database.ask("stream_concurrency", **params)
    assert expected == pick(rows, "run_id", "device_id", "busy_stream_count", "time_ns")


@FAST
@given(ops(), windows(), st.integers(1, 40))
def test_timeline(trace: list[Op], params: dict[str, int], bins: int) -> None:
    expected: list[Row] = []
    for run in WINDOWS:
        limits = window(run, params)
        lanes: list[Row] = []
        for device in devices(trace, run):
            for stream, mine in streams(trace, run, device, params).items():
                lanes.append((device, -union_ns(spans(mine, limits)), stream, mine))
        lanes.sort(key=lambda lane: sort_key(lane[0], lane[1], *lane[2]))
        for number, (device, _, stream, mine) in enumerate(lanes):
            count = min(bins, 1500 // len(lanes))
            for b, tile in enumerate(reference.bins(*limits, count)):
                times: dict[str, int] = {}
                for op in mine:
                    time = sum_ns(spans([op], tile))
                    times[op.activity] = times.get(op.activity, 0) + time
                most = min(times, key=lambda name: (-times[name], name))
                figures: Row = (run, number, b, device, stream, *tile)
                figures += (union_ns(spans(mine, tile)), most if times[most] else None)
                expected.append(figures)
    with loaded(trace) as database:
        rows = database.ask("timeline_bins", **params, bins=bins)
    assert expected == [
        (
            *(row["run_id"], row["lane"], row["bin"]),
            *(row["device_id"], stream_of(row)),
            *(row["bin_start_ns"], row["bin_start_ns"] + row["bin_ns"]),
            *(row["busy_ns"], row["activity"]),
        )
        for row in rows
    ]


@pytest.mark.parametrize(("lanes", "bins", "hidden"), [(7, 214, 0), (1600, 1, 100)])
def test_timeline_has_at_most_1500_cells(lanes: int, bins: int, hidden: int) -> None:
    trace = [Op("r1", "compute", 0, (1, 1, s), s % 50, 5) for s in range(lanes)]
    with loaded(trace) as database:
        rows = database.ask("timeline_bins", from_ns=0, to_ns=1_000_000)
    assert len(rows) == min(lanes, 1500) * bins <= 1500
    assert {row["hidden_lane_count"] for row in rows} == {hidden}
    assert sum(row["busy_ns"] for row in rows) == 5 * min(lanes, 1500)
