"""Trace-event JSON: one engine, and a dialect for each tool that writes it.

The engine finds the events, stages them with DuckDB's parser (or past damage), and
runs the dialect's mapping. A dialect is a name, a sniffer over `Signs`, and mapping
files; its module defines `IMPORTER = TraceEventImporter(Dialect(...))`.

Invariant: the content alone decides; memory is bounded whatever the file's size.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from traceql.importers import Context, Head
from traceql.importers._trace_event.signs import Signs, signs_of

if TYPE_CHECKING:
    import duckdb

    from traceql.importers._trace_event.layout import Layout

__all__ = ["FLOWS", "SHARED", "Dialect", "Signs", "TraceEventImporter", "map_staged"]

_HERE = Path(__file__).parent
# What every dialect has: threads, counters, asynchronous spans, objects, samples.
SHARED = _HERE / "shared.sql"
# Arrows between events. The dialect's `thread_range` says which ranges hold their ends
# (id, pid, tid, ts_ns, end_ns, held_in: the table that holds it); its @nest must bring
# in `flow_point`.
FLOWS = _HERE / "flows.sql"
_STAGED_SHARE = 0.4


@dataclass(frozen=True)
class Dialect:
    """One tool's way of writing trace events.

    Attributes:
        name: As `--format` takes it.
        version: Grows when the same file gives another answer.
        title: For people.
        sniff: How sure it is of a file, 0 to 1; the generic importer says 0.4.
        mappings: Mapping files, merged phase by phase.
        prepare: Python work between staging and mapping, or None.
    """

    name: str
    version: int
    title: str
    sniff: Callable[[Signs], float]
    mappings: tuple[Path, ...]
    prepare: Callable[[duckdb.DuckDBPyConnection, Context], None] | None = None


class TraceEventImporter:
    """Importer of one dialect; see `traceql.importers.Importer`."""

    def __init__(self, dialect: Dialect) -> None:
        self.name = dialect.name
        self.version = dialect.version
        self.title = dialect.title
        self._dialect = dialect

    def sniff(self, head: Head) -> float:
        """By content: the file's beginning, middle and end."""
        signs = signs_of(head)
        return 0.0 if signs is None else self._dialect.sniff(signs)

    def read(
        self, path: Path, con: duckdb.DuckDBPyConnection, ctx: Context
    ) -> dict[str, Any]:
        """Imports one trace.

        Raises:
            UnrecognisedInput: The file has no array of events.
        """
        from traceql.importers._trace_event import reading

        layout = reading.stage(path, con, ctx, share=_STAGED_SHARE)
        return map_staged(self._dialect, layout, path.name, con, ctx)


def map_staged(
    dialect: Dialect,
    layout: Layout,
    file_name: str,
    con: duckdb.DuckDBPyConnection,
    ctx: Context,
) -> dict[str, Any]:
    """Runs a dialect's mapping over events that are staged.

    Args:
        dialect: The dialect.
        layout: What stands around the events.
        file_name: Name of the source.
        con: Connection with the table `staged.event`.
        ctx: Options of the import, and where rows go.

    Returns:
        Columns of the run table.
    """
    from traceql.importers._trace_event import relations
    from traceql.importers._trace_event.mapped import MappingRun
    from traceql.mapping import read_mapping

    facts = relations.build(con, layout, file_name, ctx)
    if dialect.prepare is not None:
        dialect.prepare(con, ctx)
    return facts | MappingRun(con, ctx, read_mapping(*dialect.mappings)).run(
        _STAGED_SHARE
    )
