"""JSON: one array of objects, one object a line; values as in NDJSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO

from traceql.render._cells import batches, join, write_text
from traceql.render.ndjson import objects

if TYPE_CHECKING:
    from traceql.render import View
    from traceql.result import Result

EXTENSIONS = ("json",)


def write(result: Result, stream: BinaryIO, view: View) -> None:
    """Writes the array, a batch at a time."""
    stream.write(b"[")
    for at, columns in enumerate(batches(result.table)):
        lines = objects(columns, result.columns)
        first, rest = lines.slice(0, 1), lines.slice(1)
        write_text(stream, join(["\n" if at == 0 else ",\n", first], ""))
        write_text(stream, join([",\n", rest], ""))
    stream.write(b"\n]\n")
