"""Conform and write: a mapping's SELECT becomes Parquet parts of a schema table.

Invariant: a part has exactly the schema's columns and types, sorted by time; what
cannot be cast is counted, never dropped in silence.
"""

from __future__ import annotations

import re
import threading
from collections import defaultdict
from typing import TYPE_CHECKING

import duckdb

from traceql.diagnostics import Diagnostics
from traceql.schema import Column, Schema

if TYPE_CHECKING:
    from pathlib import Path

    from traceql.store import Staging

ROW_GROUP = 122_880
# A home directory, by a character class that leaves quotes, brackets and backslashes
# alone: the text may be JSON, and must stay JSON.
_HOME = (
    r"(/home/|/Users/|/root\b|\b[A-Za-z]:(\\+|/)Users(\\+|/))"
    r"""[^/\\\s"'`<>\[\](){};:,|]*"""
)

# What a damaged file says of a duration or a size may be any number, and sums of them
# must fit 64 bits: of those below 10^15, 9,223 do. 10^15 ns are eleven days, and 10^15
# bytes more than any copy has.
_BOUNDED = {"dur_ns", "bytes"}
_BOUND = "DECIMAL(15, 0)"


def redacted(text: str) -> str:
    """The text with the user's part of home directories replaced by `~`."""
    return re.sub(_HOME, "~", text)


def _text(value: object) -> str:
    """A SQL string literal."""
    return "'" + str(value).replace("'", "''") + "'"


def _cast(cast: str, column: Column) -> str:
    """The column's value in its type; with TRY_CAST NULL where it does not fit."""
    value = f'{cast}("{column.name}" AS {column.type})'
    if column.name in _BOUNDED:
        return f"{cast}({cast}({value} AS {_BOUND}) AS {column.type})"
    return value


def _stored_type(column: Column) -> str:
    # Spark and Polars read JSON text as text; only DuckDB knows the JSON type.
    return "VARCHAR" if column.type == "JSON" else column.type


class Writer:
    """Writes the parts of one import and shows them back as views `written.<table>`.

    Safe to use from several threads, each with its own cursor.
    """

    def __init__(
        self,
        staging: Staging,
        schema: Schema,
        diagnostics: Diagnostics,
        *,
        redact: bool = False,
    ) -> None:
        self.parts: dict[str, list[Path]] = defaultdict(list)
        self._staging = staging
        self._schema = schema
        self._diagnostics = diagnostics
        self._redact = redact
        self._columns: dict[tuple[str, str], list[str]] = {}
        self._shown: dict[str, int] = {}
        self._lock = threading.Lock()

    def write(
        self,
        con: duckdb.DuckDBPyConnection,
        table: str,
        select: str,
        *,
        in_order: bool = False,
    ) -> None:
        """Runs `select` and writes its rows as one part of `table`.

        Args:
            con: Connection (or cursor) that sees the relations of `select`.
            table: A table of the schema.
            select: A SELECT whose columns bear names of the table; absent ones
                become NULL.
            in_order: The rows come sorted by time already.

        Raises:
            duckdb.Error: The statement failed.
            ValueError: `select` has a column that the table does not have.
        """
        names = self._select_columns(con, table, select)
        path = self._staging.part(table)
        if "ts_ns" in names and not in_order:
            rows = f"({select}) ORDER BY ts_ns"
        else:
            rows = f"({select})"
        try:
            self._copy(con, table, rows, names, path, "CAST")
        except duckdb.ConversionException as error:
            self._count_lossy(con, table, select, names, str(error))
            self._copy(con, table, rows, names, path, "TRY_CAST")
        with self._lock:
            self.parts[table].append(path)

    def show_written(self, con: duckdb.DuckDBPyConnection) -> None:
        """Brings `written.<table>` up to date: the rows written so far, sans run_id."""
        con.execute("CREATE SCHEMA IF NOT EXISTS written")
        for table in self._schema.tables.values():
            files = [_text(path) for path in self.parts[table.name]]
            if self._shown.get(table.name) == len(files):
                continue
            typed = ", ".join(
                f'CAST(NULL AS {_stored_type(c)}) AS "{c.name}"' for c in table.stored
            )
            # The store's own path may look like partitions: name=x/ is no column.
            rows = f"read_parquet([{', '.join(files)}], hive_partitioning = false)"
            con.execute(
                f"CREATE OR REPLACE VIEW written.{table.name} AS "
                + (f"SELECT * FROM {rows}" if files else f"SELECT {typed} LIMIT 0")
            )
            self._shown[table.name] = len(files)

    def _select_columns(
        self, con: duckdb.DuckDBPyConnection, table: str, select: str
    ) -> list[str]:
        if (table, select) not in self._columns:
            described = con.execute(f"DESCRIBE {select}").fetchall()
            self._columns[table, select] = [row[0] for row in described]
        return self._columns[table, select]

    def _copy(
        self,
        con: duckdb.DuckDBPyConnection,
        table: str,
        rows: str,
        names: list[str],
        path: Path,
        cast: str,
    ) -> None:
        columns = self._schema.tables[table].stored
        foreign = set(names) - {c.name for c in columns}
        if foreign:
            raise ValueError(f"{table} has no column {', '.join(sorted(foreign))}")
        values = ", ".join(self._value(c, c.name in names, cast) for c in columns)
        con.execute(
            f"COPY (SELECT {values} FROM {rows}) TO {_text(path)} "
            "(FORMAT parquet, PARQUET_VERSION v2, COMPRESSION zstd, "
            f"ROW_GROUP_SIZE {ROW_GROUP}, WRITE_BLOOM_FILTER false)"
        )

    def _value(self, column: Column, present: bool, cast: str) -> str:
        name, type_ = f'"{column.name}"', _stored_type(column)
        if not present:
            return f"CAST(NULL AS {type_}) AS {name}"
        if type_ != "VARCHAR":
            return f"{_cast(cast, column)} AS {name}"
        if self._redact:
            text = f"CAST({name} AS VARCHAR)"
            return f"regexp_replace({text}, {_text(_HOME)}, '~', 'g') AS {name}"
        # An ENUM is written as text with its dictionary; a cast would spell it out.
        return name

    def _count_lossy(
        self,
        con: duckdb.DuckDBPyConnection,
        table: str,
        select: str,
        names: list[str],
        error: str,
    ) -> None:
        for column in self._schema.tables[table].stored:
            if column.name not in names or _stored_type(column) == "VARCHAR":
                continue
            ((lossy,),) = con.execute(
                f'SELECT count(*) FROM ({select}) WHERE "{column.name}" IS NOT NULL '
                f"AND {_cast('TRY_CAST', column)} IS NULL"
            ).fetchall()
            bounded = column.name in _BOUNDED
            limit = "below 10^15" if bounded else f"of type {column.type}"
            self._diagnostics.add(
                f"lossy_{table}_{column.name}",
                "data_loss",
                f"Values of {table}.{column.name} are not {limit}: they are NULL.",
                count=lossy,
                example=error.splitlines()[0],
            )
