"""What operations compute, against hand counts and PyProf's own CSV."""

from __future__ import annotations

import csv
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from query_database import Database, empty

import traceql

_HALF, _FLOAT = "c10::Half", "float"


def _asked(
    name: str,
    shapes: list[Any],
    types: list[str],
    concrete: list[str] | None = None,
    **more: object,
) -> dict[str, Any]:
    """The row of one operation that launched a kernel of 1,000 ns.

    Args:
        name: Of the operation.
        shapes: Of its inputs.
        types: Of its inputs.
        concrete: Values of scalar inputs.
        more: Other columns of op.
    """
    db: Database = empty()
    db.window(0, 5_000)
    op = {
        "op_id": 1,
        "name": name,
        "ts_ns": 0,
        "dur_ns": 2_000,
        "placement": "host",
        "pid": 1,
        "tid": 1,
        "input_shapes": json.dumps(shapes),
        "input_types": json.dumps(types),
        "concrete_inputs": None if concrete is None else json.dumps(concrete),
        **more,
    }
    db.insert("op", op)
    db.insert("kernel", {"ts_ns": 500, "dur_ns": 1_000, "op_id": 1, "device_id": 0})
    peak = {"device_id": 0, "kind": "gpu", "memory_bandwidth_bytes_per_s": 10**12}
    db.insert("device", peak)
    (row,) = db.ask("op_cost")
    return row


