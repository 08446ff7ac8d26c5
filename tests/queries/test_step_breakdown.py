"""Where steps go, against segments of time that are looked at one by one."""

from __future__ import annotations

from typing import Any

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from query_database import Database, empty
from random_hosts import Range, insert, ranges
from random_traces import FAST, WINDOWS, Op, Step, loaded, ops, steps
from reference import covers, segments

ORDERS = {
    "honest": [
        *("kernel", "memcpy", "memset", "communication", "runtime", "data_loader"),
        *("cpu_op", "other"),
    ],
    "xprof": [
        *("device_compute", "output", "device_to_device", "wait", "collectives"),
        *("kernel_launch", "h2d", "host_compute", "all_other"),
    ],
}
GPU = {
    "honest": {
        **{"compute": "kernel", "graph": "kernel", "communication": "communication"},
        **{"copy_h2d": "memcpy", "copy_d2h": "memcpy", "memset": "memset"},
    },
    "xprof": {
        **{"compute": "device_compute", "graph": "device_compute"},
        **{"memset": "device_compute", "communication": "collectives"},
        **{"copy_h2d": "h2d", "copy_d2h": "output"},
    },
}
HOST = {
    "honest": {
        **{"aten::mm": "cpu_op", "aten::to": "cpu_op", "Optimizer": "cpu_op"},
        **{"nccl:all_reduce": "communication", "gloo:broadcast": "communication"},
        **{"IteratorGetNext": "data_loader", "cuda_runtime": "runtime"},
        "enumerate(DataLoader)#x.__next__": "data_loader",
        **{"cuda_driver": "runtime", "mpi": "communication", "cudnn": "cpu_op"},
    },
    "xprof": {
        **{"aten::mm": "host_compute", "aten::to": "host_compute"},
        **{"nccl:all_reduce": "host_compute", "Optimizer": "host_compute"},
        **{"IteratorGetNext": "wait", "enumerate(DataLoader)#x.__next__": "wait"},
        **{"cuda_runtime": "kernel_launch", "cuda_driver": "kernel_launch"},
        **{"mpi": "host_compute", "cudnn": "host_compute"},
    },
}
FEW = settings(FAST, max_examples=15)
SHOWN = {"wait": "input", "h2d": "input"}
INPUT = {
    **{"IteratorGetNext": "wait", "enumerate(DataLoader)#x.__next__": "wait"},
    **{"Iterator::Map::TFRecord": "read", "Iterator::Map": "preprocess"},
}

Found = list[tuple[int | None, str, tuple[int, int]]]
"""Pid, kind and interval of what a run did."""


def owner(pid: int | None, known: set[int | None]) -> int | str | None:
    """The process with steps that work of a process belongs to; "" for none."""
    if pid is not None and pid in known:
        return pid
    if None in known:
        return None
    return next(iter(known)) if pid is None and len(known) == 1 else ""


def split(
    found: Found, step: dict[str, Any], known: set[int | None]
) -> dict[frozenset[str], int]:
    """Time of the step by the set of kinds that something ran of."""
    sets: dict[str, list[tuple[int, int]]] = {}
    for pid, kind, interval in found:
        if owner(pid, known) == step["pid"]:
            sets.setdefault(kind, []).append(interval)
    start, end = step["start_ns"], step["end_ns"]
    result: dict[frozenset[str], int] = {}
    for a, b in segments([(start, end)], *sets.values()):
        if start <= a and b <= end:
            kinds = frozenset(k for k, of in sets.items() if covers(of, (a, b)))
            result[kinds] = result.get(kinds, 0) + b - a
    return result


def steps_of(db: Database) -> dict[str, list[dict[str, Any]]]:
    """The steps of each run; its capture where it has none."""
    result = db.con.execute(
        "SELECT run_id, pid, iteration, start_ns, end_ns FROM v1._iterations()"
    )
    names = [column[0] for column in result.description]
    rows = [dict(zip(names, row, strict=True)) for row in result.fetchall()]
    found: dict[str, list[dict[str, Any]]] = {}
    for run, (start, end) in WINDOWS.items():
        capture = {"pid": None, "iteration": 0, "start_ns": start, "end_ns": end}
        found[run] = [row for row in rows if row["run_id"] == run] or [capture]
    return found


@FEW
@given(ops(max_size=10), steps(), ranges(), st.sampled_from(sorted(ORDERS)))
def test_split(
    trace: list[Op], marks: list[Step], host: list[Range], mode: str
) -> None:
    with loaded(trace, marks) as db:
        insert(db, host)
        actual = {
            (r["run_id"], r["pid"], r["iteration"], r["part"]): r["time_ns"]
            for r in db.ask("step_breakdown", mode=mode)
        }
        known_steps = steps_of(db)
    order = ORDERS[mode]
    expected: dict[Any, int] = {}
    for run, of_run in known_steps.items():
        found: Found = [
            (op.stream[0], GPU[mode][op.activity], op.span)
            for op in trace
            if op.run == run and op.is_timed
        ]
        found += [
            (one.pid, HOST[mode][one.name], (one.start, one.end))
            for one in host
            if one.run == run and one.name in HOST[mode]
        ]
        known = {step["pid"] for step in of_run}
        for step in of_run:
            key = run, step["pid"], step["iteration"]
            for part in order:
                expected[(*key, SHOWN.get(part, part))] = 0
            for kinds, time in split(found, step, known).items():
                part = min(kinds, key=order.index) if kinds else order[-1]
                expected[(*key, SHOWN.get(part, part))] += time
    assert actual == expected


