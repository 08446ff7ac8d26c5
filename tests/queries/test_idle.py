"""Idle time by cause, gaps between iterations and the steady range."""

from __future__ import annotations

from statistics import median
from typing import Any

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st
from query_database import Database, empty
from random_traces import (
    FAST,
    WINDOWS,
    Op,
    Row,
    Step,
    loaded,
    ops,
    sort_key,
    steps,
    window,
    windows,
)
from reference import Interval, clip, common_ns, gaps, sum_ns, union_ns

FLUSH = "CUDA profiling data flush overhead"
WAIT = 4
"""The longest kernel wait of these small traces."""


def devices(trace: list[Op], run: str) -> list[int | None]:
    found = {op.device for op in trace if op.run == run}
    return sorted(found, key=sort_key)


def causes(
    here: list[Op], limits: Interval, flushed: list[Interval]
) -> list[tuple[Interval, str, int | None]]:
    """Idle spans of a device: the whole span, its cause, the launch after it."""
    busy = [op.span for op in here]
    first, last = min(a for a, _ in busy), max(b for _, b in busy)
    found = []
    for start, end in [(limits[0], first), *gaps(busy, first, last), (last, limits[1])]:
        if start >= end:
            continue
        after = [op for op in here if op.span[0] == end]
        launch = min(after, key=lambda op: op.number).launch if after else None
        if 2 * common_ns([(start, end)], flushed) > end - start:
            cause = "profiler"
        elif end == first:
            cause = "before the first"
        elif start == last:
            cause, launch = "after the last", None
        elif launch is None:
            cause = "unknown launch"
        elif launch > start:
            cause = "host"
        else:
            cause = "kernel wait" if end - start <= WAIT else "other"
        found.append(((start, end), cause, None if start == last else launch))
    return found


def overheads() -> st.SearchStrategy[list[tuple[str, int | None, int, int]]]:
    """Run, process, start and duration of what the profiler did."""
    one = st.tuples(
        st.sampled_from(sorted(WINDOWS)),
        st.sampled_from([10, 11, None]),
        st.integers(-5, 70),
        st.integers(0, 20),
    )
    return st.lists(one, max_size=3)


@FAST
@given(ops(max_size=10), windows(), overheads())
def test_idle_breakdown(
    trace: list[Op],
    params: dict[str, int],
    own: list[tuple[str, int | None, int, int]],
) -> None:
    expected: dict[Row, list[int]] = {}
    for run in WINDOWS:
        limits = window(run, params)
        for device in devices(trace, run):
            here = [op for op in trace if (op.run, op.device) == (run, device)]
            pids = {op.stream[0] for op in here}
            flushed = [
                (start, start + dur)
                for where, pid, start, dur in own
                if where == run and (None in pids or (pid is not None and pid in pids))
            ]
            for span, cause, launch in causes(here, limits, flushed):
                cut = clip([span], *limits)
                if not cut:
                    continue
                row = expected.setdefault((run, device, cause), [0, 0, 0, 0])
                row[0] += 1
                row[1] += sum_ns(cut)
                if launch is not None:
                    row[2] += sum_ns(clip(cut, -99, launch))
                row[3] = max(row[3], sum_ns(cut))
    with loaded(trace) as database:
        for where, pid, start, dur in own:
            flush(database, where, pid, start, dur)
        rows = database.ask("idle_breakdown", kernel_wait_ns=WAIT, **params)
        listed = database.ask(
            "idle_breakdown", group_by="gap", kernel_wait_ns=WAIT, **params
        )
        used = database.ask("gpu_utilization", **params)
    found = {
        (r["run_id"], r["device_id"], r["cause"]): [
            *(r["gap_count"], r["idle_ns"], r["host_ns"], r["longest_gap_ns"])
        ]
        for r in rows
    }
    assert found == expected
    assert len(found) == len(rows)
    for one in used:
        mine = [r for r in (*rows,) if is_of(r, one)]
        assert sum(r["idle_ns"] for r in mine) == one["idle_ns"]
        assert sum(r["idle_ns"] for r in listed if is_of(r, one)) == one["idle_ns"]
        assert not mine or sum(r["idle_pct"] for r in mine) == pytest.approx(100)
    assert sum(r["gap_count"] for r in rows) == len(listed)


