"""Names and arguments whose bytes are not UTF-8.

Python carries such bytes as lone surrogates; neither Arrow nor DuckDB takes those.
"""

from __future__ import annotations

from traceql.errors import UsageError


def is_utf8(text: str) -> bool:
    """Whether the text can be written as UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def require_utf8(text: str, what: str) -> None:
    """Refuses a text that cannot be written as UTF-8.

    Args:
        text: The text.
        what: What it is, for the message: `the label`.

    Raises:
        UsageError: It cannot.
    """
    if not is_utf8(text):
        raise UsageError(f"{what} is not UTF-8: {text!r}", hint="Write it in UTF-8.")
