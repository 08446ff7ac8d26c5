"""Products of the backward pass in PyProf's files: by hand, and against PyProf's CSV.

A kernel of the backward pass has no arguments: it takes those of the forward kernel
with its sequence number. PyProf's formulas are those of the forward product, once for
the gradient of the input and once for that of the weights.
"""

from __future__ import annotations

import csv
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

import traceql

Arg = dict[str, Any]


def _tensor(*shape: int, dtype: str = "float32") -> Arg:
    return {"name": "", "type": "tensor", "shape": shape, "dtype": dtype}


def _number(name: str, value: int) -> Arg:
    return {"name": name, "type": "int", "value": value}


def _line(
    kernel: str, sub: int, marker: dict[str, Any] | None, op: str
) -> dict[str, Any]:
    """One kernel of 1,000 ns; one without a marker is of the backward pass."""
    return {
        "kShortName": kernel,
        "kDuration": 1_000,
        **{"layer": [], "trace": [], "reprMarkers": [], "altSeqId": []},
        "marker": [] if marker is None else [str(marker)],
        "seqMarker": [f"{op}, seq = 5"],
        **{"seqId": [5], "subSeqId": sub},
        "dir": "bprop" if marker is None else "fprop",
        "mod": [] if marker is None else [marker["mod"]],
        "op": [f"{op}Backward"] if marker is None else [op],
        **{"tid": 1, "device": 0, "stream": 7, "grid": (1, 1, 1), "block": (1, 1, 1)},
        "kLongName": kernel,
    }


def _backward(
    store: traceql.Store, path: Path, mod: str, op: str, args: list[Arg], *names: str
) -> dict[str, Any]:
    """op_cost of the backward kernels `names` of one call."""
    marker = {"mod": mod, "op": op, "args": args}
    lines = [_line("volta_sgemm_fwd", 0, marker, op)]
    lines += [_line(name, sub, None, op) for sub, name in enumerate(names)]
    path.write_text("".join(f"{line!r}\n" for line in lines))
    (outcome,) = store.ingest(path)
    assert outcome.run is not None, outcome.error
    rows = store.query("op_cost", run=outcome.run.run_id).rows()
    (row,) = (r for r in rows if r["direction"] == "backward")
    (forward,) = (r for r in rows if r["direction"] == "forward")
    assert forward["call_count"] == 1
    assert row["label"] == forward["label"] == op
    assert row["gpu_sum_ns"] == 1_000 * len(names)
    return row


GEMMS = ("volta_sgemm_nt", "volta_sgemm_nn")


@pytest.mark.parametrize(
    ("mod", "op", "args", "flops", "work_bytes"),
    [
        # M = 4*2 rows, K = 5 to N = 3: 2*8*3*5; 2 bytes of each of 8*3 + 8*5 + 3*5.
        # PyProf has 24 + 15 + 40*2 there: it multiplies the last term alone.
        (
            "torch.nn.functional",
            "linear",
            [
                _tensor(4, 2, 5, dtype="float16"),
                _tensor(3, 5, dtype="float16"),
                _tensor(3, dtype="float16"),
            ],
            240,
            2 * (24 + 40 + 15),
        ),
        # 2*M*N*K of M = 2, K = 5, N = 3; (MN + MK + NK) * 4
        ("torch", "mm", [_tensor(2, 5), _tensor(5, 3)], 60, 4 * (6 + 10 + 15)),
        # 7 of them
        (
            "torch",
            "bmm",
            [_tensor(7, 2, 5), _tensor(7, 5, 3)],
            7 * 60,
            7 * 4 * (6 + 10 + 15),
        ),
        # P = Q = (8 + 2*1 - 3) // 2 + 1 = 4: 2*N*K*P*Q*C*R*S of N = 1, K = 6, C = 4,
        # R = S = 3; NCHW + KCRS + NKPQ
        (
            "torch.nn.functional",
            "conv2d",
            [
                *(_tensor(1, 4, 8, 8), _tensor(6, 4, 3, 3)),
                *(_number("stride", 2), _number("padding", 1)),
            ],
            2 * 6 * 4 * 4 * 4 * 3 * 3,
            4 * (256 + 216 + 96),
        ),
    ],
)
def test_two_gradients_are_two_products(
    store: traceql.Store,
    tmp_path: Path,
    mod: str,
    op: str,
    args: list[Arg],
    flops: int,
    work_bytes: int,
) -> None:
    """Each of the sizes of the forward one."""
    row = _backward(store, tmp_path / "net.dict", mod, op, args, *GEMMS)
    assert (row["call_count"], row["flops"], row["work_bytes"]) == (
        *(2, 2 * flops, 2 * work_bytes),
    )


