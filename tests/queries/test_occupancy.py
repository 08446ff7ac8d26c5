"""Occupancy and SM efficiency, against segments of time and by hand."""

from __future__ import annotations

import math
from typing import Any

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from query_database import empty
from random_traces import FAST
from reference import clip, segments

FEW = settings(FAST, max_examples=40)

Kernel = tuple[int, int, float | None, float | None, int, str]
"""Start, duration, blocks per SM, occupancy, device, name."""

KERNELS = st.lists(
    st.tuples(
        st.integers(0, 50),
        st.integers(0, 20),
        st.sampled_from([None, 0.1, 0.3, 0.25, 0.9, 4.0, math.inf, -1.0]),
        st.sampled_from([None, 0.0, 12.0, 50.0]),
        st.sampled_from([0, 1]),
        st.sampled_from(["a", "b"]),
    ),
    max_size=10,
)


@FEW
@given(KERNELS, st.sampled_from(["device", "name"]))
def test_against_segments(kernels: list[Kernel], group_by: str) -> None:
    db = empty()
    db.window(10, 50)
    for start, dur, blocks, occupancy, device, name in kernels:
        row: dict[str, Any] = {"ts_ns": start, "dur_ns": dur, "device_id": device}
        row |= {"blocks_per_sm": blocks, "est_occupancy_pct": occupancy, "name": name}
        db.insert("kernel", row)
    actual = {
        (r["device_id"], r["name"]): r for r in db.ask("occupancy", group_by=group_by)
    }
    groups: dict[Any, list[Kernel]] = {}
    for one in kernels:
        start, end = one[0], one[0] + one[1]
        if (start < 50 and end > 10) or (start == end and 10 <= start <= 50):
            key = one[4], one[5] if group_by == "name" else None
            groups.setdefault(key, []).append(one)
    assert set(actual) == set(groups)
    for key, mine in groups.items():
        row = actual[key]
        assert row["kernel_count"] == len(mine)
        known = [(one, clip([(one[0], one[0] + one[1])], 10, 50)) for one in mine]
        known = [(one, span) for one, span in known if span]
        lengths = [(one, span[0][1] - span[0][0]) for one, span in known]
        assert row["kernel_sum_ns"] == sum(n for _, n in lengths)
        stated = [
            (one[2], n)
            for one, n in lengths
            if one[2] is not None and math.isfinite(one[2]) and one[2] > 0
        ]
        integral = 0.0
        for a, b in segments(*[span for _, span in known]):
            running = sum(
                one[2]
                for one, span in known
                if one[2]
                and math.isfinite(one[2])
                and one[2] > 0
                and span[0][0] <= a
                and b <= span[0][1]
            )
            integral += min(1.0, running) * (b - a)
        if stated:
            assert row["sm_busy_ns"] == pytest.approx(integral, rel=1e-9)
            assert row["sm_efficiency_pct"] == pytest.approx(2.5 * integral, rel=1e-9)
            time = sum(n for _, n in stated)
            mean = sum(blocks * n for blocks, n in stated) / time
            assert row["blocks_per_sm"] == pytest.approx(mean)
            few = sum(n for blocks, n in stated if blocks < 1)
            assert row["few_blocks_ns"] == few
        else:
            assert row["sm_busy_ns"] is None and row["blocks_per_sm"] is None
        rated = [(one[3], n) for one, n in lengths if one[3] is not None]
        wanted = (
            sum(o * n for o, n in rated) / sum(n for _, n in rated) if rated else None
        )
        assert row["est_occupancy_pct"] == (
            None if wanted is None else pytest.approx(wanted)
        )


def test_by_hand() -> None:
    """Half a wave for 10, then two at once that fill the device, then nothing."""
    db = empty()
    db.window(0, 100)
    rows = [(0, 20, 0.5, 40), (10, 20, 0.75, 20)]
    for start, dur, blocks, occupancy in rows:
        row: dict[str, Any] = {"ts_ns": start, "dur_ns": dur, "device_id": 0}
        db.insert(
            "kernel", row | {"blocks_per_sm": blocks, "est_occupancy_pct": occupancy}
        )
    (row,) = db.ask("occupancy")
    # 10 at 0.5, 10 at min(1, 1.25), 10 at 0.75.
    assert row["sm_busy_ns"] == pytest.approx(5 + 10 + 7.5)
    assert row["sm_efficiency_pct"] == pytest.approx(22.5)
    assert row["est_occupancy_pct"] == pytest.approx(30)
    with pytest.raises(duckdb.Error, match="group_by must be"):
        db.ask("occupancy", group_by="colour")


def test_unknown_is_null() -> None:
    db = empty()
    db.window(0, 100)
    db.insert("kernel", {"ts_ns": 0, "dur_ns": 9, "device_id": 2})
    (row,) = db.ask("occupancy")
    assert row["sm_efficiency_pct"] is None and row["est_occupancy_pct"] is None
    assert row["few_blocks_pct"] is None and row["stated_count"] == 0
