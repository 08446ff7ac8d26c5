"""The events of a trace file as one table: the strict parser first, then the rest.

A range that DuckDB's parser refuses is halved into smaller ones until the damage
stands alone in a few megabytes, and only those are scanned (see `tolerant`).

Invariant: rows are in the file's order; memory is bounded by the size of a piece.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from traceql.importers._trace_event import mending
from traceql.importers._trace_event.layout import Layout, parse_keys, plain_keys
from traceql.importers._trace_event.ranges import RangeFiles
from traceql.importers._trace_event.tolerant import Damage, Scan

if TYPE_CHECKING:
    import duckdb

# Every key of the format: one that is not listed vanishes.
COLUMNS = {
    "ph": "VARCHAR", "name": "VARCHAR", "cat": "VARCHAR", "pid": "VARCHAR",
    "tid": "VARCHAR", "ts": "DECIMAL(22,3)", "dur": "DECIMAL(22,3)", "args": "JSON",
    "id": "VARCHAR", "id2": "JSON", "bind_id": "VARCHAR", "bp": "VARCHAR",
    "scope": "VARCHAR", "s": "VARCHAR", "flow_in": "VARCHAR", "flow_out": "VARCHAR",
    "tts": "JSON", "tdur": "JSON", "sf": "JSON", "stack": "JSON", "esf": "JSON",
    "estack": "JSON", "cname": "JSON",
}  # fmt: skip
_OTHER = ("tts", "tdur", "sf", "stack", "esf", "estack", "cname")
_OTHER_TEXT = ", ".join(f"'\"{c}\":' || CAST({c} AS VARCHAR)" for c in _OTHER)
_PROJECTION = f"""
    CASE WHEN length(ph) > 1 THEN ph[1] ELSE ph END AS ph, name, cat,
    TRY_CAST(pid AS BIGINT) AS pid, TRY_CAST(tid AS BIGINT) AS tid,
    CASE WHEN TRY_CAST(pid AS BIGINT) IS NULL THEN pid END AS raw_pid,
    CASE WHEN TRY_CAST(tid AS BIGINT) IS NULL THEN tid END AS raw_tid,
    TRY_CAST(ts * 1000 AS BIGINT) AS ts_ns, TRY_CAST(dur * 1000 AS BIGINT) AS dur_ns,
    args, id, id2, bind_id, bp, scope, s,
    flow_in IN ('true', '1') AS flow_in, flow_out IN ('true', '1') AS flow_out,
    CASE WHEN coalesce({", ".join(_OTHER)}) IS NOT NULL
        THEN '{{' || concat_ws(',', {_OTHER_TEXT}) || '}}'
    END AS other
