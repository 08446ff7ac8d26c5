"""PyTorch traces against figures of HTA, torch-tb-profiler and TraceLens.

The figures stand in the corpus beside the traces, or are quoted where the tool rounds
or drops a step: those are of an independent count over the whole file.
"""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import duckdb
import pytest

import traceql
from fixtures.intervals import Interval, overlap_ns, union_ns
from traceql import importers
from traceql.ingest import Outcome
from traceql.session import Session

_DLRM = "param/dlrm_kineto"
_NCCL = "hta/nccl_parser_config/nccl_data.json.gz"
# File -> GPU rows, span, idle, compute, non-compute and communication in ns; overlap in
# per cent of communication.
_WHOLE_FILES: dict[str, tuple[int, int, int, int, int, int, float]] = {
    _NCCL: (3774, 660_551_005, 503_050_991, 115_655_847, 41_844_167, 46_876_493, 15.61),
    "hta/trace_filter/sampled_rank-0.json.gz": (
        1204, 1_222_847_000, 675_191_000, 210_320_000, 337_336_000, 396_199_000, 14.95,
    ),
    "hta/trace_filter/sampled_rank-1.json.gz": (
        1154, 1_231_186_000, 651_136_000, 271_973_000, 308_077_000, 379_053_000, 19.93,
    ),
    "hta/amd_trace/mi250_minitoy_train_ROCm6_2_kineto.json.gz": (
        16, 8_911_887, 8_762_844, 110_881, 38_161, 0, 0.0,
    ),
}  # fmt: skip
# Rank -> idle, compute, non-compute, span in us, overlap in per cent, communication.
_RANKS = [
    (6419, 1034, 5556, 13009, 4.5, 5798),
    (6428, 1246, 11075, 18749, 2.47, 11336),
    (7046, 1068, 3236, 11350, 7.88, 3492),
    (8145, 1240, 9468, 18853, 3.31, 9774),
    (8887, 1126, 6576, 16589, 0.56, 6587),
    (9121, 1041, 6230, 16392, 0.64, 6251),
    (7051, 1051, 3308, 11410, 7.56, 3558),
    (8308, 1059, 1600, 10967, 9.51, 1746),
]
# Kernels, their sum in us, distinct names.
_KERNELS = {
    "kineto/samples/resnet50_num_workers_0/worker0.1623143089861.pt.trace.json.gz": (
        8772, 591532, 67,
    ),
    "kineto/samples/resnet50_num_workers_4/worker0.1623212756351.pt.trace.json.gz": (
        8868, 594868, 62,
    ),
    "param/resnet_kineto.json.gz": (9628, 4103141, 54),
    _NCCL: (2700, 162532.34, 70),
    "tracelens/tracelens/traces/b200/eager_trace.json.gz": (768, 10862.916, 29),
}  # fmt: skip
_DLRM_KERNELS = [
    (245, 6832, 73), (310, 12582, 73), (246, 4560, 73), (315, 11014, 76),
    (251, 7713, 76), (245, 7292, 73), (246, 4609, 73), (246, 2805, 73),
]  # fmt: skip
_TRACELENS = {
    "traces__h100__Falconsai_nsfw_image_detection__1016002_perf_report_csvs":
        "tracelens/tracelens/traces/h100/Falconsai_nsfw_image_detection__1016002",
    "traces__h100__gaunernst_bert-small-uncased__1016001_perf_report_csvs":
        "tracelens/tracelens/traces/h100/gaunernst_bert-small-uncased__1016001",
    "traces__mi300__Falconsai_nsfw_image_detection__1016002_perf_report_csvs":
        "rocm/tracelens/traces/mi300/Falconsai_nsfw_image_detection__1016002",
    "traces__mi300__gaunernst_bert-small-uncased__1016001_perf_report_csvs":
        "rocm/tracelens/traces/mi300/gaunernst_bert-small-uncased__1016001",
    "traces__mi210__gpu_only_trace__gpu_only_trace_perf_report_csvs":
        "rocm/tracelens/traces/mi210/gpu_only_trace/gpu_only_trace",
    "traces__perf_model__normalization__normalization_layer_test_perf_report_csvs":
        "tracelens/tracelens/traces/perf_model/normalization/normalization_layer_test",
    "traces__torch_compile_triton__trace_perf_report_csvs":
        "tracelens/tracelens/traces/torch_compile_triton/trace",
}  # fmt: skip


