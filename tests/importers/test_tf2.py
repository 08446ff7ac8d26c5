"""Trace viewer JSON of TensorFlow 2 and JAX: streams, derived lines, hosts, folders."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import duckdb
import pytest
from trace_events import Imported, ingested

import traceql
from traceql.importers import tf2_trace
from traceql.mapping import read_mapping

Event = dict[str, Any]
STEPS, SCOPES, OPS, MODULES = 3735928559, 3735928561, 3735928562, 3735928563
HOST = 501
GARBAGE = (
    "regs:140531533435072 shm:1 grid:0,140536856111648,0 "
    "block:4,863227216,140736726343456"
)
SANE = "regs:32 static_shared:48 dynamic_shared:16 grid:8,2,1 block:256,1,1 occ_pct:50"


def _named(pid: int, process: str, **threads: str) -> list[Event]:
    return [
        {"ph": "M", "name": "process_name", "pid": pid, "args": {"name": process}},
        *(
            {"ph": "M", "name": "thread_name", "pid": pid, "tid": int(tid[1:]),
             "args": {"name": name}}
            for tid, name in threads.items()
        ),
    ]  # fmt: skip


def _x(name: str, ts: float, dur: float, tid: int, pid: int = 1, **args: str) -> Event:
    return {
        "ph": "X", "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur,
        "args": args,
    }  # fmt: skip


def _device(pid: int = 1, ordinal: int = 0) -> list[Event]:
    lines = {
        "t13": "Stream #13(Compute,MemcpyD2D)",
        f"t{STEPS}": "Steps",
        f"t{SCOPES}": "TensorFlow Name Scope",
        f"t{OPS}": "TensorFlow Ops",
        f"t{MODULES}": "XLA Modules",
    }
    return _named(pid, f"/device:GPU:{ordinal}", **lines)


def _host(pid: int = HOST, process: str = "/host:CPU") -> list[Event]:
    return _named(pid, process, t77="python")


# One step: a call launches a MatMul, one a copy on the same stream.
STEP: list[Event] = [
    *_device(),
    *_host(),
    _x("train", 0, 30, 77, HOST, step_num="4", group_id="0"),
    _x("cuLaunchKernel", 2, 1, 77, HOST, correlation_id="54", group_id="0"),
    _x("MemcpyD2D", 4, 1, 77, HOST, correlation_id="55", group_id="0"),
    _x("gemm", 10, 5, 13, correlation_id="54", context_id="$7",
       annotation="net/MatMul:MatMul#id=1#", kernel_details=SANE),
    _x("MemcpyD2D", 20, 2, 13, correlation_id="55", context_id="$7",
       memcpy_details="kind_src:device kind_dst:device size:384 dest:0 async:1"),
    _x("0", 10, 12, STEPS, group_id="0"),
    _x("net", 10, 12, SCOPES),
    _x("MatMul", 10, 5, OPS, long_name="net/MatMul:MatMul"),
    _x("jit_step", 10, 12, MODULES),
]  # fmt: skip


def _written(path: Path, events: list[Event]) -> Path:
    """A profile as TensorFlow writes it, with its empty last event."""
    path.parent.mkdir(parents=True, exist_ok=True)
    profile = {
        "displayTimeUnit": "ns",
        "metadata": {"highres-ticks": True},
        "traceEvents": [*events, {}],
    }
    text = json.dumps(profile).encode()
    path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)
    return path


def _import(store: traceql.Store, folder: Path, events: list[Event]) -> Imported:
    run = ingested(store, _written(folder / "host.trace.json.gz", events))
    assert run.outcome.run is not None
    assert run.outcome.run.manifest.importer["name"] == "tf2-trace"
    return run


def test_what_repeats_a_stream_is_no_kernel(
    store: traceql.Store, tmp_path: Path
) -> None:
    """Operations, scopes, modules and steps; a copy by its name on any stream."""
    run = _import(store, tmp_path, STEP)
    assert run.rows("SELECT name, stream_id, context_id, dur_ns FROM kernel") == [
        ("gemm", 13, 7, 5000)
    ]
    assert run.rows(
        "SELECT kind, stream_id, bytes, src_memory, dst_memory, dur_ns FROM memcpy"
    ) == [("D2D", 13, 384, "device", "device", 2000)]
    assert run.rows("SELECT name, op_type, placement, dur_ns FROM op") == [
        ("net/MatMul", "MatMul", "device", 5000)
    ]
    assert run.rows(
        "SELECT category, name FROM annotation WHERE pid = 1 ORDER BY 1"
    ) == [("Steps", "0"), ("TensorFlow Name Scope", "net"), ("XLA Modules", "jit_step")]
    assert run.found["derived_rows"] == 4


def test_steps_are_the_host_s(store: traceql.Store, tmp_path: Path) -> None:
    """A step is what the host did for it; the device's line is kept beside."""
    run = _import(store, tmp_path, STEP)
    assert run.rows("SELECT number, name, source, ts_ns, dur_ns FROM iteration") == [
        (4, "train", "tf_step", 0, 30_000)
    ]
    ((extra,),) = run.rows("SELECT extra FROM iteration")
    assert json.loads(extra) == {
        "group_id": "0",
        "step_name": "4",
        "device_ns": 12_000,
    }


