"""The report about a PyTorch run: step breakdown, operations, memory.

The trace is written by hand: two steps of 100 us, the second without GPU work.
"""

from __future__ import annotations

import html
import json
import re
from typing import Any

import pytest

import traceql
from traceql.report import write_report

MIB = 1 << 20


def _x(
    cat: str, name: str, ts: int, dur: int, pid: int = 9, tid: int = 9, **args: Any
) -> dict[str, Any]:
    where = {"pid": pid, "tid": tid, "ts": ts, "dur": dur}
    return {"ph": "X", "cat": cat, "name": name, "args": args} | where


def _memory(ts: int, change: int, device: int) -> dict[str, Any]:
    """An allocation or a free of a device's memory; -1 is the host."""
    args = {"Bytes": change, "Addr": 1, "Device Id": device}
    args["Device Type"] = 0 if device < 0 else 1
    if device >= 0:
        args |= {"Total Allocated": 4 * MIB + change, "Total Reserved": 16 * MIB}
    where = {"pid": 9, "tid": 9, "ts": ts, "s": "t"}
    event = {"ph": "i", "cat": "cpu_instant_event", "name": "[memory]"}
    return event | {"args": args} | where


KERNEL = {
    **{"correlation": 7, "device": 0, "stream": 7, "warps per SM": 2.0},
    **{"blocks per SM": 0.5, "est. achieved occupancy %": 40},
}
TRACE = {
    "schemaVersion": 1,
    "deviceProperties": [{"id": 0, "name": "A", "totalGlobalMem": 64 * MIB}],
    "traceEvents": [
        _x("user_annotation", "ProfilerStep#1", 1000, 100),
        _x("user_annotation", "ProfilerStep#2", 1100, 100),
        _x("user_annotation", "enumerate(DataLoader)#_X.__next__", 1105, 40),
        _x("cpu_op", "aten::linear", 1010, 50),
        _x("cpu_op", "aten::mm", 1020, 30),
        _x("cuda_runtime", "cudaLaunchKernel", 1025, 5, correlation=7),
        _x("kernel", "ampere_sgemm_32x32_nn", 1040, 25, 0, 7, **KERNEL),
        _x("cpu_op", "aten::relu", 1160, 20),
        _memory(1022, 8 * MIB, 0),
        _memory(1165, -2 * MIB, 0),
        _memory(1012, 1 * MIB, -1),
    ],
}


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("framework")
    source = folder / "trace.json"
    source.write_text(json.dumps(TRACE))
    store = traceql.open_store(folder / "store", create=True)
    (outcome,) = store.ingest(source)
    assert outcome.run is not None, outcome.error
    return write_report(store, [outcome.run], folder / "report.html").read_text()


def rows_of(page: str, figure: str) -> list[list[str]]:
    """Texts of the cells of a figure's table."""
    part = page.split(f'<div class="figure" id="{figure}">')[1]
    body = part[part.index("<tbody>") : part.index("</tbody>")]
    return [
        [
            html.unescape(re.sub(r"<[^>]+>", "", cell)).strip()
            for cell in re.findall(r"<td.*?>(.*?)</td>", row, re.S)
        ]
        for row in re.findall(r"<tr.*?>(.*?)</tr>", body, re.S)
    ]


def points_of(page: str, figure: str) -> list[dict[str, Any]]:
    """What a figure's chart draws."""
    text = page.split(f'id="{figure}-spec">')[1].partition("</script>")[0]
    values: list[dict[str, Any]] = json.loads(text)["data"]["values"]
    return values


def test_the_parts_of_the_steps_add_up(page: str) -> None:
    # Step 1: kernel 25, runtime 5, operations 50 - 5 - 20 beside the kernel, other.
    # Step 2: input 40, operations 20, other 40.
    shares = {row[1]: row[3] for row in rows_of(page, "step-breakdown")}
    assert shares == {
        **{"kernel": "12.50", "memcpy": "0.00", "memset": "0.00"},
        **{"communication": "0.00", "runtime": "2.50", "data_loader": "20.00"},
        **{"cpu_op": "22.50", "other": "42.50"},
    }
    points = points_of(page, "step-breakdown")
    assert len(points) == 2 * 8
    assert sum(p["time_ms"] for p in points) == pytest.approx(0.2)
    (wait, other) = rows_of(page, "input-pipeline")
    assert wait[1] == "ProfilerStep#2" and wait[5] == "40.00"
    assert other[5] == "0.00"


def test_precision_and_occupancy_of_the_kernel(page: str) -> None:
    (row,) = rows_of(page, "precision-mix")
    assert (row[0], row[1], row[4]) == ("fp32", "1", "100.00")
    # Half of the SMs for 25 of the steps' 200 us.
    (device,) = rows_of(page, "sm-efficiency")
    assert device[:6] == ["0", "6.25", "0.5000", "2.000", "40.00", "100.00"]
    assert device[6:] == ["1", "1", "steps"]
    (kernel,) = rows_of(page, "occupancy")
    assert kernel[:3] == ["ampere_sgemm_32x32_nn", "0", "1"]
    assert kernel[4:8] == ["40.00", "0.5000", "0.5000", "2.000"]


def test_operations_have_their_self_time_and_their_device_time(page: str) -> None:
    rows = {row[0]: row for row in rows_of(page, "op-summary")}
    assert list(rows) == ["aten::mm", "aten::linear", "aten::relu"]
    # Of 65 us of self time: 30 - 5 in the call, 50 - 30, 20.
    assert [row[3] for row in rows.values()] == ["38.46", "30.77", "30.77"]
    assert [row[8] for row in rows.values()] == ["100.00", "0.00", "0.00"]
    placements = {row[0]: row[1] for row in rows_of(page, "op-placement")}
    assert placements == {"device": "1", "nested": "1", "host": "1"}
    assert {p["label"] for p in points_of(page, "op-summary")} == set(rows)


def test_memory_has_its_peak_its_curve_and_its_operations(page: str) -> None:
    device, host = rows_of(page, "memory-peak")
    assert device[0] == "0" and device[7] == "aten::mm"
    assert device[9] == "25.00"  # reserved, of what the device has
    assert host[0] == "–" and host[3] == "–"
    curve = points_of(page, "memory-timeline")
    allocated = [p["mib"] for p in curve if p["series"] == "allocated"]
    assert allocated == [12, 2]
    assert [p["mib"] for p in curve if p["series"] == "net"] == [1]
    names = [row[0] for row in rows_of(page, "memory-by-op")]
    assert names[0] == "aten::mm"
    assert {"aten::linear", "aten::relu"} <= set(names)