@FEW
@given(ops(max_size=8), steps(), ranges(("op", "annotation", "slice")))
def test_input(trace: list[Op], marks: list[Step], host: list[Range]) -> None:
    with loaded(trace, marks) as db:
        insert(db, host)
        rows = db.ask("input_pipeline")
        known_steps = steps_of(db)
    names = ("wait_ns", "exposed_wait_ns", "read_ns", "preprocess_ns", "other_input_ns")
    actual = {
        (r["run_id"], r["pid"], r["iteration"]): [r[n] for n in (*names, "busy_ns")]
        for r in rows
    }
    expected: dict[Any, list[int | None]] = {}
    for run, of_run in known_steps.items():
        gpu: Found = [
            (op.stream[0], "gpu", op.span)
            for op in trace
            if op.run == run and op.is_timed
        ]
        inputs: Found = [
            (one.pid, INPUT[one.name], (one.start, one.end))
            for one in host
            if one.run == run and one.name in INPUT
        ]
        is_told = any(a < b for _, _, (a, b) in inputs)
        known = {step["pid"] for step in of_run}
        for step in of_run:
            times = split(gpu + inputs, step, known).items()
            figures: list[int | None] = [
                sum(t for kinds, t in times if "wait" in kinds),
                sum(t for kinds, t in times if "wait" in kinds and "gpu" not in kinds),
                sum(t for kinds, t in times if "read" in kinds),
                sum(
                    t
                    for kinds, t in times
                    if "preprocess" in kinds and "read" not in kinds
                ),
                sum(t for kinds, t in times if kinds - {"gpu"} == {"wait"}),
            ]
            busy = sum(t for kinds, t in times if "gpu" in kinds)
            figures = [*figures, busy] if is_told else [None] * 6
            expected[run, step["pid"], step["iteration"]] = figures
    assert actual == expected


def test_priority_by_hand() -> None:
    """A kernel hides all beside it; what is left falls to the next in order."""
    db = empty()
    db.window(0, 100)
    db.insert("iteration", {"ts_ns": 0, "dur_ns": 100, "source": "x", "pid": 1})
    gpu = {"device_id": 0, "pid": 1}
    db.insert(
        "kernel",
        gpu | {"name": "gemm", "ts_ns": 10, "dur_ns": 20},
        gpu | {"name": "ncclDevKernel_X", "ts_ns": 25, "dur_ns": 20},
    )
    db.insert("memcpy", gpu | {"kind": "H2D", "ts_ns": 40, "dur_ns": 10})
    host = {"pid": 1, "tid": 2}
    db.insert("op", host | {"name": "aten::mm", "ts_ns": 5, "dur_ns": 60})
    db.insert(
        "api_call",
        host | {"api": "cuda_runtime", "name": "x", "ts_ns": 48, "dur_ns": 7},
    )
    db.insert(
        "annotation",
        host | {"kind": "push_pop", "name": "load data", "ts_ns": 60, "dur_ns": 20},
        host | {"kind": "push_pop", "name": "all of it", "ts_ns": 0, "dur_ns": 99},
    )
    parts = {r["part"]: r["time_ns"] for r in db.ask("step_breakdown")}
    assert parts == {
        **{"kernel": 20, "memcpy": 10, "memset": 0, "communication": 10},
        **{"runtime": 5, "data_loader": 20, "cpu_op": 10, "other": 25},
    }
    tb = {r["part"]: r["time_ns"] for r in db.ask("step_breakdown", mode="tb")}
    assert (tb["kernel"], tb["memcpy"], tb["communication"]) == (35, 5, 0)
    assert (tb["runtime"], tb["data_loader"]) == (5, 0)
    assert (tb["cpu_op"], tb["other"]) == (54, 1)
    with pytest.raises(duckdb.Error, match="mode must be"):
        db.ask("step_breakdown", mode="best")


Launch = tuple[int, int, int, int]
"""Start and duration of a call, delay and duration of the kernel that it launched."""