def test_steps_that_only_a_device_states(store: traceql.Store, tmp_path: Path) -> None:
    events = [e for e in STEP if e["name"] != "train"]
    # A step of the same number on another device, at another time.
    other = [*_device(2, 3), _x("0", 900, 7, STEPS, 2, group_id="0")]
    run = _import(store, tmp_path, [*events, *other])
    assert run.rows(
        "SELECT device_id, pid, number, ts_ns, dur_ns FROM iteration ORDER BY ts_ns"
    ) == [(0, HOST, 0, 10_000, 12_000), (3, HOST, 0, 900_000, 7000)]


def test_launches(store: traceql.Store, tmp_path: Path) -> None:
    """By correlation; a copy's call has the copy's name, and is none on the host."""
    run = _import(store, tmp_path, STEP)
    assert run.rows(
        "SELECT k.launch_ts_ns, a.name, a.api, o.name FROM kernel AS k "
        "JOIN api_call AS a USING (api_call_id) JOIN op AS o ON o.op_id = k.op_id"
    ) == [(2000, "cuLaunchKernel", "cuda_driver", "net/MatMul")]
    assert run.rows(
        "SELECT m.launch_ts_ns, a.name FROM memcpy AS m "
        "JOIN api_call AS a USING (api_call_id)"
    ) == [(4000, "MemcpyD2D")]


def test_kernel_details(store: traceql.Store, tmp_path: Path) -> None:
    run = _import(store, tmp_path, STEP)
    assert run.rows(
        "SELECT grid_x, grid_y, grid_z, block_x, registers_per_thread, "
        "static_shared_memory_bytes, dynamic_shared_memory_bytes, est_occupancy_pct "
        "FROM kernel"
    ) == [(8, 2, 1, 256, 32, 48, 16, 50.0)]
    assert "insane_kernel_details" not in run.found


@pytest.mark.parametrize(
    "details",
    [
        GARBAGE,
        SANE.replace("regs:32", "regs:4000000000"),
        SANE.replace("block:256,1,1", "block:1024,2,1"),
        SANE.replace("grid:8,2,1", "grid:8,2"),
        SANE.replace("occ_pct:50", "occ_pct:5000"),
        SANE.replace("grid:8,2,1", "grid:99999999999999999999999,2,1"),
    ],
)
def test_impossible_kernel_details(
    store: traceql.Store, tmp_path: Path, details: str
) -> None:
    """Memory that nobody had set: none of it is taken, and it is counted."""
    events = [
        {**e, "args": {**e["args"], "kernel_details": details}}
        if e["name"] == "gemm"
        else e
        for e in STEP
    ]
    run = _import(store, tmp_path, events)
    assert run.rows(
        "SELECT grid_x, block_x, registers_per_thread, static_shared_memory_bytes, "
        "shared_memory_bytes, est_occupancy_pct, extra->>'$.kernel_details' FROM kernel"
    ) == [(None,) * 7]
    assert run.found["insane_kernel_details"] == 1


