"""Logs over a trace's time, against what the generator knows of both."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import traceql
from fixtures.make_fixtures import LOGGED
from fixtures.model import TrainingRun
from fixtures.nsight_sqlite import write_nsight_sqlite
from fixtures.smi_logs import LINK, SmiSample, smi_samples, write_smi_logs
from fixtures.training_run import make_run

COMMITTED = Path(__file__).parents[2] / "fixtures" / "smi"
_FIELDS = {
    "utilization.gpu": "utilization_pct",
    "memory.used": "memory_mib",
    "power.draw": "power_w",
}


@pytest.fixture(scope="module")
def run() -> TrainingRun:
    """A run of some seconds."""
    return make_run(LOGGED)


@pytest.fixture(scope="module")
def attached(
    run: TrainingRun, tmp_path_factory: pytest.TempPathFactory
) -> traceql.Store:
    """The run, labelled trace, with its three logs beside it."""
    store = traceql.open_store(tmp_path_factory.mktemp("store"), create=True)
    capture = tmp_path_factory.mktemp("capture") / "run.sqlite"
    write_nsight_sqlite(run, capture, "2026")
    store.ingest(capture, label="trace")
    for path in sorted(COMMITTED.iterdir()):
        (outcome,) = store.ingest(
            path, attach="trace", clock_offset="-1h", label=path.stem
        )
        assert outcome.run is not None, outcome.error
    return store


def _statistics(samples: list[SmiSample], name: str) -> tuple[Any, ...]:
    values = [getattr(s, _FIELDS[name]) for s in samples]
    known = [v for v in values if v is not None]
    return (
        len(values),
        len(values) - len(known),
        pytest.approx(sum(known) / len(known)) if known else None,
        min(known, default=None),
        max(known, default=None),
        min(s.time_ns for s in samples),
        max(s.time_ns for s in samples),
    )


def _found(row: dict[str, Any]) -> tuple[Any, ...]:
    columns = ("sample_count", "missing_count", "mean_value", "min_value", "max_value")
    return tuple(row[c] for c in (*columns, "first_ns", "last_ns"))


def test_committed_logs_are_what_the_generator_makes(
    run: TrainingRun, tmp_path: Path
) -> None:
    """The same seed, the same bytes."""
    for made in write_smi_logs(run, tmp_path):
        assert (COMMITTED / made.name).read_bytes() == made.read_bytes(), made.name


def test_within_the_capture(attached: traceql.Store, run: TrainingRun) -> None:
    """Samples before and after the capture stay out; devices are CUDA's."""
    window = (run.start_ns, run.end_ns)
    rows = attached.query(
        "smi_over_trace", run="trace", from_ns=window[0], to_ns=window[1]
    ).rows()
    assert {r["matched_by"] for r in rows if r["unit"] == "W"} == {"uuid", "index"}
    log_ids = {r.run_id: r.label for r in attached.runs()}
    found = {
        (log_ids[r["log_run_id"]], r["device_id"], r["name"]): _found(r) for r in rows
    }
    inside = [s for s in smi_samples(run) if window[0] <= s.time_ns < window[1]]
    assert 0 < len(inside) < len(smi_samples(run))
    assert found.keys() == {
        (log, device, name)
        for log in ("query", "dmon")
        for device in (0, 1)
        for name in _FIELDS
    }
    for (log, device, name), row in found.items():
        wanted = _statistics([s for s in inside if s.device == device], name)
        if log == "query" or name != "power.draw":
            assert row == wanted, (log, device, name)


def test_by_iteration(attached: traceql.Store, run: TrainingRun) -> None:
    """Each sample in the step that it lies in; the others apart."""
    rows = attached.query("smi_over_trace", run="trace", group_by="iteration").rows()
    found = {
        (r["iteration"], r["device_id"], r["name"]): _found(r)
        for r in rows
        if r["matched_by"] == "uuid"
    }

    def step(time_ns: int) -> int | None:
        within = (s for s in run.iterations if s.start_ns <= time_ns < s.end_ns)
        return next((s.number for s in within), None)

    (window, *_) = {(r["window_start_ns"], r["window_end_ns"]) for r in rows}
    groups: dict[tuple[int | None, int], list[SmiSample]] = {}
    for sample in smi_samples(run):
        if window[0] <= sample.time_ns <= window[1]:
            key = (step(sample.time_ns), sample.device)
            groups.setdefault(key, []).append(sample)
    assert len({number for number, _ in groups}) > 3
    assert found == {
        (*key, name): _statistics(samples, name)
        for key, samples in groups.items()
        for name in _FIELDS
    }


def test_the_log_by_itself(attached: traceql.Store, run: TrainingRun) -> None:
    """counter_summary has all samples of a log, over the log's own time."""
    rows = attached.query("counter_summary", run="query").rows()
    samples = smi_samples(run)
    # nvidia-smi's numbers are the driver's, the other way round than CUDA's.
    ordinals = {d.system_id: d.ordinal for d in run.devices}
    assert len(rows) == 6
    for row in rows:
        mine = [s for s in samples if s.device == ordinals[row["device_id"]]]
        count, missing, mean, low, high, first, last = _statistics(mine, row["name"])
        assert (row["sample_count"], row["missing_count"]) == (count, missing)
        assert (row["mean_value"], row["min_value"], row["max_value"]) == (
            mean,
            low,
            high,
        )
        assert row["last_ns"] - row["first_ns"] == last - first
        assert row["first_ns"] == 0


