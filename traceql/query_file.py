"""One query file: its header, its macro, and what they say.

A file holds one `CREATE MACRO` and, above it, comment lines:

    -- @title Kernel totals
    -- What is computed; the window; the denominators. Any number of lines.
    -- @param top BIGINT Rows per run; NULL for all.
    -- @column total_ns ns lower Sum of durations
    --     (a line indented by four goes on with the tag above it).
    -- @key run_id, name
    -- @chart bar x=total_ns y=short_name
    -- @requires kernel Record CUDA activity: nsys profile -t cuda,nvtx
    -- @since 0.1

Invariant: a header that breaks these rules is a `QueryError` naming file and line.
`traceql.query_lint` holds the header against what DuckDB makes of the macro.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from traceql.errors import QueryError

UNITS = (
    *("ns", "bytes", "count", "pct", "share", "ratio", "gb_per_s", "per_s", "hz"),
    *("id", "text", "bool", "dim", "value", "json", "timestamp"),
)
POLARITIES = ("higher", "lower", "neutral", "key")

_TAGS = ("title", "param", "column", "key", "chart", "requires", "since")
_REPEATED = ("param", "column", "requires")
_NAME = re.compile(r"[a-z_][a-z0-9_]*\Z")
_MACRO = re.compile(r"\s*CREATE\s+MACRO\s+(?P<name>\w+)\s*(?=\()", re.IGNORECASE)
_TOKEN = re.compile(
    r"--[^\n]*|'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|[^-'\"()\[\],;]+|[\s\S]"
)


@dataclass(frozen=True)
class Param:
    """One parameter: its DuckDB type, its default as SQL text, and what it does."""

    name: str
    type: str
    default: str | None
    text: str


@dataclass(frozen=True)
class ColumnDoc:
    """One column of a result: unit, which way is better, and what it means."""

    name: str
    unit: str
    polarity: str
    text: str


@dataclass(frozen=True)
class Query:
    """One macro of a pack.

    Attributes:
        version: The DuckDB schema that it lives in: v1, or user.
        key: Columns that name a row, in order.
        chart: How to draw it, or None.
        requires: (table, advice): what must have rows, `a|b` for either, and how to
            record it.
        since: Version of TraceQL that brought it.
        params_sql: The parameter list as the file writes it.
        body: What follows AS: for a table macro the SELECT.
        is_table: False for a scalar macro, which only private files may hold.
        private: True when the name begins with an underscore.
    """

    name: str
    version: str
    title: str
    description: str
    params: tuple[Param, ...]
    columns: tuple[ColumnDoc, ...]
    key: tuple[str, ...]
    chart: str | None
    requires: tuple[tuple[str, str], ...]
    since: str
    params_sql: str
    body: str
    is_table: bool
    path: Path

    @property
    def private(self) -> bool:
        """Whether only other queries call it."""
        return self.name.startswith("_")

    @property
    def qualified(self) -> str:
        """Schema and name, such as v1.kernel_totals."""
        return f"{self.version}.{self.name}"

    @property
    def sql(self) -> str:
        """The statement that creates it, in its schema."""
        table = "TABLE " if self.is_table else ""
        return (
            f"CREATE OR REPLACE MACRO {self.qualified}({self.params_sql}) AS "
            f"{table}{self.body};"
        )


@dataclass(frozen=True)
class _Tag:
    name: str
    text: str
    line: int


@dataclass(frozen=True)
class _File:
    path: Path

    def error(self, line: int, what: str, hint: str | None = None) -> QueryError:
        return QueryError(f"{self.path}:{line}: {what}", hint=hint)


def parse(path: Path, version: str) -> Query:
    """Reads one query file of a version; a broken one is a `QueryError`."""
    file = _File(path)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise QueryError(f"{path}: cannot be read: {error}") from error
    lines = text.splitlines()
    header = 0
    while header < len(lines) and lines[header].startswith("--"):
        header += 1
    tags, description = _tags(file, lines[:header])
    name, declared, params_sql, body, is_table = _macro(
        file, "\n".join(lines[header:]), header + 1
    )
    if name != path.stem:
        raise file.error(header + 1, f"macro {name} must stand in {name}.sql")
    private = name.startswith("_")
    if not (is_table or private):
        raise file.error(header + 1, "a public query is a table macro: AS TABLE")
    one = {tag.name: tag for tag in tags if tag.name not in _REPEATED}
    columns = tuple(_column(file, t) for t in tags if t.name == "column")
    for needed in ("title", "since"):
        if needed not in one:
            raise file.error(1, f"no @{needed}")
    if not description:
        raise file.error(1, "no description under @title")
    if not (columns or private):
        raise file.error(1, "no @column")
    _unique(file, [c.name for c in columns], "@column")
    return Query(
        name=name,
        version=version,
        title=one["title"].text,
        description=description,
        params=_params(file, [t for t in tags if t.name == "param"], declared),
        columns=columns,
        key=_key(file, one.get("key"), columns),
        chart=one["chart"].text if "chart" in one else None,
        requires=tuple(_requires(file, t) for t in tags if t.name == "requires"),
        since=one["since"].text,
        params_sql=params_sql,
        body=body,
        is_table=is_table,
        path=path,
    )


def _tags(file: _File, lines: list[str]) -> tuple[list[_Tag], str]:
    tags: list[_Tag] = []
    description: list[str] = []
    for number, line in enumerate(lines, start=1):
        text = line.removeprefix("--")
        if found := re.match(r" @(\w*)\s*(.*)", text):
            tag = _Tag(found[1], found[2].strip(), number)
            if tag.name not in _TAGS:
                raise file.error(
                    number, f"unknown tag @{tag.name}", f"Tags: {', '.join(_TAGS)}."
                )
            if not tag.text:
                raise file.error(number, f"@{tag.name} says nothing")
            if tag.name not in _REPEATED and any(t.name == tag.name for t in tags):
                raise file.error(number, f"a second @{tag.name}")
            tags.append(tag)
        elif not tags:
            raise file.error(number, "the header begins with @title")
        elif text.startswith("    ") and tags[-1].name != "title":
            last = tags[-1]
            tags[-1] = _Tag(last.name, f"{last.text} {text.strip()}", last.line)
        elif tags[-1].name == "title":
            description.append(text.strip())
        else:
            raise file.error(
                number,
                "text under a tag must be indented by four",
                "The description stands under @title, before the other tags.",
            )
    return tags, "\n".join(description).strip()


def _column(file: _File, tag: _Tag) -> ColumnDoc:
    words = tag.text.split(None, 3)
    if len(words) < 4:
        raise file.error(tag.line, "@column needs: name unit polarity text")
    name, unit, polarity, text = words
    if unit not in UNITS:
        raise file.error(
            tag.line, f"unknown unit {unit!r}", f"Units: {', '.join(UNITS)}."
        )
    if polarity not in POLARITIES:
        raise file.error(
            tag.line,
            f"unknown polarity {polarity!r}",
            f"One of: {', '.join(POLARITIES)}.",
        )
    return ColumnDoc(name, unit, polarity, text)


def _key(
    file: _File, tag: _Tag | None, columns: tuple[ColumnDoc, ...]
) -> tuple[str, ...]:
    key = tuple(word.strip() for word in tag.text.split(",")) if tag else ()
    line = tag.line if tag else 1
    _unique(file, list(key), "@key")
    for column in columns:
        if (column.polarity == "key") != (column.name in key):
            raise file.error(
                line, f"{column.name} must be in @key and have the polarity key"
            )
    for name in key:
        if columns and name not in [c.name for c in columns]:
            raise file.error(line, f"@key names {name}, which is no @column")
    if columns and not key:
        raise file.error(line, "no @key")
    return key


def _requires(file: _File, tag: _Tag) -> tuple[str, str]:
    table, _, advice = tag.text.partition(" ")
    if not advice.strip():
        raise file.error(tag.line, "@requires needs: table advice")
    return table, advice.strip()


def _params(
    file: _File, tags: list[_Tag], declared: list[tuple[str, str, str | None]]
) -> tuple[Param, ...]:
    documented: dict[str, tuple[str, _Tag]] = {}
    for tag in tags:
        words = tag.text.split(None, 2)
        if len(words) < 3:
            raise file.error(tag.line, "@param needs: name type text")
        if words[0] not in [name for name, _, _ in declared]:
            raise file.error(tag.line, f"the macro has no parameter {words[0]}")
        if words[0] in documented:
            raise file.error(tag.line, f"a second @param {words[0]}")
        documented[words[0]] = words[2], tag
        actual = next(type_ for name, type_, _ in declared if name == words[0])
        if actual != words[1].upper():
            raise file.error(tag.line, f"{words[0]} is {actual}, not {words[1]}")
    for name, _, _ in declared:
        if name not in documented:
            raise file.error(1, f"no @param for the parameter {name}")
    return tuple(
        Param(name, type_, default, documented[name][0])
        for name, type_, default in declared
    )


def _unique(file: _File, names: list[str], what: str) -> None:
    for name in names:
        if names.count(name) > 1:
            raise file.error(1, f"{what} {name} stands twice")


def _macro(
    file: _File, sql: str, line: int
) -> tuple[str, list[tuple[str, str, str | None]], str, str, bool]:
    found = _MACRO.match(sql)
    if found is None:
        raise file.error(line, "CREATE MACRO name(...) must follow the header")
    depth, end = 0, None
    for start, token in _tokens(sql, found.end()):
        depth += {"(": 1, ")": -1}.get(token, 0)
        if depth == 0:
            end = start
            break
    if end is None:
        raise file.error(line, "the parameter list has no end")
    params_sql = " ".join(sql[found.end() + 1 : end].split())
    rest = re.match(r"\s*AS\s+(TABLE\s+)?", sql[end + 1 :], re.IGNORECASE)
    if rest is None:
        raise file.error(line, "AS TABLE must follow the parameter list")
    body = sql[end + 1 + rest.end() :].strip()
    body = body.removesuffix(";").rstrip()
    if any(token == ";" for _, token in _tokens(body, 0)):
        raise file.error(line, "one statement a file")
    if not body:
        raise file.error(line, "the macro is empty")
    params = [_declared(file, line, text) for text in _split(params_sql)]
    return found["name"], params, params_sql, body, rest[1] is not None


def _declared(file: _File, line: int, text: str) -> tuple[str, str, str | None]:
    left, assign, default = text.partition(":=")
    name, _, type_ = left.strip().partition(" ")
    if not _NAME.match(name) or not type_.strip():
        raise file.error(
            line, f"parameter {text.strip()!r}: write name TYPE := default"
        )
    return name, type_.strip().upper(), default.strip() if assign else None


def _split(params_sql: str) -> list[str]:
    parts, depth = [""], 0
    for _, token in _tokens(params_sql, 0):
        depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(token, 0)
        if token == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += token
    return [part for part in parts if part.strip()]


def _tokens(sql: str, start: int) -> Iterator[tuple[int, str]]:
    """Comments, quoted text and what has no mark in it as one token each."""
    for found in _TOKEN.finditer(sql, start):
        yield found.start(), found[0]


def bare_sql(sql: str) -> str:
    """The statement without its comments and string literals."""
    return "".join(
        " " if token.startswith(("--", "'")) else token for _, token in _tokens(sql, 0)
    )
