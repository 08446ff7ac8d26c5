"""What ran at once, and use by stretches of time, against slow interval arithmetic."""

from __future__ import annotations

import csv
from itertools import pairwise
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st
from query_database import empty
from random_traces import (
    COPIES,
    FAST,
    KERNELS,
    WINDOWS,
    Op,
    Row,
    loaded,
    ops,
    sort_key,
    spans,
    window,
    windows,
)
from reference import Interval, clip, common_ns, covers, segments, sum_ns, union_ns

import traceql

CLASSES = {
    "compute": "compute",
    "graph": "compute",
    "communication": "communication",
    "copy_h2d": "H2D",
    "copy_d2h": "D2H",
    "memset": "memset",
}
ORDER = ["compute", "communication", "H2D", "D2H", "memset"]


def devices(trace: list[Op], run: str) -> list[int | None]:
    found = {op.device for op in trace if op.run == run}
    return sorted(found, key=sort_key)


@FAST
@given(ops(), windows())
def test_overlap_classes(trace: list[Op], params: dict[str, int]) -> None:
    expected: dict[Row, int] = {}
    for run in WINDOWS:
        limits = window(run, params)
        for device in devices(trace, run):
            busy = {
                name: spans(
                    [
                        op
                        for op in trace
                        if (op.run, op.device) == (run, device)
                        and CLASSES[op.activity] == name
                    ],
                    limits,
                )
                for name in ORDER
            }
            for segment in segments([limits], *busy.values()):
                names = [name for name in ORDER if covers(busy[name], segment)]
                key = (run, device, " + ".join(names) or "idle")
                expected[key] = expected.get(key, 0) + segment[1] - segment[0]
    with loaded(trace) as database:
        rows = database.ask("overlap_classes", **params)
    found = {(r["run_id"], r["device_id"], r["classes"]): r["time_ns"] for r in rows}
    assert found == expected
    assert len(found) == len(rows)
    for row in rows:
        parts = [] if row["classes"] == "idle" else row["classes"].split(" + ")
        assert row["class_count"] == len(parts)
        assert row["has_compute"] is ("compute" in parts)
        assert row["has_communication"] is ("communication" in parts)
        assert row["has_copy"] is bool({"H2D", "D2H", "memset"} & set(parts))
        start, end = window(row["run_id"], params)
        assert row["window_pct"] == pytest.approx(100 * row["time_ns"] / (end - start))


def test_classes_of_every_copy() -> None:
    database = empty()
    database.window(0, 100)
    kinds = ["H2D", "D2H", "D2D", "P2P", "UVM_H2D", "unknown"]
    database.insert(
        "memcpy",
        *({"ts_ns": 10 * i, "dur_ns": 8, "kind": k} for i, k in enumerate(kinds)),
        {"ts_ns": 32, "dur_ns": 4, "kind": "P2P"},
    )
    database.insert("memset", {"ts_ns": 5, "dur_ns": 5})
    found = {r["classes"]: r["time_ns"] for r in database.ask("overlap_classes")}
    assert found == {
        "H2D": 5,
        "H2D + memset": 3,
        "memset": 2,
        "D2H": 8,
        "D2D": 8,
        "P2P": 8,
        "other copies": 16,
        "idle": 50,
    }


@FAST
@given(ops(), windows())
def test_comm_overlap(trace: list[Op], params: dict[str, int]) -> None:
    expected: list[Row] = []
    for run in WINDOWS:
        limits = window(run, params)
        for device in devices(trace, run):
            mine = [op for op in trace if (op.run, op.device) == (run, device)]
            if not any(op.meets(*limits) for op in mine):
                continue
            c = spans([op for op in mine if op.activity == "communication"], limits)
            p = spans(
                [op for op in mine if op.activity in ("compute", "graph")], limits
            )
            k = spans([op for op in mine if op.activity in KERNELS], limits)
            m = spans([op for op in mine if op.activity in COPIES], limits)
            figures: Row = (run, device, union_ns(p), union_ns(c), sum_ns(c))
            figures += (common_ns(c, p), union_ns(c, p) - union_ns(p))
            figures += (union_ns(m), union_ns(k, m) - union_ns(k), union_ns(k, m))
            share = common_ns(c, p) / union_ns(c) if c else None
            hidden = common_ns(k, m) / union_ns(m) if m else None
            expected.append((*figures, share, hidden))
    with loaded(trace) as database:
        rows = database.ask("comm_overlap", **params)
    names = "run_id device_id compute_union_ns communication_union_ns "
    names += "communication_sum_ns overlapped_communication_ns "
    names += "exposed_communication_ns copy_union_ns exposed_copy_ns busy_union_ns "
    names += "overlapped_communication_share overlapped_copy_share"
    assert expected == [tuple(row[name] for name in names.split()) for row in rows]


