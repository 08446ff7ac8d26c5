"""Our answers against those of `nsys stats` on the same captures.

Counts, sums, minima and maxima must be equal; means, deviations and shares equal to
the precision that the vendor prints. Where ours differs on purpose (throughput in
floating point, the memory of a fill, no queue to take the deviation of), the test
derives the vendor's figure from ours.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import Any

import pytest

import traceql

pytestmark = pytest.mark.corpus

CAPTURES = {
    "cudf": "quasiben-cudf.sqlite",
    "cudf-groupby": "quasiben-cudf-groupby.sqlite",
    "memfusion": "memfusion.sqlite",
    "dlprof": "dlprof-root.sqlite",
    "openmp": "openmp-2023.3.sqlite",
    "streams": "streams-1000-kernels.sqlite",
    "abacus1": "abacus1.qdrep",
}
# Reports of which every capture has a golden; of others only some have.
EVERYWHERE = {
    "cuda_gpu_kern_sum",
    "cuda_gpu_mem_time_sum",
    "cuda_gpu_mem_size_sum",
    "cuda_api_sum",
}
LABELS = {
    "H2D": "[CUDA memcpy Host-to-Device]",
    "D2H": "[CUDA memcpy Device-to-Host]",
    "D2D": "[CUDA memcpy Device-to-Device]",
    "memset": "[CUDA memset]",
}
STYLES = {"push_pop": "PushPop", "start_end": "StartEnd"}

Row = dict[str, Any]
Ask = Callable[..., list[Row]]
Golden = Callable[[str], list[dict[str, str]]]
Capture = tuple[Ask, Golden]


@pytest.fixture(scope="module", params=list(CAPTURES))
def capture(
    request: pytest.FixtureRequest,
    corpus: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Capture:
    prefix = request.param
    if not CAPTURES[prefix].endswith(".sqlite"):
        request.getfixturevalue("nsys")
    store = traceql.open_store(tmp_path_factory.mktemp(prefix), create=True)
    store.ingest(corpus / "nsys" / CAPTURES[prefix])

    def ask(name: str, **params: Any) -> list[Row]:
        return store.query(name, **params).rows()

    def golden(report: str) -> list[dict[str, str]]:
        path = corpus / "nsys" / "golden" / f"{prefix}.{report}.csv"
        if not path.exists():
            assert report not in EVERYWHERE
            pytest.skip(f"no golden {report} of {prefix}")
        with path.open(encoding="utf-8", newline="") as file:
            return list(csv.DictReader(line for line in file if line.strip()))

    return ask, golden


def printed(value: float | None, digits: int = 1) -> str:
    """A figure as nsys prints it: rounded half away from zero."""
    if value is None:
        return ""
    unit = Decimal(1).scaleb(-digits)
    return str(Decimal(repr(value)).quantize(unit, rounding=ROUND_HALF_UP))


def megabytes(value: float | None) -> str:
    return "" if value is None else f"{value / 1e6:.3f}"


def text(value: object) -> str:
    return "" if value is None else str(value)


def durations(row: Row, share: str = "sum_pct") -> dict[str, str]:
    return {
        "Time (%)": printed(row[share]),
        "Total Time (ns)": text(row["total_ns"]),
        "Avg (ns)": printed(row["mean_ns"]),
        "Med (ns)": printed(row["median_ns"]),
        "Min (ns)": text(row["min_ns"]),
        "Max (ns)": text(row["max_ns"]),
        "StdDev (ns)": printed(row["stddev_ns"]),
    }


def by(rows: list[dict[str, str]], *key: str) -> dict[tuple[str, ...], dict[str, str]]:
    """Rows by their key; a key that stands twice is an error."""
    found = {tuple(row[k] for k in key): row for row in rows}
    assert len(found) == len(rows)
    return found


def test_cuda_gpu_kern_sum(capture: Capture) -> None:
    ask, golden = capture
    ours = [
        durations(row) | {"Instances": text(row["kernel_count"]), "Name": row["name"]}
        for row in ask("kernel_totals")
    ]
    compare(ours, golden("cuda_gpu_kern_sum"), "Name")


def test_cuda_gpu_kern_gb_sum(capture: Capture) -> None:
    ask, golden = capture
    ours = [
        durations(row)
        | {
            "Instances": text(row["kernel_count"]),
            "Name": row["name"],
            "GridXYZ": row["grid"],
            "BlockXYZ": row["block"],
        }
        for row in ask("kernel_totals", group_by="name_grid_block")
    ]
    theirs = [
        row | {k: ",".join(row[k].split()) for k in ("GridXYZ", "BlockXYZ")}
        for row in golden("cuda_gpu_kern_gb_sum")
    ]
    compare(ours, theirs, "Name", "GridXYZ", "BlockXYZ")


def test_cuda_gpu_mem_time_sum(capture: Capture) -> None:
    ask, golden = capture
    ours = [
        durations(row, "time_pct")
        | {"Count": text(row["copy_count"]), "Operation": LABELS[row["kind"]]}
        for row in ask("memcpy_summary")
    ]
    compare(ours, golden("cuda_gpu_mem_time_sum"), "Operation")


def test_cuda_gpu_mem_size_sum(capture: Capture) -> None:
    ask, golden = capture
    ours = [
        {
            "Total (MB)": megabytes(row["total_bytes"]),
            "Count": text(row["copy_count"]),
            "Avg (MB)": megabytes(row["mean_bytes"]),
            "Med (MB)": megabytes(row["median_bytes"]),
            "Min (MB)": megabytes(row["min_bytes"]),
            "Max (MB)": megabytes(row["max_bytes"]),
            "StdDev (MB)": megabytes(row["stddev_bytes"]),
            "Operation": LABELS[row["kind"]],
        }
        for row in ask("memcpy_summary")
    ]
    compare(ours, golden("cuda_gpu_mem_size_sum"), "Operation")


def test_cuda_api_sum(capture: Capture) -> None:
    ask, golden = capture
    ours = [
        durations(row) | {"Num Calls": text(row["call_count"]), "Name": row["name"]}
        for row in ask("api_summary", only_api="cuda")
    ]
    compare(ours, golden("cuda_api_sum"), "Name")


def test_nvtx_sum(capture: Capture) -> None:
    ask, golden = capture
    ours = [
        durations(row)
        | {
            "Instances": text(row["annotation_count"]),
            "Style": STYLES[row["kind"]],
            "Range": text(row["name"]),
        }
        for row in ask("annotation_summary")
        if row["kind"] != "mark"
    ]
    compare(ours, golden("nvtx_sum"), "Style", "Range")


def test_nvtx_pushpop_sum(capture: Capture) -> None:
    ask, golden = capture
    ours = [
        durations(row)
        | {"Instances": text(row["annotation_count"]), "Range": text(row["name"])}
        for row in ask("annotation_summary", only_kind="push_pop")
    ]
    compare(ours, golden("nvtx_pushpop_sum"), "Range")


def test_nvtx_pushpop_trace(capture: Capture) -> None:
    ask, golden = capture
    rows = ask("annotation_tree")
    stacks = id_stacks(rows)
    ours = [
        {
            "Start (ns)": text(row["start_ns"]),
            "End (ns)": text(row["end_ns"]),
            "Duration (ns)": text(row["dur_ns"]),
            "DurChild (ns)": text(row["child_sum_ns"]),
            "DurNonChild (ns)": text(row["self_ns"]),
            "Name": text(row["name"]),
            "Lvl": text(row["depth"]),
            "NumChild": text(row["child_count"]),
            "NameTree": "--" * row["depth"] + text(row["name"]),
        }
        | thread_and_ids(row, stacks)
        for row in rows
    ]
    compare(ours, golden("nvtx_pushpop_trace"), "RangeId")


def test_nvtx_gpu_proj_trace(capture: Capture) -> None:
    ask, golden = capture
    rows = ask("annotation_gpu_trace")
    stacks = id_stacks(rows)
    ours = [
        {
            "Name": text(row["name"]),
            "Projected Start (ns)": text(row["gpu_start_ns"]),
            "Projected Duration (ns)": text(row["gpu_span_ns"]),
            "Orig Start (ns)": text(row["start_ns"]),
            "Orig Duration (ns)": text(row["dur_ns"]),
            "Style": STYLES[row["kind"]],
            "NumGPUOps": text(row["launch_count"]),
            "Lvl": text(row["depth"]),
            "NumChild": text(row["child_count"]),
        }
        | thread_and_ids(row, stacks)
        for row in rows
    ]
    compare(ours, golden("nvtx_gpu_proj_trace"), "RangeId")


def thread_and_ids(row: Row, stacks: dict[int, str]) -> dict[str, str]:
    """Process, thread and ids as nsys has them: a range's id is its row there."""
    parent = row["parent_id"]
    return {
        "PID": text(row["pid"]),
        "TID": text(row["tid"]),
        "RangeId": text(row["annotation_id"] % 2**40),
        "ParentId": "" if parent is None else text(parent % 2**40),
        "RangeStack": stacks[row["annotation_id"]],
    }


