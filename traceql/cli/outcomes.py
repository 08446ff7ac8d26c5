"""What is told of an import: one line of data, and remarks for stderr."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from traceql.render import printable

if TYPE_CHECKING:
    from traceql.ingest import Outcome


def line(outcome: Outcome) -> str:
    """Run id, status, rows, seconds, label and source, tab-separated."""
    run = outcome.run
    fields = [
        run.run_id if run else "",
        outcome.status,
        str(sum(run.rows.values()) if run else 0),
        f"{outcome.seconds:.2f}",
        (run.label if run else None) or "",
        outcome.source,
    ]
    return "\t".join(map(printable, fields))


def remarks(outcome: Outcome, quiet: bool = False) -> Iterator[str]:
    """Errors, and unless quiet the notes and findings of a warning or worse."""
    if outcome.error:
        message = str(outcome.error)
        where = "" if message.startswith(outcome.source) else f"{outcome.source}: "
        yield from f"error: {where}{message}".split("\n")
        if outcome.error.hint:
            yield f"hint: {outcome.error.hint}"
    if quiet:
        return
    kind = "warning" if outcome.status == "left_out" else "note"
    for text in outcome.notes:
        yield f"{kind}: {outcome.source}: {text}"
    for finding in outcome.findings:
        if finding.severity != "info":
            example = f" (e.g. {finding.example})" if finding.example else ""
            yield (
                f"{outcome.source}: {finding.severity.replace('_', ' ')}: "
                f"{finding.code} x{finding.count}: {finding.message}{example}"
            )


def summary(outcomes: Sequence[Outcome]) -> str:
    """How many sources became what: `3 imported, 1 present, 0 failed`."""
    counts = Counter(outcome.status for outcome in outcomes)
    return ", ".join(f"{counts[s]} {s}" for s in ("imported", "present", "failed"))
