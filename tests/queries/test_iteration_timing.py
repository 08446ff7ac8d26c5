"""Iterations and their copies, against slow interval arithmetic."""

from __future__ import annotations

import statistics
from typing import Any

import pytest
from hypothesis import given
from query_database import Database, empty
from random_traces import (
    COPIES,
    FAST,
    KERNELS,
    WINDOWS,
    Op,
    Row,
    Step,
    loaded,
    ops,
    sort_key,
    spans,
    steps,
)
from reference import common_ns, sum_ns, union_ns

Key = tuple[str, int | None, int | None, int | None]
"""Run, pid, iteration, device."""


def owner(op: Op, iterations: list[Step]) -> Step | None:
    """The step that launched it."""
    mine = [step for step in iterations if step.run == op.run]
    pids = {step.pid for step in mine}
    pid = op.stream[0]
    if pid is None and len(pids) == 1:
        pid = next(iter(pids))
    elif pid not in pids:
        pid = None
    holders = [
        step
        for step in mine
        if step.pid == pid and op.launch is not None
        if step.start <= op.launch < step.end
    ]
    return max(holders, key=lambda step: step.start, default=None)


def owned(trace: list[Op], iterations: list[Step]) -> dict[Key, list[Op]]:
    """Operations of each row, rows without any too, in the order of the result."""
    found: dict[Key, list[Op]] = {}
    for step in iterations:
        used = {
            op.device
            for op in trace
            if op.run == step.run
            if step.pid is None or op.stream[0] in (step.pid, None)
        }
        for device in used or {None}:
            found[step.run, step.pid, step.number, device] = []
    for op in trace:
        by = owner(op, iterations)
        where = (by.pid, by.number) if by else (None, None)
        found.setdefault((op.run, *where, op.device), []).append(op)
    return dict(sorted(found.items(), key=lambda item: sort_key(*item[0])))


@FAST
@given(ops(), steps())
def test_iteration_timing(trace: list[Op], iterations: list[Step]) -> None:
    expected: list[Row] = []
    earlier: dict[Key, int] = {}
    for key, mine in owned(trace, iterations).items():
        run, pid, number, device = key
        k = spans(op for op in mine if op.activity in KERNELS)
        m = spans(op for op in mine if op.activity in COPIES)
        c = spans(op for op in mine if op.activity == "communication")
        p = spans(op for op in mine if op.activity in ("compute", "graph"))
        first = min((op.span[0] for op in mine), default=None)
        last = max((op.span[1] for op in mine), default=None)
        start = wall = idle = gap = None
        if number is not None:
            [step] = [
                s for s in iterations if (s.run, s.pid, s.number) == (run, pid, number)
            ]
            start, wall = step.start, step.end - step.start
            line = (run, pid, 0, device)
            if first is not None and last is not None:
                gap = first - earlier[line] if line in earlier else None
                earlier[line] = last
            here = [op for op in trace if (op.run, op.device) == (run, device)]
            if here:
                idle = wall - union_ns(spans(here, (step.start, step.end)))
        figures: Row = (
            *key,
            start,
            wall,
            first,
            last,
            gap,
            idle,
            len(mine),
        )
        calls = {op.api_call for op in mine} - {None}
        known = any(op.api_call is not None for op in trace if op.run == run)
        figures += (len(calls) if known or not mine else None, union_ns(k), sum_ns(k))
        figures += (union_ns(p), union_ns(c), sum_ns(c), union_ns(c, p) - union_ns(p))
        figures += (
            common_ns(c, p),
            union_ns(m),
            sum_ns(m),
            union_ns(k, m) - union_ns(k),
        )
        expected.append((*figures, union_ns(k, m)))
    with loaded(trace, iterations) as database:
        rows = database.ask("iteration_timing")
    found = [
        tuple(
            row[name]
            for name in (
                *("run_id", "pid", "iteration", "device_id", "start_ns", "wall_ns"),
                *("first_gpu_ns", "last_gpu_ns", "gap_before_ns", "idle_ns"),
                *("op_count", "launch_count", "kernel_union_ns", "kernel_sum_ns"),
                *("compute_union_ns", "communication_union_ns"),
                *("communication_sum_ns", "exposed_communication_ns"),
                *("overlapped_communication_ns", "copy_union_ns", "copy_sum_ns"),
                *("exposed_copy_ns", "busy_union_ns"),
            )
        )
        for row in rows
    ]
    assert found == expected


