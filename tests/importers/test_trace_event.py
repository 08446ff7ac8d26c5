"""Chrome traces: times, nesting, repairs, spans, flows, counters, and real files."""

from __future__ import annotations

import csv
import io
import json
import tempfile
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import Any

import pytest
from trace_events import Imported, ingested, written

import traceql
from traceql import importers
from traceql.errors import DataLoss, UnrecognisedInput
from traceql.importers._trace_event import staging

Event = dict[str, Any]


def _x(name: str, ts: float, dur: float, **more: Any) -> Event:
    return {"ph": "X", "name": name, "ts": ts, "dur": dur, "pid": 1, "tid": 1, **more}


def _import(store: traceql.Store, folder: Path, *events: Event) -> Imported:
    return ingested(store, written(folder, events))


def test_times_are_exact(store: traceql.Store, tmp_path: Path) -> None:
    """Absolute stamps keep every digit; the end is start and duration, each rounded."""
    stamps = ["1712000000000000.123", "1712000000000000.1235", "1712000000000007.0005"]
    text = ",".join(
        f'{{"ph":"X","name":"a","pid":1,"tid":1,"ts":{s},"dur":1e-06}}' for s in stamps
    )
    run = ingested(store, written(tmp_path, f"[{text}]"))
    half_up = [
        int((Decimal(s) * 1000).to_integral_value(ROUND_HALF_UP)) for s in stamps
    ]
    ((origin, unix),) = run.rows("SELECT source_origin_ns, origin_unix_ns FROM run")
    assert origin == unix == half_up[0]
    found = run.rows("SELECT ts_ns, dur_ns FROM slice ORDER BY slice_id")
    assert found == [(ns - origin, 0) for ns in half_up]


