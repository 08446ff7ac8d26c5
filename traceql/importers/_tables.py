"""Tables of a source as DuckDB relations: by column name, streamed through Arrow.

Invariant: a relation has exactly the columns that its declaration names; what the
source lacks is NULL.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

if TYPE_CHECKING:
    import duckdb

BINARY = ("VARCHAR", "BLOB")  # what streams as blobs


@dataclass(frozen=True)
class Relation:
    """A source table as its importer declares it.

    Attributes:
        name: Its name, in the source and in DuckDB.
        columns: Declared columns: name to DuckDB type.
        unread: Columns among them that this import leaves alone: they are NULL.
    """

    name: str
    columns: dict[str, str]
    unread: frozenset[str] = frozenset()


def declared(con: duckdb.DuckDBPyConnection, ddl: str) -> dict[str, Relation]:
    """Reads CREATE TABLE statements, runs them in `con`, and returns what they say."""
    before = {
        row[0]
        for row in con.execute("SELECT table_name FROM duckdb_tables()").fetchall()
    }
    con.execute(ddl)
    relations: dict[str, Relation] = {}
    for table, column, type_ in con.execute(
        "SELECT table_name, column_name, data_type FROM duckdb_columns() "
        "WHERE NOT internal ORDER BY table_name, column_index"
    ).fetchall():
        if table not in before:
            relations.setdefault(table, Relation(table, {})).columns[column] = type_
    return relations


class Tables(ABC):
    """The tables of one source, and streams over parts of them.

    Attributes:
        tables: Names of the tables.
    """

    tables: set[str]

    @abstractmethod
    def columns(self, table: str) -> set[str]:
        """Columns of a table that the source has; empty for an absent table."""

    @abstractmethod
    def row_count(self, table: str) -> int:
        """How many rows a table has; 0 for an absent one."""

    @abstractmethod
    def chunks(self, table: str, rows: int) -> Iterator[tuple[int, int]]:
        """First and last row ids of the parts, of about `rows`, to read it in."""

    @abstractmethod
    def stream(
        self, relation: Relation, low: int | None = None, high: int | None = None
    ) -> AbstractContextManager[Any]:
        """An Arrow stream of the relation's present columns, with `row_id`.

        Text comes as blobs, for it may be no UTF-8; NULL text and numbers may come as
        empty and infinity, which `select_list` undoes.

        Args:
            relation: What to read.
            low: First row id.
            high: Last row id.
        """

    def load(
        self,
        con: duckdb.DuckDBPyConnection,
        into: str,
        relation: Relation,
        low: int | None = None,
        high: int | None = None,
    ) -> dict[str, int]:
        """Runs `into` (INSERT or CREATE ... AS) on the relation's rows.

        Returns:
            How many values did not fit the type of a column, and are NULL.
        """
        import duckdb

        def run(sql: str, cast: str) -> list[Any]:
            with self.stream(relation, low, high) as stream:
                columns = self.select_list(relation, stream, cast)
                con.register("arrow_stream", stream)
                rows = con.execute(sql.format(columns)).fetchall()
                con.unregister("arrow_stream")
                return rows

        try:
            run(f"{into} SELECT {{}} FROM arrow_stream", "CAST")
        except duckdb.ConversionException:
            run(f"{into} SELECT {{}} FROM arrow_stream", "TRY_CAST")
        else:
            return {}
        present = self.columns(relation.name)
        numbers = [
            name
            for name, type_ in relation.columns.items()
            if name in present and "INT" in type_
        ]
        lost = ", ".join(
            f'count(*) FILTER ("{n}" IS NOT NULL '
            f'AND TRY_CAST("{n}" AS {relation.columns[n]}) IS NULL)'
            for n in numbers
        )
        (counts,) = run(f"SELECT {lost} FROM arrow_stream", "CAST")
        return {n: c for n, c in zip(numbers, counts, strict=True) if c}

    def select_list(self, relation: Relation, stream: Any, cast: str = "CAST") -> str:
        """SELECT list over a stream that gives every declared column its type.

        Args:
            relation: What the stream brings.
            stream: The stream.
            cast: CAST, or TRY_CAST to read what does not fit its type as NULL.
        """
        items = []
        for name, type_ in relation.columns.items():
            position = stream.schema.get_field_index(name)
            if position < 0 or not _holds(stream.schema.field(position).type, type_):
                items.append(f'CAST(NULL AS {type_}) AS "{name}"')
            elif type_ == "VARCHAR":
                text = f"nullif(\"{name}\", ''::BLOB)"
                value = f"coalesce(TRY(decode({text})), lenient({text}))"
                items.append(f'{value} AS "{name}"')
            elif type_ == "BLOB":
                items.append(f'nullif("{name}", \'\'::BLOB) AS "{name}"')
            elif type_ == "DOUBLE":
                items.append(f'nullif("{name}", \'Infinity\'::DOUBLE) AS "{name}"')
            else:
                items.append(f'{cast}("{name}" AS {type_}) AS "{name}"')
        return ", ".join(items)


def _holds(arrow: pa.DataType, type_: str) -> bool:
    """Whether a stream's column is text or bytes where those are declared.

    The driver calls every column of an empty stream an integer.
    """
    return type_ not in BINARY or pa.types.is_binary(arrow)


def decode_lenient(data: bytes | None) -> str | None:
    """Text of bytes that are no UTF-8: what is wrong becomes U+FFFD."""
    return None if data is None else data.decode("utf-8", errors="replace")
