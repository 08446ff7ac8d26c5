"""Output formats: one golden file each, and what must hold of any."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from traceql.errors import UsageError
from traceql.query_file import ColumnDoc
from traceql.render import View, format_of, formats, printable, render
from traceql.result import Result

from .hard import hard_result

GOLDEN = Path(__file__).parents[1] / "golden" / "render"


def rendered(result: Result, format: str, view: View | None = None) -> bytes:
    stream = io.BytesIO()
    render(result, format, stream, view)
    return stream.getvalue()


def of(**columns: Any) -> Result:
    return Result(pa.table(columns))


@pytest.mark.parametrize("format", formats())
def test_every_format_has_a_golden_file_with_every_hard_value(format: str) -> None:
    found = rendered(hard_result(), format)
    if format == "parquet":
        # The bytes change with the writer's version; what is read back must not.
        table = pq.read_table(io.BytesIO(found))
        rows = rendered(Result(table), "ndjson").decode()
        found = f"{table.schema.to_string()}\n{rows}".encode()
    path = GOLDEN / f"hard.{format}{'.txt' if format == 'parquet' else ''}"
    if os.environ.get("TRACEQL_GOLDEN") == "write":
        path.write_bytes(found)
    assert found == path.read_bytes()


def test_a_format_is_found_by_being_a_module() -> None:
    folder = Path(sys.modules["traceql.render"].__file__ or "").parent
    modules = {p.stem for p in folder.glob("*.py") if not p.stem.startswith("_")}
    assert set(formats()) == modules


def test_csv_reads_back_exactly() -> None:
    text = rendered(hard_result(), "csv").decode()
    records = list(csv.DictReader(io.StringIO(text, newline="")))
    assert len(records) == 4
    extreme = records[1]
    assert int(extreme["total_ns"]) == 9_007_199_254_740_993
    assert int(extreme["unsigned"]) == 2**64 - 1
    assert float(extreme["share"]) == 1e300
    assert extreme["text"] == hard_result().rows()[1]["text"]
    assert json.loads(extreme["point"])["tags"] == [extreme["text"]]
    assert set(records[3].values()) == {""}


def test_csv_of_one_column_keeps_its_null_rows() -> None:
    text = rendered(of(name=["a", None, "b"]), "csv").decode()
    assert [row for row in csv.reader(io.StringIO(text)) if row] == [
        ["name"],
        ["a"],
        [""],
        ["b"],
    ]


def test_json_is_strict_and_exact() -> None:
    def refuse(word: str) -> None:
        raise AssertionError(f"{word} is no JSON")

    rows = json.loads(rendered(hard_result(), "json"), parse_constant=refuse)
    assert rows[1]["huge"] == 10**37
    assert rows[1]["map"] == {'q"': 2**63 - 1}
    assert rows[2]["share"] is None
    lines = rendered(hard_result(), "ndjson").decode().splitlines()
    assert [json.loads(line) for line in lines] == rows


@pytest.mark.parametrize("format", formats())
def test_no_rows_is_no_error(format: str) -> None:
    empty = Result(hard_result().table.slice(0, 0))
    found = rendered(empty, format)
    if format == "json":
        assert json.loads(found) == []
    elif format == "parquet":
        assert pq.read_table(io.BytesIO(found)).num_rows == 0
    elif format != "ndjson":
        assert b"device" in found


@pytest.mark.parametrize("format", ["csv", "tsv", "json", "ndjson", "md", "table"])
def test_nothing_that_steers_a_terminal_reaches_one(format: str) -> None:
    found = rendered(hard_result(), format, View(terminal=True)).decode()
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f]", found)
    assert "x1b" in found or "u001b" in found


def test_batches_join_without_a_seam() -> None:
    count = 70_000  # more than one batch
    result = of(n=list(range(count)), l=[[n] for n in range(count)])
    rows = json.loads(rendered(result, "json"))
    assert rows == [{"n": n, "l": [n]} for n in range(count)]
    assert rendered(result, "csv").count(b"\n") == count + 1


@given(
    st.lists(
        st.none() | st.lists(st.none() | st.dictionaries(st.text(), st.integers(0, 9))),
        min_size=1,
        max_size=8,
    ),
    st.integers(0, 7),
)
def test_nested_json_equals_pythons(rows: list[Any], start: int) -> None:
    kind = pa.list_(pa.map_(pa.string(), pa.int64()))
    pairs = [
        None if row is None else [None if m is None else list(m.items()) for m in row]
        for row in rows
    ]
    # A slice shares its values with the whole: offsets must be taken for what they are.
    result = Result(pa.table({"v": pa.array(pairs, kind)}).slice(start))
    found = [json.loads(line)["v"] for line in rendered(result, "ndjson").splitlines()]
    assert found == rows[start:]


@given(st.lists(st.floats() | st.none(), min_size=1))
def test_floats_read_back_as_themselves(values: list[float | None]) -> None:
    table = pa.table({"x": pa.array(values, pa.float64()), "n": [1] * len(values)})
    records = csv.DictReader(io.StringIO(rendered(Result(table), "csv").decode()))
    for value, record in zip(values, records, strict=True):
        if value is None:
            assert record["x"] == ""
        else:
            back = float(record["x"])
            assert repr(back) == repr(value)


@given(st.lists(st.text(), min_size=1))
def test_text_reads_back_as_itself(values: list[str]) -> None:
    result = of(x=pa.array(values, pa.string()), n=[1] * len(values))
    text = rendered(result, "csv").decode()
    records = csv.DictReader(io.StringIO(text, newline=""))
    assert [record["x"] for record in records] == values
    lines = rendered(result, "tsv").decode().split("\n")[1:-1]
    assert len(lines) == len(values)
    assert all(line.count("\t") == 1 for line in lines)


def test_table_scales_documented_units_and_keeps_identifiers() -> None:
    result = Result(
        pa.table({"stream_id": [12345], "total_ns": [1_234_567], "rows": [1234]}),
        docs=(ColumnDoc("total_ns", "ns", "lower", "Sum."),),
    )
    text = rendered(result, "table").decode()
    assert "12345 " in text
    assert "ms" in text
    assert "1.235" in text
    assert "1,234" in text


def test_table_never_shows_a_small_value_as_zero() -> None:
    text = rendered(of(x=[1e6, 1e-9, 0.0, -1e-9]), "table").decode().split()
    assert text[2:] == ["1,000,000", "1e-09", "0", "-1e-09"]


def test_table_keeps_numbers_whole_and_cuts_names_in_the_middle() -> None:
    name = "void cutlass::Kernel<" + "x" * 300 + ">(Params)"
    result = of(name=[name], number=[123_456_789_012])
    lines = rendered(result, "table", View(width=60)).decode().splitlines()
    assert all(len(line) <= 60 for line in lines)
    assert "123,456,789,012" in lines[-1]
    assert "…" in lines[-1]
    assert lines[-1].startswith("void cutlass")
    assert "(Params)" in lines[-1]


def test_table_says_what_it_leaves_out() -> None:
    stream = io.BytesIO()
    wide = of(**{f"column_{n}": list(range(10**15, 10**15 + 150)) for n in range(9)})
    remark = render(wide, "table", stream, View(width=80))
    assert remark is not None
    assert "100 of 150 rows" in remark
    assert "no room for" in remark
    assert "column_8" in remark
    assert render(of(a=[1]), "table", stream, View(width=80)) is None


def test_table_without_room_tells_once_what_is_the_same_in_every_row() -> None:
    result = of(
        run_id=["r0123456789abcde"] * 3,
        window=["capture"] * 3,
        **{f"n{i}": [10**15, 2, i] for i in range(3)},
    )
    stream = io.BytesIO()
    remark = render(result, "table", stream, View(width=80))
    assert remark == "(in every row shown: run_id = r0123456789abcde, window = capture)"
    assert stream.getvalue().split()[:3] == [b"n0", b"n1", b"n2"]
    assert b"run_id" in rendered(result, "table")
    alike = of(**{f"column_{i}": ["x" * 30] * 2 for i in range(4)})
    assert b"column_0" in rendered(alike, "table", View(width=80))


def test_a_single_row_without_room_is_turned_on_its_side() -> None:
    result = of(**{f"column_{n}": [n * 10**12] for n in range(9)})
    lines = rendered(result, "table", View(width=80)).decode().splitlines()
    assert len(lines) == 11
    assert lines[-1].split() == ["column_8", "8,000,000,000,000"]


def test_table_measures_wide_characters() -> None:
    result = of(name=["漢字" * 40, "é" * 10], n=[1, 2])
    lines = rendered(result, "table", View(width=40)).decode().splitlines()
    assert "…" in lines[2]
    assert lines[2].index("1", 5) < lines[3].index("2")  # fewer characters, same width


def test_table_colours_only_when_asked() -> None:
    result = of(name=[None, "[red]no markup[/red]"])
    assert b"\x1b" not in rendered(result, "table")
    coloured = rendered(result, "table", View(color=True)).decode()
    assert "\x1b[" in coloured
    assert "[red]no markup[/red]" in coloured


def test_parquet_keeps_types_and_refuses_a_terminal() -> None:
    result = of(n=[1, None], at=pa.array([0, 1], pa.timestamp("ns", "UTC")))
    assert pq.read_table(io.BytesIO(rendered(result, "parquet"))).equals(result.table)
    with pytest.raises(UsageError, match="binary"):
        rendered(result, "parquet", View(terminal=True))


def test_format_of_a_file_name() -> None:
    assert format_of("a/b.CSV") == "csv"
    assert format_of(Path("x.jsonl")) == "ndjson"
    with pytest.raises(UsageError, match=r"x\.xlsx"):
        format_of("x.xlsx")
    with pytest.raises(UsageError, match="unknown output format"):
        rendered(of(a=[1]), "xlsx")


@given(st.text())
def test_printable_text_is_one_harmless_line(text: str) -> None:
    found = printable(text)
    assert len(found.splitlines()) <= 1
    assert not re.search("[\x00-\x1f\x7f-\x9f\u202a-\u202e]", found)
    if text.isprintable():
        assert found == text


def test_the_registry_loads_nothing_heavy() -> None:
    code = (
        "import sys, traceql.render as r; r.formats(); "
        "heavy = ('pyarrow', 'rich', 'duckdb', 'polars'); "
        "print([m for m in heavy if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
