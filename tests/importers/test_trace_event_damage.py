"""Damaged trace files: cuts at every byte, each kind of damage, containers, fuzz."""

from __future__ import annotations

import gzip
import json
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from trace_events import Imported, ingested, written

import traceql
from traceql import importers
from traceql.errors import DataLoss, TraceQLError
from traceql.importers import Context, Head
from traceql.importers._trace_event import mending, reading, staging
from traceql.importers._trace_event.signs import signs_of
from traceql.importers._trace_event.tolerant import Damage, Scan

# Whatever looks like the end of an event stands inside these too.
EVENTS = [
    '{"ph":"X","name":"a","ts":1.5,"dur":2,"pid":1,"tid":1,'
    '"args":{"l":[{"x":1},{"y":2},{"ph":3}]}}',
    '{"ph":"i","name":"q\\"},{\\"ph\\":\\"","ts":2,"pid":1,"args":{"s":"a]b}"}}',
    '{"name":"ü\\\\","ph":"M","pid":"p","args":{}}',
    '{"ph":"C","name":"c","ts":3e1,"args":{"v":[1,2,[3]]}}',
]
ARRAY = "[" + ",\n".join(EVENTS) + "]"
OBJECT = '{"a":1,"traceEvents":[' + ",\n".join(EVENTS) + '],"z":{"b":[1,2]}}'


def _valid(texts: Sequence[str]) -> list[bool]:
    """What the strict parser takes, by Python's."""
    return [mending.is_json(t) and t.startswith("{") for t in texts]


def _scanned(text: str, *, last: bool = True) -> tuple[list[str], Damage, str | None]:
    damage = Damage()
    scan = Scan(text, last, _valid, damage)
    events = scan.events()
    scan.settle()
    return events, damage, scan.rest


@pytest.mark.parametrize("whole", [ARRAY, OBJECT], ids=["array", "object"])
def test_a_cut_keeps_exactly_the_complete_events(whole: str) -> None:
    """Cut at each character: mid-key, mid-string, mid-number, mid-escape, between."""
    start = whole.index("[") + 1
    ends, at = [], start
    for event in EVENTS:
        at = whole.index(event, at) + len(event)
        ends.append(at)
    for cut in range(start, len(whole)):
        events, damage, rest = _scanned(whole[start:cut])
        assert events == EVENTS[: sum(end <= cut for end in ends)], cut
        assert damage.regions == 0 and not damage.mended, cut
        assert damage.unclosed or damage.cut_bytes or rest is not None, cut


class _Staged:
    """A file's events as the engine stages them, and what it says of them."""

    def __init__(self, path: Path) -> None:
        from traceql.diagnostics import Diagnostics

        diagnostics = Diagnostics()
        context = Context(
            writer=None,  # type: ignore[arg-type]  # staging writes nothing
            diagnostics=diagnostics,
            progress=lambda _: None,
            threads=1,
        )
        with duckdb.connect(config={"threads": 1}) as con:
            self.layout = reading.stage(path, con, context, share=1.0)
            self.events = con.execute(
                "SELECT ph, name, ts_ns, CAST(args AS VARCHAR) FROM staged.event "
                "WHERE ph IS NOT NULL"
            ).fetchall()
        self.found = {f.code: f.count for f in diagnostics.findings()}


def _replaced(old: str, new: str) -> bytes:
    assert old in OBJECT
    return OBJECT.replace(old, new, 1).encode("utf-8", "surrogateescape")


_A = '"name":"a"'