def is_of(row: dict[str, Any], other: dict[str, Any]) -> bool:
    return all(row[name] == other[name] for name in ("run_id", "device_id"))


def flush(database: Database, run: str, pid: int | None, start: int, dur: int) -> None:
    database.con.execute(
        "INSERT INTO overhead (run_id, kind, pid, ts_ns, dur_ns) "
        "VALUES (?, ?, ?, ?, ?)",
        [run, FLUSH, pid, start, dur],
    )


def host(
    database: Database, *ranges: tuple[str, int, int], layer: str = "annotation"
) -> None:
    """Ranges of thread 7 of process 1."""
    for name, start, end in ranges:
        row: dict[str, Any] = {"name": name, "ts_ns": start, "dur_ns": end - start}
        row |= {"pid": 1, "tid": 7}
        own = {"kind": "push_pop"} if layer == "annotation" else {"placement": "host"}
        database.insert(layer, row | own)


def launched(database: Database, *ops: tuple[int, int, int]) -> None:
    """Kernels (launch, start, end) of thread 7 of process 1 on device 0."""
    for number, (launch, start, end) in enumerate(ops):
        call = {"api_call_id": 500 + number, "ts_ns": launch, "dur_ns": 1}
        database.insert(
            "api_call",
            call | {"api": "cuda_runtime", "name": "launch", "pid": 1, "tid": 7},
        )
        kernel: dict[str, Any] = {"ts_ns": start, "dur_ns": end - start, "name": "k"}
        kernel |= {"pid": 1, "device_id": 0, "api_call_id": 500 + number}
        database.insert("kernel", kernel | {"launch_ts_ns": launch})


def test_what_the_host_was_in() -> None:
    """The innermost range at the middle of the time before the launch."""
    database = empty()
    database.window(0, 1000)
    launched(database, (5, 10, 100), (300, 310, 400), (390, 450, 500), (900, 905, 910))
    host(
        database,
        ("step", 0, 700),
        ("load", 150, 250),
        ("zero", 200, 200),
        ("inner", 160, 190),
        ("other thread's time", 690, 695),
    )
    host(database, ("aten::copy_", 180, 220), layer="op")
    database.insert(
        "annotation",
        {"name": "elsewhere", "ts_ns": 0, "dur_ns": 999, "pid": 1, "tid": 8}
        | {"kind": "push_pop"},
    )
    rows = database.ask("idle_breakdown", group_by="gap", kernel_wait_ns=10)
    found = {
        r["start_ns"]: (
            *(r["cause"], r["idle_ns"], r["host_ns"], r["annotation"], r["op"]),
        )
        for r in rows
    }
    assert found == {
        0: ("before the first", 10, 5, "step", None),
        100: ("host", 210, 200, "load", "aten::copy_"),
        400: ("other", 50, 0, "step", None),
        500: ("host", 405, 400, None, None),
        910: ("after the last", 90, 0, None, None),
    }
    by_host = database.ask("idle_breakdown", group_by="host", kernel_wait_ns=10)
    assert [(r["cause"], r["annotation"], r["idle_ns"]) for r in by_host][:2] == [
        ("host", None, 405),
        ("host", "load", 210),
    ]
    wait = database.ask("idle_breakdown", kernel_wait_ns=50)
    assert {r["cause"]: r["idle_ns"] for r in wait}["kernel wait"] == 50
    with pytest.raises(duckdb.Error, match="group_by must be cause, host or gap"):
        database.ask("idle_breakdown", group_by="thread")