@FAST
@given(ops(), steps())
def test_memcpy_per_iteration(trace: list[Op], iterations: list[Step]) -> None:
    expected: dict[tuple[Any, ...], tuple[Any, ...]] = {}
    for key, mine in owned(trace, iterations).items():
        for direction in ("D2H", "H2D"):
            copies = [op for op in mine if op.label == f"memcpy {direction}"]
            stated = [op.bytes for op in copies if op.bytes is not None]
            if copies:
                known = [op for op in copies if op.bytes is not None]
                time = sum_ns(spans(known))
                expected[*key, direction] = (
                    len(copies),
                    sum(stated) if stated else None,
                    sum_ns(spans(copies)),
                    sum(stated) / time if time else None,
                )
    with loaded(trace, iterations) as database:
        rows = database.ask("memcpy_per_iteration")
    names = ("run_id", "pid", "iteration", "device_id", "direction")
    figures = ("copy_count", "copy_bytes", "copy_sum_ns", "bandwidth_gb_per_s")
    assert expected == {
        tuple(row[n] for n in names): tuple(row[f] for f in figures) for row in rows
    }
    assert [tuple(row[n] for n in names) for row in rows] == list(expected)
    for row in rows:
        run, pid, _, device, direction = (row[name] for name in names)
        of_process = [s for s in iterations if (s.run, s.pid) == (run, pid)]
        alike = [
            expected.get((run, pid, s.number, device, direction)) for s in of_process
        ]
        if row["iteration"] is None:
            assert row["in_every_iteration"] is None
            assert row["same_in_every_iteration"] is None
        else:
            assert row["in_every_iteration"] is (None not in alike)
            same = None not in alike and len({copy[:2] for copy in alike if copy}) == 1
            assert row["same_in_every_iteration"] is same


def training() -> Database:
    """Three iterations of 100 ns on one device, counted by hand."""
    database = empty()
    database.window(0, 400)
    for number in range(3):
        start = 100 * number
        database.insert(
            "annotation",
            {
                "ts_ns": start,
                "dur_ns": 90,
                "kind": "push_pop",
                "name": f"iteration {number}",
                "pid": 1,
            },
        )
        common = {"device_id": 0, "pid": 1}
        database.insert(
            "kernel",
            # Launched in this iteration; the second ends in the next one.
            common
            | {
                "ts_ns": start + 20,
                "dur_ns": 30,
                "launch_ts_ns": start + 5,
                "name": "a",
            },
            common
            | {"ts_ns": start + 40, "dur_ns": 65, "launch_ts_ns": start + 9}
            | {"name": "ncclKernel_AllReduce"},
        )
        database.insert(
            "memcpy",
            common
            | {"ts_ns": start + 10, "dur_ns": 15, "launch_ts_ns": start, "bytes": 30}
            | {"kind": "H2D"},
        )
    orphan = {"ts_ns": 350, "dur_ns": 7, "launch_ts_ns": None, "name": "a"}
    database.insert("kernel", orphan | {"device_id": 0, "pid": 1})
    return database


def test_by_hand() -> None:
    first, second, third, unowned = training().ask("iteration_timing")
    assert first["source"] == "annotation"
    assert (first["wall_ns"], first["kernel_union_ns"], first["kernel_sum_ns"]) == (
        *(90, 85, 95),
    )
    assert first["exposed_communication_ns"] == 55
    assert first["overlapped_communication_ns"] == 10
    assert (first["copy_union_ns"], first["exposed_copy_ns"]) == (15, 10)
    # Idle: [0, 10) only. In the second, the first one's kernel ran until 105.
    assert (first["idle_ns"], second["idle_ns"]) == (10, 5)
    assert (first["gap_before_ns"], second["gap_before_ns"]) == (None, 5)
    assert third["last_gpu_ns"] == 305
    assert first["is_outlier"] is None
    assert (unowned["iteration"], unowned["wall_ns"], unowned["idle_ns"]) == (None,) * 3
    assert (unowned["kernel_sum_ns"], unowned["op_count"]) == (7, 1)


