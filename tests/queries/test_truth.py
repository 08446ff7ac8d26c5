"""Queries against the truth of the generated run, through the importer.

The truth is computed from the plan of the run, by a sweep in plain Python.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import traceql
from traceql.session import Session

FIXTURES = Path(__file__).parents[2] / "fixtures" / "nsight"
_FILES = {
    "nsight_2020": "truth",
    "nsight_2022_4": "truth",
    "nsight_2026": "truth",
    "nsight_ranks_2026": "truth_ranks",
}
_STEP = {
    "wall_ns": "wall_ns",
    "gap_before_ns": "gap_before_ns",
    "first_gpu_ns": "gpu_first_ns",
    "last_gpu_ns": "gpu_last_ns",
    "kernel_union_ns": "kernel_union_ns",
    "kernel_sum_ns": "kernel_sum_ns",
    "compute_union_ns": "compute_union_ns",
    "communication_union_ns": "comm_union_ns",
    "communication_sum_ns": "comm_sum_ns",
    "exposed_communication_ns": "comm_exposed_ns",
    "overlapped_communication_ns": "comm_overlap_ns",
    "exposed_copy_ns": "copy_exposed_ns",
    "busy_union_ns": "busy_ns",
    "op_count": "op_count",
    "launch_count": "launch_count",
}
# Whole graph launches are rows only where the format has them; they overlap kernels
# of their own, so that times agree and counts and sums do not.
_WITHOUT_GRAPHS = ("op_count", "launch_count", "kernel_sum_ns")


@pytest.fixture(scope="module", params=list(_FILES))
def answers(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Session, dict[str, Any], bool]:
    """The session of an imported file, its truth, and whether it has graph rows."""
    store = traceql.open_store(tmp_path_factory.mktemp("store"), create=True)
    (outcome,) = store.ingest(FIXTURES / f"{request.param}.sqlite")
    assert outcome.run is not None
    truth = json.loads((FIXTURES / f"{_FILES[request.param]}.json").read_text())
    return store.session(), truth, "graph_launch" in outcome.run.rows


def _rows(session: Session, name: str, **params: object) -> list[dict[str, Any]]:
    return session.query(name, params).rows()


def test_iterations(answers: tuple[Session, dict[str, Any], bool]) -> None:
    """Every figure of every iteration and device."""
    session, truth, graphs = answers
    rows = _rows(session, "iteration_timing")
    owned = {
        (r["pid"], r["iteration"], r["device_id"]): r
        for r in rows
        if r["iteration"] is not None and r["op_count"]
    }
    wanted = {
        (t["process"], t["iteration"], t["device"]): t for t in truth["iterations"]
    }
    assert owned.keys() == wanted.keys()
    for key, t in wanted.items():
        for ours, theirs in _STEP.items():
            if graphs and ours in _WITHOUT_GRAPHS:
                continue
            if ours == "gap_before_ns" and t[theirs] is None:
                continue
            assert owned[key][ours] == t[theirs], (key, ours)
        assert owned[key]["copy_sum_ns"] >= sum(
            c["sum_ns"] for c in t["copies"].values()
        )


def test_work_outside_iterations(
    answers: tuple[Session, dict[str, Any], bool],
) -> None:
    """What no iteration launched, orphans included, is a row of its own."""
    session, truth, graphs = answers
    rows = {
        r["device_id"]: r
        for r in _rows(session, "iteration_timing")
        if r["iteration"] is None
    }
    assert rows.keys() == {t["device"] for t in truth["outside_iterations"]}
    for t in truth["outside_iterations"]:
        row = rows[t["device"]]
        for ours, theirs in _STEP.items():
            if graphs and ours in _WITHOUT_GRAPHS:
                continue
            # The truth counts an orphan's launch, whose call the file does not have.
            if ours not in ("wall_ns", "gap_before_ns", "launch_count"):
                assert row[ours] == t[theirs], (t["device"], ours)
        assert row["wall_ns"] is None


def test_the_slow_iteration_is_marked(
    answers: tuple[Session, dict[str, Any], bool],
) -> None:
    """Of those that are enough to tell, just the designed one."""
    session, truth, _ = answers
    rows = [r for r in _rows(session, "iteration_timing") if r["iteration"] is not None]
    slowest = max(truth["iterations"], key=lambda t: t["wall_ns"])["iteration"]
    marked = {r["iteration"] for r in rows if r["is_outlier"]}
    if len({t["iteration"] for t in truth["iterations"]}) >= 5:
        assert marked == {slowest}
    else:
        assert marked == set()


def test_copies_of_iterations(
    answers: tuple[Session, dict[str, Any], bool],
) -> None:
    """Copies, bytes and time by iteration, device and direction."""
    session, truth, _ = answers
    found = {
        (r["pid"], r["iteration"], r["device_id"], r["direction"]): (
            r["copy_count"],
            r["copy_bytes"],
            r["copy_sum_ns"],
        )
        for r in _rows(session, "memcpy_per_iteration")
        if r["iteration"] is not None
    }
    wanted = {
        (t["process"], t["iteration"], t["device"], direction): (
            c["count"],
            c["bytes"],
            c["sum_ns"],
        )
        for t in truth["iterations"]
        for direction, c in t["copies"].items()
        if c["count"]
    }
    assert found == wanted


def test_utilization(answers: tuple[Session, dict[str, Any], bool]) -> None:
    """Unions and sums of each device; the range is the device's own span."""
    session, truth, graphs = answers
    for t in truth["devices_busy"]:
        (row,) = [
            r
            for r in _rows(
                session, "gpu_utilization", from_ns=t["first_ns"], to_ns=t["last_ns"]
            )
            if r["device_id"] == t["device"]
        ]
        span = t["last_ns"] - t["first_ns"]
        assert row["bin_ns"] == span
        assert row["busy_union_ns"] == t["busy_ns"]
        assert row["kernel_union_ns"] == t["kernel_union_ns"]
        assert row["idle_ns"] == span - t["busy_ns"]
        assert row["busy_pct"] == pytest.approx(100 * t["busy_ns"] / span)
        if not graphs:
            assert row["busy_sum_ns"] == t["sum_ns"]
            assert row["kernel_sum_ns"] == t["kernel_sum_ns"]


