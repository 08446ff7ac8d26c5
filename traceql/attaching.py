"""Sample logs beside a trace: which trace, and how their clocks relate.

Invariant: a log is attached only with a clock offset that the user states or that both
wall clocks prove; its own times stay as they are, and queries apply the offset.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from traceql import window
from traceql.diagnostics import Diagnostics
from traceql.errors import UsageError

if TYPE_CHECKING:
    import duckdb

    from traceql.sources import Source
    from traceql.store import Store

_UNITS_NS = {
    "": 1,
    "ns": 1,
    "us": 1_000,
    "µs": 1_000,
    "ms": 1_000_000,
    "s": 1_000_000_000,
    "min": 60_000_000_000,
    "h": 3_600_000_000_000,
}
ELSEWHERE = "attached_elsewhere"
"""Code of the finding that a log and its trace have no time in common."""
_DURATION = re.compile(r"([+-]?\d{1,19}(?:\.\d{1,12})?) ?([a-zµ]*)")
_WALL_CLOCK = (
    "--clock-offset says what to add to the log's clock to get UTC: -2h where it ran "
    "two hours ahead of UTC, 0 where it was UTC."
)
_NO_WALL_CLOCK = (
    "--clock-offset says where the log's first sample lies on the trace's time, ns "
    "since its origin: +1.5s, -250ms."
)


@dataclass(frozen=True)
class Attachment:
    """The trace that logs are attached to, and the offset of their clock.

    Attributes:
        run_id: The trace.
        origin_unix_ns: The wall clock at its origin; None for unknown.
        stated_ns: The offset that the user stated, ns; None for none.
        first_ns: Start of its capture window, ns since its origin; None for unknown.
        end_ns: The window's end.
    """

    run_id: str
    origin_unix_ns: int | None
    stated_ns: int | None
    first_ns: int | None = None
    end_ns: int | None = None


def attachment(
    store: Store, selector: str, clock_offset: str | int | None
) -> Attachment:
    """Finds the trace and reads the offset.

    Args:
        store: The store that holds the trace.
        selector: Names the trace.
        clock_offset: Nanoseconds, or a text such as `+1.5s`; None: to be proven.

    Raises:
        NoSuchRun: The selector names no run.
        UsageError: It names several, or one that is itself attached; or the offset is
            no duration.
    """
    stated_ns = None if clock_offset is None else offset_ns(clock_offset)
    trace = store.run(selector)
    above = trace.manifest.options.get("attached_to")
    if above is not None:
        raise UsageError(
            f"{trace.run_id} is itself attached to {above}",
            hint=f"Attach to the trace: --attach {above}",
        )
    text = (
        "SELECT origin_unix_ns, first_ts_ns, first_ts_ns + span_ns AS end_ns FROM run"
    )
    (row,) = store.sql(text, run=trace.run_id).rows()
    return Attachment(
        trace.run_id,
        row["origin_unix_ns"],
        stated_ns,
        row["first_ts_ns"],
        row["end_ns"],
    )


def offset_ns(given: str | int) -> int:
    """Nanoseconds of a duration: 250, `250ns`, `+1.5s`, `-250ms`, `-2h`.

    Raises:
        UsageError: It is none, or beyond 64 bits.
    """
    match = _DURATION.fullmatch(str(given).strip())
    if match and match[2] in _UNITS_NS:
        nanoseconds = Decimal(match[1]) * _UNITS_NS[match[2]]
        if nanoseconds == int(nanoseconds) and abs(nanoseconds) < 2**63:
            return int(nanoseconds)
    raise UsageError(
        f"--clock-offset: {given!r} is no duration in whole nanoseconds",
        hint="Write 0, +1.5s, -250ms or -2h; a number alone is nanoseconds.",
    )


def attached_facts(
    con: duckdb.DuckDBPyConnection,
    to: Attachment,
    source: Source,
    facts: Mapping[str, Any],
    diagnostics: Diagnostics,
) -> dict[str, Any]:
    """The run table's columns of an attached log: attached_to and clock_offset_ns.

    A matrix of links has no samples and needs no offset.

    Args:
        con: Connection with the views `written.<table>` of the import.
        to: The trace.
        source: The log.
        facts: The columns that its importer gave, and its window.
        diagnostics: Takes a warning where the log lies beside the trace's time.

    Raises:
        UsageError: It cannot be attached: it is the trace itself, or no sample log, or
            its clock is not known to be the trace's.
    """
    if source.run_id == to.run_id:
        raise UsageError(
            f"{source.uri}: a run cannot be attached to itself",
            hint="--attach names the trace.",
        )
    has_samples = window.holds(con, "counter")
    has_links = window.holds(con, "topology")
    if window.has_events(con) or not (has_samples or has_links):
        raise UsageError(
            f"{source.uri}: a trace cannot be attached, only a log of samples or links",
            hint="Import it without --attach; --job NAME groups the ranks of one job.",
        )
    offset_ns = _clock_offset_ns(to, source.uri, facts) if has_samples else None
    if offset_ns is not None:
        shift_ns = offset_ns + _between_origins(to, facts)
        _warn_of_other_time(con, to, shift_ns, facts, diagnostics)
    return {"attached_to": to.run_id, "clock_offset_ns": offset_ns}


def _between_origins(to: Attachment, facts: Mapping[str, Any]) -> int:
    """What lies between the two origins where both are wall clocks, as in the query."""
    if to.origin_unix_ns is None:
        return 0
    origin = facts.get("origin_unix_ns")
    if origin is None and facts.get("clock") == "local_time":
        origin = facts.get("source_origin_ns")
    return 0 if origin is None else int(origin) - to.origin_unix_ns


def _warn_of_other_time(
    con: duckdb.DuckDBPyConnection,
    to: Attachment,
    shift_ns: int,
    facts: Mapping[str, Any],
    diagnostics: Diagnostics,
) -> None:
    """Says so where no sample lies in the trace's window, and where the two lie."""
    if to.first_ns is None or to.end_ns is None:
        return
    within = "ts_ns BETWEEN ? AND ?"
    window_ns = [to.first_ns - shift_ns, to.end_ns - shift_ns]
    if con.execute(
        f"SELECT 1 FROM written.counter WHERE {within} LIMIT 1", window_ns
    ).fetchall():
        return
    first_ns = facts["first_ts_ns"] + shift_ns
    end_ns = first_ns + facts["span_ns"]
    around = first_ns < to.first_ns and to.end_ns < end_ns
    log, trace = (
        f"from {start / 1e9:,.3f} s to {end / 1e9:,.3f} s"
        for start, end in ((first_ns, end_ns), (to.first_ns, to.end_ns))
    )
    diagnostics.add(
        ELSEWHERE,
        "warning",
        "The trace lies between two samples of the log: log more often."
        if around
        else "The log has no sample in the trace's time: check --clock-offset, and "
        "attach it again with --force.",
        example=f"on the trace's clock the log is {log}, the trace {trace}",
    )


def _clock_offset_ns(to: Attachment, uri: str, facts: Mapping[str, Any]) -> int:
    """The stated offset; 0 where both wall clocks are known and none is stated."""
    clock = facts.get("clock")
    if clock in (None, "none"):
        raise UsageError(
            f"{uri}: the log says no times: it cannot be laid beside a trace",
            hint="Log timestamp (--query-gpu=timestamp,...), or the date and time of "
            "dmon and pmon (-o DT); or import it without --attach.",
        )
    if to.stated_ns is not None:
        return to.stated_ns
    if to.origin_unix_ns is None or clock in ("elapsed", "time_of_day"):
        whose = "the log" if to.origin_unix_ns is not None else f"run {to.run_id}"
        raise UsageError(
            f"{uri}: {whose} does not say its wall clock: how the two clocks relate is "
            "not known",
            hint=_NO_WALL_CLOCK,
        )
    if facts.get("origin_unix_ns") is None:
        raise UsageError(
            f"{uri}: the log's times bear no zone: how they relate to the clock of run "
            f"{to.run_id} is not known",
            hint=_WALL_CLOCK,
        )
    return 0
