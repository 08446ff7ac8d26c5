"""torch-tb-profiler's own answers: its unit cases, and its code run on real traces.

Times that the tool rounds to doubles agree to 1 us. Where ours differ on purpose the
test says why.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import traceql
from traceql.session import Session

pytestmark = pytest.mark.corpus

CASES = "kineto/golden/tb_plugin"
RUNS = "kineto/golden/reference_runs/torch_tb_profiler_790be856.jsonl"
PARTS = {
    **{"kernel": "Kernel", "memcpy": "Memcpy", "memset": "Memset"},
    **{"communication": "Communication", "runtime": "Runtime"},
    **{"data_loader": "DataLoader", "cpu_op": "CpuOp", "other": "Other"},
}
# The tool takes a step that is used up for one that has not begun: Other has it all.
USED_UP = {"test_datapipe"}
# One annotation and no operation: the tool's step ends before it starts.
NO_STEP = {"test_distributed_nccl_user_annotation_has_communication"}
# The tool counts an operation with one child of its own name once.
DOUBLED = {"test_remove_dup_nodes"}
# Calls on another thread than the operation that their External id names, in us: the
# tool takes them from the operation's own host time, which is of its own thread here.
OTHER_THREAD = {
    "test_group_by_kernel_columns": {"op1": 5 + 5 + 5},
    "test_group_by_kernel_columns_invalid_input": {"op1": 5 + 5 + 5 + 5 + 5},
    "test_memory_view": {"aten::nll_loss_backward": 20 + 10 + 5},
}
# GPU work without a call, whose External id names the operation: device time of the
# operation by ours, in us. The tool finds it through calls alone, and has none.
WITHOUT_CALL = {
    "test_distributed_gloo_gpu": {"aten::add_": 101},
    "test_distributed_gloo_gpu_1": {"aten::add_": 70},
    "test_distributed_nccl": {
        **{"nccl:broadcast": 16, "aten::add_": 161, "nccl:all_reduce": 1556},
    },
}

Row = dict[str, Any]


def steps_of(rows: list[Row]) -> list[dict[str, float]]:
    """Parts of each step in us, as the tool names them."""
    found: dict[int, dict[str, float]] = {}
    for row in rows:
        step = found.setdefault(row["iteration"], {"Total": row["step_ns"] / 1000})
        step[PARTS[row["part"]]] = row["time_ns"] / 1000
    return list(found.values())


def window_of(rows: list[Row]) -> tuple[int, int]:
    """From the first step's start to the last one's end."""
    ends = [row["start_ns"] + row["step_ns"] for row in rows]
    return min(row["start_ns"] for row in rows), max(ends)


def gpu_of(session: Session, run: str, rows: list[Row]) -> dict[str, Row]:
    """What the tool says of each device that ran kernels, as shares and per cent."""
    start, end = window_of(rows)
    found = {}
    for row in ask(session, f"occupancy(from_ns := {start}, to_ns := {end})", run):
        share = row["sm_efficiency_pct"]
        found[str(row["device_id"])] = {
            "sm": None if share is None else share / 100,
            "occ": row["est_occupancy_pct"],
        }
    for row in ask(
        session, f"gpu_utilization(from_ns := {start}, to_ns := {end})", run
    ):
        if str(row["device_id"]) in found:
            found[str(row["device_id"])]["util"] = row["kernel_pct"] / 100
    return found


def rounding(session: Session, run: str, device: str) -> float:
    """What the tool's doubles add to the mean occupancy.

    Its durations are differences of absolute times: in a trace of 1.4e12 us each is off
    by up to 0.0002 us.
    """
    rows = session.sql(
        "SELECT (k.ts_ns + run.source_origin_ns) AS start_ns, k.dur_ns, "
        "k.est_occupancy_pct AS occ FROM kernel AS k JOIN run USING (run_id) "
        f"WHERE run_id = '{run}' AND k.device_id = {device} AND occ IS NOT NULL"
    ).rows()

    def mean(of: list[tuple[float, float]]) -> float:
        return sum(time * occ for time, occ in of) / sum(time for time, _ in of)

    doubles, exact = [], []
    for row in rows:
        start = row["start_ns"] / 1000
        doubles.append((start + row["dur_ns"] / 1000 - start, row["occ"]))
        exact.append((row["dur_ns"] / 1000, row["occ"]))
    return mean(doubles) - mean(exact)


def ask(session: Session, call: str, run: str) -> list[Row]:
    return session.sql(f"FROM {call} WHERE run_id = '{run}'").rows()


@pytest.fixture(scope="module")
def cases(
    corpus: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Session, dict[str, str]]:
    """One session over all unit cases, and their runs by name."""
    store = traceql.open_store(tmp_path_factory.mktemp("cases"), create=True)
    runs = {}
    paths = [
        path
        for path in sorted((corpus / CASES).glob("test_*.json"))
        if not path.name.endswith(".expected.json")
    ]
    for path, outcome in zip(paths, store.ingest(*paths, jobs=2), strict=True):
        assert outcome.run is not None, outcome.error
        runs[path.stem] = outcome.run.run_id
    assert len(runs) == 25
    return store.session(["all"]), runs


@pytest.fixture(scope="module")
def all_steps(cases: tuple[Session, dict[str, str]]) -> list[Row]:
    return cases[0].query("step_breakdown", {"mode": "tb"}).rows()


def test_cases_steps(
    corpus: Path, cases: tuple[Session, dict[str, str]], all_steps: list[Row]
) -> None:
    checked = 0
    for name, run in cases[1].items():
        wanted = json.loads((corpus / CASES / f"{name}.expected.json").read_text())
        rows = [row for row in all_steps if row["run_id"] == run]
        for step in steps_of(rows):
            assert sum(step.values()) - step["Total"] == pytest.approx(step["Total"])
        if name not in USED_UP | NO_STEP:
            assert steps_of(rows) == wanted["steps_costs"], name
            checked += 1
    assert checked == 23


def test_cases_devices(
    corpus: Path, cases: tuple[Session, dict[str, str]], all_steps: list[Row]
) -> None:
    checked = 0
    for name, run in cases[1].items():
        wanted = json.loads((corpus / CASES / f"{name}.expected.json").read_text())
        rows = [row for row in all_steps if row["run_id"] == run]
        if not wanted.get("gpu"):
            continue
        devices = gpu_of(cases[0], run, rows)
        for device, figures in wanted["gpu"].items():
            found = devices.get(device, {})
            for figure in ("util", "sm", "occ"):
                # Outside of the steps there is no kernel, so that we have no row.
                expected = figures[figure]
                actual = found.get(figure, 0 if figure == "util" else None)
                assert actual == (expected and pytest.approx(expected)), (name, figure)
                checked += 1
    assert checked > 40


def test_cases_operators(corpus: Path, cases: tuple[Session, dict[str, str]]) -> None:
    rows = cases[0].query("op_summary", {}).rows()
    checked = 0
    for name, run in cases[1].items():
        wanted = json.loads((corpus / CASES / f"{name}.expected.json").read_text())
        if name in DOUBLED:
            continue
        found = {
            row["label"]: (
                *(row["call_count"], row["host_sum_ns"], row["device_sum_ns"]),
                *(row["host_self_ns"], row["device_self_ns"]),
            )
            for row in rows
            if row["run_id"] == run
        }
        for op in wanted.get("ops", []):
            lone = WITHOUT_CALL.get(name, {}).get(op["name"], 0)
            device, device_self = op["device"] + lone, op["self_device"] + lone
            host_self = op["self_host"] + OTHER_THREAD.get(name, {}).get(op["name"], 0)
            times = (op["host"], device, host_self, device_self)
            expected = (op["calls"], *(1000 * time for time in times))
            assert found[op["name"]] == expected, (name, op["name"])
            checked += 1
    assert checked > 20


# Of the tool's own test of its memory view: increase, size and count of allocations, of
# an operator itself and with those in it.
MEMORY = {
    0: {
        "aten::to": (104, 104, 2, 104, 204, 3),
        "aten::nll_loss_backward": (0, 10, 1, 0, 10, 1),
        "aten::copy_": (0, 100, 1, 0, 100, 1),
        "aten::addmm": (0, 30, 1, 0, 30, 1),
        "aten::tranas_stride": (0, 50, 1, 0, 50, 1),
        "aten::transpose": (0, 50, 1, 0, 100, 2),
        "aten::t": (0, 100, 1, 0, 200, 3),
        "aten::liner": (20, 130, 3, 20, 360, 7),
    },
    None: {
        "aten::to": (4, 4, 1, 4, 4, 1),
        "aten::liner": (0, 100, 1, 50, 150, 2),
        "aten::tranas_stride": (50, 50, 1, 50, 50, 1),
        "aten::transpose": (0, 0, 0, 50, 50, 1),
        "aten::t": (0, 0, 0, 50, 50, 1),
    },
}


def test_memory_view(cases: tuple[Session, dict[str, str]]) -> None:
    rows = ask(cases[0], "memory_by_op()", cases[1]["test_memory_view"])
    found: dict[Any, dict[str, tuple[int, ...]]] = {}
    for row in rows:
        if row["name"] is not None:
            found.setdefault(row["device_id"], {})[row["name"]] = (
                *(row["self_increase_bytes"], row["self_allocation_bytes"]),
                *(row["self_allocation_count"], row["increase_bytes"]),
                *(row["allocation_bytes"], row["allocation_count"]),
            )
    assert found == MEMORY


@pytest.fixture(scope="module")
def traces(
    corpus: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Session, list[Row]]:
    """One session over the real traces, and what the tool said of each."""
    store = traceql.open_store(tmp_path_factory.mktemp("traces"), create=True)
    wanted = [json.loads(line) for line in (corpus / RUNS).open(encoding="utf-8")]
    outcomes = store.ingest(*(corpus / one["file"] for one in wanted), jobs=2)
    for one, outcome in zip(wanted, outcomes, strict=True):
        assert outcome.run is not None, outcome.error
        one["run"] = outcome.run.run_id
    assert len(wanted) == 13
    return store.session(["all"]), wanted


def test_traces(traces: tuple[Session, list[Row]]) -> None:
    session, wanted = traces
    everything = session.query("step_breakdown", {"mode": "tb"}).rows()
    for one in wanted:
        rows = [row for row in everything if row["run_id"] == one["run"]]
        found = steps_of(rows)
        assert len(found) == len(one["steps"]), one["file"]
        for ours, theirs in zip(found, one["steps_costs"], strict=True):
            # The tool counts a projection of nccl:... on the GPU as communication of
            # the host, where its kernel does not hide it: by 3 us a step.
            projected = one["file"].endswith("nccl_data.json.gz")
            if projected:
                for step in (ours, theirs):
                    both = step.pop("Communication") + step.pop("CpuOp")
                    step["Communication and CpuOp"] = both
            assert ours == pytest.approx(theirs, abs=1), one["file"]
        devices = gpu_of(session, one["run"], rows)
        for device, figures in one["gpu"].items():
            devices[device]["occ"] += rounding(session, one["run"], device)
            for figure in ("util", "sm", "occ"):
                expected = pytest.approx(figures[figure], rel=1e-6)
                assert devices[device][figure] == expected, (one["file"], figure)


def test_kernel_view(traces: tuple[Session, list[Row]]) -> None:
    """Mean blocks per SM and occupancy of the kernels that take the most time."""
    session, wanted = traces
    rows = session.query("occupancy", {"group_by": "name"}).rows()
    checked = 0
    for one in wanted:
        mine = [row for row in rows if row["run_id"] == one["run"]]
        for kernel in one["top_kernels"]:
            # The golden cuts names; two kernels of one start are told apart by time.
            found = [
                row
                for row in mine
                if row["name"].startswith(kernel["name"])
                and row["kernel_count"] == kernel["count"]
                and row["kernel_sum_ns"]
                == pytest.approx(1000 * kernel["sum"], abs=1000)
            ]
            assert found, (one["file"], kernel["name"])
            row = found[0]
            if row["stated_count"] == row["kernel_count"]:
                assert row["blocks_per_sm"] == pytest.approx(kernel["bps"], rel=1e-6)
                assert row["est_occupancy_pct"] == pytest.approx(
                    kernel["occ"], rel=1e-6
                )
                checked += 1
    assert checked > 40
