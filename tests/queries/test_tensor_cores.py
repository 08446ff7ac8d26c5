"""Tensor cores and precision: rules, figures by hand, DLProf's own figures."""

from __future__ import annotations

import csv
import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from query_database import Database, empty

import traceql

FOLDER = Path(__file__).parents[2] / "queries" / "v1" / "rules"
FFMA = "sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize64x256x8_stage3_ffma_aligna4"
HALF = "ampere_fp16_s16816gemm_fp16_128x64_ldg8_f2f_stages_32x6_tn"
TRITON = "triton_tem_fused_addmm_3"
COPY = "void at::native::vectorized_elementwise_kernel<4, at::native::copy>"


def answer(rules: str, name: str) -> str:
    [(found,)] = empty().con.execute(f"SELECT v1.{rules}(?)", [name]).fetchall()
    return str(found)


# --- rules


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (FFMA, "no"),
        ("void cutlass::Kernel2<cutlass_80_simt_sgemm_128x128_8x4_nt_align1>", "no"),
        ("volta_sgemm_128x64_nn", "no"),
        ("volta_scudnn_128x64_relu_interior_nn_v1", "no"),
        ("volta_hgemm_128x64_nn", "no"),
        ("void cublasLt::splitKreduce_kernel<32, 16, int, __half>", "no"),
        ("flash_bwd_dot_do_o_kernel<cutlass::half_t>", "no"),
        (HALF, "yes"),
        ("volta_h884gemm_64x128_ldg8_nn", "yes"),
        ("turing_int8_i8816gemm_int8_128x128_ldg16_relu_tn_v1", "yes"),
        ("void cutlass::Kernel2<cutlass_80_tensorop_s1688gemm_64x64_nt_align4>", "yes"),
        ("sm80_xmma_gemm_tf32f32_tf32f32_f32_tn_n_tensor16x8x8_execute", "yes"),
        # kineto#1041: missed by Kineto's list
        ("sm90_xmma_fprop_implicit_gemm_bf16bf16_bf16f32_f32_nhwckrsc_nhwc", "yes"),
        ("nvjet_tst_128x256_64x4_1x2_h_bz_coopA_TNT", "yes"),
        ("void flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128>>", "yes"),
        ("void gemm_kernel<OpClassTensorOp>", "yes"),
        (TRITON, "unknown"),
        ("sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize64x256x8", "unknown"),
        ("void op_tensor_kernel<2, float>", "unknown"),
        ("gamma_summary_kernel_1688x", "unknown"),
        ("triton_poi_fused_add_1688", "unknown"),
        ("mine", "unknown"),
    ],
)
def test_kernels(name: str, expected: str) -> None:
    assert answer("kernel_tensor_core", name) == expected


def test_kernels_with_a_labelled_precision() -> None:
    """FP16, BF16, TF32, FP8 products of cuBLAS, cuDNN and CUTLASS; FP32 never."""
    wrong = []
    path = Path(__file__).with_name("kernel_names.csv")
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            found = answer("kernel_tensor_core", row["name"])
            known = (row["class"] in ("gemm", "convolution")) and found != "unknown"
            if row["precision"] == "fp32" and found == "yes":
                wrong.append(row["name"])
            if row["precision"] in ("tf32", "fp8") and known and found != "yes":
                wrong.append(row["name"])
    assert not wrong


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("aten::mm", "yes"),
        ("aten::addmm", "yes"),
        ("aten::cudnn_convolution", "yes"),
        ("aten::convolution_backward", "yes"),
        ("aten::_convolution", "yes"),
        ("aten::mm, op_id = 318133", "yes"),
        ("aten::linalg_multi_dot", "yes"),
        ("AddmmBackward0", "yes"),
        ("autograd::engine::evaluate_function: ConvolutionBackward0", "yes"),
        ("CudnnConvolutionBackward", "yes"),
        ("conv2d", "yes"),
        ("linear", "yes"),
        ("MatMul", "yes"),
        ("model/dense/MatMul", "yes"),
        ("gradients/conv1/Conv2D_grad/Conv2DBackpropFilter", "yes"),
        ("fused/_FusedConv2D", "yes"),
        ("while/BatchMatMulV2", "yes"),
        ("rnn/CudnnRNNV3", "yes"),
        ("XlaDotV2", "yes"),
        ("aten::_scaled_dot_product_flash_attention", "yes"),
        ("_XlaLaunch", "cluster"),
        ("_XlaRun", "cluster"),
        ("model/StatefulPartitionedCall_1", "cluster"),
        ("_XlaMerge", "unknown"),
        ("aten::add_", "unknown"),
        ("aten::mul", "unknown"),
        ("aten::mm_like", "unknown"),
        ("aten::mse_loss", "unknown"),
        ("MulBackward0", "unknown"),
        ("SparseTensorDenseMatMul", "unknown"),
        ("model/dense/BiasAdd", "unknown"),
        ("linear_schedule", "unknown"),
    ],
)
def test_operations(name: str, expected: str) -> None:
    assert answer("op_tensor_core", name) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("float", "fp32"),
        ("c10::Half", "fp16"),
        ("c10::BFloat16", "bf16"),
        ("double", "fp64"),
        ("float16", "fp16"),
        ("fp32", "fp32"),
        ("signed char", "int8"),
        ("c10::Float8_e4m3fn", "fp8"),
        ("long int", "unknown"),
        ("float[]", "unknown"),
    ],
)
def test_types(name: str, expected: str) -> None:
    assert answer("type_precision", name) == expected


