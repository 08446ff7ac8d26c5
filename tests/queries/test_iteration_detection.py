"""Iterations detected in the launches, against the truth of generated sequences."""

from __future__ import annotations

import dataclasses
import shutil
import sqlite3
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from query_database import Database, empty

import traceql
from fixtures.launch_sequence import Launch, LoopSpec, make_sequence
from fixtures.nsight_sqlite import write_nsight_sqlite
from fixtures.training_run import RunSpec, make_run

SEEDS = range(1, 4)
FEW = settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)


def load(db: Database, launches: Iterable[Launch], device: int = 0) -> None:
    """Insert a sequence as the work of process 1 on a device."""
    rows: dict[str, list[dict[str, Any]]] = {"kernel": [], "memcpy": []}
    for number, one in enumerate(launches, start=1_000_000 * device):
        row: dict[str, Any] = {"run_id": "r1", f"{one.kind}_id": number, "pid": 1}
        row |= {"device_id": device, "context_id": 1, "stream_id": one.stream}
        row |= {"api_call_id": number, "launch_ts_ns": one.launch_ns}
        row |= {"ts_ns": one.start_ns, "dur_ns": one.end_ns - one.start_ns}
        if one.kind == "kernel":
            row |= {"name": one.name, "short_name": one.name, "grid_x": one.size}
            row |= {"grid_y": 1, "grid_z": 1}
        else:
            row |= {"kind": one.name, "bytes": one.size}
        rows[one.kind].append(row)
    for table, some in rows.items():
        if some:
            db.con.register("new_rows", pa.Table.from_pylist(some))
            db.con.execute(f"INSERT INTO {table} BY NAME FROM new_rows")
            db.con.unregister("new_rows")


def database(launches: list[Launch]) -> Database:
    """A run that holds one sequence."""
    db = empty()
    db.window(0, launches[-1].end_ns + 1)
    load(db, launches)
    return db


def found(db: Database) -> list[tuple[int, int]]:
    """Start and end of the iterations that are detected."""
    rows = db.con.execute(
        "SELECT start_ns, end_ns FROM v1._iterations() "
        "WHERE source = 'detected' AND confidence_share >= 0.6 ORDER BY iteration"
    )
    return rows.fetchall()


def owned(launches: list[Launch], steps: list[tuple[int, int]]) -> list[list[Launch]]:
    """What each iteration launches."""
    times = [one.launch_ns for one in launches]
    return [launches[bisect_left(times, a) : bisect_left(times, b)] for a, b in steps]


def matches(launches: list[Launch], steps: list[tuple[int, int]]) -> int:
    """How many detected iterations are a true one: launches in common over all >= 0.9.

    No true one is matched twice.
    """
    sizes: dict[int | None, int] = {}
    for one in launches:
        sizes[one.iteration] = sizes.get(one.iteration, 0) + 1
    matched = set()
    for own in owned(launches, steps):
        for number in {one.iteration for one in own} - {None}:
            common = sum(one.iteration == number for one in own)
            if common >= 0.9 * (len(own) + sizes[number] - common):
                matched.add(number)
    return len(matched)


EXACT = {
    "plain": {},
    "set-up": {"setup": 60},
    "evaluation": {"evaluate_every": 4, "setup": 30},
    "two streams": {"streams": 2},
    "stragglers": {"stragglers": 2, "setup": 20},
    "micro-batches": {"micro_batches": 4},
    "many layers": {"layers": 24, "layer_kernels": 12},
    "few": {"iterations": 4},
    "short": {"layers": 1, "layer_kernels": 2, "iterations": 30},
}


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("case", EXACT)
def test_each_launch_is_in_its_own_iteration(case: str, seed: int) -> None:
    launches = make_sequence(LoopSpec(seed=seed, **EXACT[case]))  # type: ignore[arg-type]
    db = database(launches)
    steps = found(db)
    expected: dict[int, list[Launch]] = {}
    for one in launches:
        if one.iteration is not None:
            expected.setdefault(one.iteration, []).append(one)
    assert owned(launches, steps) == list(expected.values())
    (row,) = db.ask("iteration_detection")
    assert row["is_detected"]
    assert row["iteration_count"] == len(expected)
    assert row["period_launch_count"] == len(expected[0])
    assert row["abstained_because"] is None
    in_steps = sum(map(len, expected.values()))
    assert row["covered_share"] == pytest.approx(in_steps / len(launches))