def test_streams(answers: tuple[Session, dict[str, Any], bool]) -> None:
    """Operations, busy time, first and last of every stream."""
    session, truth, graphs = answers
    found = {
        (r["pid"], r["device_id"], r["stream_id"]): r
        for r in _rows(session, "stream_summary")
    }
    for t in truth["streams"]:
        if not graphs and not t["ops"]:
            continue
        row = found.pop((t["process"], t["device"], t["stream"]))
        assert row["op_count"] - row["graph_count"] == t["ops"]
        assert row["graph_count"] == (t["graph_launches"] if graphs else 0)
        if not row["graph_count"]:
            assert row["busy_union_ns"] == t["busy_ns"]
            assert (row["first_ns"], row["last_ns"]) == (t["first_ns"], t["last_ns"])
    assert all(row["graph_count"] == row["op_count"] for row in found.values())


def test_stream_overlap(answers: tuple[Session, dict[str, Any], bool]) -> None:
    """Every pair of streams."""
    session, truth, _ = answers
    found = {
        (r["device_id"], r["a_stream_id"], r["b_stream_id"]): r["overlap_ns"]
        for r in _rows(session, "stream_overlap")
    }
    for t in truth["stream_overlap"]:
        pair = (t["device"], t["stream_a"], t["stream_b"])
        assert found[pair] == t["overlap_ns"], pair


def test_stream_concurrency(
    answers: tuple[Session, dict[str, Any], bool],
) -> None:
    """Time with exactly k busy streams."""
    session, truth, graphs = answers
    wanted = truth[
        "stream_concurrency_with_graph_launches" if graphs else "stream_concurrency"
    ]
    for t in truth["devices_busy"]:
        found = {
            str(r["busy_stream_count"]): r["time_ns"]
            for r in _rows(
                session,
                "stream_concurrency",
                from_ns=t["first_ns"],
                to_ns=t["last_ns"],
            )
            if r["device_id"] == t["device"]
        }
        assert found == wanted[str(t["device"])]


def test_gaps(answers: tuple[Session, dict[str, Any], bool]) -> None:
    """Gaps over a millisecond; the profiler's flush counts as busy."""
    session, truth, _ = answers
    found: dict[str, list[list[int]]] = {}
    for row in _rows(session, "gpu_gaps", min_ns=1_000_000):
        found.setdefault(str(row["device_id"]), []).append(
            [row["start_ns"], row["end_ns"]]
        )
    assert {device: sorted(gaps) for device, gaps in found.items()} == {
        device: sorted(gaps)
        for device, gaps in truth["gaps_over_1ms_overhead_busy"].items()
        if gaps
    }


def test_timeline_adds_up(answers: tuple[Session, dict[str, Any], bool]) -> None:
    """The cells of a lane sum to its stream's busy time."""
    session, truth, graphs = answers
    found: dict[tuple[int, int, int], int] = {}
    for row in _rows(session, "timeline_bins", bins=100):
        key = (row["pid"], row["device_id"], row["stream_id"])
        found[key] = found.get(key, 0) + row["busy_ns"]
    for t in truth["streams"]:
        if not graphs and t["ops"]:
            assert found[t["process"], t["device"], t["stream"]] == t["busy_ns"]