def id_stacks(rows: list[Row]) -> dict[int, str]:
    """The ids from the top to each range; parents come first in `rows`."""
    stacks: dict[int, str] = {}
    for row in rows:
        above = stacks.get(row["parent_id"], "")
        stacks[row["annotation_id"]] = f"{above}:{row['annotation_id'] % 2**40}"
    return stacks


def test_nvtx_gpu_proj_sum(capture: Capture) -> None:
    ask, golden = capture
    ours = [
        {
            "Range": text(row["name"]),
            "Style": STYLES[row["kind"]],
            "Total Proj Time (ns)": text(row["gpu_span_ns"]),
            "Total Range Time (ns)": text(row["dur_ns"]),
            "Range Instances": text(row["annotation_count"]),
            "Proj Avg (ns)": printed(row["mean_span_ns"]),
            "Proj Med (ns)": printed(row["median_span_ns"]),
            "Proj Min (ns)": text(row["min_span_ns"]),
            "Proj Max (ns)": text(row["max_span_ns"]),
            "Proj StdDev (ns)": printed(row["stddev_span_ns"]),
            "Total GPU Ops": text(row["launch_count"]),
            "Avg GPU Ops": printed(row["mean_launch_count"]),
            "Avg Range Lvl": printed(row["mean_depth"]),
            "Avg Num Child": printed(row["mean_child_count"]),
        }
        for row in ask("annotation_gpu_projection")
    ]
    compare(ours, golden("nvtx_gpu_proj_sum"), "Range", "Style")


