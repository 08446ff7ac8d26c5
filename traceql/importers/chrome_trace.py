"""Any Chrome trace: what chrome://tracing and Perfetto open, and what they refuse."""

from __future__ import annotations

from pathlib import Path

from traceql.importers._trace_event import (
    FLOWS,
    SHARED,
    Dialect,
    Signs,
    TraceEventImporter,
)


def _sniff(signs: Signs) -> float:
    if "traceEvents" in signs.keys or signs.phases:
        return 0.4
    # A header longer than the head may hide the events.
    return 0.1 if _is_empty_trace(signs) else 0.0


def _is_empty_trace(signs: Signs) -> bool:
    return signs.root == "array" and signs.text.strip("\ufeff \t\r\n") in ("[]", "[")


IMPORTER = TraceEventImporter(
    Dialect(
        name="chrome-trace",
        version=2,
        title="Chrome trace-event JSON",
        sniff=_sniff,
        mappings=(SHARED, FLOWS, Path(__file__).with_name("chrome_trace.sql")),
    )
)
