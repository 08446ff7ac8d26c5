"""Sessions: what they see, and what they keep from being seen."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import traceql
from traceql import schema
from traceql.errors import QueryError, UsageError
from traceql.session import open_session

FIXTURES = Path(__file__).parents[1] / "fixtures" / "nsight"


@pytest.fixture
def two_runs(store: traceql.Store) -> traceql.Store:
    """A store with two runs; the later one is labelled."""
    store.ingest(FIXTURES / "nsight_2020.sqlite")
    store.ingest(FIXTURES / "nsight_2026.sqlite", label="new", tags={"gpu": "h100"})
    return store


def _rows(store: traceql.Store, sql: str, run: str = "all") -> list[dict[str, Any]]:
    return store.sql(sql, run=run).rows()


def test_a_session_sees_the_chosen_runs(two_runs: traceql.Store) -> None:
    """One run, the other, or both."""
    count = "SELECT count(*) AS n, count(DISTINCT run_id) AS runs FROM kernel"
    assert _rows(two_runs, count) == [{"n": 392, "runs": 2}]
    assert _rows(two_runs, count, "@latest") == [{"n": 196, "runs": 1}]
    assert _rows(two_runs, count, "tag:gpu=h100") == [{"n": 196, "runs": 1}]


def test_every_table_and_view_is_there(two_runs: traceql.Store) -> None:
    """Tables without a file are empty, with their types."""
    session = two_runs.session("all")
    known = schema.load()
    for table in (*known.tables.values(), *known.views.values()):
        described = session.con.execute(f"DESCRIBE {table.name}").fetchall()
        columns = [(row[0], row[1]) for row in described if row[0] != "run_id"]
        assert columns == [
            (c.name, c.type) for c in table.columns if c.name != "run_id"
        ], table.name


def test_label_and_tags_are_the_manifest_s(two_runs: traceql.Store) -> None:
    """What was changed after the import shows in SQL."""
    two_runs.tag("new", {"gpu": None, "it's": "a 'test'"}, label="renamed")
    rows = _rows(two_runs, "SELECT label, tags FROM run ORDER BY label NULLS LAST")
    assert rows[0]["label"] == "renamed"
    assert dict(rows[0]["tags"]) == {"it's": "a 'test'"}
    assert rows[1]["label"] is None


def test_files_from_before_a_column_was_added(two_runs: traceql.Store) -> None:
    """A run written without a column reads as NULL beside one that has it."""
    run = two_runs.runs()[1]
    (part,) = [p for p in run.files if p.table == "kernel"]
    path = Path(two_runs.path) / part.path
    old = pq.read_table(path, partitioning=None).drop_columns(["launch_type"])
    nonce_free = two_runs.stage("r0123456789abcde")
    with nonce_free as staging:
        pq.write_table(old, staging.part("kernel"))
        pq.write_table(
            pa.table({"label": pa.array([None], pa.string())}), staging.part("run")
        )
        staging.commit(
            importer={"name": "old", "version": 0},
            source={"uri": "old", "sha256": "", "bytes": 0, "member": None},
        )
    rows = _rows(
        two_runs,
        "SELECT count(launch_type) AS known, count(*) AS n FROM kernel "
        "GROUP BY run_id ORDER BY known",
    )
    assert rows == [
        {"known": 0, "n": 196},
        {"known": 196, "n": 196},
        {"known": 196, "n": 196},
    ]


def test_queries_follow_each_other(two_runs: traceql.Store) -> None:
    """A query leaves the session free for the next."""
    session = two_runs.session("all")
    first = session.query("kernel_totals", {"top": 2}).rows()
    assert session.query("v1.kernel_totals", {"top": "2"}).rows() == first
    assert len(first) == 4
    assert len(session.sql("CREATE TABLE t AS SELECT 1 AS a; FROM t")) == 1


def test_a_remote_store_answers_alike(two_runs: traceql.Store) -> None:
    """memory:// stands for the object stores: the same rows."""
    remote = traceql.open_store("memory://session-test", create=True)
    remote.ingest(FIXTURES / "nsight_2026.sqlite")
    sql = (
        "SELECT name, count(*) AS n, sum(dur_ns)::BIGINT AS t FROM kernel GROUP BY ALL"
    )
    assert sorted(map(str, _rows(remote, sql))) == sorted(
        map(str, _rows(two_runs, sql, "new"))
    )


def test_the_sandbox_holds(two_runs: traceql.Store, tmp_path: Path) -> None:
    """A sandboxed session answers, reads no other file and writes none."""
    session = open_session(two_runs, two_runs.runs(), sandbox=True)
    assert len(session.query("kernel_totals")) > 0
    secret = tmp_path / "secret.csv"
    secret.write_text("a\n1\n")
    for sql in (
        f"FROM read_csv('{secret}')",
        f"COPY (SELECT 1) TO '{tmp_path / 'out.csv'}'",
        "SET enable_external_access = true",
        "INSTALL httpfs",
    ):
        with pytest.raises(QueryError):
            session.sql(sql)
    assert not (tmp_path / "out.csv").exists()


