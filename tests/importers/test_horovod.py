"""Horovod timelines: negotiations, ranks, operations, ends without names."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from trace_events import Imported, ingested, written

import traceql

Event = dict[str, Any]


def _tensor(pid: int, name: str) -> list[Event]:
    return [
        {"ph": "M", "name": "process_name", "pid": pid, "args": {"name": name}},
        {"ph": "M", "name": "process_sort_index", "pid": pid,
         "args": {"sort_index": pid}},
    ]  # fmt: skip


def _begin(pid: int, name: str, ts: int) -> Event:
    return {"ph": "B", "name": name, "ts": ts, "pid": pid}


def _end(pid: int, ts: int, **args: str) -> Event:
    return {"ph": "E", "ts": ts, "pid": pid, **({"args": args} if args else {})}


def _ready(pid: int, rank: int, ts: int) -> Event:
    return {"ph": "X", "name": str(rank), "ts": ts, "pid": pid, "dur": 0}


# Two tensors whose lives overlap: one is reduced by three ranks, one is broadcast.
EVENTS = [
    *_tensor(1, "grad/w"),
    _begin(1, "NEGOTIATE_ALLREDUCE", 100),
    _ready(1, 2, 101),
    *_tensor(2, "bias"),
    _begin(2, "NEGOTIATE_BROADCAST", 102),
    _ready(1, 0, 103),
    _end(1, 110),
    _begin(1, "ALLREDUCE", 111),
    _begin(1, "MEMCPY_IN_FUSION_BUFFER", 112),
    _end(1, 115),
    _begin(1, "MPI_ALLREDUCE", 116),
    _end(2, 118),
    _begin(2, "BROADCAST", 119),
    _end(1, 130),
    _end(2, 135),
    _end(1, 140, dtype="float16", shape="[64, 10]"),
]


def _text(events: list[Event], end: str = ",\n") -> str:
    """As Horovod writes it: a line an event, each with its comma, and no end."""
    return "[\n" + ",\n".join(json.dumps(e) for e in events) + end


def _import(store: traceql.Store, folder: Path, text: str) -> Imported:
    run = ingested(store, written(folder, text))
    assert run.outcome.run is not None
    assert run.outcome.run.manifest.importer["name"] == "horovod"
    return run


@pytest.mark.parametrize("end", [",\n", "\n", "\n]\n", ",\n]"])
def test_a_file_that_is_never_closed(
    store: traceql.Store, tmp_path: Path, end: str
) -> None:
    """With or without its bracket it is whole: nothing is lost."""
    run = _import(store, tmp_path, _text(EVENTS, end))
    assert run.rows("SELECT name, op_type, dur_ns FROM op ORDER BY ts_ns") == [
        ("grad/w", "ALLREDUCE", 29_000),
        ("bias", "BROADCAST", 16_000),
    ]
    assert not [f for f in run.outcome.findings if f.severity == "data_loss"]


def test_a_cut_file(store: traceql.Store, tmp_path: Path) -> None:
    """The job was killed within an event: what is complete stays, open ones too."""
    text = _text(EVENTS)
    run = _import(store, tmp_path, text[: text.rindex('"dtype"')])
    assert run.rows("SELECT name, dur_ns, truncated FROM op ORDER BY ts_ns") == [
        ("grad/w", None, True),
        ("bias", 16_000, False),
    ]


def test_negotiations(store: traceql.Store, tmp_path: Path) -> None:
    """Spans of the tensor, in which each rank has a mark when it was ready."""
    run = _import(store, tmp_path, _text(EVENTS))
    assert run.rows(
        "SELECT name, id, category, ts_ns, dur_ns FROM async_slice ORDER BY ts_ns"
    ) == [
        ("NEGOTIATE_ALLREDUCE", "grad/w", "negotiation", 100_000, 10_000),
        ("NEGOTIATE_BROADCAST", "bias", "negotiation", 102_000, 16_000),
    ]
    assert run.rows(
        "SELECT name, ts_ns, dur_ns, payload->>'$.rank', payload->>'$.tensor' "
        "FROM annotation ORDER BY ts_ns"
    ) == [
        ("rank 2 is ready", 101_000, 0, "2", "grad/w"),
        ("rank 0 is ready", 103_000, 0, "0", "grad/w"),
    ]
    assert run.rows("SELECT world_size FROM run") == [(3,)]


def test_operations_and_their_activities(store: traceql.Store, tmp_path: Path) -> None:
    run = _import(store, tmp_path, _text(EVENTS))
    assert run.rows(
        "SELECT s.name, o.name, s.dur_ns FROM slice AS s "
        "JOIN op AS o ON o.op_id = s.parent_id ORDER BY s.ts_ns"
    ) == [
        ("MEMCPY_IN_FUSION_BUFFER", "grad/w", 3000),
        ("MPI_ALLREDUCE", "grad/w", 14_000),
    ]
    assert run.rows(
        "SELECT c.name, c.in_elements, c.dtype, c.bytes, o.input_shapes, "
        "o.input_types FROM collective AS c JOIN op AS o USING (op_id) ORDER BY c.ts_ns"
    ) == [
        ("all_reduce", 640, "float16", 1280, "[[64,10]]", '["float16"]'),
        ("broadcast", None, None, None, None, None),
    ]


def test_the_wall_clock(store: traceql.Store, tmp_path: Path) -> None:
    """Newer versions say when their steady clock began, and mark cycles."""
    events: list[Event] = [
        {"ph": "M", "name": "process_name", "pid": 0,
         "args": {"start_time_since_epoch_in_micros": 1_600_000_000_000_001}},
        *EVENTS,
        {"ph": "i", "name": "CYCLE_START", "ts": 99, "pid": 0, "s": "g"},
    ]  # fmt: skip
    run = _import(store, tmp_path, _text(events, "\n]\n"))
    assert run.rows("SELECT origin_unix_ns, clock FROM run") == [
        (1_600_000_000_000_001_000, "session_start")
    ]
    assert run.rows(
        "SELECT ts_ns, kind FROM annotation WHERE name = 'CYCLE_START'"
    ) == [(99_000, "mark")]


@pytest.mark.corpus
def test_a_real_one(store: traceql.Store, corpus: Path) -> None:
    """Counts and times of a plain reading, line by line, with a stack a tensor."""
    (path,) = (corpus / "chrome" / "horovod").glob("*.json")
    lines = path.read_text().splitlines()[1:]
    events = [json.loads(line.rstrip(",")) for line in lines if line.strip()]
    open_: dict[int, list[Event]] = {}
    wanted: dict[tuple[str, str], list[int]] = {}
    for event in events:
        if event["ph"] == "B":
            open_.setdefault(event["pid"], []).append(event)
        elif event["ph"] == "E":
            begin = open_[event["pid"]].pop()
            kind = "slice" if open_[event["pid"]] else "op"
            kind = "async" if begin["name"].startswith("NEGOTIATE_") else kind
            wanted.setdefault((kind, begin["name"]), []).append(
                (event["ts"] - begin["ts"]) * 1000
            )
    run = ingested(store, path)
    found = run.rows(
        "SELECT kind, name, count(*), CAST(sum(dur_ns) AS BIGINT) FROM ("
        "SELECT 'op' AS kind, op_type AS name, dur_ns FROM op UNION ALL "
        "SELECT 'slice', name, dur_ns FROM slice UNION ALL "
        "SELECT 'async', name, dur_ns FROM async_slice) GROUP BY ALL"
    )
    assert {(kind, name): (n, ns) for kind, name, n, ns in found} == {
        key: (len(durations), sum(durations)) for key, durations in wanted.items()
    }
    marks = sum(e["ph"] == "X" for e in events)
    assert run.rows("SELECT count(*) FROM annotation") == [(marks,)]
    assert not [f for f in run.outcome.findings if f.severity == "data_loss"]


def test_the_window_has_the_negotiations(store: traceql.Store, tmp_path: Path) -> None:
    """A run begins when its first tensor is negotiated, not when a rank is ready."""
    run = _import(store, tmp_path, _text(EVENTS))
    assert run.rows("SELECT span_ns FROM run") == [(40_000,)]
    assert run.rows(
        "SELECT min(a.ts_ns) - r.first_ts_ns FROM async_slice AS a, run AS r "
        "GROUP BY r.first_ts_ns"
    ) == [(0,)]