@pytest.mark.parametrize(
    ("links", "names", "wanted"),
    [
        # 0 and 1 communicate, 2 computes: how it is linked plays no part.
        ([(0, 1, "NV4"), (0, 2, "SYS")], "nnc", ["NV4", "NV4", None]),
        # Each to the two others.
        (
            [(0, 1, "NV4"), (0, 2, "SYS"), (1, 2, "PIX")],
            "nnn",
            ["NV4, SYS", "NV4, PIX", "PIX, SYS"],
        ),
        # What is not known of one pair is not known of the device.
        ([(0, 1, "NV4"), (0, 2, "SYS")], "nnn", ["NV4, SYS", None, None]),
        ([(0, 1, "NV4")], "nc", [None, None]),
    ],
)
def test_links_of_those_that_communicate(
    links: list[tuple[int, int, str]], names: str, wanted: list[str | None]
) -> None:
    """By hand: n is a device with a kernel of NCCL, c one without."""
    db = empty()
    db.window(0, 100)
    db.insert("run", {"run_id": "log", "attached_to": "r1"})
    for device, letter in enumerate(names):
        name = "ncclDevKernel_AllReduce" if letter == "n" else "gemm"
        row = {"ts_ns": 10, "dur_ns": 20, "device_id": device, "name": name}
        db.insert("kernel", row)
        gpu = {"device_id": device, "kind": "gpu", "uuid": f"GPU-{device}"}
        db.insert("device", gpu, gpu | {"run_id": "log"})
    for one, other, kind in links:
        ends = {"from_device": f"GPU{one}", "to_device": f"GPU{other}", "kind": kind}
        db.insert("topology", ends | {"run_id": "log"})
    rows = db.ask("comm_overlap")
    assert [row["device_id"] for row in rows] == list(range(len(names)))
    assert [row["link"] for row in rows] == wanted


def chunked(start: int, end: int, count: int) -> list[Interval]:
    """Parts of one width, rounded up to whole ns, of which the last is what is left."""
    width = -((start - end) // count)
    return list(pairwise([*range(start, end, width), end]))


@FAST
@given(
    ops(),
    st.integers(1, 40),
    st.sampled_from([None, 0.0, 30.0, 50.0, 100.0, 300.0]),
    st.integers(1, 3) | st.none(),
)
def test_gpu_time_util(
    trace: list[Op], chunks: int, threshold: float | None, top: int | None
) -> None:
    expected: list[Row] = []
    for run in WINDOWS:
        found: list[Row] = []
        mine = [op for op in trace if op.run == run and op.is_timed]
        for pid, device in {(op.stream[0], op.device) for op in mine}:
            here = spans(
                op for op in mine if (op.stream[0], op.device) == (pid, device)
            )
            first, last = min(a for a, _ in here), max(b for _, b in here)
            if first == last:
                continue
            stretch: list[Interval] = []
            listed: list[list[Interval]] = []
            for chunk in chunked(first, last, chunks):
                share = 100 * sum_ns(clip(here, *chunk)) / (chunk[1] - chunk[0])
                if threshold is None:
                    listed.append([chunk])
                elif share < threshold:
                    if not stretch:
                        listed.append(stretch)
                    stretch.append(chunk)
                else:
                    stretch = []
            for part in listed:
                limits = part[0][0], part[-1][1]
                cut = clip(here, *limits)
                used = sum_ns(cut) / (limits[1] - limits[0])
                key = (used, sort_key(limits[0], pid, device))
                figures = (run, pid, device, *limits, len(part))
                found.append((key, (*figures, sum_ns(cut), union_ns(cut))))
        expected += [row for _, row in sorted(found)[:top]]
    with loaded(trace) as database:
        rows = database.ask(
            "gpu_time_util", chunks=chunks, threshold_pct=threshold, top=top
        )
    names = "run_id pid device_id start_ns end_ns chunk_count busy_sum_ns busy_union_ns"
    assert expected == [tuple(row[name] for name in names.split()) for row in rows]


def test_no_chunks_is_an_error() -> None:
    with (
        loaded([Op("r1", "compute", 0, (1, 1, 1), 0, 5)]) as database,
        pytest.raises(duckdb.Error, match="chunks must be at least 1"),
    ):
        database.ask("gpu_time_util", chunks=0)


@pytest.mark.corpus
@pytest.mark.parametrize(
    ("capture", "golden"),
    [
        ("quasiben-cudf.sqlite", "an.quasiben_nvtx-examples"),
        ("streams-1000-kernels.sqlite", "an.Lianhang666_gpu4"),
    ],
)
def test_gpu_time_util_as_the_vendor(
    corpus: Path, store: traceql.Store, capture: str, golden: str
) -> None:
    store.ingest(corpus / "nsys" / capture)
    text = (corpus / "nsys" / "golden" / f"{golden}.gpu_time_util.csv").read_text()
    expected: list[dict[str, Any]] = list(csv.DictReader(text.splitlines()))
    rows = store.query("gpu_time_util").rows()
    numbers = ("Duration (ns)", "Start (ns)", "PID", "Device ID")
    assert [
        (row["In-Use (%)"], *(int(row[c]) for c in numbers))
        for row in expected
        if row["Row#"]
    ] == [
        (
            f"{row['busy_sum_with_overlaps_pct']:.1f}",
            *(row["length_ns"], row["start_ns"], row["pid"], row["device_id"]),
        )
        for row in rows
    ]
