"""`traceql query` and `traceql sql` over a real store."""

from __future__ import annotations

import csv
import io
import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from traceql.store import open_store

from .conftest import FIRST, HOSTILE, SECOND, Cli

NAMED = "traceql: error: "


def test_a_query_needs_no_word_run(cli: Cli, store: str) -> None:
    at = ("--store", store, "--run", "baseline", "--format", "json")
    short = cli("query", "kernel_totals", "-p", "top=1", *at)
    assert short.code == 0, short.err
    assert short.err == ""
    (row,) = json.loads(short.out)
    assert (row["run_id"], row["kernel_count"], row["total_ns"]) == (FIRST, 2, 204)
    assert row["name"] == HOSTILE
    assert cli("query", "run", "kernel_totals", "-p", "top=1", *at).out == short.out
    assert cli("query", *at, "kernel_totals", "-p", "top=1").out == short.out
    pinned = cli("query", "v1.kernel_totals", "--param", "top=1", *at)
    assert pinned.out == short.out


def test_the_table_is_human_and_harmless(cli: Cli, store: str) -> None:
    done = cli("query", "kernel_totals", "--store", store, "--run", "baseline")
    assert done.code == 0
    assert "\x1b" not in done.out
    assert "\x9b" not in done.out
    assert r"\x1b]0;owned\x07<b>[red]gemm\x9b31m" in done.out
    assert "%" in done.out


def test_the_latest_run_is_the_default_and_is_announced(cli: Cli, store: str) -> None:
    at = ("--store", store, "--format", "csv")
    done = cli("query", "kernel_totals", *at)
    assert {r["run_id"] for r in csv.DictReader(io.StringIO(done.out))} == {SECOND}
    assert "latest of 2 runs" in done.err
    assert cli("query", "kernel_totals", "--run", "all", *at).err == ""
    both = cli("query", "kernel_totals", "--run", FIRST, "--run", SECOND, *at)
    runs = {r["run_id"] for r in csv.DictReader(io.StringIO(both.out))}
    assert runs == {FIRST, SECOND}

    open_store(store).delete(FIRST)
    assert cli("query", "kernel_totals", *at).err == ""


def test_a_query_without_its_input_says_so_and_is_no_failure(
    cli: Cli, store: str
) -> None:
    at = ("--store", store, "--run", FIRST, "--format", "csv")
    done = cli("query", "memcpy_summary", *at)
    assert done.code == 0
    assert len(done.out.splitlines()) == 1
    assert "memcpy" in done.err


@pytest.mark.parametrize(
    ("args", "near"),
    [
        (["kernel_total"], "kernel_totals"),
        (["kernel_totals", "-p", "tpo=1"], "top"),
        (["kernel_totals", "-p", "top=many"], "BIGINT"),
    ],
)
def test_misspelled_queries_and_parameters(
    cli: Cli, store: str, args: list[str], near: str
) -> None:
    done = cli("query", *args, "--store", store, "--run", FIRST)
    assert done.code == 2
    assert done.out == ""
    assert done.err.startswith(NAMED)
    assert near in done.err


@pytest.mark.parametrize(
    ("query", "given", "code"),
    [
        ("kernel_totals", "top=-1", 2),
        ("annotation_tree", "max_depth=-1", 2),
        ("timeline_bins", "bins=-1", 2),
        ("timeline_bins", "bins=0", 2),
        ("timeline_bins", "bins=1501", 2),
        ("timeline_bins", "bins=1500", 0),
        ("kernel_totals", "top=0", 0),
        ("kernel_totals", "from_ns=-1", 0),
    ],
)
def test_numbers_beyond_the_range_of_a_parameter(
    cli: Cli, store: str, query: str, given: str, code: int
) -> None:
    params = ("-p", given) if "from" not in given else ("-p", given, "-p", "to_ns=9")
    done = cli("query", query, *params, "--store", store, "--run", FIRST)
    assert done.code == code, done.err
    if code:
        assert given.partition("=")[0] in done.err
        assert "hint: " in done.err


def test_no_such_run_is_3(cli: Cli, store: str) -> None:
    done = cli("query", "kernel_totals", "--store", store, "--run", "basline")
    assert done.code == 3
    assert "baseline" in done.err


def test_a_store_without_runs_is_3(cli: Cli, tmp_path: Path) -> None:
    empty = open_store(tmp_path / "empty", create=True).path
    for run in ([], ["--run", "all"]):
        done = cli("sql", "SELECT 1", "--store", empty, *run)
        assert done.code == 3
        assert "traceql ingest" in done.err


def test_query_list_and_show(cli: Cli) -> None:
    listed = json.loads(cli("query", "list", "--format", "json").out)
    names = [row["name"] for row in listed]
    assert "kernel_totals" in names
    assert names == sorted(names)
    assert not [name for name in names if name.startswith("_")]
    assert cli("query").out == cli("query", "list").out

    page = cli("query", "show", "kernel_totals")
    assert page.code == 0
    for part in ("Kernel totals", "Parameters:", "top BIGINT", "total_ns [ns]", "Key:"):
        assert part in page.out
    sql = cli("query", "show", "v1.kernel_totals", "--sql").out
    assert sql.startswith("CREATE OR REPLACE MACRO v1.kernel_totals(")
    rows = json.loads(cli("query", "show", "kernel_totals", "--format", "json").out)
    assert {"param", "column"} == {row["kind"] for row in rows}
    assert cli("query", "show", "kernel_total").code == 2