def test_an_index_alone_proves_no_device(
    run: TrainingRun, tmp_path: Path, store: traceql.Store
) -> None:
    """dmon says the driver's index, which is not CUDA's: unknown without other logs."""
    write_nsight_sqlite(run, tmp_path / "run.sqlite", "2026")
    store.ingest(tmp_path / "run.sqlite", label="trace")
    store.ingest(COMMITTED / "dmon.txt", attach="trace", clock_offset="-1h")
    rows = store.query("smi_over_trace", run="trace").rows()
    assert {(r["device_id"], r["matched_by"]) for r in rows} == {(None, None)}
    assert {r["log_device_id"] for r in rows} == {0, 1}
    # The matrix has all GPUs of the machine, as has the trace, with their addresses.
    store.ingest(COMMITTED / "topo.txt", attach="trace")
    rows = store.query("smi_over_trace", run="trace").rows()
    assert {(r["log_device_id"], r["device_id"], r["matched_by"]) for r in rows} == {
        (0, 1, "index"),
        (1, 0, "index"),
    }


def test_nothing_attached(attached: traceql.Store) -> None:
    """A log alone has no trace: no rows, and a note that says how to get some."""
    result = attached.query("smi_over_trace", run="query")
    assert result.rows() == []
    assert result.note is not None and "--attach" in result.note


def test_links_of_copies(attached: traceql.Store, run: TrainingRun) -> None:
    """Copies between GPUs bear the link that the attached matrix states."""
    rows = attached.query("memcpy_summary", run="trace").rows()
    assert {r["kind"]: r["link"] for r in rows} == {
        kind: LINK if kind == "P2P" else None for kind in {r["kind"] for r in rows}
    }
    assert "P2P" in {r["kind"] for r in rows}


def test_links_of_communication(attached: traceql.Store) -> None:
    """Both devices communicate."""
    rows = attached.query("comm_overlap", run="trace").rows()
    assert [(r["device_id"], r["link"]) for r in rows] == [(0, LINK), (1, LINK)]


def test_a_link_may_differ_by_direction(
    run: TrainingRun, tmp_path: Path, store: traceql.Store
) -> None:
    """The row of the matrix is where it leads from."""
    write_nsight_sqlite(run, tmp_path / "run.sqlite", "2026")
    store.ingest(tmp_path / "run.sqlite", label="trace")
    assert {r["link"] for r in store.query("comm_overlap", run="trace").rows()} == {
        None
    }
    matrix = tmp_path / "topo.txt"
    matrix.write_text(
        "\tGPU0\tGPU1\tCPU Affinity\tNUMA Affinity\n"
        "GPU0\t X \tNV4\t0-15\t0\nGPU1\tNV2\t X \t0-15\t0\n"
    )
    (outcome,) = store.ingest(matrix, attach="trace")
    assert outcome.run is not None, outcome.error
    links: dict[int | None, str] = {
        d.ordinal: ("NV4", "NV2")[d.system_id] for d in run.devices
    }
    assert links == {0: "NV2", 1: "NV4"}
    rows = store.query("comm_overlap", run="trace").rows()
    assert {r["device_id"]: r["link"] for r in rows} == links
    (copies,) = (
        r
        for r in store.query("memcpy_summary", run="trace").rows()
        if r["kind"] == "P2P"
    )
    used = {links[c.src_device] for c in run.memcpys if c.direction == "P2P"}
    assert copies["link"] == ", ".join(sorted(used))


def test_by_moment(attached: traceql.Store, run: TrainingRun) -> None:
    """The samples themselves, on the trace's time."""
    rows = attached.query("smi_over_trace", run="trace", group_by="moment").rows()
    found = {
        (r["moment_ns"], r["device_id"]): r["mean_value"]
        for r in rows
        if r["matched_by"] == "uuid" and r["name"] == "power.draw"
    }
    (window, *_) = {(r["window_start_ns"], r["window_end_ns"]) for r in rows}
    assert found == {
        (s.time_ns, s.device): s.power_w
        for s in smi_samples(run)
        if window[0] <= s.time_ns <= window[1]
    }


def test_reports_show_the_samples(attached: traceql.Store, tmp_path: Path) -> None:
    """Beside the trace, and of the log alone: charts, each with its table."""
    for label, figure in (("trace", "attached-samples"), ("query", "counter-timeline")):
        page = attached.report(tmp_path / f"{label}.html", run=label).read_text()
        shown = page.split(f'id="{figure}"')[1].split('<details class="sql"')[0]
        assert f'id="{figure}-spec"' in shown
        assert "power.draw" in shown.split("<table")[1]
