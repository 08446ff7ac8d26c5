"""Figures: a question, the table that shows its answer, and the chart above it.

Invariant: a chart draws rows that its figure's SQL gave; a table says how many rows
there are when it does not show all.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from traceql.query_file import ColumnDoc
from traceql.render import printable
from traceql.render._shape import NULL, ShownColumn, shape
from traceql.report import formats
from traceql.report.answers import Answers, Ask
from traceql.result import Result

_NONE = "–"
_FAR = 10_000
_EXACT_UNITS = {"ns": "ns", "bytes": "bytes", "pct": "%", "gb_per_s": "GB/s"}
CHARTS = Path(__file__).parent / "sections"


@dataclass(frozen=True)
class Figure:
    """What a section asks and how it shows the answer.

    Attributes:
        id: Anchor in the page.
        title: Caption of the table.
        ask: The question.
        columns: Shown columns and their headers, in order.
        sql: A choice of rows and columns of the answer; all of them if empty.
        limit: Rows that the table shows at most.
        marked: Column that is true for rows to point at.
        bar: Column of percentages to draw as a bar in its cell.
        chart: Name of the Vega-Lite specification beside the section, or "".
        chart_sql: Rows of the chart; those of the table if empty.
        how: One sentence on how to read it.
        empty: What it means when there are no rows.
        also: Other answers that its SQL reads.
        fold: Whether the table starts folded, under its chart.
        tiles: Whether its one row is shown as tiles.
        prose: Whether its texts are sentences, to be shown whole.
        units: Units of columns that the figure's own SQL makes, by name.
    """

    id: str
    title: str
    ask: Ask
    columns: Mapping[str, str]
    sql: str = ""
    limit: int = 100
    marked: str = ""
    bar: str = ""
    chart: str = ""
    chart_sql: str = ""
    how: str = ""
    empty: str = "Nothing of this kind in the capture."
    also: tuple[Ask, ...] = ()
    fold: bool = False
    tiles: bool = False
    prose: bool = False
    units: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Header:
    """One column's head: label, unit, meaning, and whether it holds numbers."""

    label: str
    unit: str
    text: str
    number: bool


@dataclass(frozen=True)
class Cell:
    """One cell: the text to read, the exact value, and a bar of 0 to 100 or None."""

    text: str
    exact: str
    number: bool
    bar: float | None


@dataclass(frozen=True)
class Row:
    """One row; marked ones are what the reader should look at."""

    cells: tuple[Cell, ...]
    marked: bool


@dataclass(frozen=True)
class Shown:
    """A figure with its data, ready for the template.

    Attributes:
        id: Anchor, unique in the page.
        figure: What was asked.
        note: What the capture lacks for it, or None.
        headers: Heads of the columns.
        rows: Rows of the table, at most the figure's limit.
        total: Rows that there are.
        spec: Vega-Lite specification with its data, or None.
        sql: The SQL that gave the rows.
    """

    id: str
    figure: Figure
    note: str | None
    headers: tuple[Header, ...]
    rows: tuple[Row, ...]
    total: int
    spec: dict[str, Any] | None
    sql: str


def show(figure: Figure, answers: Answers, prefix: str) -> Shown:
    """Runs a figure's SQL for the run at hand."""
    ask = figure.ask
    note = answers.note(ask)
    text = figure.sql or f"FROM {ask.table}"
    result = answers.sql(f"{text}\nLIMIT {figure.limit}")
    total = len(result)
    if total == figure.limit:
        total = int(answers.sql(f"SELECT count(*) AS n FROM ({text})").rows()[0]["n"])
    own = (ColumnDoc(name, unit, "neutral", "") for name, unit in figure.units.items())
    docs = (*answers.query_of(ask).columns, *own)
    documented = Result(result.table, docs=docs)
    spec = None
    if figure.chart and total:
        rows = answers.sql(figure.chart_sql) if figure.chart_sql else documented
        spec = _spec(figure.chart, rows.rows(), figure.title) if len(rows) else None
    headers, body = _table(figure, documented)
    plain = not figure.sql and ask.table == ask.query
    sql = f"{answers.call(ask)};"
    if not plain:
        sql = f"{answers.tables((ask, *figure.also))}{text};"
    return Shown(f"{prefix}{figure.id}", figure, note, headers, body, total, spec, sql)


def _table(
    figure: Figure, result: Result
) -> tuple[tuple[Header, ...], tuple[Row, ...]]:
    names = [name for name in figure.columns if name in result.columns]
    chosen = Result(result.table.select(names), docs=result.docs)
    shown = shape(chosen)
    units = {doc.name: doc.unit for doc in result.docs}
    values = result.rows()
    cells = {
        name: _cells([value[name] for value in values], column, units.get(name, ""))
        for name, column in zip(names, shown, strict=True)
    }
    headers = tuple(
        Header(figure.columns[name], cells[name][1], column.text, column.right)
        for name, column in zip(names, shown, strict=True)
    )
    rows = tuple(
        Row(
            tuple(
                Cell(
                    cells[name][0][i],
                    _exact(value[name], units.get(name, "")),
                    column.right,
                    _bar(value[name]) if name == figure.bar else None,
                )
                for name, column in zip(names, shown, strict=True)
            ),
            bool(figure.marked and value[figure.marked]),
        )
        for i, value in enumerate(values)
    )
    return headers, rows


def _cells(values: list[Any], column: ShownColumn, unit: str) -> tuple[list[str], str]:
    """Texts of a column, and the unit for its head.

    One unit serves a column, unless its values are so far apart that the small ones
    would be unreadable in it: then each has its own.
    """
    write = {"ns": formats.time, "bytes": formats.size, "pct": formats.share}.get(unit)
    if column.right and write:
        sizes = [abs(v) for v in values if v]
        if unit == "pct" or (sizes and max(sizes) > _FAR * min(sizes)):
            own = "%" if unit == "pct" else ""
            return [_NONE if v is None else write(v) for v in values], own
    return [_NONE if cell == NULL else cell for cell in column.cells], column.unit


def _exact(value: Any, unit: str) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return ""
    return f"{value} {_EXACT_UNITS.get(unit, '')}".strip()


def _bar(value: Any) -> float | None:
    if not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return round(min(max(float(value), 0.0), 100.0), 2)


def _spec(name: str, rows: list[dict[str, Any]], title: str) -> dict[str, Any]:
    spec: dict[str, Any] = json.loads((CHARTS / f"{name}.vl.json").read_bytes())
    spec["data"] = {"values": [_plain(row) for row in rows]}
    spec["description"] = title
    return spec


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    """Values that JSON has; foreign text without control characters."""
    return {
        key: printable(value)
        if isinstance(value, str)
        else None
        if isinstance(value, float) and not math.isfinite(value)
        else value
        for key, value in row.items()
        if key != "run_id"
    }