def test_limits(two_runs: traceql.Store) -> None:
    """The memory limit is the stated one; nonsense is refused with an example."""
    session = two_runs.session(memory_limit="300MB", threads=1)
    ((limit, threads),) = session.con.execute(
        "SELECT current_setting('memory_limit'), current_setting('threads')"
    ).fetchall()
    assert limit.startswith("286")  # MiB
    assert threads == 1
    with pytest.raises(UsageError, match="memory limit lots"):
        two_runs.session(memory_limit="lots")


def test_own_queries_come_first(two_runs: traceql.Store, tmp_path: Path) -> None:
    """A folder of the user's own queries joins the pack, and may shadow it."""
    (tmp_path / "kernel_totals.sql").write_text(
        "-- @title Mine\n"
        "-- Counts kernels.\n"
        "-- @column run_id id key The run.\n"
        "-- @column kernel_count count neutral Kernels.\n"
        "-- @key run_id\n"
        "-- @since 0.1\n"
        "CREATE MACRO kernel_totals() AS TABLE\n"
        "SELECT run_id, count(*) AS kernel_count FROM kernel GROUP BY run_id\n"
        "ORDER BY run_id;\n"
    )
    session = two_runs.session("all", query_dirs=[tmp_path])
    assert session.query("kernel_totals").columns == ["run_id", "kernel_count"]
    assert "median_ns" in session.query("v1.kernel_totals").columns


def test_a_session_holds_no_rows_of_its_own(two_runs: traceql.Store) -> None:
    """All that it shows are views; what the macros were made over is gone."""
    con = two_runs.session("all").con
    assert con.execute("SELECT table_name FROM duckdb_tables()").fetchall() == []


def test_the_script_shows_the_same(two_runs: traceql.Store) -> None:
    """Another DuckDB that runs the script answers as the session does."""
    session = two_runs.session("all")
    with duckdb.connect() as con:
        con.execute(session.script())
        theirs = con.execute("FROM v1.kernel_totals()").fetchall()
    assert theirs == session.con.execute("FROM v1.kernel_totals()").fetchall()


def test_an_endless_statement_can_be_interrupted(two_runs: traceql.Store) -> None:
    """What Ctrl-C does from a notebook: the statement ends, the session goes on."""
    session = two_runs.session()
    done: list[BaseException] = []

    def ask() -> None:
        try:
            session.sql("SELECT count(*) FROM range(100000000000) WHERE range % 7 = 1")
        except QueryError as error:
            done.append(error)

    asking = threading.Thread(target=ask)
    asking.start()
    while asking.is_alive():
        session.interrupt()
        time.sleep(0.05)
    assert "INTERRUPT" in str(done[0]).upper()
    assert len(session.sql("SELECT 1")) == 1


@pytest.mark.parametrize("above", ["name=foo/model=resnet", "run_id=x"])
def test_a_store_below_folders_that_look_like_partitions(
    tmp_path: Path, above: str
) -> None:
    """Archives are laid out as key=value: those folders are no columns of ours."""
    store = traceql.open_store(tmp_path / above / "store", create=True)
    store.ingest(FIXTURES / "nsight_2020.sqlite", FIXTURES / "nsight_2026.sqlite")
    rows = _rows(
        store,
        "SELECT run_id, count(DISTINCT name) AS names, count(*) AS n FROM kernel "
        "GROUP BY run_id",
    )
    assert {r["run_id"] for r in rows} == {run.run_id for run in store.runs()}
    assert [(r["names"], r["n"]) for r in rows] == [(7, 196), (7, 196)]
    assert "model" not in store.sql("FROM kernel LIMIT 1", run="all").columns


@pytest.mark.parametrize(
    ("query", "params"),
    [
        ("api_summary", {"time_window": "gpuu"}),
        ("kernel_totals", {"group_by": "foo"}),
        ("gpu_utilization", {"bins": "0"}),
        ("gpu_utilization", {"from_ns": "5", "to_ns": "1"}),
        ("iteration_timing", {"pattern": "["}),
    ],
)
def test_a_bad_value_is_wrong_usage(
    two_runs: traceql.Store, query: str, params: dict[str, object]
) -> None:
    """What a macro refuses is the caller's mistake, with where to read on."""
    with pytest.raises(UsageError) as caught:
        two_runs.session().query(query, params)
    assert caught.value.hint == f"traceql query show {query}"
    assert "Invalid Input" not in str(caught.value)


def test_a_damaged_file_of_the_store_is_named(two_runs: traceql.Store) -> None:
    """A file that is gone: the error says how to find out more."""
    (part,) = [p for p in two_runs.run().files if p.table == "kernel"]
    (Path(two_runs.path) / part.path).unlink()
    with pytest.raises(QueryError) as caught:
        two_runs.query("kernel_totals")
    assert caught.value.hint and "store verify" in caught.value.hint
