"""Projection, kernels and innermost ranges against a plain join of ranges and calls."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from query_database import Database, empty
from random_traces import FAST, sort_key
from reference import union_ns

from traceql.nesting import nest


@dataclass(frozen=True)
class Range:
    """One annotation range."""

    number: int
    tid: int | None
    kind: str
    name: str
    start: int
    end: int

    def holds(self, call: Call) -> bool:
        return self.tid == call.tid and self.start <= call.start < self.end


@dataclass(frozen=True)
class Call:
    """A host call and the kernels that it launched: name, device, start, length."""

    number: int
    tid: int | None
    start: int
    kernels: tuple[tuple[str, int, int, int], ...]


THREADS = st.sampled_from([1, 1, 1, 2, None])


@st.composite
def traces(draw: st.DrawFn) -> tuple[list[Range], list[Call]]:
    """Ranges that nest, meet, cross and last no time; calls at the same moments too."""
    ranges = draw(
        st.lists(
            st.tuples(
                THREADS,
                st.sampled_from(["push_pop", "push_pop", "push_pop", "start_end"]),
                st.sampled_from("abc"),
                st.integers(0, 30),
                st.integers(0, 25),
            ),
            max_size=9,
        )
    )
    kernel = st.tuples(
        st.sampled_from("xyz"), st.integers(0, 1), st.integers(0, 60), st.integers(0, 9)
    )
    calls = draw(
        st.lists(
            st.tuples(
                THREADS, st.integers(0, 40), st.lists(kernel, min_size=1, max_size=3)
            ),
            max_size=9,
        )
    )
    return (
        [Range(i, t, k, n, s, s + d) for i, (t, k, n, s, d) in enumerate(ranges)],
        [Call(100 + i, t, s, tuple(k)) for i, (t, s, k) in enumerate(calls)],
    )


def load(ranges: list[Range], calls: list[Call]) -> Database:
    """The trace in a database, nested as the importers nest."""
    db = empty()
    db.window(0, 100)
    nested = {}
    pushed = [r for r in ranges if r.kind == "push_pop"]
    if pushed:
        values = ", ".join(
            f"({r.number}, 7, {'NULL' if r.tid is None else r.tid}, {r.start}, {r.end})"
            for r in pushed
        )
        nest(
            db.con,
            f"(SELECT * FROM (VALUES {values}) AS v(id, pid, tid, ts_ns, end_ns))",
        )
        found = db.con.execute("SELECT id, parent_id, depth, crossing FROM nested")
        nested = {row[0]: row[1:] for row in found.fetchall()}
        db.con.execute("DROP TABLE nested")
    for r in ranges:
        parent, depth, crossing = nested.get(r.number, (None, None, False))
        db.insert(
            "annotation",
            {"annotation_id": r.number, "ts_ns": r.start, "dur_ns": r.end - r.start}
            | {"kind": r.kind, "name": r.name, "pid": 7, "tid": r.tid}
            | {"parent_id": parent, "depth": depth, "crossing": crossing},
        )
    for call in calls:
        db.insert(
            "api_call",
            {"api_call_id": call.number, "ts_ns": call.start, "dur_ns": 1}
            | {"api": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 7}
            | {"tid": call.tid},
        )
        db.insert(
            "kernel",
            *(
                {"ts_ns": start, "dur_ns": dur, "name": name, "device_id": device}
                | {"kernel_id": call.number * 10 + i, "pid": 7}
                | {"api_call_id": call.number, "launch_ts_ns": call.start}
                for i, (name, device, start, dur) in enumerate(call.kernels)
            ),
        )
    return db


@FAST
@given(traces())
def test_projection(trace: tuple[list[Range], list[Call]]) -> None:
    ranges, calls = trace
    rows = load(ranges, calls).ask("annotation_gpu_trace")
    expected = {}
    for r in ranges:
        held = [call for call in calls if r.holds(call)]
        spans = [(s, s + d) for call in held for _, _, s, d in call.kernels]
        if held:
            expected[r.number] = (
                min(a for a, _ in spans),
                max(b for _, b in spans) - min(a for a, _ in spans),
                union_ns(spans),
                len(held),
                len(spans),
                sum(b - a for a, b in spans),
            )
    columns: tuple[str, ...] = (
        "gpu_start_ns",
        "gpu_span_ns",
        "busy_ns",
        "launch_count",
    )
    columns += ("gpu_op_count", "kernel_sum_ns")
    assert {r["annotation_id"]: tuple(r[c] for c in columns) for r in rows} == expected
    by_name: dict[tuple[str, str], int] = defaultdict(int)
    for r in ranges:
        if r.number in expected:
            by_name[r.kind, r.name] += expected[r.number][2]
    rows = load(ranges, calls).ask("annotation_gpu_projection")
    assert {(r["kind"], r["name"]): r["busy_ns"] for r in rows} == by_name


@FAST
@given(traces())
def test_kernels_by_annotation(trace: tuple[list[Range], list[Call]]) -> None:
    ranges, calls = trace
    pairs: dict[Any, list[tuple[int, int, int]]] = defaultdict(list)
    for r in ranges:
        for call in calls:
            if r.holds(call):
                for i, (name, _, _, dur) in enumerate(call.kernels):
                    kernel = call.number * 10 + i
                    pairs[r.kind, r.name, r.tid, name].append((r.number, kernel, dur))
    expected = {}
    for key, found in pairs.items():
        once = {kernel: dur for _, kernel, dur in found}
        expected[key] = (
            len({number for number, _, _ in found}),
            len(once),
            sum(once.values()),
            len(found),
            sum(dur for _, _, dur in found),
        )
    rows = load(ranges, calls).ask("kernels_by_annotation")
    columns: tuple[str, ...] = (
        "annotation_count",
        "kernel_count",
        "sum_ns",
        "nested_kernel_count",
    )
    columns += ("nested_sum_ns",)
    assert {
        (r["kind"], r["annotation"], r["tid"], r["name"]): tuple(r[c] for c in columns)
        for r in rows
    } == expected


@FAST
@given(traces())
def test_innermost(trace: tuple[list[Range], list[Call]]) -> None:
    """The range that began last; of those that began together the deepest."""
    ranges, calls = trace
    db = load(ranges, calls)
    found = db.con.execute(
        "SELECT api_call_id, annotation_id FROM v1._call_annotations()"
    ).fetchall()
    depths = dict(
        db.con.execute("SELECT annotation_id, depth FROM annotation").fetchall()
    )
    expected = {}
    for call in calls:
        around = [r for r in ranges if r.kind == "push_pop" and r.holds(call)]
        if around:
            last = max((r.start, depths[r.number]) for r in around)
            expected[call.number] = {
                r.number for r in around if (r.start, depths[r.number]) == last
            }
    assert dict(found).keys() == expected.keys()
    assert len(found) == len(expected)
    for call_id, annotation_id in found:
        assert annotation_id in expected[call_id]


@FAST
@given(traces())
def test_tree(trace: tuple[list[Range], list[Call]]) -> None:
    """Self time and children add up, and rows come parents first."""
    rows = load(trace[0], []).ask("annotation_tree")
    assert len(rows) == sum(r.kind == "push_pop" for r in trace[0])
    for row in rows:
        children = [r for r in rows if r["parent_id"] == row["annotation_id"]]
        assert row["child_count"] == len(children)
        assert row["child_sum_ns"] == sum(r["dur_ns"] for r in children)
        assert row["self_ns"] == row["dur_ns"] - row["child_sum_ns"]
    keys = [sort_key(r["pid"], r["tid"], r["start_ns"], r["depth"]) for r in rows]
    assert keys == sorted(keys)


def test_deep_nesting_and_limits() -> None:
    """A thousand levels: one call each, and figures that a hand can check."""
    depth = 1000
    ranges = [
        Range(i, 1, "push_pop", f"level {i}", i, 3 * depth - i) for i in range(depth)
    ]
    calls = [
        Call(10_000 + i, 1, i, (("k", 0, 5 * i, 10),)) for i in range(0, depth, 100)
    ]
    db = load(ranges, calls)
    db.con.execute("UPDATE run SET span_ns = 10000")
    rows = db.ask("annotation_gpu_trace")
    # Level i holds the calls at i, and all deeper ones: kernels 500 apart, 10 long.
    assert [r["launch_count"] for r in rows] == [10 - -(-i // 100) for i in range(901)]
    assert all(r["busy_ns"] == 10 * r["launch_count"] for r in rows)
    assert rows[0]["gpu_span_ns"] == 9 * 500 + 10
    inner = dict(
        db.con.execute(
            "SELECT api_call_id, annotation_id FROM v1._call_annotations()"
        ).fetchall()
    )
    assert inner == {call.number: call.start for call in calls}
    names = db.ask("kernels_by_annotation")
    assert {r["annotation"]: r["kernel_count"] for r in names} == {
        f"level {i}": 10 - -(-i // 100) for i in range(901)
    }


def test_busy_limit_leaves_unknown_what_it_does_not_spell_out() -> None:
    ranges = [Range(0, 1, "push_pop", "a", 0, 50), Range(1, 1, "push_pop", "b", 60, 90)]
    kernels = (("k", 0, 10, 10), ("k", 1, 15, 10))
    db = load(ranges, [Call(100, 1, 5, kernels), Call(101, 1, 70, (("k", 0, 70, 5),))])
    assert [r["busy_ns"] for r in db.ask("annotation_gpu_trace")] == [15, 5]
    rows = db.ask("annotation_gpu_trace", busy_limit=0)
    assert [r["busy_ns"] for r in rows] == [None, 5]
    rows = db.ask("annotation_gpu_projection", busy_limit=0)
    assert [(r["name"], r["busy_ns"]) for r in rows] == [("a", None), ("b", 5)]
    rows = db.ask("kernels_by_annotation", count_limit=0)
    assert [(r["annotation_count"], r["kernel_count"]) for r in rows] == [
        (None, 2),
        (None, 1),
    ]


def test_a_range_that_ends_on_another_thread_launches_nothing() -> None:
    db = load(
        [Range(0, 1, "start_end", "a", 0, 50)], [Call(9, 1, 5, (("k", 0, 5, 1),))]
    )
    assert len(db.ask("annotation_gpu_trace")) == 1
    db.con.execute("UPDATE annotation SET end_tid = 2")
    assert db.ask("annotation_gpu_trace") == []
    assert db.ask("kernels_by_annotation") == []


@pytest.mark.parametrize("levels", [1, 3])
def test_nested_same_name_counts_once_and_often(levels: int) -> None:
    ranges = [Range(i, 1, "push_pop", "a", i, 50 - i) for i in range(levels)]
    calls = [Call(100, 1, 10, (("k", 0, 10, 4),)), Call(101, 1, 20, (("k", 0, 20, 8),))]
    (row,) = load(ranges, calls).ask("kernels_by_annotation")
    assert (row["kernel_count"], row["sum_ns"], row["sum_pct"]) == (2, 12, 100)
    assert row["median_ns"] == 6
    assert row["nested_kernel_count"] == 2 * levels
    assert row["nested_sum_ns"] == 12 * levels
    assert row["nested_mean_ns"] == 6
    # Of 4 and 8, each as often: squares add up to 8 a level.
    assert row["nested_stddev_ns"] == pytest.approx(
        (8 * levels / (2 * levels - 1)) ** 0.5
    )


def test_pairs_of_starts_are_in_order() -> None:
    ranges = [Range(i, 1, "push_pop", "r", 10 * i, 10 * i + 5) for i in range(4)]
    rows = load(ranges, []).ask("annotation_tree", max_depth=0, top=3)
    assert all(a["start_ns"] < b["start_ns"] for a, b in pairwise(rows))
    assert len(rows) == 3
