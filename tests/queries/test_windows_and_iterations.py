from __future__ import annotations

from typing import Any

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from query_database import Database, empty


def rows(db: Database, call: str) -> list[tuple[Any, ...]]:
    return db.con.execute(f"FROM v1.{call}").fetchall()


def annotate(db: Database, *notes: tuple[str, int, int | None]) -> None:
    for name, ts, dur in notes:
        row = {"name": name, "ts_ns": ts, "dur_ns": dur, "kind": "push_pop", "pid": 1}
        db.insert("annotation", row)


def test_windows_of_each_kind() -> None:
    db = empty()
    db.window(-5, 995)
    db.window(0, 0, "r2")
    db.insert("kernel", {"ts_ns": 10, "dur_ns": 20}, {"ts_ns": 100, "dur_ns": None})
    db.insert("memset", {"ts_ns": 200, "dur_ns": 7})
    annotate(db, ("step 1", 40, 5), ("step 2", 60, 10))
    assert rows(db, "_windows()") == [("r1", "capture", -5, 995)]
    assert rows(db, "_windows('gpu')") == [("r1", "gpu", 10, 207)]
    assert rows(db, "_windows('steps')") == [("r1", "steps", 40, 70)]
    # DLProf's first iteration begins with the profile, before anything is recorded.
    annotate(db, ("step 0", -30, 40), ("step 3", 990, 10))
    assert rows(db, "_windows('steps')") == [("r1", "steps", -5, 995)]
    assert rows(db, "_windows(from_ns := 3)")[0] == ("r1", "range", 3, 995)
    assert rows(db, "_windows('gpu', to_ns := 3)")[0] == ("r1", "range", -5, 3)
    with pytest.raises(duckdb.Error, match="to_ns must be greater"):
        rows(db, "_windows(from_ns := 3, to_ns := 3)")
    with pytest.raises(duckdb.Error, match="time_window must be"):
        rows(db, "_windows('step')")


@pytest.mark.parametrize(
    "name",
    [
        *("iteration 7", "Iteration_7", "step=7", "train_step 7", "trainstep7"),
        *("training iteration: 7", "batch#7", "ProfilerStep#7", "iter7"),
    ],
)
def test_names_of_steps(name: str) -> None:
    db = empty()
    annotate(db, (name, 0, 5))
    assert rows(db, "_iterations()") == [
        ("r1", 1, None, 0, name, "annotation", 0, 5, None)
    ]


@pytest.mark.parametrize(
    "name", ["iteration", "step 7 of 9", "footstep 7", "7", "batch_norm", "steps 7"]
)
def test_names_of_no_steps(name: str) -> None:
    db = empty()
    annotate(db, (name, 0, 5))
    assert rows(db, "_iterations()") == []


def test_only_the_outermost_finished_steps_count() -> None:
    db = empty()
    annotate(
        db,
        ("step 1", 0, 10),
        ("batch 1", 0, 10),
        ("batch 2", 2, 3),
        ("step 2", 9, 10),
        ("step 3", 30, None),
    )
    found = [(row[3], row[4]) for row in rows(db, "_iterations()")]
    assert found == [(0, "batch 1"), (1, "step 2")]
    assert [r[4] for r in rows(db, "_iterations('batch 2')")] == ["batch 2"]


def test_the_sources_own_steps_win_unless_a_pattern_is_given() -> None:
    db = empty()
    annotate(db, ("step 1", 0, 10))
    step = {"ts_ns": 5, "dur_ns": 5, "name": "7", "source": "tf_step", "number": 7}
    db.insert("iteration", step)
    assert rows(db, "_iterations()") == [
        ("r1", None, None, 0, "7", "tf_step", 5, 10, None)
    ]
    assert [r[5] for r in rows(db, "_iterations('step')")] == ["annotation"]


def test_steps_of_devices_count_on_each_where_the_host_has_none() -> None:
    db = empty()
    step = {"dur_ns": 5, "source": "tf_step", "pid": 1}
    db.insert(
        "iteration",
        *({**step, "ts_ns": at, "device_id": gpu} for gpu, at in ((4, 0), (4, 7))),
        # Of another device in the same time, and at another.
        *({**step, "ts_ns": at, "device_id": gpu} for gpu, at in ((6, 1), (6, 90))),
    )
    assert [row[1:4] + row[6:8] for row in rows(db, "_iterations()")] == [
        (1, 4, 0, 0, 5),
        (1, 4, 1, 7, 12),
        (1, 6, 0, 1, 6),
        (1, 6, 1, 90, 95),
    ]
    # All devices are in their steps from 1 to 12.
    db.window(0, 100)
    assert rows(db, "_windows('steps')") == [("r1", "steps", 1, 12)]
    # Steps of another process leave them as they are, those of their own do not.
    db.insert("iteration", {**step, "ts_ns": 50, "pid": 2})
    assert len(rows(db, "_iterations()")) == 5
    db.insert("iteration", {**step, "ts_ns": 60})
    assert rows(db, "_windows('steps')") == [("r1", "steps", 50, 65)]
    assert [row[1:4] for row in rows(db, "_iterations()")] == [
        (1, None, 0),
        (2, None, 0),
    ]


def test_steps_of_devices_that_lie_apart_are_no_window() -> None:
    db = empty()
    db.window(0, 100)
    step = {"dur_ns": 5, "source": "tf_step"}
    db.insert("iteration", *({**step, "ts_ns": 9 * d, "device_id": d} for d in (1, 2)))
    assert rows(db, "_windows('steps')") == []


@settings(deadline=None)
@given(st.data(), st.integers(1, 2**62), st.integers(1, 3000))
def test_a_moment_lies_in_the_bin_between_whose_borders_it_is(
    data: st.DataObject, whole_ns: int, asked: int
) -> None:
    """Bin i is [i * whole // bins, (i + 1) * whole // bins), also in long wholes."""
    bins = min(asked, whole_ns)
    past_ns = data.draw(st.integers(1, whole_ns))
    found = (
        empty()
        .con.execute(f"SELECT v1._bin_of({past_ns}, {bins}, {whole_ns})")
        .fetchall()[0][0]
    )
    assert found * whole_ns // bins < past_ns <= (found + 1) * whole_ns // bins
