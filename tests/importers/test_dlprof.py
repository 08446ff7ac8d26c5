"""DLProf's databases and reports, against figures worked out apart from TraceQL.

The figures are DLProf's own, read out of its database and recomputed by hand, or stand
in the reports that it wrote of the same profile.
"""

from __future__ import annotations

import csv
import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import traceql
from traceql.session import Session


def _import(store: traceql.Store, path: Path, importer: str) -> Session:
    (outcome,) = store.ingest(path)
    assert outcome.run is not None, outcome.error
    assert outcome.run.manifest.importer["name"] == importer
    return store.session([outcome.run.run_id])


def _one(session: Session, sql: str) -> dict[str, Any]:
    (row,) = session.sql(sql).rows()
    return dict(row)


@pytest.fixture(scope="module")
def profiles(corpus: Path) -> Path:
    """Profiles of a small network, with databases, captures and reports."""
    return corpus / "dlprof" / "MohanadOdema_DLProf"


_UNION = """
WITH span AS (
    SELECT ts_ns, end_ns, sum(starts) OVER (ORDER BY ts_ns, end_ns) AS island
    FROM (
        SELECT ts_ns, end_ns, CASE WHEN ts_ns > max(end_ns) OVER (
            ORDER BY ts_ns, end_ns ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) THEN 1 ELSE 0 END AS starts
        FROM ({})
    )
)
SELECT CAST(sum(stop - start) AS BIGINT) AS ns
FROM (SELECT min(ts_ns) AS start, max(end_ns) AS stop FROM span GROUP BY island)
"""


def _union(session: Session, *relations: str) -> int:
    parts = " UNION ALL ".join(
        f"SELECT ts_ns, ts_ns + dur_ns AS end_ns FROM {r}" for r in relations
    )
    return int(_one(session, _UNION.format(parts))["ns"])


@pytest.mark.parametrize("name", ["dlprof_dldb_1.sqlite", "dlprof_dldb_7.sqlite"])
def test_golden_pair(profiles: Path, tmp_path: Path, name: str) -> None:
    """A database has the kernels of the capture that it was made of, unchanged."""
    store = traceql.open_store(tmp_path / "store", create=True)
    database = _import(store, profiles / "w_Relu" / name, "dlprof-sqlite")
    capture = _import(
        store, profiles / "w_Relu" / "nsys_profile.sqlite", "nsight-sqlite"
    )
    report = _import(
        store, profiles / "w_Relu" / "dlprof_iteration.csv", "dlprof-report"
    )
    times = "SELECT ts_ns, dur_ns, launch_ts_ns, grid_x, block_x FROM kernel ORDER BY 1"
    rows = database.sql(times).rows()
    assert len(rows) == 59
    assert sum(r["dur_ns"] for r in rows) == 589_147
    assert rows == capture.sql(times).rows() == report.sql(times).rows()
    names = "SELECT short_name FROM kernel ORDER BY ts_ns"
    assert database.sql(names).rows() == capture.sql(names).rows()


def test_recomputed_equalities(profiles: Path, store: traceql.Store) -> None:
    """DLProf's definitions hold over the events exactly."""
    session = _import(store, profiles / "dlprof_dldb_1.sqlite", "dlprof-sqlite")
    kernels = _union(session, "kernel")
    assert kernels == 296_799
    assert _union(session, "memcpy", "memset") == 43_040
    busy = _union(session, "kernel", "memcpy", "memset")
    both = _union(session, "kernel", "memcpy", "memset", "op")
    assert both - busy == 2_258_538_366  # CPU time not under GPU work
    (iteration,) = session.sql(
        "SELECT ts_ns, dur_ns, number, source, extra FROM iteration"
    ).rows()
    extra = json.loads(iteration["extra"])
    assert iteration["source"] == "dlprof"
    assert extra["non_tc_duration_ns"] == kernels
    assert extra["memory_duration_ns"] == 43_040
    assert extra["cpu_duration_ns"] == both - busy
    assert extra["other_duration_ns"] == 605_213_335
    assert round(100 * kernels / iteration["dur_ns"], 6) == 0.010363
    assert round(100 * busy / iteration["dur_ns"], 6) == 0.011866
    assert round(extra["gpu_utilization_pct"], 6) == 0.011866
    model = _one(
        session,
        "SELECT value FROM report_row WHERE report = 'summary' "
        "AND name = 'GPU Utilization %'",
    )
    assert round(model["value"], 6) == 0.010363


