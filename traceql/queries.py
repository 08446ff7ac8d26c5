"""Query packs: found on disk, created as SQL macros, called with bound values.

A pack is a folder of query files (see `traceql.query_file`): `queries/v1` is ours
and lives in the DuckDB schema v1; a user's folders all live in the schema `user`,
which comes first in the search path. `python -m traceql.queries` prints the
catalogue, queries/README.md.

Invariant: nothing keeps a list of queries; a value reaches SQL only as a literal of
its parameter's declared type.
"""

from __future__ import annotations

import csv
import difflib
import math
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import TYPE_CHECKING

from traceql import plugins, resources
from traceql.errors import QueryError, UsageError
from traceql.query_file import ColumnDoc, Param, Query, bare_sql, parse
from traceql.utf8 import require_utf8

if TYPE_CHECKING:
    import duckdb

__all__ = [
    "USER",
    "ColumnDoc",
    "Param",
    "Query",
    "call_sql",
    "create_sql",
    "discover",
    "find",
    "install",
    "missing_input",
    "prelude_sql",
    "rules_sql",
    "search_path",
]

USER = "user"
"""The DuckDB schema of the user's own queries."""

_CALL = re.compile(r"(?:\b(\w+)\s*\.\s*)?\b(\w+)\s*\(")
_INTEGERS = {"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UBIGINT"}
# Parameters of our packs that count something.
_COUNTS = re.compile(r"top|bins|max_depth|\w+_count|\w+_limit")
_FLOATS = {"FLOAT", "DOUBLE"}
_BOOLEANS = {"true": True, "yes": True, "1": True}
_BOOLEANS |= {"false": False, "no": False, "0": False}


def discover(dirs: Sequence[Path] = ()) -> dict[str, Query]:
    """Every query of our packs and of the user's folders, callees before callers.

    The user's folders are `dirs`, those that TRACEQL_QUERIES names (as PATH does), and
    those of other packages; their queries get the schema `user`.

    Args:
        dirs: Folders of queries.

    Returns:
        Queries by name. A name that two packs have stands for the first pack of the
        search path; the others are found by their qualified name, `v1.kernel_totals`.

    Raises:
        QueryError: A file breaks the header's rules, a folder is missing, a name
            stands twice in one pack, or queries call each other in a circle.
    """
    queries = list(_own_packs())
    for folder in (*dirs, *_standing_folders()):
        if not folder.is_dir():
            raise QueryError(f"{folder}: no such folder of queries")
        queries += [parse(path, USER) for path in sorted(folder.glob("*.sql"))]
    by_qualified: dict[str, Query] = {}
    for query in queries:
        other = by_qualified.setdefault(query.qualified, query)
        if other is not query:
            raise QueryError(f"{query.path}: {query.name} is also in {other.path}")
    order = _versions(queries)
    first = {
        query.name: query
        for query in sorted(queries, key=lambda q: -order.index(q.version))
    }
    return {
        query.name if first[query.name] is query else query.qualified: query
        for query in _sorted(by_qualified, order)
    }


def _standing_folders() -> list[Path]:
    named = os.environ.get("TRACEQL_QUERIES", "").split(os.pathsep)
    added = plugins.listed(plugins.QUERIES)
    return [*(Path(n) for n in named if n), *(plugins.query_folder(e) for e in added)]


@cache
def _own_packs() -> tuple[Query, ...]:
    return tuple(
        parse(path, folder.name)
        for folder in sorted(resources.queries_dir().glob("v*"))
        for path in sorted(folder.rglob("*.sql"))
    )


def _versions(queries: Iterable[Query]) -> list[str]:
    """Schemas in the order of the search path: the user's, then the newest first."""
    versions = {query.version for query in queries}
    return sorted(versions, key=lambda v: (v != USER, -_number(v)))


def _number(version: str) -> int:
    digits = version.removeprefix("v")
    return int(digits) if digits.isdigit() else 0


