"""A database of the schema's tables with a few rows in it, and every query."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import duckdb

from traceql import queries, query_lint, schema

_FILLED = {"truncated": False, "crossing": False}


@dataclass(frozen=True)
class Database:
    """Tables of the schema; the queries see what a test inserts."""

    con: duckdb.DuckDBPyConnection
    catalog: dict[str, queries.Query]

    def insert(self, table: str, *rows: dict[str, Any]) -> None:
        """Rows by column; run_id is r1 and ids count up where a row has none."""
        columns = [column.name for column in schema.load().tables[table].columns]
        own_id = f"{table}_id"
        first = self.con.execute(f"SELECT count(*) FROM {table}").fetchall()[0][0]
        for number, row in enumerate(rows, start=first):
            filled: dict[str, Any] = {n: _FILLED[n] for n in _FILLED if n in columns}
            if own_id in columns:
                filled[own_id] = number
            filled |= {"run_id": "r1"} | row
            marks = ", ".join("?" for _ in filled)
            self.con.execute(
                f"INSERT INTO {table} ({', '.join(filled)}) VALUES ({marks})",
                list(filled.values()),
            )

    def window(self, first_ns: int, end_ns: int, run_id: str = "r1") -> None:
        """The run and its capture window."""
        self.insert(
            "run",
            {"run_id": run_id, "first_ts_ns": first_ns, "span_ns": end_ns - first_ns},
        )

    def ask(self, name: str, **params: Any) -> list[dict[str, Any]]:
        """The rows of a query."""
        text = queries.call_sql(queries.find(self.catalog, name), params)
        result = self.con.execute(text)
        names = [column[0] for column in result.description or ()]
        return [dict(zip(names, row, strict=True)) for row in result.fetchall()]


def empty() -> Database:
    """A database without rows; one for all tests, since macros take a while."""
    database = _installed()
    for table in schema.load().tables:
        database.con.execute(f"DELETE FROM {table}")
    return database


@cache
def _installed() -> Database:
    catalog = queries.discover()
    con = duckdb.connect()
    con.execute("SET threads = 1")
    query_lint.empty_database(catalog, con)
    return Database(con, catalog)