def test_overhead_and_idle_of_operations(profiles: Path, store: traceql.Store) -> None:
    """CPU overhead is CPU time less calls, GPU idle what its span leaves."""
    session = _import(store, profiles / "dlprof_dldb_1.sqlite", "dlprof-sqlite")
    rows = session.sql("""
        WITH work AS (
            SELECT op_id, ts_ns, ts_ns + dur_ns AS end_ns FROM kernel
            UNION ALL SELECT op_id, ts_ns, ts_ns + dur_ns FROM memcpy
            UNION ALL SELECT op_id, ts_ns, ts_ns + dur_ns FROM memset
        ),
        fresh AS (
            SELECT *, greatest(0, end_ns - greatest(ts_ns, coalesce(max(end_ns) OVER (
                PARTITION BY op_id ORDER BY ts_ns, end_ns
                ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
            ), 0))) AS new_ns
            FROM work
        ),
        spans AS (
            SELECT op_id, max(end_ns) - min(ts_ns) AS span, sum(new_ns) AS busy
            FROM fresh GROUP BY op_id
        )
        SELECT o.extra->>'op_key' AS op_key, o.dur_ns, s.span, s.busy,
            CAST(r.fields->>'Total GPU Time (ns)' AS BIGINT) AS gpu,
            CAST(r.fields->>'Total GPU Idle (ns)' AS BIGINT) AS idle,
            CAST(r.fields->>'Total CPU Time (ns)' AS BIGINT) AS cpu
        FROM op AS o
        JOIN spans AS s ON s.op_id = o.op_id
        JOIN report_row AS r
            ON r.report = 'detailed' AND r.op_key = (o.extra->>'op_key')
            AND r.item_count = 1
    """).rows()
    assert {"CONV2D_1"} <= {r["op_key"] for r in rows}
    for row in rows:
        assert row["dur_ns"] == row["cpu"]
        assert row["busy"] == row["gpu"]
        assert row["span"] - row["busy"] == row["idle"]


def _table(path: Path) -> Iterator[dict[str, str]]:
    with path.open(newline="") as file:
        next(file)  # title
        yield from csv.DictReader(file)


def test_detailed_report_equals_database(
    profiles: Path, tmp_path: Path, store: traceql.Store
) -> None:
    """What the database has added up is what DLProf printed, row by row."""
    session = _import(
        store, profiles / "w_Relu" / "dlprof_dldb_7.sqlite", "dlprof-sqlite"
    )
    stored = {
        r["op_key"]: r
        for r in session.sql(
            "SELECT op_key, op_name, op_type, item_count, tc_eligible, uses_tc, "
            "gpu_time_ns, cpu_time_ns, fields FROM report_row "
            "WHERE report = 'detailed'"
        ).rows()
    }
    printed = list(_table(profiles / "w_Relu" / "dlprof_detailed.csv"))
    assert len(printed) == len(stored) == 36
    for row in printed:
        mine = stored[row["Op ID"]]
        fields = json.loads(mine["fields"])
        assert mine["op_name"] == row["Op Name"]
        assert mine["tc_eligible"] is (row["TC Eligible"] == "yes")
        assert mine["uses_tc"] is (row["Using TC"] == "yes")
        assert mine["gpu_time_ns"] == int(row["Total GPU Time (ns)"])
        assert mine["cpu_time_ns"] == int(row["Total CPU Time (ns)"])
        for what in ("CPU Overhead", "GPU Idle"):
            name = f"Total {what} (ns)"
            assert fields[name] == int(row[name])


def test_summary_report_equals_database(profiles: Path, tmp_path: Path) -> None:
    """Sections of the summary, with the percentages that print rounded to 0.1."""
    store = traceql.open_store(tmp_path / "store", create=True)
    folder = profiles / "w_Relu"
    database = _import(store, folder / "dlprof_dldb_7.sqlite", "dlprof-sqlite")
    report = _import(store, folder / "dlprof_summary.csv", "dlprof-report")
    figures = (
        "SELECT section, name, item_count, gpu_time_ns, cpu_time_ns, "
        "round(value, 1) AS value FROM report_row "
        "WHERE report = 'summary' AND section <> 'System Config' "
        "ORDER BY section, row_number"
    )
    assert database.sql(figures).rows() == report.sql(figures).rows()
    wall = "SELECT value FROM report_row WHERE name = 'Wall Clock Time (ns)'"
    assert _one(report, wall)["value"] == 2_840_562_182
    config = _one(report, "SELECT tool_version, framework, extra FROM run")
    assert (config["tool_version"], config["framework"]) == ("1.8.0", "pytorch")
    assert json.loads(config["extra"])["driver_version"] == "515.43.04"
    name = "SELECT device_id, name, sm_count FROM device"
    assert _one(report, name)["name"] == "NVIDIA GeForce RTX 2070 SUPER"
    assert _one(database, name) == {
        "device_id": 0, "name": "NVIDIA GeForce RTX 2070 SUPER", "sm_count": 40,
    }  # fmt: skip


