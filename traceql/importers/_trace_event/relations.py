"""The relations that a mapping of trace events reads, over the staged table.

Invariant: times are relative to the run's origin; numbers stand for processes and
threads, also where the file names them by text.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from traceql.importers._trace_event import pairing
from traceql.importers._trace_event.mending import without_not_finite

if TYPE_CHECKING:
    import duckdb

    from traceql.importers import Context
    from traceql.importers._trace_event.layout import Layout

# 2000 to 2200, ns: stamps in it are the wall clock's.
_EPOCH = "946684800000000000 AND 7258118400000000000"
# Times beyond are no times: differences of two others cannot overflow.
_TIMES = "-4611686018427387904 AND 4611686018427387904"
_MACROS = """
CREATE MACRO row_key(ordinal, id) AS (CAST(ordinal AS BIGINT) << 40) | id;
CREATE MACRO event_key(id) AS (CAST(1 AS BIGINT) << 40) | id;
CREATE MACRO extra_of(args, other) AS
    CASE
        WHEN args IS NULL THEN CAST(other AS VARCHAR)
        WHEN other IS NULL THEN '{"args":' || args || '}'
        ELSE '{"args":' || args || ',' || other[2:]
    END;
"""
_NAMES = """
CREATE TABLE process_name_of AS
SELECT pid, arg_max(args->>'$.name', event_id) AS name
FROM event WHERE ph = 'M' AND name = 'process_name' AND args->>'$.name' <> ''
GROUP BY pid;
CREATE TABLE thread_name_of AS
SELECT pid, tid, arg_max(args->>'$.name', event_id) AS name
FROM event WHERE ph = 'M' AND name = 'thread_name' AND args->>'$.name' <> ''
GROUP BY pid, tid;
CREATE TABLE thread_seen AS
SELECT
    pid, tid, any_value(raw_pid) AS raw_pid, any_value(raw_tid) AS raw_tid,
    count(*) AS events
FROM event
WHERE ph <> 'M'
GROUP BY pid, tid
"""
_SLICES = """
SELECT
    event_id, name, cat, pid, tid, ts_ns,
    CASE WHEN dur_ns >= 0 THEN dur_ns END AS dur_ns,
    CASE WHEN dur_ns >= 0 THEN ts_ns + dur_ns END AS end_ns,
    ts_ns + greatest(coalesce(dur_ns, 0), 0) AS open_until_ns,
    args, other, id, bind_id, flow_in, flow_out,
    false AS truncated, CAST(NULL AS VARCHAR) AS end_args
FROM {event}
WHERE ph = 'X' AND ts_ns IS NOT NULL
"""
_BEGUN = """
UNION ALL
SELECT
    b.event_id, b.name, b.cat, b.pid, b.tid, b.ts_ns, p.end_ns - b.ts_ns, p.end_ns,
    p.popped_ns, b.args, b.other, b.id, b.bind_id, b.flow_in, b.flow_out,
    p.end_ns IS NULL, p.end_args
