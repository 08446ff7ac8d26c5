"""What a refused file is, and what its owner should do instead."""

from __future__ import annotations

from traceql.errors import UnrecognisedInput
from traceql.importers import Head

_KINDS: tuple[tuple[bytes, str, str], ...] = (
    (
        b"NVIDIA Tegra Profiler Report",
        "a Nsight Systems report",
        "Export it first: nsys export --type sqlite FILE",
    ),
    (
        b"version https://git-lfs",
        "a git-LFS pointer, not the file itself",
        "Fetch the file: git lfs pull",
    ),
    (b"<!DOCTYPE", "an HTML page", "Download the file itself, not its page."),
    (b"<html", "an HTML page", "Download the file itself, not its page."),
    (b"PAR1", "a Parquet file", "TraceQL imports captures; query Parquet in DuckDB."),
    (b"QUADD", "a raw Nsight Systems stream", "Make a report of it: QdstrmImporter."),
)


def refusal(uri: str, head: Head) -> UnrecognisedInput:
    """The error for a file that no importer takes, naming its kind where known."""
    if not head.data:
        return UnrecognisedInput(f"{uri}: an empty file", hint="Record it again.")
    if head.name.endswith(".qdstrm"):
        return UnrecognisedInput(
            f"{uri}: a raw Nsight Systems stream",
            hint="Turn it into a report with QdstrmImporter, then export that.",
        )
    if head.data.startswith(b"SQLite format 3\x00"):
        tables = sorted(head.sqlite_tables)
        what = (
            f"a SQLite database that is no capture (tables: {', '.join(tables[:6])})"
            if tables
            else "a SQLite database that cannot be read: empty, cut or encrypted"
        )
        return UnrecognisedInput(
            f"{uri}: {what}", hint="Export a report: nsys export --type sqlite REPORT"
        )
    for magic, kind, advice in _KINDS:
        if head.data.lstrip()[: len(magic)].lower() == magic.lower():
            return UnrecognisedInput(f"{uri}: {kind}", hint=advice)
    return UnrecognisedInput(
        f"{uri}: nothing that TraceQL imports",
        hint="traceql doctor lists the formats; --format forces one.",
    )
