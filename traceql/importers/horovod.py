"""Horovod timelines (HOROVOD_TIMELINE): what became of each tensor on its way."""

from __future__ import annotations

from pathlib import Path

from traceql.importers._trace_event import (
    SHARED,
    Dialect,
    Signs,
    TraceEventImporter,
)


def _sniff(signs: Signs) -> float:
    # The file begins with the first tensor's negotiation.
    negotiates = any(name.startswith("NEGOTIATE_") for name in signs.names)
    return 0.9 if signs.root == "array" and negotiates else 0.0


IMPORTER = TraceEventImporter(
    Dialect(
        name="horovod",
        version=2,
        title="Horovod timeline",
        sniff=_sniff,
        mappings=(SHARED, Path(__file__).with_name("horovod.sql")),
    )
)
