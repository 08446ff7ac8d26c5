"""The floor of an import: ADBC's scan of the same columns, and nothing else.

python -m benchmarks.bare_scan FILE THREADS
"""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import duckdb
from adbc_driver_sqlite import dbapi

from traceql.importers import nsight_sqlite
from traceql.importers._sqlite import SqliteSource, uri
from traceql.importers._tables import declared
from traceql.mapping import read_mapping

_CHUNK_ROWS = 500_000


def scan(path: Path, threads: int) -> None:
    """Reads every streamed column of the importer's tables and drops it."""
    folder = Path(nsight_sqlite.__file__).parent
    source = SqliteSource(path)
    with duckdb.connect() as con:
        ddl = (folder / "nsight_sqlite_source.sql").read_text()
        relations = declared(con, ddl)
    phases = read_mapping(folder / "nsight_sqlite.sql")
    statements = []
    for name in {s for phase in phases for s in phase.chunked()}:
        present = source.columns(name)
        columns = [f'"{c}"' for c in relations[name].columns if c in present]
        for low, high in source.chunks(name, _CHUNK_ROWS):
            statements.append(
                f'SELECT rowid, {", ".join(columns)} FROM "{name}" '
                f"WHERE rowid BETWEEN {low} AND {high}"
            )

    def read(statement: str) -> None:
        with dbapi.connect(uri(path)) as connection, connection.cursor() as cursor:
            cursor.adbc_statement.set_options(
                **{"adbc.sqlite.query.batch_rows": "65536"}
            )
            cursor.execute(statement)
            for _ in cursor.fetch_record_batch():
                pass

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(read, statements))


if __name__ == "__main__":
    scan(Path(sys.argv[1]), int(sys.argv[2]))
