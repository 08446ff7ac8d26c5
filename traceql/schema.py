"""The unified schema: read from its DDL, which is the single source.

Invariant: nothing here repeats a table, a column or a type. DuckDB runs the DDL
and gives back names, types and nullability; the comments are its COMMENT ON
statements; an empty SELECT gives the Arrow types.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from traceql import resources

if TYPE_CHECKING:
    import duckdb

NEWEST = "v1"
_COMMENT = re.compile(r"COMMENT ON \w+ ([\w.]+) IS\s+'((?:[^']|'')*)';")


@dataclass(frozen=True)
class Column:
    """One column: its DuckDB type and what it means."""

    name: str
    type: str
    nullable: bool
    comment: str


@dataclass(frozen=True)
class Table:
    """One table or view: what a row is, and its columns in order."""

    name: str
    comment: str
    columns: tuple[Column, ...]

    @property
    def stored(self) -> tuple[Column, ...]:
        """The columns that a Parquet part holds: all but the partition's run_id."""
        return tuple(c for c in self.columns if c.name != "run_id")


@dataclass(frozen=True)
class Schema:
    """One version of the schema.

    Attributes:
        version: Its name, such as v1.
        tables: Tables by name, in the order of their names.
        views: Views over them by name.
    """

    version: str
    tables: dict[str, Table]
    views: dict[str, Table]

    def create(self, con: duckdb.DuckDBPyConnection) -> None:
        """Creates every table, empty, in the connection's current schema."""
        con.execute(ddl(self.version))


def ddl(version: str = NEWEST) -> str:
    """The CREATE TABLE and COMMENT ON statements of all tables."""
    return "\n".join(path.read_text() for path in _table_files(version))


def views_sql(version: str = NEWEST) -> str:
    """The CREATE VIEW statements; they need the macro kernel_class(name)."""
    return (resources.schemas_dir(version) / "views.sql").read_text()


def _table_files(version: str) -> list[Path]:
    folder = resources.schemas_dir(version)
    return sorted(p for p in folder.glob("*.sql") if p.name != "views.sql")


@cache
def load(version: str = NEWEST) -> Schema:
    """Reads one version of the schema by running its DDL in an empty database."""
    import duckdb

    # Comments are read here: DuckDB takes longer to keep them than for all the rest.
    sql = ddl(version) + views_sql(version)
    comments = {name: text.replace("''", "'") for name, text in _COMMENT.findall(sql)}
    with duckdb.connect() as con:
        con.execute("CREATE MACRO kernel_class(name) AS CAST(NULL AS VARCHAR)")
        con.execute(_COMMENT.sub("", sql))
        columns: dict[str, list[Column]] = {}
        for table, name, type_, nullable in con.execute(
            "SELECT table_name, column_name, data_type, is_nullable "
            "FROM duckdb_columns() WHERE NOT internal ORDER BY table_name, column_index"
        ).fetchall():
            comment = comments.get(f"{table}.{name}", "")
            column = Column(name, type_, nullable, comment)
            columns.setdefault(table, []).append(column)

        def described(function: str, kind: str) -> dict[str, Table]:
            rows = con.execute(
                f"SELECT {kind}_name FROM {function}() WHERE NOT internal "
                f"ORDER BY {kind}_name"
            ).fetchall()
            return {
                n: Table(n, comments.get(n, ""), tuple(columns[n])) for (n,) in rows
            }

        return Schema(
            version,
            tables=described("duckdb_tables", "table"),
            views=described("duckdb_views", "view"),
        )


if __name__ == "__main__":
    from traceql.schema_docs import schema_markdown

    print(schema_markdown(load()), end="")