def test_nvtx_kern_sum(capture: Capture) -> None:
    """Under ranges nested in their like, nsys counts a kernel once, its time often."""
    ask, golden = capture
    ours = [
        {
            "NVTX Range": text(row["annotation"]),
            "Style": STYLES[row["kind"]],
            "PID": text(row["pid"]),
            "TID": text(row["tid"]),
            "NVTX Inst": text(row["annotation_count"]),
            "Kern Inst": text(row["kernel_count"]),
            "Total Time (ns)": text(row["nested_sum_ns"]),
            "Avg (ns)": printed(row["nested_mean_ns"]),
            "Med (ns)": printed(row["median_ns"]),
            "Min (ns)": text(row["min_ns"]),
            "Max (ns)": text(row["max_ns"]),
            "StdDev (ns)": printed(row["nested_stddev_ns"]),
            "Kernel Name": row["name"],
        }
        for row in ask("kernels_by_annotation")
    ]
    key = ("NVTX Range", "Style", "PID", "TID", "Kernel Name")
    compare(ours, golden("nvtx_kern_sum"), *key)


def test_cuda_kern_exec_sum(capture: Capture) -> None:
    ask, golden = capture
    ours = [exec_row(row) for row in ask("launch_latency") if row["api"] is not None]
    compare(
        ours,
        golden("cuda_kern_exec_sum"),
        *("PID", "TID", "DevId", "API Name", "Kernel Name"),
    )


def exec_row(row: Row) -> dict[str, str]:
    parts = {"T": "total", "A": "api", "Q": "queue", "K": "kernel"}
    figures: dict[str, str] = {}
    for letter, part in parts.items():
        figures |= {
            f"{letter}Avg (ns)": printed(row[f"{part}_mean_ns"]),
            f"{letter}Med (ns)": printed(row[f"{part}_median_ns"]),
            f"{letter}Min (ns)": text(row[f"{part}_min_ns"]),
            f"{letter}Max (ns)": text(row[f"{part}_max_ns"]),
            f"{letter}StdDev (ns)": printed(row[f"{part}_stddev_ns"]),
        }
    if row["queued_count"] == 0:
        assert row["queue_stddev_ns"] is None
        figures["QStdDev (ns)"] = "0.0"
    return figures | {
        "PID": text(row["pid"]),
        "TID": text(row["tid"]),
        "DevId": text(row["device_id"]),
        "Count": text(row["kernel_count"]),
        "QCount": text(row["queued_count"]),
        "API Name": row["api"],
        "Kernel Name": row["name"],
    }


def test_cuda_gpu_trace(capture: Capture) -> None:
    ask, golden = capture
    ours = [trace_row(row) for row in ask("gpu_trace")]
    compare(ours, golden("cuda_gpu_trace"), "Start (ns)", "CorrId", "Strm", "Name")