def test_advice(profiles: Path, tmp_path: Path) -> None:
    """The database's recommendations are those of the report."""
    store = traceql.open_store(tmp_path / "store", create=True)
    folder = profiles / "w_Relu"
    database = _import(store, folder / "dlprof_dldb_7.sqlite", "dlprof-sqlite")
    report = _import(store, folder / "dlprof_expert_systems.csv", "dlprof-report")
    said = "SELECT problem, recommendation FROM advice ORDER BY problem"
    printed = [
        {"problem": r["Problem"], "recommendation": r["Recommendation"]}
        for r in _table(folder / "dlprof_expert_systems.csv")
    ]
    assert report.sql(said).rows() == sorted(printed, key=lambda r: r["problem"])
    assert len(printed) == 4
    assert {r["problem"] for r in database.sql(said).rows()} == {
        r["problem"] for r in printed
    }
    detectors = database.sql("SELECT detector FROM advice").rows()
    assert {r["detector"] for r in detectors} >= {"dataloader_detector"}


def test_profile_without_kernels(profiles: Path, store: traceql.Store) -> None:
    """The program ended before its GPU work: operations, no kernels, a warning."""
    session = _import(
        store, profiles / "w_Relu" / "dlprof_dldb.sqlite", "dlprof-sqlite"
    )
    counts = _one(
        session,
        "SELECT (SELECT count(*) FROM op) AS ops, "
        "(SELECT count(*) FROM kernel) AS kernels, "
        "(SELECT count FROM diagnostic WHERE code = 'no_gpu_activity') AS warned",
    )
    assert counts == {"ops": 25, "kernels": 0, "warned": 1}


def test_tensorflow_report(corpus: Path, store: traceql.Store) -> None:
    """Release 0.13 has neither Op ID nor direction, and shapes instead of stacks."""
    path = corpus / "dlprof" / "fenfaqingnian_dlprof_v100" / "tf_keras_v1_detailed.csv"
    session = _import(store, path, "dlprof-report")
    printed = list(_table(path))
    row = _one(
        session,
        "SELECT count(*) AS n, CAST(sum(gpu_time_ns) AS BIGINT) AS gpu, "
        "count(op_key) AS keys, count(fields->>'Input Shapes') AS shapes "
        "FROM report_row WHERE report = 'detailed'",
    )
    assert row["n"] == len(printed)
    assert row["gpu"] == sum(int(r["Total GPU Time (ns)"]) for r in printed)
    assert row["keys"] == 0
    assert row["shapes"] == sum(r["Input Shapes"] != "" for r in printed)


def test_every_report_of_the_corpus(profiles: Path, store: traceql.Store) -> None:
    """Each kind is taken with as many rows as it has, and none is an event table."""
    paths = sorted(profiles.glob("*/dlprof_*.csv"))
    assert len(paths) == 16
    for path in paths:
        session = _import(store, path, "dlprof-report")
        kind = path.stem.removeprefix("dlprof_")
        if kind == "summary":
            continue
        wanted = len(list(_table(path)))
        table = "kernel" if kind == "iteration" else "report_row"
        assert _one(session, f"SELECT count(*) AS n FROM {table}")["n"] == wanted
        if kind != "iteration":
            assert _one(session, "SELECT count(*) AS n FROM kernel")["n"] == 0


def test_several_gpu_names_stand_bare(tmp_path: Path, store: traceql.Store) -> None:
    """Names of GPUs have bare commas between them in the summary."""
    path = tmp_path / "dlprof_summary.csv"
    path.write_text(
        "System Config\nGPU Count,2\nGPU Name(s),Tesla V100, Tesla P100\n"
        "DLProf Version,v1.8.0\n\nSummary Report\nWall Clock Time (ns),1000\n"
    )
    session = _import(store, path, "dlprof-report")
    rows = session.sql("SELECT device_id, name FROM device ORDER BY 1").rows()
    assert rows == [
        {"device_id": 0, "name": "Tesla V100"},
        {"device_id": 1, "name": "Tesla P100"},
    ]


