"""SQLite files as DuckDB relations: by column name, streamed through Arrow.

Invariant: the source is opened read-only and immutable, so nothing is ever written
to or beside it.
"""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from traceql.importers._tables import BINARY, Relation, Tables
from traceql.sources import journals

MAGIC = b"SQLite format 3\x00"
_BATCH_ROWS = 65_536
# Row ids stand in the low 40 bits of the schema's ids, and chunks walk them: no export
# has more rows than this.
_MAX_ROW_ID = 1 << 33


def uri(path: Path) -> str:
    """SQLite's URI of a file that is only to be read."""
    return f"file:{quote(bytes(path.resolve()))}?mode=ro&immutable=1"


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


class SqliteSource(Tables):
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
        """Smallest and largest row id; None for an absent or empty table."""
        if table not in self.tables:
            return None
        if self._is_odd(table):
            return 1, self.row_count(table)
        with closing(sqlite3.connect(self._uri, uri=True)) as con:
            low = con.execute(f'SELECT min(rowid) FROM "{table}"').fetchone()[0]
            high = con.execute(f'SELECT max(rowid) FROM "{table}"').fetchone()[0]
            return None if low is None else (int(low), int(high))

    def _is_odd(self, table: str) -> bool:
        """Whether rowids do not do as row ids: then the rows are counted instead."""
        with closing(sqlite3.connect(self._uri, uri=True)) as con:
            odd = con.execute(
                f'SELECT 1 FROM "{table}" WHERE rowid < 0 OR rowid > {_MAX_ROW_ID} '
                "LIMIT 1"
            )
            return odd.fetchone() is not None

    def row_count(self, table: str) -> int:
        """How many rows a table has; 0 for an absent one."""
        if table not in self.tables:
            return 0
        with closing(sqlite3.connect(self._uri, uri=True)) as con:
            return int(con.execute(f'SELECT count(*) FROM "{table}"').fetchone()[0])

    def chunks(self, table: str, rows: int) -> Iterator[tuple[int, int]]:
        """First and last rowids of the parts of a table; see `Tables.chunks`."""
        bounds = self.rowids(table)
        if bounds is None:
            return
        low, last = bounds
        while low <= last:
            high = min(low + rows - 1, last)
            yield low, high
            low = high + 1

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
        selected, row_id, source = ["rowid AS row_id"], "rowid", f'"{relation.name}"'
        if relation.name in self.tables and self._is_odd(relation.name):
            counted = (
                f"SELECT row_number() OVER (ORDER BY rowid) AS row_id, * FROM {source}"
            )
            selected, row_id, source = ["row_id"], "row_id", f"({counted})"
        for name, type_ in relation.columns.items():
            if name not in present or name in relation.unread:
                continue
            if type_ in BINARY:
                selected.append(f'coalesce(CAST("{name}" AS BLOB), x\'\') AS "{name}"')
            elif type_ == "DOUBLE":
                selected.append(f'coalesce(CAST("{name}" AS REAL), 9e999) AS "{name}"')
            else:
                selected.append(f'"{name}"')
        where = "" if low is None else f" WHERE {row_id} BETWEEN {low} AND {high}"
        with (
            dbapi.connect(self._uri) as connection,
            connection.cursor() as cursor,
        ):
            cursor.adbc_statement.set_options(
                **{StatementOptions.BATCH_ROWS.value: str(_BATCH_ROWS)}
            )
            cursor.execute(f"SELECT {', '.join(selected)} FROM {source}{where}")
            yield cursor.fetch_record_batch()
