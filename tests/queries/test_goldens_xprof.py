"""TensorFlow's own figures: tables that its profiler (2.3, 2.4) made of the captures.

Expected figures are those of the protobufs. Where ours differ on purpose the same plain
sweep over the file that gives the tool's figures gives ours too, once the difference is
taken in: so each difference is named, and is all there is.
"""

from __future__ import annotations

import re
import struct
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from query_database import empty

import traceql
from fixtures.xspaces import Read, events_of, fields
from traceql.session import Session

pytestmark = pytest.mark.corpus

Row = dict[str, Any]


@pytest.fixture(scope="module")
def profiles(
    corpus: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Session, dict[str, Path]]:
    """The four captures that have the tool's tables beside them; files by run."""
    store = traceql.open_store(tmp_path_factory.mktemp("store"), create=True)
    runs = {}
    for path in sorted((corpus / "tf2").rglob("*.xplane.pb")):
        (outcome,) = store.ingest(path)
        assert outcome.run is not None, outcome.error
        runs[outcome.run.run_id] = path
    assert len(runs) == 4
    return store.session("all"), runs


def beside(path: Path, tool: str) -> bytes:
    return path.with_name(path.name.replace(".xplane.", f".{tool}.")).read_bytes()


def number(value: bytes) -> float:
    (found,) = struct.unpack("<d", value)
    return float(found)


# --- the overview: where a step's time goes


def sweep(spans: list[tuple[int, int, str]], order: list[str]) -> dict[str, int]:
    """Time in ps of each kind where none before it in the order runs."""
    moments = sorted(
        (at, change, kind)
        for start, end, kind in spans
        if end > start
        for at, change in ((start, 1), (end, -1))
    )
    running: Counter[str] = Counter()
    found = dict.fromkeys(order, 0)
    before = 0
    for at, change, kind in moments:
        first = next((k for k in order if running[k]), None)
        if first is not None:
            found[first] += at - before
        running[kind] += change
        before = at
    return found


def is_gpu(event: Read) -> bool:
    return event.plane.startswith("/device:GPU") and event.line.startswith("Stream")


def tool_kind(event: Read) -> str | None:
    """What the tool takes an event for; nothing outside of the step's group."""
    if "group_id" not in event.stats:
        return None
    if is_gpu(event):
        return "device_compute"
    no_work = ("EagerExecute", "EagerLocalExecute", "EagerKernelExecute", "FunctionRun")
    if event.plane != "/host:CPU" or event.name.startswith((*no_work, "Iterator::")):
        return None
    return host_kind(event) or "host_compute"


def host_kind(event: Read) -> str | None:
    """What both say of a host's event."""
    if "correlation_id" in event.stats or event.name.startswith("ExecutorState::Proc"):
        return "kernel_launch"
    return "wait" if event.name.startswith("IteratorGetNext") else None


def our_kind(event: Read) -> str | None:
    """The differences: any group, copies are no computing, annotations are no work."""
    if is_gpu(event):
        copies = {"MemcpyD2H": "output", "MemcpyH2D": "copy_in", "MemcpyD2D": "d2d"}
        return copies.get(event.name, "device_compute")
    if event.plane != "/host:CPU" or event.name.startswith("$"):
        return None
    is_op = bool(event.display) and re.fullmatch(r"[^:]+:\w+", event.name)
    return host_kind(event) or (
        "host_compute" if is_op or "is_eager" in event.stats else None
    )


def spans_of(
    events: list[Read], start: int, end: int, kind_of: Callable[[Read], str | None]
) -> Iterator[tuple[int, int, str]]:
    for event in events:
        kind = kind_of(event)
        if kind is not None:
            first = event.start_ps
            yield max(first, start), min(first + event.duration_ps, end), kind


def after_empty(gpu: list[Read]) -> Iterator[tuple[int, int, str]]:
    """After an event of no length the tool's sweep has the device busy to the next."""
    for event in gpu:
        if not event.duration_ps:
            end = min(e.start_ps for e in gpu if e.start_ps > event.start_ps)
            yield event.start_ps, end, "device_compute"


TOOL_ORDER = ["device_compute", "wait", "kernel_launch", "host_compute"]
OUR_ORDER = [
    *("device_compute", "output", "d2d", "wait", "kernel_launch", "copy_in"),
    "host_compute",
]


