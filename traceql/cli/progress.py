"""A progress bar on stderr: on a terminal only, gone when the work is done."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator

from traceql.render import printable

Progress = Callable[[str, float], None]


@contextlib.contextmanager
def progress_bar(quiet: bool = False) -> Iterator[Progress | None]:
    """Gives `progress(what, fraction)`, or None where nobody would see it."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        TaskID,
        TextColumn,
        TimeElapsedColumn,
    )

    bar = Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    tasks: dict[str, TaskID] = {}

    def progress(what: str, fraction: float) -> None:
        if what not in tasks:
            tasks[what] = bar.add_task(printable(what) or "all", total=1.0)
        # Of a thousand files only those at work have a line.
        bar.update(tasks[what], completed=fraction, visible=not what or fraction < 1)

    with bar:
        yield progress
