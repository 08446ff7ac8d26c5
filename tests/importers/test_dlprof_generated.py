"""DLProf's and PyProf's files of the generated run, against its plan.

What they do not carry: kernels without a call; memory kinds, registers and names of
launching calls; streams, but for PyProf, which has no times and no copies.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest
from dlprof_files import (
    SOURCES,
    TYPES,
    Imported,
    importer,
    length,
    of_source,
    plan,
    report_rows,
    write_all,
)

import traceql
from fixtures.dlprof_totals import ADVICE
from fixtures.intervals import union_ns
from fixtures.model import Kernel, Memcpy, Memset, TrainingRun
from fixtures.truth import truth
from fixtures.truth_host import launch_calls


@pytest.fixture(scope="module")
def run() -> TrainingRun:
    """The run, without the two kernels that no call launched."""
    return plan()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All files of the whole run."""
    out = tmp_path_factory.mktemp("generated")
    write_all(out)
    return out


@pytest.fixture(scope="module")
def imported(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Imported:
    """What imports one of the files alone."""
    store = traceql.open_store(tmp_path_factory.mktemp("store"), create=True)
    return importer(folder, store)


def _sums(kernels: tuple[Kernel, ...]) -> dict[str, int]:
    sums: dict[str, int] = defaultdict(int)
    for kernel in kernels:
        sums[kernel.type.short_name] += length(kernel)
    return dict(sums)


def test_pair_is_one_run(run: TrainingRun, imported: Imported) -> None:
    """Streams, correlations and launches of the capture; operations of the database."""
    session = imported("pair")
    for table, rows in (
        ("kernel", run.kernels),
        ("memcpy", run.memcpys),
        ("memset", run.memsets),
    ):
        found = session.sql(
            f"SELECT ts_ns, dur_ns, device_id, stream_id, correlation_id FROM {table}"
        ).rows()
        assert sorted(tuple(r.values()) for r in found) == sorted(
            (r.start_ns, r.end_ns - r.start_ns, r.device, r.stream, r.correlation)
            for r in rows
        )
    streams = {
        (r["pid"], r["device_id"], r["stream_id"]): (r["op_count"], r["busy_union_ns"])
        for r in session.query("stream_summary").rows()
    }
    assert streams == {
        (t["process"], t["device"], t["stream"]): (t["ops"], t["busy_ns"])
        for t in truth(run)["streams"]
        if t["ops"]
    }
    ops = {o.op_id: o for o in run.ops}
    owned = session.sql(
        "SELECT k.ts_ns, o.ts_ns AS op_ns, o.op_type FROM kernel AS k "
        "JOIN op AS o ON o.op_id = k.op_id "
        "WHERE NOT starts_with(o.name, 'unassociated_')"
    ).rows()
    assert sorted(tuple(r.values()) for r in owned) == sorted(
        (k.start_ns, ops[k.op_id].start_ns, TYPES[ops[k.op_id].name])
        for k in run.kernels
        if k.op_id is not None
    )


def test_operations_of_the_database(run: TrainingRun, imported: Imported) -> None:
    """Executions with times, direction, shapes and eligibility."""
    rows = (
        imported("alone/dlprof_dldb.sqlite")
        .sql(
            "SELECT ts_ns, dur_ns, tid, op_type, is_backward, input_shapes, "
            "CAST(extra->>'tc_eligible' AS BOOLEAN) AS eligible FROM op "
            "WHERE NOT starts_with(name, 'unassociated_')"
        )
        .rows()
    )
    found = [
        tuple(v.replace(" ", "") if k == "input_shapes" else v for k, v in r.items())
        for r in rows
    ]
    assert sorted(found) == sorted(
        (
            *(o.start_ns, length(o), o.thread, TYPES[o.name]),
            o.phase == "backward",
            str([list(s) for s in o.input_shapes]).replace(" ", ""),
            TYPES[o.name] == "linear",
        )
        for o in run.ops
    )


def test_steps_end_with_the_key_operation(run: TrainingRun, imported: Imported) -> None:
    """Each from the end of the last optimizer to the next, the first from zero."""
    ends = [
        max(o.end_ns for o in run.ops if o.iteration == s.number)
        for s in run.iterations
    ]
    rows = (
        imported("alone/dlprof_dldb.sqlite")
        .sql("SELECT number, ts_ns, dur_ns FROM iteration ORDER BY number")
        .rows()
    )
    assert [tuple(r.values()) for r in rows] == [
        (number, begin, end - begin)
        for number, (begin, end) in enumerate(zip([0, *ends], ends, strict=False))
    ]


def test_iteration_report_is_a_list_of_launches(
    run: TrainingRun, imported: Imported
) -> None:
    """Kernels with device, launch, grid and block."""
    rows = (
        imported("reports/dlprof_iteration.csv")
        .sql(
            "SELECT ts_ns, dur_ns, name, short_name, device_id, launch_ts_ns, grid_x, "
            "grid_y, grid_z, block_x, block_y, block_z FROM kernel"
        )
        .rows()
    )
    calls = launch_calls(run)
    assert sorted(tuple(r.values()) for r in rows) == sorted(
        (
            *(k.start_ns, length(k), k.type.name, k.type.short_name, k.device),
            calls[k.process, k.correlation].start_ns,
            *(*k.type.grid, *k.type.block),
        )
        for k in run.kernels
    )


@pytest.mark.parametrize("source", SOURCES)
def test_kernel_totals(source: str, run: TrainingRun, imported: Imported) -> None:
    """The sum of each kernel's rows."""
    sums: dict[str, int] = defaultdict(int)
    for row in report_rows(of_source(imported, source, "kernel"), "kernel"):
        sums[row["name"]] += row["gpu_time_ns"]
    assert dict(sums) == _sums(run.kernels)


@pytest.mark.parametrize("source", [*SOURCES, "tf1"])
def test_operation_totals(source: str, run: TrainingRun, imported: Imported) -> None:
    """Calls, CPU time and GPU time (union in an execution) of each type."""
    report = "detailed_tf1" if source == "tf1" else "detailed"
    rows = report_rows(of_source(imported, source, report), "detailed")
    assert _by_type(rows) == _type_totals(run)
    for row in rows:
        if not row["name"].startswith("unassociated_"):
            assert row["tc_eligible"] == (row["op_type"] == "linear")


@pytest.mark.parametrize("source", SOURCES)
def test_type_totals(source: str, run: TrainingRun, imported: Imported) -> None:
    """The same, added up by DLProf."""
    rows = report_rows(of_source(imported, source, "op_type"), "op_type")
    assert _by_type(rows) == _type_totals(run)


def test_devices_of_the_summary(run: TrainingRun, imported: Imported) -> None:
    """Two GPU names with a bare comma between them."""
    session = imported("reports/dlprof_summary.csv")
    devices = session.sql("SELECT device_id, name FROM device ORDER BY 1").rows()
    assert devices == [
        {"device_id": d.ordinal, "name": d.name}
        for d in sorted(run.devices, key=lambda d: d.ordinal)
    ]


def test_advice(imported: Imported) -> None:
    """The same of report and database, which names the detector too."""
    report = imported("reports/dlprof_expert_systems.csv")
    database = imported("alone/dlprof_dldb.sqlite")
    text = "SELECT detector, problem, recommendation FROM advice"
    assert [tuple(r.values()) for r in report.sql(text).rows()] == [(None, *ADVICE[1:])]
    assert [tuple(r.values()) for r in database.sql(text).rows()] == [ADVICE]


@pytest.mark.parametrize(
    ("name", "report", "stream"),
    [("net.dict", "pyprof_dict", "stream"), ("net.csv", "pyprof_prof", "Stream")],
)
def test_pyprof(
    name: str,
    report: str,
    stream: str,
    run: TrainingRun,
    imported: Imported,
) -> None:
    """A kernel a line: name, time, direction, operation and stream."""
    rows = (
        imported(name)
        .sql(
            "SELECT name, gpu_time_ns, direction, op_name, "
            f"CAST(fields->>'{stream}' AS INTEGER) AS stream FROM report_row "
            f"WHERE report = '{report}'"
        )
        .rows()
    )
    ops = {o.op_id: o for o in run.ops}
    wanted = []
    for k in run.kernels:
        op = None if k.op_id is None else ops[k.op_id]
        backward = op is not None and op.phase == "backward"
        kind = None if op is None else TYPES[op.name]
        wanted.append(
            (
                *(k.type.short_name, length(k), "bprop" if backward else "fprop"),
                *("LinearBackward0" if backward else kind, k.stream),
            )
        )
    assert Counter(tuple(r.values()) for r in rows) == Counter(wanted)


def _by_type(rows: list[dict[str, Any]]) -> dict[str, tuple[int, int, int]]:
    sums: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    for row in rows:
        if row["op_type"] in TYPES.values():
            for place, key in enumerate(("item_count", "cpu_time_ns", "gpu_time_ns")):
                sums[row["op_type"]][place] += row[key]
    return {kind: (n, cpu, gpu) for kind, (n, cpu, gpu) in sums.items()}


def _type_totals(run: TrainingRun) -> dict[str, tuple[int, int, int]]:
    sums: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    done: list[Kernel | Memcpy | Memset] = [*run.kernels, *run.memcpys, *run.memsets]
    for op in run.ops:
        spans = [(r.start_ns, r.end_ns) for r in done if r.op_id == op.op_id]
        for place, value in enumerate((1, length(op), union_ns(spans))):
            sums[TYPES[op.name]][place] += value
    return {kind: (n, cpu, gpu) for kind, (n, cpu, gpu) in sums.items()}
