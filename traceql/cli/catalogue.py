"""The catalogue of queries as Results, and one query as a page to read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict

import pyarrow as pa

from traceql.query_file import Query
from traceql.result import Result

_TEXT = pa.string()


def catalogue_result(catalog: Mapping[str, Query]) -> Result:
    """One row a public query, by name."""
    rows = [
        {
            "name": name,
            "title": query.title,
            "params": ", ".join(
                f"{p.name}={p.default}" if p.default else p.name for p in query.params
            ),
            "chart": (query.chart or "").partition(" ")[0] or None,
            "since": query.since,
        }
        for name, query in sorted(catalog.items())
        if not query.private
    ]
    types = dict.fromkeys(("name", "title", "params", "chart", "since"), _TEXT)
    return Result.of_rows(rows, types, "Queries")


def query_result(query: Query) -> Result:
    """One row for each parameter and column of a query."""
    rows: list[dict[str, str | None]] = []
    rows += [{"kind": "param", **asdict(param)} for param in query.params]
    rows += [{"kind": "column", **asdict(column)} for column in query.columns]
    names = ("kind", "name", "type", "default", "unit", "polarity", "text")
    return Result.of_rows(rows, dict.fromkeys(names, _TEXT), query.title)


def page(query: Query) -> str:
    """Title, definition, parameters, columns and needs, to be read."""
    parts = [f"{query.qualified}: {query.title}", query.description]
    params = [
        (f"{p.name} {p.type}" + (f" = {p.default}" if p.default else ""), p.text)
        for p in query.params
    ]
    columns = [(f"{c.name} [{c.unit}]", c.text) for c in query.columns]
    needs = [(table, advice) for table, advice in query.requires]
    for head, lines in (("Parameters", params), ("Columns", columns), ("Needs", needs)):
        if lines:
            width = max(len(left) for left, _ in lines)
            body = "\n".join(f"  {left:<{width}}  {right}" for left, right in lines)
            parts.append(f"{head}:\n{body}")
    parts.append(f"Key: {', '.join(query.key)}. Since {query.since}. {query.path}")
    return "\n\n".join(parts)