def _imported(store: traceql.Store, path: Path) -> Session:
    (outcome,) = store.ingest(path)
    assert outcome.run is not None, outcome.error
    assert outcome.run.manifest.importer["name"] == "kineto"
    return store.session(outcome.run.run_id)


def _spans(session: Session) -> dict[str, list[Interval]]:
    """Intervals of GPU work by activity; copies and fills are memory."""
    found: dict[str, list[Interval]] = {
        "compute": [],
        "communication": [],
        "memory": [],
    }
    for row in session.sql("SELECT activity, ts_ns, dur_ns FROM gpu_op").rows():
        kind = row["activity"] if row["activity"] in found else "memory"
        found[kind].append((row["ts_ns"], row["ts_ns"] + row["dur_ns"]))
    return found


def _breakdown(session: Session) -> dict[str, Any]:
    spans = _spans(session)
    everything = [s for kind in spans.values() for s in kind]
    span = max(e for _, e in everything) - min(s for s, _ in everything)
    compute, comm = union_ns(spans["compute"]), union_ns(spans["communication"])
    hidden = overlap_ns(spans["communication"], spans["compute"])
    busy = union_ns(everything)
    # Devices that the process merely saw have rows of their own.
    (row,) = [
        r
        for r in session.query("gpu_utilization", {"time_window": "gpu"}).rows()
        if r["busy_union_ns"]
    ]
    assert (row["bin_ns"], row["busy_union_ns"], row["idle_ns"]) == (
        span,
        busy,
        span - busy,
    )
    return {
        "rows": len(everything),
        "span": span,
        "idle": span - busy,
        "compute": compute,
        "other": busy - compute,
        "communication": comm,
        "overlap_pct": round(100 * hidden / comm, 2) if comm else 0.0,
    }


@pytest.mark.parametrize("rank", range(8))
def test_dlrm(corpus: Path, store: traceql.Store, rank: int) -> None:
    """HTA's five columns and torch-tb-profiler's kernels, exactly."""
    (path,) = (corpus / "kineto" / _DLRM).glob(f"worker{rank}_*.json")
    session = _imported(store, path)
    idle, compute, other, span, overlap, comm = _RANKS[rank]
    found = _breakdown(session)
    assert found["idle"] == idle * 1000
    assert found["compute"] == compute * 1000
    assert found["other"] == other * 1000
    assert found["span"] == span * 1000
    assert found["overlap_pct"] == pytest.approx(overlap, abs=0.005)
    assert found["communication"] == comm * 1000
    assert _kernels(session) == _DLRM_KERNELS[rank]
    (run,) = session.sql("SELECT rank, world_size, framework FROM run").rows()
    assert run == {"rank": rank, "world_size": 8, "framework": "pytorch"}


@pytest.mark.parametrize("name", list(_WHOLE_FILES))
def test_whole_files(corpus: Path, store: traceql.Store, name: str) -> None:
    """The independent count over all of a file, to the nanosecond."""
    found = _breakdown(_imported(store, corpus / "kineto" / name))
    rows, span, idle, compute, other, comm, overlap = _WHOLE_FILES[name]
    assert found["rows"] == rows
    # The quoted figures of the AMD file were added up from rounded ones.
    slack = 1 if "amd" in name else 0
    assert abs(found["span"] - span) <= slack
    assert abs(found["idle"] - idle) <= slack
    assert abs(found["compute"] - compute) <= slack
    assert abs(found["other"] - other) <= slack
    assert found["communication"] == comm
    assert found["overlap_pct"] == pytest.approx(overlap, abs=0.005)


def _kernels(session: Session) -> tuple[int, float, int]:
    rows = session.query("kernel_totals", {}).rows()
    return (
        sum(r["kernel_count"] for r in rows),
        sum(r["total_ns"] for r in rows) / 1000,
        len(rows),
    )