def test_own_queries(cli: Cli, store: str, tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "kernel_names.sql").write_text(
        "-- @title Names\n-- Names of kernels.\n"
        "-- @column run_id id key The run.\n-- @column name text key The name.\n"
        "-- @key run_id, name\n-- @since 1\n"
        "CREATE MACRO kernel_names() AS TABLE\n"
        "SELECT DISTINCT run_id, name FROM kernel ORDER BY run_id, name;\n"
    )
    at = ("--store", store, "--run", FIRST, "--queries", str(folder))
    done = cli("query", "kernel_names", *at, "--format", "json")
    assert done.code == 0, done.err
    assert len(json.loads(done.out)) == 2
    assert "kernel_names" in cli("query", "list", "--queries", str(folder)).out


def test_sql_from_text_stdin_and_file(cli: Cli, store: str, tmp_path: Path) -> None:
    at = ("--store", store, "--run", "all", "--format", "csv")
    text = "SELECT run_id, count(*) AS n FROM kernel GROUP BY ALL ORDER BY n"
    expected = f"run_id,n\n{FIRST},4\n{SECOND},6\n"
    assert cli("sql", text, *at).out == expected
    assert cli("sql", "-", *at, stdin=text).out == expected
    file = tmp_path / "q.sql"
    file.write_text(text)
    assert cli("sql", "-f", str(file), *at).out == expected
    assert cli("sql", text, "-f", str(file), *at).code == 2
    file.write_bytes(b"SELECT '\xff'")
    assert cli("sql", "-f", str(file), *at).code == 2


def test_sql_of_several_statements_shows_each_answer(cli: Cli, store: str) -> None:
    at = ("--store", store, "--run", "all")
    csv = (*at, "--format", "csv")
    text = "CREATE TABLE t AS SELECT 1 AS a; SELECT a + 1 AS b FROM t; SET threads = 1"
    assert cli("sql", text, *csv).out == "b\n2\n"
    assert cli("sql", "SET threads = 1", *csv).code == 0
    both = cli("sql", "SELECT 17 AS a; SELECT 23 AS b", *at)
    assert both.code == 0
    first, second = both.out.split("\n\n")
    assert ("17" in first, "23" in first) == (True, False)
    assert ("17" in second, "23" in second) == (False, True)
    refused = cli("sql", "SELECT 1; SELECT 2", *csv)
    assert (refused.code, refused.out) == (2, "")
    assert "hint: Give one SELECT" in refused.err


@pytest.mark.parametrize("text", ["", " ; ", "/* nothing */"])
def test_sql_without_a_statement_is_a_usage_error(
    cli: Cli, store: str, text: str
) -> None:
    done = cli("sql", text, "--store", store, "--run", "all")
    assert (done.code, done.out) == (2, "")


@pytest.mark.parametrize("garbage", [b"", b"\x00" * 5000])
def test_a_damaged_file_is_told_with_what_to_do(
    cli: Cli, store: str, garbage: bytes
) -> None:
    for part in Path(store).glob("v1/kernel/*/*.parquet"):
        part.write_bytes(garbage)
    for args in (("query", "kernel_totals"), ("sql", "FROM kernel"), ("report",)):
        done = cli(*args, "--store", store, "--run", "all")
        assert done.code == 1
        assert "traceql store verify" in done.err


def test_sql_calls_queries_and_keeps_big_integers(cli: Cli, store: str) -> None:
    at = ("--store", store, "--run", FIRST, "--format", "json")
    done = cli("sql", "SELECT sum(total_ns) AS s FROM kernel_totals()", *at)
    assert json.loads(done.out) == [{"s": 406}]
    done = cli("sql", "SELECT 9223372036854775807 AS n", *at)
    assert json.loads(done.out) == [{"n": 2**63 - 1}]


def test_wrong_sql_is_one_error_with_its_place(cli: Cli, store: str) -> None:
    done = cli("sql", "SELECT\n  nothing FROM kernel", "--store", store, "--run", FIRST)
    assert done.code == 1
    assert done.out == ""
    assert done.err.startswith(NAMED)
    assert "nothing" in done.err
    assert "Traceback" not in done.err
    limit = cli("sql", "SELECT 1", "--store", store, "--memory-limit", "lots")
    assert limit.code == 2
    assert cli("sql", "SELECT 1", "--store", store, "--threads", "0").code == 2


def test_limits_reach_duckdb(cli: Cli, store: str) -> None:
    done = cli(
        *("sql", "SELECT current_setting('threads') AS t", "--threads", "1"),
        *("--store", store, "--run", FIRST, "--format", "csv"),
    )
    assert done.out == "t\n1\n"


def test_output_to_a_parquet_file(cli: Cli, store: str, tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    file = tmp_path / "out.parquet"
    done = cli("sql", "FROM kernel", "--store", store, "--run", "all", "-o", str(file))
    assert (done.code, done.out) == (0, "")
    assert pq.read_table(file).num_rows == 10


def test_ctrl_c_ends_a_statement_with_130(store: str) -> None:
    text = "SELECT sum(a.range * b.range) FROM range(10000000) a, range(1000000) b"
    child = subprocess.Popen(
        [sys.executable, "-m", "traceql", "sql", text, "--store", store],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with pytest.raises(subprocess.TimeoutExpired):
        child.communicate(timeout=3)
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=20)
    assert child.returncode == 130
    assert out == ""
    assert "Traceback" not in err
