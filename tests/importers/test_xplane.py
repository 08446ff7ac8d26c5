"""XPlane profiles: planes, lines, steps, details, damage, and real files."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from trace_events import Imported, ingested

import traceql
from fixtures.xspaces import Plane, Ref, events_of, fields, item, space
from traceql.errors import ImportFailed

DETAILS = (
    "regs:32 static_shared:48 dynamic_shared:16 grid:8,2,1 block:256,1,1 occ_pct:50"
)
GARBAGE = (
    "regs:863155264 shm:1 grid:0,140536856111648,0 block:4,863227216,140736726343456"
)
US = 1_000_000  # picoseconds


def _gpu(details: str = DETAILS) -> Plane:
    """A GPU's plane: a stream with a MatMul and a copy, and what was derived of it."""
    plane = Plane(
        "/device:GPU:0",
        {
            "device_vendor": Ref("Nvidia"),
            "core_count": 80,
            "clock_rate": 1_530_000,
            "memory_size": 16_945_512_448,
            "memory_bandwidth": 898_048_000_000,
            "compute_cap_major": 7,
            "compute_cap_minor": 0,
        },
    )
    kernel = plane.event(
        "gemm", 10 * US, 5 * US, correlation_id=54, context_id=Ref("$7"),
        annotation="net/MatMul:MatMul#id=1#", kernel_details=details,
    )  # fmt: skip
    copy = plane.event(
        "MemcpyD2D", 20 * US, 2 * US, correlation_id=55, context_id=Ref("$7"),
        memcpy_details="kind_src:device kind_dst:device size:384 dest:0 async:1",
    )  # fmt: skip
    plane.line(13, "Stream #13(Compute,MemcpyD2D)", [kernel, copy])
    for tid, line, name in (
        (1, "Steps", "0"),
        (2, "TensorFlow Name Scope", "net"),
        (4, "XLA Modules", "jit_step(12)"),
        (5, "TensorFlow Ops", "net/MatMul:MatMul"),
    ):
        plane.line(tid, line, [plane.event(name, 10 * US, 12 * US, group_id=0)])
    return plane


def _host(details: str = "") -> Plane:
    plane = Plane("/host:CPU")
    stats = {"kernel_details": details} if details else {}
    events = [
        plane.event("train", 0, 30 * US, step_num=4, group_id=0),
        plane.event("$train.py:12 step", 1 * US, 20 * US),
        plane.event("net/MatMul:MatMul", 2 * US, 5 * US, display_name="MatMul"),
        plane.event("cuLaunchKernel", 3 * US, 1 * US, correlation_id=54, **stats),
        plane.event("MemcpyD2D", 5 * US, 1 * US, correlation_id=55),
        plane.aggregate("Cached", 12),
    ]
    return plane.line(-5, "python", events)


def _task(start_ns: int) -> Plane:
    return Plane("Task Environment", {"profile_start_time": start_ns})


def _import(store: traceql.Store, folder: Path, data: bytes) -> Imported:
    path = folder / "host.xplane.pb"
    path.write_bytes(data)
    run = ingested(store, path)
    assert run.outcome.run is not None
    assert run.outcome.run.manifest.importer["name"] == "xplane"
    return run


def _timing(store: traceql.Store, *columns: str) -> list[tuple[Any, ...]]:
    rows = store.query("iteration_timing").rows()
    return [tuple(row[column] for column in columns) for row in rows]


def _refused(store: traceql.Store, folder: Path, data: bytes) -> ImportFailed:
    path = folder / "host.xplane.pb"
    path.write_bytes(data)
    (outcome,) = store.ingest(path)
    assert outcome.status == "failed"
    assert isinstance(outcome.error, ImportFailed)
    assert not list(store.runs())
    return outcome.error


