"""From a file to staged events, with what was wrong with it said.

Invariant: whatever was lost or mended is a finding; what is no trace is refused.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from traceql.errors import UnrecognisedInput
from traceql.importers._trace_event.layout import BOMS, Layout, locate
from traceql.importers._trace_event.staging import Stager
from traceql.importers._trace_event.tolerant import Damage

if TYPE_CHECKING:
    import duckdb

    from traceql.diagnostics import Diagnostics, Severity
    from traceql.importers import Context

_BLOCK = 1 << 22
_MENDED = {
    "bareword": "Words that are no JSON stand as values: N/A and the like are NULL, "
    "others are kept as text.",
    "control_character": "Raw control characters in strings: kept, escaped.",
    "duplicate_key": "Events have a key twice: the last one counts.",
    "extra_comma": "Commas too many: left out.",
    "hex_number": "Hexadecimal numbers, which JSON has not: kept as text.",
    "invalid_utf8": "Bytes that are no UTF-8: each is the character U+FFFD.",
    "lone_backslash": "Backslashes that escape nothing: kept as they are.",
    "lone_surrogate": "Halves of surrogate pairs: each is the character U+FFFD.",
    "missing_comma": "Commas are missing: put in.",
    "not_finite": "NaN and infinities where JSON allows none: NULL.",
    "trailing_comma": "A comma after the last event: left out.",
}
_HARMLESS = frozenset({"trailing_comma", "extra_comma"})


def stage(
    path: Path, con: duckdb.DuckDBPyConnection, ctx: Context, *, share: float
) -> Layout:
    """Stages the events of a file and reports its damage.

    Raises:
        UnrecognisedInput: The file has no array of events.
    """
    with tempfile.TemporaryDirectory(prefix="traceql-") as folder:
        readable = _as_utf8(path, Path(folder), ctx.diagnostics)
        layout = locate(readable)
        if layout is None:
            raise UnrecognisedInput(
                f"{path.name}: no array of trace events",
                hint="A trace is a JSON array of events, or an object with "
                'the key "traceEvents".',
            )
        stager = Stager(con, readable, layout, lambda done: ctx.progress(share * done))
        stager.run()
    if layout.header_damaged:
        ctx.diagnostics.add(
            "damaged_header",
            "warning",
            "What stands before the events is no JSON: only its plain keys are known.",
        )
    _report(stager.damage, layout, ctx.diagnostics)
    return layout


def _as_utf8(path: Path, folder: Path, diagnostics: Diagnostics) -> Path:
    """The file, or a copy in UTF-8 of one in UTF-16."""
    with path.open("rb") as file:
        if file.read(2) not in BOMS:
            return path
    diagnostics.add("utf16", "info", "The file is UTF-16, not UTF-8: read as such.")
    copy = folder / path.name
    with (
        path.open(encoding="utf-16", errors="replace", newline="") as text,
        copy.open("w", encoding="utf-8", newline="") as target,
    ):
        while block := text.read(_BLOCK):
            target.write(block)
    return copy


def _report(damage: Damage, layout: Layout, diagnostics: Diagnostics) -> None:
    for kind, count in sorted(damage.mended.items()):
        severity: Severity = "info" if kind in _HARMLESS else "warning"
        diagnostics.add(kind, severity, _MENDED[kind], count=count)
    diagnostics.add(
        "damaged_region",
        "data_loss",
        "Places at which the file is no JSON: what stood there is lost; how many "
        "events that were cannot be known.",
        count=damage.regions,
        example=damage.example,
    )
    diagnostics.add(
        "damaged_bytes",
        "info",
        "Bytes in the damaged places.",
        count=damage.lost_bytes,
    )
    diagnostics.add(
        "joined_documents",
        "warning",
        "Further documents follow the first in the same file: their events are "
        "imported too, their headers are not.",
        count=damage.joined,
    )
    diagnostics.add(
        "text_after_end",
        "data_loss",
        "Text follows the end of the trace: it is left out.",
        count=1 if damage.after_end else 0,
        example=damage.after_end,
    )
    if damage.cut_bytes is not None:
        diagnostics.add(
            "cut_file",
            "data_loss",
            "The file ends inside an event or its trailer: all complete events are "
            "imported, whatever followed is lost.",
            example=f"{damage.cut_bytes} bytes of an incomplete event",
        )
    elif damage.unclosed and layout.root == "object":
        diagnostics.add(
            "cut_file",
            "data_loss",
            "The file ends without closing its events: all complete events are "
            "imported, whatever followed is lost.",
        )
    elif damage.unclosed:
        diagnostics.add(
            "unclosed_array",
            "info",
            "The array of events is not closed, which its format allows.",
        )