NOISY: dict[str, dict[str, Any]] = {
    "extra launches": {"extra_share": 0.03},
    "streams and evaluation": {
        **{"streams": 3, "layers": 6},
        **{"extra_share": 0.01, "evaluate_every": 6},
    },
    "autotuning": {"autotune_steps": 2, "setup": 30},
    "all": {
        **{"setup": 80, "autotune_steps": 1, "evaluate_every": 5},
        **{"extra_share": 0.01, "streams": 2, "stragglers": 2},
    },
}


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("case", NOISY)
def test_noise_costs_few_iterations_and_invents_none(case: str, seed: int) -> None:
    spec = LoopSpec(seed=seed, **NOISY[case])
    launches = make_sequence(spec)
    steps = found(database(launches))
    assert matches(launches, steps) == len(steps)
    assert len(steps) >= spec.iterations - spec.autotune_steps - 1


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    "spec",
    [
        LoopSpec(periodic=False),
        LoopSpec(periodic=False, layers=1, layer_kernels=3, iterations=60),
        LoopSpec(periodic=False, layers=12, iterations=40),
        LoopSpec(iterations=2),
        LoopSpec(iterations=1, layers=2, setup=300),
    ],
    ids=["shuffled", "few kernels", "many", "two steps", "one step"],
)
def test_abstains(spec: LoopSpec, seed: int) -> None:
    db = database(make_sequence(dataclasses.replace(spec, seed=seed)))
    assert found(db) == []
    (row,) = db.ask("iteration_detection")
    assert not row["is_detected"]
    assert row["abstained_because"]


def sequence(names: Iterable[str]) -> list[Launch]:
    """Kernels by name, 10 ns apart."""
    return [
        Launch("kernel", name, 1, 7, 10 * n, 10 * n + 5, 10 * n + 9, None)
        for n, name in enumerate(names)
    ]


@pytest.mark.parametrize("period", ["a", "ab", "aab"])
def test_fewer_than_three_kinds_are_no_iteration(period: str) -> None:
    assert found(database(sequence(period * 50))) == []


def test_boundaries_by_hand() -> None:
    launches = sequence(["x", "y", *"abcd" * 3, "z", *"abcd" * 2])
    launches = [dataclasses.replace(one, end_ns=one.end_ns + 30) for one in launches]
    steps = found(database(launches))
    # The third ends when z is launched, before its own work ends; the last with its
    # work.
    assert steps == [(20, 60), (60, 100), (100, 140), (150, 190), (190, 259)]


@FEW
@given(
    st.lists(st.sampled_from("abcdef"), min_size=3, max_size=30),
    st.integers(4, 12),
    st.lists(st.sampled_from("uvw"), max_size=6),
)
def test_a_repeated_word_is_found(
    word: list[str], times: int, before: list[str]
) -> None:
    # A letter of its own makes the word's length its period, whatever the rest is.
    word = ["!", *word]
    if len(set(word)) < 3:
        word += ["g", "h"]
    launches = sequence([*before, *word * times])
    steps = found(database(launches))
    assert [len(own) for own in owned(launches, steps)] == [len(word)] * times
    assert steps[0][0] == 10 * len(before)


@pytest.mark.parametrize("letters", range(3, 9))
def test_letters_by_chance_are_no_iterations(letters: int) -> None:
    """Seeded: among enough draws of three letters one is a word repeated by chance."""
    random = Random(letters)
    for count in (30, 45, 70, 110, 180, 300):
        names = [random.choice("abcdefgh"[:letters]) for _ in range(count)]
        assert found(database(sequence(names))) == [], names


def test_work_of_unknown_launch_is_left_out() -> None:
    launches = sequence("abcd" * 10)
    db = database(launches)
    db.con.execute("UPDATE kernel SET launch_ts_ns = NULL")
    (row,) = db.ask("iteration_detection")
    assert row["abstained_because"] == "no launch is known"
    assert (row["launch_count"], row["unlaunched_count"]) == (0, 40)


