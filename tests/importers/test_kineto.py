"""What is odd about PyTorch traces: a few events each, and what they must become."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import traceql
from traceql.importers.kineto import short_name
from traceql.session import Session

Event = dict[str, Any]


def _x(
    cat: str, name: str, ts: float, dur: float, pid: Any = 9, tid: Any = 9, **args: Any
) -> Event:
    return {
        "ph": "X", "cat": cat, "name": name, "ts": ts, "dur": dur, "pid": pid,
        "tid": tid, "args": {k.replace("_", " "): v for k, v in args.items()},
    }  # fmt: skip


def _session(
    tmp_path: Path, events: list[Event], header: dict[str, Any] | None = None
) -> Session:
    path = tmp_path / "trace.json"
    path.write_text(
        json.dumps({"schemaVersion": 1, **(header or {}), "traceEvents": events})
    )
    store = traceql.open_store(tmp_path / "store", create=True)
    (outcome,) = store.ingest(path)
    assert outcome.run is not None, outcome.error
    assert outcome.run.manifest.importer["name"] == "kineto"
    return store.session()


def _codes(session: Session) -> dict[str, int]:
    rows = session.sql("SELECT code, count FROM diagnostic").rows()
    return {r["code"]: r["count"] for r in rows}


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("ampere_sgemm_64x32_sliced1x4_nn", "ampere_sgemm_64x32_sliced1x4_nn"),
        ("void at::native::(anonymous namespace)::fill<int, 4>(int)", "fill"),
        ("void at::native::<unnamed>::fill<(int)4>(int, T2)", "fill"),
        ("std::enable_if<!(false), void>::type gemvx::kernel<int>(P)", "kernel"),
        ("std::enable_if<true, void>::type gemvx::kernel<int, 1>(P)", "kernel"),
        ("void cub::DeviceReduce<A<int>::B>(A<int>, int*)", "DeviceReduce"),
        ("ncclDevKernel_AllReduce_Sum_f32(ncclArgs<4096ul>)",
         "ncclDevKernel_AllReduce_Sum_f32"),
        ("Memset (Device)", "Memset"),
        ("", ""),
    ],
)  # fmt: skip
def test_short_names(name: str, wanted: str) -> None:
    """The function alone, whatever stands around it."""
    assert short_name(name) == wanted


def test_the_outermost_call_launched(tmp_path: Path) -> None:
    """A driver call inside its runtime call has the same correlation."""
    session = _session(
        tmp_path,
        [
            _x("cuda_driver", "cuLaunchKernel", 11, 2, correlation=5),
            _x("cuda_runtime", "cudaLaunchKernel", 10, 5, correlation=5),
            _x("cpu_op", "aten::mm", 8, 20, External_id=1),
            _x("cpu_op", "aten::inner", 9, 7, External_id=2),
            _x("kernel", "k", 20, 3, pid=0, tid=7, device=0, stream=7, correlation=5),
        ],
    )
    (row,) = session.sql(
        "SELECT k.pid, k.launch_ts_ns, a.name AS call, o.name AS op FROM kernel AS k "
        "JOIN api_call AS a USING (api_call_id) JOIN op AS o ON o.op_id = k.op_id"
    ).rows()
    assert row == {
        "pid": 9,
        "launch_ts_ns": 10_000,
        "call": "cudaLaunchKernel",
        "op": "aten::inner",
    }


def test_arrows_of_calls_that_begin_together_and_of_synchronisations(
    tmp_path: Path,
) -> None:
    """The id tells a call from one of no length; an end without another is counted."""

    def arrow(ph: str, id_: int, ts: float, pid: int, tid: int) -> Event:
        ends = {"ph": ph, "id": id_, "ts": ts, "pid": pid, "tid": tid, "bp": "e"}
        return ends | {"cat": "ac2g", "name": "ac2g"}

    gpu = {"pid": 0, "tid": 7, "device": 0, "stream": 7}
    session = _session(
        tmp_path,
        [
            _x("cuda_runtime", "cudaLaunchKernel", 10, 5, correlation=6),
            _x("cuda_runtime", "cudaMemsetAsync", 10, 0, correlation=5),
            _x("cuda_runtime", "cudaStreamSynchronize", 30, 9, correlation=7),
            _x("gpu_memset", "Memset (Device)", 20, 1, correlation=5, **gpu),
            _x("kernel", "k", 22, 20, correlation=6, **gpu),
            _x("cuda_sync", "Stream Sync", 31, 8, correlation=7, **gpu),
            *(arrow("s", id_, ts, 9, 9) for id_, ts in ((5, 10), (6, 10), (7, 30))),
            *(arrow("f", id_, ts, 0, 7) for id_, ts in ((5, 20), (6, 22), (7, 31))),
            arrow("f", 8, 22, 0, 7),
        ],
    )
    rows = session.sql(
        "SELECT a.name, f.to_table FROM flow AS f "
        "JOIN api_call AS a ON a.api_call_id = f.from_id ORDER BY f.id"
    ).rows()
    assert [(r["name"], r["to_table"]) for r in rows] == [
        ("cudaMemsetAsync", "memset"),
        ("cudaLaunchKernel", "kernel"),
        ("cudaStreamSynchronize", "sync"),
    ]
    assert _codes(session)["unmatched_flow_end"] == 1


def test_correlation_0_and_orphans_have_no_launch(tmp_path: Path) -> None:
    """Zero means none, also where a call has it; orphans stay and are counted."""
    session = _session(
        tmp_path,
        [
            _x("cuda_runtime", "cudaFree", 1, 2, correlation=0),
            _x("kernel", "k", 5, 1, pid=0, tid=7, device=0, stream=7, correlation=0),
            _x("kernel", "k", 7, 1, pid=0, tid=7, device=0, stream=7, correlation=8),
        ],
    )
    rows = session.sql("SELECT api_call_id, correlation_id FROM kernel ORDER BY ts_ns")
    assert rows.rows() == [
        {"api_call_id": None, "correlation_id": None},
        {"api_call_id": None, "correlation_id": 8},
    ]
    assert _codes(session)["orphan_gpu_ops"] == 2


def test_external_id_links_only_where_it_is_one(tmp_path: Path) -> None:
    """Without a launch the External id names the operation; a correlation does not."""
    for external, op in ((3, "aten::mm"), (8, None)):
        folder = tmp_path / str(external)
        folder.mkdir()
        session = _session(
            folder,
            [
                _x("cpu_op", "aten::mm", 1, 9, External_id=external),
                _x(
                    "kernel", "k", 20, 1, pid=0, tid=7, device=0, stream=7,
                    correlation=8, External_id=external,
                ),
            ],
        )  # fmt: skip
        (row,) = session.sql(
            "SELECT o.name FROM kernel AS k LEFT JOIN op AS o ON o.op_id = k.op_id"
        ).rows()
        assert row["name"] == op


def test_of_operations_open_at_a_launch_the_external_id_names_one(
    tmp_path: Path,
) -> None:
    """Stamps are rounded: a call may seem to be of an operation that did not make it.

    One of another thread made it only if none of its own thread was open.
    """
    for external, call_tid, op in (
        (2, 9, "aten::linear"),
        (3, 9, "aten::mm"),
        (4, 9, "aten::mm"),
        (4, 5, "aten::relu"),
    ):
        folder = tmp_path / f"{external} {call_tid}"
        folder.mkdir()
        session = _session(
            folder,
            [
                _x("cpu_op", "aten::linear", 1, 9, External_id=2),
                _x("cpu_op", "aten::mm", 3, 4, External_id=3),
                _x("cpu_op", "aten::relu", 1, 9, tid=8, External_id=4),
                _x("cuda_runtime", "cudaLaunch", 3, 0, tid=call_tid, correlation=8),
                _x(
                    "kernel", "k", 20, 1, pid=0, tid=7, device=0, stream=7,
                    correlation=8, External_id=external,
                ),
            ],
        )  # fmt: skip
        (row,) = session.sql(
            "SELECT o.name FROM kernel AS k JOIN op AS o ON o.op_id = k.op_id"
        ).rows()
        assert row["name"] == op


def test_several_processes_leave_the_launch_unknown(tmp_path: Path) -> None:
    """Two processes of one correlation: no guess whose kernel it is."""
    session = _session(
        tmp_path,
        [
            _x("cuda_runtime", "cudaLaunchKernel", 1, 2, pid=9, correlation=5),
            _x("cuda_runtime", "cudaLaunchKernel", 1, 2, pid=10, correlation=5),
            _x("kernel", "k", 5, 1, pid=0, tid=7, device=0, stream=7, correlation=5),
        ],
    )
    (row,) = session.sql("SELECT pid, api_call_id FROM kernel").rows()
    assert row == {"pid": None, "api_call_id": None}
    assert _codes(session)["several_host_processes"] == 1


def test_merged_ranks_keep_to_themselves(tmp_path: Path) -> None:
    """Each rank's mark before the process says whose correlation it is."""
    events = []
    for rank, at in ((0, 100), (1, 200)):
        mark = f"[TP0{rank}] "
        events += [
            _x("cuda_runtime", "cuLaunchKernel", at, 5, pid=f"{mark}83", correlation=5),
            _x(
                "kernel", "k", at + 9, 1, pid=f"{mark}{rank}", tid=7, device=rank,
                stream=7, correlation=5,
            ),
        ]  # fmt: skip
    session = _session(tmp_path, events)
    rows = session.sql("SELECT device_id, launch_ts_ns FROM kernel ORDER BY 1").rows()
    assert rows == [
        {"device_id": 0, "launch_ts_ns": 100_000},
        {"device_id": 1, "launch_ts_ns": 200_000},
    ]


