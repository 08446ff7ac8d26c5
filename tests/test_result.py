"""Result: conversions that alter nothing, and a safe notebook view."""

from __future__ import annotations

import datetime as dt
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from traceql.query_file import ColumnDoc
from traceql.result import Result


def arrow(sql: str) -> pa.Table:
    relation = duckdb.connect().sql(sql)
    assert relation is not None
    return relation.to_arrow_table()


def test_rows_are_python_values_and_integers_stay_integers() -> None:
    table = arrow(
        "SELECT 9007199254740993 AS n, NULL::BIGINT AS missing, sum(x) AS huge, "
        "1.50::DECIMAL(5, 2) AS d, TIMESTAMP_NS '2024-01-01 00:00:00.000000001' AS t, "
        "TIMESTAMP '2024-01-01' AS u, [1, NULL] AS l FROM (VALUES (2::BIGINT)) v(x)"
    )
    assert Result(table).rows() == [
        {
            "n": 9007199254740993,
            "missing": None,
            "huge": 2,
            "d": Decimal("1.50"),
            "t": "2024-01-01T00:00:00.000000001",
            "u": dt.datetime(2024, 1, 1),
            "l": [1, None],
        }
    ]
    assert type(Result(table).rows()[0]["huge"]) is int


def test_of_rows_fills_what_a_row_lacks() -> None:
    result = Result.of_rows([{"a": 1}, {"b": "x"}], {"a": pa.int64(), "b": pa.string()})
    assert result.columns == ["a", "b"]
    assert len(result) == 2
    assert result.rows() == [{"a": 1, "b": None}, {"a": None, "b": "x"}]


def test_frames_keep_integers_that_have_nulls() -> None:
    result = Result(pa.table({"n": pa.array([2**53 + 1, None]), "x": [0.5, None]}))
    polars_frame, pandas_frame = result.pl(), result.df()
    assert isinstance(polars_frame, pl.DataFrame)
    assert polars_frame["n"].to_list() == [2**53 + 1, None]
    assert isinstance(pandas_frame, pd.DataFrame)
    assert pandas_frame["n"].dtype == "Int64"
    assert pandas_frame["n"][0] == 2**53 + 1
    assert result.arrow() is result.table


def test_polars_takes_what_it_has_no_type_for_as_text() -> None:
    frame = Result(arrow("SELECT INTERVAL '1 day' AS i, MAP {'k': 1} AS m")).pl()
    assert frame["i"].to_list() == ["P0M1DT0.000000000S"]


def test_the_notebook_view_escapes_and_says_how_many_rows_there_are() -> None:
    hostile = "<script>alert('x')</script>\x1b[31m"
    result = Result(
        pa.table({hostile: [hostile] * 60}),
        title=hostile,
        docs=(ColumnDoc(hostile, "text", "key", hostile),),
        note=hostile,
    )
    page = result._repr_html_()
    assert "<script" not in page
    assert "\x1b" not in page
    assert page.count("<tr>") == 51
    assert "50 of 60 rows" in page


def test_a_result_is_not_changed() -> None:
    result = Result(pa.table({"a": [1]}))
    with pytest.raises(AttributeError):
        result.title = "x"  # type: ignore[misc]


def test_only_df_needs_pandas(tmp_path: Path) -> None:
    (tmp_path / "pandas.py").write_text("raise ImportError('not here')")
    code = f"""
import sys
sys.path.insert(0, {str(tmp_path)!r})
import pyarrow as pa
from traceql.errors import UsageError
from traceql.result import Result
times = pa.array([1, 2], "timestamp[ns]")
result = Result(pa.table({{"n": [1, None], "t": times}}))
assert result.rows()[0]["t"].endswith(".000000001")
result.pl(), result._repr_html_(), result.arrow(), len(result)
try:
    result.df()
except UsageError as error:
    print(error.hint)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert "traceql[pandas]" in done.stdout, done.stderr
