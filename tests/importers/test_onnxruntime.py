"""ONNX Runtime profiles: sessions, nodes, GPU kernels, names that nobody escaped."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from trace_events import Imported, ingested, written

import traceql

Event = dict[str, Any]


def _x(cat: str, name: str, ts: int, dur: int, **args: Any) -> Event:
    return {
        "cat": cat, "pid": 5, "tid": 5, "dur": dur, "ts": ts, "ph": "X",
        "name": name, "args": args,
    }  # fmt: skip


RUN: list[Event] = [
    _x("Session", "model_loading_uri", 0, 90),
    _x("Session", "session_initialization", 100, 50),
    _x("Node", "mm_fence_before", 205, 1, op_name="MatMul"),
    _x(
        "Node", "mm_kernel_time", 206, 30, op_name="MatMul",
        provider="CPUExecutionProvider", node_index="0",
        input_type_shape=[{"float": [64, 8]}, {"int64": []}],
    ),
    _x("Session", "SequentialExecutor::Execute", 202, 50),
    _x("Session", "model_run", 200, 60),
]  # fmt: skip


def _import(store: traceql.Store, folder: Path, text: str) -> Imported:
    run = ingested(store, written(folder, text))
    assert run.outcome.run is not None
    assert run.outcome.run.manifest.importer["name"] == "onnxruntime"
    return run


def test_nodes_and_sessions(store: traceql.Store, tmp_path: Path) -> None:
    """A node is an operation within the executor; a run of the model, an iteration."""
    run = _import(store, tmp_path, json.dumps(RUN))
    assert run.rows(
        "SELECT o.name, o.op_type, o.placement, o.ts_ns, o.dur_ns, o.input_shapes, "
        "o.input_types, o.extra->>'$.provider', a.name FROM op AS o "
        "JOIN annotation AS a ON a.annotation_id = o.parent_id"
    ) == [
        ("mm", "MatMul", "host", 206_000, 30_000, "[[64,8],[]]", '["float","int64"]',
         "CPUExecutionProvider", "SequentialExecutor::Execute")
    ]  # fmt: skip
    assert run.rows("SELECT name, source, ts_ns, dur_ns FROM iteration") == [
        ("model_run", "model_run", 200_000, 60_000)
    ]
    assert run.rows("SELECT name, category FROM slice") == [("mm_fence_before", "Node")]
    assert run.rows("SELECT framework FROM run") == [("onnxruntime",)]


def test_a_gpu(store: traceql.Store, tmp_path: Path) -> None:
    """Kernels and copies of an execution provider; which device is not written."""
    kernel = _x(
        "Kernel", "gemm", 240, 7, stream="7", grid_x="8", grid_y="2", grid_z="1",
        block_x="256", block_y="1", block_z="1",
    )  # fmt: skip
    copy = _x("Kernel", "MemcpyHostToDevice", 230, 3, stream="7")
    events = [*RUN, {**kernel, "pid": -1}, {**copy, "pid": -1}]
    events.append(_x("Api", "cudaLaunchKernel_v7000", 210, 2))
    run = _import(store, tmp_path, json.dumps(events))
    assert run.rows(
        "SELECT name, device_id, stream_id, pid, dur_ns, grid_x, grid_y, block_x "
        "FROM kernel"
    ) == [("gemm", None, 7, None, 7000, 8, 2, 256)]
    assert run.rows("SELECT dur_ns, stream_id FROM memcpy") == [(3000, 7)]
    assert run.rows("SELECT name, api FROM api_call") == [
        ("cudaLaunchKernel", "cuda_runtime")
    ]


def test_names_that_are_not_escaped(store: traceql.Store, tmp_path: Path) -> None:
    r"""Node names go into the file as they are: a path of Windows, a tab."""
    text = json.dumps(RUN).replace('"mm_kernel_time"', '"C:\\q\\mm\t1_kernel_time"')
    run = _import(store, tmp_path, text)
    assert run.rows("SELECT name, dur_ns FROM op") == [("C:\\q\\mm\t1", 30_000)]
    assert not [f for f in run.outcome.findings if f.severity == "data_loss"]


def test_a_quote_in_a_name_costs_one_event(
    store: traceql.Store, tmp_path: Path
) -> None:
    """Whatever becomes of the event, those beside it stay, and it is said."""
    text = json.dumps(RUN).replace('"mm_fence_before"', '"m"m_fence_before"')
    run = _import(store, tmp_path, text)
    assert run.rows("SELECT name, dur_ns FROM op") == [("mm", 30_000)]
    assert run.rows("SELECT count(*) FROM iteration") == [(1,)]
    assert run.found


def test_a_cut_profile(store: traceql.Store, tmp_path: Path) -> None:
    """The process was killed: the complete events are imported, the loss is said."""
    text = json.dumps(RUN)
    run = _import(store, tmp_path, text[: text.rindex('"model_run"')])
    assert run.rows("SELECT count(*) FROM op") == [(1,)]
    assert run.rows("SELECT count(*) FROM iteration") == [(0,)]
    assert [f for f in run.outcome.findings if f.severity == "data_loss"]


@pytest.mark.corpus
def test_a_real_one(store: traceql.Store, corpus: Path) -> None:
    """Against a plain reading: rows of each category, and their times."""
    (path,) = (corpus / "chrome" / "onnxruntime").glob("*.json")
    events = json.loads(path.read_bytes())
    nodes = [e for e in events if e["name"].endswith("_kernel_time")]
    run = ingested(store, path)
    assert run.rows("SELECT name, op_type, ts_ns, dur_ns FROM op ORDER BY ts_ns") == [
        (
            e["name"].removesuffix("_kernel_time"),
            e["args"]["op_name"],
            e["ts"] * 1000,
            e["dur"] * 1000,
        )
        for e in sorted(nodes, key=lambda e: int(e["ts"]))
    ]
    sessions = [e for e in events if e["cat"] == "Session"]
    assert run.rows("SELECT count(*) FROM annotation") == [(len(sessions),)]
    runs = [e for e in events if e["name"] == "model_run"]
    assert run.rows("SELECT count(*) FROM iteration") == [(len(runs),)]