def _sorted(queries: Mapping[str, Query], order: list[str]) -> list[Query]:
    """Callees first: DuckDB binds a macro when it is created."""
    calls = {name: _callees(query, queries, order) for name, query in queries.items()}
    try:
        names = list(TopologicalSorter(calls).static_order())
    except CycleError as error:
        raise QueryError(
            f"queries call each other in a circle: {' -> '.join(error.args[1])}"
        ) from None
    return [queries[name] for name in names]


def _callees(query: Query, queries: Mapping[str, Query], order: list[str]) -> list[str]:
    """Qualified names of what a query calls, sorted."""
    called: set[str] = set()
    for schema, name in _CALL.findall(bare_sql(query.body)):
        homes = [schema] if schema else order
        called |= set([q for v in homes if (q := f"{v}.{name}") in queries][:1])
    return sorted(called)


def with_callees(catalog: Mapping[str, Query], wanted: Iterable[str]) -> set[str]:
    """Keys of the catalogue that stand behind some of them: they, and what they call.

    Args:
        catalog: What `discover` gave.
        wanted: Keys of it.
    """
    keys = {query.qualified: key for key, query in catalog.items()}
    queries = {query.qualified: query for query in catalog.values()}
    order = _versions(catalog.values())
    found: set[str] = set()
    left = list(wanted)
    while left:
        key = left.pop()
        if key not in found:
            found.add(key)
            left += [keys[name] for name in _callees(catalog[key], queries, order)]
    return found


def search_path(catalog: Mapping[str, Query]) -> str:
    """The value for `SET search_path`: tables first, then the packs."""
    return ",".join(["main", *_versions(catalog.values())])


def create_sql(catalog: Mapping[str, Query]) -> str:
    """The statements that create every macro, in an order that works.

    They need the schema's tables and views, and `prelude_sql` before those.
    """
    return "".join(f"{query.sql}\n" for query in catalog.values())


def prelude_sql(catalog: Mapping[str, Query]) -> str:
    """What comes before the tables and views: settings, schemas, search path, rules.

    DuckDB loops over the right side of an ASOF join where it expects few rows on the
    left, and often expects too few: of millions that is minutes.
    """
    versions = _versions(catalog.values())
    return (
        "SET asof_loop_join_threshold = 0;\n"
        + "".join(f"CREATE SCHEMA IF NOT EXISTS {version};\n" for version in versions)
        + f"SET search_path = '{search_path(catalog)}';\n"
        + "".join(map(rules_sql, _rules()))
    )


def install(con: duckdb.DuckDBPyConnection, catalog: Mapping[str, Query]) -> None:
    """Creates every macro, in a database that has the tables and views.

    Raises:
        QueryError: DuckDB refuses a macro; the error names its file.
    """
    import duckdb

    for query in catalog.values():
        try:
            con.execute(query.sql)
        except duckdb.Error as error:
            raise QueryError(f"{query.path}: {error}") from error


def _rules() -> list[Path]:
    return sorted((resources.queries_dir() / "v1" / "rules").glob("*.csv"))


def rules_sql(rules_csv: Path) -> str:
    """The macro `v1.<file's name>(name)`: what a name says, by rules.

    `kernel_class` and `op_tensor_core` are such. The rules' order is their
    precedence; no match is 'unknown', NULL stays NULL. The schema's views need
    `kernel_class`. It says regexp_extract and not regexp_matches, since DuckDB runs
    that once per distinct name of a dictionary-encoded column: 0.1 s and not 7 s for
    two million kernels.

    Args:
        rules_csv: Columns answer (of any name), pattern (a regular expression that must
            find some text), source.
    """
    with rules_csv.open(encoding="utf-8", newline="") as file:
        _, *rules = csv.reader(file)
    arms = "".join(
        f"    WHEN regexp_extract(name, {_text(pattern)}) <> '' THEN {_text(answer)}\n"
        for answer, pattern, _ in rules
    )
    return (
        "CREATE SCHEMA IF NOT EXISTS v1;\n"
        f"CREATE OR REPLACE MACRO v1.{rules_csv.stem}(name) AS CASE\n"
        "    WHEN name IS NULL THEN NULL\n"
        f"{arms}    ELSE 'unknown'\nEND;\n"
    )


