"""Table for the eye: the first rows, fitted to the terminal, numbers never cut.

Long text is cut in its middle, since template names of kernels differ at both
ends. Where that is not enough, a single row is turned on its side; else columns with
one value throughout are told in a line, and what still does not fit is left out and
said.
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
_TEXT_WIDTH_FAIR = 30
_TEXT_WIDTH_MIN = 20
_GAP = 2


def write(result: Result, stream: BinaryIO, view: View) -> str | None:
    """Writes at most `ROWS` rows and returns what was left out."""
    columns = shape(result, limit=ROWS)
    if not columns:
        return None  # a statement without an answer
    same: list[ShownColumn] = []
    if (
        view.width is not None
        and _total(_natural(columns, _TEXT_WIDTH_FAIR)) > view.width
    ):
        if len(result) == 1:
            columns = _turned(columns)
        else:
            columns, same = _varying(columns)
    shown, widths = _fit(columns, view.width)
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
        width=_total(widths),
        force_terminal=view.color,
        color_system="standard" if view.color else None,
        no_color=not view.color,
        legacy_windows=False,
    )
    console.print(grid)
    lines = (line.rstrip() for line in page.getvalue().rstrip("\n").split("\n"))
    stream.write(("\n".join(lines) + "\n").encode())
    return _remark(result, same, columns, shown)


def _natural(columns: list[ShownColumn], text_width: int) -> list[int]:
    """How wide each column would be, with text up to `text_width`."""
    sizes = [max(map(cell_len, (c.name, c.unit, *c.cells)), default=1) for c in columns]
    return [
        size if column.whole else min(size, text_width)
        for column, size in zip(columns, sizes, strict=True)
    ]


def _total(widths: list[int]) -> int:
    return sum(widths) + _GAP * len(widths)


def _turned(columns: list[ShownColumn]) -> list[ShownColumn]:
    """A single row as one line a column."""
    names = [column.label for column in columns]
    cells = [column.cells[0] for column in columns]
    return [
        ShownColumn("column", "", names, False, True, ""),
        ShownColumn("value", "", cells, False, False, ""),
    ]


def _varying(
    columns: list[ShownColumn],
) -> tuple[list[ShownColumn], list[ShownColumn]]:
    """Columns that tell rows apart, and those with one value in all of them."""
    same = [column for column in columns if len(set(column.cells)) == 1]
    if len(same) == len(columns):
        same = same[1:]
    return [column for column in columns if column not in same], same


def _fit(
    columns: list[ShownColumn], width: int | None
) -> tuple[list[ShownColumn], list[int]]:
    """The columns that fit into `width`, and how wide each is."""
    widths = _natural(columns, _TEXT_WIDTH)
    if width is None:
        return columns, widths
    texts = [at for at, column in enumerate(columns) if not column.whole]
    while _total(widths) > width and texts:
        widest = max(texts, key=widths.__getitem__)
        if widths[widest] <= _TEXT_WIDTH_MIN:
            break
        widths[widest] -= 1
    kept = len(columns)
    while kept > 1 and _total(widths[:kept]) > width:
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
    result: Result,
    same: list[ShownColumn],
    columns: list[ShownColumn],
    shown: list[ShownColumn],
) -> str | None:
    remarks = []
    if same:
        values = (f"{c.label} = {_cut(c.cells[0], _TEXT_WIDTH)}" for c in same)
        remarks.append(f"in every row shown: {', '.join(values)}")
    if hidden := [column.name for column in columns[len(shown) :]]:
        remarks.append(f"no room for {', '.join(hidden)}")
    if len(result) > ROWS:
        remarks.append(f"{ROWS:,} of {len(result):,} rows")
    if hidden or len(result) > ROWS:
        remarks.append("--format csv or -o FILE gives all")
    return f"({'; '.join(remarks)})" if remarks else None
