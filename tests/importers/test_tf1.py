"""TensorFlow 1 timelines: planes, copies, arrows, memory, folders, real files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from trace_events import Imported, ingested, written

import traceql

Event = dict[str, Any]
HOST = "/job:localhost/replica:0/task:0/device:CPU:0"
GPU = "/job:localhost/replica:0/task:0/device:GPU:0"
T0 = 1_500_000_000_000_000


def _plane(pid: int, name: str) -> Event:
    return {"ph": "M", "name": "process_name", "pid": pid, "args": {"name": name}}


def _op(pid: int, kind: str, name: str, ts: int, dur: int, **inputs: str) -> Event:
    return {
        "ph": "X", "cat": "Op", "name": kind, "pid": pid, "tid": 0, "ts": T0 + ts,
        "dur": dur, "args": {"name": name, "op": kind, **inputs},
    }  # fmt: skip


def _gpu(prefix: str) -> list[Event]:
    """A MatMul and a copy, once on their streams, once on the planes of all."""
    kernel = ("MatMul", "dense/MatMul", 30, 20)
    copy = ("MEMCPYHtoD", "edge_7_dense/x", 10, 5)
    return [
        _plane(1, f"{HOST} Compute"),
        _plane(2, f"{GPU} Compute"),
        _plane(3, f"{prefix}/stream:7 Compute"),
        _plane(4, f"{prefix}/stream:9 Compute"),
        _plane(5, f"{prefix}/stream:all Compute"),
        _plane(6, f"{prefix}/memcpy Compute"),
        _op(1, "Const", "dense/x", 0, 4),
        _op(2, "MatMul", "dense/MatMul", 20, 3, input0="dense/x", input1="dense/w"),
        _op(3, *kernel),
        _op(4, *copy),
        _op(5, *kernel),
        _op(6, *copy),
    ]


@pytest.mark.parametrize("prefix", ["/gpu:0", "/device:GPU:0"])
def test_a_stream_counts_once(
    store: traceql.Store, tmp_path: Path, prefix: str
) -> None:
    """Of the planes that repeat it nothing is taken, in the old names and the new."""
    run = ingested(store, written(tmp_path, _gpu(prefix)))
    assert run.rows(
        "SELECT k.name, k.device_id, k.stream_id, k.ts_ns, k.dur_ns, k.launch_ts_ns, "
        "o.name FROM kernel AS k JOIN op AS o USING (op_id)"
    ) == [("MatMul", 0, 7, 30_000, 20_000, 20_000, "dense/MatMul")]
    assert run.rows(
        "SELECT m.kind, m.device_id, m.stream_id, m.dur_ns, m.bytes, o.name "
        "FROM memcpy AS m JOIN op AS o USING (op_id)"
    ) == [("H2D", 0, 9, 5000, None, "dense/x")]
    assert run.found["derived_rows"] == 2
    assert run.rows("SELECT device_id, kind FROM device") == [(0, "gpu")]


def test_operations_and_where_they_are(store: traceql.Store, tmp_path: Path) -> None:
    """Times are the host's; the device that an operation is placed on, its inputs."""
    run = ingested(store, written(tmp_path, _gpu("/device:GPU:0")))
    assert run.rows(
        "SELECT name, op_type, placement, extra->>'$.device', extra->>'$.input0', "
        "extra->>'$.input1' FROM op ORDER BY ts_ns"
    ) == [
        ("dense/x", "Const", "host", HOST, None, None),
        ("dense/MatMul", "MatMul", "host", GPU, "dense/x", "dense/w"),
    ]


def test_planes_of_all_where_there_are_no_streams(
    store: traceql.Store, tmp_path: Path
) -> None:
    events = [e for e in _gpu("/gpu:0") if e["pid"] not in (3, 4)]
    run = ingested(store, written(tmp_path, events))
    assert run.rows("SELECT name, stream_id, dur_ns FROM kernel") == [
        ("MatMul", None, 20_000)
    ]
    assert run.rows("SELECT kind, stream_id, dur_ns FROM memcpy") == [
        ("H2D", None, 5000)
    ]
    assert "derived_rows" not in run.found