def overview_step(data: bytes) -> dict[str, float]:
    """The only step of an overview page, in ns."""
    names = {2: "step", 3: "all_other", 5: "output", 6: "device_compute", 7: "d2d"}
    names |= {8: "host_compute", 9: "kernel_launch", 11: "wait", 12: "copy_in"}
    ((_, analysis),) = [f for f in fields(data) if f[0] == 2]
    ((_, step),) = [f for f in fields(analysis) if f[0] == 4]
    details = fields(dict(fields(step))[2])
    return {names[tag]: round(number(value) * 1e6) for tag, value in details}


def test_overview(profiles: tuple[Session, dict[str, Path]]) -> None:
    """step_breakdown in mode xprof and input_pipeline, and the overview's own step."""
    session, runs = profiles
    parts = session.query("step_breakdown", {"mode": "xprof"}).rows()
    inputs = {r["run_id"]: r for r in session.query("input_pipeline", {}).rows()}
    for run, path in runs.items():
        events = list(events_of(path.read_bytes()))
        (step,) = [e for e in events if e.line == "Steps"]
        first, last = step.start_ps, step.start_ps + step.duration_ps
        tool = sweep(
            [
                *spans_of(events, first, last, tool_kind),
                *after_empty([e for e in events if is_gpu(e)]),
            ],
            TOOL_ORDER,
        )
        stated = overview_step(beside(path, "overview_page"))
        assert stated.pop("step") == step.duration_ps // 1000
        assert (
            stated.pop("all_other") == (step.duration_ps - sum(tool.values())) // 1000
        )
        assert stated == {k: v // 1000 for k, v in tool.items() if v}

        # Ours: a step is what the host did for it, from the first to the last event.
        of_step = [
            e for e in events if e.plane == "/host:CPU" and "group_id" in e.stats
        ]
        group = [e for e in of_step if e.stats["group_id"] == step.stats["group_id"]]
        first = min(e.start_ps for e in group)
        last = max(e.start_ps + e.duration_ps for e in group)
        found = sweep(list(spans_of(events, first, last, our_kind)), OUR_ORDER)
        ours = {r["part"]: r["time_ns"] for r in parts if r["run_id"] == run}
        assert sum(ours.values()) * 1000 == last - first
        expected = {
            **{k: found[k] for k in ("device_compute", "output", "kernel_launch")},
            "device_to_device": found["d2d"], "collectives": 0,
            "input": found["wait"] + found["copy_in"],
            "host_compute": found["host_compute"],
            "all_other": last - first - sum(found.values()),
        }  # fmt: skip
        assert ours == {part: ps // 1000 for part, ps in expected.items()}
        # All copies hide a wait, those to the device too.
        order = sorted(OUR_ORDER, key=lambda k: k != "copy_in")
        found = sweep(list(spans_of(events, first, last, our_kind)), order)
        assert inputs[run]["exposed_wait_ns"] * 1000 == found["wait"]


# --- tensorflow_stats: operations


def stats_of(data: bytes) -> Iterator[tuple[str, str, str, int, int, int]]:
    """Place, type, name, occurrences, total and self ns; idleness is left out."""
    ((_, table),) = [f for f in fields(data) if f[0] == 5]
    for tag, record in fields(table):
        if tag == 1:
            row = dict(fields(record))
            place, kind, name = (row[tag].decode() for tag in (2, 3, 4))
            total, own = (
                round(number(row.get(tag, bytes(8))) * 1000) for tag in (6, 8)
            )
            yield place, kind, name, row.get(5, 0), total, own


def test_operations(profiles: tuple[Session, dict[str, Path]]) -> None:
    """Time of each operation on the host and on devices, by name."""
    session, runs = profiles
    rows = session.query("op_summary", {}).rows()
    for run, path in runs.items():
        ours = {r["label"]: r for r in rows if r["run_id"] == run}
        seen = set()
        for place, kind, name, occurrences, total, own in stats_of(
            beside(path, "tensorflow_stats")
        ):
            # Names of which the tool knows no type keep what is behind the colon.
            label = name.split(":")[0] if kind == "Unknown" else name
            if kind == "Dataset":
                assert label not in ours  # an annotation: see test_datasets
            elif place == "Device" and label not in ours:
                # A copy that neither a line of operations nor the host has.
                assert kind in ("_Recv", "_HostRecv", "_Send", "_HostSend")
            elif place == "Device":
                assert (label, ours[label]["device_self_ns"]) == (label, own)
                seen.add(label)
            else:
                row = ours[label]
                assert row["call_count"] == occurrences, label
                assert row["host_sum_ns"] == total, label
                assert row["host_self_ns"] + row["api_self_ns"] == own, label
                seen.add(label)
        assert seen == set(ours)


def test_placement(profiles: tuple[Session, dict[str, Path]]) -> None:
    """Device time of all operations is the table's, without copies of no operation."""
    session, runs = profiles
    rows = session.query("op_placement", {}).rows()
    names = session.query("op_summary", {}).rows()
    for run, path in runs.items():
        known = {r["label"] for r in names if r["run_id"] == run}
        table = list(stats_of(beside(path, "tensorflow_stats")))
        stated = sum(
            own for place, _, name, *_, own in table
            if place == "Device" and name.split(":")[0] in known
        )  # fmt: skip
        host = sum(
            own for place, kind, *_, own in table
            if place == "Host" and kind != "Dataset"
        )  # fmt: skip
        ours = [r for r in rows if r["run_id"] == run]
        assert sum(r["device_self_ns"] for r in ours) == stated
        assert sum(r["host_self_ns"] + r["api_self_ns"] for r in ours) == host


def test_datasets(profiles: tuple[Session, dict[str, Path]]) -> None:
    """tf.data's iterators, which are annotations: calls and time by long name."""
    session, runs = profiles
    rows = session.sql(
        "SELECT run_id, coalesce(payload->>'$.long_name', name) AS name, "
        "count(*) AS calls, CAST(sum(dur_ns) AS BIGINT) AS ns FROM annotation "
        "WHERE starts_with(name, 'Iterator::') GROUP BY ALL"
    ).rows()
    for run, path in runs.items():
        table = stats_of(beside(path, "tensorflow_stats"))
        stated = {row[2]: row[3:5] for row in table if row[1] == "Dataset"}
        ours = {r["name"]: (r["calls"], r["ns"]) for r in rows if r["run_id"] == run}
        assert stated and ours == stated


# --- kernel_stats: tensor cores

# Numbered copies of a name, and types of operations that are fused into others: the
# tool looks at the end of the name alone.
MORE_ELIGIBLE = re.compile(r"_[0-9]+$|/Relu$")


def test_tensor_cores(profiles: tuple[Session, dict[str, Path]]) -> None:
    """Operations that could use tensor cores, and kernels that do."""
    session, runs = profiles
    by_op = session.query("tensor_core_usage", {"group_by": "op"}).rows()
    by_kernel = session.query("tensor_core_usage", {"group_by": "kernel"}).rows()
    for run, path in runs.items():
        eligible, uses = set(), {}
        for _, record in fields(beside(path, "kernel_stats")):
            row = dict(fields(record))
            uses[row[1].decode()] = bool(row.get(10))
            if row.get(11):
                eligible.add(row[12].decode())
        ours = {
            r["label"]
            for r in by_op
            if r["run_id"] == run and r["tc_eligible"] == "yes"
        }
        assert eligible <= ours
        assert all(MORE_ELIGIBLE.search(name) for name in ours - eligible)
        # Its list knows no kernel that ours denies or affirms otherwise.
        for kernel in (r for r in by_kernel if r["run_id"] == run):
            assert kernel["uses_tc"] in (
                ("yes", "unknown") if uses[kernel["label"]] else ("no", "unknown")
            )


# --- input_pipeline: what iterators do


def test_input_stages(corpus: Path) -> None:
    """Reading and preprocessing as the tool tells them apart, in all of its tables."""
    con = empty().con
    stages = {"Preprocessing": "preprocess"} | dict.fromkeys(
        ("Advanced file read", "Demanded file read"), "read"
    )
    checked: Counter[str] = Counter()
    for path in sorted(corpus.rglob("*.input_pipeline.pb")):
        for tag, record in fields(path.read_bytes()):
            if tag == 6:
                row = dict(fields(record))
                name, wanted = row[1].decode(), stages[row[7].decode()]
                sql = "SELECT v1._input_stage(?)"
                assert con.execute(sql, [name]).fetchall() == [(wanted,)], name
                checked[wanted] += 1
    assert checked["read"] > 100 and checked["preprocess"] > 200
