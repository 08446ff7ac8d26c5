"""Synchronising calls, the rules of nsys analyze, and who launches: hand counts."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from query_database import Database, empty
from random_traces import FAST
from reference import clip, union_ns


def call(number: int, name: str, ts: int, dur: int, **more: Any) -> dict[str, Any]:
    api = (
        "cuda_driver" if name.startswith("cu") and name[2].isupper() else "cuda_runtime"
    )
    row = {"api_call_id": number, "name": name, "ts_ns": ts, "dur_ns": dur, "api": api}
    return row | {"pid": 7, "tid": 1} | more


def test_stalls_by_caller_without_calls_inside_others() -> None:
    db = empty()
    db.window(0, 100)
    db.insert(
        "annotation",
        {"annotation_id": 1, "ts_ns": 0, "dur_ns": 60, "kind": "push_pop", "depth": 0}
        | {"name": "step", "domain": "lib", "pid": 7, "tid": 1},
        {"annotation_id": 2, "ts_ns": 10, "dur_ns": 30, "kind": "push_pop", "depth": 1}
        | {"name": "loss", "pid": 7, "tid": 1, "parent_id": 1},
    )
    db.insert(
        "api_call",
        call(1, "cudaStreamSynchronize", 12, 10),
        call(2, "cuStreamSynchronize", 13, 8),
        call(3, "cudaMemcpy", 45, 5),
        call(4, "cuCtxSynchronize", 95, 20),
        call(5, "cudaMemcpyAsync", 70, 3),
        call(6, "cudaStreamWaitEvent", 75, 3),
        call(7, "cudaEventSynchronize", 50, 4, tid=2),
    )
    db.insert(
        "kernel",
        {"ts_ns": 0, "dur_ns": 15, "name": "k", "device_id": 0},
        {"ts_ns": 10, "dur_ns": 8, "name": "k", "device_id": 1},
        {"ts_ns": 52, "dur_ns": 44, "name": "k", "device_id": 0},
    )
    columns: tuple[str, ...] = (
        "tid",
        "annotation",
        "sync_kind",
        "name",
        "blocked_ns",
        "gpu_idle_ns",
    )
    rows = db.ask("sync_stalls")
    assert [tuple(r[c] for c in columns) for r in rows] == [
        (1, "loss", "stream", "cudaStreamSynchronize", 10, 4),
        (1, "lib:step", "copy", "cudaMemcpy", 5, 5),
        (1, None, "device", "cuCtxSynchronize", 5, 4),
        (2, None, "event", "cudaEventSynchronize", 4, 2),
    ]
    assert [r["blocked_pct"] for r in rows] == [10, 5, 5, 4]
    assert db.ask("sync_stalls", from_ns=20, to_ns=21)[0]["blocked_ns"] == 1


@FAST
@given(
    st.lists(st.tuples(st.integers(0, 50), st.integers(0, 20)), max_size=8),
    st.lists(st.tuples(st.integers(0, 50), st.integers(0, 20)), max_size=5),
    st.tuples(st.integers(0, 30), st.integers(31, 70)),
)
def test_gpu_idle_while_blocked(
    kernels: list[tuple[int, int]],
    calls: list[tuple[int, int]],
    window: tuple[int, int],
) -> None:
    db = empty()
    db.window(0, 100)
    for i, (start, dur) in enumerate(kernels):
        db.insert(
            "kernel", {"ts_ns": start, "dur_ns": dur, "name": "k", "device_id": i % 2}
        )
    for i, (start, dur) in enumerate(calls):
        db.insert("api_call", call(i, "cudaDeviceSynchronize", start, dur, tid=i))
    rows = db.ask("sync_stalls", from_ns=window[0], to_ns=window[1])
    busy = [(a, a + d) for a, d in kernels]
    for row in rows:
        start, dur = calls[row["tid"]]
        spans = clip([(start, start + dur)], *window)
        assert row["blocked_ns"] == union_ns(spans)
        inside = [part for span in spans for part in clip(busy, *span)]
        assert row["gpu_idle_ns"] == union_ns(spans) - union_ns(inside)
    timed = [clip([(a, a + d)], *window) for a, d in calls]
    assert sum(r["blocked_ns"] for r in rows) == sum(union_ns(spans) for spans in timed)


def ruled() -> Database:
    """Copies and fills of two processes whose correlation numbers are the same."""
    db = empty()
    db.window(0, 1000)
    db.insert(
        "api_call",
        call(1, "cudaMemcpyAsync", 0, 1, correlation_id=5),
        call(2, "cudaMemcpy", 0, 1, correlation_id=5, pid=8),
        call(3, "cudaMemset", 0, 1),
        call(4, "cudaMemsetAsync", 0, 1),
        call(5, "cudaLaunchKernel", 0, 1),
        call(6, "hipMemcpyDtoH", 0, 1),
    )

    def copy(
        number: int, api_call: int | None, kind: str, size: int, **more: Any
    ) -> Any:
        row = {"memcpy_id": number, "ts_ns": number, "dur_ns": 5, "kind": kind}
        row |= {"bytes": size, "api_call_id": api_call, "correlation_id": 5, "pid": 7}
        return row | {"src_memory": "pinned", "dst_memory": "device"} | more

    db.insert(
        "memcpy",
        copy(1, 1, "H2D", 10, src_memory="pageable"),
        copy(2, 1, "H2D", 10),
        copy(3, 2, "H2D", 64_000, src_memory="pageable", pid=8),
        copy(4, 2, "H2D", 64_001, src_memory="pageable", pid=8),
        copy(5, 2, "D2H", 10, pid=8),
        copy(6, 2, "D2D", 10, pid=8),
        copy(7, 2, "P2P", 10, src_device_id=0, dst_device_id=0, pid=8),
        copy(8, 2, "P2P", 10, src_device_id=0, dst_device_id=1, pid=8),
        copy(9, None, "D2H", 10, dst_memory="pageable"),
        copy(10, 6, "D2H", 10),
    )
    fill: dict[str, Any] = {"ts_ns": 0, "dur_ns": 2, "bytes": 4, "pid": 7}
    db.insert(
        "memset",
        *(
            fill | {"memset_id": i, "api_call_id": api_call, "memory_kind": memory}
            for i, (api_call, memory) in enumerate(
                [(3, "pinned"), (3, "managed"), (3, "device"), (4, "pinned"), (3, None)]
            )
        ),
    )
    return db


def test_rules_join_on_the_call_of_the_process() -> None:
    db = ruled()
    assert [r["memcpy_id"] for r in db.ask("pageable_async_copies")] == [1]
    assert [r["memcpy_id"] for r in db.ask("sync_copies")] == [4, 5, 8, 10]
    assert [r["memset_id"] for r in db.ask("sync_memsets")] == [0, 1]
    assert db.ask("sync_copies", top=1)[0]["api_name"] == "cudaMemcpy"


def test_sync_calls_are_those_of_a_device_or_stream() -> None:
    db = empty()
    db.window(0, 100)
    names = ["cudaDeviceSynchronize", "hipStreamSynchronize", "cuCtxSynchronize"]
    names += ["cudaEventSynchronize", "cudaMemcpy", "mycudaDeviceSynchronize"]
    db.insert("api_call", *(call(i, n, i, 9 - i) for i, n in enumerate(names)))
    assert [r["name"] for r in db.ask("sync_calls")] == names[:2]


def test_launch_threads_and_stagger() -> None:
    db = empty()
    db.window(0, 200)
    db.insert(
        "iteration",
        *(
            {"ts_ns": 100 * i, "dur_ns": 90, "source": "tf_step", "pid": 7}
            for i in range(2)
        ),
    )
    db.insert("api_call", *(call(i, "cudaLaunchKernel", 10 * i, 2) for i in range(12)))

    def kernel(api_call: int | None, device: int, ts: int) -> dict[str, Any]:
        launch = None if api_call is None else 10 * api_call
        row = {"ts_ns": ts, "dur_ns": 5, "name": "k", "device_id": device, "pid": 7}
        return row | {"api_call_id": api_call, "launch_ts_ns": launch}

    db.insert(
        "kernel",
        *(kernel(0, 0, 10), kernel(1, 1, 25), kernel(2, 0, 40)),
        *(
            kernel(10, 1, 110),
            kernel(11, 0, 140),
            kernel(11, 0, 150),
            kernel(None, 0, 5),
        ),
    )
    columns: tuple[str, ...] = (
        "tid",
        "device_id",
        "launch_count",
        "gpu_op_count",
        "call_sum_ns",
    )
    columns += ("mean_stagger_ns", "max_stagger_ns", "step_count")
    rows = db.ask("launch_threads")
    assert [tuple(r[c] for c in columns) for r in rows] == [
        (1, 0, 3, 4, 6, 15, 30, 2),
        (1, 1, 2, 2, 4, 7.5, 15, 2),
        (None, 0, None, 1, None, 15, 30, 2),
    ]
    assert [r["device_pct"] for r in rows] == [80, 100, 20]


def test_counters_and_their_bins() -> None:
    db = empty()
    db.window(0, 100)
    samples = [(0, 1.0), (10, 3.0), (20, None), (30, 8.0), (100, 4.0), (101, 99.0)]
    db.insert(
        "counter",
        *(
            {"ts_ns": ts, "value": value, "name": "SM", "unit": "pct", "device_id": 0}
            for ts, value in samples
        ),
        {"ts_ns": 50, "value": 7, "name": "SM", "unit": "pct", "extra": '{"gpuId":1}'},
    )
    first, other = db.ask("counter_summary")
    assert (first["sample_count"], first["missing_count"]) == (5, 1)
    assert (first["mean_value"], first["median_value"]) == (4, 3.5)
    assert (first["min_value"], first["max_value"], first["interval_ns"]) == (1, 8, 25)
    assert (other["device_id"], other["source_gpu"], other["mean_value"]) == (
        None,
        1,
        7,
    )
    rows = db.ask("counter_bins", bins=3)
    columns: tuple[str, ...] = (
        "device_id",
        "bin",
        "start_ns",
        "end_ns",
        "sample_count",
        "mean_value",
    )
    assert [tuple(r[c] for c in columns) for r in rows] == [
        (0, 0, 0, 33, 4, 4),
        (0, 2, 66, 100, 1, 4),
        (None, 1, 33, 66, 1, 7),
    ]
    assert db.ask("counter_bins", only_name="no such") == []


@FAST
@given(st.integers(1, 40), st.integers(0, 30), st.integers(1, 30))
def test_every_sample_lies_in_its_bin(bins: int, start: int, length: int) -> None:
    db = empty()
    db.window(0, 100)
    db.con.execute(
        "INSERT INTO counter BY NAME SELECT 'r1' AS run_id, i AS ts_ns, i AS value, "
        "'c' AS name FROM range(70) AS t(i)"
    )
    rows = db.ask("counter_bins", bins=bins, from_ns=start, to_ns=start + length)
    assert sum(r["sample_count"] for r in rows) == length
    for row in rows:
        assert row["start_ns"] <= row["min_value"] <= row["max_value"] < row["end_ns"]


def test_unified_memory() -> None:
    db = empty()
    db.window(0, 100)
    copy = {"device_id": 0, "pid": 7}
    db.insert(
        "memcpy",
        copy | {"ts_ns": 0, "dur_ns": 4, "kind": "UVM_H2D", "bytes": 100},
        copy | {"ts_ns": 5, "dur_ns": 6, "kind": "UVM_H2D", "bytes": 300},
        copy | {"ts_ns": 9, "dur_ns": 0, "kind": "UVM_D2H", "bytes": 5},
        copy | {"ts_ns": 9, "dur_ns": 3, "kind": "H2D", "bytes": 5},
    )
    db.insert(
        "page_fault",
        {"ts_ns": 1, "pid": 7, "pages": 1},
        {"ts_ns": 2, "pid": 7, "pages": 1},
        {
            "ts_ns": 3,
            "dur_ns": 8,
            "pid": 7,
            "pages": 12,
            "access": "write",
            "device_id": 0,
        },
    )
    columns: tuple[str, ...] = (
        "kind",
        "event_count",
        "fault_count",
        "total_bytes",
        "total_ns",
    )
    columns += ("throughput_gb_per_s",)
    assert [tuple(r[c] for c in columns) for r in db.ask("unified_memory")] == [
        ("device_fault", 1, 12, None, 8, None),
        ("migration_d2h", 1, None, 5, 0, None),
        ("migration_h2d", 2, None, 400, 10, 40),
        ("host_fault", 2, 2, None, None, None),
    ]


def test_bins_are_bounded() -> None:
    db = empty()
    db.window(0, 100)
    db.insert("counter", {"ts_ns": 0, "value": 1, "name": "c"})
    with pytest.raises(Exception, match="bins must be 1 to 1500"):
        db.ask("counter_bins", bins=0)
