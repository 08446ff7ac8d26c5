"""Markdown: a pipe table for issues and reviews; numbers as in the table."""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING, BinaryIO

from traceql.render._shape import shape

if TYPE_CHECKING:
    from traceql.render import View
    from traceql.result import Result

EXTENSIONS = ("md", "markdown")

# An underscore between letters is no emphasis: names of columns stay readable.
_SPECIAL = re.compile(r"[\\|*`\[\]~#]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])")


def write(result: Result, stream: BinaryIO, view: View) -> None:
    """Writes the header, the sides and one line a row."""
    shown = shape(result)
    lines = [
        [_cell(column.label) for column in shown],
        ["---:" if column.right else "---" for column in shown],
    ]
    stream.writelines(_line(cells) for cells in lines)
    rows = zip(*(column.cells for column in shown), strict=True)
    stream.writelines(_line([_cell(cell) for cell in row]) for row in rows)


def _line(cells: list[str]) -> bytes:
    return f"| {' | '.join(cells)} |\n".encode()


def _cell(value: str) -> str:
    return html.escape(_SPECIAL.sub(r"\\\g<0>", value), quote=False)