@pytest.mark.parametrize(
    ("data", "events", "found"),
    [
        (b"\xef\xbb\xbf" + OBJECT.encode(), 4, {}),
        (OBJECT.replace("\n", "\r\n").encode(), 4, {}),
        (OBJECT.encode("utf-16"), 4, {"utf16": 1}),
        (OBJECT.encode() + b"\0\0\0", 4, {}),
        (_replaced('"x":1', '"x":NaN'), 4, {}),
        (_replaced('"x":1', '"x":-Infinity'), 4, {}),
        (_replaced('"x":1', '"x":N/A'), 4, {"bareword": 1}),
        (_replaced('"x":1', '"x":0x1F'), 4, {"hex_number": 1}),
        (_replaced('"ts":1.5', '"ts":"1.5"'), 4, {}),
        (_replaced('"tid":1', '"tid":1,"id":18446744073709551615'), 4, {}),
        (_replaced(_A, '"name":"a\x01\nb"'), 4, {"control_character": 2}),
        (_replaced(_A, '"name":"C:\\q\\dir"'), 4, {"lone_backslash": 2}),
        (_replaced(_A, '"name":"a\udce9"'), 4, {"invalid_utf8": 1}),
        (_replaced(_A, '"name":"a\\ud800"'), 4, {"lone_surrogate": 1}),
        (_replaced(_A, '"name":"zz",' + _A), 4, {"duplicate_key": 1}),
        (_replaced('"x":1', '"x":1,"x":2'), 4, {}),
        (_replaced('}},\n{"ph":"i"', '}}\n{"ph":"i"'), 4, {"missing_comma": 1}),
        (_replaced('"ts":1.5,', '"ts":1.5 '), 4, {"missing_comma": 1}),
        (ARRAY[:-1].encode(), 4, {"unclosed_array": 1}),
        ((ARRAY[:-1] + ",]").encode(), 4, {"trailing_comma": 1}),
        (OBJECT[: OBJECT.rindex("]", 0, -8)].encode(), 4, {"cut_file": 1}),
        (OBJECT.encode() * 2, 8, {"joined_documents": 1}),
        ((ARRAY + "\n" + ARRAY).encode(), 8, {"joined_documents": 1}),
        ((ARRAY + "\nhi").encode(), 4,
         {"damaged_bytes": 2, "text_after_end": 1}),
        (_replaced(_A, '"name":"a "b" c"'), 3,
         {"damaged_region": 1, "damaged_bytes": len(EVENTS[0]) + 6 + len(",\n")}),
        (_replaced(',\n{"name"', ',\nJUNK {"name"'), 4,
         {"damaged_region": 1, "damaged_bytes": 5}),
        (_replaced('{"a":1,', '{"a":1,"p":"C:\\q","w":"say "hi"",'), 4,
         {"damaged_header": 1}),
        ((OBJECT[:-1] + ',"d":[{"id":1},{"id":2}]}').encode(), 4, {}),
    ],
)  # fmt: skip
def test_each_kind_of_damage(
    tmp_path: Path, data: bytes, events: int, found: dict[str, int]
) -> None:
    """What is there is imported, and what was wrong is said."""
    staged = _Staged(written(tmp_path, data))
    assert len(staged.events) == events
    assert staged.found == found
    if events == 4:
        assert [e[2] for e in staged.events] == [1500, 2000, None, 30000]


def test_the_last_of_doubled_keys_counts(tmp_path: Path) -> None:
    """As JSON has it; the digits of the stamp stay."""
    text = '[{"ph":"X","name":"a","ts":1712000000000000.123,"name":"b","args":{}}]'
    staged = _Staged(written(tmp_path, text))
    assert staged.events == [("X", "b", 1712000000000000123, "{}")]


def test_damage_in_a_large_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ranges are halved until the damage stands alone; all other events are kept."""
    monkeypatch.setattr(staging, "_SIZES", (64 << 10, 8 << 10, 2 << 10))
    monkeypatch.setattr(staging, "_TAIL", 4 << 10)
    events = [EVENTS[n % 4].replace('"pid"', f'"id":{n},"pid"') for n in range(3000)]
    for n in (0, 7, 1500, 2999):
        events[n] = events[n].replace('"ph":"', '"ph" "', 1)
    for n in (3, 800):
        events[n] = events[n].replace('"name":"', '"name":"\\w', 1)
    text = '{"traceEvents":[' + ",\n".join(events) + '],"z":1}'
    staged = _Staged(written(tmp_path, text))
    assert len(staged.events) == 2996
    assert staged.found["damaged_region"] == 4
    assert staged.found["lone_backslash"] == 2
    cut = _Staged(written(tmp_path, text[:-3000]))
    whole = text[: len(text) - 3000].count('"ph":"X"')
    assert cut.found["cut_file"] == 1
    assert sum(e[0] == "X" for e in cut.events) in (whole, whole - 1)


def test_an_event_of_many_megabytes(tmp_path: Path) -> None:
    """Longer than DuckDB's limit for one object."""
    long = json.dumps(
        {"ph": "i", "name": "l", "ts": 9, "args": {"t": "x" * (18 << 20)}}
    )
    staged = _Staged(written(tmp_path, "[" + ",".join([*EVENTS, long, *EVENTS]) + "]"))
    assert [len(e[3] or "") > (18 << 20) for e in staged.events] == [
        n == 4 for n in range(9)
    ]
    assert staged.found == {}


def test_containers(store: traceql.Store, tmp_path: Path) -> None:
    """gzip of several members, under any name; zstd; zip members; each cut."""
    text = OBJECT.encode()
    half = len(text) // 2
    members = gzip.compress(text[:half]) + gzip.compress(text[half:])
    files = {
        "several.json.gz": members,
        "no-suffix.json": members,
        "z.json.zst": pa.compress(text, codec="zstd", asbytes=True),
    }
    for name, data in files.items():
        run = ingested(store, written(tmp_path, data, name))
        assert run.rows("SELECT count(*) FROM slice") == [(1,)], name
        assert run.found == {}, name
    with zipfile.ZipFile(tmp_path / "t.zip", "w") as archive:
        archive.writestr("a.json", text)
        archive.writestr("b.json.gz", members)
        archive.writestr("readme.txt", "no trace")
    outcomes = store.ingest(tmp_path / "t.zip")
    assert [o.error for o in outcomes] == [None, None]


