"""Reports: runs as one HTML file that opens from disk, offline.

Invariant: every figure of a report is the answer to a query whose SQL stands beside
it; the same store content gives the same bytes.
"""

from __future__ import annotations

import contextlib
import os
import re
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from traceql.errors import StoreError, UsageError
from traceql.report.page import render
from traceql.session import open_session

if TYPE_CHECKING:
    from traceql.session import Session
    from traceql.store import Run, Store

__all__ = ["render_report", "write_report"]


def write_report(
    store: Store, runs: Sequence[Run], path: Path | None = None, **limits: Any
) -> Path:
    """Writes a report, whole or not at all.

    Args:
        store: The store.
        runs: What to report, one after the other.
        path: The file; in the current folder and named after the first run if None.
        limits: `memory_limit` and `threads` of `traceql.session.open_session`.

    Returns:
        The file's path.

    Raises:
        UsageError: No run is given.
        StoreError: The file cannot be written.
    """
    if not runs:
        raise UsageError("a report needs a run", hint="traceql runs lists them.")
    target = path or Path(f"traceql-report-{_slug(runs[0])}.html")
    # Told before the work, not after it.
    if target.is_dir() or not target.parent.is_dir():
        what = "is a folder" if target.is_dir() else "lies in a folder that is missing"
        raise StoreError(f"{target} {what}", hint="Name a file: -o report.html")
    session = open_session(store, runs, sandbox=True, **limits)
    try:
        text = render_report(session)
    finally:
        session.close()
    _write(target, text)
    return target


def render_report(session: Session) -> str:
    """The report about a session's runs as HTML text."""
    return render(session)


def _slug(run: Run) -> str:
    words = re.sub(r"[^\w.-]+", "-", run.label or "").strip("-.")
    return words[:80] or run.run_id


def _write(target: Path, text: str) -> None:
    """Replaces the file in one step: a reader sees the old one or the new one."""
    draft: str | None = None
    try:
        handle, draft = tempfile.mkstemp(".tmp", f".{target.name}.", target.parent)
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
        # mkstemp makes a private file; a report has the rights of any other file.
        mask = os.umask(0)
        os.umask(mask)
        Path(draft).chmod(0o666 & ~mask)
        Path(draft).replace(target)
    except OSError as error:
        if draft is not None:
            with contextlib.suppress(OSError):
                Path(draft).unlink()
        raise StoreError(
            f"{target} cannot be written: {error.strerror or error}",
            hint="Name another file: -o report.html",
        ) from error
