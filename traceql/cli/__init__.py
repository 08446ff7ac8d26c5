"""The command line: one command a file, each parsing, calling, rendering.

Invariant: stdout carries data and nothing else; notes, progress and errors go to
stderr; a user's mistake never ends in a traceback. A module here is a command when
it has a `command`; what the commands need is imported when they are called.
"""

from __future__ import annotations

import io
import sys


def main() -> None:
    """Runs the command line and exits with its code."""
    if sys.argv[1:] == ["--version"]:
        # In a blink: click alone takes longer to import than Python to start.
        from traceql import __version__

        sys.stdout.write(f"traceql {__version__}\n")
        return
    try:
        from traceql.cli.entry import run

        if isinstance(sys.stdout, io.TextIOWrapper):
            # A terminal whose encoding lacks a character shows its escape.
            sys.stdout.reconfigure(errors="backslashreplace")
        sys.exit(run(sys.argv[1:]))
    except KeyboardInterrupt:
        # Even while modules are still being loaded.
        sys.exit(130)