@pytest.mark.parametrize(
    ("name", "shapes", "types", "concrete", "flops", "work_bytes"),
    [
        # 2*2*3*5; (2*5 + 5*3 + 2*3) * 4
        ("aten::mm", [[2, 5], [5, 3]], [_FLOAT] * 2, None, 60, 124),
        ("aten::addmm", [[3], [2, 5], [5, 3]], [_HALF] * 3, None, 60, 62),
        # 7 of them
        ("aten::bmm", [[7, 2, 5], [7, 5, 3]], [_FLOAT] * 2, None, 420, 868),
        ("aten::matmul", [[7, 2, 5], [5, 3]], [_FLOAT] * 2, None, 420, 508),
        ("aten::matmul", [[2, 5], [5]], [_FLOAT] * 2, None, 20, 68),
        # M = 4*2, N = 3, K = 5; bytes of all three by the type's size
        ("linear", [[4, 2, 5], [3, 5], [3]], ["float16"] * 3, None, 240, 158),
        # P = Q = (8 + 2*1 - 1*(3-1) - 1) // 2 + 1 = 4, C = 4, g = 2, K = 6
        (
            "aten::conv2d",
            [[1, 4, 8, 8], [6, 2, 3, 3], [], [], [], [], []],
            [_FLOAT, _FLOAT, "", "ScalarList", "ScalarList", "ScalarList", "Scalar"],
            ["", "", "", "[2, 2]", "[1, 1]", "[1, 1]", "2"],
            2 * 6 * 16 * 2 * 9,
            4 * (256 + 108 + 96),
        ),
        ("aten::relu", [[10]], [_FLOAT], None, 10, 80),
        ("aten::tanh", [[10]], [_FLOAT], None, 200, 80),
        # the result has 6 elements: 6 operations; (2 + 3 + 6) * 4 bytes
        ("aten::add", [[2, 1], [3], []], [_FLOAT, _FLOAT, "Scalar"], None, 6, 44),
        ("aten::mul_", [[10], []], [_FLOAT, "double"], None, 10, 80),
        ("aten::softmax", [[2, 5], [], []], [_FLOAT, "Scalar", ""], None, 400, 120),
        ("aten::mean", [[2, 5], []], [_FLOAT, ""], None, 11, 40),
        # 6 rows of 5 in and out, 6 numbers
        ("aten::embedding", [[9, 5], [2, 3]], [_FLOAT, "long int"], None, 0, 288),
        # 4 an element and 1 for the weights; twice the elements, 5 weights, 5 biases
        (
            "aten::layer_norm",
            [[2, 5], [], [5], [5]],
            [_FLOAT, "ScalarList", _FLOAT, _FLOAT],
            None,
            10 * 5,
            4 * (10 + 10 + 5 + 5),
        ),
        ("aten::layer_norm", [[2, 5], []], [_FLOAT, "ScalarList"], None, 40, 80),
        # 6 heads of 4 queries and 5 keys: each score 8 products, each result 5 of 6
        (
            "aten::scaled_dot_product_attention",
            [[2, 3, 4, 8], [2, 3, 5, 8], [2, 3, 5, 6]],
            [_FLOAT] * 3,
            None,
            2 * 6 * (4 * 5 * 8 + 4 * 6 * 5),
            4 * 6 * (4 * 8 + 5 * 8 + 5 * 6 + 4 * 6),
        ),
        ("aten::addcmul_", [[10], [10], [10], []], [_FLOAT] * 4, None, 30, 160),
        ("aten::addcdiv", [[10], [10], [10], []], [_FLOAT] * 4, None, 30, 160),
        ("aten::lerp", [[10], [10], []], [_FLOAT] * 3, None, 30, 120),
        ("aten::where", [[10], [10], [10]], ["bool", _FLOAT, _FLOAT], None, 10, 130),
        # A difference and a square each, their mean; two read, one written if no mean
        ("aten::mse_loss", [[10], [10], []], [_FLOAT] * 3, ["", "", "1"], 21, 80),
        ("aten::mse_loss", [[10], [10], []], [_FLOAT] * 3, ["", "", "0"], 20, 120),
        # Weight, mean, variance in and out, the gradient in, a copy in halves out
        (
            "adam",
            [[10], [10], [10], [10], [10]],
            [_FLOAT, _HALF, _FLOAT, _FLOAT, _FLOAT],
            None,
            0,
            10 * (2 * 3 * 4 + 4 + 2),
        ),
        # 25 places of 4 channels, each to 6 channels of 3 by 3; the result is 10 by 10:
        # (5 - 1) * 2 - 2 * 1 + (3 - 1) + 1 + 1
        (
            "aten::conv_transpose2d",
            [[1, 4, 5, 5], [4, 6, 3, 3], [], [], [], [], [], []],
            [_FLOAT, _FLOAT, "", *["ScalarList"] * 3, "Scalar", "ScalarList"],
            ["", "", "", "[2, 2]", "[1, 1]", "[1, 1]", "1", "[1, 1]"],
            2 * 25 * 4 * 6 * 9,
            4 * (100 + 216 + 600),
        ),
        # conv2d above, for the gradients of input and weights
        (
            "aten::convolution_backward",
            [[1, 6, 4, 4], [1, 4, 8, 8], [6, 2, 3, 3], *[[]] * 8],
            [_FLOAT] * 3 + [""] * 8,
            [
                *("", "", "", "", "[2, 2]", "[1, 1]", "[1, 1]", "False", "[0, 0]"),
                *("2", "[True, True, False]"),
            ],
            2 * 2 * 6 * 16 * 2 * 9,
            2 * 4 * (256 + 108 + 96),
        ),
    ],
)
def test_by_hand(
    name: str,
    shapes: list[Any],
    types: list[str],
    concrete: list[str] | None,
    flops: int,
    work_bytes: int,
) -> None:
    """One call: operations, bytes, and what follows of them in 1,000 ns."""
    row = _asked(name, shapes, types, concrete)
    assert (row["flops"], row["work_bytes"]) == (flops, work_bytes)
    assert (row["call_count"], row["gpu_sum_ns"]) == (1, 1_000)
    assert row["tflops_per_s"] == pytest.approx(flops / 1e6)
    assert row["gb_per_s"] == pytest.approx(work_bytes / 1e3)
    assert row["bandwidth_pct"] == pytest.approx(work_bytes / 1e3 / 1e3 * 100)


@pytest.mark.parametrize(
    ("name", "shapes", "types"),
    [
        ("aten::group_norm", [[2, 5], [], [5]], [_FLOAT, "", _FLOAT]),
        ("aten::mm", [[2, 5], [4, 3]], [_FLOAT] * 2),
        ("aten::mm", [[2, 5]], [_FLOAT]),
        ("aten::mm", [[], []], ["", ""]),
        ("aten::cat", [[[2, 5], [2, 5]], []], ["TensorList", "Scalar"]),
        # its strides are not known
        ("aten::conv2d", [[1, 4, 8, 8], [6, 4, 3, 3]], [_FLOAT] * 2),
    ],
)
def test_unknown_is_null(name: str, shapes: list[Any], types: list[str]) -> None:
    """No formula, or arguments that do not fit or say too little: NULL, never 0."""
    row = _asked(name, shapes, types)
    found = [row[c] for c in ("flops", "work_bytes", "tflops_per_s", "gb_per_s")]
    assert found == [None] * 4
    assert row["gpu_sum_ns"] == 1_000
    assert not row["is_known"]


