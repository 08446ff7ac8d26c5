"""TensorFlow 1 timelines: the JSON that `timeline.Timeline` makes of a session.run.

One file is one iteration; a folder of them, whose names differ only in their numbers,
is one run of many.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from traceql.importers._trace_event import (
    SHARED,
    Dialect,
    Signs,
    TraceEventImporter,
)

if TYPE_CHECKING:
    import duckdb

    from traceql.importers import Context

_PLANE = re.compile(
    r"(?:/job:[^/]+)?(?:/replica:\d+)?(?:/task:\d+)?"
    r"/(?:(?:device:)?[A-Za-z_]+:\d+|host:CPU)(?:/\S+)? (?:Compute|Tensors)"
)


def _sniff(signs: Signs) -> float:
    if any(_PLANE.fullmatch(name) for name in signs.process_names):
        return 0.95
    # A cut or stripped one.
    return 0.6 if {"Op", "DataFlow"} <= signs.categories else 0.0


def _prepare(con: duckdb.DuckDBPyConnection, ctx: Context) -> None:
    """The files that the events come from: one, unless a folder was staged."""
    del ctx
    con.execute(
        "CREATE TABLE IF NOT EXISTS timeline_file AS "
        "SELECT CAST(0 AS BIGINT) AS number, CAST(0 AS BIGINT) AS first_event, "
        # What was unpacked aside bears a mark before its name.
        r"regexp_replace(file_name(), '^unpacked-([0-9]+-)?', '') AS name"
    )


DIALECT = Dialect(
    name="tf1-timeline",
    version=1,
    title="TensorFlow 1 timeline",
    sniff=_sniff,
    mappings=(SHARED, Path(__file__).with_name("tf1_timeline.sql")),
    prepare=_prepare,
)
IMPORTER = TraceEventImporter(DIALECT)
