"""The tables of Nsight Systems exports, 2020.3 to 2026.2, whatever holds them.

The reader streams each activity table in chunks of rowids, on several threads, and
lets the mapping (nsight_sqlite.sql) say what the rows mean. Names are resolved chunk
by chunk through an ENUM of those that the chunk holds, so that long demangled names
are never sorted or hashed as text.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator, Set
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from traceql import nesting
from traceql.diagnostics import Severity
from traceql.importers import Context
from traceql.importers._literals import literal_json
from traceql.importers._nsight_chunk import TIMES, shown
from traceql.importers._tables import Relation, Tables, declared, decode_lenient
from traceql.mapping import Block, Phase, read_mapping

if TYPE_CHECKING:
    import duckdb

_HERE = Path(__file__).parent
# The main file first: it makes the macros and the order of the phases.
_MAPPING = (
    "nsight_sqlite.sql",
    "nsight_sqlite_host.sql",
    "nsight_sqlite_memory.sql",
    "nsight_sqlite_network.sql",
    "nsight_sqlite_payload.sql",
    "nsight_sqlite_samples.sql",
    "nsight_sqlite_rest.sql",
)
# Operations: those in NVTX ranges, unless another source has them.
_OPS = _HERE / "nsight_sqlite_pyprof.sql"
SOURCES = ("nsight_sqlite_source.sql", "nsight_sqlite_source_more.sql")
# What costs a column of a big table and says nothing without the call chains.
_ONLY_WITH_SAMPLES = frozenset({"callchainId"})
_CHUNK_ROWS = 250_000
# What the threads may hold beside DuckDB's memory; other sources have larger chunks.
_HELD_BYTES = 256_000_000
_MAX_ENUM = 60_000
_TEXT_IDS = (
    "demangledName",
    "shortName",
    "mangledName",
    "nameId",
    "textId",
    "jsonTextId",
)
# Any of these with StringIds makes a capture; all other tables come and go.
_SIGNS = frozenset(
    {
        "CUPTI_ACTIVITY_KIND_KERNEL",
        "CUPTI_ACTIVITY_KIND_RUNTIME",
        "CUPTI_ACTIVITY_KIND_MEMCPY",
        "CUPTI_ACTIVITY_KIND_MEMSET",
        "CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
        "NVTX_EVENTS",
        "OSRT_API",
        "GPU_METRICS",
        "COMPOSITE_EVENTS",
        "SCHED_EVENTS",
        "TARGET_INFO_SYSTEM_ENV",
        "TARGET_INFO_GPU",
        "META_DATA_EXPORT",
        "EXPORT_META_DATA",
    }
)


@dataclass(frozen=True)
class _Chunk:
    """Rows of one source table, and what to do with them."""

    relation: Relation
    blocks: list[Block]
    low: int
    high: int


def is_capture(tables: Set[str]) -> bool:
    """Whether tables of these names are those of a Nsight Systems export."""
    return "StringIds" in tables and bool(tables & _SIGNS)


def import_tables(
    source: Tables,
    con: duckdb.DuckDBPyConnection,
    ctx: Context,
    *,
    ops: Path = _OPS,
) -> dict[str, Any]:
    """Imports the tables of an export, whatever holds them; see `Importer.read`.

    Args:
        source: The tables.
        con: Connection to import through.
        ctx: What the importer works with.
        ops: Mapping that says which operation made a call.
    """
    return _Import(source, con, ctx, ops).run()


class _Import:
    """One run of the importer: the file, the connection, the mapping."""

    def __init__(
        self,
        source: Tables,
        con: duckdb.DuckDBPyConnection,
        ctx: Context,
        ops: Path,
    ) -> None:
        self.source = source
        self.con = con
        self.ctx = ctx
        self.phases = read_mapping(*(_HERE / name for name in _MAPPING), ops)
        self._local = threading.local()
        self._done = itertools.count(1)

    def run(self) -> dict[str, Any]:
        con = self.con
        con.create_function("lenient", decode_lenient, ["BLOB"], "VARCHAR")
        con.create_function("literal_json", literal_json, ["VARCHAR"], "JSON")
        ddl = "\n".join((_HERE / name).read_text() for name in SOURCES)
        relations = declared(con, ddl)
        if not self.ctx.with_samples:
            relations = {
                name: replace(relation, unread=_ONLY_WITH_SAMPLES)
                for name, relation in relations.items()
            }
        streamed = {s for phase in self.phases for s in phase.chunked()}
        for name, relation in relations.items():
            if name not in streamed and name in self.source.tables:
                self._load(con, f'INSERT INTO "{name}"', relation)
        self._list_columns(relations)
        self._list_tables(relations)
        chunks = {
            phase.name: list(self._chunks(phase, relations)) for phase in self.phases
        }
        total = max(1, sum(len(c) for c in chunks.values()))
        facts: dict[str, Any] = {}
        for phase in self.phases:
            self._prepare(phase)
            tasks = [partial(self._beside, phase)]
            tasks += [partial(self._read_chunk, c) for c in chunks[phase.name]]
            # Chunks share the cores among them; what runs alone has them all.
            threads = 1 if len(tasks) > 1 else self.ctx.threads
            self.con.execute(f"SET threads = {threads}")
            with ThreadPoolExecutor(self.ctx.threads) as pool:
                for _ in pool.map(lambda task: task(), tasks):
                    self.ctx.progress(next(self._done) / (total + len(self.phases) + 1))
            self.con.execute(f"SET threads = {self.ctx.threads}")
            facts |= self._once(phase)
        return facts

    def _prepare(self, phase: Phase) -> None:
        self.ctx.writer.show_written(self.con)
        for block in phase.once():
            if block.kind == "prepare":
                self.con.execute(block.sql)

    def _once(self, phase: Phase) -> dict[str, Any]:
        """Runs the blocks of a phase that need what was written before."""
        facts: dict[str, Any] = {}
        for block in phase.once():
            self.ctx.writer.show_written(self.con)
            if block.kind == "rows":
                self.ctx.writer.write(self.con, block.table, block.sql)
            elif block.kind == "run":
                facts |= self._facts(block)
            elif block.kind == "diagnostic":
                found = (block.code, block.severity, block.message)
                self._find(*found, *self.con.execute(block.sql).fetchall()[0])
            elif block.kind == "findings":
                for code, severity, count, message, example in self.con.execute(
                    block.sql
                ).fetchall():
                    self._find(code, severity, message, count, example)
        return facts

    def _beside(self, phase: Phase) -> None:
        """Runs what needs no chunk of its phase, while those are read."""
        con = self._cursor()
        for block in phase.once():
            if block.kind == "nest":
                nesting.nest(con, f"({block.sql})")
            elif block.kind == "beside":
                self.ctx.writer.show_written(con)
                self.ctx.writer.write(con, block.table, block.sql)

    def _find(
        self,
        code: str,
        severity: Severity,
        message: str,
        count: int,
        example: str | None,
    ) -> None:
        self.ctx.diagnostics.add(code, severity, message, count=count, example=example)

    def _facts(self, block: Block) -> dict[str, Any]:
        result = self.con.execute(block.sql)
        names = [column[0] for column in result.description or ()]
        facts = dict(zip(names, result.fetchall()[0], strict=True))
        environment, host = facts.pop("environment"), facts.pop("host")
        if self.ctx.keep_environment:
            facts |= {"host": host, "extra": environment}
        return facts

    def _list_columns(self, relations: dict[str, Relation]) -> None:
        self.con.execute(
            "CREATE TABLE source_column (table_name VARCHAR, column_name VARCHAR)"
        )
        pairs = [(r, c) for r in relations for c in sorted(self.source.columns(r))]
        if pairs:
            self.con.executemany("INSERT INTO source_column VALUES (?, ?)", pairs)

    def _list_tables(self, relations: dict[str, Relation]) -> None:
        """Makes `source_table`: what the mapping does not read, with its rows.

        Declared tables that wait for an option are among them, undeclared ones too.
        """
        waiting = {
            block.source
            for phase in self.phases
            for block in (b for blocks in phase.chunked().values() for b in blocks)
            if not self._wanted(block)
        }
        self.con.execute(
            "CREATE TABLE source_table (table_name VARCHAR, option_only BOOLEAN)"
        )
        pairs = [
            (name, name in relations)
            for name in sorted(self.source.tables - (relations.keys() - waiting))
        ]
        if pairs:
            self.con.executemany("INSERT INTO source_table VALUES (?, ?)", pairs)
        self.con.create_function(
            "rows_of", self.source.row_count, ["VARCHAR"], "BIGINT"
        )

    def _wanted(self, block: Block) -> bool:
        return not block.option or bool(getattr(self.ctx, block.option))

    def _load(
        self,
        con: duckdb.DuckDBPyConnection,
        into: str,
        relation: Relation,
        low: int | None = None,
        high: int | None = None,
    ) -> None:
        """Loads rows of a source table; what does not fit its type is counted."""
        lost = self.source.load(con, into, relation, low, high)
        for column, count in lost.items():
            self._find(
                f"lossy_{relation.name}_{column}",
                "data_loss",
                f"Values of {relation.name}.{column} do not fit "
                f"{relation.columns[column]}: they are NULL.",
                count,
                None,
            )

    def _chunks(self, phase: Phase, relations: dict[str, Relation]) -> Iterator[_Chunk]:
        for name, all_blocks in phase.chunked().items():
            blocks = [b for b in all_blocks if self._wanted(b)]
            if not blocks:
                continue
            for low, high in self.source.chunks(name, _CHUNK_ROWS):
                yield _Chunk(relations[name], blocks, low, high)

    def _cursor(self) -> duckdb.DuckDBPyConnection:
        if not hasattr(self._local, "con"):
            self._local.con = self.con.cursor()
        return self._local.con  # type: ignore[no-any-return]

    def _read_chunk(self, chunk: _Chunk) -> None:
        """Loads a chunk under its table's name, private to this thread, and maps it."""
        con = self._cursor()
        relation, low, high = chunk.relation, chunk.low, chunk.high
        most_bytes = _HELD_BYTES // self.ctx.threads
        with shown(con, self.source, relation, low, high, most_bytes) as in_order:
            if in_order is not None:
                self._map(con, chunk, in_order)
                return
        into = f'CREATE OR REPLACE TEMP TABLE "{relation.name}" AS'
        self._load(con, into, relation, low, high)
        self._check_times(con, relation)
        self._map(con, chunk, _is_in_order(con, relation))
        con.execute(f'DROP TABLE temp."{relation.name}"')

    def _map(
        self, con: duckdb.DuckDBPyConnection, chunk: _Chunk, in_order: bool
    ) -> None:
        """Runs the blocks of a chunk that stands under its table's name."""
        self._resolve_names(con, chunk.relation)
        for block in chunk.blocks:
            if block.kind == "stage":
                con.execute(block.sql)
            else:
                self.ctx.writer.write(con, block.table, block.sql, in_order=in_order)

    def _check_times(self, con: duckdb.DuckDBPyConnection, relation: Relation) -> None:
        """Drops rows that have no time, counted; an end that is no time is NULL."""
        if "start" not in relation.columns:
            return
        table = f'temp."{relation.name}"'
        ((dropped,),) = con.execute(
            f'DELETE FROM {table} WHERE "start" IS NULL OR "start" NOT BETWEEN {TIMES}'
        ).fetchall()
        if "end" in relation.columns:
            con.execute(
                f'UPDATE {table} SET "end" = NULL WHERE "end" NOT BETWEEN {TIMES}'
            )
        self._find(
            "rows_without_time",
            "data_loss",
            "Rows have no start, or one that is no time: they are left out.",
            dropped,
            relation.name,
        )

    def _resolve_names(
        self, con: duckdb.DuckDBPyConnection, relation: Relation
    ) -> None:
        """Makes the temporary table `names` of the strings that the chunk names."""
        ids = [c for c in relation.columns if c in _TEXT_IDS]
        if not ids:
            return
        arms = " UNION ".join(f'SELECT "{c}" AS id FROM "{relation.name}"' for c in ids)
        con.execute(
            "CREATE OR REPLACE TEMP TABLE names AS "
            "SELECT s.id, s.value, "
            "regexp_replace(s.value, '_v[0-9]{4,}$', '') AS function, "
            "regexp_matches(s.value, 'Synchronize|StreamWaitEvent') AS is_sync "
            f"FROM main.StringIds AS s SEMI JOIN ({arms}) USING (id)"
        )
        ((count,),) = con.execute("SELECT count(*) FROM names").fetchall()
        if 0 < count <= _MAX_ENUM:
            con.execute(
                "CREATE OR REPLACE TEMP TYPE chunk_name AS ENUM "
                "(SELECT DISTINCT value FROM names ORDER BY value)"
            )
            con.execute(
                "CREATE OR REPLACE TEMP TYPE chunk_function AS ENUM "
                "(SELECT DISTINCT function FROM names ORDER BY function)"
            )
            con.execute(
                "CREATE OR REPLACE TEMP TABLE names AS "
                "SELECT id, CAST(value AS chunk_name) AS value, "
                "CAST(function AS chunk_function) AS function, is_sync FROM names"
            )


def _is_in_order(con: duckdb.DuckDBPyConnection, relation: Relation) -> bool:
    """Whether the chunk is sorted by time: nsys sorts most tables, and a sort costs.

    A table without `start` never is: an event record may take its call's time.
    """
    if "start" not in relation.columns:
        return False
    ((late,),) = con.execute(
        'SELECT count(*) FROM (SELECT "start" < lag("start") OVER () AS late '
        f'FROM "{relation.name}") WHERE late'
    ).fetchall()
    return bool(late == 0)