def test_copies_say_direction_and_memories(tmp_path: Path) -> None:
    """NVIDIA's words, AMD's, peers, and what newer ROCm calls a kernel."""
    on = {"pid": 0, "tid": 7, "device": 0, "stream": 7}
    session = _session(
        tmp_path,
        [
            _x("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", 1, 1, bytes=5, **on),
            _x("gpu_memcpy", "Memcpy DtoH (Device -> Host)", 2, 1, kind="DtoH", **on),
            _x(
                "gpu_memcpy", "Memcpy DtoD (Device -> Device)", 3, 1,
                fromDevice=0, toDevice=1, **on,
            ),
            _x("kernel", "MEMORY_COPY_HOST_TO_DEVICE", 4, 1, **on),
            _x("gpu_memcpy", "Memcpy", 5, 1, **on),
        ],
    )  # fmt: skip
    rows = session.sql(
        "SELECT kind, src_memory AS s, dst_memory AS d, bytes AS b FROM memcpy "
        "ORDER BY ts_ns"
    ).rows()
    assert [tuple(r.values()) for r in rows] == [
        ("H2D", "pageable", "device", 5),
        ("D2H", "device", None, None),
        ("P2P", "device", "device", None),
        ("H2D", None, None, None),
        ("unknown", None, None, None),
    ]
    assert session.sql("SELECT * FROM kernel").rows() == []


