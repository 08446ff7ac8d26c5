"""One run in many formats: every format that carries a fact gives the same answer.

The run's plan, cut to what a format carries and to its precision, says what is true.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import pytest

import traceql
from fixtures.dlprof_database import write_dlprof_database
from fixtures.dlprof_ops import DATABASE, carried_database
from fixtures.kineto_era import ERAS, Era, carried, device_rows, of_process
from fixtures.kineto_json import write_kineto_json
from fixtures.make_fixtures import RANKS, SINGLE, write_tf
from fixtures.model import TrainingRun
from fixtures.tf1_timeline import (
    TIMELINE,
    carried_timelines,
    type_of,
    write_tf1_timelines,
)
from fixtures.tf_profile import (
    PROFILE,
    carried_profile,
    occupancy_pct,
    op_names,
)
from fixtures.training_run import make_run
from fixtures.truth import truth
from fixtures.truth_host import launch_calls
from traceql.session import Session

FIXTURES = Path(__file__).parents[2] / "fixtures"
_FORMATS = {
    "nsight_2020": "nsight/nsight_2020.sqlite",
    "nsight_2022": "nsight/nsight_2022_4.sqlite",
    **{f"kineto_{name}": f"kineto/kineto_{name}.json.gz" for name in ERAS},
    "tf_xplane": "tf/host.xplane.pb.gz",
    "tf_json": "tf/host.trace.json.gz",
    "tf1_timelines": "tf/timelines",
    "tf1_old_names": "",
    "dlprof_database": "",
}
_STEP = {
    "wall_ns": "wall_ns",
    "gap_before_ns": "gap_before_ns",
    "kernel_union_ns": "kernel_union_ns",
    "kernel_sum_ns": "kernel_sum_ns",
    "compute_union_ns": "compute_union_ns",
    "communication_union_ns": "comm_union_ns",
    "communication_sum_ns": "comm_sum_ns",
    "exposed_communication_ns": "comm_exposed_ns",
    "overlapped_communication_ns": "comm_overlap_ns",
    "exposed_copy_ns": "copy_exposed_ns",
    "busy_union_ns": "busy_ns",
    "op_count": "op_count",
    "launch_count": "launch_count",
}
_TIMES = {"first_gpu_ns": "gpu_first_ns", "last_gpu_ns": "gpu_last_ns"}
_APIS = {"runtime": "cuda_runtime", "driver": "cuda_driver"}


@dataclass(frozen=True)
class Captured:
    """One format's import of the run, and what is true of it.

    Attributes:
        session: The imported run.
        run: The plan, cut to what the format carries.
        truth: The answers.
        era: The profiler's era; None for Nsight, which carries everything; `PROFILE`
            for what TensorFlow's profiler wrote, `TIMELINE` for timelines and
            `DATABASE` for DLProf.
        shift_ns: The store's time of the plan's zero.
    """

    session: Session
    run: TrainingRun
    truth: dict[str, Any]
    era: Era | None
    shift_ns: int

    @property
    def is_tf(self) -> bool:
        """Whether it is TensorFlow's or JAX's profile."""
        return self.era is PROFILE

    @property
    def is_tf1(self) -> bool:
        """Whether it is a folder of timelines."""
        return self.era is TIMELINE

    @property
    def is_dlprof(self) -> bool:
        """Whether it is DLProf's database."""
        return self.era is DATABASE

    def rows(self, name: str, **params: object) -> list[dict[str, Any]]:
        """The rows of a query."""
        return self.session.query(name, params).rows()

    def sql(self, text: str) -> list[dict[str, Any]]:
        """The rows of a statement."""
        return self.session.sql(text).rows()