def test_a_gpu(store: traceql.Store, tmp_path: Path) -> None:
    """Streams hold kernels and copies; lines that were derived of them hold none."""
    run = _import(store, tmp_path, space(_gpu(), _host()))
    assert run.rows(
        "SELECT name, device_id, context_id, stream_id, ts_ns, dur_ns, correlation_id, "
        "launch_ts_ns FROM kernel"
    ) == [("gemm", 0, 7, 13, 10_000, 5000, 54, 3000)]
    assert run.rows(
        "SELECT kind, bytes, src_memory, dst_memory, stream_id, dur_ns, launch_ts_ns "
        "FROM memcpy"
    ) == [("D2D", 384, "device", "device", 13, 2000, 5000)]
    assert run.rows(
        "SELECT category, name FROM annotation WHERE pid = 1 ORDER BY 1"
    ) == [
        ("Steps", "0"),
        ("TensorFlow Name Scope", "net"),
        ("XLA Modules", "jit_step(12)"),
    ]
    assert run.found["derived_rows"] == 4
    assert run.found["aggregated_events"] == 1


def test_kernel_details(store: traceql.Store, tmp_path: Path) -> None:
    run = _import(store, tmp_path, space(_gpu(), _host()))
    assert run.rows(
        "SELECT grid_x, grid_y, grid_z, block_x, registers_per_thread, "
        "static_shared_memory_bytes, dynamic_shared_memory_bytes, est_occupancy_pct "
        "FROM kernel"
    ) == [(8, 2, 1, 256, 32, 48, 16, 50.0)]


def test_impossible_kernel_details(store: traceql.Store, tmp_path: Path) -> None:
    """On a kernel they are NULL and warned of; on its call they are left out."""
    run = _import(store, tmp_path, space(_gpu(GARBAGE), _host(GARBAGE)))
    assert run.rows(
        "SELECT grid_x, block_x, registers_per_thread, shared_memory_bytes, "
        "extra->>'$.kernel_details' FROM kernel"
    ) == [(None,) * 5]
    assert run.rows("SELECT count(*) FROM api_call WHERE extra LIKE '%regs%'") == [(0,)]
    assert run.found["insane_kernel_details"] == 1
    assert run.found["insane_launch_details"] == 1


def test_rocm(store: traceql.Store, tmp_path: Path) -> None:
    """Other words for the memory, and an occupancy of 0 where none is known."""
    details = "grid:219,40,1 block:256,1,1 private_mem:8 group_mem:49280 occ_pct:0"
    run = _import(store, tmp_path, space(_gpu(details)))
    assert run.rows(
        "SELECT grid_x, block_x, shared_memory_bytes, local_memory_per_thread_bytes, "
        "registers_per_thread, est_occupancy_pct FROM kernel"
    ) == [(219, 256, 49_280, 8, None, None)]
    assert run.found["orphan_gpu_ops"] == 2


def test_a_device(store: traceql.Store, tmp_path: Path) -> None:
    run = _import(store, tmp_path, space(_gpu()))
    assert run.rows(
        "SELECT device_id, kind, vendor, sm_count, memory_bytes, compute_major, "
        "compute_minor, memory_bandwidth_bytes_per_s, core_clock_hz FROM device"
    ) == [
        (0, "gpu", "nvidia", 80, 16_945_512_448, 7, 0, 898_048_000_000, 1_530_000_000)
    ]


def test_the_host(store: traceql.Store, tmp_path: Path) -> None:
    """Python frames, operations, calls; a step is what the host did for it."""
    run = _import(store, tmp_path, space(_gpu(), _host()))
    assert run.rows(
        "SELECT s.name, s.category, a.name FROM slice AS s "
        "JOIN annotation AS a ON a.annotation_id = s.parent_id"
    ) == [("train.py:12 step", "python", "train")]
    assert run.rows("SELECT name, op_type FROM op WHERE placement = 'host'") == [
        ("net/MatMul", "MatMul")
    ]
    assert run.rows("SELECT name, api FROM api_call ORDER BY ts_ns") == [
        ("cuLaunchKernel", "cuda_driver"),
        ("MemcpyD2D", "cuda_driver"),
    ]
    assert run.rows("SELECT number, name, ts_ns, dur_ns FROM iteration") == [
        (4, "train", 0, 30_000)
    ]
    # A line's negative number is the unsigned one that the viewer shows.
    assert run.rows("SELECT DISTINCT tid FROM slice") == [(2**32 - 5,)]


