"""Runs a mapping over relations that are loaded whole: no chunks, one thread.

For sources that are small beside a trace: databases and reports of what a profiler has
already summed up.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from traceql import nesting

if TYPE_CHECKING:
    import duckdb

    from traceql.importers import Context
    from traceql.mapping import Block, Phase


def run_mapping(
    con: duckdb.DuckDBPyConnection, ctx: Context, phases: list[Phase]
) -> dict[str, Any]:
    """Runs the blocks of all phases in order.

    Args:
        con: Connection that sees the relations.
        ctx: Where rows and findings go.
        phases: The mapping; it reads nothing in chunks.

    Returns:
        Columns of the run table.

    Raises:
        ValueError: A block is of a kind that needs chunks.
    """
    facts: dict[str, Any] = {}
    blocks = [block for phase in phases for block in phase.blocks]
    for number, block in enumerate(blocks, 1):
        if block.kind == "prepare":
            con.execute(block.sql)
        elif block.kind == "nest":
            nesting.nest(con, f"({block.sql})")
        elif block.kind == "rows" and not block.source:
            ctx.writer.write(con, block.table, block.sql)
        elif block.kind == "run":
            facts |= _facts(con, block)
        elif block.kind in ("diagnostic", "findings"):
            ctx.writer.show_written(con)
            _find(con, ctx, block)
        else:
            raise ValueError(f"no chunks here: @{block.kind} {block.source}")
        ctx.progress(number / (len(blocks) + 1))
    return facts


def _facts(con: duckdb.DuckDBPyConnection, block: Block) -> dict[str, Any]:
    result = con.execute(block.sql)
    names = [column[0] for column in result.description or ()]
    (row,) = result.fetchall()
    return dict(zip(names, row, strict=True))


def _find(con: duckdb.DuckDBPyConnection, ctx: Context, block: Block) -> None:
    found = con.execute(block.sql).fetchall()
    if block.kind == "diagnostic":
        ((count, example),) = found
        found = [(block.code, block.severity, count, block.message, example)]
    for code, severity, count, message, example in found:
        ctx.diagnostics.add(code, severity, message, count=count, example=example)
