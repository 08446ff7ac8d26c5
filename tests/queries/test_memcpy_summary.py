from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from query_database import Database, empty

START, LENGTH, DEVICE = st.integers(0, 40), st.integers(0, 12), st.integers(0, 1)
KERNELS = st.lists(st.tuples(START, LENGTH, DEVICE), max_size=8)
COPIES = st.lists(
    st.tuples(START, LENGTH, DEVICE, st.sampled_from(["H2D", "D2H", "memset"])),
    min_size=1,
    max_size=8,
)


def insert(
    db: Database,
    kernels: list[tuple[int, int, int]],
    copies: list[tuple[int, int, int, str]],
) -> None:
    db.window(0, 60)
    for ts, dur, device in kernels:
        db.insert("kernel", {"ts_ns": ts, "dur_ns": dur, "device_id": device})
    for ts, dur, device, kind in copies:
        row: dict[str, Any] = {"ts_ns": ts, "dur_ns": dur, "device_id": device}
        row["bytes"] = 8 * dur
        if kind == "memset":
            db.insert("memset", row)
        else:
            db.insert("memcpy", row | {"kind": kind})


@settings(deadline=None)
@given(kernels=KERNELS, copies=COPIES, by_device=st.booleans())
def test_exposed_time_equals_a_count_of_every_nanosecond(
    kernels: list[tuple[int, int, int]],
    copies: list[tuple[int, int, int, str]],
    by_device: bool,
) -> None:
    db = empty()
    insert(db, kernels, copies)
    hidden = {(dev, t) for ts, dur, dev in kernels for t in range(ts, ts + dur)}
    rows = db.ask("memcpy_summary", group_by="device" if by_device else "kind")
    assert sum(row["copy_count"] for row in rows) == len(copies)
    for row in rows:
        mine = [
            copy
            for copy in copies
            if copy[3] == row["kind"] and row["device_id"] in (None, copy[2])
        ]
        ran = {(dev, t) for ts, dur, dev, _ in mine for t in range(ts, ts + dur)}
        assert row["exposed_ns"] == len(ran - hidden)
        assert row["total_ns"] == sum(dur for _, dur, _, _ in mine)
        if ran:
            share = 100 * len(ran - hidden) / len(ran)
            assert row["exposed_pct"] == pytest.approx(share)
            assert row["throughput_gb_per_s"] == pytest.approx(8)
        else:
            assert row["exposed_pct"] is row["throughput_gb_per_s"] is None


def test_a_graph_hides_a_copy_on_its_device_alone() -> None:
    db = empty()
    insert(db, [], [(0, 10, 0, "H2D"), (0, 10, 1, "H2D")])
    db.insert("graph_launch", {"ts_ns": 2, "dur_ns": 4, "device_id": 0})
    (row,) = db.ask("memcpy_summary")
    assert row["exposed_ns"] == 16


def test_a_copy_without_device_has_its_time_beside_kernels_without() -> None:
    db = empty()
    insert(db, [], [])
    db.insert("memcpy", {"ts_ns": 0, "dur_ns": 10, "kind": "H2D", "bytes": 1})
    db.insert("kernel", {"ts_ns": 0, "dur_ns": 4})
    (row,) = db.ask("memcpy_summary")
    assert (row["exposed_ns"], row["exposed_pct"]) == (6, 60)


def test_pageable_share_is_of_the_bytes_whose_memory_is_known() -> None:
    db = empty()
    insert(db, [], [(0, 1, 0, "memset")])
    copy = {"dur_ns": 1, "kind": "H2D", "dst_memory": "device"}
    db.insert(
        "memcpy",
        copy | {"ts_ns": 0, "bytes": 30, "src_memory": "pageable"},
        copy | {"ts_ns": 1, "bytes": 10, "src_memory": "pinned"},
        copy | {"ts_ns": 2, "bytes": 99, "dst_memory": None},
    )
    rows = {row["kind"]: row for row in db.ask("memcpy_summary")}
    assert rows["H2D"]["pageable_pct"] == 75
    assert rows["memset"]["pageable_pct"] is None
    memories = {
        (row["kind"], row["src_memory"], row["dst_memory"])
        for row in db.ask("memcpy_summary", group_by="memory")
    }
    assert memories == {
        ("H2D", "pageable", "device"),
        ("H2D", "pinned", "device"),
        ("H2D", None, None),
        ("memset", None, None),
    }