def test_kernels_belong_to_operations(store: traceql.Store, tmp_path: Path) -> None:
    """By the annotation, to the profiler's; without, to the launching call's."""
    run = _import(store, tmp_path, space(_gpu(), _host()))
    assert run.rows(
        "SELECT o.name, o.placement FROM kernel AS k JOIN op AS o USING (op_id)"
    ) == [("net/MatMul", "device")]
    assert run.rows(
        "SELECT o.name, o.placement FROM memcpy AS m JOIN op AS o USING (op_id)"
    ) == [("net/MatMul", "host")]


def test_a_tpu(store: traceql.Store, tmp_path: Path) -> None:
    """Operations of XLA with their work, and no kernels: a TPU has no streams."""
    plane = Plane("/device:TPU:3", {"device_type_string": "TPU v4"})
    op = plane.event(
        "%fusion.1 = f32[8]{0} fusion(f32[8]{0} %p0)", 5 * US, 2 * US,
        display_name="fusion.1", model_flops=4096,
    )  # fmt: skip
    plane.line(1, "XLA Ops", [op])
    plane.line(2, "XLA Modules", [plane.event("jit_step(1)", 5 * US, 3 * US)])
    plane.line(3, "Steps", [plane.event("7", 4 * US, 5 * US)])
    run = _import(store, tmp_path, space(plane))
    assert run.rows("SELECT name, placement, ts_ns, dur_ns, flops FROM op") == [
        ("fusion.1", "device", 5000, 2000, 4096)
    ]
    assert run.rows("SELECT number, ts_ns, dur_ns FROM iteration") == [(7, 4000, 5000)]
    assert run.rows("SELECT device_id, kind, name FROM device") == [
        (3, "tpu", "TPU v4")
    ]
    assert run.rows("SELECT count(*) FROM kernel") == [(0,)]
    assert run.found["no_gpu_activity"] == 1


def _stepping(ordinal: int, step_us: int) -> Plane:
    """A GPU that runs a kernel in its step 7, and a copy before that."""
    plane = Plane(f"/device:GPU:{ordinal}")
    plane.line(
        13,
        "Stream #13(Compute,MemcpyH2D)",
        [
            plane.event("MemcpyH2D", (step_us - 9) * US, US, correlation_id=1),
            plane.event("gemm", step_us * US, 5 * US, correlation_id=ordinal),
        ],
    )
    steps = [plane.event("7", step_us * US, 6 * US, group_id=3, step_name="7")]
    return plane.line(0xDEADBEEF, "Steps", steps)


def test_steps_that_only_devices_state(store: traceql.Store, tmp_path: Path) -> None:
    """One for each device: of one number, at different times; one device has none."""
    idle = Plane("/device:GPU:1")
    idle.line(13, "Stream #13(Compute)", [idle.event("gemm", 12 * US, US)])
    host = Plane("/host:CPU")
    # All is launched before the steps begin.
    calls = [
        host.event("cuLaunchKernel", at * US, US, correlation_id=number, group_id=3)
        for at, number in ((0, 1), (1, 4), (2, 6))
    ]
    planes = _stepping(4, 10), _stepping(6, 900), idle, host.line(1, "t", calls)
    run = _import(store, tmp_path, space(*planes))
    assert run.rows(
        "SELECT device_id, pid, number, name, ts_ns, dur_ns FROM iteration ORDER BY 1"
    ) == [(4, 701, 7, "7", 10_000, 6000), (6, 701, 7, "7", 900_000, 6000)]
    columns = ("iteration", "device_id", "wall_ns", "first_gpu_ns", "kernel_sum_ns")
    assert _timing(store, *columns, "idle_ns", "op_count") == [
        (0, 4, 6000, 10_000, 5000, 1000, 1),
        (0, 6, 6000, 900_000, 5000, 1000, 1),
        (None, 1, None, 12_000, 1000, None, 1),
        (None, 4, None, 1000, 0, None, 1),
        (None, 6, None, 891_000, 0, None, 1),
    ]


