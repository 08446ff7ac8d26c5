from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from traceql import queries, query_docs, query_lint, schema
from traceql.errors import QueryError, UsageError

CATALOG = queries.discover()

HEADER = """\
-- @title Ops
-- Counts operations.
-- @param top BIGINT Rows per run.
-- @column run_id id key The run.
-- @column op_count count neutral Operations,
--     all of them.
-- @key run_id
-- @requires op Record operations.
-- @since 0.1
"""
MACRO = """\
CREATE MACRO {name}(top BIGINT := NULL) AS TABLE
SELECT run_id, count(*) AS op_count FROM op GROUP BY run_id ORDER BY run_id;
"""
SOUND = HEADER + MACRO.format(name="mine")


@pytest.fixture(scope="module")
def con() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        query_lint.empty_database(CATALOG, connection)
        yield connection


def pack(folder: Path, text: str = SOUND, name: str = "mine") -> Path:
    (folder / f"{name}.sql").write_text(text)
    return folder


def installed(folder: Path) -> tuple[duckdb.DuckDBPyConnection, queries.Query]:
    catalog = queries.discover([folder])
    connection = duckdb.connect()
    query_lint.empty_database(catalog, connection)
    return connection, queries.find(catalog, "mine")


# --- our own pack


@pytest.mark.parametrize("name", list(CATALOG))
def test_every_query_lints_clean(con: duckdb.DuckDBPyConnection, name: str) -> None:
    assert query_lint.lint(con, CATALOG[name]) == []


@pytest.mark.parametrize("name", [n for n, q in CATALOG.items() if not q.private])
def test_every_query_answers_an_empty_store_with_no_rows_and_a_note(
    con: duckdb.DuckDBPyConnection, name: str
) -> None:
    query = CATALOG[name]
    nothing = {param.name: None for param in query.params if param.default is None}
    assert con.execute(queries.call_sql(query, nothing)).fetchall() == []
    note = queries.missing_input(con, query)
    assert note is not None
    assert note.startswith("The chosen runs hold no ")


def test_catalogue_names_every_public_query_and_column_and_no_private_one() -> None:
    text = query_docs.catalogue_markdown(CATALOG)
    assert text == query_docs.catalogue_markdown(dict(reversed(CATALOG.items())))
    for query in CATALOG.values():
        assert (f"\n## {query.name}\n" in text) != query.private
        if not query.private:
            assert all(f"| `{column.name}` |" in text for column in query.columns)


def test_script_runs_in_the_duckdb_cli() -> None:
    beside = Path(sys.executable).parent
    cli = shutil.which("duckdb", path=f"{beside}{os.pathsep}{os.environ['PATH']}")
    if cli is None:
        pytest.skip("no DuckDB CLI")
    script = "".join(
        [
            queries.prelude_sql(CATALOG),
            schema.ddl(),
            schema.views_sql(),
            queries.create_sql(CATALOG),
            "FROM kernel_totals(top := 1); SELECT v1.kernel_class('ncclKernel') AS c;",
        ]
    )
    done = subprocess.run(
        [cli, "-csv", ":memory:"],
        input=script,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    assert done.stdout.splitlines()[-1] == "communication"


# --- headers


def test_a_header_gives_title_parameters_columns_and_advice(tmp_path: Path) -> None:
    query = queries.discover([pack(tmp_path)])["mine"]
    assert (query.title, query.description) == ("Ops", "Counts operations.")
    assert query.params == (queries.Param("top", "BIGINT", "NULL", "Rows per run."),)
    assert query.columns[1] == queries.ColumnDoc(
        "op_count", "count", "neutral", "Operations, all of them."
    )
    assert query.requires == (("op", "Record operations."),)
    assert query.qualified == "user.mine"


@pytest.mark.parametrize(
    ("old", "new", "line", "what"),
    [
        ("-- @key", "-- @keys", 7, "unknown tag @keys"),
        ("-- @title Ops\n", "", 1, "header begins with @title"),
        ("-- Counts operations.\n", "", 1, "no description"),
        ("-- @since 0.1\n", "", 1, "no @since"),
        ("-- @since 0.1\n", "-- @since 0.1\n-- @since 0.2\n", 10, "second @since"),
        ("@since 0.1", "@since", 9, "@since says nothing"),
        ("--     all", "-- all", 6, "indented by four"),
        (" top BIGINT", " tip BIGINT", 3, "no parameter tip"),
        (" top BIGINT Rows", " top VARCHAR Rows", 3, "top is BIGINT, not VARCHAR"),
        ("-- @param top BIGINT Rows per run.\n", "", 1, "no @param"),
        ("count neutral", "counts neutral", 5, "unknown unit 'counts'"),
        ("count neutral", "count good", 5, "unknown polarity 'good'"),
        (" id key The run.", " id key", 4, "@column needs"),
        ("@key run_id", "@key run_id, nobody", 7, "nobody"),
        ("@key run_id", "@key op_count", 7, "run_id must be in @key"),
        ("op_count count neutral", "run_id count neutral", 1, "stands twice"),
        ("CREATE MACRO mine", "CREATE MACRO other", 10, "must stand in other.sql"),
        ("CREATE MACRO", "CREATE VIEW", 10, "CREATE MACRO name"),
        ("AS TABLE\n", "AS\n", 10, "AS TABLE"),
        ("top BIGINT :=", "top :=", 10, "name TYPE := default"),
        ("FROM op ", "FROM op; DROP TABLE op; ", 10, "one statement a file"),
    ],
)
def test_a_broken_header_names_file_and_line(
    tmp_path: Path, old: str, new: str, line: int, what: str
) -> None:
    assert old in SOUND
    pack(tmp_path, SOUND.replace(old, new, 1))
    with pytest.raises(QueryError) as caught:
        queries.discover([tmp_path])
    assert f"{tmp_path / 'mine.sql'}:{line}: " in str(caught.value)
    assert what in str(caught.value)


def test_a_semicolon_or_call_in_text_or_comment_is_no_statement(tmp_path: Path) -> None:
    text = SOUND.replace(
        "count(*) AS", "count(*) /* no */ -- ; mine(\n + length('; mine(') AS"
    )
    query = queries.discover([pack(tmp_path, text)])["mine"]
    assert "; mine(" in query.body


# --- lint


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ("count(*) AS op_count", "count(*) AS ops_count", "not there ['op_count']"),
        ("run_id, count(*) AS op_count", "count(*) AS op_count, run_id", "order"),
        ("count(*) AS", "sum(dur_ns) AS", "HUGEINT"),
        ("op_count count", "op_count ns", "must end in its unit"),
        ("op_count count", "op_count value", "only in its own"),
        ("ORDER BY run_id", "", "no ORDER BY"),
        ("@requires op ", "@requires opp ", "no such table"),
        ("@key run_id\n", "@key run_id\n-- @chart bar x=nobody\n", "no such column"),
        ("Counts operations.", f"{'Counts ' * 20}.", "longer than 88"),
    ],
)
def test_lint_finds(tmp_path: Path, old: str, new: str, what: str) -> None:
    text = SOUND.replace(old, new)
    connection, query = installed(pack(tmp_path, text))
    found = query_lint.lint(connection, query)
    assert any(what in problem for problem in found), found
    assert all(str(query.path) in problem for problem in found)


