"""What DLProf adds up of the generated run, against the run's plan.

The summary, groups of operations and tensor cores, of database and reports; and the
ready-made views of the database.
"""

from __future__ import annotations

import json
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from statistics import fmean
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
from fixtures.dlprof_ops import TENSOR_CORE_KERNELS
from fixtures.intervals import overlap_ns, sum_ns, union_ns
from fixtures.model import Kernel, Memcpy, Memset, Op, TrainingRun
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


def _in_steps(run: TrainingRun) -> tuple[list[Kernel], list[Memcpy | Memset], int]:
    """Kernels, copies and fills that were launched until the last step's end."""
    calls, end_ns = launch_calls(run), _wall_ns(run)
    copies: list[Memcpy | Memset] = [*run.memcpys, *run.memsets]

    def held(row: Kernel | Memcpy | Memset) -> bool:
        return calls[row.process, row.correlation].start_ns < end_ns

    return [*filter(held, run.kernels)], [*filter(held, copies)], end_ns


def _wall_ns(run: TrainingRun) -> int:
    return max(o.end_ns for o in run.ops if o.phase == "optimizer")


@pytest.mark.parametrize("source", SOURCES)
def test_summary_of_kernels(source: str, run: TrainingRun, imported: Imported) -> None:
    """Sums of time, and how many names."""
    kernels, copies, _ = _in_steps(run)
    calls = launch_calls(run)
    with_tc = [k for k in kernels if k.type in TENSOR_CORE_KERNELS]
    without = [k for k in kernels if k.type not in TENSOR_CORE_KERNELS]
    wanted = {
        name: (sum_ns((k.start_ns, k.end_ns) for k in rows), len(names))
        for name, rows, names in (
            ("Kernels using TC", with_tc, {k.type for k in with_tc}),
            ("All other kernels", without, {k.type for k in without}),
            ("Memory", copies, {calls[c.process, c.correlation].name for c in copies}),
        )
    }
    wanted["All kernels"] = (
        sum(ns for ns, _ in wanted.values()),
        sum(n for _, n in wanted.values()),
    )
    assert 0 < wanted["Kernels using TC"][0] < wanted["All kernels"][0]
    rows = report_rows(of_source(imported, source, "summary"), "summary")
    assert {
        r["name"]: (r["gpu_time_ns"], r["item_count"])
        for r in rows
        if r["section"] == "All Kernels"
    } == wanted


@pytest.mark.parametrize("source", SOURCES)
def test_summary_of_operations(
    source: str, run: TrainingRun, imported: Imported
) -> None:
    """Time on the GPU as a union in each execution, or of each call outside of all."""
    kernels, copies, _ = _in_steps(run)
    spans: dict[Any, list[tuple[int, int]]] = defaultdict(list)
    for row in (*kernels, *copies):
        owner = row.op_id or ("stray", row.process, row.correlation)
        spans[owner].append((row.start_ns, row.end_ns))
    users = {_node(run, o) for o in run.ops if _uses_tc(run, o)}
    could = [o for o in run.ops if TYPES[o.name] == "linear"]
    using = [o for o in could if _node(run, o) in users]
    idle = [o for o in could if _node(run, o) not in users]
    rows = report_rows(of_source(imported, source, "summary"), "summary")
    found = {r["name"]: r for r in rows if r["section"] == "All Ops"}
    whole = sum(map(union_ns, spans.values()))
    assert found["All ops"]["gpu_time_ns"] == whole
    for name, ops in (
        ("Ops using TC", using),
        ("Ops eligible for TC but not using", idle),
    ):
        assert (
            found[name]["gpu_time_ns"],
            found[name]["cpu_time_ns"],
            found[name]["item_count"],
        ) == (
            sum(union_ns(spans[o.op_id]) for o in ops),
            sum(map(length, ops)),
            len({_node(run, o) for o in ops}),
        )
    others = found["All other ops"]["gpu_time_ns"]
    assert others == whole - sum(union_ns(spans[o.op_id]) for o in could)