def test_picoseconds(store: traceql.Store, tmp_path: Path) -> None:
    """Times are rounded to nanoseconds once, from their text."""
    events = [
        e
        for e in STEP
        if e["name"] in ("process_name", "thread_name")
    ]  # fmt: skip
    late = _x("gemm", 0, 0, 13)
    text = json.dumps({"displayTimeUnit": "ns", "traceEvents": [*events, late]})
    text = text.replace('"ts": 0, "dur": 0', '"ts": 5948.4679999999998, "dur": 1e-06')
    path = tmp_path / "perfetto_trace.json"
    path.write_text(text)
    run = ingested(store, path)
    assert run.rows(
        "SELECT k.ts_ns + r.source_origin_ns, k.dur_ns FROM kernel AS k, run AS r"
    ) == [(5_948_468, 0)]


def test_several_hosts_in_one_file(store: traceql.Store, tmp_path: Path) -> None:
    """A correlation is a host's own; devices of one number are told apart."""
    events = [
        *_named(1, "a /device:GPU:0", t13="Stream #13(Compute)"),
        *_named(2, "b /device:GPU:0", t13="Stream #13(Compute)"),
        *_host(501, "a /host:CPU"),
        *_host(502, "b /host:CPU"),
        _x("cuLaunchKernel", 1, 1, 77, 501, correlation_id="5"),
        _x("cuLaunchKernel", 3, 1, 77, 502, correlation_id="5"),
        _x("ka", 10, 1, 13, 1, correlation_id="5"),
        _x("kb", 10, 1, 13, 2, correlation_id="5"),
    ]
    run = _import(store, tmp_path, events)
    assert run.rows(
        "SELECT name, device_id, launch_ts_ns, pid FROM kernel ORDER BY name"
    ) == [("ka", 0, 1000, 501), ("kb", 1, 3000, 502)]
    assert run.rows("SELECT count(DISTINCT device_id) FROM device") == [(2,)]


def test_a_cut_profile(store: traceql.Store, tmp_path: Path) -> None:
    """The complete events of a cut archive are imported, and the loss is said."""
    path = _written(tmp_path / "host.trace.json.gz", STEP * 40)
    path.write_bytes(path.read_bytes()[:-40])
    run = ingested(store, path)
    assert run.rows("SELECT count(*) > 0 FROM kernel") == [(True,)]
    assert {f.code for f in run.outcome.findings if f.severity == "data_loss"}


@pytest.mark.parametrize(
    ("events", "capped"), [(999_999, 0), (1_000_000, 1), (5_000_000, 1)]
)
def test_a_capped_export(events: int, capped: int) -> None:
    """As many events as the trace viewer writes at most: what is missing is unknown."""
    mapping = Path(tf2_trace.__file__).with_suffix(".sql")
    (block,) = (
        block
        for phase in read_mapping(mapping)
        for block in phase.blocks
        if block.code == "capped_export"
    )
    con = duckdb.connect()
    con.execute(f"CREATE TABLE slice_event AS SELECT 1 FROM range({events})")
    assert con.execute(block.sql).fetchall()[0][0] == capped


def test_a_logdir(store: traceql.Store, tmp_path: Path) -> None:
    """Each run and host of it once, and no tables that were made of them."""
    profiles = tmp_path / "plugins" / "profile"
    for run, host in (("day1", "a"), ("day1", "b"), ("day2", "a")):
        later = [_x(f"{run}{host}", 40, 1, 77, HOST)]
        _written(profiles / run / f"{host}.trace.json.gz", [*STEP, *later])
    _written(profiles / "day1" / "perfetto_trace.json.gz", STEP)
    (profiles / "day1" / "a.kernel_stats.pb").write_bytes(b"\x0a\x02\x0a\x00")
    (tmp_path / "events.out.tfevents.1").write_bytes(b"\x18" + bytes(30))
    outcomes = list(store.ingest(tmp_path))
    assert [o.status for o in outcomes] == ["imported"] * 3
    jobs = [Imported(store, o).rows("SELECT job FROM run")[0][0] for o in outcomes]
    assert sorted(jobs) == ["day1", "day1", "day2"]