def test_a_step_of_the_host_covers_all_devices(
    store: traceql.Store, tmp_path: Path
) -> None:
    host = Plane("/host:CPU")
    events = [host.event("train", 0, 50 * US, step_num=4, group_id=3)]
    events += [
        host.event("cuLaunchKernel", at * US, US, correlation_id=number)
        for at, number in ((0, 1), (1, 4), (2, 6))
    ]
    planes = _stepping(4, 10), _stepping(6, 900), host.line(1, "t", events)
    run = _import(store, tmp_path, space(*planes))
    assert run.rows("SELECT device_id, number, ts_ns, dur_ns FROM iteration") == [
        (None, 4, 0, 50_000)
    ]
    assert _timing(store, "iteration", "device_id", "op_count") == [
        (0, 4, 2),
        (0, 6, 2),
    ]


def test_memory(store: traceql.Store, tmp_path: Path) -> None:
    """What an allocator gave out and took back; zero is a value, absent is none."""
    plane = Plane("/host:CPU")
    events = [
        plane.event(
            name, at * US, 0, allocator_name="GPU_2_bfc", address=2**63 + 8,
            allocation_bytes=512, bytes_allocated=after,
        )
        for at, name, after in (
            (1, "MemoryAllocation", 512), (2, "MemoryDeallocation", 0)
        )
    ]  # fmt: skip
    run = _import(store, tmp_path, space(plane.line(1, "t", events)))
    assert run.rows(
        "SELECT ts_ns, device_id, bytes, total_allocated_bytes, kind, name "
        "FROM memory_event ORDER BY 1"
    ) == [
        (1000, 2, 512, 512, "device", "GPU_2_bfc"),
        (2000, 2, -512, 0, "device", "GPU_2_bfc"),
    ]


def test_wall_clock_stamps(store: traceql.Store, tmp_path: Path) -> None:
    """A file that was not finished stamps its lines with the wall clock."""
    plane = Plane("/device:GPU:0")
    began = 1_771_595_639_000_000_000
    event = plane.event("k", 5 * US, US)
    plane.line(3, "Stream #3(Compute)", [event], timestamp_ns=began + 70)
    run = _import(store, tmp_path, space(plane, _task(began)))
    assert run.rows("SELECT ts_ns FROM kernel") == [(5070,)]
    assert run.rows("SELECT source_origin_ns, origin_unix_ns FROM run") == [
        (began, began)
    ]


def test_times(store: traceql.Store, tmp_path: Path) -> None:
    """Picoseconds become nanoseconds once; the task's plane says when it was."""
    plane = Plane("/device:GPU:0")
    events = [plane.event("k", ps, 1_499) for ps in (0, 1_499, 1_500, 7_000_000_501)]
    plane.line(3, "Stream #3(Compute)", events, timestamp_ns=40)
    started = 1_771_595_639_214_724_894
    run = _import(store, tmp_path, space(plane, _task(started)))
    assert run.rows("SELECT ts_ns, dur_ns FROM kernel ORDER BY 1, kernel_id") == [
        (40, 1),
        (41, 1),
        (42, 1),
        (7_000_041, 1),
    ]
    assert run.rows("SELECT source_origin_ns, origin_unix_ns, clock FROM run") == [
        (0, started, "session_start")
    ]


def test_numbers_keep_their_size(store: traceql.Store, tmp_path: Path) -> None:
    """Stats of every kind: large, negative, fractions, text that is no JSON."""
    plane = Plane("/host:CPU")
    event = plane.event(
        "e", 0, US, big=2**63 + 1, small=-3, part=0.25, said='a "b"\\', to=Ref("é")
    )
    run = _import(store, tmp_path, space(plane.line(1, "t", [event])))
    ((payload,),) = run.rows("SELECT payload FROM annotation")
    assert json.loads(payload) == {
        "big": 2**63 + 1, "small": -3, "part": 0.25, "said": 'a "b"\\', "to": "é",
    }  # fmt: skip


def test_unknown_fields_are_passed_over(store: traceql.Store, tmp_path: Path) -> None:
    """A newer writer's fields of every kind, at every level."""
    newer = item(90, b"x") + item(91, 300) + item(92, 1.5)
    plane = Plane("/device:GPU:0")
    plane.line(3, "Stream #3(Compute)", [plane.event("k", 0, US) + newer])
    data = item(1, bytes(plane) + newer) + newer
    run = _import(store, tmp_path, data)
    assert run.rows("SELECT name, dur_ns FROM kernel") == [("k", 1000)]