@pytest.mark.parametrize("name", list(_KERNELS))
def test_kernels(corpus: Path, store: traceql.Store, name: str) -> None:
    """torch-tb-profiler's kernels: how many, how long, how many names."""
    count, total, names = _kernels(_imported(store, corpus / "kineto" / name))
    wanted = _KERNELS[name]
    assert (count, names) == (wanted[0], wanted[2])
    # The tool adds doubles and prints some decimals of them.
    assert total == pytest.approx(wanted[1], abs=0.01)


@pytest.mark.parametrize("name", list(_TRACELENS))
def test_tracelens_timeline(corpus: Path, store: traceql.Store, name: str) -> None:
    """TraceLens' times of computation, communication, copies and all, to 0.1 us."""
    session = _imported(store, corpus / "kineto" / f"{_TRACELENS[name]}.json.gz")
    golden = corpus / "kineto" / "golden" / "tracelens" / f"{name}__gpu_timeline.csv"
    with golden.open(newline="") as file:
        wanted = {r["type"]: float(r["time ms"]) for r in csv.DictReader(file)}
    spans = _spans(session)
    copies: list[Interval] = []
    fills: list[Interval] = []
    for row in session.sql("SELECT op_kind, ts_ns, dur_ns FROM gpu_op").rows():
        span = (row["ts_ns"], row["ts_ns"] + row["dur_ns"])
        if row["op_kind"] != "kernel":
            (fills if row["op_kind"] == "memset" else copies).append(span)
    # The figures of one trace are of a version that left fills out.
    compute = spans["compute"] + ([] if "normalization" in name else fills)
    comm = spans["communication"]
    found = {
        "computation_time": union_ns(compute),
        "exposed_comm_time": union_ns(comm + compute) - union_ns(compute),
        "exposed_memcpy_time": union_ns(copies + comm + compute)
        - union_ns(comm + compute),
        "busy_time": union_ns(copies + comm + compute),
    }
    for key, ns in found.items():
        assert ns / 1e6 == pytest.approx(wanted[key], abs=1e-4), key


def _contents(store: traceql.Store, outcome: Outcome) -> dict[str, Any]:
    """A sum over the rows of each table; without the rank, which a name may tell."""
    run = outcome.run
    if run is None:
        return {}
    with duckdb.connect() as con:
        return {
            table: con.execute(
                "SELECT count(*), sum(hash(*COLUMNS(lambda c: c <> 'rank'))) "
                "FROM read_parquet(?, hive_partitioning = false)",
                [[str(path) for path in store.paths(run, table)]],
            ).fetchall()
            for table in run.rows
            if table != "run"
        }


def test_every_trace_under_another_name(
    corpus: Path, store: traceql.Store, tmp_path: Path
) -> None:
    """The content decides: what the file is called changes nothing."""
    paths = [
        path
        for path in sorted((corpus / "kineto").rglob("*.json*"))
        if path.stat().st_size <= 60_000 and path.suffix in (".json", ".gz")
    ]
    pairs = []
    checked = 0
    for number, path in enumerate(paths):
        other = tmp_path / str(number) / "unknown"
        other.parent.mkdir()
        other.write_bytes(path.read_bytes())
        if "golden" in path.parts:
            # Unit cases of torch-tb-profiler, all alike: they need only be told apart.
            found = [importers.detect(importers.read_head(p)) for p in (path, other)]
            assert found[0] is found[1], path
            checked += found[0] is not None and found[0].name == "kineto"
        else:
            pairs.append((path, other))
    by_name = store.ingest(*(path for path, _ in pairs), jobs=2)
    contents = [_contents(store, named) for named in by_name]
    renamed = store.ingest(*(other for _, other in pairs), jobs=2, force=True)
    for (path, _), named, again, before in zip(
        pairs, by_name, renamed, contents, strict=True
    ):
        if named.run is None:
            assert type(again.error) is type(named.error), path
            continue
        assert again.run is not None, (path, again.error)
        assert again.run.rows == named.run.rows, path
        assert again.run.run_id == named.run.run_id
        assert _contents(store, again) == before, path
        checked += named.run.manifest.importer["name"] == "kineto"
    assert checked > 40
