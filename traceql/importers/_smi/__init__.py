"""nvidia-smi's logs: cells of text become samples, properties and reasons.

A reader brings a log in as two tables: `source_column(column_id, dialect, name, unit)`
and `line_cell(line, column_id, text, cut)`. `samples.sql` says what they mean, with
`columns.csv` for the names: what a column is, and what the same figure is called in
`--query-gpu`. A line is one sample of one GPU, or of one process on it.

Invariant: a value is a number that the log states; anything else is NULL with a reason.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import duckdb

    from traceql.importers import Context
    from traceql.importers._smi.text import Copied

__all__ = ["create_tables", "map_samples"]

_HERE = Path(__file__).parent


def create_tables(con: duckdb.DuckDBPyConnection) -> None:
    """Makes the tables that a reader fills."""
    con.execute(
        "CREATE TABLE source_column ("
        "column_id INTEGER, dialect VARCHAR, name VARCHAR, unit VARCHAR);"
        "CREATE TABLE line_cell ("
        "line BIGINT, column_id INTEGER, text VARCHAR, cut BOOLEAN)"
    )


def map_samples(
    con: duckdb.DuckDBPyConnection, ctx: Context, copied: Copied
) -> dict[str, Any]:
    """Maps a log that was read to the schema.

    Args:
        con: Connection with the tables of `create_tables`, filled.
        ctx: Where rows and findings go.
        copied: The log's text.

    Returns:
        Columns of the run table.
    """
    from traceql.importers._once import run_mapping
    from traceql.mapping import read_mapping

    rules = str(_HERE / "columns.csv").replace("'", "''")
    con.execute(
        "CREATE TABLE column_rule AS SELECT row_number() OVER () AS ordinal, * FROM "
        f"read_csv('{rules}', header = true, all_varchar = true, nullstr = '', "
        "delim = ',', parallel = false)"
    )
    con.execute(
        "CREATE TABLE import_option AS SELECT CAST(? AS BOOLEAN) AS keep_environment",
        [ctx.keep_environment],
    )
    ctx.diagnostics.add(
        "bad_bytes",
        "warning",
        "Bytes of the log are no text: they became U+FFFD.",
        count=copied.bad_count,
    )
    return run_mapping(con, ctx, read_mapping(_HERE / "samples.sql"))
