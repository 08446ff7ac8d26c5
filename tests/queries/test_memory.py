"""Memory of the allocator, against a running list of what it said."""

from __future__ import annotations

from typing import Any

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from query_database import Database, empty
from random_hosts import Range, insert, trees
from random_traces import FAST

FEW = settings(FAST, max_examples=25)

Event = tuple[int, int, int | None, int, int]
"""Time, bytes, device, total allocated, operation."""

EVENTS = st.lists(
    st.tuples(
        st.integers(0, 50),
        st.sampled_from([-8, -3, 4, 5, 16]),
        st.sampled_from([0, None]),
        st.integers(0, 99),
        st.integers(0, 12),
    ),
    max_size=14,
    unique_by=lambda event: (event[0], event[2]),
)


def fill(db: Database, events: list[Event], total: bool = True) -> None:
    for ts, size, device, allocated, op in events:
        row: dict[str, Any] = {"ts_ns": ts, "bytes": size, "device_id": device}
        row |= {"pid": 1, "op_id": op, "kind": "device" if device == 0 else None}
        if total:
            row |= {"total_allocated_bytes": allocated, "total_reserved_bytes": 200}
        db.insert("memory_event", row)


@FEW
@given(EVENTS, st.none() | st.integers(1, 20))
def test_timeline(events: list[Event], bins: int | None) -> None:
    db = empty()
    db.window(5, 45)
    fill(db, events)
    rows = db.ask("memory_timeline", bins=bins)
    expected = []
    for device in (0, None):
        net = 0
        points: dict[int, list[tuple[int, int, int]]] = {}
        for ts, size, _, allocated, _ in sorted(e for e in events if e[2] == device):
            net += size
            if 5 <= ts <= 45:
                key = ts if bins is None else min((ts - 5) * bins // 40, bins - 1)
                points.setdefault(key, []).append((ts, allocated, net))
        for number, key in enumerate(sorted(points)):
            mine = points[key]
            expected.append(
                (
                    *(device, number, mine[-1][0], len(mine), mine[-1][1]),
                    *(max(p[1] for p in mine), mine[-1][2], max(p[2] for p in mine)),
                )
            )
    names = (
        *("device_id", "point", "ts_ns", "event_count", "allocated_bytes"),
        *("peak_allocated_bytes", "net_bytes", "peak_net_bytes"),
    )
    assert [tuple(r[n] for n in names) for r in rows] == expected


@FEW
@given(EVENTS)
def test_peak(events: list[Event]) -> None:
    db = empty()
    db.window(5, 45)
    db.insert("device", {"device_id": 0, "memory_bytes": 400})
    fill(db, events)
    actual = {r["device_id"]: r for r in db.ask("memory_peak")}
    for device in (0, None):
        mine = sorted(e for e in events if e[2] == device)
        inside = [e for e in mine if 5 <= e[0] <= 45]
        if not inside:
            assert device not in actual
            continue
        row = actual[device]
        most = max(e[3] for e in inside)
        assert row["peak_allocated_bytes"] == most
        assert row["peak_ts_ns"] == min(e[0] for e in inside if e[3] == most)
        net = [sum(e[1] for e in mine if e[0] <= one[0]) for one in inside]
        assert row["peak_net_bytes"] == max(net)
        assert row["allocation_count"] == sum(e[1] > 0 for e in inside)
        assert row["allocation_bytes"] == sum(max(e[1], 0) for e in inside)
        assert row["free_bytes"] == sum(max(-e[1], 0) for e in inside)
        assert row["capacity_bytes"] == (400 if device == 0 else None)
        assert row["peak_of_capacity_pct"] == (50 if device == 0 else None)


@FEW
@given(trees(), EVENTS)
def test_by_op(host: list[Range], events: list[Event]) -> None:
    found = [one for one in host if one.table == "op" and one.run == "r1"]
    db = empty()
    db.window(-10, 200)
    insert(db, found)
    fill(db, events)
    actual = {
        (r["device_id"], r["name"]): (
            *(r["op_count"], r["self_increase_bytes"], r["self_allocation_bytes"]),
            *(r["self_allocation_count"], r["increase_bytes"]),
            *(r["allocation_bytes"], r["allocation_count"]),
        )
        for r in db.ask("memory_by_op")
    }
    inside = {
        one.number: {one.number}
        | {o.number for i, o in enumerate(found) if i > place and one.holds(o)}
        for place, one in enumerate(found)
    }
    expected: dict[Any, tuple[int, ...]] = {}

    def add(key: object, count: int, own: list[Event], all_: list[Event]) -> None:
        figures = [count]
        for part in (own, all_):
            figures += [sum(e[1] for e in part), sum(max(e[1], 0) for e in part)]
            figures.append(sum(e[1] > 0 for e in part))
        before = expected.get(key, (0,) * 7)
        expected[key] = tuple(a + b for a, b in zip(before, figures, strict=True))

    for device in (0, None):
        mine = [e for e in events if e[2] == device]
        for one in found:
            total = [e for e in mine if e[4] in inside[one.number]]
            if total:
                own = [e for e in mine if e[4] == one.number]
                add((device, one.name), 1, own, total)
        lone = [e for e in mine if e[4] not in inside]
        if lone:
            add((device, None), 0, lone, lone)
    assert actual == expected


def test_totals_that_the_source_does_not_state_are_unknown() -> None:
    db = empty()
    db.window(0, 50)
    fill(db, [(1, 4, 0, 0, 0), (2, 16, 0, 0, 0), (3, -4, 0, 0, 0)], total=False)
    (peak,) = db.ask("memory_peak")
    assert peak["peak_allocated_bytes"] is None and peak["peak_reserved_bytes"] is None
    assert (peak["peak_net_bytes"], peak["peak_ts_ns"]) == (20, 2)
    rows = db.ask("memory_timeline")
    assert [r["allocated_bytes"] for r in rows] == [None] * 3
    assert [r["net_bytes"] for r in rows] == [4, 20, 16]
    with pytest.raises(duckdb.Error, match="bins must be"):
        db.ask("memory_timeline", bins=0)
