"""NDJSON: one JSON object a line; NULL is null, integers and decimals are exact.

NaN and the infinities, which JSON has no words for, are null.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO

import pyarrow as pa

from traceql.render._cells import batches, join, json_text, quoted, write_text

if TYPE_CHECKING:
    from traceql.render import View
    from traceql.result import Result

EXTENSIONS = ("ndjson", "jsonl")


def objects(columns: list[pa.Array], names: list[str]) -> pa.Array:
    """One JSON object a row, of the columns under their names."""
    cells: list[pa.Array | str] = []
    for at, (column, name) in enumerate(zip(columns, names, strict=True)):
        key = quoted(pa.array([name]))[0].as_py()
        cells += [f"{', ' if at else '{'}{key}: ", json_text(column)]
    return join([*cells, "}"], "")


def write(result: Result, stream: BinaryIO, view: View) -> None:
    """Writes one object a line, a batch at a time."""
    for columns in batches(result.table):
        write_text(stream, join([objects(columns, result.columns), ""], "\n"))
