"""The floor of a JSON import: DuckDB's parse of the same events, and nothing else.

python -m benchmarks.bare_json FILE THREADS
"""

from __future__ import annotations

import sys
from pathlib import Path

import duckdb

from traceql.importers._trace_event.layout import locate
from traceql.importers._trace_event.ranges import RangeFiles
from traceql.importers._trace_event.staging import COLUMNS


def parse(path: Path, threads: int) -> None:
    """Parses every key that the importer reads, and drops it."""
    layout = locate(path)
    if layout is None or layout.end is None:
        raise SystemExit(f"{path}: no whole trace")
    columns = ", ".join(f"'{name}': '{type_}'" for name, type_ in COLUMNS.items())
    # A length or a sum needs the value; a mere count would not.
    used = ", ".join(
        f"sum({name})" if type_.startswith("DECIMAL") else f"sum(length({name}))"
        for name, type_ in COLUMNS.items()
    )
    with duckdb.connect(config={"threads": threads, "memory_limit": "500MB"}) as con:
        con.register_filesystem(RangeFiles(path))
        con.execute(
            f"SELECT {used} FROM read_json("
            f"'{RangeFiles.name(layout.start, layout.end)}', "
            f"format = 'array', columns = {{{columns}}})"
        ).fetchall()


if __name__ == "__main__":
    parse(Path(sys.argv[1]), int(sys.argv[2]))