def test_copies_by_hand() -> None:
    rows = training().ask("memcpy_per_iteration")
    assert [row["iteration"] for row in rows] == [0, 1, 2]
    assert {row["bandwidth_gb_per_s"] for row in rows} == {2.0}
    assert all(row["same_in_every_iteration"] for row in rows)


def test_copies_that_no_iteration_launched_do_not_count_in_every_one() -> None:
    iterations = [Step("r1", None, n, 10 * n, 10 * n + 9) for n in range(2)]
    launches = (1, 12, None)
    trace = [Op("r1", "copy_h2d", 0, (1, 1, 1), 30, 2, x, bytes=4) for x in launches]
    with loaded(trace, iterations) as database:
        rows = database.ask("memcpy_per_iteration")
    assert [(r["iteration"], r["same_in_every_iteration"]) for r in rows] == [
        *((0, True), (1, True), (None, None)),
    ]


def test_summary_by_hand() -> None:
    rows = {row["metric"]: row for row in training().ask("iteration_summary")}
    idle, gap = rows["idle_ns"], rows["gap_before_ns"]
    assert (idle["mean_ns"], idle["median_ns"], idle["min_ns"]) == (20 / 3, 5, 5)
    assert idle["stddev_ns"] == pytest.approx(statistics.stdev([10, 5, 5]))
    assert idle["p95_ns"] == pytest.approx(5 + 0.9 * 5)
    assert (gap["iteration_count"], gap["max_ns"]) == (2, 5)
    assert rows["kernel_sum_ns"]["mean_of_wall_pct"] == pytest.approx(9500 / 90)


def test_slow_first_iterations_are_outliers_and_hide_none() -> None:
    walls = [5000, 900, 100, 101, 99, 100, 103, 100, 130, 98, 100, 102]
    iterations, start = [], 0
    for number, wall in enumerate(walls):
        iterations.append(Step("r1", 1, number, start, start + wall))
        start += wall + 10
    with loaded([], iterations) as database:
        rows = database.ask("iteration_timing")
    assert [row["iteration"] for row in rows if row["is_outlier"]] == [0, 1, 8]
    assert rows[8]["wall_to_median_ratio"] == pytest.approx(
        130 / statistics.median(walls)
    )
    # Nothing is known of a GPU: the figures of a device are not 0.
    assert rows[0]["device_id"] is None
    assert rows[0]["idle_ns"] is None


def devices_own_steps(database: Database) -> None:
    """Steps 0 and 1 of devices 4 and 6, at different times."""
    own = [(4, 100, 100), (4, 300, 100), (6, 1000, 100), (6, 1300, 200)]
    database.insert(
        "iteration",
        *(
            {
                "ts_ns": ts, "dur_ns": dur, "device_id": gpu, "pid": 1,
                "source": "tf_step", "name": "0",
            }
            for gpu, ts, dur in own
        ),
    )  # fmt: skip


