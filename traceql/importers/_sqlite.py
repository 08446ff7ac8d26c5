"""SQLite files as DuckDB relations: by column name, streamed through Arrow.

Invariant: the source is opened read-only and immutable, so nothing is ever written
to or beside it. A relation has exactly the columns that its declaration names;
what the file lacks is NULL.
"""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pyarrow as pa

from traceql.sources import journals

if TYPE_CHECKING:
    import duckdb

MAGIC = b"SQLite format 3\x00"
_BATCH_ROWS = 65_536
_BINARY = ("VARCHAR", "BLOB")  # what streams as blobs


def uri(path: Path) -> str:
    """SQLite's URI of a file that is only to be read."""
    return f"file:{quote(str(path.resolve()))}?mode=ro&immutable=1"


def table_names(path: Path) -> frozenset[str]:
    """Names of all tables; empty where the file cannot be read as a database."""
    try:
        with closing(sqlite3.connect(uri(path), uri=True)) as con:
            rows = con.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
            return frozenset(str(row[0]) for row in rows)
    except sqlite3.Error:
        return frozenset()


def missing_bytes(path: Path) -> int:
    """How many bytes the file is shorter than its header says; 0 for a whole one.

    SQLite itself reads a file whose last page is cut without a word: the table on that
    page is empty, or holds zeros. The header's page count holds where its two change
    counters agree.
    """
    with path.open("rb") as file:
        header = file.read(100)
    page_size = int.from_bytes(header[16:18], "big")
    page_size = 65_536 if page_size == 1 else page_size
    pages = int.from_bytes(header[28:32], "big")
    if len(header) < 100 or header[24:28] != header[92:96] or pages == 0:
        return 0
    return max(0, pages * page_size - path.stat().st_size)


@contextmanager
def settled(path: Path) -> Iterator[Path]:
    """The database to read: the file, or a copy that its journal was played into.

    A process that died while writing leaves a journal or write-ahead log beside the
    file; without it the content is not whole, and playing it writes to the file.
    """
    beside = journals(path)
    if not beside:
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="traceql-") as folder:
        for file in (path, *beside):
            shutil.copyfile(file, Path(folder) / file.name)
        copy = Path(folder) / path.name
        with closing(sqlite3.connect(copy)) as con:
            con.execute("PRAGMA journal_mode = DELETE").fetchall()
        yield copy


@dataclass(frozen=True)
class Relation:
    """A source table as its importer declares it.

    Attributes:
        name: Its name, in the source and in DuckDB.
        columns: Declared columns: name to DuckDB type.
    """

    name: str
    columns: dict[str, str]


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


class SqliteSource:
    """One SQLite file: what it holds, and streams over parts of it."""

    def __init__(self, path: Path) -> None:
        self._uri = uri(path)
        with closing(sqlite3.connect(self._uri, uri=True)) as con:
            self.tables = {
                str(row[0])
                for row in con.execute(
                    "SELECT name FROM sqlite_master WHERE type = 'table'"
                )
            }

    def columns(self, table: str) -> set[str]:
        """Columns of a table that the file has; empty for an absent table."""
        with closing(sqlite3.connect(self._uri, uri=True)) as con:
            return {str(row[1]) for row in con.execute(f'PRAGMA table_info("{table}")')}

    def rowids(self, table: str) -> tuple[int, int] | None:
        """Smallest and largest rowid; None for an absent or empty table."""
        if table not in self.tables:
            return None
        with closing(sqlite3.connect(self._uri, uri=True)) as con:
            low = con.execute(f'SELECT min(rowid) FROM "{table}"').fetchone()[0]
            high = con.execute(f'SELECT max(rowid) FROM "{table}"').fetchone()[0]
            return None if low is None else (int(low), int(high))

    @contextmanager
    def stream(
        self, relation: Relation, low: int | None = None, high: int | None = None
    ) -> Iterator[Any]:
        """An Arrow stream of the relation's present columns, with `row_id`.

        Text comes as blobs, since the driver gives up at the first byte that is no
        UTF-8; NULL text and real columns come as empty and infinity, since the driver
        takes a column's type from its first rows. `select_list` undoes both.

        Args:
            relation: What to read.
            low: First rowid.
            high: Last rowid.
        """
        from adbc_driver_sqlite import StatementOptions, dbapi

        present = self.columns(relation.name)
        selected = ["rowid AS row_id"]
        for name, type_ in relation.columns.items():
            if name not in present:
                continue
            if type_ in _BINARY:
                selected.append(f'coalesce(CAST("{name}" AS BLOB), x\'\') AS "{name}"')
            elif type_ == "DOUBLE":
                selected.append(f'coalesce(CAST("{name}" AS REAL), 9e999) AS "{name}"')
            else:
                selected.append(f'"{name}"')
        where = "" if low is None else f" WHERE rowid BETWEEN {low} AND {high}"
        with (
            dbapi.connect(self._uri) as connection,
            connection.cursor() as cursor,
        ):
            cursor.adbc_statement.set_options(
                **{StatementOptions.BATCH_ROWS.value: str(_BATCH_ROWS)}
            )
            cursor.execute(
                f'SELECT {", ".join(selected)} FROM "{relation.name}"{where}'
            )
            yield cursor.fetch_record_batch()

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
    return type_ not in _BINARY or pa.types.is_binary(arrow)


def decode_lenient(data: bytes | None) -> str | None:
    """Text of bytes that are no UTF-8: what is wrong becomes U+FFFD."""
    return None if data is None else data.decode("utf-8", errors="replace")
