r"""TSV for cut, awk and sort: exact values, never a quote, one row a line.

A tab, line break or backslash in a value is `\t`, `\n`, `\r` or `\\`; NULL is an
empty field.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO

import pyarrow as pa
import pyarrow.compute as pc

from traceql.render import View, printable
from traceql.render._cells import batches, join, text, write_text

if TYPE_CHECKING:
    from traceql.result import Result

EXTENSIONS = ("tsv", "tab")

_ESCAPES = (("\\", "\\\\"), ("\t", "\\t"), ("\n", "\\n"), ("\r", "\\r"))


def write(result: Result, stream: BinaryIO, view: View) -> None:
    """Writes a header and one line a row, a batch at a time."""
    header = [_escaped(pa.array([name]), view) for name in result.columns]
    write_text(stream, join([join([*header], "\t"), ""], "\n"))
    for columns in batches(result.table):
        cells = [_escaped(text(column), view) for column in columns]
        write_text(stream, join([join([*cells], "\t"), ""], "\n"))


def _escaped(strings: pa.Array, view: View) -> pa.Array:
    if pc.any(pc.match_substring_regex(strings, r"[\\\t\n\r]")).as_py():
        for char, escape in _ESCAPES:
            strings = pc.replace_substring(strings, char, escape)
    if view.terminal:
        plain = [None if s is None else printable(s) for s in strings.to_pylist()]
        strings = pa.array(plain, pa.string())
    return strings
