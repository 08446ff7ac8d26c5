"""nvidia-smi -q, as text or as XML (-x): all that it knows of each GPU."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import pyarrow as pa

from traceql.importers import Context, Head
from traceql.importers._smi import create_tables, map_samples, snapshots
from traceql.importers._smi import text as texts

if TYPE_CHECKING:
    import duckdb

_TITLE = "==============NVSMI LOG=============="
_ROOT = "<nvidia_smi_log"
_BATCH = 1000  # lines; each has some hundred cells
_CELL = pa.schema(
    [("line", pa.int64()), ("column_id", pa.int32()), ("text", pa.string())]
)


class NvidiaSmiQuery:
    """Importer of the full answer."""

    name = "nvidia-smi-query"
    version = 2
    title = "nvidia-smi -q, text or XML"

    def sniff(self, head: Head) -> float:
        """Sure by the title or the root element."""
        text = texts.beginning(head.data[:4096]).lstrip()
        if text.startswith(_TITLE):
            return 0.95
        return 0.95 if text.startswith("<") and _ROOT in text else 0.0

    def read(
        self, path: Path, con: duckdb.DuckDBPyConnection, ctx: Context
    ) -> dict[str, Any]:
        """Imports one log; see `Importer.read`."""
        with tempfile.TemporaryDirectory(prefix="traceql-") as scratch:
            copied = texts.utf8_copy(path, Path(scratch) / "log.txt")
            create_tables(con)
            cut = _load(con, copied.path)
            ctx.diagnostics.add(
                "cut_document",
                "data_loss",
                "An answer is cut or damaged: the GPUs that stand whole before that "
                "are there.",
                count=1 if cut else 0,
                example=cut,
            )
            return map_samples(con, ctx, copied)


IMPORTER = NvidiaSmiQuery()


def _load(con: duckdb.DuckDBPyConnection, path: Path) -> str | None:
    """Fills `source_column` and `line_cell`; what is wrong with the XML, or None."""
    columns: dict[str, int] = {}
    cut = None

    def lines() -> Iterator[tuple[int, snapshots.Line]]:
        nonlocal cut
        with path.open(encoding="utf-8") as file:
            is_xml = file.read(4096).lstrip().startswith("<")
            file.seek(0)
            read = snapshots.of_xml if is_xml else snapshots.of_text
            try:
                yield from enumerate(read(file), 1)
            except ElementTree.ParseError as error:
                cut = str(error)

    read_lines = lines()
    while batch := list(islice(read_lines, _BATCH)):
        cells = [
            (number, columns.setdefault(name, len(columns) + 1), text)
            for number, line in batch
            for name, text in line.items()
        ]
        con.register(
            "arrow_cell",
            pa.table([list(c) for c in zip(*cells, strict=True)], schema=_CELL),
        )
        con.execute("INSERT INTO line_cell SELECT *, false FROM arrow_cell")
        con.unregister("arrow_cell")
    if columns:
        con.executemany(
            "INSERT INTO source_column VALUES (?, 'query', ?, NULL)",
            [(number, name) for name, number in columns.items()],
        )
    return cut