@pytest.mark.parametrize(
    "body",
    [
        "SELECT * FROM counted ORDER BY run_id",
        "SELECT counted.* FROM counted ORDER BY run_id",
        "SELECT run_id, op_count FROM counted UNION ALL FROM counted ORDER BY run_id",
    ],
)
def test_lint_refuses_a_star_in_any_arm(tmp_path: Path, body: str) -> None:
    text = SOUND.replace("SELECT", "WITH counted AS (SELECT", 1)
    text = text.replace(" ORDER BY run_id", f")\n{body}")
    connection, query = installed(pack(tmp_path, text))
    (problem,) = query_lint.lint(connection, query)
    assert "has a *" in problem


def test_lint_refuses_a_parameter_named_as_a_column(tmp_path: Path) -> None:
    connection, query = installed(pack(tmp_path, SOUND.replace("top ", "stack ")))
    assert any("is a column of op" in p for p in query_lint.lint(connection, query))


def test_a_sound_user_query_lints_clean(tmp_path: Path) -> None:
    connection, query = installed(pack(tmp_path))
    assert query_lint.lint(connection, query) == []


# --- packs


def test_callees_come_before_callers_whatever_their_names(tmp_path: Path) -> None:
    caller = SOUND.replace("mine(", "aaa(").replace("FROM op", "FROM zzz() AS op")
    pack(tmp_path, caller, "aaa")
    pack(tmp_path, SOUND.replace("mine(", "zzz("), "zzz")
    names = list(queries.discover([tmp_path]))
    assert names.index("zzz") < names.index("aaa")


def test_queries_that_call_each_other_in_a_circle_are_refused(tmp_path: Path) -> None:
    for name, other in (("one", "two"), ("two", "one")):
        text = SOUND.replace("mine(", f"{name}(")
        pack(tmp_path, text.replace("FROM op", f"FROM {other}()"), name)
    with pytest.raises(QueryError, match="circle"):
        queries.discover([tmp_path])


def test_the_users_query_comes_first_and_ours_stays_pinned(tmp_path: Path) -> None:
    pack(tmp_path, SOUND.replace("mine(", "kernel_totals("), "kernel_totals")
    catalog = queries.discover([tmp_path])
    assert queries.find(catalog, "kernel_totals").version == "user"
    assert queries.find(catalog, "v1.kernel_totals").version == "v1"
    assert queries.search_path(catalog) == "main,user,v1"
    with duckdb.connect() as connection:
        query_lint.empty_database(catalog, connection)
        plain = connection.execute("DESCRIBE FROM kernel_totals()").fetchall()
        pinned = connection.execute("DESCRIBE FROM v1.kernel_totals()").fetchall()
    assert len(plain) == 2 < len(pinned)


