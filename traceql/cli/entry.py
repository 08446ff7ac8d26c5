"""The root command, and the one place where errors become messages and exit codes."""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import sys

import click

from traceql import __version__
from traceql.cli.lazy import LazyGroup
from traceql.errors import ExitCode, QueryError, TraceQLError
from traceql.render import printable

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EIO)

root = click.version_option(__version__, message="%(prog)s %(version)s")(
    LazyGroup(
        "traceql.cli",
        help="GPU profiler traces in one SQL store: import, query, report, offline.",
    )
)


def run(args: list[str]) -> int:
    """Runs one command line and returns the process's exit code."""
    try:
        code = root.main(args, prog_name="traceql", standalone_mode=False)
        sys.stdout.flush()
        return code if isinstance(code, int) else ExitCode.OK
    except TraceQLError as error:
        return _fail(error)
    except click.ClickException as error:
        ctx = error.ctx if isinstance(error, click.UsageError) else None
        hint = f"{ctx.command_path} --help says more" if ctx else None
        return _complain(error.format_message(), hint, error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        return ExitCode.INTERRUPTED
    except OSError as error:
        return _fail_in_output(error)
    except Exception as error:
        return _fail_in_duckdb(error)


def _fail_in_output(error: OSError) -> int:
    if error.errno not in (errno.EPIPE, *_FULL):
        raise error
    _drop_stdout()
    if error.errno == errno.EPIPE:
        # What a shell tells of a program whose reader has left, as `head` does.
        return 128 + signal.SIGPIPE
    _complain(f"cannot write: {error.strerror}", None, ExitCode.FAILURE)
    return ExitCode.FAILURE


def _drop_stdout() -> None:
    """What is still to be flushed at exit goes nowhere, and nobody complains."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _fail_in_duckdb(error: Exception) -> int:
    if isinstance(error, RuntimeError) and "Query interrupted" in str(error):
        return ExitCode.INTERRUPTED  # DuckDB met the Ctrl-C itself
    duckdb = sys.modules.get("duckdb")
    if duckdb is None or not isinstance(error, duckdb.Error):
        raise error
    if isinstance(error, duckdb.InterruptException):
        return ExitCode.INTERRUPTED
    hint = None
    if isinstance(error, duckdb.OutOfMemoryException):
        hint = "give more with --memory-limit, or choose fewer runs with --run"
    return _fail(QueryError(str(error), hint=hint))


def _fail(error: TraceQLError) -> int:
    return _complain(str(error), error.hint, error.exit_code)


def _complain(message: str, hint: str | None, code: int) -> int:
    # DuckDB's messages have lines: they show where in the SQL the error is.
    lines = [printable(line) for line in message.split("\n")]
    click.echo("traceql: error: " + "\n".join(lines), err=True)
    if hint:
        click.echo("hint: " + printable(hint), err=True)
    return int(code)
