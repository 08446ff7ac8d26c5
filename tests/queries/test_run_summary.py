from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from query_database import Database, empty

OPS = st.lists(
    st.tuples(
        st.integers(0, 40),
        st.integers(1, 12),
        st.integers(0, 1),
        st.sampled_from(["gemm", "ncclKernel", "H2D", "memset", "graph"]),
    ),
    min_size=1,
    max_size=10,
)


def insert(db: Database, ops: list[tuple[int, int, int, str]]) -> None:
    db.window(0, 60)
    for ts, dur, device, what in ops:
        row: dict[str, Any] = {"ts_ns": ts, "dur_ns": dur, "device_id": device}
        if what == "H2D":
            db.insert("memcpy", row | {"kind": what, "bytes": 5})
        elif what == "memset":
            db.insert("memset", row)
        elif what == "graph":
            db.insert("graph_launch", row)
        else:
            db.insert("kernel", row | {"name": what})


@settings(deadline=None)
@given(ops=OPS, window=st.sampled_from([(0, 60), (10, 30)]))
def test_parts_equal_a_count_of_every_nanosecond(
    ops: list[tuple[int, int, int, str]], window: tuple[int, int]
) -> None:
    db = empty()
    insert(db, ops)

    def ran(*whats: str) -> set[tuple[int, int]]:
        return {
            (device, t)
            for ts, dur, device, what in ops
            for t in range(max(ts, window[0]), min(ts + dur, window[1]))
            if what in whats
        }

    compute = ran("gemm", "graph")
    kernels = compute | ran("ncclKernel")
    any_op = kernels | ran("H2D", "memset")
    whole = len({device for device, _ in any_op}) * (window[1] - window[0])
    (row,) = db.ask("run_summary", from_ns=window[0], to_ns=window[1])
    assert row["kernel_busy_ns"] == len(kernels)
    assert row["gpu_busy_ns"] == len(any_op)
    if not whole:
        assert row["device_window_ns"] is row["idle_pct"] is row["largest_loss"] is None
        return
    assert row["device_window_ns"] == whole
    losses = {
        "idle": whole - len(any_op),
        "exposed_copy": len(any_op) - len(kernels),
        "exposed_communication": len(kernels) - len(compute),
    }
    for name, lost in losses.items():
        assert row[f"{name}_pct"] == pytest.approx(100 * lost / whole)
    assert row["compute_pct"] == pytest.approx(100 * len(compute) / whole)
    if any(losses.values()):
        assert losses[row["largest_loss"]] == max(losses.values())
        assert row["largest_loss_pct"] == row[f"{row['largest_loss']}_pct"]
    else:
        assert row["largest_loss"] is None


def test_counts_bytes_iterations_and_findings() -> None:
    db = empty()
    insert(db, [(0, 5, 0, "gemm"), (9, 3, 0, "H2D"), (20, 3, 0, "H2D")])
    db.insert("kernel", {"ts_ns": 30, "dur_ns": 1, "device_id": 0, "api_call_id": 7})
    db.insert("device", {"device_id": 0, "name": "A100"}, {"device_id": 1, "name": "x"})
    step = {"kind": "push_pop", "dur_ns": 10, "pid": 1}
    db.insert(
        "annotation",
        step | {"name": "iteration 1", "ts_ns": 0},
        step | {"name": "iteration 2", "ts_ns": 20, "dur_ns": 20},
        step | {"name": "batch 2", "ts_ns": 21},
    )
    for severity in ("warning", "data_loss", "info"):
        finding = {"code": severity, "severity": severity, "count": 9, "message": "m"}
        db.insert("diagnostic", finding)
    (row,) = db.ask("run_summary")
    assert row["devices"] == "A100"
    assert (row["kernel_count"], row["orphan_kernel_count"]) == (2, 1)
    assert (row["memcpy_count"], row["h2d_bytes"], row["d2h_bytes"]) == (2, 10, 0)
    assert (row["iteration_count"], row["median_iteration_ns"]) == (2, 15)
    assert (row["warning_count"], row["data_loss_count"]) == (1, 1)
    assert row["annotation_count"] == 3


def test_steps_that_devices_state_alike_count_once() -> None:
    """Two devices of one process with the same steps, and one step of another's."""
    db = empty()
    db.window(0, 100)
    step = {"dur_ns": 5, "source": "tf_step"}
    own = [(1, 4, 0), (1, 4, 10), (1, 6, 1), (1, 6, 11), (2, 0, 50)]
    db.insert(
        "iteration",
        *({**step, "pid": pid, "device_id": gpu, "ts_ns": at} for pid, gpu, at in own),
    )
    (row,) = db.ask("run_summary")
    assert row["iteration_count"] == 3


def test_a_run_without_gpu_work_has_a_row_and_no_shares() -> None:
    db = empty()
    db.window(0, 10)
    (row,) = db.ask("run_summary")
    assert row["device_count"] == row["kernel_count"] == 0
    assert row["idle_pct"] is row["largest_loss"] is None