@pytest.mark.parametrize("source", SOURCES)
def test_summary_of_the_whole(
    source: str, run: TrainingRun, imported: Imported
) -> None:
    """Shares of the wall time; reports round them to a tenth."""
    kernels, copies, end_ns = _in_steps(run)

    def busy(rows: Iterable[Kernel | Memcpy | Memset]) -> list[tuple[int, int]]:
        return [(r.start_ns, min(r.end_ns, end_ns)) for r in rows]

    host = [(o.start_ns, o.end_ns) for o in run.ops]
    host += [
        (c.start_ns, min(c.end_ns, end_ns))
        for c in run.api_calls
        if c.api in ("runtime", "driver") and c.start_ns < end_ns
    ]
    parts = {
        "Tensor Core Kernel Duration": union_ns(
            busy(k for k in kernels if k.type in TENSOR_CORE_KERNELS)
        ),
        "Non-Tensor Core Kernel Duration": union_ns(
            busy(k for k in kernels if k.type not in TENSOR_CORE_KERNELS)
        ),
        "Memory Duration": union_ns(busy(copies)),
        "Dataloader Duration": 0,
        "IO Duration": 0,
        "CPU Duration": union_ns(host) - overlap_ns(host, busy([*kernels, *copies])),
    }
    parts["Other Duration"] = end_ns - sum(parts.values())
    could = {o.op_id for o in run.ops if TYPES[o.name] == "linear"}
    in_could = [k for k in kernels if k.op_id in could]
    with_tc = [k for k in in_could if k.type in TENSOR_CORE_KERNELS]
    shares = {name: ns / end_ns for name, ns in parts.items()}
    shares["Tensor Core Kernel Utilization"] = sum(map(length, with_tc)) / sum(
        map(length, in_could)
    )
    shares["GPU Utilization"] = fmean(
        union_ns(busy(k for k in kernels if k.device == d.ordinal)) / end_ns
        for d in run.devices
    )
    rows = report_rows(of_source(imported, source, "summary"), "summary")
    found = {r["name"]: r["value"] for r in rows if r["value"] is not None}
    near = 1e-6 if source == "database" else 0.05
    for name, share in shares.items():
        assert found[f"{name} %"] == pytest.approx(100 * share, abs=near), name
    count = len(run.iterations)
    assert found["Wall Clock Time (ns)"] == end_ns
    assert (found["Total Iterations"], found["Stop Iteration"]) == (count, count - 1)
    # Steps lie end to end from zero.
    mean = found["Average Iteration Time (ns)"]
    assert mean == pytest.approx(end_ns / count, abs=0.05)


def _node(run: TrainingRun, op: Op) -> tuple[int, str, str]:
    """What DLProf takes for one operation: device, place in the model, name."""
    return _device(run, op), op.module, op.name


def _device(run: TrainingRun, op: Op) -> int:
    rows: list[Kernel | Memcpy] = [*run.kernels, *run.memcpys]
    return next(r.device for r in rows if r.op_id == op.op_id)


def _uses_tc(run: TrainingRun, op: Op) -> bool:
    return any(
        k.op_id == op.op_id and k.type in TENSOR_CORE_KERNELS for k in run.kernels
    )


@pytest.mark.parametrize("source", SOURCES)
def test_group_totals(source: str, run: TrainingRun, imported: Imported) -> None:
    """Every level of the names: executions, operations that could, that do, time."""
    done: list[Kernel | Memcpy | Memset] = [*run.kernels, *run.memcpys, *run.memsets]
    members: dict[str, list[Op]] = defaultdict(list)
    for op in run.ops:
        path = f"replica_{_device(run, op)}/{op.module}".split("/")
        for depth in range(len(path) + 1):
            members["/" + "".join(f"{p}/" for p in path[:depth])].append(op)
    users = {_node(run, o) for o in run.ops if _uses_tc(run, o)}
    wanted = {}
    for name, ops in members.items():
        could = {_node(run, o) for o in ops if TYPES[o.name] == "linear"}
        spans = [
            [(r.start_ns, r.end_ns) for r in done if r.op_id == o.op_id] for o in ops
        ]
        wanted[name] = (
            *(len(ops), len(could), len(could & users)),
            *(sum(map(length, ops)), sum(map(union_ns, spans))),
        )
    assert {name.count("/") for name in wanted} == {1, 2, 3}
    rows = report_rows(of_source(imported, source, "group_op"), "group_op")
    groups = {}
    for r in rows:
        fields = json.loads(r["fields"])
        if fields.get("row_type") != "leaf" and r["name"].endswith("/"):
            groups[r["name"]] = (
                r["item_count"],
                int(fields["Num TC Eligible Ops"]),
                int(fields["Num Ops Using TC"]),
                *(r["cpu_time_ns"], r["gpu_time_ns"]),
            )
    assert groups == wanted


