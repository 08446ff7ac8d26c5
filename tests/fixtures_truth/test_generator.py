"""The generator against itself: what it designs, what it plans, what it writes."""

from __future__ import annotations

import json
import sqlite3
from collections import defaultdict
from collections.abc import Iterator
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fixtures import make_fixtures
from fixtures.intervals import gaps, overlap_ns, sweep, union_ns
from fixtures.model import TrainingRun
from fixtures.nsight_sqlite import write_nsight_sqlite
from fixtures.nsight_tables import GENERATIONS
from fixtures.scale import write_big_nsight
from fixtures.training_run import RunSpec, make_run
from fixtures.truth import truth

COMMITTED = Path(make_fixtures.__file__).parent / "nsight"
SPECS = {
    "single": make_fixtures.SINGLE,
    "ranks": make_fixtures.RANKS,
    "one device, one layer": RunSpec(devices=1, kernels_per_iteration=6),
    "many": RunSpec(seed=1, iterations=9, kernels_per_iteration=30, warmup=0),
}


@pytest.fixture(scope="module", params=SPECS)
def run(request: pytest.FixtureRequest) -> TrainingRun:
    return make_run(SPECS[request.param])


@pytest.fixture(scope="module")
def answer(run: TrainingRun) -> dict[str, Any]:
    return truth(run)


@pytest.fixture(scope="module")
def single() -> TrainingRun:
    return make_run(make_fixtures.SINGLE)


