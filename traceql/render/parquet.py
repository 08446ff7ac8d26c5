"""Parquet (zstd): the result with its types; intervals and unions as text."""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO

import pyarrow.parquet as pq

from traceql.errors import UsageError
from traceql.render._cells import storable

if TYPE_CHECKING:
    from traceql.render import View
    from traceql.result import Result

EXTENSIONS = ("parquet", "pq")


def write(result: Result, stream: BinaryIO, view: View) -> None:
    """Writes one Parquet file; a terminal is refused.

    Raises:
        UsageError: The stream is a terminal.
    """
    if view.terminal:
        raise UsageError(
            "Parquet is binary and standard output is a terminal",
            hint="give -o FILE.parquet, or redirect the output",
        )
    pq.write_table(storable(result.table), stream, compression="zstd")