def test_a_device_s_own_steps_own_what_began_there_in_them() -> None:
    """By the time on the device, whenever it was launched; nothing of other devices."""
    stream = (1, 1, 1)
    trace = [
        Op("r1", "compute", 4, stream, 100, 40, 50, number=1),
        Op("r1", "compute", 4, stream, 150, 60, 120, number=2),
        Op("r1", "copy_h2d", 4, stream, 90, 5, 101, bytes=1, number=3),
        Op("r1", "copy_h2d", 4, stream, 160, 10, 155, bytes=8, number=4),
        Op("r1", "copy_h2d", 4, stream, 360, 10, 355, bytes=8, number=5),
        Op("r1", "compute", 4, stream, 300, 50, None, number=6),
        # Launched in device 4's step, run in device 6's.
        Op("r1", "compute", 6, stream, 1000, 30, 130, number=7),
        Op("r1", "compute", 6, stream, 1300, 100, 1290, number=8),
        # Device 1 has no step.
        Op("r1", "compute", 1, stream, 135, 20, 110, number=9),
    ]
    with loaded(trace) as database:
        devices_own_steps(database)
        note = {"name": "load data", "kind": "push_pop", "pid": 1, "tid": 1}
        database.insert("annotation", note | {"ts_ns": 100, "dur_ns": 60})
        timing = database.ask("iteration_timing")
        gaps = database.ask("iteration_gaps")
        copies = database.ask("memcpy_per_iteration")
        parts = database.ask("step_breakdown")
        moved = database.ask("step_breakdown", mode="tb")
        inputs = database.ask("input_pipeline")
        steady = database.ask("steady_range", settle_count=1)
        threads = database.ask("launch_threads", from_ns=0, to_ns=2000)
    columns: tuple[str, ...] = (
        *("iteration", "device_id", "start_ns", "wall_ns", "first_gpu_ns"),
        *("last_gpu_ns", "gap_before_ns", "kernel_sum_ns", "idle_ns", "op_count"),
    )
    assert [tuple(r[c] for c in columns) for r in timing if r["run_id"] == "r1"] == [
        (0, 4, 100, 100, 100, 210, None, 100, 10, 3),
        (0, 6, 1000, 100, 1000, 1030, None, 30, 70, 1),
        (1, 4, 300, 100, 300, 370, 90, 50, 40, 2),
        (1, 6, 1300, 200, 1300, 1400, 270, 100, 100, 1),
        (None, 1, None, None, 135, 155, None, 20, None, 1),
        (None, 4, None, None, 90, 95, None, 0, None, 1),
    ]
    columns = ("iteration", "device_id", "start_ns", "end_ns", "idle_ns")
    assert [tuple(r[c] for c in (*columns, "to_iteration_ns")) for r in gaps] == [
        (1, 4, 210, 300, 90, 90),
        (1, 6, 1030, 1300, 270, 270),
    ]
    columns = ("iteration", "device_id", "copy_bytes", "same_in_every_iteration")
    assert [tuple(r[c] for c in columns) for r in copies] == [
        (0, 4, 8, True),
        (1, 4, 8, True),
        (None, 4, 1, None),
    ]
    assert {
        (r["device_id"], r["iteration"]): r["time_ns"]
        for r in parts
        if r["part"] == "kernel" and r["run_id"] == "r1"
    } == {(4, 0): 90, (4, 1): 50, (6, 0): 30, (6, 1): 100}
    columns = ("run_id", "device_id", "iteration", "start_ns", "step_ns")
    honest, tb = ({tuple(r[c] for c in columns) for r in x} for x in (parts, moved))
    assert tb == honest
    assert {
        (r["device_id"], r["iteration"]): (r["wait_ns"], r["exposed_wait_ns"])
        for r in inputs
        if r["run_id"] == "r1"
    } == {(4, 0): (60, 10), (4, 1): (0, 0), (6, 0): (0, 0), (6, 1): (0, 0)}
    columns = ("device_id", "first_iteration", "last_iteration", "iteration_count")
    assert [tuple(r[c] for c in columns) for r in steady] == [
        (4, 0, 1, 2),
        (6, 1, 1, 2),
    ]
    assert {(r["device_id"], r["mean_stagger_ns"]) for r in threads} == {
        *((1, None), (4, None), (6, None))
    }


def test_runs_are_apart() -> None:
    trace = [Op(run, "compute", 0, (1, 1, 1), 5, 9, launch=3) for run in WINDOWS]
    with loaded(trace, [Step("r2", 1, 0, 0, 20)]) as database:
        rows = database.ask("iteration_timing")
    assert [(row["run_id"], row["iteration"]) for row in rows] == [
        *(("r1", None), ("r2", 0)),
    ]