def test_a_cut_archive_gives_what_it_holds(
    store: traceql.Store, tmp_path: Path
) -> None:
    """The events before the cut are imported; --strict refuses."""
    events = [
        {"ph": "X", "name": f"n{n * 7919 % 1013}", "ts": n, "dur": 1, "pid": 1}
        for n in range(20_000)
    ]
    data = gzip.compress(json.dumps({"traceEvents": events}).encode())
    path = written(tmp_path, data[: len(data) * 2 // 3], "t.json.gz")
    run = ingested(store, path)
    assert run.found["cut_archive"] == run.found["cut_file"] == 1
    ((count, first, last),) = run.rows(
        "SELECT count(*), min(ts_ns), max(ts_ns) FROM slice"
    )
    assert 5_000 < count < 20_000
    assert (first, last) == (0, (count - 1) * 1000)
    (outcome,) = store.ingest(path, force=True, strict=True)
    assert isinstance(outcome.error, DataLoss)


_TEXT = st.text(st.sampled_from('ab"\\{}[],:\n\té\x00'), max_size=6)
_VALUE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(-1e15, 1e15) | _TEXT,
    lambda v: st.lists(v, max_size=3) | st.dictionaries(_TEXT, v, max_size=3),
    max_leaves=6,
)
_EVENT = st.fixed_dictionaries(
    {"ph": st.sampled_from("XBEiM")},
    optional={"name": _TEXT, "ts": st.floats(0, 1e9), "args": _VALUE},
)


@settings(max_examples=150, deadline=None)
@given(st.lists(_EVENT, min_size=1, max_size=5), st.floats(0, 1), st.booleans())
def test_cuts_of_any_events(
    events: list[dict[str, Any]], share: float, ascii_only: bool
) -> None:
    """Exactly the complete events of any text, against a count of their ends."""
    texts = [json.dumps(e, ensure_ascii=ascii_only) for e in events]
    whole = ", ".join(texts) + "]"
    cut = int(share * len(whole))
    ends, at = [], 0
    for text in texts:
        at += len(text)
        ends.append(at)
        at += 2
    found, damage, _ = _scanned(whole[:cut])
    assert found == texts[: sum(end <= cut for end in ends)]
    assert damage.regions == 0 and not damage.mended


@settings(max_examples=200, deadline=None)
@given(
    st.lists(_EVENT, min_size=1, max_size=5),
    st.lists(st.tuples(st.floats(0, 1), st.text(max_size=3)), max_size=3),
    st.booleans(),
)
def test_fuzz_of_the_tolerant_reader(
    events: list[dict[str, Any]], edits: list[tuple[float, str]], last: bool
) -> None:
    """Any edits: no crash, nothing but JSON objects, and all before the edits kept."""
    texts = [json.dumps(e) for e in events]
    text = ",".join(texts) + ("]" if last else "")
    first = len(text)
    for share, edit in edits:
        at = int(share * len(text))
        text = text[:at] + edit + text[at + 1 :]
        first = min(first, at)
    found, damage, _ = _scanned(text, last=last)
    assert all(_valid(found))
    whole = [t for n, t in enumerate(texts) if len(",".join(texts[: n + 1])) < first]
    assert found[: len(whole)] == whole
    if not edits:
        assert found == texts
        assert damage == Damage()


def _whole_kineto() -> bytes:
    """A small PyTorch trace of our generator, one event a line."""
    path = Path(__file__).parents[2] / "fixtures" / "kineto" / "kineto_2021.json.gz"
    return gzip.decompress(path.read_bytes())


_TOLD_OF_THE_WHOLE = {"gpu_rows_without_process", "orphan_gpu_ops", "crossing_ranges"}
_EDITS = st.lists(st.tuples(st.floats(0, 1), st.binary(max_size=2)), max_size=3)


@settings(
    max_examples=12,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(_EDITS, st.none() | st.floats(0, 1), st.booleans())
def test_no_damage_loses_rows_in_silence(
    store: traceql.Store,
    tmp_path: Path,
    edits: list[tuple[float, bytes]],
    cut: float | None,
    packed: bool,
) -> None:
    """Bytes changed and the file cut: what is gone is told of, or all is refused.

    An edit that spares the syntax changes what an event says: kernels are counted in
    the text as it stands.
    """
    data = bytearray(_whole_kineto())
    for share, new in edits:
        at = int(share * (len(data) - 1))
        data[at : at + 1] = new
    if cut is not None:
        del data[int(cut * len(data)) :]
    content = gzip.compress(bytes(data)) if packed else bytes(data)
    (outcome,) = store.ingest(written(tmp_path, content), force=True)
    if outcome.run is None:
        assert isinstance(outcome.error, TraceQLError)
        assert outcome.error.hint
        return
    ((kernels,),) = Imported(store, outcome).rows("SELECT count(*) FROM kernel")
    told = {f.code for f in outcome.findings} - _TOLD_OF_THE_WHOLE
    assert told or kernels == data.count(b'"cat": "Kernel"')
    if not data.rstrip().endswith((b"}", b"]")):
        severities = {f.severity for f in outcome.findings}
        assert "data_loss" in severities


_PIECES = st.sampled_from(
    ["{", "}", "[", "]", ",", ":", '"ph"', '"X"', '"traceEvents"', '"cat"', "1", "\\",
     '"name"', '"process_name"', '"args"', "\ufeff", " ", "\n", '"', "nan"]
)  # fmt: skip


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=200) | st.lists(_PIECES, max_size=40).map("".join))
def test_fuzz_of_the_sniffers(data: bytes | str) -> None:
    """No content makes a sniffer raise or leave its scale."""
    raw = data if isinstance(data, bytes) else data.encode()
    head = Head("t.json", raw, Path("/nonexistent"))
    signs_of(head)
    for importer in importers.registry().values():
        assert 0 <= importer.sniff(head) <= 1, importer.name