def test_many_events(store: traceql.Store, tmp_path: Path) -> None:
    """More than a batch and a chunk hold, on two lines, with long and short events."""
    plane = Plane("/device:GPU:0")
    for stream in (3, 4):
        events = [
            plane.event(
                "k", i * US, i, correlation_id=i + 1, annotation="n" * (i % 200)
            )
            for i in range(60_000)
        ]
        plane.line(stream, f"Stream #{stream}(Compute)", events)
    run = _import(store, tmp_path, space(plane))
    total = sum((i + 500) // 1000 for i in range(60_000))
    assert run.rows(
        "SELECT stream_id, count(DISTINCT ts_ns), CAST(sum(dur_ns) AS BIGINT), "
        "max(correlation_id), count(DISTINCT kernel_id) FROM kernel "
        "GROUP BY 1 ORDER BY 1"
    ) == [(stream, 60_000, total, 60_000, 60_000) for stream in (3, 4)]


def test_compressed(store: traceql.Store, tmp_path: Path) -> None:
    path = tmp_path / "host.xplane.pb.gz"
    path.write_bytes(gzip.compress(space(_gpu(), _host())))
    run = ingested(store, path)
    assert run.rows("SELECT count(*) FROM kernel") == [(1,)]


@pytest.mark.parametrize("share", [0.3, 0.6, 0.95])
def test_cut(store: traceql.Store, tmp_path: Path, share: float) -> None:
    """Refused, with the position of the field that is not whole."""
    gpu, host = item(1, bytes(_gpu())), item(1, bytes(_host()))
    data = gpu + host
    cut = int(len(data) * share)
    error = _refused(store, tmp_path, data[:cut])
    begins = 0 if cut < len(gpu) else len(gpu)
    assert f"cut at byte {begins} of {cut}" in str(error)
    assert error.hint


def test_damaged(store: traceql.Store, tmp_path: Path) -> None:
    """A byte that is no field: its position, and no run."""
    gpu = item(1, bytes(_gpu()))
    error = _refused(store, tmp_path, gpu + b"\x0f" + item(1, bytes(_host())))
    assert f"damaged at byte {len(gpu)} of" in str(error)


def test_a_damaged_event(store: traceql.Store, tmp_path: Path) -> None:
    """An event's field that reaches beyond the event, frames being right around it."""
    plane = Plane("/device:GPU:0")
    good = plane.event("k", 0, US)
    plane.line(3, "Stream #3(Compute)", [good, good + b"\x22\x7f", good])
    data = space(plane)
    error = _refused(store, tmp_path, data)
    assert f"damaged at byte {data.index(bytes([0x22, 0x7F]))} of" in str(error)


def test_copied_as_text(store: traceql.Store, tmp_path: Path) -> None:
    """Bytes that are no UTF-8 are lost for ever: the advice says so."""
    plane = Plane("/device:GPU:0")
    events = [plane.event("k", i * 977 * US, US) for i in range(300)]
    plane.line(3, "Stream #3(Compute)", events)
    data = space(plane).decode("utf-8", "replace").encode()
    error = _refused(store, tmp_path, data)
    assert "at byte 0 of" in str(error)
    assert "It was copied as text" in str(error.hint)


def test_a_logdir_has_each_host_once(store: traceql.Store, tmp_path: Path) -> None:
    """The XSpace stands for the JSON of its host; a host that has none keeps that."""
    folder = tmp_path / "plugins" / "profile" / "day1"
    folder.mkdir(parents=True)
    (folder / "a.xplane.pb").write_bytes(space(_gpu(), _host(), hostname="a"))
    viewed = {
        "displayTimeUnit": "ns",
        "metadata": {"highres-ticks": True},
        "traceEvents": [
            {"ph": "M", "name": "process_name", "pid": 1,
             "args": {"name": "/device:GPU:0"}},
            {"ph": "M", "name": "thread_name", "pid": 1, "tid": 13,
             "args": {"name": "Stream #13(Compute)"}},
            {"ph": "X", "name": "gemm", "pid": 1, "tid": 13, "ts": 10, "dur": 5},
        ],
    }  # fmt: skip
    for host in ("a", "b"):
        (folder / f"{host}.trace.json.gz").write_bytes(
            gzip.compress(json.dumps(viewed).encode())
        )
    outcomes = {Path(o.source).name: o for o in store.ingest(tmp_path)}
    assert set(outcomes) == {"a.xplane.pb", "b.trace.json.gz"}
    assert any("a.trace.json.gz" in note for note in outcomes["a.xplane.pb"].notes)
    for outcome in outcomes.values():
        assert Imported(store, outcome).rows("SELECT job FROM run") == [("day1",)]


def test_host_names_are_kept_only_when_asked(
    store: traceql.Store, tmp_path: Path
) -> None:
    path = tmp_path / "secret.xplane.pb"
    path.write_bytes(space(_gpu(), hostname="secret"))
    assert ingested(store, path).rows("SELECT host FROM run") == [(None,)]
    kept = ingested(store, path, keep_environment=True)
    assert kept.rows("SELECT host FROM run") == [("secret",)]


REAL = [
    "xplane/xprof/GPU-multi-worker_34.83.195.179_6003.xplane.pb",
    "xplane/tracelens/traces/mi300/jax_conv_minimal_08/tw003.xplane.pb",
]


@pytest.mark.corpus
def test_steps_of_devices_in_a_real_file(store: traceql.Store, corpus: Path) -> None:
    """Each device's line of steps, with the rows of its streams that begin in them."""
    run = ingested(store, corpus / REAL[0])
    ((origin,),) = run.rows("SELECT source_origin_ns FROM run")
    events = list(events_of((corpus / REAL[0]).read_bytes()))
    wanted = []
    for step in (e for e in events if e.line == "Steps"):
        end_ps = step.start_ps + step.duration_ps
        mine = [
            e for e in events
            if e.plane == step.plane and e.line.startswith("Stream #")
            and step.start_ps <= e.start_ps < end_ps
        ]  # fmt: skip
        kernels = [e for e in mine if not e.name.startswith("Mem")]
        wanted.append(
            (
                int(step.plane.removeprefix("/device:GPU:")),
                step.start_ps // 1000 - origin,
                step.duration_ps // 1000,
                min(e.start_ps for e in mine) // 1000 - origin,
                sum(e.duration_ps for e in kernels) // 1000,
                len(mine),
            )
        )
    assert wanted == [
        (4, 1_921_299_828, 19_865_491, 1_921_299_828, 14_825_385, 688),
        (6, 2_568_855_601, 21_310_352, 2_568_855_601, 14_865_363, 688),
    ]
    columns = ("iteration", "device_id", "start_ns", "wall_ns", "first_gpu_ns")
    rows = _timing(store, *columns, "kernel_sum_ns", "op_count")
    assert [r[1:] for r in rows if r[0] is not None] == wanted


@pytest.mark.corpus
@pytest.mark.parametrize("name", REAL)
def test_real_files(store: traceql.Store, corpus: Path, name: str) -> None:
    """Every row of every stream, against a plain reading of the file."""
    run = ingested(store, corpus / name)
    ((origin,),) = run.rows("SELECT source_origin_ns FROM run")
    found = run.rows(
        "SELECT device_id, stream_id, ts_ns, dur_ns FROM kernel UNION ALL "
        "SELECT device_id, stream_id, ts_ns, dur_ns FROM memcpy UNION ALL "
        "SELECT device_id, stream_id, ts_ns, dur_ns FROM memset"
    )
    wanted = [
        (
            int(e.plane.removeprefix("/device:GPU:")),
            int(e.line.removeprefix("Stream #").split("(")[0]),
            (e.start_ps + 500) // 1000 - origin,
            (e.duration_ps + 500) // 1000,
        )
        for e in events_of((corpus / name).read_bytes())
        if e.line.startswith("Stream #")
    ]
    assert sorted(found) == sorted(wanted)


@pytest.mark.corpus
def test_the_json_beside_it_says_the_same(store: traceql.Store, corpus: Path) -> None:
    """Kernels and copies of an XSpace are those of its trace viewer's JSON."""
    kernels = (
        "SELECT name, ts_ns, dur_ns, device_id, stream_id, context_id, correlation_id, "
        "launch_ts_ns FROM kernel ORDER BY ALL"
    )
    copies = (
        "SELECT kind, bytes, ts_ns, dur_ns, device_id, stream_id, correlation_id, "
        "launch_ts_ns FROM memcpy ORDER BY ALL"
    )
    paths = sorted((corpus / "tf2").rglob("*.xplane.pb"))
    assert len(paths) == 4
    for path in paths:
        ours = ingested(store, path)
        viewed = ingested(
            store, path.with_name(path.name.replace(".xplane.pb", ".trace.json.gz"))
        )
        for sql in (kernels, copies):
            rows = ours.rows(sql)
            assert rows and rows == viewed.rows(sql)


@pytest.mark.corpus
def test_tensorflow_s_own_kernel_table(store: traceql.Store, corpus: Path) -> None:
    """Names, counts and times are those of the kernel_stats.pb beside each file."""
    for path in sorted((corpus / "tf2").rglob("*.kernel_stats.pb")):
        table: dict[str, tuple[int, int]] = {}
        for _, report in fields(path.read_bytes()):
            row = dict(fields(report))
            count, ns = table.get(row[1].decode(), (0, 0))
            # Fields 7 and 13: total duration in ns, occurrences.
            table[row[1].decode()] = (count + row[13], ns + row[7])
        run = ingested(
            store, path.with_name(path.name.replace(".kernel_stats", ".xplane"))
        )
        rows = run.rows(
            "SELECT name, count(*), CAST(sum(dur_ns) AS BIGINT) FROM kernel GROUP BY 1"
        )
        assert {name: (count, ns) for name, count, ns in rows} == table


@pytest.mark.corpus
def test_a_file_that_was_copied_as_text(store: traceql.Store, corpus: Path) -> None:
    (outcome,) = store.ingest(corpus / "xplane" / "xprof" / "tpu_inference_2.xplane.pb")
    assert outcome.error is not None
    assert "damaged at byte 0 of 1365940" in str(outcome.error)
    assert "binary" in str(outcome.error.hint)


@pytest.mark.corpus
def test_tables_of_the_profiler_are_refused(store: traceql.Store, corpus: Path) -> None:
    for path in sorted((corpus / "xplane" / "tool_protobufs").rglob("*.pb")):
        (outcome,) = store.ingest(path)
        assert outcome.error is not None
        assert "table that TensorFlow's profiler made" in str(outcome.error)


def test_copies_around_an_operation(store: traceql.Store, tmp_path: Path) -> None:
    """The line of operations has kernels alone: copies beside them go by the step."""
    plane = Plane("/device:GPU:0")
    named = {"annotation": "net/BN:FusedBatchNormV3"}
    stream, ops = [], []
    for step in (0, 1):
        at = 100 * step * US
        stream += [
            plane.event("MemcpyD2D", at + 10 * US, US, group_id=step, **named),
            plane.event("bn", at + 20 * US, 5 * US, group_id=step, **named),
            plane.event("MemcpyD2D", at + 30 * US, US, group_id=step, **named),
        ]
        ops.append(
            plane.event(named["annotation"], at + 20 * US, 5 * US, group_id=step)
        )
    plane.line(13, "Stream #13(Compute,MemcpyD2D)", stream)
    plane.line(5, "TensorFlow Ops", ops)
    run = _import(store, tmp_path, space(plane))
    assert run.rows(
        "SELECT m.ts_ns, o.ts_ns FROM memcpy AS m JOIN op AS o USING (op_id) ORDER BY 1"
    ) == [
        (10_000, 20_000),
        (30_000, 20_000),
        (110_000, 120_000),
        (130_000, 120_000),
    ]


@pytest.mark.corpus
def test_a_folder_of_tables_alone(store: traceql.Store, corpus: Path) -> None:
    """The advice does not speak of another vendor's profiler."""
    (outcome,) = store.ingest(corpus / "xplane" / "tool_protobufs")
    assert outcome.error is not None
    assert "nsys" not in str(outcome.error.hint)
    assert "Name a file" in str(outcome.error.hint)