def test_tensor_core_report(run: TrainingRun, imported: Imported) -> None:
    """Kernel time with and without, and names of both, of each operation."""
    kernels: dict[tuple[int, str, str], list[Kernel]] = defaultdict(list)
    ops = {o.op_id: o for o in run.ops}
    for k in run.kernels:
        if k.op_id is not None:
            kernels[_node(run, ops[k.op_id])].append(k)
    wanted: Counter[tuple[Any, ...]] = Counter()
    for (device, module, name), mine in kernels.items():
        parts = [
            [k for k in mine if (k.type in TENSOR_CORE_KERNELS) == uses]
            for uses in (True, False)
        ]
        times = [sum(map(length, part)) for part in parts]
        names = [", ".join(sorted({k.type.short_name for k in part})) for part in parts]
        row = (f"/replica_{device}/{module}/{TYPES[name]}", "Backward" in name)
        share = round(100 * times[0] / sum(times), 1)
        wanted[*row, sum(times), *times, share, *names] += 1
    rows = report_rows(imported("reports/dlprof_tensor_core.csv"), "tensor_core")
    found: Counter[tuple[Any, ...]] = Counter()
    for r in rows:
        fields = json.loads(r["fields"])
        assert r["uses_tc"] == (int(fields["TC GPU Time (ns)"]) > 0)
        assert r["item_count"] == int(fields["TC Kernel Count"]) + int(
            fields["Non-TC Kernel Count"]
        )
        if not r["name"].startswith("unassociated_"):
            row = (r["name"], r["direction"] == "bprop")
            times = [int(fields[f"{x} GPU Time (ns)"]) for x in ("TC", "Non-TC")]
            names = [fields.get(f"{x} Kernel Names", "") for x in ("TC", "Non-TC")]
            found[*row, r["gpu_time_ns"], *times, r["value"], *names] += 1
    assert found == wanted


def test_views_say_what_was_imported(folder: Path, imported: Imported) -> None:
    """DLProf's ready-made views, read by SQLite, against the tables of the run."""
    path = folder / "alone" / "dlprof_dldb.sqlite"
    session = imported("alone/dlprof_dldb.sqlite")

    def ours(text: str) -> list[tuple[Any, ...]]:
        return sorted(tuple(r.values()) for r in session.sql(text).rows())

    with closing(sqlite3.connect(path)) as con:

        def theirs(text: str) -> list[tuple[Any, ...]]:
            return sorted(con.execute(text).fetchall())

        assert len(theirs("SELECT name FROM sqlite_master WHERE type = 'view'")) == 11
        # The time of a kernel there is that of its call.
        assert theirs(
            "SELECT kernel_timestamp, kernel_duration, kernel_name, device_id "
            "FROM view_iteration_kernels"
        ) == ours("SELECT launch_ts_ns, dur_ns, short_name, device_id FROM kernel")
        assert theirs(
            "SELECT iter_value, start_time, duration FROM view_iterations_all"
        ) == ours("SELECT number, ts_ns, dur_ns FROM iteration")
        assert theirs("SELECT problem, recommendation FROM view_expert_systems") == (
            ours("SELECT problem, recommendation FROM advice")
        )
        assert theirs(
            "SELECT row_full_name, num_op_instances, cpu_time_sum, gpu_time_sum "
            "FROM view_group_ops"
        ) == ours(
            "SELECT name, item_count, cpu_time_ns, gpu_time_ns FROM report_row "
            "WHERE report = 'group_op'"
        )
        assert theirs(
            "SELECT op_node_type, num_calls, cpu_time_sum, gpu_time_sum "
            "FROM view_op_type_summary"
        ) == ours(
            "SELECT op_type, item_count, cpu_time_ns, gpu_time_ns FROM report_row "
            "WHERE report = 'op_type'"
        )
        assert theirs(
            "SELECT CAST(device_id AS TEXT), device_gpu_utilization "
            "FROM view_gpu_devices"
        ) == ours("SELECT name, value FROM report_row WHERE report = 'device'")
        (model,) = con.execute(
            "SELECT wall_clock_time, tc_utilization, gpu_utilization, "
            "total_iterations, iter_avg, key_node_name FROM view_performance_summary "
            "JOIN view_aggregations USING (aggr_id)"
        )
        names = (
            *("Wall Clock Time (ns)", "Tensor Core Kernel Utilization %"),
            *("GPU Utilization %", "Total Iterations", "Average Iteration Time (ns)"),
        )
        figures = dict(
            ours("SELECT name, value FROM report_row WHERE value IS NOT NULL")
        )
        assert list(model[:5]) == [figures[name] for name in names]
        assert model[5].endswith("/step")
        (shares,) = con.execute("SELECT * FROM view_resource_usage_breakdown")
        assert sum(shares[2:]) == pytest.approx(100)
        assert figures["CPU Duration %"] == shares[-2]
        (ops,) = con.execute("SELECT * FROM view_op_summary")
        (kernels,) = con.execute("SELECT * FROM view_kernel_summary")
        parts = {
            r[0]: r[1:]
            for r in ours(
                "SELECT name, gpu_time_ns, item_count FROM report_row "
                "WHERE section IN ('All Ops', 'All Kernels')"
            )
        }
        order = (
            *("All ops", "Ops using TC", "Ops eligible for TC but not using"),
            *("All other ops", "All kernels", "Kernels using TC", "Memory"),
            "All other kernels",
        )
        assert [*ops[2:], *kernels[1:]] == [x for name in order for x in parts[name]]