GOLDENS = {
    # Rows and microseconds: formats page 4f.
    "aoberai/20210615-181006": {
        "Stream #13": (148, 891.072), "H2D": (8, 24.737), "D2H": (4, 6.081),
        "TensorFlow Ops": (100, 2699.702), "TensorFlow Name Scope": (106, 15968.477),
        "Steps": (1, 10916.835),
    },
    "aoberai/20210616-112936": {
        "Stream #13": (147, 1267.732), "H2D": (7, 35.776), "D2H": (4, 5.728),
    },
    "mholmeslinder/scalars10_20201222-043735/2020_12_22_04_37_44": {
        "Stream #13": (183, 67790.109), "Stream #18": (6, 1071.995),
        "H2D": (5, 25110.112), "D2H": (3, 4.736),
    },
    "mholmeslinder/scalars_20201217-050249/2020_12_17_05_03_04": {
        "Stream #19": (202, 160281.286), "H2D": (8, 24903.824), "D2H": (2, 3.04),
        "TensorFlow Ops": (126, 160490.148), "Steps": (1, 201013.624),
    },
}  # fmt: skip
# By the name of the stream, as the page has it: streams of computing hold copies too.
ROWS = """
WITH gpu AS (
    SELECT device_id, stream_id, dur_ns FROM kernel
    UNION ALL SELECT device_id, stream_id, dur_ns FROM memcpy
    UNION ALL SELECT device_id, stream_id, dur_ns FROM memset
), named AS (
    SELECT c.name, g.dur_ns FROM gpu AS g JOIN context AS c USING (device_id, stream_id)
)
SELECT
    CASE WHEN name LIKE '%(Memcpy___)' THEN regexp_extract(name, 'Memcpy(...)', 1)
        ELSE regexp_extract(name, '^Stream #[0-9]+') END, dur_ns
FROM named
UNION ALL
SELECT t.thread_name, o.dur_ns FROM op AS o JOIN thread AS t USING (pid, tid)
WHERE o.placement = 'device'
UNION ALL SELECT category, dur_ns FROM annotation WHERE category IS NOT NULL
"""


@pytest.mark.corpus
@pytest.mark.parametrize("name", GOLDENS)
@pytest.mark.parametrize("ending", ["trace.json.gz", "xplane.pb"])
def test_goldens(store: traceql.Store, corpus: Path, name: str, ending: str) -> None:
    """The trace viewer's JSON and the XSpace: both equal the golden table."""
    (path,) = (corpus / "tf2" / name).glob(f"*.{ending}")
    run = ingested(store, path)
    found = {
        line: (count, ns)
        for line, count, ns in run.rows(
            f"SELECT * FROM (SELECT #1 AS line, count(*), CAST(sum(#2) AS BIGINT) "
            f"FROM ({ROWS}) GROUP BY 1)"
        )
    }
    wanted = {
        line: (count, round(us * 1000)) for line, (count, us) in GOLDENS[name].items()
    }
    assert {line: found.get(line) for line in wanted} == wanted


@pytest.mark.corpus
def test_jax(store: traceql.Store, corpus: Path) -> None:
    """A CPU's profile: operations of XLA on threads of the host, four steps, no GPU."""
    (path,) = (corpus / "jax").glob("*/plugins/profile/*/vm.trace.json.gz")
    run = ingested(store, path)
    events = json.loads(gzip.decompress(path.read_bytes()))["traceEvents"]
    with_hlo = sum("hlo_op" in e.get("args", {}) for e in events)
    steps = [e for e in events if "step_num" in e.get("args", {})]
    assert run.rows("SELECT count(*) FROM op") == [(with_hlo,)]
    assert run.rows("SELECT number, dur_ns FROM iteration ORDER BY 1") == [
        (int(e["args"]["step_num"]), round(e["dur"] * 1000)) for e in steps
    ]
    ((job, framework),) = run.rows("SELECT job, framework FROM run")
    assert (job, framework) == (path.parent.name, "jax")


@pytest.mark.corpus
def test_a_jax_logdir(store: traceql.Store, corpus: Path) -> None:
    """JAX's copy for Perfetto is of the same host: left out, and said."""
    (outcome,) = store.ingest(corpus / "jax")
    assert Path(outcome.source).name == "vm.trace.json.gz"
    assert any("perfetto_trace.json.gz" in note for note in outcome.notes)
