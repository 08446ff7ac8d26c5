"""Holds a query's header against what DuckDB makes of its macro, both ways.

Invariant: a header that lints clean names exactly the parameters and columns that
the macro has, in order, with units that the names carry.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from traceql import queries, schema

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import duckdb

    from traceql.query_file import Query

_SUFFIXES = {
    "ns": "ns",
    "bytes": "bytes",
    "count": "count",
    "pct": "pct",
    "share": "share",
    "ratio": "ratio",
    "gb_per_s": "gb_per_s",
    "per_s": "per_s",
    "hz": "hz",
}
_TYPES = {
    "ns": {"BIGINT", "DOUBLE"},
    "bytes": {"BIGINT", "DOUBLE"},
    "count": {"BIGINT", "DOUBLE"},
    "pct": {"DOUBLE"},
    "share": {"DOUBLE"},
    "ratio": {"DOUBLE"},
    "gb_per_s": {"DOUBLE"},
    "per_s": {"DOUBLE"},
    "bool": {"BOOLEAN"},
    "json": {"JSON"},
}
_WIDTH = 88


def empty_database(
    catalog: Mapping[str, Query], con: duckdb.DuckDBPyConnection
) -> None:
    """Creates the schema's tables, empty, its views, and every macro."""
    con.execute(queries.prelude_sql(catalog))
    schema.load().create(con)
    con.execute(schema.views_sql())
    queries.install(con, catalog)


def lint(con: duckdb.DuckDBPyConnection, query: Query) -> list[str]:
    """What is wrong with a query of an `empty_database`; nothing is an empty list."""
    found = _lint_text(query)
    if query.is_table:
        found += _lint_parameters(con, query)
        if query.columns:
            found += _lint_columns(con, query)
        if not query.private:
            found += _lint_select(con, query)
    tables = schema.load()
    found += [
        f"@param {param.name} is a column of {table.name}: DuckDB would take one for "
        f"the other in the views and macros that this one uses"
        for param in query.params
        for table in (*tables.tables.values(), *tables.views.values())
        if param.name in [column.name for column in table.columns]
    ]
    for names, _ in query.requires:
        found += [
            f"@requires {name}: the schema has no such table"
            for name in names.split("|")
            if name not in tables.tables and name not in tables.views
        ]
    return [f"{query.path}: {problem}" for problem in found]


def _lint_text(query: Query) -> list[str]:
    lines = query.path.read_text(encoding="utf-8").splitlines()
    found = [
        f"line {number} is longer than {_WIDTH} characters"
        for number, line in enumerate(lines, start=1)
        if len(line) > _WIDTH
    ]
    if query.key and query.key[0] != "run_id":
        found.append("run_id must be the first of @key")
    names = {column.name for column in query.columns}
    for word in (query.chart or "").split()[1:]:
        if word.partition("=")[2] not in names:
            found.append(f"@chart {word}: no such column")
    for column in query.columns:
        endings = [u for u, s in _SUFFIXES.items() if _ends(column.name, s)]
        longest = max(endings, key=len, default=None)
        expected = column.unit if column.unit in _SUFFIXES else None
        if longest != expected:
            found.append(
                f"@column {column.name} has the unit {column.unit}: its name must end "
                f"in its unit, and only in its own"
            )
    return found


def _ends(name: str, suffix: str) -> bool:
    return name == suffix or name.endswith(f"_{suffix}")


def _lint_parameters(con: duckdb.DuckDBPyConnection, query: Query) -> list[str]:
    row = con.execute(
        "SELECT parameters, parameter_types FROM duckdb_functions() "
        "WHERE schema_name = ? AND function_name = ?",
        [query.version, query.name],
    ).fetchone()
    actual = list(zip(*row, strict=True)) if row else []
    documented = [(param.name, param.type) for param in query.params]
    if actual != documented:
        return [f"@param says {documented}, the macro has {actual}"]
    return []


def _lint_columns(con: duckdb.DuckDBPyConnection, query: Query) -> list[str]:
    nothing = {param.name: None for param in query.params if param.default is None}
    rows = con.execute(f"DESCRIBE {queries.call_sql(query, nothing)}").fetchall()
    actual = [(name, str(type_)) for name, type_, *_ in rows]
    documented = [column.name for column in query.columns]
    found = []
    if [name for name, _ in actual] != documented:
        only_real = [name for name, _ in actual if name not in documented]
        only_said = sorted(set(documented) - {name for name, _ in actual})
        found.append(
            f"@column differs from the macro: not documented {only_real}, not there "
            f"{only_said}, or in another order"
        )
    types = dict(actual)
    for column in query.columns:
        type_ = types.get(column.name)
        allowed = _TYPES.get(column.unit)
        if type_ and allowed and type_ not in allowed:
            found.append(
                f"@column {column.name} in {column.unit} is {type_}, "
                f"not {' or '.join(sorted(allowed))}"
            )
        if type_ and type_.startswith("HUGEINT"):
            found.append(f"@column {column.name} is HUGEINT: cast the sum to BIGINT")
    return found


def _lint_select(con: duckdb.DuckDBPyConnection, query: Query) -> list[str]:
    row = con.execute("SELECT json_serialize_sql(?)", [query.body]).fetchone()
    tree: dict[str, Any] = json.loads(row[0]) if row else {}
    if tree.get("error", True):
        return [f"not a SELECT: {tree.get('error_message')}"]
    node = tree["statements"][0]["node"]
    while node["type"] == "CTE_NODE":  # DuckDB before 2.0: a materialised CTE
        node = node["child"]
    found = []
    if not any(m["type"] == "ORDER_MODIFIER" for m in node["modifiers"]):
        found.append("the outermost SELECT has no ORDER BY")
    if any(item["class"] == "STAR" for item in _selected(node)):
        found.append("the outermost SELECT has a *: name its columns")
    return found


def _selected(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """What a SELECT gives out, or every arm of a UNION (left and right before 2.0)."""
    yield from node.get("select_list", ())
    for arm in node.get("children") or (node.get("left"), node.get("right")):
        if arm is not None:
            yield from _selected(arm)