def select(path: Path, sql: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
        return connection.execute(sql).fetchall()


def dump(path: Path) -> Iterator[str]:
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
        yield from connection.iterdump()


# --- intervals


def test_intervals_of_a_worked_example() -> None:
    a, b = [(0, 10), (5, 15), (20, 30)], [(8, 22), (30, 40)]
    assert union_ns(a) == 25
    assert overlap_ns(a, b) == 7 + 2
    assert gaps(a, 4) == [(15, 20)]
    assert gaps(a, 5) == []
    pieces = [(length, set(names)) for length, names in sweep({"a": a, "b": b})]
    assert pieces == [
        (8, {"a"}),
        (7, {"a", "b"}),
        (5, {"b"}),
        (2, {"a", "b"}),
        (8, {"a"}),
        (10, {"b"}),
    ]


INTERVALS = st.lists(
    st.tuples(st.integers(0, 60), st.integers(0, 20)).map(lambda i: (i[0], sum(i))),
    max_size=8,
)


@settings(deadline=None)
@given(INTERVALS, INTERVALS)
def test_intervals_agree_with_counting_points(
    a: list[tuple[int, int]], b: list[tuple[int, int]]
) -> None:
    points = [{p for s, e in side for p in range(s, e)} for side in (a, b)]
    assert union_ns(a) == len(points[0])
    assert overlap_ns(a, b) == len(points[0] & points[1])
    busy: dict[int, int] = defaultdict(int)
    for length, names in sweep({"a": a, "b": b}):
        busy[len(names)] += length
    assert busy[2] == len(points[0] & points[1])
    assert busy[1] == len(points[0] ^ points[1])


# --- the plan


def test_truth_finds_what_the_plan_designed(
    run: TrainingRun, answer: dict[str, Any]
) -> None:
    found = {(r["iteration"], r["device"]): r for r in answer["iterations"]}
    assert len(found) == len(run.facts)
    for fact in run.facts:
        row = found[fact.iteration, fact.device]
        assert row["comm_union_ns"] == row["comm_sum_ns"] == fact.comm_ns
        assert row["comm_overlap_ns"] == fact.comm_overlap_ns
        assert row["comm_exposed_ns"] == fact.comm_exposed_ns
        assert row["comm_overlap_ns"] + row["comm_exposed_ns"] == fact.comm_ns
        copies = row["copies"]
        assert copies["H2D"]["compute_overlap_ns"] == fact.h2d_overlap_ns
        assert copies["D2H"]["compute_overlap_ns"] == fact.d2h_overlap_ns
        assert copies["P2P"]["compute_overlap_ns"] == fact.p2p_overlap_ns
        assert copies["D2D"]["compute_overlap_ns"] == 0
        # Kernels of one device overlap by communication only.
        hidden_ns = row["kernel_sum_ns"] - row["kernel_union_ns"]
        assert hidden_ns == fact.comm_overlap_ns


def test_three_streams_are_busy_only_where_designed(
    run: TrainingRun, answer: dict[str, Any]
) -> None:
    for device, times in answer["stream_concurrency"].items():
        designed = [f.three_streams_ns for f in run.facts if f.device == int(device)]
        assert times.get("3", 0) == sum(designed)
        assert "4" not in times


def test_first_kernel_of_a_step_starts_before_its_launch_returns(
    run: TrainingRun,
) -> None:
    calls = {(c.process, c.correlation): c for c in reversed(run.api_calls)}
    for fact in run.facts:
        first = next(
            k
            for k in run.kernels
            if (k.iteration, k.device) == (fact.iteration, fact.device)
        )
        call = calls[first.process, first.correlation]
        assert first.start_ns - call.end_ns == fact.first_launch_delay_ns < 0
        assert first.start_ns > call.start_ns


def test_work_starts_after_its_launch_and_inside_the_capture(
    run: TrainingRun, answer: dict[str, Any]
) -> None:
    launches, processes = answer["launches"], len(answer["processes"])
    assert launches["after_start"]["min_ns"] > 0
    assert launches["orphan_ops"] == 2 * processes
    assert launches["ops_with_correlation_0"] == processes
    assert launches["calls_with_correlation_0"] == 2 * processes
    assert launches["silent_calls"] == processes
    for op in [*run.kernels, *run.memcpys, *run.memsets, *run.graph_launches]:
        assert run.start_ns <= op.start_ns < op.end_ns <= run.end_ns


def test_calls_of_a_thread_never_overlap_but_driver_in_runtime(
    run: TrainingRun,
) -> None:
    threads = defaultdict(list)
    for call in run.api_calls:
        threads[call.process, call.thread].append(call)
    for calls in threads.values():
        for before, after in pairwise(calls):
            nested = after.api == "driver" and after.end_ns < before.end_ns
            assert nested or before.end_ns <= after.start_ns


def test_graph_launches_change_no_busy_time(run: TrainingRun) -> None:
    kernels = [(k.device, k.start_ns, k.end_ns) for k in run.kernels]
    for graph in run.graph_launches:
        assert any(
            device == graph.device and start < graph.start_ns and graph.end_ns < end
            for device, start, end in kernels
        )


def test_totals_of_the_truth_agree_with_one_another(answer: dict[str, Any]) -> None:
    for device in answer["devices_busy"]:
        span_ns = device["last_ns"] - device["first_ns"]
        number = str(device["device"])
        classes = answer["overlap_classes"][number]
        concurrency = answer["stream_concurrency"][number]
        assert sum(classes.values()) == sum(concurrency.values()) == span_ns
        assert classes["idle"] == concurrency["0"] == span_ns - device["busy_ns"]
    per_device = answer["kernels_by_device"].values()
    for name, kernel in answer["kernels"].items():
        parts = [d[name] for d in per_device if name in d]
        assert kernel["sum_ns"] == sum(p["sum_ns"] for p in parts)


def test_steps_wait_for_input_and_the_slow_one_longer(single: TrainingRun) -> None:
    rows = {(r["iteration"], r["device"]): r for r in truth(single)["iterations"]}
    slow = make_fixtures.SINGLE.slow_iteration
    for (iteration, device), row in rows.items():
        if iteration == 0:
            assert row["gap_before_ns"] is None
        elif (iteration, device) == (slow, 0):
            # The checkpoint of the step before runs 2 ms into the wait.
            assert 6_000_000 < row["gap_before_ns"] < 7_000_000
        else:
            assert row["gap_before_ns"] >= row["input_wait_ns"]
    late = [
        c
        for c in single.memcpys
        if c.iteration is not None
        and c.start_ns > single.iterations[c.iteration].end_ns
    ]
    assert [(c.iteration, c.direction) for c in late] == [(3, "D2H")]


def test_flush_inside_a_gap_counts_when_overhead_is_busy(single: TrainingRun) -> None:
    answer = truth(single)
    for device, idle in answer["gaps_over_1ms"].items():
        left = answer["gaps_over_1ms_overhead_busy"][device]
        assert len(left) == len(idle) - 1


def test_annotations_hold_every_awkward_kind(single: TrainingRun) -> None:
    rows = {(a["name"], a["kind"]): a for a in truth(single)["annotations"]}
    kinds = {kind for _, kind in rows}
    assert kinds == {
        "push_pop",
        "start_end",
        "mark",
        "category",
        "thread_name",
        "domain",
    }
    assert rows["epoch 0", "start_end"]["open"] == 1
    assert rows["load batch 2", "push_pop"]["parents"] == {"worker loop": 1}
    assert rows["empty", "push_pop"]["sum_ns"] == 0
    assert rows["empty", "push_pop"]["parents"] == {"iteration 1": 1}
    assert rows["<script>alert(1)</script>", "push_pop"]["count"] == 1
    assert rows["crossing A", "push_pop"]["depths"] == {"0": 1}
    assert rows["crossing B", "push_pop"]["depths"] == {"0": 1}
    assert rows["aten::relu", "push_pop"]["depths"] == {"3": 36}
    assert rows["prefetch batch 0", "start_end"]["count"] == 1


# --- the files


def test_equal_specs_give_equal_bytes(tmp_path: Path) -> None:
    for name in ("a", "b"):
        make_fixtures.write_small(tmp_path / name)
    for path in (tmp_path / "a").iterdir():
        assert path.read_bytes() == (tmp_path / "b" / path.name).read_bytes()


def test_another_seed_gives_another_run_with_the_same_design(
    single: TrainingRun,
) -> None:
    other = make_run(RunSpec(seed=8))
    assert other.kernels != single.kernels
    assert other.facts == single.facts


def test_committed_files_are_what_the_generator_makes(tmp_path: Path) -> None:
    written = make_fixtures.write_small(tmp_path)
    assert {p.name for p in COMMITTED.iterdir()} == {p.name for p in written}
    for path in written:
        committed = COMMITTED / path.name
        assert committed.stat().st_size < 150_000
        # Not bytes: the header of a database names the SQLite that wrote it.
        if path.suffix == ".sqlite":
            assert list(dump(path)) == list(dump(committed))
        else:
            assert json.loads(path.read_text()) == json.loads(committed.read_text())


def test_generations_hold_the_same_events() -> None:
    queries = {
        "kernels": """
            SELECT start, "end", deviceId, contextId, streamId, correlationId,
                   globalPid, n.value, s.value, gridX, blockX, graphNodeId
            FROM CUPTI_ACTIVITY_KIND_KERNEL
            JOIN StringIds AS n ON n.id = demangledName
            JOIN StringIds AS s ON s.id = shortName""",
        "copies": """
            SELECT start, "end", deviceId, streamId, correlationId, bytes, copyKind,
                   srcKind, dstKind
            FROM CUPTI_ACTIVITY_KIND_MEMCPY""",
        "fills": """
            SELECT start, "end", bytes, memKind FROM CUPTI_ACTIVITY_KIND_MEMSET""",
        "calls": """
            SELECT start, "end", eventClass, globalTid, correlationId, value
            FROM CUPTI_ACTIVITY_KIND_RUNTIME JOIN StringIds ON id = nameId""",
        "ranges": """
            SELECT start, "end", eventType, coalesce(text, value), textId IS NULL,
                   globalTid, endGlobalTid, domainId, uint64Value, doubleValue,
                   jsonText
            FROM NVTX_EVENTS LEFT JOIN StringIds ON id = textId""",
        "syncs": """
            SELECT start, "end", deviceId, syncType, eventId
            FROM CUPTI_ACTIVITY_KIND_SYNCHRONIZATION""",
        "samples": "SELECT rawTimestamp, typeId, data FROM GENERIC_EVENTS",
    }
    paths = [
        COMMITTED / f"nsight_{generation.replace('.', '_')}.sqlite"
        for generation in GENERATIONS
    ]
    for sql in queries.values():
        first, *others = [select(path, sql) for path in paths]
        assert first
        assert all(rows == first for rows in others)


def test_files_agree_with_the_truth() -> None:
    for stem, name in (("nsight_2026", "truth"), ("nsight_ranks_2026", "truth_ranks")):
        path = COMMITTED / f"{stem}.sqlite"
        answer = json.loads((COMMITTED / f"{name}.json").read_text())
        rows = select(
            path,
            """
            SELECT value, count(*), sum("end" - start), min("end" - start),
                   max("end" - start)
            FROM CUPTI_ACTIVITY_KIND_KERNEL JOIN StringIds ON id = demangledName
            GROUP BY value""",
        )
        keys = ("count", "sum_ns", "min_ns", "max_ns")
        assert {name: values for name, *values in rows} == {
            name: [kernel[key] for key in keys]
            for name, kernel in answer["kernels"].items()
        }
        (orphans,) = select(
            path,
            """
            SELECT count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL AS k
            WHERE NOT EXISTS (
                SELECT 1 FROM CUPTI_ACTIVITY_KIND_RUNTIME AS r
                WHERE r.correlationId = k.correlationId AND r.correlationId <> 0
                  AND r.globalTid & -16777216 = k.globalPid)""",
        )
        assert orphans == (answer["launches"]["orphan_ops"],)


def test_generations_differ_as_the_profiler_s_do(
    single: TrainingRun, tmp_path: Path
) -> None:
    names = {}
    for generation in GENERATIONS:
        path = tmp_path / "export.sqlite"
        write_nsight_sqlite(single, path, generation)
        sql = "SELECT name FROM sqlite_master WHERE type = 'table'"
        names[generation] = {name for (name,) in select(path, sql)}
    old, middle, new = (names[generation] for generation in GENERATIONS)
    assert not any(n.startswith(("ENUM_", "META_DATA", "EXPORT_META")) for n in old)
    assert {"TARGET_INFO_CUDA_GPU", "cudaAPIStats"} <= old - middle
    assert {"EXPORT_META_DATA", "ENUM_CUDA_KRENEL_LAUNCH_TYPE"} <= middle - new - old
    assert {
        "META_DATA_EXPORT",
        "GPU_METRICS",
        "CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
        "TARGET_INFO_CUDA_DEVICE",
        "DIAGNOSTIC_EVENT",
    } <= new - middle
    with pytest.raises(ValueError, match="must be one of"):
        write_nsight_sqlite(single, tmp_path / "never.sqlite", "2021")


# --- big files


def test_big_file_has_the_rows_it_promises(tmp_path: Path) -> None:
    path = tmp_path / "big.sqlite"
    write_big_nsight(path, kernels=2_000)
    counts = {
        table: select(path, f"SELECT count(*) FROM {table}")[0][0]
        for table in (
            "CUPTI_ACTIVITY_KIND_KERNEL",
            "CUPTI_ACTIVITY_KIND_RUNTIME",
            "CUPTI_ACTIVITY_KIND_MEMCPY",
            "NVTX_EVENTS",
        )
    }
    assert list(counts.values()) == [2_000, 2_400, 400, 400]
    for table in ("KERNEL", "MEMCPY"):
        (overlaps,) = select(
            path,
            f"""
            SELECT count(*) FROM (
                SELECT start, lag("end") OVER (
                    PARTITION BY globalPid, deviceId, streamId ORDER BY start) AS before
                FROM CUPTI_ACTIVITY_KIND_{table})
            WHERE start < before""",
        )
        assert overlaps == (0,)


def test_big_file_repeats_correlations_over_interleaved_processes(
    tmp_path: Path,
) -> None:
    path = tmp_path / "big.sqlite"
    write_big_nsight(path, kernels=2_000, processes=4)
    rows = select(
        path,
        """
        SELECT rowid, globalPid, correlationId FROM CUPTI_ACTIVITY_KIND_KERNEL
        ORDER BY rowid""",
    )
    assert len({pid for _, pid, _ in rows[:20]}) == 4
    by_correlation = defaultdict(list)
    for rowid, _, correlation in rows:
        by_correlation[correlation].append(rowid)
    assert {len(ids) for ids in by_correlation.values()} == {4}
    assert max(max(ids) - min(ids) for ids in by_correlation.values()) > 100
    starts = select(
        path, "SELECT start FROM CUPTI_ACTIVITY_KIND_RUNTIME ORDER BY rowid"
    )
    assert starts == sorted(starts)


@pytest.mark.parametrize(("kernels", "processes"), [(2_000, 1), (10_000, 2)])
def test_big_file_nests_as_deep_as_asked(
    tmp_path: Path, kernels: int, processes: int
) -> None:
    path = tmp_path / "big.sqlite"
    write_big_nsight(path, kernels=kernels, processes=processes, nesting=1_000)
    depth: dict[int, int] = defaultdict(int)
    deepest: dict[int, int] = defaultdict(int)
    for thread, _, step in select(
        path,
        """
        SELECT globalTid, start AS at, 1 FROM NVTX_EVENTS
        UNION ALL SELECT globalTid, "end", -1 FROM NVTX_EVENTS
        ORDER BY 1, 2, 3""",
    ):
        depth[thread] += step
        deepest[thread] = max(deepest[thread], depth[thread])
    assert set(deepest.values()) == {1_000}
    assert set(depth.values()) == {0}