@settings(max_examples=100, deadline=None)
@given(_VALUE)
def test_mending_leaves_json_alone(value: Any) -> None:
    """A text that is JSON comes back as it was, and nothing is counted."""
    from collections import Counter

    text = json.dumps({"v": value})
    kinds: Counter[str] = Counter()
    assert mending.mend(text, kinds) == text
    assert not +kinds


def test_impossible_sizes_and_durations_are_unknown(
    store: traceql.Store, tmp_path: Path
) -> None:
    """What no process can address and no capture lasts: NULL, and counted."""
    copy = {"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy HtoD", "pid": 0, "tid": 7}
    events = [
        {**copy, "ts": at, "dur": dur, "args": {"bytes": size, "stream": 7}}
        for at, dur, size in ((1, 5, 8), (20, 5, 2**62), (40, 4 * 10**15, 8))
    ]
    text = json.dumps({"schemaVersion": 1, "traceEvents": events})
    imported = ingested(store, written(tmp_path, text))
    rows = imported.rows("SELECT dur_ns, bytes FROM memcpy ORDER BY ts_ns")
    assert rows == [(5000, 8), (5000, None), (None, 8)]
    assert imported.found["lossy_memcpy_bytes"] == 1
    assert imported.found["lossy_memcpy_dur_ns"] == 1


def test_sums_of_the_longest_durations_fit(
    store: traceql.Store, tmp_path: Path
) -> None:
    """A file that is wrong everywhere still has answers."""
    long_us = 10**12 - 1
    kernel = {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7}
    copy = {"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy HtoD", "pid": 0, "tid": 7}
    events = [
        {**event, "ts": at, "dur": long_us, "args": {"bytes": 8, "stream": 7}}
        for at in range(200)
        for event in (kernel, copy)
    ]
    ingested(store, written(tmp_path, json.dumps({"traceEvents": events})))
    (row,) = store.query("kernel_totals").rows()
    assert row["total_ns"] == 200 * 1000 * long_us
    for query in ("run_summary", "memcpy_summary", "stream_summary", "gpu_utilization"):
        assert store.query(query).rows()


@pytest.mark.parametrize(
    "text",
    [
        "[]",
        '{"traceEvents": []}',
        '{"schemaVersion": 1, "traceEvents": []}',
        '[{"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "p"}}]',
    ],
)
def test_a_trace_without_events_says_so(
    store: traceql.Store, tmp_path: Path, text: str
) -> None:
    """An empty run is no silence."""
    assert ingested(store, written(tmp_path, text)).found == {"empty_capture": 1}
    one = written(tmp_path, [{"ph": "i", "name": "a", "ts": 1, "pid": 1, "tid": 1}])
    assert "empty_capture" not in ingested(store, one).found


def test_stamps_beyond_64_bits_are_told_as_such(
    store: traceql.Store, tmp_path: Path
) -> None:
    """2^63 ns and more is a start, but none that the schema holds."""
    events = [
        {"ph": "X", "name": "a", "ts": ts, "dur": 1, "pid": 1, "tid": 1}
        for ts in (1, 2**63)
    ]
    imported = ingested(store, written(tmp_path, events))
    (found,) = [f for f in imported.outcome.findings if f.code == "events_without_time"]
    assert (found.count, found.severity) == (1, "data_loss")
    assert "beyond 64 bits" in found.message