FROM {event} AS b
JOIN begin_end AS p ON p.begin_id = b.event_id{span}
WHERE b.ph = 'B'
"""


def build(
    con: duckdb.DuckDBPyConnection, layout: Layout, file_name: str, ctx: Context
) -> dict[str, Any]:
    """Makes all relations.

    Args:
        con: Connection with the table `staged.event`.
        layout: Header and trailer.
        file_name: Name of the source.
        ctx: Options of the import.

    Returns:
        Columns of the run table: source_origin_ns, origin_unix_ns, clock.
    """
    con.execute(_MACROS)
    _keys(con, layout)
    _finite(con)
    con.execute(
        f"UPDATE staged.event SET ts_ns = NULL WHERE ts_ns NOT BETWEEN {_TIMES}; "
        f"UPDATE staged.event SET dur_ns = NULL WHERE dur_ns NOT BETWEEN {_TIMES}"
    )
    facts = _origin(con, layout)
    _constants(
        con,
        origin_ns=facts["source_origin_ns"],
        origin_unix_ns=facts["origin_unix_ns"],
        clock=facts["clock"],
        file_name=file_name,
        with_samples=ctx.with_samples,
        middle_ns=_middle(con, facts["source_origin_ns"]),
    )
    con.execute(
        "CREATE TABLE text_id AS "
        "SELECT raw, (CAST(1 AS BIGINT) << 40) "
        "+ row_number() OVER (ORDER BY first_place) AS number "
        "FROM (SELECT raw, min(place) AS first_place FROM ("
        # A pid stands before the tid of its event: the numbers are always the same.
        "SELECT raw_pid AS raw, 2 * rowid AS place FROM staged.event "
        "WHERE raw_pid IS NOT NULL UNION ALL "
        "SELECT raw_tid, 2 * rowid + 1 FROM staged.event "
        "WHERE raw_tid IS NOT NULL) GROUP BY raw)"
    )
    con.execute(f"CREATE VIEW event AS {_event(con)}")
    ((begun,),) = con.execute(
        "SELECT count(*) FROM staged.event WHERE ph IN ('B', 'E')"
    ).fetchall()
    if begun:
        pairing.pair(con)
    else:
        con.execute(
            "CREATE TABLE begin_end (begin_id BIGINT, end_id BIGINT, end_ns BIGINT, "
            "popped_ns BIGINT, end_args VARCHAR); "
            "CREATE TABLE unmatched_end (event_id BIGINT, name VARCHAR)"
        )
    con.execute(f"CREATE VIEW slice_event AS {_slices(con, 'event')}")
    con.execute(_NAMES)
    return facts


def _constants(con: duckdb.DuckDBPyConnection, **values: int | str | None) -> None:
    """Facts as macros without parameters: every cursor sees them."""
    for name, value in values.items():
        text = "NULL" if value is None else str(value)
        if isinstance(value, str):
            text = "'" + value.replace("'", "''") + "'"
        con.execute(f"CREATE MACRO {name}() AS {text}")


def _middle(con: duckdb.DuckDBPyConnection, origin_ns: int) -> int | None:
    ((middle,),) = con.execute(
        "SELECT approx_quantile(ts_ns, 0.5) FROM staged.event WHERE ph <> 'M'"
    ).fetchall()
    return None if middle is None else int(middle) - origin_ns


def show_chunk(con: duckdb.DuckDBPyConnection, low: int, high: int) -> None:
    """Narrows `event`, `slice_event` and `nested` of a cursor to a span of rows."""
    span = f" AND p.begin_id BETWEEN {low} AND {high}"
    con.execute(
        f"CREATE OR REPLACE TEMP VIEW event AS {_event(con, low, high)}; "
        "CREATE OR REPLACE TEMP VIEW slice_event AS "
        f"{_slices(con, 'temp.event', span)}"
    )
    if con.execute(
        "SELECT 1 FROM duckdb_tables() WHERE table_name = 'nested' AND NOT temporary"
    ).fetchall():
        key = 1 << 40
        con.execute(
            "CREATE OR REPLACE TEMP VIEW nested AS SELECT * FROM memory.main.nested "
            f"WHERE id BETWEEN {key | low} AND {key | high}"
        )


def _event(
    con: duckdb.DuckDBPyConnection, low: int | None = None, high: int | None = None
) -> str:
    ((texts,),) = con.execute("SELECT count(*) FROM text_id").fetchall()
    pid, tid, joins = "e.pid", "e.tid", ""
    if texts:
        pid, tid = "coalesce(e.pid, p.number)", "coalesce(e.tid, t.number)"
        joins = (
            " LEFT JOIN text_id AS p ON p.raw = e.raw_pid"
            " LEFT JOIN text_id AS t ON t.raw = e.raw_tid"
        )
    where = "" if low is None else f" WHERE e.rowid BETWEEN {low} AND {high}"
    return (
        f"SELECT e.rowid AS event_id, e.* EXCLUDE (pid, tid, ts_ns), {pid} AS pid, "
        f"{tid} AS tid, e.ts_ns - origin_ns() AS ts_ns "
        f"FROM staged.event AS e{joins}{where}"
    )


def _slices(con: duckdb.DuckDBPyConnection, event: str, span: str = "") -> str:
    text = _SLICES.format(event=event)
    if con.execute("SELECT 1 FROM begin_end LIMIT 1").fetchall():
        text += _BEGUN.format(event=event, span=span)
    return text


def _keys(con: duckdb.DuckDBPyConnection, layout: Layout) -> None:
    """The table `trace_key`: what stands around the events."""
    rows = [
        {"key": key, "value": json.dumps(value), "side": side}
        for side, keys in (("header", layout.header), ("trailer", layout.trailer))
        for key, value in keys.items()
    ]
    schema = pa.schema([(n, pa.string()) for n in ("key", "value", "side")])
    con.register("key_rows", pa.Table.from_pylist(rows, schema))
    con.execute(
        "CREATE TABLE trace_key AS SELECT key, "
        "CASE WHEN json_valid(value) THEN CAST(value AS JSON) END AS value, side "
        "FROM key_rows"
    )
    con.unregister("key_rows")


def _finite(con: duckdb.DuckDBPyConnection) -> None:
    """Makes NaN and infinities in arguments null, as JSON has none."""
    rows = con.sql(
        "SELECT rowid, CAST(args AS VARCHAR) FROM staged.event "
        "WHERE (contains(args, 'NaN') OR contains(args, 'nan') "
        "OR contains(args, 'nf')) "
        r"AND regexp_matches(args, '[:\[,][-+]?(?i:nan|inf|infinity)[,}\]]')"
    ).to_arrow_table()
    if not rows.num_rows:
        return
    mended = pa.table(
        {
            "row": rows.column(0),
            "args": pa.array(
                [without_not_finite(t) for t in rows.column(1).to_pylist()], pa.string()
            ),
        }
    )
    con.register("finite_rows", mended)
    con.execute(
        "UPDATE staged.event AS e SET args = f.args FROM finite_rows AS f "
        "WHERE e.rowid = f.row"
    )
    con.unregister("finite_rows")


def _origin(con: duckdb.DuckDBPyConnection, layout: Layout) -> dict[str, Any]:
    """Where the run's time begins.

    Stamps of the wall clock lose their earliest one; others are kept as they are.
    """
    ((first, epochs, others),) = con.execute(
        f"SELECT min(ts_ns) FILTER (ts_ns BETWEEN {_EPOCH}), "
        f"count(*) FILTER (ts_ns BETWEEN {_EPOCH}), "
        f"count(*) FILTER (ts_ns NOT BETWEEN {_EPOCH}) "
        "FROM staged.event WHERE ph <> 'M'"
    ).fetchall()
    if epochs > others:
        return {
            "source_origin_ns": first,
            "origin_unix_ns": first,
            "clock": "trace_start",
        }
    base = (layout.header | layout.trailer).get("baseTimeNanoseconds")
    known = isinstance(base, int) and 0 < base < 1 << 62
    return {
        "source_origin_ns": 0,
        "origin_unix_ns": base if known else None,
        "clock": "trace_start" if known else "none",
    }
