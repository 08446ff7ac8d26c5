"""Runs the mapping over a walked file: raw tables first, then events in chunks.

Invariant: a chunk holds a bounded number of events, and is decoded when it is read.
"""

from __future__ import annotations

import itertools
import json
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from traceql import nesting
from traceql.importers._xplane.events import SCHEMA, Decoder
from traceql.importers._xplane.index import Line, Piece, Plane, Space, read_piece, text
from traceql.importers.kineto import short_name
from traceql.mapping import Block, Phase, read_mapping

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import duckdb

    from traceql.importers import Context

_CHUNK_EVENTS = 100_000
# Planes of devices, by name; all others are a host's.
_DEVICE = "/device:"
_SOURCES = ("host_event", "device_event")
# From 2000 to 2200, ns: stamps in it are the wall clock's.
_EPOCH_NS = range(946_684_800_000_000_000, 7_258_118_400_000_000_000)
_RAW = {
    "plane": [
        ("plane_id", pa.int64()),
        ("id", pa.int64()),
        ("name", pa.string()),
        ("stats", pa.string()),
    ],
    "line": [
        ("line_id", pa.int64()),
        ("plane_id", pa.int64()),
        ("id", pa.int64()),
        ("name", pa.string()),
        ("events", pa.int64()),
    ],
    "event_type": [
        ("plane_id", pa.int64()),
        ("type_id", pa.int64()),
        ("name", pa.string()),
        ("display_name", pa.string()),
        ("stats", pa.string()),
    ],
    "space_text": [("kind", pa.string()), ("value", pa.string())],
}


@dataclass
class _Chunk:
    """Pieces that are read together."""

    source: str
    parts: list[tuple[Plane, Line, Piece]] = field(default_factory=list)
    events: int = 0


class MappingRun:
    """One run of a mapping over one file."""

    def __init__(
        self,
        con: duckdb.DuckDBPyConnection,
        ctx: Context,
        space: Space,
        mapping: list[Path],
    ) -> None:
        self._con = con
        self._ctx = ctx
        self._space = space
        self._phases = read_mapping(*mapping)
        self._local = threading.local()
        self._done = itertools.count(1)
        self._clock = _clock(space)
        origin_ns = self._clock["source_origin_ns"] or 0
        self._decoders = {p.number: Decoder(p, origin_ns) for p in space.planes}

    def run(self) -> dict[str, Any]:
        """Runs all phases; returns the columns of the run table."""
        con = self._con
        con.create_function("short_name_of", short_name, ["VARCHAR"], "VARCHAR")
        self._raw_tables()
        chunks = list(_chunks(self._space))
        tasks_of = {
            phase.name: [c for c in chunks if c.source in phase.chunked()]
            for phase in self._phases
        }
        total = max(1, sum(len(t) for t in tasks_of.values()))
        facts: dict[str, Any] = {}
        for phase in self._phases:
            for block in phase.once():
                if block.kind == "prepare":
                    con.execute(block.sql)
                elif block.kind == "nest":
                    nesting.nest(con, f"({block.sql})")
            con.execute("SET threads = 1")
            with ThreadPoolExecutor(self._ctx.threads) as pool:
                tasks = [partial(self._beside, phase)]
                tasks += [partial(self._chunk, phase, c) for c in tasks_of[phase.name]]
                for _ in pool.map(lambda task: task(), tasks):
                    self._ctx.progress(
                        min(1.0, next(self._done) / (total + len(self._phases)))
                    )
            con.execute(f"SET threads = {self._ctx.threads}")
            facts |= self._once(phase)
        return facts | self._clock

    def _raw_tables(self) -> None:
        rows: dict[str, list[dict[str, Any]]] = {name: [] for name in _RAW}
        for plane in self._space.planes:
            rows["plane"].append(
                {
                    "plane_id": plane.number,
                    "id": plane.head.id,
                    "name": plane.name,
                    "stats": _stats_json(plane, plane.head.stats),
                }
            )
            for line in plane.lines:
                head = line.head
                rows["line"].append(
                    {
                        "line_id": line.number,
                        "plane_id": plane.number,
                        "id": head.display_id or head.id,
                        "name": text(head.display_name or head.name),
                        "events": line.events,
                    }
                )
            for type_id, found in plane.event_types.items():
                rows["event_type"].append(
                    {
                        "plane_id": plane.number,
                        "type_id": type_id,
                        "name": text(found.name),
                        "display_name": text(found.display_name) or None,
                        "stats": _stats_json(plane, found.stats),
                    }
                )
        for kind in ("errors", "warnings", "hostnames"):
            for value in getattr(self._space.head, kind):
                rows["space_text"].append({"kind": kind, "value": text(value)})
        for name, columns in _RAW.items():
            table = pa.Table.from_pylist(rows[name], pa.schema(columns))
            self._con.register("raw_rows", table)
            self._con.execute(f"CREATE TABLE {name} AS SELECT * FROM raw_rows")
            self._con.unregister("raw_rows")
        file_name = self._space.path.name.replace("'", "''")
        self._con.execute(f"CREATE MACRO file_name() AS '{file_name}'")
        for source in _SOURCES:
            self._con.register("no_rows", SCHEMA.empty_table())
            self._con.execute(f"CREATE TABLE {source} AS SELECT * FROM no_rows")
            self._con.unregister("no_rows")

    def _cursor(self) -> duckdb.DuckDBPyConnection:
        if not hasattr(self._local, "con"):
            self._local.con = self._con.cursor()
        return self._local.con  # type: ignore[no-any-return]

    def _chunk(self, phase: Phase, chunk: _Chunk) -> None:
        """Decodes a chunk under its source's name, private to this thread; maps it."""
        con = self._cursor()
        blocks = phase.chunked()[chunk.source]
        with_rest = any(block.kind == "rows" for block in blocks)
        reader = pa.RecordBatchReader.from_batches(
            SCHEMA, self._batches(chunk, with_rest)
        )
        # The stream is read here, so that an error keeps its kind.
        con.register("decoded", reader.read_all())
        con.execute(
            f"CREATE OR REPLACE TEMP TABLE {chunk.source} AS SELECT * FROM decoded"
        )
        con.unregister("decoded")
        for block in blocks:
            if block.kind == "stage":
                con.execute(block.sql)
            else:
                self._ctx.writer.write(con, block.table, block.sql)
        con.execute(f"DROP TABLE temp.{chunk.source}")

    def _batches(self, chunk: _Chunk, with_rest: bool) -> Iterator[pa.RecordBatch]:
        for plane, line, piece in chunk.parts:
            data = read_piece(self._space.path, piece)
            yield from self._decoders[plane.number].batches(
                line, piece, data, with_rest=with_rest
            )

    def _beside(self, phase: Phase) -> None:
        """Runs what needs no chunk of its phase, while those are read."""
        con = self._con.cursor()
        for block in phase.once():
            if block.kind == "beside":
                self._ctx.writer.write(con, block.table, block.sql)

    def _once(self, phase: Phase) -> dict[str, Any]:
        """Runs the blocks of a phase that need what was written before."""
        facts: dict[str, Any] = {}
        for block in phase.once():
            if block.kind == "rows":
                self._ctx.writer.write(self._con, block.table, block.sql)
            elif block.kind == "run":
                facts |= self._facts(block)
            elif block.kind == "diagnostic":
                ((count, example),) = self._con.execute(block.sql).fetchall()
                self._ctx.diagnostics.add(
                    block.code,
                    block.severity,
                    block.message,
                    count=count,
                    example=example,
                )
        return facts

    def _facts(self, block: Block) -> dict[str, Any]:
        result = self._con.execute(block.sql)
        names = [column[0] for column in result.description or ()]
        (row,) = result.fetchall()
        facts = dict(zip(names, row, strict=True))
        environment, host = facts.pop("environment"), facts.pop("host")
        if self._ctx.keep_environment:
            facts |= {"host": host, "extra": environment}
        return facts