@pytest.fixture(scope="module", params=list(_FORMATS))
def captured(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Captured:
    """The run as one format has it."""
    store = traceql.open_store(tmp_path_factory.mktemp("store"), create=True)
    source = FIXTURES / _FORMATS[request.param]
    if request.param == "tf1_old_names":
        source = tmp_path_factory.mktemp("timelines")
        write_tf1_timelines(make_run(SINGLE), source, old_names=True)
    elif request.param == "dlprof_database":
        source = tmp_path_factory.mktemp("dlprof") / "dlprof_dldb.sqlite"
        write_dlprof_database(make_run(SINGLE), source)
    (outcome,) = store.ingest(source)
    assert outcome.run is not None, outcome.error
    vendor, _, era_name = request.param.partition("_")
    session = store.session()
    run, era, shift_ns = make_run(SINGLE), None, 0
    if vendor in ("kineto", "tf1"):
        (facts,) = session.sql("SELECT origin_unix_ns FROM run").rows()
        shift_ns = run.session_start_unix_ns - facts["origin_unix_ns"]
    if vendor == "kineto":
        era = ERAS[era_name]
        run = carried(run, era)
    elif vendor == "tf1":
        era, run = TIMELINE, carried_timelines(run)
    elif vendor == "tf":
        era, run = PROFILE, carried_profile(run)
    elif vendor == "dlprof":
        era, run = DATABASE, carried_database(run)
    return Captured(session, run, truth(run), era, shift_ns)


def test_committed_files_are_what_the_generator_makes(tmp_path: Path) -> None:
    """The same seed, the same bytes."""
    run = make_run(SINGLE)
    for name in ERAS:
        made = tmp_path / f"kineto_{name}.json.gz"
        write_kineto_json(run, made, name)
        committed = FIXTURES / "kineto" / made.name
        assert committed.read_bytes() == made.read_bytes(), name
    for made in write_tf(tmp_path / "tf"):
        committed = FIXTURES / made.relative_to(tmp_path)
        assert committed.read_bytes() == made.read_bytes(), made.name


def test_steps(captured: Captured) -> None:
    """Every figure of every step and device; what no step launched is apart."""
    rows = captured.rows("iteration_timing")
    found = {
        (r["pid"], r["iteration"], r["device_id"]): r
        for r in rows
        if r["op_count"] and r["iteration"] is not None
    }
    # DLProf's steps name no process.
    wanted = {
        (
            None if captured.is_dlprof else t["process"],
            t["iteration"],
            t["device"],
        ): t
        for t in captured.truth["iterations"]
    }
    assert found.keys() == wanted.keys()
    for key, t in wanted.items():
        for ours, theirs in _STEP.items():
            # Timelines tell operations, not launches.
            if captured.is_tf1 and ours == "launch_count":
                assert found[key][ours] is None
            elif t[theirs] is not None:
                assert found[key][ours] == t[theirs], (key, ours)
        for ours, theirs in _TIMES.items():
            assert found[key][ours] == t[theirs] + captured.shift_ns, (key, ours)
    outside = {r["device_id"]: r for r in rows if r["iteration"] is None}
    for t in captured.truth["outside_iterations"]:
        if not t["op_count"]:
            assert t["device"] not in outside
            continue
        for ours in ("kernel_sum_ns", "busy_union_ns", "op_count"):
            assert outside[t["device"]][ours] == t[_STEP[ours]], (t["device"], ours)


def test_copies_of_steps(captured: Captured) -> None:
    """Copies, bytes and time by step, device and direction."""
    found = {
        (r["iteration"], r["device_id"], r["direction"]): (
            r["copy_count"],
            r["copy_bytes"],
            r["copy_sum_ns"],
        )
        for r in captured.rows("memcpy_per_iteration")
        if r["iteration"] is not None
    }
    assert found == {
        (t["iteration"], t["device"], kind): (
            c["count"],
            None if captured.is_tf1 else c["bytes"],
            c["sum_ns"],
        )
        for t in captured.truth["iterations"]
        for kind, c in t["copies"].items()
        if c["count"]
    }


@pytest.mark.parametrize("group_by", ["name", "short_name"])
def test_kernels(captured: Captured, group_by: str) -> None:
    """Count, sum, extremes and median of each kernel, by full and by short name."""
    lengths: dict[str, list[int]] = defaultdict(list)
    for kernel in captured.run.kernels:
        lengths[getattr(kernel.type, group_by)].append(kernel.end_ns - kernel.start_ns)
    found = {
        r[group_by]: (
            r["kernel_count"],
            r["total_ns"],
            r["min_ns"],
            r["max_ns"],
            r["median_ns"],
        )
        for r in captured.rows("kernel_totals", group_by=group_by)
    }
    assert found == {
        name: (len(n), sum(n), min(n), max(n), median(n)) for name, n in lengths.items()
    }


def test_launch_configurations(captured: Captured) -> None:
    """Grid, block, registers and shared memory of each kernel, as far as carried."""
    if captured.is_tf1:
        pytest.skip("timelines know operations, no kernels")
    bare = captured.is_dlprof or (captured.era is not None and captured.era.hip)
    found = {
        (
            r["name"],
            (r["grid_x"], r["grid_y"], r["grid_z"]),
            (r["block_x"], r["block_y"], r["block_z"]),
            r["registers_per_thread"],
            r["shared"],
        )
        for r in captured.sql(
            "SELECT DISTINCT name, grid_x, grid_y, grid_z, block_x, block_y, block_z, "
            "registers_per_thread, coalesce(shared_memory_bytes, "
            "static_shared_memory_bytes + dynamic_shared_memory_bytes) AS shared "
            "FROM kernel"
        )
    }
    assert found == {
        (
            k.name,
            k.grid,
            k.block,
            None if bare else k.registers,
            None if bare else k.static_shared_bytes + k.dynamic_shared_bytes,
        )
        for k in {kernel.type for kernel in captured.run.kernels}
    }


def test_occupancy_is_stated_or_unknown(captured: Captured) -> None:
    """Blocks over SMs as the source has them; NULL, never 0, where it has none."""
    if captured.is_tf or captured.is_tf1:
        pytest.skip("TensorFlow states the theoretical occupancy, or none")
    rows = captured.sql(
        "SELECT k.blocks_per_sm, k.est_occupancy_pct, d.sm_count, "
        "k.grid_x * k.grid_y * k.grid_z AS blocks FROM kernel AS k "
        "LEFT JOIN device AS d ON d.device_id = k.device_id"
    )
    for row in rows:
        if captured.era is None or captured.era.hip or captured.is_dlprof:
            assert row["blocks_per_sm"] is None
            assert row["est_occupancy_pct"] is None
        else:
            assert row["blocks_per_sm"] == pytest.approx(
                row["blocks"] / row["sm_count"], abs=1e-6
            )
            assert 0 < row["est_occupancy_pct"] <= 100


def test_copies(captured: Captured) -> None:
    """Count, bytes and time of each direction and pair of memories."""
    hip = captured.era is not None and captured.era.hip
    groups: dict[tuple[str | None, ...], list[tuple[int, int]]] = defaultdict(list)
    for copy in captured.run.memcpys:
        # ROCm says "Host" of pageable and pinned memory alike.
        memories = [
            None
            if captured.is_tf1 or captured.is_dlprof or (hip and kind != "device")
            else kind
            for kind in (copy.src_kind, copy.dst_kind)
        ]
        length = copy.end_ns - copy.start_ns
        groups[(copy.direction, *memories)].append((copy.bytes, length))
    found = {
        (r["kind"], r["src_memory"], r["dst_memory"]): (
            r["copy_count"],
            r["total_bytes"],
            r["total_ns"],
            r["max_ns"],
        )
        for r in captured.rows("memcpy_summary", group_by="memory")
        if r["kind"] != "memset"
    }
    assert found == {
        key: (
            len(c),
            None if captured.is_tf1 else sum(size for size, _ in c),
            sum(t for _, t in c),
            max(t for _, t in c),
        )
        for key, c in groups.items()
    }


def test_fills(captured: Captured) -> None:
    """Count, bytes and time of the fills."""
    if captured.is_tf1:
        pytest.skip("timelines have no fills")
    (row,) = [r for r in captured.rows("memcpy_summary") if r["kind"] == "memset"]
    fills = captured.run.memsets
    assert row["copy_count"] == len(fills)
    assert row["total_bytes"] == sum(m.bytes for m in fills)
    assert row["total_ns"] == sum(m.end_ns - m.start_ns for m in fills)


def test_utilization(captured: Captured) -> None:
    """Unions and sums of each device over its own span."""
    for t in captured.truth["devices_busy"]:
        bounds = [t[key] + captured.shift_ns for key in ("first_ns", "last_ns")]
        (row,) = [
            r
            for r in captured.rows(
                "gpu_utilization", from_ns=bounds[0], to_ns=bounds[1]
            )
            if r["device_id"] == t["device"]
        ]
        assert row["busy_union_ns"] == t["busy_ns"]
        assert row["kernel_union_ns"] == t["kernel_union_ns"]
        assert row["busy_sum_ns"] == t["sum_ns"]
        assert row["kernel_sum_ns"] == t["kernel_sum_ns"]
        assert row["idle_ns"] == t["last_ns"] - t["first_ns"] - t["busy_ns"]


def test_streams(captured: Captured) -> None:
    """Operations and busy time of every stream, and of every two of them at once."""
    if captured.is_dlprof:
        pytest.skip("DLProf names no streams")
    found = {
        (r["pid"], r["device_id"], r["stream_id"]): (r["op_count"], r["busy_union_ns"])
        for r in captured.rows("stream_summary")
    }
    assert found == {
        (t["process"], t["device"], t["stream"]): (t["ops"], t["busy_ns"])
        for t in captured.truth["streams"]
        if t["ops"]
    }
    overlaps = {
        (r["device_id"], r["a_stream_id"], r["b_stream_id"]): r["overlap_ns"]
        for r in captured.rows("stream_overlap")
    }
    for t in captured.truth["stream_overlap"]:
        pair = (t["device"], t["stream_a"], t["stream_b"])
        assert overlaps[pair] == t["overlap_ns"], pair
    for t in captured.truth["devices_busy"]:
        counted = {
            str(r["busy_stream_count"]): r["time_ns"]
            for r in captured.rows(
                "stream_concurrency",
                from_ns=t["first_ns"] + captured.shift_ns,
                to_ns=t["last_ns"] + captured.shift_ns,
            )
            if r["device_id"] == t["device"]
        }
        assert counted == captured.truth["stream_concurrency"][str(t["device"])]


def test_gaps(captured: Captured) -> None:
    """Idle spans over a millisecond."""
    key = "gaps_over_1ms" + ("" if captured.era else "_overhead_busy")
    found = {
        (r["device_id"], r["start_ns"], r["end_ns"])
        for r in captured.rows("gpu_gaps", min_ns=1_000_000)
    }
    assert found == {
        (int(device), start + captured.shift_ns, end + captured.shift_ns)
        for device, gaps in captured.truth[key].items()
        for start, end in gaps
    }


def test_launches(captured: Captured) -> None:
    """Who launched what: orphans, signed delays, the outermost of two calls."""
    launcher = "op" if captured.is_tf1 else "api_call"
    rows = captured.sql(
        "SELECT g.ts_ns, g.launch_ts_ns, a.ts_ns + a.dur_ns AS call_end_ns, a.name "
        f"FROM gpu_op AS g LEFT JOIN {launcher} AS a "
        f"ON a.{launcher}_id = g.{launcher}_id"
    )
    wanted = captured.truth["launches"]
    launched = [r for r in rows if r["launch_ts_ns"] is not None]
    assert len(launched) == wanted["launched_ops"]
    assert len(rows) - len(launched) == wanted["orphan_ops"]
    for key, delays in (
        ("after_start", [r["ts_ns"] - r["launch_ts_ns"] for r in launched]),
        ("after_end", [r["ts_ns"] - r["call_end_ns"] for r in launched]),
    ):
        assert min(delays) == wanted[key]["min_ns"]
        assert max(delays) == wanted[key]["max_ns"]
        assert median(delays) == wanted[key]["median_ns"]
    calls = launch_calls(captured.run)
    run = captured.run
    names = sorted(
        calls[op.process, op.correlation].name.partition("_v")[0]
        for op in device_rows(run)
        if (op.process, op.correlation) in calls
    )
    assert sorted(r["name"] for r in launched) == names


def test_calls(captured: Captured) -> None:
    """Count and time of each function."""
    hip = captured.era is not None and captured.era.hip
    found = {
        (r["api"], r["name"]): (
            r["call_count"],
            r["total_ns"],
            r["min_ns"],
            r["max_ns"],
        )
        for r in captured.rows("api_summary")
        if r["api"] in ("cuda_runtime", "cuda_driver", "hip")
    }
    assert found == {
        ("hip" if hip else _APIS[t["api"]], t["name"]): (
            t["count"],
            t["sum_ns"],
            t["min_ns"],
            t["max_ns"],
        )
        for t in captured.truth["api_calls"]
        if t["api"] in _APIS
    }


def test_collectives(captured: Captured) -> None:
    """Communication by name everywhere, by its arguments where they are there."""
    no_args = captured.is_tf or captured.is_tf1 or captured.is_dlprof
    if captured.era is None or no_args:
        pytest.skip("Nsight, DLProf and TensorFlow state no collectives")
    rows = captured.sql(
        "SELECT c.name, c.in_elements, c.bytes, c.dtype, c.group_description, "
        "k.ts_ns = c.ts_ns AS same FROM collective AS c JOIN kernel AS k "
        "ON k.kernel_id = c.kernel_id"
    )
    collectives = [k.collective for k in captured.run.kernels if k.collective]
    assert len(rows) == len(collectives)
    for row in rows:
        (what,) = set(collectives)
        assert row["name"] == what.kind
        assert row["same"]
        if captured.era.details:
            assert row["in_elements"] == what.elements
            assert row["bytes"] == what.bytes
            assert row["dtype"] == what.dtype
            assert row["group_description"] == what.group
        else:
            assert row["bytes"] is None


def test_operations(captured: Captured) -> None:
    """Operations with shapes, forward links and the kernels that they launched."""
    no_links = captured.is_tf or captured.is_tf1 or captured.is_dlprof
    if captured.era is None or no_links:
        pytest.skip("ranges in Nsight captures; DLProf and TensorFlow state no links")
    rows = captured.sql(
        "SELECT o.name, o.ts_ns, o.tid, o.input_shapes, o.sequence_number, "
        "o.is_backward, o.depth, f.ts_ns AS forward_ts_ns, o.forward_tid, "
        "(SELECT count(*) FROM gpu_op AS g WHERE g.op_id = o.op_id) AS launched "
        "FROM op AS o LEFT JOIN op AS f ON f.op_id = o.forward_op_id"
    )
    found = {(r["name"], r["ts_ns"], r["tid"]): r for r in rows}
    run = captured.run
    by_id = {o.op_id: o for o in run.ops}
    launched: dict[int, int] = defaultdict(int)
    calls = launch_calls(run)
    for done in device_rows(run):
        if done.op_id is not None and (done.process, done.correlation) in calls:
            launched[done.op_id] += 1
    for op in run.ops:
        row = found[op.name, op.start_ns + captured.shift_ns, op.thread]
        shapes = [list(s) for s in op.input_shapes]
        assert row["input_shapes"].replace(" ", "") == str(shapes).replace(" ", "")
        assert row["sequence_number"] == op.sequence
        assert row["is_backward"] == (op.forward_op_id is not None)
        assert row["launched"] == launched[op.op_id], op
        assert row["depth"] == 0 or captured.era.name == "2021"
        if op.forward_op_id is None:
            assert row["forward_ts_ns"] is None
        else:
            forward = by_id[op.forward_op_id]
            # Two operations share each number; without arrows the later one counts.
            if captured.era.details:
                assert row["forward_ts_ns"] == forward.start_ns + captured.shift_ns
            assert row["forward_tid"] == forward.thread


def test_operations_of_tensorflow(captured: Captured) -> None:
    """Operations on the host, and the kernels that bear the name of one."""
    run = captured.run
    if captured.is_tf:
        names = op_names(run)
    elif captured.is_tf1:
        names = {op.op_id: (op.name, type_of(op.name)) for op in run.ops}
    else:
        pytest.skip("no capture of TensorFlow")
    rows = captured.sql(
        "SELECT name, op_type, ts_ns, dur_ns, tid FROM op WHERE placement = 'host'"
    )
    shift_ns = captured.shift_ns
    # A timeline's lanes are no threads.
    threads = [0 if captured.is_tf1 else r["tid"] for r in rows]
    found = sorted(
        (r["name"], r["op_type"], r["ts_ns"], r["dur_ns"], tid)
        for r, tid in zip(rows, threads, strict=True)
    )
    assert found == sorted(
        (
            *names[o.op_id],
            o.start_ns + shift_ns,
            o.end_ns - o.start_ns,
            0 if captured.is_tf1 else o.thread,
        )
        for o in run.ops
    )
    linked = captured.sql(
        "SELECT k.ts_ns, k.device_id, o.name FROM gpu_op AS k "
        "JOIN op AS o ON o.op_id = k.op_id"
    )
    assert sorted((r["ts_ns"], r["device_id"], r["name"]) for r in linked) == sorted(
        (row.start_ns + shift_ns, row.device, names[row.op_id][0])
        for row in device_rows(run)
        if row.op_id is not None
    )


def test_timelines_are_within_a_microsecond() -> None:
    """A row of a timeline is off by less than its resolution, in start and length.

    So sums are off by less than a microsecond a row and unions by less than two, an end
    being a start and a length: what other tests ask of timelines is true within that.
    """
    run = make_run(SINGLE)
    held = carried_timelines(run)
    for table in ("kernels", "memcpys"):
        planned = [r for r in getattr(run, table) if r.iteration is not None]
        for row, whole in zip(getattr(held, table), planned, strict=True):
            assert (row.start_ns + run.session_start_unix_ns) % 1000 == 0
            assert 0 <= whole.start_ns - row.start_ns < 1000
            length, whole_length = (r.end_ns - r.start_ns for r in (row, whole))
            assert length % 1000 == 0
            assert abs(whole_length - length) < 1000
    busy = {t["device"]: t for t in truth(run)["iterations"] if t["iteration"] == 3}
    for t in truth(held)["iterations"]:
        if t["iteration"] == 3:
            off = abs(t["kernel_sum_ns"] - busy[t["device"]]["kernel_sum_ns"])
            assert off < 1000 * t["kernel_count"]
            off = abs(t["kernel_union_ns"] - busy[t["device"]]["kernel_union_ns"])
            assert off < 2000 * t["kernel_count"]


def test_profile_says_when_it_was(captured: Captured) -> None:
    """XPlane alone of TensorFlow's profiles tells the wall clock."""
    if not captured.is_tf:
        pytest.skip("no profile of TensorFlow")
    (row,) = captured.sql("SELECT origin_unix_ns, format FROM run")
    wanted = captured.run.session_start_unix_ns
    assert row["origin_unix_ns"] == (wanted if row["format"] == "xplane" else None)


def test_occupancy_of_tensorflow(captured: Captured) -> None:
    """The share of an SM's threads that blocks can fill, as the profile states it."""
    if not captured.is_tf:
        pytest.skip("no profile of TensorFlow")
    rows = captured.sql("SELECT DISTINCT name, est_occupancy_pct AS pct FROM kernel")
    wanted = {k.type.name: occupancy_pct(k) for k in captured.run.kernels}
    assert {r["name"] for r in rows} == wanted.keys()
    for row in rows:
        assert row["pct"] == pytest.approx(wanted[row["name"]], abs=1e-3)


def test_steps_are_stated_once(captured: Captured) -> None:
    """Projections on the GPU repeat steps: they count for none."""
    if captured.era is None:
        pytest.skip("Nsight states no steps")
    rows = captured.sql("SELECT number, ts_ns, dur_ns FROM iteration ORDER BY number")
    assert [(r["number"], r["ts_ns"], r["dur_ns"]) for r in rows] == [
        (s.number, s.start_ns + captured.shift_ns, s.end_ns - s.start_ns)
        for s in captured.run.iterations
    ]


def test_formats_of_one_precision_agree(tmp_path: Path) -> None:
    """Row by row, but for ids, origins and what only one format names."""
    store = traceql.open_store(tmp_path / "store", create=True)
    answers = []
    for name in ("nsight_2022", "kineto_2026"):
        (outcome,) = store.ingest(FIXTURES / _FORMATS[name])
        assert outcome.run is not None
        session = store.session(outcome.run.run_id)
        answers.append(
            [
                {
                    k: v
                    for k, v in row.items()
                    if k != "run_id" and not k.startswith("window")
                }
                for query, params in (
                    ("kernel_totals", {"per_device": True, "time_window": "gpu"}),
                    ("memcpy_summary", {"group_by": "memory", "time_window": "gpu"}),
                    ("launch_latency", {"time_window": "gpu"}),
                    ("stream_overlap", {"time_window": "gpu"}),
                )
                for row in session.query(query, params).rows()
            ]
        )
    nsight, kineto = answers
    assert len(nsight) > 40
    assert [_plain(r) for r in nsight] == [_plain(r) for r in kineto]


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    """A row without what one of the formats cannot know."""
    return {k: v for k, v in row.items() if k not in ("mangled_name", "priority")}


def test_ranks_of_one_job(tmp_path: Path) -> None:
    """One trace a rank, as PyTorch writes them: grouped by --job, told by rank."""
    run = make_run(RANKS)
    pids = [p.pid for p in run.processes if p.traced]
    store = traceql.open_store(tmp_path / "store", create=True)
    for rank, pid in enumerate(pids):
        mine = of_process(run, pid)
        path = tmp_path / f"part{rank}.json"
        write_kineto_json(mine, path, "2026", rank=rank, world_size=len(pids))
        (outcome,) = store.ingest(path, job="job42")
        assert outcome.run is not None, outcome.error
    session = store.session("all")
    rows = session.sql("SELECT rank, world_size, job FROM run ORDER BY rank").rows()
    assert rows == [
        {"rank": rank, "world_size": 2, "job": "job42"} for rank in range(len(pids))
    ]
    wanted = truth(carried(run, ERAS["2026"]))["iterations"]
    found = {
        (r["pid"], r["iteration"]): r
        for r in session.query("iteration_timing", {}).rows()
        if r["iteration"] is not None and r["op_count"]
    }
    assert len(found) == len(wanted)
    for t in wanted:
        row = found[t["process"], t["iteration"]]
        assert row["kernel_sum_ns"] == t["kernel_sum_ns"]
        assert row["busy_union_ns"] == t["busy_ns"]
        assert row["exposed_communication_ns"] == t["comm_exposed_ns"]