def find(catalog: Mapping[str, Query], name: str) -> Query:
    """The public query of a name, plain or qualified.

    Raises:
        UsageError: There is none; the hint names near ones.
    """
    for key, query in catalog.items():
        if name in (key, query.qualified) and not query.private:
            return query
    public = [key for key, query in catalog.items() if not query.private]
    raise UsageError(f"no query {name!r}", hint=_near(name, public, "queries"))


def call_sql(query: Query, params: Mapping[str, object] | None = None) -> str:
    """The text that calls a query: `FROM v1.kernel_totals(top := 10)`.

    Args:
        query: The query.
        params: Values by parameter: Python values, or text as a shell gives it, which
            is read as the declared type (`null` is NULL).

    Raises:
        UsageError: No such parameter, a value that its type does not hold, or a
            parameter without default that is not given.
    """
    given = dict(params or {})
    known = {param.name: param for param in query.params}
    for name in given:
        if name not in known:
            raise UsageError(
                f"query {query.name} has no parameter {name!r}",
                hint=_near(name, list(known), "parameters"),
            )
    for param in query.params:
        if param.default is None and param.name not in given:
            raise UsageError(f"query {query.name} needs the parameter {param.name}")
    values = ", ".join(
        f"{param.name} := {_literal(query, param, given[param.name])}"
        for param in query.params
        if param.name in given
    )
    return f"FROM {query.qualified}({values})"


def _near(name: str, names: list[str], what: str) -> str:
    near = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
    if near:
        return f"Did you mean {' or '.join(near)}?"
    return f"Its {what}: {', '.join(names)}." if names else f"It has no {what}."


def _literal(query: Query, param: Param, value: object) -> str:
    text = value.strip() if isinstance(value, str) else value
    if text is None or (isinstance(text, str) and text.lower() == "null"):
        return "NULL"
    try:
        if param.type in _INTEGERS:
            number = _integer(text)
            counts = query.version != USER and _COUNTS.fullmatch(param.name)
            if number < 0 and counts:
                raise UsageError(
                    f"parameter {param.name} of {query.name} counts: {number} is less "
                    "than none",
                    hint=f"{param.name}: {param.text}",
                )
            return str(number)
        if param.type in _FLOATS:
            return _float(text)
        if param.type == "BOOLEAN":
            known = text if isinstance(text, bool) else _BOOLEANS[str(text).lower()]
            return "true" if known else "false"
    except (ValueError, KeyError, OverflowError):
        raise UsageError(
            f"parameter {param.name} of {query.name} is {param.type}: {value!r} is not"
        ) from None
    require_utf8(str(value), f"parameter {param.name} of {query.name}")
    if "\0" in str(value):
        raise UsageError(f"parameter {param.name} of {query.name} holds a NUL")
    literal = _text(str(value))
    return literal if param.type == "VARCHAR" else f"CAST({literal} AS {param.type})"


def _integer(value: object) -> int:
    if isinstance(value, bool) or (isinstance(value, float) and value % 1):
        raise ValueError(value)
    number = int(value) if isinstance(value, int | float) else int(str(value), 10)
    if not -(2**63) <= number < 2**63:
        raise OverflowError(value)
    return number


def _float(value: object) -> str:
    number = float(str(value))
    if math.isfinite(number):
        return repr(number)
    return f"'{number}'::DOUBLE"


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def missing_input(con: duckdb.DuckDBPyConnection, query: Query) -> str | None:
    """What the chosen runs lack for a query and how to record it; None for nothing."""
    for tables, advice in query.requires:
        names = tables.split("|")
        if not any(
            con.execute(f'SELECT 1 FROM "{name}" LIMIT 1').fetchall() for name in names
        ):
            lack = f"The chosen runs hold no {' and no '.join(names)} rows. {advice}"
            # Reports and dictionaries hold totals, and events neither now nor later.
            if con.execute("SELECT 1 FROM report_row LIMIT 1").fetchall():
                lack += " The source's own totals are in the table report_row."
            return lack
    return None


if __name__ == "__main__":
    from traceql.query_docs import catalogue_markdown

    print(catalogue_markdown(discover()), end="")