@pytest.mark.parametrize(
    ("names", "products"),
    [
        # The first layer needs no gradient of its input.
        (("volta_sgemm_nt",), 1),
        # What adds up the parts of a product, and the gradient of the bias. PyProf
        # takes the second kernel for the second product, which counts as much.
        (("volta_sgemm_nt", "splitKreduce_kernel", "volta_sgemm_nn"), 2),
        (("volta_sgemm_nt", "volta_sgemm_nn", "reduce_kernel"), 2),
        # PyProf takes no more than two either.
        ((*GEMMS, "volta_sgemm_tn"), 2),
    ],
)
def test_what_is_no_product(
    store: traceql.Store, tmp_path: Path, names: tuple[str, ...], products: int
) -> None:
    """Helpers have time and no operations."""
    args = [_tensor(8, 5), _tensor(3, 5), _tensor(3)]
    row = _backward(
        store, tmp_path / "net.dict", "torch.nn.functional", "linear", args, *names
    )
    assert (row["call_count"], row["flops"]) == (products, products * 240)
    assert row["work_bytes"] == products * 4 * (24 + 40 + 15)


def test_helpers_of_a_convolution(store: traceql.Store, tmp_path: Path) -> None:
    """PyProf has 0 for the changes of layout; the bias it counts, and this does not."""
    row = _backward(
        store,
        tmp_path / "net.dict",
        "torch.nn.functional",
        "conv2d",
        [_tensor(1, 4, 8, 8), _tensor(6, 4, 3, 3)],
        *("nchwToNhwcKernel", "cudnn::detail::dgrad_engine", "nhwcToNchwKernel"),
        *("cudnn::detail::wgrad_alg0_engine", "calc_bias_diff"),
    )
    # P = Q = 6
    assert row["flops"] == 2 * (2 * 6 * 6 * 6 * 4 * 3 * 3)
    assert row["work_bytes"] == 2 * 4 * (256 + 216 + 216)


def _printed(path: Path) -> dict[str, tuple[int, int, int]]:
    """PyProf's own operations, bytes and kernels, of backward operations by name."""
    sums: dict[str, list[float]] = defaultdict(lambda: [0, 0, 0])
    with path.open(newline="") as file:
        for row in csv.DictReader(file):
            if row["Direction"] == "bprop":
                for place, value in enumerate((row["FLOPs"], row["Bytes"], 1)):
                    sums[row["Op"]][place] += float(value)
    return {op: (int(f), int(b), int(n)) for op, (f, b, n) in sums.items()}


def _rows(store: traceql.Store, path: Path) -> list[dict[str, Any]]:
    (outcome,) = store.ingest(path)
    assert outcome.run is not None, outcome.error
    rows = store.query("op_cost", run=outcome.run.run_id).rows()
    return [r for r in rows if r["direction"] == "backward"]


# Sizes N and K of the linear layers of the model and how often each runs; M is 700.
LAYERS = ((33278, 200, 1), (200, 200, 2))


def test_lm_against_pyprof(corpus: Path, store: traceql.Store) -> None:
    """The backward pass of a language model, each difference by name."""
    folder = corpus / "dlprof" / "josiahdavis_profiling-lm"
    printed = _printed(folder / "lm.csv")
    ours = _rows(store, folder / "net.dict")
    linear = [r for r in ours if r["label"] == "linear"]
    assert sum(r["flops"] for r in linear) == printed["linear"][0]
    assert sum(r["call_count"] for r in linear) == printed["linear"][2] == 6
    # PyProf's fault: of the three terms it multiplies the last alone by the 4 bytes.
    m = 700
    assert printed["linear"][1] == sum(
        2 * times * (m * n + n * k + 4 * m * k) for n, k, times in LAYERS
    )
    assert sum(r["work_bytes"] for r in linear) == sum(
        2 * times * 4 * (m * n + n * k + m * k) for n, k, times in LAYERS
    )
    # Nobody says how many calls the kernels of these are: unknown, where PyProf
    # counts each kernel ...
    others = {op: f for op, f in printed.items() if op != "linear"}
    figured = {op for op, (flops, moved, _) in others.items() if flops or moved}
    assert figured == {"dropout", "relu", "__mul__", "log_softmax", "embedding"}
    # ... or has 0 for want of a formula.
    assert {op for op in others if op not in figured} == {
        *("cross_entropy", "layer_norm", "multi_head_attention_forward", "Split"),
    }
    assert {r["label"] for r in ours if r["label"] != "linear"} == set(others)
    for row in ours:
        if row["label"] != "linear":
            assert (row["flops"], row["work_bytes"]) == (None, None), row["label"]


def test_rows_of_the_csv_are_pyprofs(corpus: Path, store: traceql.Store) -> None:
    """Imported as it is, with its faults, as the source's figures."""
    path = corpus / "dlprof" / "josiahdavis_profiling-lm" / "lm.csv"
    sums: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    for row in _rows(store, path):
        assert row["flops"] is None
        for place, key in enumerate(("source_flops", "source_bytes", "call_count")):
            sums[row["label"]][place] += row[key]
    assert {op: tuple(figures) for op, figures in sums.items()} == _printed(path)
