"""The Nsight SQLite importer against the generator's truth, in three generations."""

from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import traceql
from traceql import schema
from traceql.result import Result
from traceql.session import Session

FIXTURES = Path(__file__).parents[2] / "fixtures" / "nsight"
GENERATIONS = ("2020", "2022_4", "2026")


def _truth(name: str = "truth") -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((FIXTURES / f"{name}.json").read_text())
    return loaded


TRUTH = _truth()
_KINDS = ("push_pop", "start_end", "mark")


@pytest.fixture(scope="module", params=GENERATIONS)
def run(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Any:
    """One generation's file, imported."""
    store = traceql.open_store(tmp_path_factory.mktemp("store"), create=True)
    (outcome,) = store.ingest(FIXTURES / f"nsight_{request.param}.sqlite")
    assert outcome.error is None
    session = store.session()
    session.con.execute(f"SET VARIABLE generation = '{request.param}'")
    return session


def _rows(session: Session, sql: str) -> list[tuple[Any, ...]]:
    return session.con.execute(sql).fetchall()


def _generation(session: Session) -> str:
    return str(_rows(session, "SELECT getvariable('generation')")[0][0])


def test_counts(run: Session) -> None:
    """Every event of the run has its row."""
    counts = TRUTH["counts"]
    tables = {
        "kernel": counts["kernels"],
        "memcpy": counts["memcpys"],
        "memset": counts["memsets"],
        "api_call": counts["api_calls"],
    }
    if _generation(run) == "2026":
        tables["graph_launch"] = counts["graph_launches"]
    for table, count in tables.items():
        assert _rows(run, f"SELECT count(*) FROM {table}") == [(count,)], table
    kinds = dict(_rows(run, "SELECT kind, count(*) FROM sync GROUP BY kind"))
    records = kinds.pop("event_record", 0)
    assert sum(kinds.values()) == counts["syncs"]
    if _generation(run) != "2020":
        assert records == counts["event_records"]


def test_kernels_by_name(run: Session) -> None:
    """Count, sum, minimum and maximum of every kernel, exactly."""
    found = {
        name: figures
        for name, *figures in _rows(
            run,
            "SELECT name, count(*), sum(dur_ns)::BIGINT, min(dur_ns), max(dur_ns) "
            "FROM kernel GROUP BY name",
        )
    }
    wanted = {
        name: [k["count"], k["sum_ns"], k["min_ns"], k["max_ns"]]
        for name, k in TRUTH["kernels"].items()
    }
    assert found == wanted


def test_copies_by_direction_and_memory(run: Session) -> None:
    """Directions, memory kinds, bytes and times."""
    found = {
        (kind, src, dst): (count, size, time)
        for kind, src, dst, count, size, time in _rows(
            run,
            "SELECT kind, src_memory, dst_memory, count(*), sum(bytes)::BIGINT, "
            "sum(dur_ns)::BIGINT FROM memcpy GROUP BY ALL",
        )
    }
    wanted = {
        (c["direction"], c["src_kind"], c["dst_kind"]): (
            c["count"],
            c["bytes"],
            c["sum_ns"],
        )
        for c in TRUTH["memcpy"]
    }
    assert found == wanted


def test_api_calls(run: Session) -> None:
    """Names without version suffix, apis, counts, sums, extremes."""
    found = {
        (api, name): tuple(figures)
        for api, name, *figures in _rows(
            run,
            "SELECT api, name, count(*), sum(dur_ns)::BIGINT, min(dur_ns), max(dur_ns) "
            "FROM api_call GROUP BY ALL",
        )
    }
    ours = {"runtime": "cuda_runtime", "driver": "cuda_driver"}
    wanted = {
        (ours.get(a["api"], a["api"]), a["name"]): (
            a["count"],
            a["sum_ns"],
            a["min_ns"],
            a["max_ns"],
        )
        for a in TRUTH["api_calls"]
    }
    assert found == wanted


def test_launches(run: Session) -> None:
    """Each GPU row has its outermost call; orphans have none; delays are signed."""
    launches = TRUTH["launches"]
    ops = "FROM gpu_op WHERE op_kind <> 'graph'"
    assert _rows(run, f"SELECT count(api_call_id), count(*) {ops}") == [
        (
            launches["launched_ops"],
            launches["launched_ops"] + launches["orphan_ops"],
        )
    ]
    assert _rows(
        run,
        "SELECT min(g.ts_ns - a.ts_ns - a.dur_ns), max(g.ts_ns - a.ts_ns - a.dur_ns), "
        "min(g.ts_ns - g.launch_ts_ns), max(g.ts_ns - g.launch_ts_ns), "
        "count(*) FILTER (g.ts_ns < a.ts_ns + a.dur_ns) "
        "FROM gpu_op AS g JOIN api_call AS a USING (run_id, api_call_id) "
        "WHERE g.op_kind <> 'graph'",
    ) == [
        (
            launches["after_end"]["min_ns"],
            launches["after_end"]["max_ns"],
            launches["after_start"]["min_ns"],
            launches["after_start"]["max_ns"],
            launches["negative_after_end"],
        )
    ]
    # Forty launches have a driver call inside the runtime call: none of them launches.
    assert _rows(
        run,
        "SELECT count(*) FROM gpu_op AS g JOIN api_call AS inner_call "
        "ON inner_call.run_id = g.run_id AND inner_call.api_call_id = g.api_call_id "
        "JOIN api_call AS outer_call ON outer_call.run_id = g.run_id "
        "AND outer_call.pid = inner_call.pid "
        "AND outer_call.correlation_id = inner_call.correlation_id "
        "AND outer_call.ts_ns < inner_call.ts_ns",
    ) == [(0,)]


def test_annotations(run: Session) -> None:
    """Kinds, counts, open ranges, sums, depths and parents of every name."""
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for name, kind, depth, parent, count, open_count, total in _rows(
        run,
        "SELECT a.name, a.kind, a.depth, coalesce(p.name, ''), count(*), "
        "count(*) FILTER (a.truncated), coalesce(sum(a.dur_ns), 0)::BIGINT "
        "FROM annotation AS a LEFT JOIN annotation AS p "
        "ON p.run_id = a.run_id AND p.annotation_id = a.parent_id GROUP BY ALL",
    ):
        entry = found.setdefault(
            (name, kind),
            {"count": 0, "open": 0, "sum_ns": 0, "depths": {}, "parents": {}},
        )
        entry["count"] += count
        entry["open"] += open_count
        entry["sum_ns"] += total
        if kind == "push_pop":
            for of, key in (("depths", str(depth)), ("parents", parent)):
                entry[of][key] = entry[of].get(key, 0) + count
    drawn = [a for a in TRUTH["annotations"] if a["kind"] in _KINDS]
    assert {(a["name"], a["kind"]) for a in drawn} <= found.keys()
    for wanted in drawn:
        entry = found[wanted["name"], wanted["kind"]]
        assert entry["count"] == wanted["count"], wanted
        assert entry["open"] == wanted["open"], wanted
        if wanted["kind"] != "mark":
            assert entry["sum_ns"] == wanted["sum_ns"], wanted
        if wanted["kind"] == "push_pop":
            assert entry["depths"] == wanted["depths"], wanted
            assert entry["parents"] == wanted["parents"], wanted


def test_crossing_and_unfinished_ranges(run: Session) -> None:
    """Just the designed pair crosses; what is cut off has no duration."""
    assert _rows(run, "SELECT name FROM annotation WHERE crossing ORDER BY name") == [
        ("crossing A",),
        ("crossing B",),
    ]
    assert _rows(run, "SELECT DISTINCT dur_ns FROM annotation WHERE truncated") == [
        (None,)
    ]


def test_devices_by_cuda_ordinal(run: Session) -> None:
    """The target lists the GPUs in another order than CUDA counts them."""
    found = _rows(
        run,
        "SELECT device_id, name, sm_count, memory_bytes // 1048576 FROM device "
        "ORDER BY ALL",
    )
    # Exports of 2020 give the memory in MiB.
    assert found == [
        (d["ordinal"], d["name"], d["sm_count"], d["memory_bytes"] // 1048576)
        for d in TRUTH["devices"]
    ]


def test_counters(run: Session) -> None:
    """Both layouts of GPU metrics; in a file with both, once."""
    found = {
        (device, name): figures
        for device, name, *figures in _rows(
            run,
            "SELECT device_id, name, count(*), min(ts_ns), sum(value)::BIGINT, "
            "min(value)::BIGINT, max(value)::BIGINT FROM counter GROUP BY ALL",
        )
    }
    wanted = {
        (m["device"], m["name"]): [
            m["count"],
            m["first_ns"],
            m["sum"],
            m["min"],
            m["max"],
        ]
        for m in TRUTH["metrics"]
    }
    assert found == wanted


def test_threads_and_processes_of_the_capture_only(run: Session) -> None:
    """The machine's other processes stay out."""
    assert _rows(run, "SELECT DISTINCT pid FROM thread") == [
        (p,) for p in TRUTH["processes"]
    ]
    assert {t for (t,) in _rows(run, "SELECT tid FROM thread")} == {
        t["tid"] for t in TRUTH["threads"]
    }


def test_window_and_origin(run: Session) -> None:
    """Times are the file's own; the wall clock is the session's start."""
    ((origin, unix, first, span),) = _rows(
        run,
        "SELECT source_origin_ns, origin_unix_ns, first_ts_ns, span_ns FROM run",
    )
    assert origin == 0
    assert first >= TRUTH["capture"]["start_ns"]
    assert first + span <= TRUTH["capture"]["end_ns"]
    if _generation(run) == "2020":
        assert unix is None
    else:
        assert unix == TRUTH["session_start_unix_ns"]


def test_ranks_share_correlation_ids(store: traceql.Store) -> None:
    """Two processes count the same correlations: each launches its own kernels."""
    truth = _truth("truth_ranks")
    store.ingest(FIXTURES / "nsight_ranks_2026.sqlite")
    session = store.session()
    assert _rows(
        session,
        "SELECT count(*) FROM kernel AS k "
        "JOIN api_call AS a USING (run_id, api_call_id) "
        "WHERE a.pid <> k.pid OR a.correlation_id <> k.correlation_id",
    ) == [(0,)]
    assert _rows(
        session, "SELECT count(api_call_id) FROM gpu_op WHERE op_kind <> 'graph'"
    ) == [(truth["launches"]["launched_ops"],)]


@pytest.mark.parametrize("generation", GENERATIONS)
def test_environment_stays_out(
    store: traceql.Store, tmp_path: Path, generation: str
) -> None:
    """Host, user, environment and bystanders enter no file of the store."""
    store.ingest(FIXTURES / f"nsight_{generation}.sqlite")
    secrets = (b"never-store-me", b"bystander", b"fixture-user")
    for path in Path(store.path).rglob("*"):
        if path.is_file():
            data = path.read_bytes()
            assert not any(s in data for s in secrets), path
    # Compressed pages hide text from the search above: look at the rows too.
    for table in schema.load().tables:
        dump = store.sql(f"SELECT to_json(t)::VARCHAR AS j FROM {table} AS t")
        assert not any(s.decode() in str(dump.rows()) for s in secrets), table


def test_environment_kept_on_request(store: traceql.Store) -> None:
    """`keep_environment` brings the host into the run table."""
    store.ingest(FIXTURES / "nsight_2026.sqlite", keep_environment=True)
    ((host, extra),) = _rows(store.session(), "SELECT host, extra FROM run")
    assert host is not None
    assert "never-store-me" in extra


def test_every_corpus_file_imports(store: traceql.Store, corpus: Path) -> None:
    """All captures of the corpus, the empty ones too; each says what it lacks."""
    files = sorted((corpus / "nsys").glob("*.sqlite"))
    assert len(files) > 20
    outcomes = store.ingest(*files)
    assert [(o.source, o.error) for o in outcomes if o.error] == []
    for outcome in outcomes:
        codes = {f.code for f in outcome.findings}
        assert outcome.run is not None
        rows = outcome.run.rows
        with sqlite3.connect(
            f"file:{outcome.source}?mode=ro&immutable=1", uri=True
        ) as c:
            tables = {t for (t,) in c.execute("SELECT name FROM sqlite_master")}
            for table, ours in (
                ("CUPTI_ACTIVITY_KIND_KERNEL", "kernel"),
                ("CUPTI_ACTIVITY_KIND_MEMCPY", "memcpy"),
                ("CUPTI_ACTIVITY_KIND_MEMSET", "memset"),
                ("CUPTI_ACTIVITY_KIND_GRAPH_TRACE", "graph_launch"),
            ):
                count = 0
                if table in tables:
                    ((count,),) = c.execute(f"SELECT count(*) FROM {table}")
                assert rows.get(ours, 0) == count, (outcome.source, table)
        gpu = any(rows.get(t) for t in ("kernel", "memcpy", "memset", "graph_launch"))
        assert ("no_gpu_activity" in codes) == (not gpu), outcome.source
        assert ("no_annotations" in codes) == (not rows.get("annotation"))


def test_orphans_of_public_captures(store: traceql.Store, corpus: Path) -> None:
    """Counted by hand in the format's notes: 1,810 of 3,442 have no launch."""
    store.ingest(corpus / "nsys" / "GindaChen-h100_2gpu_1s.sqlite")
    result: Result = store.sql(
        "SELECT count(*) AS kernels, count(api_call_id) AS launched FROM kernel"
    )
    assert result.rows() == [{"kernels": 3442, "launched": 3442 - 1810}]


def test_backtrace_frames_do_not_double_launches(
    store: traceql.Store, corpus: Path
) -> None:
    """saxpy has 38 pairs of calls with one correlation: the outer one launches."""
    store.ingest(corpus / "nsys" / "pipit-saxpy-mpi.sqlite")
    result = store.sql(
        "SELECT count(*) AS ops, count(DISTINCT gpu_op_id) AS ids FROM gpu_op"
    )
    assert result.rows() == [{"ops": 20, "ids": 20}]


def test_sync_kind_comes_from_the_call(store: traceql.Store, corpus: Path) -> None:
    """2024.6 numbers cudaStreamSynchronize 2, which is CUPTI's stream wait."""
    store.ingest(corpus / "nsys" / "torch-ex-2024.6.2.sqlite")
    result = store.sql(
        "SELECT kind, extra ->> 'syncType' AS number, count(*) AS n "
        "FROM sync GROUP BY ALL"
    )
    assert result.rows() == [{"kind": "stream_sync", "number": "2", "n": 122}]


def _changed(tmp_path: Path, *statements: str) -> Path:
    """The newest fixture after some SQL."""
    path = tmp_path / "changed.sqlite"
    shutil.copyfile(FIXTURES / "nsight_2026.sqlite", path)
    with closing(sqlite3.connect(path)) as con:
        for statement in statements:
            con.execute(statement)
        con.commit()
    return path


def test_what_the_target_lists_twice_counts_once(
    store: traceql.Store, tmp_path: Path
) -> None:
    """Each sample, device and context keeps its one row whatever the tables repeat."""
    repeated = ("TARGET_INFO_GPU", "TARGET_INFO_CUDA_CONTEXT_INFO")
    store.ingest(
        _changed(tmp_path, *(f"INSERT INTO {t} SELECT * FROM {t}" for t in repeated))
    )
    samples = sum(m["count"] for m in TRUTH["metrics"])
    session = store.session()
    assert _rows(session, "SELECT count(*) FROM counter") == [(samples,)]
    assert _rows(session, "SELECT count(*) FROM device") == [(len(TRUTH["devices"]),)]
    ((rows, contexts),) = _rows(
        session,
        "SELECT count(*), count(DISTINCT (kind, pid, context_id, stream_id)) "
        "FROM context",
    )
    assert rows == contexts


def test_metrics_of_gpus_that_cuda_does_not_see(
    store: traceql.Store, tmp_path: Path
) -> None:
    """Two such GPUs do not become one."""
    store.ingest(_changed(tmp_path, "DELETE FROM TARGET_INFO_GPU"))
    rows = _rows(
        store.session(),
        "SELECT device_id, extra ->> 'gpuId' AS gpu FROM counter GROUP BY ALL "
        "ORDER BY ALL",
    )
    assert rows == [(None, "0"), (None, "1")]


def test_a_number_beyond_its_type(store: traceql.Store, tmp_path: Path) -> None:
    """nsys writes "none" as 4294967295: that value is lost, and counted, alone."""
    (outcome,) = store.ingest(
        _changed(
            tmp_path,
            "UPDATE CUPTI_ACTIVITY_KIND_MEMCPY SET srcDeviceId = 4294967295 "
            "WHERE rowid < 4",
            "UPDATE TARGET_INFO_GPU SET cuDevice = 4294967295 WHERE rowid = 1",
        )
    )
    assert outcome.error is None
    lost = {f.code: f.count for f in outcome.findings if f.severity == "data_loss"}
    assert lost == {
        "lossy_CUPTI_ACTIVITY_KIND_MEMCPY_srcDeviceId": 3,
        "lossy_TARGET_INFO_GPU_cuDevice": 1,
    }
    assert outcome.run is not None
    assert outcome.run.rows["memcpy"] == TRUTH["counts"]["memcpys"]


@pytest.mark.parametrize(
    ("column", "stored", "payload"),
    [
        ("uint64Value", "-1", 2**64 - 1),
        ("int64Value", "-1", -1),
        ("doubleValue", "0.5", 0.5),
        ("doubleValue", "-9e999", "-inf"),
        ("jsonText", "'{\"a\": 1}'", {"a": 1}),
        ("jsonText", "'no json'", "no json"),
    ],
)
def test_payloads(
    store: traceql.Store, tmp_path: Path, column: str, stored: str, payload: object
) -> None:
    """SQLite holds the upper half of uint64 as negative; JSON holds no infinity."""
    store.ingest(
        _changed(
            tmp_path, f"UPDATE NVTX_EVENTS SET {column} = {stored} WHERE eventType = 34"
        )
    )
    rows = _rows(
        store.session(),
        "SELECT DISTINCT payload::VARCHAR FROM annotation WHERE kind = 'mark'",
    )
    assert [json.loads(text) for (text,) in rows] == [payload]


def test_binary_payloads_are_kept_whole(store: traceql.Store, tmp_path: Path) -> None:
    """They are no text: base64 brings every byte."""
    store.ingest(
        _changed(
            tmp_path,
            "UPDATE NVTX_EVENTS SET binaryData = x'ff00fe80' WHERE eventType = 34",
        )
    )
    assert _rows(
        store.session(),
        "SELECT DISTINCT hex(from_base64(extra ->> 'binaryData')) FROM annotation "
        "WHERE kind = 'mark'",
    ) == [("FF00FE80",)]


def test_parts_are_sorted_by_time(store: traceql.Store, tmp_path: Path) -> None:
    """Also where an event record takes its call's time and the rows lie in disorder."""
    (outcome,) = store.ingest(
        _changed(
            tmp_path,
            'UPDATE CUPTI_ACTIVITY_KIND_CUDA_EVENT SET "timestamp" = NULL',
            "UPDATE CUPTI_ACTIVITY_KIND_CUDA_EVENT SET rowid = -rowid",
        )
    )
    assert outcome.run is not None
    for part in outcome.run.files:
        rows = pq.read_table(Path(store.path) / part.path, partitioning=None)
        if "ts_ns" in rows.column_names:
            times = rows["ts_ns"].to_pylist()
            assert times == sorted(times), part.path


def test_environment_without_a_name(store: traceql.Store, tmp_path: Path) -> None:
    """An odd row of a table that nobody asked for stops no import."""
    (outcome,) = store.ingest(
        _changed(
            tmp_path, "UPDATE TARGET_INFO_SYSTEM_ENV SET name = '' WHERE rowid = 1"
        )
    )
    assert outcome.error is None