def test_markers_win_and_patterns_ask_for_no_detection() -> None:
    db = database(sequence("abcd" * 10))
    assert len(found(db)) == 10
    assert db.con.execute("FROM v1._iterations('nothing')").fetchall() == []
    step = {"ts_ns": 0, "dur_ns": 5, "name": "step 1", "kind": "push_pop", "pid": 1}
    db.insert("annotation", step)
    rows = db.con.execute("SELECT source FROM v1._iterations()").fetchall()
    assert rows == [("annotation",)]
    assert db.ask("iteration_detection") == []


def test_devices_in_step_share_iterations() -> None:
    launches = sequence("abcd" * 6)
    db = database(launches)
    late = [
        dataclasses.replace(
            one,
            launch_ns=one.launch_ns + 3,
            start_ns=one.start_ns + 3,
            end_ns=one.end_ns + 3,
        )
        for one in launches
    ]
    load(db, late, device=1)
    steps = found(db)
    assert steps[:2] == [(0, 40), (40, 80)]
    assert len(steps) == 6
    assert [row["device_id"] for row in db.ask("iteration_detection")] == [0, 1]
    timing = db.ask("iteration_timing")
    assert {row["source"] for row in timing} == {"detected"}
    assert all(row["op_count"] == 4 for row in timing)
    assert len(timing) == 12


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("warmup", [0, 2])
def test_the_training_run_without_its_markers(
    tmp_path: Path, store: traceql.Store, seed: int, warmup: int
) -> None:
    spec = RunSpec(seed=seed, iterations=12, warmup=warmup, slow_iteration=7)
    run = make_run(spec)
    hidden = tuple(
        dataclasses.replace(note, name=f"work of {note.name}")
        if note.name and note.name.startswith("iteration ")
        else note
        for note in run.annotations
    )
    path = tmp_path / "unmarked.sqlite"
    write_nsight_sqlite(dataclasses.replace(run, annotations=hidden), path, "2022.4")
    store.ingest(path)
    session = store.session()
    steps = session.sql("FROM v1._iterations() ORDER BY iteration").rows()
    assert {row["source"] for row in steps} == {"detected"}
    origin = session.sql("SELECT source_origin_ns FROM run").rows()[0]
    shift = origin["source_origin_ns"]
    truth = run.iterations
    starts = [step.start_ns - shift for step in truth]
    inside = [bisect_right(starts, row["start_ns"]) - 1 for row in steps]
    # Warm-up launches no graph and may differ too much to be an iteration.
    assert inside == list(range(12 - len(steps), 12))
    assert len(steps) >= 12 - warmup
    assert all(
        row["start_ns"] + shift < truth[number].end_ns
        for row, number in zip(steps, inside, strict=True)
    )


CORPUS = {
    "torch-ex-2024.6.2": (128, 20),
    "openmp-2023.3": (5, 50),
    "streams-1000-kernels": (4, 1000),
    "GindaChen-h100_2gpu_1s": None,
    "GindaChen-healthy_1pct": None,
    "dlprof-root": None,
    "memfusion": None,
    "nvtx-22k-osrt-100k": None,
    "quasiben-cudf": None,
    "quasiben-cudf-groupby": None,
    "quasiben-workflow": None,
}


@pytest.mark.parametrize("name", CORPUS)
def test_corpus(name: str, corpus: Path, store: traceql.Store, tmp_path: Path) -> None:
    copy = tmp_path / "capture.sqlite"
    shutil.copyfile(corpus / "nsys" / f"{name}.sqlite", copy)
    with sqlite3.connect(copy) as con:
        if con.execute(
            "SELECT 1 FROM sqlite_master WHERE name = 'NVTX_EVENTS'"
        ).fetchall():
            con.execute("DELETE FROM NVTX_EVENTS")
    store.ingest(copy)
    rows = store.query("iteration_detection").rows()
    answers = {
        (row["period_launch_count"], row["iteration_count"])
        if row["is_detected"]
        else None
        for row in rows
    }
    assert answers == {CORPUS[name]}