def test_a_copy_that_bears_its_operation_s_name(
    store: traceql.Store, tmp_path: Path
) -> None:
    """The plane memcpy says that it is one; of what kind, nothing says."""
    row = ("ConstantFolding", "dense/c", 60, 2)
    events = [*_gpu("/gpu:0"), _op(3, *row), _op(6, *row)]
    run = ingested(store, written(tmp_path, events))
    assert run.rows("SELECT count(*) FROM kernel") == [(1,)]
    assert run.rows("SELECT kind, stream_id FROM memcpy ORDER BY ts_ns") == [
        ("H2D", 9),
        ("unknown", 7),
    ]


def test_data_flows(store: traceql.Store, tmp_path: Path) -> None:
    """Arrows end with t, at the start of the operation that takes the data."""
    arrow = {"cat": "DataFlow", "name": "dense/x", "id": 5, "tid": 0}
    run = ingested(
        store,
        written(
            tmp_path,
            [
                *_gpu("/device:GPU:0"),
                {"ph": "s", "pid": 1, "ts": T0 + 4, **arrow},
                {"ph": "t", "pid": 2, "ts": T0 + 20, **arrow},
            ],
        ),
    )
    assert run.rows(
        "SELECT f.kind, f.from_ts_ns, a.name, f.to_ts_ns, b.name FROM flow AS f "
        "JOIN op AS a ON a.op_id = f.from_id JOIN op AS b ON b.op_id = f.to_id"
    ) == [("DataFlow", 4000, "dense/x", 20_000, "dense/MatMul")]


def test_tensors_and_allocators(store: traceql.Store, tmp_path: Path) -> None:
    tensor = {"cat": "Tensor", "name": "dense/x", "id": 3, "pid": 8, "tid": 0}
    snapshot = {"tensor_description": "dtype: DT_FLOAT"}
    run = ingested(
        store,
        written(
            tmp_path,
            [
                _plane(0, "Allocators"),
                *_gpu("/device:GPU:0"),
                _plane(8, f"{HOST} Tensors"),
                {"ph": "N", "ts": T0 + 1, **tensor},
                {"ph": "O", "ts": T0 + 2, "args": {"snapshot": snapshot}, **tensor},
                {"ph": "D", "ts": T0 + 9, **tensor},
                {"ph": "C", "cat": "Memory", "name": "cpu", "pid": 0,
                 "ts": T0 + 1, "args": {"cpu": 4096}},
            ],
        ),
    )  # fmt: skip
    assert run.rows(
        "SELECT ts_ns, kind, id, name, snapshot->>'$.tensor_description' "
        "FROM object_event ORDER BY ts_ns"
    ) == [
        (1000, "create", "3", "dense/x", None),
        (2000, "snapshot", "3", "dense/x", "dtype: DT_FLOAT"),
        (9000, "delete", "3", "dense/x", None),
    ]
    assert run.rows("SELECT ts_ns, name, value, unit FROM counter") == [
        (1000, "cpu", 4096.0, "bytes")
    ]


def test_a_cut_timeline(store: traceql.Store, tmp_path: Path) -> None:
    """What is whole of it is imported, and the rest is said to be lost."""
    text = json.dumps({"traceEvents": _gpu("/gpu:0")}, indent=1)
    cut = text[: text.rindex('"MEMCPYHtoD"')]
    run = ingested(store, written(tmp_path, cut))
    assert run.outcome.run is not None
    assert run.outcome.run.manifest.importer["name"] == "tf1-timeline"
    assert run.rows("SELECT count(*) FROM kernel") == [(1,)]
    lost = [f for f in run.outcome.findings if f.severity == "data_loss"]
    assert lost


def _folder(folder: Path) -> Path:
    """Three steps of one program, of which the last was written twice.

    Arrows have the same numbers in each; one operation is in the first step alone, and
    a kernel of its name in the second.
    """
    folder.mkdir()
    arrow = {"cat": "DataFlow", "name": "dense/x", "id": 5, "tid": 0}
    for number, later in ((2, 0), (10, 1000), (11, 1000)):
        events = [
            *_gpu("/gpu:0"),
            {"ph": "s", "pid": 1, "ts": T0 + 4, **arrow},
            {"ph": "t", "pid": 2, "ts": T0 + 20, **arrow},
            _op(3, "Add", "only/first", 40, 1)
            if later
            else _op(2, "Add", "only/first", 40, 1),
        ]
        events = [{**e, "ts": e["ts"] + later} if "ts" in e else e for e in events]
        written(folder, events, f"timeline_{number}.json")
    return folder