def test_backward_of_attention_has_operations_and_no_bytes() -> None:
    """Five products: the scores again, and four gradients; what is kept is unknown."""
    row = _asked(
        "aten::_scaled_dot_product_flash_attention_backward",
        [[2, 3, 4, 6], [2, 3, 4, 8], [2, 3, 5, 8], [2, 3, 5, 6]],
        [_FLOAT] * 4,
    )
    assert row["flops"] == 2 * 6 * 4 * 5 * (3 * 8 + 2 * 6)
    assert row["work_bytes"] is None


def test_attention_with_its_own_weights() -> None:
    """Four matrices of 8 by 8, for 4 queries and 5 keys, and two products of scores."""
    row = _asked(
        "aten::_native_multi_head_attention",
        [[2, 4, 8], [2, 5, 8], [2, 5, 8], [], [], [24, 8], [24], [8, 8]],
        [_FLOAT] * 3 + ["Scalar"] * 2 + [_FLOAT] * 3,
    )
    projected = 2 * (4 + 4 + 5 + 5) * 8 * 8
    assert row["flops"] == 2 * (projected + 2 * 2 * 4 * 5 * 8)
    assert row["work_bytes"] is None


@pytest.mark.parametrize(
    ("concrete", "extra"),
    [
        # PyProf: positional arguments have no name, the others are where they are.
        (
            ["", "", "1", "2"],
            {"args": [{"name": n} for n in ("", "", "padding", "stride")]},
        ),
        # DLProf states the result instead.
        (None, {"output_shapes": [[1, 6, 4, 4]]}),
    ],
)
def test_convolution_told_otherwise(
    concrete: list[str] | None, extra: dict[str, Any]
) -> None:
    """Strides by name, or the shape of the result: 4 by 4 of 8 by 8."""
    row = _asked(
        "conv2d",
        [[1, 4, 8, 8], [6, 4, 3, 3], *([[], []] if concrete else [])],
        ["float32", "float32", *(["int", "int"] if concrete else [])],
        concrete,
        extra=json.dumps(extra, separators=(",", ":")),
    )
    assert row["flops"] == 2 * 6 * 16 * 4 * 9
    assert row["work_bytes"] == 4 * (256 + 216 + 96)


def test_channels_last_are_unknown() -> None:
    """With the channels last the places of the shapes mean something else."""
    extra = {"output_shapes": [[1, 4, 4, 6]], "data_format": "N,H,W,C"}
    row = _asked(
        "conv2d",
        [[1, 8, 8, 4], [6, 4, 3, 3]],
        ["float32"] * 2,
        extra=json.dumps(extra, separators=(",", ":")),
    )
    assert row["flops"] is None


def test_what_the_source_computed_is_beside() -> None:
    """The profiler's own figure, also where there is no formula."""
    row = _asked("aten::relu", [[10]], [_FLOAT], flops=99)
    assert (row["flops"], row["source_flops"]) == (10, 99)
    row = _asked("aten::group_norm", [[10]], [_FLOAT], flops=99)
    assert (row["flops"], row["source_flops"]) == (None, 99)
    assert row["tflops_per_s"] == pytest.approx(99 / 1e6)


def test_rows_of_prof_have_its_own_figures() -> None:
    """Two kernels of one operation: sums of what PyProf wrote, no figure of ours."""
    db = empty()
    db.window(0, 5_000)
    for number, (flops, moved) in enumerate([(7, 3), (8, 4)]):
        fields = {"FLOPs": str(flops), "Bytes": str(moved), "Params": "T=[(2,3)]"}
        db.insert(
            "report_row",
            {
                "report": "pyprof_prof",
                "row_number": number,
                "op_name": "relu",
                "direction": "fprop",
                "gpu_time_ns": 100,
                "fields": json.dumps(fields),
            },
        )
    (row,) = db.ask("op_cost")
    assert (row["source_flops"], row["source_bytes"]) == (15, 7)
    assert (row["call_count"], row["gpu_sum_ns"]) == (2, 200)
    assert row["flops"] is None


def test_unknown_type_has_operations_and_no_bytes() -> None:
    """The number of operations does not hang on the type."""
    row = _asked("aten::mm", [[2, 5], [5, 3]], ["c10::Odd"] * 2)
    assert (row["flops"], row["work_bytes"]) == (60, None)