def _chunks(space: Space) -> Iterator[_Chunk]:
    """The pieces of all lines, put together until there are enough events."""
    for source, is_device in zip(_SOURCES, (False, True), strict=True):
        chunk = _Chunk(source)
        for plane in space.planes:
            if (_DEVICE in plane.name) != is_device:
                continue
            for line in plane.lines:
                for piece in line.pieces:
                    chunk.parts.append((plane, line, piece))
                    chunk.events += piece.events
                    if chunk.events >= _CHUNK_EVENTS:
                        yield chunk
                        chunk = _Chunk(source)
        if chunk.parts:
            yield chunk


def _stats_json(plane: Plane, stats: Any) -> str:
    """A JSON object of stats."""
    return json.dumps(_stats(plane, stats), ensure_ascii=False)


def _stats(plane: Plane, stats: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for stat in stats:
        name = plane.stat_names.get(stat.stat_id)
        kind = stat.WhichOneof("value")
        if name is None or kind is None:
            continue
        value = getattr(stat, kind)
        if kind == "reference":
            value = plane.stat_names.get(value)
        elif kind == "text":
            value = text(value)
        elif kind == "double" and not -1e308 < value < 1e308:
            value = None
        elif kind == "data":
            continue
        found[name] = value
    return found


def _clock(space: Space) -> dict[str, Any]:
    """Where the run's time begins.

    Lines are stamped since the session's start, or in files that were not finished
    (as an agent collects them) with the wall clock.
    """
    task: dict[str, Any] = {}
    for plane in space.planes:
        if plane.name.endswith("Task Environment"):
            task |= _stats(plane, plane.head.stats)
    began = task.get("profile_start_time")
    began = began if isinstance(began, int) and began in _EPOCH_NS else None
    stamps = [
        line.head.timestamp_ns for p in space.planes for line in p.lines if line.pieces
    ]
    epochs = [s for s in stamps if s in _EPOCH_NS]
    if len(epochs) * 2 > len(stamps):
        first = min(epochs)
        origin = began if began is not None and began <= first else first
        clock = "session_start" if origin == began else "trace_start"
        return {"source_origin_ns": origin, "origin_unix_ns": origin, "clock": clock}
    return {
        "source_origin_ns": 0,
        "origin_unix_ns": began,
        "clock": "none" if began is None else "session_start",
    }