@pytest.mark.parametrize(
    "rules", ["kernel_tensor_core", "class_tensor_core", "op_tensor_core"]
)
def test_every_rule_says_its_answer_and_where_from(rules: str) -> None:
    with (FOLDER / f"{rules}.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))[1:]
    assert rows
    answers = ("yes", "cluster") if rules == "op_tensor_core" else ("yes", "no")
    assert all(said in answers and source for said, _, source in rows)


# --- figures by hand


def op(number: int, name: str | None, **more: Any) -> dict[str, Any]:
    return {"op_id": number, "ts_ns": 0, "dur_ns": 10, "name": name} | more


def kernel(name: str, start: int, dur: int | None, **more: Any) -> dict[str, Any]:
    return {"name": name, "ts_ns": start, "dur_ns": dur, "device_id": 0} | more


@pytest.fixture
def database() -> Database:
    found = empty()
    found.window(0, 1000)
    found.insert(
        "op",
        op(1, "aten::mm", input_types=json.dumps(["float", "float"])),
        op(2, "aten::mm", input_types=json.dumps(["c10::Half", "c10::Half"])),
        op(3, "aten::addmm", input_types=json.dumps(["c10::Half", "", "Scalar"])),
        op(4, "aten::add", input_types=json.dumps(["float", "long int"])),
        op(5, "aten::copy_", input_types=json.dumps(["float", "c10::Half"])),
    )
    found.insert(
        "kernel",
        kernel(FFMA, 0, 200, op_id=1),
        kernel(HALF, 200, 100, op_id=2),
        kernel(HALF, 900, 300, op_id=2),  # 100 of it in the window
        kernel(TRITON, 300, 50, op_id=3),
        kernel("fused_add", 350, 30, op_id=4),
        kernel("fused_copy", 380, 20, op_id=5),
        kernel(COPY, 400, 40, op_id=2),
        kernel("mine", 440, 60),
    )
    return found


COLUMNS = (
    *("label", "uses_tc", "tc_eligible", "kernel_ns", "tc_ns", "no_tc_ns"),
    *("unknown_tc_ns", "eligible_ns", "eligible_tc_ns", "eligible_no_tc_ns"),
)


def figures(rows: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    return [tuple(row[column] for column in COLUMNS) for row in rows]


def test_usage_of_the_run(database: Database) -> None:
    (row,) = database.ask("tensor_core_usage")
    assert figures([row]) == [
        (None, "yes", "yes", 600, 200, 240, 160, 490, 200, 240),
    ]
    assert row["kernel_count"] == 8
    assert row["unknown_eligible_ns"] == 60
    assert row["tc_pct"] == pytest.approx(100 * 200 / 600)
    assert row["unknown_tc_pct"] == pytest.approx(100 * 160 / 600)
    assert row["utilization_pct"] == pytest.approx(100 * 200 / 490)
    assert row["utilization_max_pct"] == pytest.approx(100 * 250 / 490)
    assert row["stated_pct"] == 0


def test_whether_a_cluster_could_is_unknown_unless_the_source_says_it() -> None:
    """XLA's clusters hold other operations: DLProf says of some that they could."""
    database = empty()
    database.window(0, 1000)
    run = op(3, "cluster_2/xla_run", op_type="_XlaRun", extra='{"tc_eligible":true}')
    database.insert("op", op(1, "cluster_0/_2/_3", op_type="_XlaLaunch"), run)
    database.insert("op", op(2, "dense/BiasAdd", op_type="BiasAdd"))
    database.insert(
        "kernel",
        *(kernel(HALF, 100 * n, 10 * n, op_id=n) for n in (1, 2, 3)),
    )
    rows = database.ask("tensor_core_usage", group_by="op_type")
    assert figures(rows) == [
        ("_XlaRun", "yes", "yes", 30, 30, 0, 0, 30, 30, 0),
        ("BiasAdd", "yes", "no", 20, 20, 0, 0, 0, 0, 0),
        ("_XlaLaunch", "yes", "unknown", 10, 10, 0, 0, 0, 0, 0),
    ]
    assert [row["unknown_eligible_ns"] for row in rows] == [0, 0, 10]


def test_usage_by_operation_has_one_answer_for_each(database: Database) -> None:
    rows = database.ask("tensor_core_usage", group_by="op")
    assert figures(rows) == [
        ("aten::mm", "yes", "yes", 440, 200, 240, 0, 440, 200, 240),
        (None, "unknown", "unknown", 60, 0, 0, 60, 0, 0, 0),
        ("aten::addmm", "unknown", "yes", 50, 0, 0, 50, 50, 0, 0),
        ("aten::add", "unknown", "no", 30, 0, 0, 30, 0, 0, 0),
        ("aten::copy_", "unknown", "no", 20, 0, 0, 20, 0, 0, 0),
    ]
    unknown = rows[2]
    assert (unknown["tc_pct"], unknown["utilization_pct"]) == (None, None)
    assert unknown["utilization_max_pct"] == 100
    by_kernel = database.ask("tensor_core_usage", group_by="kernel", top=2)
    assert figures(by_kernel) == [
        (HALF, "yes", "yes", 200, 200, 0, 0, 200, 200, 0),
        (FFMA, "no", "yes", 200, 0, 200, 0, 200, 0, 200),
    ]


def test_the_source_wins_over_the_rules() -> None:
    """A kernel of FP32's name said to use them; operations said able, and unable."""
    found = empty()
    found.window(0, 1000)
    said = {flag: json.dumps({"tc_eligible": flag}) for flag in (True, False)}
    found.insert(
        "op",
        op(1, "custom", op_type="mystery", extra=said[True]),
        op(2, "conv", op_type="conv2d", extra=said[False]),
        op(3, "conv_b", op_type="conv2d"),
        op(4, "custom", op_type="mystery"),
    )
    found.insert(
        "kernel",
        kernel("volta_sgemm_128x64_nn", 0, 10, op_id=1, extra='{"uses_tc": true}'),
        kernel(HALF, 10, 20, op_id=2, extra='{"uses_tc": false}'),
        kernel(FFMA, 30, 30, op_id=3, extra="{}"),
        kernel(HALF, 60, 40, op_id=4, extra='{"uses_tc": null}'),
    )
    rows = found.ask("tensor_core_usage", group_by="op")
    assert figures(rows) == [
        ("custom", "yes", "yes", 50, 50, 0, 0, 50, 50, 0),
        ("conv_b", "no", "yes", 30, 0, 30, 0, 30, 0, 30),
        ("conv", "no", "no", 20, 0, 20, 0, 0, 0, 0),
    ]
    assert [row["stated_pct"] for row in rows] == [20, 0, 100]
    unused = found.ask("tensor_core_usage", group_by="op", unused=True)
    assert [row["label"] for row in unused] == ["conv_b"]
    by_type = found.ask("tensor_core_usage", group_by="op_type")
    assert figures(by_type) == [
        ("conv2d", "no", "yes", 50, 0, 50, 0, 30, 0, 30),
        ("mystery", "yes", "yes", 50, 50, 0, 0, 50, 50, 0),
    ]


def test_precisions(database: Database) -> None:
    rows = database.ask("precision_mix")
    # addmm's halves tell its kernel; add's float, the integer beside it says nothing;
    # a copy from one type to another has no one precision; an elementwise kernel of
    # mm in halves is of halves.
    assert [(r["precision"], r["kernel_ns"], r["by_op_ns"]) for r in rows] == [
        ("fp16", 290, 90),
        ("fp32", 230, 30),
        ("unknown", 80, 0),
    ]
    assert [row["kernel_count"] for row in rows] == [4, 2, 2]
    assert [row["tc_ns"] for row in rows] == [200, 0, 0]
    assert rows[0]["kernel_pct"] == pytest.approx(100 * 290 / 600)
    by_op = database.ask("precision_mix", group_by="op")
    assert {(r["label"], r["precision"]): r["kernel_ns"] for r in by_op} == {
        ("aten::mm", "fp32"): 200,
        ("aten::mm", "fp16"): 240,
        ("aten::addmm", "fp16"): 50,
        ("aten::add", "fp32"): 30,
        ("aten::copy_", "unknown"): 20,
        (None, "unknown"): 60,
    }


def test_fp32_inputs_may_be_computed_as_tf32() -> None:
    found = empty()
    found.window(0, 100)
    found.insert("op", op(1, "aten::mm", input_types='["float", "float"]'))
    found.insert("kernel", kernel(TRITON, 0, 10, op_id=1))
    (row,) = found.ask("precision_mix")
    assert (row["precision"], row["kernel_ns"], row["by_op_ns"]) == ("unknown", 10, 0)


# --- real files


def _session(store: traceql.Store, path: Path) -> Any:
    (outcome,) = store.ingest(path)
    assert outcome.run is not None, outcome.error
    return store.session([outcome.run.run_id])


def test_fp32_products_of_an_h100(corpus: Path, store: traceql.Store) -> None:
    """The lists of PyProf and Kineto call 86.5 % of this time tensor core."""
    session = _session(store, corpus / "nsys" / "GindaChen-h100_2gpu_1s.sqlite")
    (row,) = session.sql("FROM tensor_core_usage()").rows()
    path = corpus / "nsys" / "GindaChen-h100_2gpu_1s.sqlite"
    with closing(sqlite3.connect(path)) as con:
        [(ffma_ns, all_ns)] = con.execute(
            "SELECT sum(CASE WHEN s.value LIKE '%ffma%' THEN k.end - k.start END), "
            "sum(k.end - k.start) FROM CUPTI_ACTIVITY_KIND_KERNEL AS k "
            "JOIN StringIds AS s ON s.id = k.demangledName"
        ).fetchall()
    assert round(100 * ffma_ns / all_ns, 1) > 80
    assert (row["tc_ns"], row["kernel_ns"]) == (0, all_ns)
    assert row["no_tc_ns"] >= ffma_ns
    assert row["utilization_pct"] == 0
    (mix,) = session.sql("FROM precision_mix() WHERE precision = 'fp32'").rows()
    assert mix["kernel_ns"] >= ffma_ns


@pytest.mark.parametrize("name", ["dlprof_dldb_1.sqlite", "dlprof_dldb_7.sqlite"])
def test_dlprof(corpus: Path, store: traceql.Store, name: str) -> None:
    """Its tensor core report has the operations that could use them, and their time."""
    folder = corpus / "dlprof" / "MohanadOdema_DLProf" / "w_Relu"
    session = _session(store, folder / name)
    with (folder / "dlprof_tensor_core.csv").open(newline="") as file:
        next(file)
        report = list(csv.DictReader(file))
    expected = {
        row["Op Name"]: (
            row["Uses TC"],
            int(row["Total GPU Time (ns)"]),
            int(row["TC GPU Time (ns)"]),
        )
        for row in report
    }
    rows = session.sql("FROM tensor_core_usage(group_by := 'op')").rows()
    found = {
        row["label"]: (row["uses_tc"], row["eligible_ns"], row["eligible_tc_ns"])
        for row in rows
        if row["tc_eligible"] == "yes"
    }
    assert found == expected
    with closing(sqlite3.connect(folder / name)) as con:
        [(stated,)] = con.execute("SELECT tc_utilization FROM view_tc_utilization")
    (row,) = session.sql("FROM tensor_core_usage()").rows()
    assert row["utilization_pct"] == row["utilization_max_pct"] == stated
    assert row["eligible_ns"] == sum(time for _, time, _ in expected.values())
    assert row["stated_pct"] == 100
    unused = session.sql("FROM tensor_core_usage(group_by := 'op', unused := true)")
    assert {r["label"] for r in unused.rows()} == set(expected)


def test_rules_agree_with_dlprof(corpus: Path, store: traceql.Store) -> None:
    """Its capture, where rules alone say it: no kernel that DLProf calls otherwise."""
    folder = corpus / "dlprof" / "MohanadOdema_DLProf" / "w_Relu"
    session = _session(store, folder / "nsys_profile.sqlite")
    (row,) = session.sql("FROM tensor_core_usage()").rows()
    assert (row["stated_pct"], row["kernel_ns"], row["tc_ns"]) == (0, 589_147, 0)
    # The bias is added by an operation within the convolution's: not eligible itself.
    # DLProf counts it, 10 016 ns, with the convolution.
    assert row["eligible_ns"] == 572_763 - 10_016
