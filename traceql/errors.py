"""One tree of errors: each says what, where and what to do next, and how to exit.

Invariant: whatever a user can get wrong ends in a `TraceQLError`; the command
line prints its message and hint on stderr and leaves with its exit code. Any
other exception is a defect of TraceQL.
"""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """What the process tells its caller."""

    OK = 0
    FAILURE = 1
    USAGE = 2
    NOT_FOUND = 3
    DATA_LOSS = 4
    REGRESSION = 5
    INTERRUPTED = 130


class TraceQLError(Exception):
    """Base of all errors that a user can meet.

    Attributes:
        exit_code: The process's exit code when this error ends it.
        hint: One sentence on what to do next, or None.
    """

    exit_code: ExitCode = ExitCode.FAILURE

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint


class UsageError(TraceQLError):
    """The call itself is wrong: a flag, a parameter, a name."""

    exit_code = ExitCode.USAGE


class UnrecognisedInput(TraceQLError):
    """The source is missing, or is nothing that TraceQL imports."""

    exit_code = ExitCode.NOT_FOUND


class NoSuchRun(TraceQLError):
    """A selector names no run of the store."""

    exit_code = ExitCode.NOT_FOUND


class DataLoss(TraceQLError):
    """The import lost data and `--strict` forbids that."""

    exit_code = ExitCode.DATA_LOSS


class ImportFailed(TraceQLError):
    """A recognised source could not be imported; no run was written."""


class StoreError(TraceQLError):
    """The store cannot be read or written."""


class QueryError(TraceQLError):
    """A query or SQL statement failed, or breaks the rules of a query pack."""
