"""nvidia-smi's dmon and pmon logs: tables with blanks, under lines that begin with #.

Columns come and go with drivers and options: only the header says what they are. It
repeats in long logs, and may change where logs were joined.
"""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from traceql.importers import Context, Head
from traceql.importers._smi import create_tables, map_samples
from traceql.importers._smi import text as texts

if TYPE_CHECKING:
    import duckdb

_HEADER = re.compile(r"#\s*(?:(?:Date|Time)\s+){0,2}gpu(?:Idx)?\s+(?:\S+\s+)*?(\S+)\s*")


class NvidiaSmiMonitor:
    """Importer of dmon and pmon logs."""

    name = "nvidia-smi-monitor"
    version = 3
    title = "nvidia-smi dmon or pmon"

    def sniff(self, head: Head) -> float:
        """Sure by the first line: the names of the columns."""
        lines = texts.beginning(head.data).split("\n")
        first = next((line for line in lines if line.strip()), "")
        return 0.9 if _HEADER.fullmatch(first) else 0.0

    def read(
        self, path: Path, con: duckdb.DuckDBPyConnection, ctx: Context
    ) -> dict[str, Any]:
        """Imports one log; see `Importer.read`."""
        with tempfile.TemporaryDirectory(prefix="traceql-") as scratch:
            copied = texts.utf8_copy(path, Path(scratch) / "log.txt")
            create_tables(con)
            quoted = str(copied.path).replace("'", "''")
            con.execute(
                "CREATE TABLE record AS "
                "SELECT row_number() OVER () AS line, rtrim(text) AS text "
                f"FROM read_csv('{quoted}', auto_detect = false, header = false, "
                "columns = {'text': 'VARCHAR'}, delim = '\\x01', quote = '', "
                "escape = '', parallel = false, max_line_size = 10000000)"
            )
            con.execute(f"CREATE MACRO is_whole() AS {copied.whole}")
            con.execute(_CELLS)
            ((count, example),) = con.execute(
                "SELECT count(*), min_by(text, line) FROM misfit"
            ).fetchall()
            ctx.diagnostics.add(
                "ragged_lines",
                "data_loss",
                "Lines that are no sample under their header: they are left out.",
                count=count,
                example=example,
            )
            return map_samples(con, ctx, copied)


IMPORTER = NvidiaSmiMonitor()

# The line of units follows the line of names. A command may hold blanks: it is the last
# column and takes what is left.
_CELLS = """
CREATE TABLE words AS
SELECT
    line, text, starts_with(text, '#') AS is_comment,
    string_split_regex(trim(ltrim(trim(text), '#')), '\\s+') AS cells
FROM record
WHERE trim(text) <> '';

CREATE TABLE header_line AS
SELECT n.line, n.text, n.cells, u.cells AS units
FROM words AS n
LEFT JOIN words AS u
    ON u.line = n.line + 1 AND u.is_comment AND len(u.cells) = len(n.cells)
WHERE n.is_comment AND list_contains(n.cells, 'gpu');

CREATE TABLE header AS
SELECT
    CAST(row_number() OVER (ORDER BY min(line)) AS INTEGER) AS header_id, cells, units,
    CASE WHEN list_contains(cells, 'pid') THEN 'pmon' ELSE 'dmon' END AS dialect
FROM header_line
GROUP BY cells, units;

CREATE TABLE header_column AS
SELECT
    header_id, dialect, position,
    CAST(header_id * 10000 + position AS INTEGER) AS column_id,
    cells[position] AS name, units[position] AS unit
FROM (
    SELECT *, unnest(range(1, len(cells) + 1)) AS position
    FROM header
);

INSERT INTO source_column SELECT column_id, dialect, name, unit FROM header_column;

CREATE TABLE data_line AS
WITH placed AS (
    SELECT w.line, w.text, w.cells, h.cells AS names, h.units, h.text AS header_text
    FROM words AS w
    ASOF LEFT JOIN header_line AS h ON h.line <= w.line
    WHERE NOT w.is_comment
),
last_line AS (SELECT max(line) AS line FROM record)
SELECT
    p.line, p.text, h.header_id, len(p.names) AS width,
    CASE
        WHEN lower(p.names[-1]) IN ('command', 'name') AND len(p.cells) > len(p.names)
        THEN list_append(
            p.cells[:len(p.names) - 1],
            array_to_string(p.cells[len(p.names):], ' ')
        )
        ELSE p.cells
    END AS cells,
    p.cells[list_position(p.names, 'gpu')] AS gpu,
    -- Figures stand to the right: a line that was cut ends before its header does.
    NOT is_whole() AND p.line = last_line.line
        AND length(p.text) < length(p.header_text) AS is_cut
FROM placed AS p
CROSS JOIN last_line
LEFT JOIN header AS h
    ON h.cells = p.names AND h.units IS NOT DISTINCT FROM p.units;

-- dmon prints every column: a line of fewer was wrapped, and what follows it begins
-- with some figure, not with a GPU. Only where a log ends may a line be cut, and there
-- too one after a short line is the rest of that.
CREATE TABLE misfit AS
WITH measured AS (
    SELECT
        w.line, w.text, w.is_comment, d.gpu, len(d.cells) > d.width AS is_long,
        coalesce(len(d.cells) < d.width AND h.dialect = 'dmon', false) AS is_short
    FROM words AS w
    LEFT JOIN data_line AS d ON d.line = w.line
    LEFT JOIN header AS h ON h.header_id = d.header_id
),
neighboured AS (
    SELECT
        *, lead(is_comment, 1, true) OVER (ORDER BY line) AS is_end,
        lag(is_short, 1, false) OVER (ORDER BY line) AS is_rest
    FROM measured
)
SELECT line, text
FROM neighboured
WHERE NOT is_comment AND (
    is_long OR TRY_CAST(gpu AS INTEGER) IS NULL
    OR is_short AND (is_rest OR NOT is_end)
);

INSERT INTO line_cell
SELECT
    d.line, c.column_id,
    CASE WHEN d.is_cut AND c.position = len(d.cells) THEN NULL
        ELSE d.cells[c.position] END,
    false
FROM data_line AS d
JOIN header_column AS c ON c.header_id = d.header_id
WHERE d.line NOT IN (SELECT line FROM misfit);
"""