def test_a_folder_is_one_run(store: traceql.Store, tmp_path: Path) -> None:
    """An iteration a file, in the order of their numbers; links stay in their file."""
    run = ingested(store, _folder(tmp_path / "steps"))
    assert run.rows("SELECT number, ts_ns, dur_ns, source FROM iteration") == [
        (2, 0, 50_000, "session_run"),
        (10, 1_000_000, 50_000, "session_run"),
    ]
    assert run.found["duplicate_timeline"] == 1
    assert run.rows(
        "SELECT k.name, k.ts_ns, k.launch_ts_ns, o.ts_ns FROM kernel AS k "
        "LEFT JOIN op AS o USING (op_id) ORDER BY 2"
    ) == [
        ("MatMul", 30_000, 20_000, 20_000),
        ("MatMul", 1_030_000, 1_020_000, 1_020_000),
        ("Add", 1_040_000, None, None),
    ]
    assert run.found["kernels_without_op"] == 1
    assert run.rows("SELECT from_ts_ns, to_ts_ns FROM flow ORDER BY 1") == [
        (4000, 20_000),
        (1_004_000, 1_020_000),
    ]
    # A plane is one process, in whatever file.
    assert run.rows("SELECT count(DISTINCT pid) FROM op") == [(2,)]


def test_a_folder_of_several_programs(store: traceql.Store, tmp_path: Path) -> None:
    """Files of different names are captures of their own."""
    folder = tmp_path / "mixed"
    folder.mkdir()
    written(folder, _gpu("/gpu:0"), "train.json")
    written(folder, _gpu("/device:GPU:0"), "infer.json")
    assert len(list(store.ingest(folder))) == 2


@pytest.mark.corpus
def test_kittibox(store: traceql.Store, corpus: Path) -> None:
    """All streams together hold what stream:all (4789) and memcpy (21) do."""
    run = ingested(store, corpus / "tf1" / "rogerluo1995_KittiBox" / "timeline_01.json")
    assert run.rows("SELECT count(*) FROM kernel") == [(4789,)]
    assert run.rows("SELECT count(*) FROM memcpy") == [(21,)]
    assert run.found["derived_rows"] == 4789 + 21


@pytest.mark.corpus
def test_the_corpus(store: traceql.Store, corpus: Path) -> None:
    """Against a plain reading of each file: rows and times of its planes."""
    for path in sorted((corpus / "tf1").glob("*/*.json")):
        events = json.loads(path.read_bytes())["traceEvents"]
        planes = {e["pid"]: e["args"]["name"] for e in events if e["ph"] == "M"}
        streams: dict[str, list[int]] = {}
        for event in events:
            if event["ph"] == "X":
                plane = planes[event["pid"]].removesuffix(" Compute")
                part = plane.rpartition("/")[2]
                kind = part if part.startswith("stream:") else "op"
                kind = "copies" if part == "memcpy" else kind
                streams.setdefault(kind, []).append(event["dur"] * 1000)
        run = ingested(store, path)
        _agrees(run, streams)
        arrows = sum(e["ph"] == "t" for e in events)
        assert run.rows("SELECT count(from_id), count(to_id) FROM flow") == [
            (arrows, arrows)
        ]


def _agrees(run: Imported, streams: dict[str, list[int]]) -> None:
    wanted = {
        name.removeprefix("stream:"): (len(durations), sum(durations))
        for name, durations in streams.items()
        if name not in ("stream:all", "copies")
    }
    found = run.rows(
        "SELECT coalesce(CAST(stream_id AS VARCHAR), 'op'), count(*), "
        "CAST(sum(dur_ns) AS BIGINT) FROM ("
        "SELECT stream_id, dur_ns FROM kernel UNION ALL "
        "SELECT stream_id, dur_ns FROM memcpy UNION ALL "
        "SELECT stream_id, dur_ns FROM memset UNION ALL "
        "SELECT NULL, dur_ns FROM op) GROUP BY 1"
    )
    assert {name: (count, ns) for name, count, ns in found} == wanted
    ((copies,),) = run.rows("SELECT count(*) FROM memcpy")
    assert copies == len(streams.get("copies", []))