def test_what_a_counted_operation_calls_is_in_its_row() -> None:
    """Time of linear's addmm counts once, in linear."""
    db: Database = empty()
    db.window(0, 5_000)
    inner = {"placement": "host", "pid": 1, "tid": 1}
    shapes, types = "[[2,5],[3,5],[3]]", '["float","float","float"]'
    outer = {"name": "aten::linear", "ts_ns": 0, "dur_ns": 2_000}
    outer |= {"op_id": 1, "input_shapes": shapes, "input_types": types}
    addmm = {"name": "aten::addmm", "ts_ns": 100, "dur_ns": 500, "op_id": 2}
    addmm |= {"input_shapes": "[[3],[2,5],[5,3]]", "input_types": types}
    db.insert("op", outer | inner, addmm | inner)
    db.insert("kernel", {"ts_ns": 700, "dur_ns": 1_000, "op_id": 2, "device_id": 0})
    rows = db.ask("op_cost")
    assert [(r["label"], r["flops"], r["gpu_sum_ns"]) for r in rows] == [
        ("aten::linear", 60, 1_000)
    ]


def _printed(path: Path) -> dict[str, tuple[int, int]]:
    """PyProf's own sums of operations and bytes, of forward operations by name."""
    sums: dict[str, list[float]] = defaultdict(lambda: [0, 0])
    with path.open(newline="") as file:
        for row in csv.DictReader(file):
            if row["Direction"] == "fprop":
                sums[row["Op"]][0] += float(row["FLOPs"])
                sums[row["Op"]][1] += float(row["Bytes"])
    return {op: (int(flops), int(moved)) for op, (flops, moved) in sums.items()}


def _ours(store: traceql.Store, path: Path) -> dict[str, tuple[int, int]]:
    (outcome,) = store.ingest(path)
    assert outcome.run is not None, outcome.error
    session = store.session([outcome.run.run_id])
    sums: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for row in session.query("op_cost").rows():
        if row["direction"] == "forward" and row["is_known"]:
            sums[row["label"]][0] += row["flops"]
            sums[row["label"]][1] += row["work_bytes"]
    return {op: (flops, moved) for op, (flops, moved) in sums.items()}


def test_lm_against_pyprof(corpus: Path, store: traceql.Store) -> None:
    """A language model: PyProf's CSV of the same .dict, where PyProf is right."""
    folder = corpus / "dlprof" / "josiahdavis_profiling-lm"
    ours = _ours(store, folder / "net.dict")
    printed = _printed(folder / "lm.csv")
    for op in ("embedding", "__mul__", "dropout", "relu", "norm", "mul_"):
        assert ours[op] == printed[op], op
    assert ours["linear"][0] == printed["linear"][0]
    # 3 sizes of M=700 and their own N and K; PyProf multiplies only one term by 4.
    assert ours["linear"][1] == 4 * sum(
        700 * n + 700 * k + n * k for n, k in ((200, 200), (200, 200), (33278, 200))
    )
    # This version of PyProf had no operations of log_softmax yet.
    assert ours["log_softmax"] == (21 * 35 * 20 * 33278, printed["log_softmax"][1])


@pytest.mark.parametrize("where", ["capture", "dict"])
def test_network_against_pyprof(corpus: Path, store: traceql.Store, where: str) -> None:
    """Of a capture and of its .dict: one call each, where PyProf counts kernels."""
    folder = corpus / "dlprof"
    path = {
        "capture": folder / "MohanadOdema_DLProf" / "w_Relu" / "nsys_profile.sqlite",
        "dict": folder / "derived_pyprof" / "pyprof_wrelu.dict",
    }[where]
    ours = _ours(store, path)
    printed = _printed(folder / "derived_pyprof" / "pyprof_wrelu.csv")
    assert ours["relu"] == printed["relu"]
    # PyProf counts a product again for its second kernel, splitKreduce of the first
    # layer, whose 2*120*32*400 it has as 3072000.
    assert ours["linear"][0] == printed["linear"][0] - 3_072_000
    # cuDNN tried its algorithms: each kernel counts in PyProf. A call by hand:
    # twice N*K*P*Q*C*R*S of each of the two layers.
    assert ours["conv2d"] == (
        2 * 32 * 6 * 30 * 30 * 3 * 3 * 3 + 2 * 32 * 16 * 11 * 11 * 6 * 5 * 5,
        1_085_064 + 4 * (32 * 6 * 15 * 15 + 16 * 6 * 5 * 5 + 32 * 16 * 11 * 11),
    )
