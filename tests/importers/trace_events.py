"""Helpers of the trace-event tests: import a file, ask the tables that it made."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb

import traceql
from traceql import schema
from traceql.ingest import Outcome


class Imported:
    """One imported file: its outcome, and SQL over its tables."""

    def __init__(self, store: traceql.Store, outcome: Outcome) -> None:
        assert outcome.run is not None, outcome.error
        self.outcome = outcome
        self.found = {f.code: f.count for f in outcome.findings}
        self._con = duckdb.connect()
        for table in schema.load().tables.values():
            files = list(store.paths(outcome.run, table.name))
            columns = ", ".join(
                f'CAST(NULL AS {c.type}) AS "{c.name}"' for c in table.stored
            )
            scan = f"SELECT {columns} LIMIT 0"
            if files:
                scan = f"SELECT * FROM read_parquet({files}, hive_partitioning = false)"
            self._con.execute(f"CREATE VIEW {table.name} AS {scan}")

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """Rows of a SELECT over the schema's tables."""
        return self._con.execute(sql).fetchall()


def ingested(store: traceql.Store, path: Path, **options: Any) -> Imported:
    """Imports one file again, whatever the store has of it."""
    (outcome,) = store.ingest(path, force=True, **options)
    return Imported(store, outcome)


def written(
    folder: Path, events: Sequence[dict[str, Any]] | bytes | str, name: str = "t.json"
) -> Path:
    """A file of events, or of the text given."""
    path = folder / name
    if isinstance(events, bytes):
        path.write_bytes(events)
    elif isinstance(events, str):
        path.write_text(events)
    else:
        path.write_text(json.dumps({"traceEvents": list(events)}))
    return path