@st.composite
def nested(draw: st.DrawFn) -> list[Interval]:
    """Ranges of one thread that nest, some with a border in common."""
    found: list[Interval] = []

    def fill(start: int, end: int, depth: int) -> None:
        at = start
        while at < end and depth < 5 and draw(st.booleans()):
            a = draw(st.integers(at, end - 1))
            b = draw(st.integers(a, end))
            found.append((a, b))
            fill(a, b, depth + 1)
            at = max(b, at + 1)

    fill(0, 60, 0)
    return found


SPANS = st.tuples(st.integers(0, 20), st.integers(1, 20)).map(
    lambda span: (span[0], sum(span))
)


def innermost(ranges: list[Interval], moment: int, flags: int) -> str | None:
    """What was open at a moment; bits of `flags` mark the annotations as crossing."""
    database = empty()
    database.con.begin()
    try:
        host(database, *((f"{a}-{b}", a, b) for a, b in ranges))
        database.con.execute(
            "UPDATE annotation SET crossing = ((1 << (annotation_id % 3)) & ?) > 0",
            [flags],
        )
        rows = database.con.execute(
            "SELECT a.name FROM v1._host_moments() AS m "
            "LEFT JOIN annotation AS a ON a.annotation_id = m.range_id "
            "WHERE m.at_ns <= ? ORDER BY m.at_ns DESC LIMIT 1",
            [moment],
        ).fetchall()
    finally:
        database.con.rollback()
    return rows[0][0] if rows else None


@FAST
@given(st.lists(SPANS, max_size=6), st.integers(0, 40))
def test_host_moments_of_ranges_that_cross(ranges: list[Interval], moment: int) -> None:
    """Those that cross each other are left out, the others stay."""
    alone = [
        (a, b)
        for a, b in ranges
        if not any(a < c < b < d or c < a < d < b for c, d in ranges)
    ]
    covering = [(b - a, f"{a}-{b}") for a, b in alone if a <= moment < b]
    wanted = min(covering, key=lambda c: c[0])[1] if covering else None
    assert innermost(ranges, moment, flags=7) == wanted


@FAST
@given(nested(), st.integers(0, 60), st.integers(0, 7))
def test_host_moments(ranges: list[Interval], moment: int, flags: int) -> None:
    """The innermost open range is the shortest one that covers the moment.

    Also where ranges of another kind cross them.
    """
    covering = [(b - a, f"{a}-{b}") for a, b in ranges if a <= moment < b]
    wanted = min(covering, key=lambda c: c[0])[1] if covering else None
    assert innermost(ranges, moment, flags) == wanted


@FAST
@given(ops(), steps())
def test_iteration_gaps(trace: list[Op], iterations: list[Step]) -> None:
    with loaded(trace, iterations) as database:
        timing = database.ask("iteration_timing")
        rows = database.ask("iteration_gaps")
    before: dict[Row, dict[str, Any]] = {}
    expected: list[Row] = []
    for row in timing:
        if row["iteration"] is None or row["first_gpu_ns"] is None:
            continue
        key = row["run_id"], row["pid"], row["device_id"]
        if earlier := before.get(key):
            limits = earlier["last_gpu_ns"], row["first_gpu_ns"]
            other = None
            if limits[1] >= limits[0]:
                busy = [op.span for op in trace if (op.run, op.device) == (*key[::2],)]
                other = union_ns(clip(busy, *limits))
            figures: Row = (*key, row["iteration"], earlier["iteration"], *limits)
            expected.append((*figures, limits[1] - limits[0], other))
        before[key] = row
    names = "run_id pid device_id iteration before_iteration start_ns end_ns gap_ns "
    names += "other_work_ns"
    found = [tuple(row[name] for name in names.split()) for row in rows]
    assert sorted(found, key=lambda r: sort_key(*r[:4])) == sorted(
        expected, key=lambda r: sort_key(*r[:4])
    )
    for row in rows:
        if row["other_work_ns"] is not None:
            assert row["idle_ns"] + row["other_work_ns"] == row["gap_ns"]


