"""CSV (RFC 4180, LF): exact values, ISO times, NULL as an empty field.

An empty string is `""`, so that it is not NULL. A quoted field holds its line
breaks and quotes as they are; on a terminal control characters are escaped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO

import pyarrow as pa
import pyarrow.compute as pc

from traceql.render import View, printable
from traceql.render._cells import batches, join, text, write_text

if TYPE_CHECKING:
    from traceql.result import Result

EXTENSIONS = ("csv",)


def write(result: Result, stream: BinaryIO, view: View) -> None:
    """Writes a header and one record a row, a batch at a time."""
    header = [_fields(pa.array([name]), view) for name in result.columns]
    write_text(stream, join([join([*header], ","), ""], "\n"))
    # A row whose only field is empty would be a blank line, which readers skip.
    lone = len(result.columns) == 1
    for columns in batches(result.table):
        cells = [_fields(text(column), view) for column in columns]
        if lone:
            cells = [cells[0].fill_null('""')]
        write_text(stream, join([join([*cells], ","), ""], "\n"))


def _fields(strings: pa.Array, view: View) -> pa.Array:
    if view.terminal:
        plain = [None if s is None else printable(s) for s in strings.to_pylist()]
        strings = pa.array(plain, pa.string())
    special = pc.match_substring_regex(strings, r'[",\r\n]|^$|^\s|\s$')
    if not pc.any(special).as_py():
        return strings
    doubled = pc.replace_substring(strings, '"', '""')
    return pc.if_else(
        special, pc.binary_join_element_wise('"', doubled, '"', ""), strings
    )