def test_events_staged_in_a_file(
    store: traceql.Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Long traces are staged on disk: the same rows, and nothing of it is left."""
    text = json.dumps([_x(f"e{i}", 10 * i, 5, args={"n": i}) for i in range(400)])
    sql = "SELECT * FROM slice ORDER BY slice_id"
    in_memory = ingested(store, written(tmp_path, text)).rows(sql)
    monkeypatch.setattr(staging, "_IN_MEMORY", 0)
    scratch = tmp_path / "it's scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    on_disk = ingested(store, written(tmp_path, text)).rows(sql)
    assert len(on_disk) == 400
    assert on_disk == in_memory
    assert list(scratch.iterdir()) == []


@pytest.mark.parametrize("indent", [None, 1])
def test_parts_of_a_file_give_all_events_in_order(
    store: traceql.Store,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    indent: int | None,
) -> None:
    """Parsed side by side; what looks like a border within an event is none."""
    monkeypatch.setattr(staging, "_PART", 1_000)
    decoys = {"list": [{"ph": "X"}, {"ph": "X"}], "text": '"}, {"ph": "X", "ts": 1}'}
    events = [_x(f"e{i}", 10 * i, 5, args=decoys) for i in range(400)]
    text = json.dumps({"traceEvents": events}, indent=indent)
    run = ingested(store, written(tmp_path, text))
    assert run.rows("SELECT name, ts_ns FROM slice ORDER BY slice_id") == [
        (f"e{i}", 10_000 * i) for i in range(400)
    ]
    assert not run.found


@pytest.mark.parametrize("behind", [False, True])
def test_base_time(store: traceql.Store, tmp_path: Path, behind: bool) -> None:
    """baseTimeNanoseconds gives the wall clock, before or after the events."""
    base, events = '"baseTimeNanoseconds":1759300074000000000', '"traceEvents":[%s]'
    event = json.dumps(_x("a", 5.5, 1))
    parts = [base, events % event]
    text = "{" + ",".join(reversed(parts) if behind else parts) + "}"
    run = ingested(store, written(tmp_path, text))
    assert run.rows("SELECT source_origin_ns, origin_unix_ns, clock FROM run") == [
        (0, 1759300074000000000, "trace_start")
    ]
    assert run.rows("SELECT ts_ns FROM slice") == [(5500,)]


def test_monotonic_stamps_are_kept(store: traceql.Store, tmp_path: Path) -> None:
    """Stamps that are no wall clock stay what the source's tool shows."""
    run = _import(store, tmp_path, _x("a", 895158070542, 3))
    assert run.rows("SELECT ts_ns FROM slice") == [(895158070542000,)]
    assert run.rows("SELECT source_origin_ns, origin_unix_ns FROM run") == [(0, None)]


def test_nesting_and_crossing(store: traceql.Store, tmp_path: Path) -> None:
    """Depth and parent by time, in any order of the file; crossings are marked."""
    run = _import(
        store,
        tmp_path,
        _x("child", 2, 3),
        _x("outer", 0, 10),
        _x("crosses", 8, 10),
        _x("elsewhere", 2, 3, tid=2),
    )
    assert run.rows(
        "SELECT s.name, p.name, s.depth, s.crossing FROM slice AS s "
        "LEFT JOIN slice AS p ON p.slice_id = s.parent_id ORDER BY s.name"
    ) == [
        ("child", "outer", 1, False),
        ("crosses", None, 0, True),
        ("elsewhere", None, 0, False),
        ("outer", None, 0, True),
    ]


def _half(ph: str, name: str | None, ts: float, **more: Any) -> Event:
    event = {"ph": ph, "ts": ts, "pid": 1, "tid": 1, **more}
    return event if name is None else {**event, "name": name}


_PAIRED = "SELECT name, ts_ns, dur_ns, truncated FROM slice ORDER BY ts_ns, slice_id"


@pytest.mark.parametrize(
    ("events", "slices", "found"),
    [
        pytest.param(
            [_half("B", "a", 1), _half("B", "b", 2), _half("E", None, 3),
             _half("E", "a", 4)],
            [("a", 1000, 3000, False), ("b", 2000, 1000, False)], {},
            id="an end without a name ends the innermost",
        ),
        pytest.param(
            [_half("B", "a", 0), _half("B", "b", 1), _half("E", "a", 9),
             _half("E", "b", 10)],
            [("a", 0, 9000, False), ("b", 1000, None, True)],
            {"unmatched_end": 1, "unclosed_slice": 1},
            id="an end closes the nearest of its name and what is above it",
        ),
        pytest.param(
            [_half("B", "a", 1), _half("B", "b", 1), _half("E", "a", 2),
             _half("E", "b", 2)],
            [("a", 1000, 1000, False), ("b", 1000, 1000, False)], {},
            id="ends at one moment come in any order",
        ),
        pytest.param(
            [_half("E", "x", 0), _half("B", "a", 1), _half("E", "a", 2),
             _half("E", "a", 3)],
            [("a", 1000, 1000, False)], {"unmatched_end": 2},
            id="ends without a begin",
        ),
        pytest.param(
            [_half("E", "a", 5), _half("B", "a", 1)],
            [("a", 1000, 4000, False)], {}, id="the file's order is not time's",
        ),
    ],
)  # fmt: skip
def test_begin_and_end(
    store: traceql.Store,
    tmp_path: Path,
    events: list[Event],
    slices: list[tuple[Any, ...]],
    found: dict[str, int],
) -> None:
    """Each repair of begins and ends, by hand."""
    run = _import(store, tmp_path, *events)
    assert run.rows(_PAIRED) == slices
    assert run.found == found


def test_an_end_s_arguments_are_kept(store: traceql.Store, tmp_path: Path) -> None:
    """Arguments of the end join those of the begin, and win."""
    run = _import(
        store,
        tmp_path,
        _half("B", "a", 0, args={"x": 1, "y": 1}),
        _half("E", "a", 1, args={"x": 2}),
    )
    ((extra,),) = run.rows("SELECT extra FROM slice")
    assert json.loads(extra) == {"args": {"x": 2, "y": 1}}


def test_async_spans(store: traceql.Store, tmp_path: Path) -> None:
    """Spans pair by category, id and scope; local ids are their process's."""

    def half(ph: str, ts: int, pid: int = 1, **more: Any) -> Event:
        return {"ph": ph, "name": "n", "cat": "c", "ts": ts, "pid": pid, **more}

    run = _import(
        store,
        tmp_path,
        half("b", 0, id=7), half("b", 1, id=7), half("n", 2, id=7),
        half("e", 3, id=7), half("e", 5, id=7),
        half("b", 0, id2={"local": "1"}), half("b", 1, pid=2, id2={"local": "1"}),
        half("e", 4, pid=2, id2={"local": "1"}), half("S", 9, id="0x1"),
        half("F", 19, id="0x1"), half("e", 20, id=99),
    )  # fmt: skip
    assert run.rows(
        "SELECT id, pid, ts_ns // 1000, dur_ns // 1000, scope, truncated "
        "FROM async_slice ORDER BY id, pid, ts_ns"
    ) == [
        ("0x1", 1, 9, 10, None, False),
        ("1", 1, 0, None, "local", True),
        ("1", 2, 1, 3, "local", False),
        ("7", 1, 0, 5, None, False),
        ("7", 1, 1, 2, None, False),
        ("7", 1, 2, 0, None, False),
    ]
    assert run.found == {"unmatched_async_end": 1, "unclosed_async": 1}


_ARROWS = (
    "SELECT a.name, b.name, f.from_ts_ns // 1000, f.to_ts_ns // 1000 FROM flow AS f "
    "LEFT JOIN slice AS a ON a.slice_id = f.from_id AND f.from_table = 'slice' "
    "LEFT JOIN slice AS b ON b.slice_id = f.to_id AND f.to_table = 'slice' "
    "ORDER BY ALL"
)


def test_flows_of_the_old_form(store: traceql.Store, corpus: Path) -> None:
    """s and t bind to the slice around them, f without bp to the next slice."""
    path = corpus / "chrome" / "perfetto" / "flow_events_json_v1.json"
    assert ingested(store, path).rows(_ARROWS) == [
        ("OtherSlice", "SomeSlice", 3220, 3330),
        ("SenderA", "OtherSlice", 3002, 3220),
        ("SenderB", "Blergh", 1, 1001),
    ]


def test_flows_of_the_new_form(store: traceql.Store, corpus: Path) -> None:
    """bind_id with flow_in and flow_out, on begins too."""
    path = corpus / "chrome" / "perfetto" / "flow_events_json_v2.json"
    assert ingested(store, path).rows(_ARROWS) == [
        ("OtherSlice", "SomeOtherSlice", 3200, 3333),
        ("OtherSlice", "SomeSlice", 3200, 3331),
        ("SenderA", "OtherSlice", 3002, 3200),
        ("SenderB", "Blergh", 0, 1001),
    ]


def test_a_flow_against_the_clock(store: traceql.Store, tmp_path: Path) -> None:
    """A lone start and finish make an arrow also where the finish is earlier."""
    run = _import(
        store,
        tmp_path,
        _x("launch", 10, 5),
        _x("kernel", 8, 2, tid=2),
        {"ph": "s", "id": 1, "name": "f", "ts": 11, "pid": 1, "tid": 1},
        {"ph": "f", "id": 1, "name": "f", "bp": "e", "ts": 8, "pid": 1, "tid": 2},
    )
    assert run.rows(_ARROWS) == [("launch", "kernel", 11, 8)]


def test_the_rest_of_the_format(store: traceql.Store, tmp_path: Path) -> None:
    """Instants, objects, dumps, names of threads, text ids: each has its table."""
    run = _import(
        store,
        tmp_path,
        {"ph": "i", "name": "mark", "ts": 1, "pid": "p", "tid": "t", "s": "g"},
        {"ph": "N", "name": "o", "id": "0x1", "ts": 1, "pid": 5, "tid": 6},
        {"ph": "O", "name": "o", "id": "0x1", "ts": 2, "pid": 5, "tid": 6,
         "args": {"snapshot": {"a": 1}}},
        {"ph": "D", "name": "o", "id": "0x1", "ts": 3, "pid": 5, "tid": 6},
        {"ph": "v", "name": "periodic", "id": "9", "ts": 4, "pid": 5,
         "args": {"dumps": {}}},
        {"ph": "M", "name": "process_name", "pid": 5, "args": {"name": "old"}},
        {"ph": "M", "name": "process_name", "pid": 5, "args": {"name": "new"}},
        {"ph": "M", "name": "thread_name", "pid": 5, "tid": 6, "args": {"name": "t6"}},
        {"ph": "M", "name": "thread_sort_index", "pid": 5, "tid": 6,
         "args": {"sort_index": 3}},
        {"ph": "P", "name": "sample", "ts": 5, "pid": 5, "tid": 6},
        {"ph": "c", "name": "clock_sync", "ts": 5, "pid": 5},
        {}, {"name": "no phase", "ts": 1}, {"ph": "X", "name": "no time", "pid": 1},
    )  # fmt: skip
    assert run.rows(
        "SELECT a.kind, a.name, t.raw_pid, t.raw_tid, json_extract(a.extra, '$.scope') "
        "FROM annotation AS a JOIN thread AS t USING (pid, tid)"
    ) == [("mark", "mark", "p", "t", '"g"')]
    assert run.rows("SELECT kind, name, snapshot FROM object_event ORDER BY ts_ns") == [
        ("create", "o", None),
        ("snapshot", "o", '{"a":1}'),
        ("delete", "o", None),
        ("snapshot", "periodic", '{"dumps":{}}'),
    ]
    assert run.rows(
        "SELECT process_name, thread_name, extra FROM thread WHERE tid = 6"
    ) == [("new", "t6", '{"thread_sort_index":3}')]
    assert run.found == {
        "samples_left_out": 1,
        "phase_without_table": 1,
        "events_without_phase": 1,
        "events_without_time": 1,
    }


def test_samples_on_request(store: traceql.Store, tmp_path: Path) -> None:
    """--with-samples brings CPU samples in."""
    path = written(tmp_path, [{"ph": "P", "name": "s", "ts": 5, "pid": 5, "tid": 6}])
    run = ingested(store, path, with_samples=True)
    assert run.rows("SELECT ts_ns, pid, tid FROM sample") == [(5000, 5, 6)]
    assert run.found == {}


def test_durations_that_are_none(store: traceql.Store, tmp_path: Path) -> None:
    """No duration, or a negative one, is NULL and said; the slice stays."""
    run = _import(
        store,
        tmp_path,
        {"ph": "X", "name": "none", "ts": 1, "pid": 1, "tid": 1},
        _x("negative", 2, -1),
        _x("zero", 3, 0),
    )
    assert run.rows("SELECT name, dur_ns FROM slice ORDER BY ts_ns") == [
        ("none", None),
        ("negative", None),
        ("zero", 0),
    ]
    assert run.found == {"complete_without_duration": 1, "negative_duration": 1}


def test_not_finite_numbers(store: traceql.Store, tmp_path: Path) -> None:
    """NaN and infinities become null; text that says so stays."""
    text = (
        '[{"ph":"X","name":"a","ts":1,"dur":1,"args":{"a":NaN,"b":[-Infinity,inf],'
        '"c":"x:NaN,"}},{"ph":"C","name":"c","ts":2,"args":{"v":NaN,"w":1}}]'
    )
    run = ingested(store, written(tmp_path, text))
    ((extra,),) = run.rows("SELECT extra FROM slice")
    assert json.loads(extra)["args"] == {"a": None, "b": [None, None], "c": "x:NaN,"}
    assert run.rows("SELECT name, value FROM counter ORDER BY name")[-1] == ("c w", 1.0)


def test_metadata_needs_a_request(store: traceql.Store, tmp_path: Path) -> None:
    """Top-level metadata may name host and command line."""
    text = '{"metadata":{"command_line":"secret"},"traceEvents":[]}'
    path = written(tmp_path, text)
    assert ingested(store, path).rows("SELECT extra FROM run") == [(None,)]
    run = ingested(store, path, keep_environment=True)
    ((extra,),) = run.rows("SELECT extra FROM run")
    assert json.loads(extra) == {"metadata": {"command_line": "secret"}}


# Perfetto's own tests: the query on our schema, and which of its columns it gives.
_PERFETTO: dict[str, tuple[str, list[Any]]] = {
    "counters_json_counters": (
        "SELECT name, ts_ns, value FROM counter",
        ["name", "ts", "value"],
    ),
    "json_counter_args": (
        "SELECT pid, name, value FROM counter WHERE value IS NOT NULL",
        ["pid", 2, "value"],
    ),
    "decimal_timestamp_slices": (
        "SELECT ts_ns, dur_ns, name FROM slice",
        ["ts", "dur", "name"],
    ),
    "string_ts_and_dur": (
        "SELECT ts_ns, dur_ns, name FROM slice",
        ["ts", "dur", "name"],
    ),
    "string_tts_and_tdur": (
        "SELECT ts_ns, dur_ns, name FROM slice",
        ["ts", "dur", "name"],
    ),
    "json_trailing_comma": (
        "SELECT name, ts_ns, dur_ns FROM slice",
        ["name", "ts", "dur"],
    ),
    "string_pid_tid": (
        "SELECT ts_ns, dur_ns, name, raw_pid, raw_tid "
        "FROM slice JOIN thread USING (pid, tid)",
        ["ts", "dur", "name", "process_name", "thread_name"],
    ),
    "same_ts_duration_slice_then_zero_duration_slice_unnesting": (
        "SELECT name, depth FROM slice",
        ["name", "depth"],
    ),
    "same_ts_two_duration_slice_unnesting": (
        "SELECT name, depth FROM slice",
        ["name", "depth"],
    ),
    "same_ts_zero_duration_slice_then_duration_slice_unnesting": (
        "SELECT name, depth FROM slice",
        ["name", "depth"],
    ),
    "json_pid_tid_zero": (
        "SELECT name, ts_ns, dur_ns FROM async_slice",
        ["name", "ts", "dur"],
    ),
    "json_id2_local_int_id": (
        "SELECT name, ts_ns + source_origin_ns, dur_ns FROM async_slice, run",
        ["name", "ts", "dur"],
    ),
    "json_metadata": (
        "SELECT ts_ns, dur_ns, s.name, thread_name, process_name "
        "FROM slice AS s LEFT JOIN thread AS t "
        "ON t.pid IS NOT DISTINCT FROM s.pid AND t.tid IS NOT DISTINCT FROM s.tid",
        ["ts", "dur", "name", "thread_name", "process_name"],
    ),
    "json_metadata_missing_or_invalid_ts": (
        "SELECT pid, process_name FROM thread",
        ["pid", "name"],
    ),
    "json_thread_state": (
        "SELECT ts_ns, dur_ns, name, tid, pid FROM async_slice",
        ["ts", "dur", "state", "tid", "pid"],
    ),
}


def _expected(path: Path, columns: list[Any]) -> list[tuple[str, ...]]:
    """Rows of the table behind `-- expected`, of the columns asked for."""
    table = path.read_text().partition("-- expected")[2].strip()
    lines = [line.strip() for line in table.splitlines()]
    names, *rows = csv.reader(io.StringIO("\n".join(lines)))
    picked = [c if isinstance(c, int) else names.index(c) for c in columns]
    return [tuple(_plain(row[i]) for i in picked) for row in rows]


def _plain(value: object) -> str:
    """A cell as both sides write it: NULL is no value, numbers are floats."""
    text = "" if value in (None, "[NULL]") else str(value)
    try:
        return str(float(text))
    except ValueError:
        return text


@pytest.mark.parametrize("name", sorted(_PERFETTO))
def test_perfetto(store: traceql.Store, corpus: Path, name: str) -> None:
    """Perfetto's inline cases where our schema has the concept."""
    sql, columns = _PERFETTO[name]
    path = corpus / "chrome" / "perfetto_inline" / f"tests__test_{name}.json"
    found = [tuple(map(_plain, row)) for row in ingested(store, path).rows(sql)]
    assert sorted(found) == sorted(
        _expected(path.with_suffix(".expected.txt"), columns)
    )


def test_what_perfetto_drops_is_kept(store: traceql.Store, corpus: Path) -> None:
    """A wrong duration costs the duration, a missing id the pairing, not the event."""
    folder = corpus / "chrome" / "perfetto_inline"
    run = ingested(store, folder / "tests__test_invalid_string_ts_and_dur.json")
    assert run.rows("SELECT name, ts_ns, dur_ns FROM slice") == [
        ("InvalidDur", 300_000, None)
    ]
    assert run.found == {"complete_without_duration": 1, "events_without_time": 1}
    run = ingested(store, folder / "tests__test_json_async.json")
    assert run.rows("SELECT count(*), count(dur_ns) FROM async_slice") == [(3, 1)]
    assert run.found == {"async_without_id": 4}


def test_every_chrome_file_imports(
    store: traceql.Store, corpus: Path, tmp_path: Path
) -> None:
    """Each file of the corpus imports, also without its name, with the same rows."""
    files = sorted((corpus / "chrome").rglob("*.json*"))
    foreign = {"google_cloud_trace.json"}
    assert len(files) > 50
    outcomes = store.ingest(*files, jobs=2)
    for path, outcome in zip(files, outcomes, strict=True):
        if path.name in foreign:
            assert isinstance(outcome.error, UnrecognisedInput)
            continue
        assert outcome.error is None, (path, outcome.error)
    chosen = [f for f in files if f.name.startswith(("flow.", "webview", "Chrome__"))]
    assert len(chosen) == 3
    for path in chosen:
        unknown = tmp_path / "unknown"
        unknown.write_bytes(path.read_bytes())
        first, second = ingested(store, path), ingested(store, unknown)
        for table in ("slice", "thread", "async_slice", "annotation", "flow"):
            sql = f"SELECT * FROM {table} ORDER BY ALL"
            assert first.rows(sql) == second.rows(sql), (path, table)


def test_nccl_plugin_excerpt(store: traceql.Store, corpus: Path) -> None:
    """A stamp of zero was never taken: 12 of 155 spans lack a start, 128 an end."""
    path = corpus / "chrome" / "nccl_plugin" / "nccl_example_profiler_excerpt.json"
    run = ingested(store, path)
    spans = "SELECT count(*), count(dur_ns) FROM async_slice"
    assert run.rows(spans) == [(155 - 12, 155 - 12 - 128)]
    assert run.found["events_without_time"] == 12 + 128
    assert run.found["unmatched_async_end"] == 12
    assert run.found["unclosed_async"] == 128
    assert run.found["hex_number"] == 12
    assert run.found["text_after_end"] == 1
    (outcome,) = store.ingest(path, force=True, strict=True)
    assert isinstance(outcome.error, DataLoss)
    assert outcome.error.exit_code == 4


def test_text_ids_are_numbered_in_the_order_of_the_file(
    store: traceql.Store, tmp_path: Path
) -> None:
    """A pid and a tid that one event brings: the pid is the first, each time."""
    events = [
        _x(f"e{n}", n, 1, pid=f"process {n}", tid=f"thread {n}") for n in range(40)
    ]
    run = _import(store, tmp_path, *events)
    rows = run.rows(
        "SELECT raw_pid, raw_tid FROM thread WHERE tid IS NOT NULL ORDER BY pid"
    )
    assert rows == [(f"process {n}", f"thread {n}") for n in range(40)]
    (outside,) = run.rows("SELECT count(*) FROM thread WHERE tid <> pid + 1")
    assert outside == (0,)


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"", "an empty file"),
        (b"\xef\xbb\xbf \r\n", "an empty file"),
        (b"version https://git-lfs.github.com/spec/v1\n", "a git-LFS pointer"),
        (b"<!DOCTYPE html><html>", "an HTML page"),
        (b'{"rocprofiler-sdk-tool": [{}]}', "rocprofv3"),
        (b'{"Type":79,"CudaEvent":{"startNs":"1"}}\n{"Type":80}\n', "Nsight Systems"),
        (b'{"schema": "1.1.1-chakra.0.0.4", "pid": 1, "nodes": []}', "execution trace"),
        (b'[[0, "a", [1, 2], 3], [1, "b", [1, 2], 3]]', "memory timeline"),
        (b'{"segments": [], "device_traces": [[]]}', "memory snapshot"),
        (b'{"$schema": "x", "shared": {}, "profiles": []}', "speedscope"),
        (b"{}", "JSON without trace events"),
        (b'{"a": [{"b": 1}]}', "JSON without trace events"),
    ],
)
def test_refused_by_name(
    store: traceql.Store, tmp_path: Path, content: bytes, kind: str
) -> None:
    """What is no trace is refused with its kind and with what to do."""
    (outcome,) = store.ingest(written(tmp_path, content))
    assert isinstance(outcome.error, UnrecognisedInput)
    assert kind in str(outcome.error)
    assert outcome.error.hint


def test_a_header_beyond_the_head(store: traceql.Store, tmp_path: Path) -> None:
    """Events may begin after any amount of other keys."""
    frames = {str(n): {"name": f"frame {n}"} for n in range(40_000)}
    text = json.dumps({"stackFrames": frames, "traceEvents": [_x("a", 1, 1)]})
    path = written(tmp_path, text)
    assert len(text) > 20 * importers.HEAD_BYTES
    assert ingested(store, path).rows("SELECT name FROM slice") == [("a",)]
