"""The built-in prompt: SQL up to a `;`, dot commands, results as tables.

Invariant: nothing typed ends the prompt but .quit and Ctrl-D; the prompt itself
never reaches a redirected stdout.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from traceql.cli.catalogue import catalogue_result, page
from traceql.cli.options import Output, note
from traceql.errors import TraceQLError
from traceql.queries import find

if TYPE_CHECKING:
    from traceql.session import Session

_HELP = """\
SQL ends with ; and may have several lines.
.tables        tables and views with their rows
.queries       the queries; call one as FROM kernel_totals(top := 10);
.schema NAME   columns of a table or view, or the page of a query
.help .quit    this, and leave (so does Ctrl-D)"""

_TABLES = """\
SELECT table_name, if(table_type = 'VIEW', 'view', 'table') AS kind
FROM information_schema.tables WHERE table_schema = 'main' ORDER BY table_name"""


# Comments, strings and quoted names that have their end.
_CLOSED = re.compile(
    r"""--[^\n]*|/\*.*?\*/|'(?:[^']|'')*'|"(?:[^"]|"")*\"""", re.DOTALL
)


class Prompt:
    """Reads statements and shows their results until the user leaves."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.output = Output(None, None)

    def run(self) -> int:
        """Runs until .quit or the end of input; returns the exit code."""
        if sys.stdin.isatty():
            note("traceql: .help for help, ; ends a statement, Ctrl-D leaves")
        with _history():
            text = ""
            while True:
                try:
                    line = _read("   ... " if text else "traceql> ")
                    text = f"{text}\n{line}" if text else line
                    if text.lstrip().startswith("."):
                        if self._dot(text.strip()):
                            return 0
                        text = ""
                    elif _complete(text):
                        statement, text = text, ""
                        self._show(statement)
                except KeyboardInterrupt:
                    text = ""
                    note("")
                except EOFError:
                    if text.strip():
                        self._show(text)
                    return 0

    def _show(self, statement: str) -> None:
        if not _CLOSED.sub("x", statement).strip(" \n\t;"):
            return
        with _told():
            session = self.session
            for one in session.statements(statement):
                self.output.show(session.sql(one.text))

    def _dot(self, line: str) -> bool:
        """Runs a dot command; True when it is to leave."""
        name, _, rest = line.rstrip(";").partition(" ")
        rest = rest.strip()
        with _told():
            match name:
                case ".quit" | ".exit":
                    return True
                case ".help":
                    note_lines(_HELP)
                case ".tables":
                    self.output.show(self.session.sql(_TABLES))
                case ".queries":
                    self.output.show(catalogue_result(self.session.catalog))
                case ".schema" if rest:
                    self._schema(rest)
                case _:
                    note(f"unknown command {line}; .help lists what there is")
        return False

    def _schema(self, name: str) -> None:
        tables = self.session.sql(_TABLES).table.column("table_name").to_pylist()
        if name in tables:
            self.output.show(self.session.sql(f'DESCRIBE "{name}"'))
        else:
            sys.stdout.write(page(find(self.session.catalog, name)) + "\n")


def note_lines(text: str) -> None:
    """Shows lines that are no data."""
    for line in text.splitlines():
        note(line)


@contextlib.contextmanager
def _told() -> Iterator[None]:
    """Errors of a statement are shown, and the prompt goes on."""
    import duckdb

    try:
        yield
    except KeyboardInterrupt:
        note("interrupted")
    except (TraceQLError, duckdb.Error) as error:
        note_lines(f"error: {error}")
        if hint := getattr(error, "hint", None):
            note(f"hint: {hint}")


def _complete(text: str) -> bool:
    # A quote that is left has no end yet: its ; is part of the text in it.
    rest = _CLOSED.sub(" ", text)
    return rest.rstrip().endswith(";") and not set(rest) & {"'", '"'}


def _read(prompt: str) -> str:
    if not sys.stdin.isatty():
        return input()
    if sys.stdout.isatty():
        return input(prompt)
    sys.stderr.write(prompt)
    sys.stderr.flush()
    return input()


@contextlib.contextmanager
def _history() -> Iterator[None]:
    """Line editing with a history that lasts, where there is a terminal."""
    try:
        import readline
    except ImportError:
        readline = None  # type: ignore[assignment]
    if readline is None or not sys.stdin.isatty():
        yield
        return
    home = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state")
    file = home / "traceql" / "history"
    with contextlib.suppress(OSError):
        readline.read_history_file(file)
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            file.parent.mkdir(parents=True, exist_ok=True)
            readline.set_history_length(1000)
            readline.write_history_file(file)
