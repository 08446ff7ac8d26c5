"""Runs a mapping over the staged events: in chunks of the file, on several threads.

Invariant: a chunk's rows are sorted and written by one thread, in bounded memory.
"""

from __future__ import annotations

import itertools
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any

from traceql import nesting
from traceql.importers._trace_event import relations

if TYPE_CHECKING:
    import duckdb

    from traceql.importers import Context
    from traceql.mapping import Block, Phase

_CHUNK_ROWS = 250_000
_CHUNKED = ("event", "slice_event")


class MappingRun:
    """One run of a mapping's phases."""

    def __init__(
        self, con: duckdb.DuckDBPyConnection, ctx: Context, phases: list[Phase]
    ) -> None:
        self._con = con
        self._ctx = ctx
        self._phases = phases
        self._local = threading.local()
        self._done = itertools.count(1)

    def run(self, share: float) -> dict[str, Any]:
        """Runs all phases; returns the columns of the run table.

        Args:
            share: Progress that was made before.
        """
        ((rows,),) = self._con.execute("SELECT count(*) FROM staged.event").fetchall()
        spans = [
            (low, min(low + _CHUNK_ROWS, rows) - 1)
            for low in range(0, rows, _CHUNK_ROWS)
        ]
        total = max(1, len(self._phases) * (len(spans) + 1))
        facts: dict[str, Any] = {}
        for phase in self._phases:
            for block in phase.once():
                if block.kind == "prepare":
                    self._con.execute(block.sql)
                elif block.kind == "nest":
                    nesting.nest(self._con, f"({block.sql})")
            blocks = [b for b in self._chunked(phase) if self._wanted(b)]
            tasks = [partial(self._beside, phase)]
            if blocks:
                tasks += [partial(self._chunk, blocks, *span) for span in spans]
            # Chunks share the cores among them; what runs alone has them all.
            threads = 1 if len(tasks) > 1 else self._ctx.threads
            self._con.execute(f"SET threads = {threads}")
            with ThreadPoolExecutor(self._ctx.threads) as pool:
                for _ in pool.map(lambda task: task(), tasks):
                    done = next(self._done) / total
                    self._ctx.progress(share + (1 - share) * min(1.0, done))
            self._con.execute(f"SET threads = {self._ctx.threads}")
            facts |= self._once(phase)
        return facts

    def _chunked(self, phase: Phase) -> list[Block]:
        sources = phase.chunked()
        foreign = set(sources) - set(_CHUNKED)
        if foreign:
            raise ValueError(f"no chunks of {', '.join(sorted(foreign))}")
        return [block for source in _CHUNKED for block in sources.get(source, [])]

    def _wanted(self, block: Block) -> bool:
        return not block.option or bool(getattr(self._ctx, block.option))

    def _cursor(self) -> duckdb.DuckDBPyConnection:
        if not hasattr(self._local, "con"):
            self._local.con = self._con.cursor()
        return self._local.con  # type: ignore[no-any-return]

    def _chunk(self, blocks: list[Block], low: int, high: int) -> None:
        con = self._cursor()
        relations.show_chunk(con, low, high)
        for block in blocks:
            if block.kind == "stage":
                con.execute(block.sql)
            else:
                self._ctx.writer.write(con, block.table, block.sql)

    def _beside(self, phase: Phase) -> None:
        """Runs what needs no chunk of its phase, while those are read."""
        con = self._con.cursor()
        for block in phase.once():
            if block.kind == "beside":
                self._ctx.writer.write(con, block.table, block.sql)

    def _once(self, phase: Phase) -> dict[str, Any]:
        facts: dict[str, Any] = {}
        find = self._ctx.diagnostics.add
        for block in phase.once():
            self._ctx.writer.show_written(self._con)
            if block.kind == "rows":
                self._ctx.writer.write(self._con, block.table, block.sql)
            elif block.kind == "run":
                facts |= self._facts(block)
            elif block.kind == "diagnostic":
                ((count, example),) = self._con.execute(block.sql).fetchall()
                find(
                    block.code,
                    block.severity,
                    block.message,
                    count=count,
                    example=example,
                )
            elif block.kind == "findings":
                for code, severity, count, message, example in self._con.execute(
                    block.sql
                ).fetchall():
                    find(code, severity, message, count=count, example=example)
        return facts

    def _facts(self, block: Block) -> dict[str, Any]:
        result = self._con.execute(block.sql)
        names = [column[0] for column in result.description or ()]
        (row,) = result.fetchall()
        facts = dict(zip(names, row, strict=True))
        environment, host = facts.pop("environment", None), facts.pop("host", None)
        if self._ctx.keep_environment:
            facts |= {"host": host, "extra": environment}
        return facts
