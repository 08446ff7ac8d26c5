"""Idle spans of devices, against slow interval arithmetic and the vendor's answer."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from query_database import empty
from random_traces import FAST, WINDOWS, Op, Row, loaded, ops, sort_key
from reference import Interval, gaps

import traceql

FLUSH = "CUDA profiling data flush overhead"


def overheads() -> st.SearchStrategy[list[tuple[str, str, int | None, Interval]]]:
    """Run, kind, process and (start, duration) of what the profiler did."""
    one = st.tuples(
        st.sampled_from(sorted(WINDOWS)),
        st.sampled_from([FLUSH, FLUSH, "CUDA profiling stop overhead", "CUPTI"]),
        st.sampled_from([10, 11, None]),
        st.tuples(st.integers(-5, 70), st.integers(0, 20)),
    )
    return st.lists(one, max_size=3)


@FAST
@given(ops(), overheads(), st.integers(0, 8), st.integers(1, 4) | st.none())
def test_gaps(
    trace: list[Op],
    own: list[tuple[str, str, int | None, Interval]],
    min_ns: int,
    top: int | None,
) -> None:
    expected: list[Row] = []
    for run in WINDOWS:
        found: list[Row] = []
        mine = [op for op in trace if op.run == run and op.is_timed]
        for pid, device in {(op.stream[0], op.device) for op in mine}:
            here = [op for op in mine if (op.stream[0], op.device) == (pid, device)]
            first = min(op.span[0] for op in here)
            last = max(op.span[1] for op in here)
            busy = [op.span for op in here] + [
                (start, start + dur)
                for where, kind, process, (start, dur) in own
                if where == run and kind != "CUPTI" and pid in (process, None)
            ]
            for start, end in gaps(busy, first, last):
                if end - start > min_ns:
                    found.append((start - end, start, pid, device, here))
        found.sort(key=lambda gap: sort_key(*gap[:4]))
        for minus, start, pid, device, here in found[:top]:
            end = start - minus
            before = [op for op in here if op.span[1] == start]
            after = [op for op in here if op.span[0] == end]
            left = min(before, key=lambda op: op.number, default=None)
            right = min(after, key=lambda op: op.number, default=None)
            figures: Row = (
                run,
                pid,
                device,
                start,
                end,
                left and left.label,
            )
            figures += (left and left.stream[2], right and right.label)
            figures += (right and right.stream[2], right and right.launch)
            expected.append(figures)
    with loaded(trace) as database:
        for where, kind, process, (start, dur) in own:
            database.con.execute(
                "INSERT INTO overhead (run_id, kind, pid, ts_ns, dur_ns) "
                "VALUES (?, ?, ?, ?, ?)",
                [where, kind, process, start, dur],
            )
        rows = database.ask("gpu_gaps", min_ns=min_ns, top=top)
    assert expected == [
        (
            *(row["run_id"], row["pid"], row["device_id"]),
            *(row["start_ns"], row["end_ns"]),
            *(_op_name(row["before_name"]), row["before_stream_id"]),
            *(_op_name(row["after_name"]), row["after_stream_id"]),
            row["after_launch_ns"],
        )
        for row in rows
    ]
    for row in rows:
        launch = row["after_launch_ns"]
        late = None if launch is None else launch > row["start_ns"]
        assert row["is_host_bound"] is late
        assert row["before_name"] is not None
        assert row["after_name"] is not None


def _op_name(name: str) -> str | None:
    return None if name.startswith("CUDA profiling") else name


def test_by_hand() -> None:
    database = empty()
    database.insert("run", {"format": "nsight_sqlite", "source_origin_ns": 0})
    common = {"pid": 1, "device_id": 0}
    database.insert(
        "kernel",
        # The start 0 of an Nsight capture is no time.
        common | {"ts_ns": 0, "dur_ns": 1, "name": "no time"},
        common | {"ts_ns": 100, "dur_ns": 50, "name": "long"},
        common | {"ts_ns": 110, "dur_ns": 10, "name": "inside"},
        common | {"ts_ns": 170, "dur_ns": 5, "name": "next", "launch_ts_ns": 140},
        common | {"ts_ns": 300, "dur_ns": 5, "name": "last", "launch_ts_ns": 290},
    )
    database.insert("overhead", {"kind": FLUSH, "pid": 1, "ts_ns": 200, "dur_ns": 60})
    database.insert("overhead", {"kind": FLUSH, "pid": 2, "ts_ns": 180, "dur_ns": 90})
    rows = database.ask("gpu_gaps", min_ns=19)
    assert [(r["gap_ns"], r["before_name"], r["after_name"]) for r in rows] == [
        (40, FLUSH, "last"),
        (25, "next", FLUSH),
        (20, "long", "next"),
    ]
    assert [row["is_host_bound"] for row in rows] == [True, None, False]
    assert len(database.ask("gpu_gaps", min_ns=20)) == 2


def test_the_lowest_id_of_those_that_end_or_start_together() -> None:
    trace = [
        Op("r1", "compute", 0, (1, 1, 3), 5, 5, number=0),
        Op("r1", "compute", 0, (1, 1, 4), 7, 3, number=1),
        Op("r1", "compute", 0, (1, 1, 6), 20, 2, launch=8, number=2),
        Op("r1", "compute", 0, (1, 1, 5), 20, 9, launch=19, number=3),
    ]
    with loaded(reversed(trace)) as database:
        [row] = database.ask("gpu_gaps", min_ns=0)
    assert (row["before_stream_id"], row["after_stream_id"]) == (3, 6)
    assert row["is_host_bound"] is False


@pytest.mark.corpus
@pytest.mark.parametrize(
    ("capture", "golden"),
    [
        ("quasiben-cudf.sqlite", "an.quasiben_nvtx-examples"),
        ("streams-1000-kernels.sqlite", "an.Lianhang666_gpu4"),
    ],
)
def test_as_the_vendor(
    corpus: Path, store: traceql.Store, capture: str, golden: str
) -> None:
    store.ingest(corpus / "nsys" / capture)
    text = (corpus / "nsys" / "golden" / f"{golden}.gpu_gaps.csv").read_text()
    expected: list[dict[str, Any]] = list(csv.DictReader(text.splitlines()))
    rows = store.query("gpu_gaps", min_ns=1_000_000, top=50).rows()
    assert [
        tuple(int(r[c]) for c in ("Duration (ns)", "Start (ns)", "PID", "Device ID"))
        for r in expected
        if r["Row#"]
    ] == [(r["gap_ns"], r["start_ns"], r["pid"], r["device_id"]) for r in rows]