def trace_row(row: Row) -> dict[str, str]:
    kind = row["name"].removeprefix("memcpy ")
    name = row["name"] if row["op_kind"] == "kernel" else LABELS[kind]
    memory = [row["src_memory"], row["dst_memory"]]
    if row["op_kind"] == "memset":
        memory.reverse()
    throughput = ""
    if row["bytes"] is not None:
        assert row["throughput_gb_per_s"] == row["bytes"] / row["dur_ns"]
        throughput = megabytes(row["bytes"] * (10**9 // row["dur_ns"]))
    return {
        "Start (ns)": text(row["start_ns"]),
        "Duration (ns)": text(row["dur_ns"]),
        "CorrId": text(row["correlation_id"]),
        "GrdX": text(row["grid_x"]),
        "GrdY": text(row["grid_y"]),
        "GrdZ": text(row["grid_z"]),
        "BlkX": text(row["block_x"]),
        "BlkY": text(row["block_y"]),
        "BlkZ": text(row["block_z"]),
        "Reg/Trd": text(row["registers_per_thread"]),
        "StcSMem (MB)": megabytes(row["static_shared_memory_bytes"]),
        "DymSMem (MB)": megabytes(row["dynamic_shared_memory_bytes"]),
        "Bytes (MB)": megabytes(row["bytes"]),
        "Throughput (MB/s)": throughput,
        "SrcMemKd": text(memory[0]).capitalize(),
        "DstMemKd": text(memory[1]).capitalize(),
        "Device": f"{row['device_name']} ({row['device_id']})",
        "Ctx": text(row["context_id"]),
        "GreenCtx": text(row["green_context_id"]),
        "Strm": text(row["stream_id"]),
        "Name": name,
    }


def test_cuda_gpu_sum(capture: Capture) -> None:
    """Kernels, copies and fills in one list: two of our queries, one denominator."""
    ask, golden = capture
    rows = [
        row | {"Category": "CUDA_KERNEL", "Operation": row["name"]}
        for row in ask("kernel_totals")
    ]
    rows += [
        row | {"Category": "MEMORY_OPER", "Operation": LABELS[row["kind"]]}
        for row in ask("memcpy_summary")
    ]
    whole = sum(row["total_ns"] for row in rows)
    ours = [
        durations(row | {"share": 100 * row["total_ns"] / whole}, "share")
        | {
            "Instances": text(row.get("kernel_count", row.get("copy_count"))),
            "Category": row["Category"],
            "Operation": row["Operation"],
        }
        for row in rows
    ]
    compare(ours, golden("cuda_gpu_sum"), "Category", "Operation")


# The rules of `nsys analyze`; each capture has the goldens of one other name.
RULES = {"cudf": "quasiben_nvtx-examples", "streams": "Lianhang666_gpu4"}


def rule_rows(corpus: Path, prefix: str, rule: str) -> list[dict[str, str]]:
    """A golden of `nsys analyze`: 50 rows, with version suffixes in the names."""
    path = corpus / "nsys" / "golden" / f"an.{RULES[prefix]}.{rule}.csv"
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(line for line in file if line.strip()))
    for row in rows:
        row["API Name"] = re.sub(r"_v[0-9]{4,}$", "", row["API Name"])
    return rows


@pytest.fixture(params=list(RULES))
def ruled(
    request: pytest.FixtureRequest,
    corpus: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Capture:
    store = traceql.open_store(tmp_path_factory.mktemp("ruled"), create=True)
    store.ingest(corpus / "nsys" / CAPTURES[request.param])

    def ask(name: str, **params: Any) -> list[Row]:
        return store.query(name, **params).rows()

    return ask, lambda rule: rule_rows(corpus, request.param, rule)


def test_rules(ruled: Capture) -> None:
    ask, golden = ruled
    calls = [
        {
            "Duration (ns)": text(row["dur_ns"]),
            "Start (ns)": text(row["start_ns"]),
            "PID": text(row["pid"]),
            "TID": text(row["tid"]),
            "API Name": row["name"],
        }
        for row in ask("sync_calls", top=50)
    ]
    compare(calls, golden("cuda_api_sync"), "Start (ns)", "TID")
    rules = {
        "cuda_memcpy_async": "pageable_async_copies",
        "cuda_memcpy_sync": "sync_copies",
        "cuda_memset_sync": "sync_memsets",
    }
    for rule, query in rules.items():
        ours = [operation_row(row) for row in ask(query, top=50)]
        compare(ours, golden(rule), "Start (ns)", "Stream ID")


def operation_row(row: Row) -> dict[str, str]:
    return {
        "Duration (ns)": text(row["dur_ns"]),
        "Start (ns)": text(row["start_ns"]),
        "Src Kind": text(row.get("src_memory")).capitalize(),
        "Dst Kind": text(row.get("dst_memory")).capitalize(),
        "Bytes (MB)": megabytes(row["bytes"]),
        "PID": text(row["pid"]),
        "Device ID": text(row["device_id"]),
        "Context ID": text(row["context_id"]),
        "Green Context ID": text(row["green_context_id"]),
        "Stream ID": text(row["stream_id"]),
        "API Name": row["api_name"],
    }


def compare(
    ours: list[dict[str, str]], theirs: list[dict[str, str]], *key: str
) -> None:
    """Every row of the golden, every column of it, and no row beside them."""
    columns = list(theirs[0]) if theirs else []
    trimmed = [{column: row[column] for column in columns} for row in ours]
    assert by(trimmed, *key) == by(theirs, *key)
