"""Options that commands share, and what is done with them.

Invariant: an option means the same in every command that has it.
"""

from __future__ import annotations

import contextlib
import functools
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import click
from click.shell_completion import CompletionItem

from traceql.errors import UsageError
from traceql.render import View, format_of, formats, printable, render

if TYPE_CHECKING:
    from traceql.result import Result
    from traceql.session import Session
    from traceql.store import Run, Store

Command = Callable[..., Any]


def note(text: str) -> None:
    """Tells the user something that is not data."""
    click.echo(printable(text), err=True)


def pairs(ctx: click.Context, param: click.Parameter, given: Any) -> dict[str, str]:
    """Callback of options of the form `key=value`."""
    found: dict[str, str] = {}
    for text in given:
        key, equals, value = text.partition("=")
        if not equals or not key:
            raise click.BadParameter(
                f"{text!r} is not of the form key=value", ctx, param
            )
        found[key] = value
    return found


def listed(
    ctx: click.Context, param: click.Parameter, given: str | None
) -> tuple[str, ...]:
    """Callback of options of the form `a,b,c`."""
    return () if given is None else tuple(given.split(","))


def complete_runs(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Run ids with their labels, labels, and the fixed selectors."""
    items = [CompletionItem(word) for word in ("@latest", "@prev", "all")]
    # A shell that is completing has no place to show an error.
    with contextlib.suppress(Exception):
        from traceql.store import open_store

        for run in open_store(ctx.params.get("store")).runs():
            items.append(CompletionItem(run.run_id, help=printable(run.label or "")))
            if run.label:
                items.append(CompletionItem(run.label))
    return [item for item in items if str(item.value).startswith(incomplete)]


def complete_queries(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Names of the public queries, with their titles."""
    with contextlib.suppress(Exception):
        from traceql.queries import discover

        return [
            CompletionItem(query.name, help=query.title)
            for query in discover().values()
            if not query.private and query.name.startswith(incomplete)
        ]
    return []


store_option = click.option(
    "--store",
    metavar="PATH",
    help="The store: a folder or URL. Default: $TRACEQL_STORE, else the nearest "
    ".traceql upwards, else ./.traceql.",
)


queries_option = click.option(
    "--queries",
    "query_dirs",
    multiple=True,
    metavar="DIR",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="A folder of your own queries; may be repeated.",
)
run_option = click.option(
    "--run",
    "selectors",
    multiple=True,
    metavar="RUN",
    shell_complete=complete_runs,
    help="Run id or its beginning, label, @latest, @prev, tag:k=v or all; may be "
    "repeated. Default: @latest.",
)


def chosen_runs(store: Store, selectors: tuple[str, ...]) -> list[Run]:
    """The runs that --run names, or the latest; of several that one is announced."""
    runs = store.runs(selectors or ("all",))
    for problem in store.problems:
        note(f"warning: {problem.message}")
    if not runs:
        return [store.run("@latest")]  # says what is missing
    if selectors:
        return runs
    if len(runs) > 1:
        name = runs[0].label or runs[0].run_id
        note(f"note: {name} is the latest of {len(runs)} runs; --run chooses others")
    return runs[:1]


@dataclass(frozen=True)
class Output:
    """Where a result goes and in which format."""

    format: str | None
    path: str | None

    @property
    def asked(self) -> bool:
        """Whether the user named a format or a file: then nothing is no answer."""
        return bool(self.format or self.path)

    def show(self, result: Result) -> None:
        """Renders `result`; its note and what was left out go to stderr."""
        remark = self._to_file(result) if self.path else self._to_stdout(result)
        for text in (result.note, remark):
            if text:
                note(text)

    def show_each(self, session: Session, text: str) -> None:
        """Runs statements of SQL and shows what each that has an answer answers.

        Raises:
            UsageError: There is no statement, or several answer where one fits.
            QueryError: DuckDB refuses one.
        """
        statements = session.statements(text)
        if not statements:
            raise UsageError("the SQL holds no statement")
        answering = [s for s in statements if s.answers] or statements[-1:]
        if self.asked and len(answering) > 1:
            raise UsageError(
                f"{len(answering)} statements have an answer: --format and -o hold one",
                hint="Give one SELECT, or leave out --format and -o.",
            )
        for statement in statements:
            result = session.sql(statement.text)
            if statement in answering:
                self.show(result)
                if statement is not answering[-1]:
                    click.echo()

    def _to_stdout(self, result: Result) -> str | None:
        stream = sys.stdout.buffer
        terminal = sys.stdout.isatty()
        # COLUMNS is no guide: readline leaves it behind in the environment.
        view = View(
            width=_columns(stream.fileno()) if terminal else None,
            terminal=terminal,
            color=terminal and "NO_COLOR" not in os.environ,
        )
        remark = render(result, self.format or "table", stream, view)
        stream.flush()
        return remark

    def _to_file(self, result: Result) -> str | None:
        path = Path(self.path or "")
        format = self.format or format_of(path)
        try:
            with _replacing(path) as stream:
                return render(result, format, stream)
        except OSError as error:
            raise UsageError(
                f"cannot write {path}: {error.strerror or error}"
            ) from error


def _columns(terminal: int) -> int:
    return os.get_terminal_size(terminal).columns or 80  # 0: it does not know


@contextlib.contextmanager
def _replacing(path: Path) -> Iterator[BinaryIO]:
    """A file that appears under its name when it is whole."""
    if path.exists() and not path.is_file():
        with path.open("wb") as stream:  # a device or a pipe
            yield stream
        return
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    draft = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            yield stream
        mask = os.umask(0)
        os.umask(mask)
        draft.chmod(0o666 & ~mask)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def output_options(command: Command) -> Command:
    """--format and -o; the command gets `output: Output`."""

    @click.option(
        "--format",
        type=click.Choice(formats()),
        help="Output format. Default: what -o's extension says, else table.",
    )
    @click.option("-o", "--output", metavar="FILE", help="Write to FILE.")
    @functools.wraps(command)
    def with_output(format: str | None, output: str | None, **rest: Any) -> Any:
        if output and not format:
            format = format_of(output)  # fail before the work, not after it
        return command(output=Output(format, output), **rest)

    return with_output


@dataclass(frozen=True)
class Reading:
    """Which runs of which store a command reads, and with what means."""

    store: str | None
    selectors: tuple[str, ...]
    query_dirs: tuple[Path, ...]
    limits: dict[str, Any]

    def open(self) -> Session:
        """A session over the chosen runs; says so when it chose the latest itself."""
        from traceql.session import open_session
        from traceql.store import open_store

        store = open_store(self.store)
        runs = chosen_runs(store, self.selectors)
        return open_session(store, runs, query_dirs=self.query_dirs, **self.limits)


def limit_options(command: Command) -> Command:
    """--memory-limit and --threads; the command gets `limits`, of those given."""

    @click.option("--memory-limit", metavar="SIZE", help="DuckDB's memory, as 4GB.")
    @click.option("--threads", type=click.IntRange(min=1), help="DuckDB's threads.")
    @functools.wraps(command)
    def with_limits(memory_limit: str | None, threads: int | None, **rest: Any) -> Any:
        given = {"memory_limit": memory_limit, "threads": threads}
        limits = {name: value for name, value in given.items() if value is not None}
        return command(limits=limits, **rest)

    return with_limits


def reading_options(command: Command) -> Command:
    """--store, --run, --queries and the limits; the command gets `reading: Reading`."""

    @store_option
    @run_option
    @queries_option
    @limit_options
    @functools.wraps(command)
    def with_reading(
        store: str | None,
        selectors: tuple[str, ...],
        query_dirs: tuple[Path, ...],
        limits: dict[str, Any],
        **rest: Any,
    ) -> Any:
        reading = Reading(store, selectors, query_dirs, limits)
        return command(reading=reading, **rest)

    return with_reading