def test_a_name_twice_or_a_missing_folder_is_refused(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    for folder in (one, two):
        folder.mkdir()
        pack(folder)
    with pytest.raises(QueryError, match=r"mine is also in .*one/mine\.sql"):
        queries.discover([one, two])
    with pytest.raises(QueryError, match="no such folder"):
        queries.discover([tmp_path / "three"])


def test_a_macro_that_duckdb_refuses_names_its_file(tmp_path: Path) -> None:
    text = SOUND.replace("FROM op ", "FROM no_such_table ")
    with pytest.raises(QueryError, match=r"mine\.sql: .*no_such_table"):
        installed(pack(tmp_path, text))


def test_find_names_near_queries_and_hides_private_ones() -> None:
    with pytest.raises(UsageError) as caught:
        queries.find(CATALOG, "kernel_total")
    assert "kernel_totals" in str(caught.value.hint)
    with pytest.raises(UsageError):
        queries.find(CATALOG, "_windows")


# --- calls


def param_query(tmp_path: Path, type_: str, default: str = " := NULL") -> queries.Query:
    text = SOUND.replace("top BIGINT := NULL", f"top {type_}{default}")
    text = text.replace("top BIGINT Rows", f"top {type_} Rows")
    return queries.discover([pack(tmp_path, text)])["mine"]


@pytest.mark.parametrize(
    ("type_", "value", "literal"),
    [
        ("BIGINT", "10", "10"),
        ("BIGINT", -3, "-3"),
        ("BIGINT", 4.0, "4"),
        ("BIGINT", "null", "NULL"),
        ("BIGINT", None, "NULL"),
        ("DOUBLE", "1e3", "1000.0"),
        ("DOUBLE", "inf", "'inf'::DOUBLE"),
        ("BOOLEAN", "True", "true"),
        ("BOOLEAN", False, "false"),
        ("BOOLEAN", "no", "false"),
        ("VARCHAR", "name", "'name'"),
        ("VARCHAR", "'); DROP TABLE op; --", "'''); DROP TABLE op; --'"),
        ("DATE", "2024-01-01", "CAST('2024-01-01' AS DATE)"),
    ],
)
def test_a_value_becomes_a_literal_of_its_type(
    tmp_path: Path, type_: str, value: object, literal: str
) -> None:
    query = param_query(tmp_path, type_)
    assert (
        queries.call_sql(query, {"top": value}) == f"FROM user.mine(top := {literal})"
    )


@pytest.mark.parametrize(
    ("type_", "value"),
    [
        ("BIGINT", "ten"),
        ("BIGINT", 1.5),
        ("BIGINT", True),
        ("BIGINT", str(2**63)),
        ("BIGINT", "1; DROP TABLE op"),
        ("DOUBLE", "1) --"),
        ("BOOLEAN", "maybe"),
        ("VARCHAR", "a\0b"),
    ],
)
def test_a_value_that_its_type_does_not_hold_is_a_usage_error(
    tmp_path: Path, type_: str, value: object
) -> None:
    with pytest.raises(UsageError, match="parameter top of mine"):
        queries.call_sql(param_query(tmp_path, type_), {"top": value})


def test_hostile_text_stays_text(con: duckdb.DuckDBPyConnection) -> None:
    for hostile in ("x'; DROP TABLE kernel; --", "(') UNION ALL FROM kernel --", "'"):
        call = queries.call_sql(CATALOG["kernel_trace"], {"name_pattern": hostile})
        assert len(duckdb.extract_statements(call)) == 1
        assert con.execute(call).fetchall() == []
    assert con.execute("SELECT count(*) FROM kernel").fetchone() == (0,)


def test_unknown_and_missing_parameters_are_usage_errors(tmp_path: Path) -> None:
    query = param_query(tmp_path, "BIGINT", "")
    with pytest.raises(UsageError, match="needs the parameter top"):
        queries.call_sql(query)
    with pytest.raises(UsageError, match="no parameter 'topp'") as caught:
        queries.call_sql(query, {"topp": 1})
    assert caught.value.hint == "Did you mean top?"


# --- classes


def test_kernel_class_follows_the_rules_in_their_order(tmp_path: Path) -> None:
    rules = tmp_path / "kernel_class.csv"
    rules.write_text("class,pattern,source\nfirst,(?i)it's|ab,x\nsecond,a,x\n")
    with duckdb.connect() as connection:
        connection.execute(queries.rules_sql(rules))
        names = ["IT'S", "abc", "a", "zz", None]
        found = [
            connection.execute("SELECT v1.kernel_class(?)", [n]).fetchone()
            for n in names
        ]
    assert found == [("first",), ("first",), ("second",), ("unknown",), (None,)]


@pytest.mark.parametrize("path", queries._rules(), ids=lambda path: path.stem)
def test_no_rule_of_ours_matches_nothing(path: Path) -> None:
    with duckdb.connect() as connection:
        connection.execute(queries.rules_sql(path))
        row = connection.execute(f"SELECT v1.{path.stem}('')").fetchone()
    assert row == ("unknown",)