def test_memory_events_know_their_operation(tmp_path: Path) -> None:
    """Device type 0 is the host; the innermost operation at the moment caused it."""
    memory = {"ph": "i", "name": "[memory]", "pid": 9, "tid": 9, "s": "t"}
    session = _session(
        tmp_path,
        [
            _x("cpu_op", "aten::outer", 1, 20, External_id=1),
            _x("python_function", "f", 2, 10, Python_id=1),
            _x("cpu_op", "aten::empty", 3, 4, External_id=2),
            memory | {"ts": 5, "args": {"Device Type": 1, "Device Id": 0, "Bytes": 64}},
            memory
            | {"ts": 9, "args": {"Device Type": 0, "Device Id": -1, "Bytes": -8}},
            memory | {"ts": 50, "args": {"Device Type": 6, "Device Id": 2, "Bytes": 1}},
        ],
    )
    rows = session.sql(
        "SELECT m.device_id, m.bytes, o.name FROM memory_event AS m "
        "LEFT JOIN op AS o ON o.op_id = m.op_id ORDER BY m.ts_ns"
    ).rows()
    assert [tuple(r.values()) for r in rows] == [
        (0, 64, "aten::empty"),
        (None, -8, "aten::outer"),
        (2, 1, None),
    ]


def test_what_is_absurd_does_not_stretch_the_window(tmp_path: Path) -> None:
    """The profiler's own marks are kept apart from what the program did."""
    session = _session(
        tmp_path,
        [
            _x("cpu_op", "aten::mm", 10, 5, External_id=1),
            _x("Trace", "PyTorch Profiler (0)", 0, 900, pid="Spans", tid="P"),
            {"ph": "i", "s": "g", "name": "Record Window End", "pid": "", "tid": "",
             "ts": 10**15},
        ],
    )  # fmt: skip
    (run,) = session.sql("SELECT first_ts_ns, span_ns FROM run").rows()
    assert run == {"first_ts_ns": 10_000, "span_ns": 5_000}
    assert len(session.sql("SELECT * FROM async_slice").rows()) == 2


def test_python_frames_and_operations_nest_across_tables(tmp_path: Path) -> None:
    """A parent may be of another table; depth counts the own kind."""
    session = _session(
        tmp_path,
        [
            _x("python_function", "a", 1, 90, Python_id=1),
            _x("user_annotation", "ProfilerStep#3", 2, 80),
            _x("cpu_op", "aten::x", 3, 70, External_id=1),
            _x("python_function", "b", 4, 60, Python_id=2, Python_parent_id=1),
            _x("cpu_op", "aten::y", 5, 50, External_id=2),
        ],
    )
    ops = session.sql("SELECT name, depth, parent_id FROM op ORDER BY ts_ns").rows()
    slices = session.sql("SELECT slice_id, depth, parent_id FROM slice ORDER BY ts_ns")
    outer, inner = slices.rows()
    (step,) = session.sql("SELECT annotation_id, parent_id FROM annotation").rows()
    assert [r["depth"] for r in ops] == [0, 1]
    assert [outer["depth"], inner["depth"]] == [0, 1]
    assert ops[1]["parent_id"] == inner["slice_id"]
    assert ops[0]["parent_id"] == step["annotation_id"]
    assert step["parent_id"] == outer["slice_id"]
    assert outer["parent_id"] is None


def test_rank_by_name_where_the_file_states_none(tmp_path: Path) -> None:
    """distributedInfo first, then the name that the trace says it was written to."""
    event = _x("cpu_op", "aten::mm", 10, 5, External_id=1)
    cases: list[tuple[dict[str, Any], int | None]] = [
        ({"distributedInfo": {"rank": 3}, "traceName": "w/worker5.json"}, 3),
        ({"traceName": "/tmp/rank9/worker5_step_12.1694.json"}, 5),
        ({"traceName": "/tmp/crank9.json"}, None),
    ]
    for number, (header, rank) in enumerate(cases):
        folder = tmp_path / str(number)
        folder.mkdir()
        session = _session(folder, [event], header)
        assert session.sql("SELECT rank FROM run").rows() == [{"rank": rank}]