@FEW
@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(1, 12)), min_size=1, max_size=4),
    st.lists(
        st.tuples(*[st.integers(low, 20) for low in (0, 0, 0, 0)]).map(
            lambda t: (3 * t[0], t[1] // 4, t[2], t[3])
        ),
        max_size=8,
    ),
)
def test_moved_steps(marks: list[tuple[int, int]], launches: list[Launch]) -> None:
    """The steps of mode tb, one after the other as the tool walks them."""
    db = empty()
    db.window(-10, 200)
    host: list[tuple[int, int]] = []
    at = 0
    for gap, dur in marks:
        host.append((at + gap, at + gap + dur))
        at += gap + dur
    for a, b in host:
        row = {"ts_ns": a, "dur_ns": b - a, "source": "x", "pid": 1}
        db.insert("iteration", row)
    work = []
    for number, (start, dur, delay, length) in enumerate(launches):
        call = {"api": "cuda_runtime", "name": "x", "ts_ns": start, "dur_ns": dur}
        db.insert("api_call", call | {"pid": 1, "tid": 1, "api_call_id": number})
        kernel = {"name": "gemm", "ts_ns": start + delay, "dur_ns": length, "pid": 1}
        db.insert("kernel", kernel | {"api_call_id": number})
        work.append((start, start + dur, start + delay, start + delay + length))
    rows = db.ask("step_breakdown", mode="tb")
    actual = sorted({(r["start_ns"], r["start_ns"] + r["step_ns"]) for r in rows})
    assert actual == sorted(set(moved(host, work)))


def moved(
    host: list[tuple[int, int]], work: list[tuple[int, int, int, int]]
) -> list[tuple[int, int]]:
    """Steps by torch-tb-profiler's rules."""
    owned: list[list[tuple[int, int]]] = [[] for _ in host]
    free = []
    for call, call_end, start, end in work:
        begun = [i for i, (a, _) in enumerate(host) if a <= call]
        if begun and call_end <= host[begun[-1]][1]:
            owned[begun[-1]].append((start, end))
        else:
            free.append(end)
    if not any(owned):
        return host
    before = host[0][0]
    if owned[0]:
        first = min(start for start, _ in owned[0])
        before = max([before, *(end for end in free if end < first)])
    result = []
    for (a, b), mine in zip(host, owned, strict=True):
        start = max(before, a)
        before = max([b, start, *(end for _, end in mine)])
        result.append((start, before))
    last = max(i for i, mine in enumerate(owned) if mine)
    if len(host) > 1 and last and len(owned[last - 1]) * 0.8 > len(owned[last]):
        return result[:last]
    return result[: last + 1]


def test_executor_and_collectives_by_hand() -> None:
    """TensorFlow's executor launches where a GPU is; a collective needs no kernel."""
    for kind, part in (("gpu", "kernel_launch"), ("cpu", "all_other")):
        db = empty()
        db.window(0, 100)
        db.insert("device", {"device_id": 0, "kind": kind})
        db.insert(
            "annotation",
            {"name": "ExecutorState::Process", "kind": "push_pop", "ts_ns": 10,
             "dur_ns": 30},
        )  # fmt: skip
        db.insert("op", {"op_id": 5, "name": "grad/w", "ts_ns": 50, "dur_ns": 20})
        db.insert("collective", {"op_id": 5, "ts_ns": 50, "dur_ns": 20})
        found = {
            r["part"]: r["time_ns"] for r in db.ask("step_breakdown", mode="xprof")
        }
        assert found["collectives"] == 20
        assert found[part] >= 30 and found["host_compute"] == 0
        assert found["kernel_launch"] == (30 if kind == "gpu" else 0)
        honest = {r["part"]: r["time_ns"] for r in db.ask("step_breakdown")}
        assert (honest["communication"], honest["cpu_op"]) == (20, 0)


def test_whose_own_step_work_of_no_device_and_no_process_is_in() -> None:
    """Host work beside a device's step is in it; GPU work without a device is not."""
    db = empty()
    db.window(0, 200)
    step = {"dur_ns": 100, "source": "tf_step", "pid": 1, "ts_ns": 0}
    db.insert("iteration", step | {"device_id": 4}, step | {"device_id": 6})
    kernel = {"name": "k", "pid": 1, "ts_ns": 10, "dur_ns": 20}
    db.insert("kernel", kernel | {"device_id": None}, kernel | {"device_id": 4})
    call = {"api": "cuda_runtime", "name": "cudaMalloc", "tid": 1, "ts_ns": 50}
    db.insert("api_call", call | {"pid": 1, "dur_ns": 10})
    # Of an unknown process: it belongs to the only one with steps.
    db.insert("api_call", call | {"pid": None, "ts_ns": 70, "dur_ns": 5})
    times = {
        (r["device_id"], r["part"]): r["time_ns"] for r in db.ask("step_breakdown")
    }
    assert (times[4, "kernel"], times[6, "kernel"]) == (20, 0)
    assert (times[4, "runtime"], times[6, "runtime"]) == (15, 15)
    # With a second process nobody knows whose it is.
    db.insert("iteration", step | {"pid": 2, "device_id": 7})
    times = {
        (r["device_id"], r["part"]): r["time_ns"] for r in db.ask("step_breakdown")
    }
    assert [times[gpu, "runtime"] for gpu in (4, 6, 7)] == [10, 10, 0]