def test_kernel_totals(answers: tuple[Session, dict[str, Any], bool]) -> None:
    """Per name: count, sum, minimum, maximum, median."""
    session, truth, _ = answers
    found = {
        r["name"]: (
            r["kernel_count"],
            r["total_ns"],
            r["min_ns"],
            r["max_ns"],
            r["median_ns"],
        )
        for r in _rows(session, "kernel_totals")
    }
    assert found == {
        name: (k["count"], k["sum_ns"], k["min_ns"], k["max_ns"], k["median_ns"])
        for name, k in truth["kernels"].items()
    }


def test_over_many_runs(tmp_path: Path) -> None:
    """Each run's rows are the same beside others as alone."""
    store = traceql.open_store(tmp_path / "store", create=True)
    for name in _FILES:
        store.ingest(FIXTURES / f"{name}.sqlite")
    together = store.session("all")
    names = [q for q, query in together.catalog.items() if not query.private]
    names.remove("run_history")  # it compares a run with those before it
    assert len(names) >= 16
    for name in names:
        rows = together.query(name).rows()
        for run in store.runs():
            alone = store.session(run.run_id).query(name).rows()
            mine = [r for r in rows if r["run_id"] == run.run_id]
            assert len(mine) == len(alone), name
            for one, other in zip(mine, alone, strict=True):
                # The last digits of a deviation hang on the order of its additions.
                assert one == {
                    key: pytest.approx(value, rel=1e-12)
                    if isinstance(value, float)
                    else value
                    for key, value in other.items()
                }, name


def test_named_windows_equal_their_range(
    answers: tuple[Session, dict[str, Any], bool],
) -> None:
    """What a window of a name gives is what its bounds give."""
    session, _, _ = answers
    for window in ("gpu", "steps"):
        (bounds, *_) = _rows(session, "api_summary", time_window=window)
        start, end = bounds["window_start_ns"], bounds["window_end_ns"]
        for name in (
            "api_summary",
            "annotation_summary",
            "kernel_totals",
            "kernel_trace",
        ):
            named = _rows(session, name, time_window=window)
            ranged = _rows(session, name, from_ns=start, to_ns=end)
            for row in (*named, *ranged):
                row.pop("window_name", None)
            assert named == ranged, (name, window)


def test_overlap_classes(answers: tuple[Session, dict[str, Any], bool]) -> None:
    """Time by the set of classes that ran, over each device's own span."""
    session, truth, _ = answers
    for t in truth["devices_busy"]:
        found = {
            "+".join(sorted(r["classes"].split(" + "))): r["time_ns"]
            for r in _rows(
                session, "overlap_classes", from_ns=t["first_ns"], to_ns=t["last_ns"]
            )
            if r["device_id"] == t["device"]
        }
        assert found == truth["overlap_classes"][str(t["device"])]


def test_comm_overlap(answers: tuple[Session, dict[str, Any], bool]) -> None:
    """The designed overlap of communication and compute, and exposed copies."""
    session, truth, _ = answers
    rows = {r["device_id"]: r for r in _rows(session, "comm_overlap")}
    for t in truth["devices_busy"]:
        facts = [f for f in truth["facts"] if f["device"] == t["device"]]
        row = rows[t["device"]]
        for ours, theirs in (
            ("communication_union_ns", "comm_ns"),
            ("overlapped_communication_ns", "comm_overlap_ns"),
            ("exposed_communication_ns", "comm_exposed_ns"),
        ):
            assert row[ours] == sum(f[theirs] for f in facts)
        assert row["busy_union_ns"] == t["busy_ns"]
        assert row["exposed_copy_ns"] == t["busy_ns"] - t["kernel_union_ns"]


def test_idle_adds_up(answers: tuple[Session, dict[str, Any], bool]) -> None:
    """Causes sum to the idle time; the profiler's flush is one of them."""
    session, truth, _ = answers
    for t in truth["devices_busy"]:
        rows = [
            r
            for r in _rows(
                session, "idle_breakdown", from_ns=t["first_ns"], to_ns=t["last_ns"]
            )
            if r["device_id"] == t["device"]
        ]
        span = t["last_ns"] - t["first_ns"]
        assert sum(r["idle_ns"] for r in rows) == span - t["busy_ns"]
        assert not {"before the first", "after the last"} & {r["cause"] for r in rows}


def test_iteration_gaps(answers: tuple[Session, dict[str, Any], bool]) -> None:
    """The designed gaps before iterations, and the wait for input in them."""
    session, truth, _ = answers
    found = {
        (r["pid"], r["iteration"], r["device_id"]): r
        for r in _rows(session, "iteration_gaps")
    }
    wanted = {
        (t["process"], t["iteration"], t["device"]): t
        for t in truth["iterations"]
        if t["gap_before_ns"] is not None
    }
    assert found.keys() == wanted.keys()
    for key, t in wanted.items():
        assert found[key]["gap_ns"] == t["gap_before_ns"]
        assert found[key]["end_ns"] == t["gpu_first_ns"]
        assert found[key]["is_host_bound"]
        if t["input_wait_ns"]:
            assert found[key]["annotation"] == "dataloader.next"
