"""What kernel names say, and the queries that add up by it.

`kernel_names.csv` holds labelled names: `rules` were at hand while the rules were made;
`check` are real names of public captures, drawn at random and labelled before the rules
met them. On that first meeting the rules gave the right class for 55 of the 60, and the
right precision for 57; the rules that they replaced, for 37 (and for 130 of the 222
others). What was wrong has been mended since, so that the figures below measure what
is known, and the rules' reach on names never seen is rather that of the first meeting.
"""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from query_database import empty
from random_traces import FAST, NAMES, WINDOWS, Op, Row, loaded, ops, window, windows

NAMED = Path(__file__).with_name("kernel_names.csv")


def names(use: str) -> list[dict[str, str]]:
    with NAMED.open(encoding="utf-8", newline="") as file:
        return [row for row in csv.DictReader(file) if row["use"] == use]


@pytest.mark.parametrize(
    ("use", "count", "answer", "least"),
    [
        ("rules", 222, "class", 222),
        ("rules", 222, "precision", 222),
        ("check", 60, "class", 60),
        ("check", 60, "precision", 60),
    ],
)
def test_accuracy(use: str, count: int, answer: str, least: int) -> None:
    rows = names(use)
    assert len(rows) == count
    con = empty().con
    found = [
        con.execute(f"SELECT v1.kernel_{answer}(?)", [row["name"]]).fetchall()[0][0]
        for row in rows
    ]
    wrong = [
        (row[answer], was, row["name"])
        for row, was in zip(rows, found, strict=True)
        if row[answer] != was
    ]
    assert len(rows) - len(wrong) >= least, wrong


def test_each_rule_is_needed_or_has_an_example() -> None:
    """Every class and precision that the rules can answer stands in the list."""
    labelled = {
        answer: {row[answer] for use in ("rules", "check") for row in names(use)}
        for answer in ("class", "precision")
    }
    folder = Path(__file__).parents[2] / "queries" / "v1" / "rules"
    for answer, known in labelled.items():
        with (folder / f"kernel_{answer}.csv").open(encoding="utf-8") as file:
            rules = list(csv.DictReader(file))
        assert {row[answer] for row in rules} | {"unknown"} == known
        assert all(row["source"] for row in rules)


@pytest.mark.parametrize(
    "name",
    [
        "at::native::convert_kernel",
        "void f(lambda(float))",
        "BlockAllReduceSum",
        "void kernel<cutlass::half_t>(cutlass::half_t*)",
        "convex_hull",
    ],
)
def test_names_that_only_look_like_it(name: str) -> None:
    con = empty().con
    [(found,)] = con.execute("SELECT v1.kernel_class(?)", [name]).fetchall()
    wrong = {"convolution", "optimizer", "communication", "gemm"}
    assert found not in wrong


def test_class_totals_by_hand() -> None:
    database = empty()
    database.window(0, 1000)
    kernels = [
        ("ampere_sgemm_128x64_tn", 0, 300),
        ("ampere_sgemm_128x64_tn", 200, 100),
        ("ampere_h16816gemm_64x64", 300, 100),
        ("mine", 400, 250),
        ("ncclDevKernel_AllReduce_Sum_f32_RING", 900, 250),
        ("mine", 950, None),
    ]
    database.insert(
        "kernel",
        *({"name": n, "ts_ns": t, "dur_ns": d, "device_id": 0} for n, t, d in kernels),
    )
    rows = database.ask("kernel_class_totals")
    columns = ("class", "precision", "kernel_count", "name_count", "total_ns")
    assert [tuple(row[c] for c in columns) for row in rows] == [
        ("gemm", "fp32", 2, 1, 400),
        ("unknown", "unknown", 2, 1, 250),
        ("communication", "fp32", 1, 1, 100),
        ("gemm", "fp16", 1, 1, 100),
    ]
    assert {row["unknown_class_pct"] for row in rows} == {100 * 250 / 850}
    assert {row["unknown_precision_pct"] for row in rows} == {100 * 250 / 850}
    assert sum(row["sum_pct"] for row in rows) == pytest.approx(100)
    by_class = database.ask("kernel_class_totals", group_by="class")
    assert [(r["class"], r["precision"], r["total_ns"]) for r in by_class] == [
        ("gemm", None, 500),
        ("unknown", None, 250),
        ("communication", None, 100),
    ]
    assert by_class[0]["top_name"] == "ampere_sgemm_128x64_tn"
    by_precision = database.ask("kernel_class_totals", group_by="precision")
    assert [(r["precision"], r["total_ns"]) for r in by_precision] == [
        ("fp32", 500),
        ("unknown", 250),
        ("fp16", 100),
    ]


