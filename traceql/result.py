"""Result: the rows of a query as an Arrow table, with what its columns mean.

Invariant: a Result never changes, and none of its conversions alters a value:
integers stay integers, NULL stays missing, timestamps keep their nanoseconds.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from traceql.errors import UsageError
from traceql.render import printable

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

    from traceql.query_file import ColumnDoc

_HTML_ROWS = 50


@dataclass(frozen=True, eq=False)
class Result:
    """The answer to a query.

    Attributes:
        table: The rows.
        title: The query's title, or "".
        docs: Unit, polarity and meaning of the columns that are documented.
        note: What the reader has to know: what input is missing, for example.
        sql: The statement that gave the rows.
    """

    table: pa.Table
    title: str = ""
    docs: tuple[ColumnDoc, ...] = ()
    note: str | None = None
    sql: str = ""

    @classmethod
    def of_rows(
        cls,
        rows: Iterable[Mapping[str, Any]],
        types: Mapping[str, pa.DataType],
        title: str = "",
        docs: tuple[ColumnDoc, ...] = (),
    ) -> Result:
        """A Result of rows at hand: name to Arrow type gives the columns.

        A key that a row lacks is NULL there.
        """
        schema = pa.schema(list(types.items()))
        return cls(pa.Table.from_pylist([dict(r) for r in rows], schema), title, docs)

    @property
    def columns(self) -> list[str]:
        """Names of the columns, in order."""
        return list(self.table.column_names)

    def __len__(self) -> int:
        """The number of rows."""
        return int(self.table.num_rows)

    def arrow(self) -> pa.Table:
        """The rows as a pyarrow.Table, as DuckDB gave them."""
        return self.table

    def pl(self) -> pl.DataFrame:
        """The rows as a Polars frame; intervals and unions become text."""
        import polars

        from traceql.render._cells import storable

        return polars.DataFrame(polars.from_arrow(storable(self.table)))

    def df(self) -> pd.DataFrame:
        """The rows as a pandas frame; integers are pandas' nullable integers.

        Raises:
            UsageError: pandas is not installed.
        """
        try:
            import pandas
        except ImportError as err:
            raise UsageError(
                "pandas is not installed",
                hint="pip install 'traceql[pandas]', or use .pl() or .arrow()",
            ) from err
        # Left to itself pandas makes floats of integers that have a NULL.
        integers = {
            getattr(pa, f"{sign}int{bits}")(): getattr(
                pandas, f"{'U' if sign else ''}Int{bits}Dtype"
            )()
            for sign in ("", "u")
            for bits in (8, 16, 32, 64)
        }
        frame: pd.DataFrame = self.table.to_pandas(types_mapper=integers.get)
        return frame

    def rows(self) -> list[dict[str, Any]]:
        """The rows as dicts of Python values.

        HUGEINT gives int; a timestamp in nanoseconds, which Python has no type
        for, gives its ISO text.
        """
        from traceql.render._cells import text

        def values(column: pa.ChunkedArray) -> list[Any]:
            kind = column.type
            if pa.types.is_timestamp(kind) and kind.unit == "ns":
                return [v for part in column.chunks for v in text(part).to_pylist()]
            found: list[Any] = column.to_pylist()
            if pa.types.is_decimal(kind) and kind.scale == 0:
                return [None if v is None else int(v) for v in found]
            return found

        columns = [values(column) for column in self.table.columns]
        names = self.columns
        return [
            dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)
        ]

    def _repr_html_(self) -> str:
        """An escaped HTML table of the first rows, for notebooks."""
        from traceql.render._shape import shape

        shown = shape(self, limit=_HTML_ROWS)
        side = ["right" if column.right else "left" for column in shown]
        head = "".join(
            f'<th style="text-align:{s}" title="{html.escape(c.text)}">'
            f"{html.escape(c.label)}</th>"
            for c, s in zip(shown, side, strict=True)
        )
        body = "".join(
            "<tr>"
            + "".join(
                f'<td style="text-align:{s}">{html.escape(cell)}</td>'
                for cell, s in zip(row, side, strict=True)
            )
            + "</tr>"
            for row in zip(*(c.cells for c in shown), strict=True)
        )
        count = min(len(self), _HTML_ROWS)
        caption = f"{self.title} ({count:,} of {len(self):,} rows)".strip()
        note = f"<p>{html.escape(printable(self.note))}</p>" if self.note else ""
        return (
            f"<table><caption>{html.escape(printable(caption))}</caption>"
            f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{note}"
        )
