"""Table for the eye: the first rows, fitted to the terminal, numbers never cut.

Long text is cut in its middle, since template names of kernels differ at both
ends. What does not fit is left out and said.
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, BinaryIO

from rich import box
from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.table import Table
from rich.text import Text

from traceql.render._shape import NULL, ShownColumn, shape

if TYPE_CHECKING:
    from traceql.render import View
    from traceql.result import Result

EXTENSIONS = ("txt",)

ROWS = 100
_TEXT_WIDTH = 80
_TEXT_WIDTH_MIN = 12
_GAP = 2


def write(result: Result, stream: BinaryIO, view: View) -> str | None:
    """Writes at most `ROWS` rows and returns what was left out."""
    columns = shape(result, limit=ROWS)
    if not columns:
        return None  # a statement without an answer
    shown, widths = _fit(columns, view.width)
    # The box's own divider is one column of the gap.
    grid = Table(
        box=box.SIMPLE_HEAD,
        show_edge=False,
        pad_edge=False,
        padding=(0, _GAP - 1, 0, 0),
    )
    for column, width in zip(shown, widths, strict=True):
        label = Text("\n".join(_cut(p, width) for p in (column.name, column.unit) if p))
        grid.add_column(
            label,
            justify="right" if column.right else "left",
            no_wrap=True,
            width=width,
        )
    for row in zip(*(column.cells for column in shown), strict=True):
        grid.add_row(
            *(
                Text(_cut(cell, width), style="dim" if cell == NULL else "")
                for cell, width in zip(row, widths, strict=True)
            )
        )
    page = io.StringIO()
    console = Console(
        file=page,
        width=sum(widths) + _GAP * len(widths),
        force_terminal=view.color,
        color_system="standard" if view.color else None,
        no_color=not view.color,
        legacy_windows=False,
    )
    console.print(grid)
    lines = (line.rstrip() for line in page.getvalue().rstrip("\n").split("\n"))
    stream.write(("\n".join(lines) + "\n").encode())
    return _remark(result, columns, shown)


def _fit(
    columns: list[ShownColumn], width: int | None
) -> tuple[list[ShownColumn], list[int]]:
    """The columns that fit into `width`, and how wide each is."""
    natural = [
        max(map(cell_len, (c.name, c.unit, *c.cells)), default=1) for c in columns
    ]
    widths = [
        size if column.right else min(size, _TEXT_WIDTH)
        for column, size in zip(columns, natural, strict=True)
    ]
    if width is None:
        return columns, widths
    texts = [at for at, column in enumerate(columns) if not column.right]
    while sum(widths) + _GAP * len(widths) > width and texts:
        widest = max(texts, key=widths.__getitem__)
        if widths[widest] <= _TEXT_WIDTH_MIN:
            break
        widths[widest] -= 1
    kept = len(columns)
    while kept > 1 and sum(widths[:kept]) + _GAP * kept > width:
        kept -= 1
    return columns[:kept], widths[:kept]


def _cut(cell: str, width: int) -> str:
    if cell_len(cell) <= width:
        return cell
    if width < 3:
        return set_cell_size(cell, width)
    head = (width - 1) // 2
    tail = width - 1 - head
    end = cell[-tail:]
    while cell_len(end) > tail:
        end = end[1:]
    return set_cell_size(cell, head) + "…" + end


def _remark(
    result: Result, columns: list[ShownColumn], shown: list[ShownColumn]
) -> str | None:
    remarks = []
    if len(result) > ROWS:
        remarks.append(f"{ROWS:,} of {len(result):,} rows")
    if hidden := [column.name for column in columns[len(shown) :]]:
        remarks.append(
            f"{len(shown)} of {len(columns)} columns, without {', '.join(hidden)}"
        )
    if not remarks:
        return None
    return f"({'; '.join(remarks)}: --format csv or -o FILE gives all)"
