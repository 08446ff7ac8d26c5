"""Nsight Systems reports, `.nsys-rep` and `.qdrep`: read through the vendor's nsys.

The container is the vendor's own and changes with its versions; a report says in its
first bytes which nsys wrote it, and an nsys reads its own reports and older ones.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from traceql.errors import ImportFailed
from traceql.importers import Context, Head, _nsys, nsight_sqlite

if TYPE_CHECKING:
    import duckdb

    from traceql.importers._nsys import Nsys

MAGIC = b"NVIDIA Tegra Profiler Report "
# `1.` until 2023.3, then the version with `@` for dots: `2025@5@1@121-255136380782v0.`
_VERSION = re.compile(rb"(\d{4}@\d+@[\d@]*)")
_LAST_TO_CONCEAL = "2023.3.1"
# A slow machine exports 2 MB of report a second.
_LIMIT_S, _BYTES_PER_S = 300.0, 200_000


class NsightReport:
    """Importer of reports, by way of nsys and the SQLite export."""

    name = "nsight-report"
    # Its answers are those of the mapping that it shares.
    version = nsight_sqlite.IMPORTER.version
    title = "Nsight Systems report (.nsys-rep, .qdrep), through an installed nsys"

    def sniff(self, head: Head) -> float:
        """Sure by the first bytes."""
        return 0.95 if head.data.startswith(MAGIC) else 0.0

    def read(
        self, path: Path, con: duckdb.DuckDBPyConnection, ctx: Context
    ) -> dict[str, Any]:
        """Imports one report; see `Importer.read`.

        Raises:
            ImportFailed: There is no nsys that reads it, or nsys failed.
        """
        written_by = version_of(path)
        able = _able(path, written_by, _nsys.installed(ctx.nsys))
        for nsys in able:
            try:
                return self._read_with(nsys, path, con, ctx) | {
                    # The export names its own maker, not the capture's.
                    "tool_version": written_by
                }
            except _nsys.TooOld as error:
                written_by = written_by or error.version
        raise _too_old(path, written_by, able)

    def _read_with(
        self, nsys: Nsys, path: Path, con: duckdb.DuckDBPyConnection, ctx: Context
    ) -> dict[str, Any]:
        limit_s = ctx.nsys_timeout_s or _LIMIT_S + path.stat().st_size / _BYTES_PER_S
        exporting = partial(_share, ctx.progress, 0.0)
        importing = replace(ctx, progress=partial(_share, ctx.progress, 0.5))
        with _nsys.exported(nsys, path, limit_s, exporting) as database:
            facts = nsight_sqlite.IMPORTER.read(database, con, importing)
        ctx.diagnostics.add(
            "read_through_nsys",
            "info",
            "The report was exported by an nsys of this machine, then imported.",
            example=f"nsys {nsys.version}",
        )
        return facts


IMPORTER = NsightReport()


def as_sqlite(report: Path, stack: ExitStack, ctx: Context) -> Path:
    """The SQLite export of a report, which lasts as long as the stack.

    Raises:
        ImportFailed: There is no nsys that reads it, or nsys failed.
    """
    written_by = version_of(report)
    able = _able(report, written_by, _nsys.installed(ctx.nsys))
    limit_s = ctx.nsys_timeout_s or _LIMIT_S + report.stat().st_size / _BYTES_PER_S
    exporting = partial(_share, ctx.progress, 0.0)
    for nsys in able:
        try:
            return stack.enter_context(_nsys.exported(nsys, report, limit_s, exporting))
        except _nsys.TooOld as error:
            written_by = written_by or error.version
    raise _too_old(report, written_by, able)


def version_of(report: Path) -> str | None:
    """The version of the nsys that wrote a report; None where it does not say."""
    with report.open("rb") as file:
        head = file.read(64)
    version = _VERSION.match(head.removeprefix(MAGIC))
    return version[1].decode().replace("@", ".").rstrip(".") if version else None


def _share(progress: Callable[[float], None], before: float, done: float) -> None:
    """Progress of one half of the work: the export, or the import."""
    progress(before + done / 2)


def _able(path: Path, written_by: str | None, found: list[Nsys]) -> list[Nsys]:
    """Of the installed nsys those that read the report, best first."""
    able = [nsys for nsys in found if nsys.reads(written_by)]
    if able:
        return able
    if found:
        raise _too_old(path, written_by, found)
    raise ImportFailed(
        f"{path}: a Nsight Systems report ({_maker(written_by)}), and no nsys was "
        "found to read it",
        hint=f"Install Nsight Systems{_at_least(written_by)}, or name an nsys with "
        f"--nsys or {_nsys.VARIABLE}; or where there is one, {_nsys.by_hand(path)}",
    )


def _too_old(path: Path, written_by: str | None, found: list[Nsys]) -> ImportFailed:
    newest = max(found, key=lambda nsys: _nsys.release(nsys.version))
    return ImportFailed(
        f"{path}: a Nsight Systems report ({_maker(written_by)}) that is newer than "
        f"the nsys installed here, {newest.version} ({newest.path})",
        hint=f"Install Nsight Systems{_at_least(written_by)}, or name a newer nsys "
        f"with --nsys or {_nsys.VARIABLE}; or where there is one, "
        f"{_nsys.by_hand(path)}",
    )


def _maker(version: str | None) -> str:
    return f"of nsys {version or f'{_LAST_TO_CONCEAL} or older'}"


def _at_least(version: str | None) -> str:
    return f" {'.'.join(version.split('.')[:3])} or newer" if version else ""