def _eight_gpus(path: Path) -> None:
    """A database of a TensorFlow profile: eight GPUs, no kernel, much that lacks."""
    with closing(sqlite3.connect(path)) as database:
        database.executescript("""
            CREATE TABLE dictionary (id INTEGER, string TEXT);
            INSERT INTO dictionary VALUES
                (1, 'MatMul'), (2, 'dense/MatMul'), (3, 'first'), (4, 'second'),
                (5, 'global_step');
            CREATE TABLE read_only_domains (id INTEGER, domain_name_id INTEGER);
            INSERT INTO read_only_domains VALUES (1, 3), (2, 4);
            CREATE TABLE read_only_gpu_infos (
                id INTEGER, device_id INTEGER, gpu_name TEXT
            );
            CREATE TABLE read_only_ops (
                id INTEGER, domain_id INTEGER, op_id TEXT, op_name TEXT,
                op_type_id INTEGER, tc_support_status INTEGER
            );
            INSERT INTO read_only_ops VALUES
                (1, 1, 'MATMUL_1', 'dense/MatMul', 1, 0),
                (2, 2, 'MATMUL_1', 'dense/MatMul', 1, 0);
            CREATE TABLE read_only_op_instances (
                id INTEGER, read_only_ops_id INTEGER, cpu_start INTEGER,
                cpu_stop INTEGER, process_id INTEGER, thread_id INTEGER
            );
            INSERT INTO read_only_op_instances VALUES
                (1, 1, 100, 200, 7, 8), (2, 2, 100, 200, 7, 8), (3, 1, 300, 350, 7, 8);
            CREATE TABLE iteration_key (aggr_id INTEGER, key_node_id INTEGER);
            INSERT INTO iteration_key VALUES (1, NULL), (2, 5);
            CREATE TABLE iteration_list (
                id INTEGER, aggr_id INTEGER, iter_value INTEGER, start_time INTEGER,
                stop_time INTEGER
            );
            INSERT INTO iteration_list VALUES
                (1, 1, 0, 0, 1000), (2, 2, 0, 0, 400), (3, 2, 1, 400, 1000);
        """)
        database.executemany(
            "INSERT INTO read_only_gpu_infos VALUES (?, ?, 'Tesla V100')",
            [(i + 1, i) for i in range(8)],
        )
        database.commit()


def test_eight_gpus_domains_and_aggregations(
    tmp_path: Path, store: traceql.Store
) -> None:
    """Domains repeat an execution and aggregations a profile: neither counts twice."""
    path = tmp_path / "dlprof_dldb.sqlite"
    _eight_gpus(path)
    session = _import(store, path, "dlprof-sqlite")
    devices = session.sql("SELECT device_id FROM device ORDER BY 1").rows()
    assert [r["device_id"] for r in devices] == list(range(8))
    ops = session.sql(
        "SELECT ts_ns, dur_ns, name, op_type, (extra->>'tc_eligible') AS eligible "
        "FROM op ORDER BY ts_ns"
    ).rows()
    assert [(o["ts_ns"], o["dur_ns"], o["eligible"]) for o in ops] == [
        (100, 100, "true"),
        (300, 50, "true"),
    ]
    iterations = session.sql(
        "SELECT number, ts_ns, dur_ns, name FROM iteration ORDER BY 1"
    ).rows()
    assert [tuple(r.values()) for r in iterations] == [
        (0, 0, 400, "global_step"),
        (1, 400, 600, "global_step"),
    ]


def test_cut_database(profiles: Path, tmp_path: Path, store: traceql.Store) -> None:
    """A database that misses its end is refused with what to do."""
    whole = (profiles / "dlprof_dldb_1.sqlite").read_bytes()
    path = tmp_path / "dlprof_dldb.sqlite"
    path.write_bytes(whole[: len(whole) // 2])
    (outcome,) = store.ingest(path)
    assert outcome.error is not None
    assert "sqlite" in str(outcome.error).lower()
    assert outcome.error.hint


def test_event_files_are_named(tmp_path: Path, store: traceql.Store) -> None:
    """What old DLProf wrote for TensorBoard is refused, with what to import instead."""
    path = tmp_path / "event_files" / "events.out.tfevents.1590000000.host"
    path.parent.mkdir()
    path.write_bytes(b"\x18\x00\x00\x00\x00\x00\x00\x00brain.Event:2")
    (outcome,) = store.ingest(path)
    assert outcome.error is not None
    assert "TensorBoard event file" in str(outcome.error)
    assert "dlprof_dldb.sqlite" in str(outcome.error.hint)
