"""Framework operations, against a walk up from each of them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from query_database import Database, empty
from random_hosts import Range, insert, trees
from random_traces import FAST, Op, loaded, ops
from reference import common_ns, union_ns

FEW = settings(FAST, max_examples=15)


@dataclass
class Cost:
    """One operation, the slow way."""

    op: Range
    inside: list[Range]
    """Operations around it, outermost first."""
    host_self: int = 0
    api: int = 0
    api_self: int = 0
    device: int = 0
    device_self: int = 0
    launches: int = 0
    launches_inside: int = 0
    spans: list[tuple[int, int]] = field(default_factory=list)


def costs(host: list[Range], work: list[Op], owner: list[int]) -> dict[int, Cost]:
    """Every operation; `owner` has the operation of each GPU operation."""
    found: dict[int, Cost] = {}
    for one in host:
        if one.table == "op":
            earlier = [cost.op for cost in found.values()]
            around = [other for other in earlier if other.holds(one)]
            found[one.number] = Cost(one, around, host_self=one.end - one.start)
    for cost in found.values():
        if cost.inside:
            parent = found[cost.inside[-1].number]
            parent.host_self -= cost.op.end - cost.op.start
    calls: list[Range] = []
    for call in (one for one in host if one.table == "api_call"):
        before = [(c.start, c.end) for c in calls if c.thread == call.thread]
        calls.append(call)
        added = union_ns([*before, (call.start, call.end)]) - union_ns(before)
        around = [cost.op for cost in found.values() if cost.op.holds(call)]
        for other in around:
            found[other.number].api += added
        if around:
            found[around[-1].number].api_self += added
            found[around[-1].number].host_self -= added
    for op, number in zip(work, owner, strict=True):
        if number in found and found[number].op.run == op.run:
            time = max(op.dur or 0, 0)
            found[number].device_self += time
            found[number].launches += 1
            for one in [*found[number].inside, found[number].op]:
                found[one.number].device += time
                found[one.number].launches_inside += 1
    return found


def own(db: Database, work: list[Op], owner: list[int]) -> None:
    for op, number in zip(work, owner, strict=True):
        for table in ("kernel", "memcpy", "memset", "graph_launch"):
            db.con.execute(
                f"UPDATE {table} SET op_id = ? WHERE {table}_id = ?",
                [number, op.number],
            )


TRACES = st.tuples(trees(), ops(max_size=8)).flatmap(
    lambda both: st.tuples(
        st.just([replace(one, number=i) for i, one in enumerate(both[0])]),
        st.just(both[1]),
        st.lists(
            st.integers(0, max(len(both[0]), 1)),
            min_size=len(both[1]),
            max_size=len(both[1]),
        ),
    )
)


@FEW
@given(TRACES)
def test_summary(trace: tuple[list[Range], list[Op], list[int]]) -> None:
    host, work, owner = trace
    with loaded(work) as db:
        insert(db, host)
        own(db, work, owner)
        rows = db.ask("op_summary", from_ns=-100, to_ns=1000)
        placed = db.ask("op_placement", from_ns=-100, to_ns=1000)
        overhead = db.ask("op_overhead", from_ns=-100, to_ns=1000)
        phases = db.ask("op_overhead", group_by="phase", from_ns=-100, to_ns=1000)
    found = list(costs(host, work, owner).values())
    expected: dict[Any, list[int]] = {}
    for cost in found:
        figures = [1, cost.host_self, cost.op.end - cost.op.start, cost.api_self]
        figures += [cost.device_self, cost.device, cost.launches]
        add(expected, (cost.op.run, cost.op.name), figures)
    names = (
        *("call_count", "host_self_ns", "host_sum_ns", "api_self_ns"),
        *("device_self_ns", "device_sum_ns", "gpu_op_count"),
    )
    assert {(r["run_id"], r["label"]): [r[n] for n in names] for r in rows} == expected
    for row in rows:
        mine = [
            c.op
            for c in found
            if (c.op.run, c.op.name) == (row["run_id"], row["label"])
        ]
        threads = {op.thread for op in mine}
        assert row["host_union_ns"] == sum(
            union_ns([(op.start, op.end) for op in mine if op.thread == thread])
            for thread in threads
        )
    check_placement(placed, found)
    check_overhead(overhead, phases, found, work)


def add(total: dict[Any, list[int]], key: object, figures: list[int]) -> None:
    before = total.get(key, [0] * len(figures))
    total[key] = [a + b for a, b in zip(before, figures, strict=True)]


def check_placement(rows: list[dict[str, Any]], found: list[Cost]) -> None:
    expected: dict[Any, list[int]] = {}
    for cost in found:
        where = "nested" if cost.launches_inside else "host"
        where = "device" if cost.launches else where
        figures = [1, cost.host_self, cost.api_self, cost.device_self, cost.launches]
        add(expected, (cost.op.run, where), figures)
    names = ("op_count", "host_self_ns", "api_self_ns", "device_self_ns")
    assert {
        (r["run_id"], r["placement"]): [r[n] for n in (*names, "gpu_op_count")]
        for r in rows
    } == expected


def check_overhead(
    rows: list[dict[str, Any]],
    phases: list[dict[str, Any]],
    found: list[Cost],
    work: list[Op],
) -> None:
    by_name: dict[Any, list[int]] = {}
    by_phase: dict[Any, list[int]] = {}
    known: dict[Any, bool] = {}
    for cost in found:
        op = cost.op
        optimizing = [one for one in (*cost.inside, op) if one.name == "Optimizer"]
        phase = (
            "optimizer" if any(one.end > one.start for one in optimizing) else "unknown"
        )
        mine = [w for w in work if w.run == op.run]
        if all(w.stream[0] is not None for w in mine):
            mine = [w for w in mine if w.stream[0] == op.pid]
        spans = [w.span for w in mine]
        time = op.end - op.start
        busy = common_ns([(op.start, op.end)], spans) if time else 0
        figures = [1, time, cost.api, time - cost.api, cost.device, time - busy]
        add(by_name, (op.run, phase, op.name), figures)
        known[op.run, phase, op.name] = any(a < b for a, b in spans)
        if not cost.inside:
            add(by_phase, (op.run, phase, None), figures)
    names = ["op_count", "host_sum_ns", "api_ns", "overhead_ns", "device_sum_ns"]
    for asked, expected in ((rows, by_name), (phases, by_phase)):
        actual = {(r["run_id"], r["phase"], r["name"]): r for r in asked}
        assert {key: [r[n] for n in names] for key, r in actual.items()} == {
            key: figures[:5] for key, figures in expected.items()
        }
    if len({cost.op.pid for cost in found}) == 1:
        for row in rows:
            key = row["run_id"], row["phase"], row["name"]
            assert row["gpu_idle_ns"] == (by_name[key][5] if known[key] else None)


def test_by_hand() -> None:
    """A linear layer of two operations, one of which launches a kernel."""
    db = empty()
    db.window(0, 1000)
    host = {"pid": 1, "tid": 1}
    db.insert(
        "op",
        host
        | {
            "op_id": 1,
            "name": "linear",
            "ts_ns": 0,
            "dur_ns": 100,
            "input_shapes": "[[2,3]]",
            "module": "Net.fc",
            "op_type": "Linear",
        },
        host | {"op_id": 2, "name": "t", "ts_ns": 10, "dur_ns": 20},
        host | {"op_id": 3, "name": "addmm", "ts_ns": 30, "dur_ns": 60},
        host | {"op_id": 4, "name": "empty", "ts_ns": 30, "dur_ns": 0},
        {"op_id": 5, "name": "conv", "ts_ns": 5, "dur_ns": 40, "placement": "device"},
    )
    call = host | {"api": "cuda_runtime", "name": "cudaLaunchKernel"}
    db.insert("api_call", call | {"ts_ns": 40, "dur_ns": 25, "api_call_id": 9})
    inner = call | {"api": "cuda_driver", "ts_ns": 45, "dur_ns": 10}
    db.insert("api_call", inner | {"api_call_id": 10})
    kernel = {"name": "gemm", "ts_ns": 50, "dur_ns": 70, "device_id": 0, "pid": 1}
    db.insert("kernel", kernel | {"op_id": 3, "api_call_id": 9})
    rows = {r["label"]: r for r in db.ask("op_summary")}
    figures = ("host_self_ns", "host_sum_ns", "device_self_ns", "device_sum_ns")
    assert [rows["linear"][n] for n in figures] == [20, 100, 0, 70]
    assert [rows["addmm"][n] for n in figures] == [35, 60, 70, 70]
    assert [rows["t"][n] for n in figures] == [20, 20, 0, 0]
    assert [rows["conv"][n] for n in figures] == [0, 0, 40, 40]
    assert rows["addmm"]["api_self_ns"] == 25
    by_type = {
        r["label"]: r["call_count"] for r in db.ask("op_summary", group_by="type")
    }
    assert by_type == {"Linear": 1, "t": 1, "addmm": 1, "empty": 1, "conv": 1}
    shapes = {
        (r["label"], r["input_shapes"]) for r in db.ask("op_summary", group_by="shape")
    }
    assert ("linear", "[[2,3]]") in shapes and ("t", None) in shapes
    modules = {
        r["label"]: r["call_count"] for r in db.ask("op_summary", group_by="module")
    }
    assert modules == {"Net.fc": 1, None: 4}
    overhead = {r["name"]: r for r in db.ask("op_overhead")}
    assert overhead["linear"]["overhead_ns"] == 75
    # The kernel runs from 50 on: 50 of linear's 100 and 20 of addmm's 60 are idle.
    assert overhead["linear"]["gpu_idle_ns"] == 50
    assert overhead["addmm"]["gpu_idle_ns"] == 20
    places = {r["placement"]: r["op_count"] for r in db.ask("op_placement")}
    assert places == {"device": 2, "nested": 1, "host": 2}
    with pytest.raises(duckdb.Error, match="group_by must be"):
        db.ask("op_summary", group_by="colour")


def test_crossing_operations_keep_their_holder() -> None:
    """What crosses its neighbour belongs to the operation that holds it whole."""
    db = empty()
    db.window(0, 1000)
    host = {"pid": 1, "tid": 1, "name": "x"}
    db.insert(
        "op",
        host | {"op_id": 1, "ts_ns": 0, "dur_ns": 100},
        host | {"op_id": 2, "ts_ns": 10, "dur_ns": 20, "parent_id": 1},
        host
        | {"op_id": 3, "ts_ns": 25, "dur_ns": 20, "parent_id": 1, "crossing": True},
    )
    rows = db.con.execute(
        "SELECT op_id, parent_op_id, host_self_ns FROM v1._op_costs() ORDER BY op_id"
    ).fetchall()
    assert rows == [(1, None, 60), (2, 1, 20), (3, 1, 20)]


def test_phases() -> None:
    db = empty()
    db.window(0, 100)
    note = {"kind": "push_pop", "name": "Optimizer.step#Adam.step", "pid": 1, "tid": 1}
    db.insert("annotation", note | {"ts_ns": 50, "dur_ns": 20})
    host = {"pid": 1, "tid": 1, "name": "mul", "dur_ns": 5}
    db.insert(
        "op",
        host | {"ts_ns": 0, "is_backward": False},
        host | {"ts_ns": 20, "is_backward": True},
        host | {"ts_ns": 51, "is_backward": False},
        host | {"ts_ns": 80},
    )
    rows = {r["phase"]: r["op_count"] for r in db.ask("op_overhead")}
    assert rows == {"forward": 1, "backward": 1, "optimizer": 1, "unknown": 1}
    assert all(r["gpu_idle_ns"] is None for r in db.ask("op_overhead"))


def test_operations_placed_on_a_device() -> None:
    """Device time is that of the kernels, pauses left out; a call of both is one."""
    db = empty()
    db.window(0, 1000)
    db.insert(
        "op",
        {"op_id": 1, "name": "mm", "ts_ns": 0, "dur_ns": 30, "placement": "host"},
        {"op_id": 2, "name": "mm", "ts_ns": 100, "dur_ns": 300, "placement": "device"},
        {"op_id": 3, "name": "xla", "ts_ns": 500, "dur_ns": 70, "placement": "device"},
    )
    db.insert(
        "kernel",
        {"ts_ns": 100, "dur_ns": 10, "op_id": 2},
        {"ts_ns": 380, "dur_ns": 20, "op_id": 2},
    )
    assert [
        (r["label"], r["call_count"], r["device_self_ns"], r["host_mean_ns"])
        for r in db.ask("op_summary")
    ] == [("xla", 1, 70, None), ("mm", 1, 30, 30)]
