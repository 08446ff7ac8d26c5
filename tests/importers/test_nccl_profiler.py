"""Traces of NCCL's example profiler plug-in: spans, sizes, what was never stamped."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from trace_events import Imported, ingested, written

import traceql
from traceql.errors import DataLoss

HEAD = '{"name": "Group API", "cat": "GROUP_API", "ph": "b", "id": 0, "pid": 7, '
TEXT = f"""[
{HEAD}"tid": 1, "ts": 100.5, "args": {{"groupApiId": 0, "groupDepth":2}}}},
{{"name": "AllReduce", "cat": "COLL", "ph": "b", "id": 1, "pid": 7, "tid": 1,
 "ts": 110.0, "args": {{"Count": 1024, "Datatype": ncclFloat32, "CommHash": 12,
 "Rank": 3, "Stream": 0x262ca50}}}},
{{"name": "KernelLaunch", "cat": "KERNEL_LAUNCH", "ph": "b", "id": 2, "pid": 7,
 "tid": 1, "ts": 0.000000, "args": {{"groupId": 0}}}},
{{"name": "AllReduce", "cat": "COLL", "ph": "e", "id": 1, "pid": 7, "tid": 1,
 "ts": 130.25}},
{HEAD.replace('"b"', '"e"')}"tid": 1, "ts": 150.0}}
]"""


def _import(store: traceql.Store, path: Path) -> Imported:
    run = ingested(store, path)
    assert run.outcome.run is not None
    assert run.outcome.run.manifest.importer["name"] == "nccl-profiler"
    return run


def test_spans(store: traceql.Store, tmp_path: Path) -> None:
    """They are the capture's window: nothing else of such a trace has a length."""
    run = _import(store, written(tmp_path, TEXT))
    assert run.rows(
        "SELECT name, ts_ns - (SELECT first_ts_ns FROM run), dur_ns "
        "FROM async_slice ORDER BY ts_ns"
    ) == [("Group API", 0, 49_500), ("AllReduce", 9500, 20_250)]
    assert run.rows("SELECT span_ns FROM run") == [(49_500,)]


def test_a_collective(store: traceql.Store, tmp_path: Path) -> None:
    run = _import(store, written(tmp_path, TEXT))
    assert run.rows(
        "SELECT name, in_elements, dtype, bytes, group_name, rank, dur_ns "
        "FROM collective"
    ) == [("all_reduce", 1024, "float32", 4096, "12", 3, 20_250)]


def test_stamps_that_were_never_taken(store: traceql.Store, tmp_path: Path) -> None:
    """Zero is no time: the event is left out, and counted as lost."""
    run = _import(store, written(tmp_path, TEXT))
    assert run.found["events_without_time"] == 1
    assert run.rows("SELECT count(*) FROM async_slice WHERE name = 'KernelLaunch'") == [
        (0,)
    ]


def test_strict(store: traceql.Store, tmp_path: Path) -> None:
    """The holes are lost data: with strict there is no run, and the exit code is 4."""
    (outcome,) = store.ingest(written(tmp_path, TEXT), strict=True)
    assert isinstance(outcome.error, DataLoss)
    assert outcome.error.exit_code == 4
    assert not list(store.runs())


@pytest.mark.corpus
def test_a_real_one(store: traceql.Store, corpus: Path) -> None:
    """An excerpt with prose behind it: every hole is counted, every span is there."""
    (path,) = (corpus / "chrome" / "nccl_plugin").glob("*.json")
    run = _import(store, path)
    text = path.read_text()
    found = re.findall(
        r'"cat": "(\w+)", "ph": "([bei])", "id": \d+,.*?"ts": ([0-9.]+)', text
    )
    unstamped = sum(float(ts) == 0 for *_, ts in found)
    begun = sum(phase == "b" and float(ts) > 0 for _, phase, ts in found)
    assert run.found["events_without_time"] == unstamped > 0
    assert run.rows("SELECT count(*) FROM async_slice") == [(begun,)]
    words = len(re.findall(r": nccl\w+", text))
    assert run.found["bareword"] == words
    assert run.found["hex_number"] == len(re.findall(r": 0x[0-9a-f]+", text))
    assert run.found["text_after_end"] == 1
    first = min(float(ts) for _, phase, ts in found if phase == "b" and float(ts) > 0)
    last = max(float(ts) for _, phase, ts in found)
    ((origin, first_ns, span),) = run.rows(
        "SELECT source_origin_ns, first_ts_ns, span_ns FROM run"
    )
    assert (origin + first_ns) / 1000 == pytest.approx(first, abs=0.001)
    assert span / 1000 == pytest.approx(last - first, abs=0.002)