"""
_TABLE = "staged.event"
# Sizes of the ranges that are tried in turn where a longer one fails.
_SIZES = (128 << 20, 16 << 20, 2 << 20)
# Length of the parts of a range that are parsed side by side.
_PART = 64 << 20
_WINDOW = 1 << 20
_FAR = 32 << 20
# Longer events are staged in a file, where DuckDB packs them: in memory it does not,
# and what it moves from there to disk is read again by each statement.
_IN_MEMORY = 512 << 20
_TAIL = 256 << 10
_BOUNDARY = re.compile(rb"\}\s*,\s*(?=\{\s*[\"}])")
_SOON_PHASE = re.compile(rb'"ph"\s*:')
_PHASE = re.compile(r'"ph"\s*:')


def _strict_select(*ranges: str) -> str:
    files = ", ".join(f"'{name}'" for name in ranges)
    return (
        f"SELECT {_PROJECTION} FROM read_json([{files}], "
        f"format = 'array', columns = {_structure(COLUMNS)})"
    )


def _structure(columns: dict[str, str]) -> str:
    return "{" + ", ".join(f"'{n}': '{t}'" for n, t in columns.items()) + "}"


class Stager:
    """Brings the events of one file into the table `staged.event`.

    Attributes:
        damage: What was wrong with the file.
    """

    def __init__(
        self,
        con: duckdb.DuckDBPyConnection,
        path: Path,
        layout: Layout,
        progress: Callable[[float], None],
    ) -> None:
        self.damage = Damage()
        self._con = con
        self._path = path
        self._layout = layout
        self._progress = progress
        self._closed = False
        # Where an event begins that the last damaged range held only the start of.
        self._pending: int | None = None
        con.register_filesystem(RangeFiles(path))

    def run(self) -> None:
        """Stages all events; adds a trailer found on the way to the layout."""
        place = ":memory:"
        if self._layout.size > _IN_MEMORY:
            ((scratch,),) = self._con.execute(
                "SELECT current_setting('temp_directory')"
            ).fetchall()
            place = f"{scratch}/staged.duckdb".replace("'", "''")
        self._con.execute(f"ATTACH IF NOT EXISTS '{place}' AS staged")
        self._con.execute(
            f"CREATE TABLE {_TABLE} AS {_strict_select(RangeFiles.name(0, 0))} LIMIT 0"
        )
        start, end = self._layout.start, self._layout.end
        if end is not None:
            self._load(start, self._without_comma(start, end), last=False)
            return
        # The end is odd: what stands before the last few events may still be whole.
        size = tail = self._layout.size
        if size - start > _SIZES[-1]:
            tail = self._boundary(size - _TAIL, size)
        tail = start if tail == size else tail
        if tail > start:
            self._load(start, tail, last=False)
        self._load(tail, size, last=True)

    def _without_comma(self, start: int, end: int) -> int:
        """The end before a comma that stands before the closing bracket."""
        with self._path.open("rb") as file:
            low = max(start, end - 4096)
            file.seek(low)
            before = file.read(end - low).rstrip()
        if before.endswith(b","):
            self.damage.mended["trailing_comma"] += 1
            return low + len(before) - 1
        return end

    def _load(self, low: int, high: int, *, last: bool) -> None:
        """Stages a range: whole, else in smaller ranges, else event by event."""
        if self._pending is not None:
            low, self._pending = self._pending, None
        if low >= high or self._closed:
            return
        if not last and self._strict(low, high):
            self._progress(high / max(1, self._layout.size))
            return
        size = next((s for s in _SIZES if s < (high - low) * 2 // 3), None)
        if size is None or last:
            self._tolerant(low, high, last=last)
            self._progress(high / max(1, self._layout.size))
            return
        while low < high:
            cut = high if low + size >= high else self._boundary(low + size, high)
            self._load(low, cut, last=False)
            low = cut

    def _strict(self, low: int, high: int) -> bool:
        """Stages a range if the strict parser accepts all of it."""
        import duckdb

        # DuckDB parses an array on one thread, and several arrays side by side.
        cuts = [low]
        while cuts[-1] + _PART < high:
            cuts.append(self._boundary(cuts[-1] + _PART, high))
        if cuts[-1] < high:
            cuts.append(high)
        parts = [self._part(*ends) for ends in pairwise(cuts)]
        try:
            self._con.execute(f"INSERT INTO {_TABLE} {_strict_select(*parts)}")
        except (duckdb.InvalidInputException, duckdb.ConversionException):
            return False  # an event beyond DuckDB's 16 MiB an object fails here too
        return True

    def _part(self, low: int, high: int) -> str:
        """A range as a file, without the comma before the next range's event."""
        start = max(low, high - 64)
        with self._path.open("rb") as file:
            file.seek(start)
            before = file.read(high - start).rstrip()
        return RangeFiles.name(
            low, start + len(before) - 1 if before.endswith(b",") else high
        )

    def _boundary(self, at: int, high: int) -> int:
        """The next offset at which an event begins; `high` where there is none."""
        first: int | None = None
        with self._path.open("rb") as file:
            low = at
            while low < high:
                file.seek(low)
                data = file.read(min(2 * _WINDOW, high - low))
                text_end = min(_WINDOW, len(data))
                for match in _BOUNDARY.finditer(data):
                    if match.end() > text_end:
                        break
                    if _begins_event(data, match.end()):
                        return low + match.end()
                    soon = data[match.end() : match.end() + 200]
                    if first is None and _SOON_PHASE.search(soon):
                        first = low + match.end()
                low += _WINDOW - 4096
                if first is not None and low - at > _FAR:
                    return first
        return first or high

    def _tolerant(self, low: int, high: int, *, last: bool) -> None:
        with self._path.open("rb") as file:
            file.seek(low)
            data = file.read(high - low)
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError:
            text = data.decode("utf-8", "replace")
            there = data.count("\ufffd".encode())
            self.damage.mended["invalid_utf8"] += text.count("\ufffd") - there
        scan = Scan(text, last, self._valid, self.damage)
        self._insert(scan.events())
        if scan.cut_at is not None and scan.text == text and len(data) < _FAR:
            before = text[: scan.cut_at].encode()
            if data.startswith(before):
                self._pending = low + len(before)
                scan.cut_at = None
        scan.settle()
        if scan.rest is not None:
            self._closed = True
            self._finish(scan.rest.encode("utf-8", "replace"), high)

    def _finish(self, rest: bytes, high: int) -> None:
        """Reads what follows the events' end as the trailer."""
        with self._path.open("rb") as file:
            file.seek(high)
            rest = (rest + file.read(_FAR)).strip(b" \t\r\n\0")
        if self._layout.root == "array":
            self.damage.after_end = rest[:200].decode("utf-8", "replace")
            self.damage.lost_bytes += len(rest)
            return
        keys = parse_keys(rest.removesuffix(b"}"))
        if keys is not None and rest.endswith(b"}"):
            self._layout.trailer |= keys
        elif rest.startswith(b"}"):
            self.damage.after_end = rest[1:200].decode("utf-8", "replace").strip()
            self.damage.lost_bytes += len(rest) - 1
        else:
            self._layout.trailer |= plain_keys(rest)
            self.damage.cut_bytes = 0

    def _valid(self, texts: Sequence[str]) -> list[bool]:
        """Of each text, whether it is an object as the strict parser takes it."""
        if not texts:
            return []
        self._con.register("tolerant_text", _texts(texts))
        rows = self._con.execute(
            "SELECT coalesce(json_valid(text) AND text[1] = '{', false) "
            "FROM tolerant_text"
        ).fetchall()
        self._con.unregister("tolerant_text")
        return [bool(row[0]) for row in rows]

    def _insert(self, texts: list[str]) -> None:
        if not texts:
            return
        self._con.register("tolerant_text", _texts(texts))
        doubled = self._con.execute(
            "SELECT row_number() OVER () - 1 AS n FROM tolerant_text "
            "QUALIFY len(json_keys(text)) > len(list_distinct(json_keys(text)))"
        ).fetchall()
        self._con.unregister("tolerant_text")
        for (number,) in doubled:
            texts[number] = mending.without_duplicates(texts[number])
            self.damage.mended["duplicate_key"] += 1
        structure = "{" + ", ".join(f'"{n}": "{t}"' for n, t in COLUMNS.items()) + "}"
        self._con.register("tolerant_text", _texts(texts))
        self._con.execute(
            f"INSERT INTO {_TABLE} SELECT {_PROJECTION} FROM (SELECT unnest("
            f"json_transform(text, '{structure}')) FROM tolerant_text)"
        )
        self._con.unregister("tolerant_text")


def _texts(texts: Sequence[str]) -> pa.Table:
    encoded = [t.encode("utf-8", "replace").decode() for t in texts]
    return pa.table({"text": pa.array(encoded, pa.large_string())})


def _begins_event(data: bytes, at: int) -> bool:
    """Whether an object with a phase begins at an offset, whole or nearly so."""
    soon = data[at : at + (1 << 16)]
    text = soon.decode("utf-8", "replace")
    try:
        value, _ = mending.DECODER.raw_decode(text)
    except (ValueError, RecursionError):
        following = _BOUNDARY.search(soon)
        if following is None:
            return False
        piece = soon[: following.start() + 1].decode("utf-8", "replace")
        mended = mending.mend(piece, Counter())
        return bool(_PHASE.search(mended)) and mending.is_json(mended)
    return isinstance(value, dict) and isinstance(value.get("ph"), str)
