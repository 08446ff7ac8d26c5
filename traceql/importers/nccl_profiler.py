"""Traces of NCCL's example profiler plug-in: calls, groups, proxies, channels."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from traceql.importers._trace_event import (
    FLOWS,
    SHARED,
    Dialect,
    Signs,
    TraceEventImporter,
)

if TYPE_CHECKING:
    import duckdb

    from traceql.importers import Context

_CATEGORIES = frozenset(
    ["COLL", "COLL_API", "GROUP_API", "KERNEL_LAUNCH", "NET", "P2P", "P2P_API", "PROXY"]
)


def _sniff(signs: Signs) -> float:
    few = len(signs.categories & _CATEGORIES) < 2
    return 0.0 if few or signs.root != "array" or "b" not in signs.phases else 0.9


def _prepare(con: duckdb.DuckDBPyConnection, ctx: Context) -> None:
    """A stamp of zero is one that was never taken."""
    del ctx
    con.execute("UPDATE staged.event SET ts_ns = NULL WHERE ts_ns = 0")


IMPORTER = TraceEventImporter(
    Dialect(
        name="nccl-profiler",
        version=2,
        title="NCCL profiler plug-in trace",
        sniff=_sniff,
        mappings=(
            SHARED,
            FLOWS,
            Path(__file__).with_name("chrome_trace.sql"),
            Path(__file__).with_name("nccl_profiler.sql"),
        ),
        prepare=_prepare,
    )
)