def marked(database: Database, *walls: int, start: int = 0) -> None:
    """Iterations of the given lengths, back to back."""
    for number, wall in enumerate(walls):
        row = {"ts_ns": start, "dur_ns": wall, "name": f"step {number}", "pid": 1}
        database.insert("iteration", row | {"source": "tf_step"})
        start += wall


def test_iteration_gaps_by_hand() -> None:
    database = empty()
    database.window(0, 300)
    marked(database, 100, 100, 100)
    launched(database, (10, 20, 60), (170, 180, 195), (190, 195, 230), (210, 225, 260))
    host(database, ("load", 100, 150), ("forward", 150, 199))
    late, early = database.ask("iteration_gaps")
    assert (late["iteration"], late["gap_ns"], late["idle_ns"]) == (1, 120, 120)
    assert (late["to_iteration_ns"], late["to_launch_ns"]) == (40, 110)
    assert (late["launch_to_start_ns"], late["is_host_bound"]) == (10, True)
    # The middle of [60, 170) is 115.
    assert (late["annotation"], late["op"]) == ("load", None)
    assert (early["gap_ns"], early["idle_ns"]) == (-5, None)
    assert (early["to_launch_ns"], early["is_host_bound"]) == (-20, False)
    assert early["annotation"] is None


def test_steady_range_by_hand() -> None:
    database = empty()
    database.window(0, 10_000)
    marked(database, 900, 300, 100, 130, 101, 99, 100, 250, 100, 102, 98, 100, 400)
    [row] = database.ask("steady_range")
    assert row["is_steady"]
    assert (row["first_iteration"], row["last_iteration"]) == (4, 11)
    assert (row["start_ns"], row["end_ns"]) == (1430, 2380)
    assert (row["warmup_count"], row["steady_count"], row["tail_count"]) == (4, 8, 1)
    # The later half: 100 250 100 102 98 100 400.
    assert (row["level_ns"], row["off_level_count"]) == (100, 1)
    assert row["warmup_ns"] == 1430
    assert row["warmup_excess_ns"] == 800 + 200 + 0 + 30
    few = database.ask("steady_range", settle_count=7)
    assert [(r["is_steady"], r["start_ns"], r["warmup_count"]) for r in few] == [
        (False, None, None)
    ]


@FAST
@given(
    st.lists(st.integers(90, 110) | st.integers(1, 400), max_size=14),
    st.integers(1, 3),
    st.sampled_from([0.0, 5.0, 20.0]),
)
def test_steady_range(walls: list[int], settle: int, tolerance: float) -> None:
    database = empty()
    database.con.begin()
    try:
        marked(database, *walls)
        rows = database.ask(
            "steady_range", settle_count=settle, tolerance_pct=tolerance
        )
    finally:
        database.con.rollback()
    if not walls:
        assert rows == []
        return
    later = walls[len(walls) // 2 :]
    level = median(later)
    off = 3 * 1.4826 * median(abs(wall - level) for wall in later)
    near = [abs(w - level) <= max(tolerance / 100 * level, off) for w in walls]
    runs = [i for i in range(len(walls) - settle + 1) if all(near[i : i + settle])]
    [row] = rows
    if len(walls) < 2 * settle or not runs:
        assert (row["is_steady"], row["first_iteration"]) == (False, None)
        return
    first, last = runs[0], runs[-1] + settle - 1
    assert (row["first_iteration"], row["last_iteration"]) == (first, last)
    assert row["start_ns"] == sum(walls[:first])
    assert row["end_ns"] == sum(walls[: last + 1])
    assert row["off_level_count"] == near[first : last + 1].count(False)
    assert row["mean_ns"] == pytest.approx(
        sum(walls[first : last + 1]) / (last + 1 - first)
    )
