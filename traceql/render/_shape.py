"""Columns as a reader wants to see them: scaled, rounded, aligned, harmless.

Invariant: shaping rounds for the eye and never shows a value that is not zero as
zero; every cell is one line without control characters.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from traceql.render._cells import text
from traceql.render._printable import printable

if TYPE_CHECKING:
    from traceql.result import Result

NULL = "NULL"

# Unit of the column -> (factor, what it is called), the smallest first.
_SCALES = {
    "ns": ((1, "ns"), (1e3, "µs"), (1e6, "ms"), (1e9, "s")),
    "bytes": ((1, "B"), (2**10, "KiB"), (2**20, "MiB"), (2**30, "GiB"), (2**40, "TiB")),
}
_NAMED = {"pct": "%", "gb_per_s": "GB/s", "per_s": "/s", "hz": "Hz"}


@dataclass(frozen=True)
class ShownColumn:
    """One column for the eye.

    Attributes:
        name: Its name, without the unit.
        unit: The unit of the cells, or "".
        cells: One text a row.
        right: Whether cells are numbers, which stand at the right.
        whole: Whether a cell that is cut would be worth nothing: numbers, times, ids.
        text: What the column means, or "".
    """

    name: str
    unit: str
    cells: list[str]
    right: bool
    whole: bool
    text: str

    @property
    def label(self) -> str:
        """Name and unit in one line."""
        return f"{self.name} ({self.unit})" if self.unit else self.name


def shape(result: Result, limit: int | None = None) -> list[ShownColumn]:
    """The first `limit` rows of `result` (None: all), column by column."""
    docs = {doc.name: doc for doc in result.docs}
    shown = []
    for field, column in zip(
        result.table.schema, result.table.slice(0, limit).columns, strict=True
    ):
        doc = docs.get(field.name)
        unit = doc.unit.lower() if doc else ""
        number = _is_number(field.type)
        name = printable(field.name)
        if number and unit in _SCALES:
            values = column.to_pylist()
            factor, unit_shown = _scale(values, _SCALES[unit])
            cells = _scaled(values, factor)
            name = name.removesuffix(f"_{unit}")
        else:
            unit_shown = _NAMED.get(unit, "")
            name = name.removesuffix("_pct") if unit == "pct" else name
            cells = _plain(field, column, unit)
        meaning = printable(doc.text) if doc else ""
        whole = number or pa.types.is_temporal(field.type) or _is_id(field, unit)
        shown.append(ShownColumn(name, unit_shown, cells, number, whole, meaning))
    return shown


def _is_number(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_integer(kind)
        or pa.types.is_floating(kind)
        or pa.types.is_decimal(kind)
    )


def _is_id(field: pa.Field, unit: str) -> bool:
    name = field.name
    return unit == "id" or name in ("pid", "tid") or name.endswith("_id")


def _plain(field: pa.Field, column: pa.ChunkedArray, unit: str) -> list[str]:
    if pa.types.is_integer(field.type):
        # A separator in an identifier would be in the way of copying it.
        form = "d" if _is_id(field, unit) else ",d"
        return [NULL if v is None else f"{v:{form}}" for v in column.to_pylist()]
    if pa.types.is_floating(field.type):
        return _rounded(column.to_pylist())
    if pa.types.is_decimal(field.type):
        return [NULL if v is None else f"{v:,f}" for v in column.to_pylist()]
    cells = [cell for part in column.chunks for cell in text(part).to_pylist()]
    return [NULL if cell is None else printable(cell) for cell in cells]


def _scale(
    values: list[Any], steps: tuple[tuple[float, str], ...]
) -> tuple[float, str]:
    sizes = [abs(v) for v in values if v is not None and math.isfinite(v)]
    largest = max(sizes, default=0)
    return next((s for s in reversed(steps) if largest >= s[0]), steps[0])


def _scaled(values: list[Any], factor: float) -> list[str]:
    if factor == 1 and not any(isinstance(v, float) for v in values):
        return [NULL if v is None else f"{int(v):,d}" for v in values]
    return _rounded([None if v is None else float(v) / factor for v in values])


def _rounded(values: list[float | None]) -> list[str]:
    """One number of decimals a column, so that the points stand in one line."""
    sizes = [abs(v) for v in values if v is not None and math.isfinite(v) and v]
    digits = 3 - math.floor(math.log10(max(sizes))) if sizes else 1
    decimals = min(max(digits, 0), 6)
    return [NULL if v is None else _number(v, decimals) for v in values]


def _number(value: float, decimals: int) -> str:
    if math.isfinite(value) and abs(value) < 1e15:
        cell = f"{value:,.{decimals}f}"
        if not value or cell.strip("-0.,"):
            return cell
    return f"{value:.2g}" if abs(value) < 1 else f"{value:.6g}"