@FAST
@given(ops(), windows())
def test_class_totals(trace: list[Op], params: dict[str, int]) -> None:
    expected: dict[Row, list[int]] = {}
    classes = {"compute": "gemm", "communication": "communication"}
    for op in trace:
        limits = window(op.run, params)
        if op.activity in classes and op.meets(*limits):
            key = (op.run, op.device, classes[op.activity])
            row = expected.setdefault(key, [0, 0])
            row[0] += 1
            row[1] += min(op.span[1], limits[1]) - max(op.span[0], limits[0])
    with loaded(trace) as database:
        rows = database.ask("kernel_class_totals", group_by="class", **params)
    assert {
        (r["run_id"], r["device_id"], r["class"]): [r["kernel_count"], r["total_ns"]]
        for r in rows
    } == expected


@FAST
@given(
    ops(),
    windows(),
    st.integers(0, 20) | st.none(),
    st.lists(st.integers(0, 30) | st.none(), min_size=5, max_size=5),
)
def test_short_kernels(
    trace: list[Op],
    params: dict[str, int],
    threshold: int | None,
    calls: list[int | None],
) -> None:
    kernels = [op for op in trace if op.activity in ("compute", "communication")]
    sharing: dict[Row, int] = {}
    for op in kernels:
        sharing[op.run, op.api_call] = sharing.get((op.run, op.api_call), 0) + 1
    groups: dict[Row, list[tuple[Op, bool | None]]] = {}
    for op in kernels:
        start, end = window(op.run, params)
        if not (start <= op.start < end or (op.start == end and not params)):
            continue
        call = None if op.api_call is None else calls[op.api_call]
        limit = None if call is None else call / sharing[op.run, op.api_call]
        limit = limit if threshold is None else threshold
        judged = op.is_timed and limit is not None
        short = (
            op.span[1] - op.span[0] <= limit if judged and limit is not None else None
        )
        key = (op.run, op.device, NAMES[op.activity])
        groups.setdefault(key, []).append((op, short))
    expected: dict[Row, Row] = {}
    for key, members in groups.items():
        short_ones = [op for op, short in members if short]
        if not short_ones:
            continue
        on_device = [m for k, ms in groups.items() if k[:2] == key[:2] for m in ms]
        all_judged = [op for op, short in on_device if short is not None]
        time = sum(op.dur or 0 for op in short_ones)
        whole = sum(op.dur or 0 for op in all_judged)
        judged_count = sum(short is not None for _, short in members)
        expected[key] = (
            *(len(short_ones), judged_count, len(members), time),
            *(len(short_ones) / len(all_judged), time / whole if whole else None),
        )
    with loaded(trace) as database:
        for run in WINDOWS:
            database.insert(
                "api_call", *(_call(run, n, d) for n, d in enumerate(calls))
            )
        rows = database.ask("short_kernels", threshold_ns=threshold, **params)
    columns = "short_count judged_count kernel_count short_ns of_device_share "
    columns += "of_device_time_share"
    found = {
        (r["run_id"], r["device_id"], r["name"]): tuple(r[c] for c in columns.split())
        for r in rows
    }
    assert found.keys() == expected.keys()
    for key, figures in expected.items():
        assert list(found[key]) == pytest.approx(list(figures))


def _call(run: str, number: int, dur: int | None) -> dict[str, Any]:
    row = {"run_id": run, "api_call_id": number, "ts_ns": 0, "dur_ns": dur}
    return row | {"api": "cuda_runtime", "name": "cudaLaunchKernel"}
