"""nvidia-smi's CSV logs: --query-gpu, --query-compute-apps, and wrappers of them.

A header may be missing, repeat, or change in the middle; units stand in the header, in
the values, or nowhere. Nothing quotes: a process name may hold commas.
"""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from traceql.errors import UsageError
from traceql.importers import Context, Head
from traceql.importers._smi import create_tables, map_samples
from traceql.importers._smi import text as texts

if TYPE_CHECKING:
    import duckdb

_NAME = r"[A-Za-z_][\w.]*(?: \[[^\]]*\])?"
# Names that nvidia-smi alone gives: with a dot, or with a unit.
_OWN = re.compile(
    r"(?:(?:utilization|memory|power|enforced|module|clocks\w*|temperature|pcie|pci|ecc|"
    r"fan|encoder|retired_pages|remapped_rows|mig|driver_model|inforom|gom|compute|"
    r"accounting|vgpu\w*|fabric|bbx)\.[\w.]+(?: \[[^\]]+\])?|pstate|compute_cap|"
    r"used_(?:gpu_)?memory(?: \[\w+\])?|(?:gpu|mem)_utilization \[%\]|gpu_uuid|"
    r"gpu_bus_id|max_memory_usage \[MiB\])"
)
_VALUE = (
    r"[-+]?[0-9]+(\.[0-9]*)?( ?(%|MiB|W|MHz|C|us|ms|KB/s))?|\[[^\]]*\]|N/A|-"
    r"|[0-9]{2,4}[-/][0-9]{2}[-/][0-9]{2,4}.*"
)
_STAMP = re.compile(r"\d{4}/\d\d/\d\d \d\d:\d\d:\d\d\.\d{3}")
_UNIT = re.compile(r"\d+(?:\.\d+)? (?:%|MiB|W|MHz)")
_MISSING = re.compile(
    r"\[(?:N/A|Not Supported|Unknown Error|GPU is lost|Function Not Found)\]"
)
_DCGM = ("gpuid", "timestampus", "field", "values")
_WORDS = re.compile(r"gpu|util|mem|power|temp|fan", re.IGNORECASE)
_TIMES = re.compile(r"time|date|elapsed|second", re.IGNORECASE)


class NvidiaSmiCsv:
    """Importer of logs with commas."""

    name = "nvidia-smi-csv"
    version = 3
    title = "nvidia-smi --query-gpu or --query-compute-apps as CSV"

    def sniff(self, head: Head) -> float:
        """Sure by the header's names, or by the form of the values."""
        lines = [row for row in texts.beginning(head.data).split("\n") if row.strip()]
        if not lines:
            return 0.0
        first = [cell.strip() for cell in lines[0].split(",")]
        if any(_OWN.fullmatch(cell) for cell in first):
            return 0.9
        if tuple(cell.lower() for cell in first) == _DCGM:
            return 0.9
        second = [cell.strip() for cell in lines[1].split(",")] if lines[1:] else []
        return max(_headerless(first, second), _wrapped(first, second))

    def read(
        self, path: Path, con: duckdb.DuckDBPyConnection, ctx: Context
    ) -> dict[str, Any]:
        """Imports one log; see `Importer.read`."""
        with tempfile.TemporaryDirectory(prefix="traceql-") as scratch:
            copied = texts.utf8_copy(path, Path(scratch) / "log.csv")
            create_tables(con)
            _stage(con, copied, ctx.columns)
            dropped = con.execute(
                "SELECT count(*), min('line ' || line) FROM ragged"
            ).fetchall()
            ctx.diagnostics.add(
                "ragged_lines",
                "data_loss",
                "Lines with more cells than the header: they are left out.",
                count=dropped[0][0],
                example=dropped[0][1],
            )
            return map_samples(con, ctx, copied)


IMPORTER = NvidiaSmiCsv()


def _headerless(first: list[str], second: list[str]) -> float:
    if len(first) < 2 or any('"' in cell for cell in first):
        return 0.0
    marked = sum(bool(_UNIT.fullmatch(c) or _MISSING.fullmatch(c)) for c in first)
    if _STAMP.fullmatch(first[0]) and len(first) > 1:
        return 0.8 if marked else 0.6
    # Without a time, only nvidia-smi's own words tell it from any other CSV.
    said = [*first, *second] if len(first) == len(second) else first
    return 0.5 if any(_MISSING.fullmatch(cell) for cell in said) else 0.0


def _wrapped(first: list[str], second: list[str]) -> float:
    """A header in a wrapper's own words: a time, and three things that GPUs have."""
    if len(first) < 3 or any(re.fullmatch(_VALUE, cell) for cell in first):
        return 0.0
    numbers = sum(bool(re.match(r'"?[-+]?\d', cell)) for cell in second)
    words = sum(bool(_WORDS.search(cell)) for cell in first)
    timed = any(_TIMES.search(cell) for cell in first)
    return 0.3 if timed and words >= 3 and numbers >= 3 else 0.0


def _stage(
    con: duckdb.DuckDBPyConnection, copied: texts.Copied, columns: tuple[str, ...]
) -> None:
    """Fills `source_column` and `line_cell`.

    Raises:
        UsageError: `columns` does not fit: see `_check_names`.
    """
    path = str(copied.path).replace("'", "''")
    ((width,),) = con.execute(
        "SELECT coalesce(max(len(string_split(l, ','))), 1) FROM read_csv("
        f"'{path}', auto_detect = false, header = false, columns = {{'l': 'VARCHAR'}}, "
        "delim = '\\x01', quote = '', escape = '', max_line_size = 10000000)"
    ).fetchall()
    names = [f"c{number}" for number in range(1, width + 1)]
    trimmed = ", ".join(f"trim({name})" for name in names)
    typed = ", ".join(f"'{name}': 'VARCHAR'" for name in names)
    con.execute(
        "CREATE TABLE record AS SELECT row_number() OVER () AS line, "
        f"[{trimmed}] AS cells FROM read_csv('{path}', "
        f"auto_detect = false, header = false, columns = {{{typed}}}, "
        "delim = ',', quote = '\"', escape = '\"', nullstr = '\\x01', "
        "parallel = false, null_padding = true, strict_mode = false, "
        "max_line_size = 10000000)"
    )
    # What DuckDB pads is no cell.
    con.execute(
        "UPDATE record SET cells = list_filter(cells, lambda c: c IS NOT NULL);"
        "DELETE FROM record WHERE array_to_string(cells, '') = ''"
    )
    con.execute(
        _HEADERS, {"own": _OWN.pattern, "value": _VALUE, "named": bool(columns)}
    )
    con.execute(
        "CREATE VIEW nameless AS SELECT cells FROM record WHERE line < "
        "(SELECT coalesce(min(line), 9223372036854775807) FROM header_line)"
    )
    if columns:
        _check_names(con, len(columns))
    con.execute(_HEADER, {"columns": list(columns) or None})
    con.execute(_CELLS, {"whole": copied.whole})


def _check_names(con: duckdb.DuckDBPyConnection, named: int) -> None:
    """Refuses names of columns that are not those of the lines without a header."""
    ((widths,),) = con.execute(
        "SELECT list_sort(list(DISTINCT len(cells))) FROM nameless"
    ).fetchall()
    if not widths:
        raise UsageError(
            "--columns: the log has a header, which names its columns",
            hint="Leave --columns out.",
        )
    if named not in widths:
        raise UsageError(
            f"--columns names {named} columns, but the lines of the log have "
            + " or ".join(map(str, widths)),
            hint="Name every column of the log, in order.",
        )


# A header is a line of names: nvidia-smi's own, or the first line again.
_HEADERS = """
CREATE TABLE header_line AS
WITH first_line AS (SELECT min_by(cells, line) AS cells FROM record),
candidate AS (
    SELECT
        r.line, r.cells, r.cells = f.cells AS is_first,
        len(list_filter(r.cells, lambda c: regexp_full_match(c, $own))) AS own_count
    FROM record AS r
    CROSS JOIN first_line AS f
    WHERE regexp_matches(r.cells[1], '^[A-Za-z_]')
        AND len(list_filter(r.cells, lambda c: regexp_full_match(c, $value))) = 0
)
SELECT line, cells
FROM candidate
WHERE own_count > 0 OR is_first AND len(cells) > 1 AND NOT $named
"""

_HEADER = """
CREATE TABLE header AS
WITH told AS (
    SELECT CAST(row_number() OVER (ORDER BY line) AS INTEGER) AS header_id, cells
    FROM (SELECT cells, min(line) AS line FROM header_line GROUP BY cells)
    UNION ALL
    -- Before any header, or without one: what the user says, else positions.
    SELECT
        0,
        coalesce(
            CAST($columns AS VARCHAR[]),
            list_transform(range(1, max(len(cells)) + 1), lambda i: 'column ' || i)
        )
    FROM nameless
    HAVING count(*) > 0
)
SELECT
    header_id, cells,
    CASE
        WHEN len(list_filter(
            cells, lambda c: regexp_full_match(c, '(?i)pid( \\[.*\\])?')
        )) > 0 THEN 'apps' ELSE 'csv'
    END AS dialect
FROM told
"""

_CELLS = """
CREATE TABLE header_column AS
SELECT
    header_id, dialect, position,
    CAST(header_id * 10000 + position AS INTEGER) AS column_id,
    trim(regexp_extract(cell, '^(.*?)(?: ?\\[([^\\]]*)\\])?$', 1)) AS name,
    nullif(regexp_extract(cell, '^(.*?)(?: ?\\[([^\\]]*)\\])?$', 2), '') AS unit
FROM (
    SELECT
        header_id, dialect, unnest(cells) AS cell,
        unnest(range(1, len(cells) + 1)) AS position
    FROM header
);

-- A time of the form of nvidia-smi needs no name; a column asked for twice counts once.
UPDATE header_column SET name = 'timestamp'
WHERE name LIKE 'column %' AND EXISTS (
    SELECT 1 FROM record
    WHERE regexp_full_match(
        record.cells[position], '\\d{4}/\\d\\d/\\d\\d \\d\\d:\\d\\d:\\d\\d\\.\\d+'
    )
);
DELETE FROM header_column AS later
WHERE EXISTS (
    SELECT 1 FROM header_column AS earlier
    WHERE earlier.header_id = later.header_id AND earlier.name = later.name
        AND earlier.position < later.position
);

INSERT INTO source_column
SELECT column_id, dialect, name, unit FROM header_column;

CREATE TABLE data_line AS
WITH marks AS (
    SELECT h.line, header.header_id
    FROM header_line AS h
    JOIN header ON header.cells = h.cells AND header.header_id > 0
),
placed AS (
    SELECT r.line, r.cells, coalesce(m.header_id, 0) AS header_id
    FROM record AS r
    ASOF LEFT JOIN marks AS m ON m.line <= r.line
    WHERE r.line NOT IN (SELECT line FROM header_line)
)
SELECT
    p.line, p.header_id, len(h.cells) AS width, h.dialect,
    len(p.cells) - len(h.cells) AS surplus,
    list_position(
        list_transform(h.cells, lambda c: lower(c) IN ('name', 'process_name')), true
    ) AS process_position,
    p.cells
FROM placed AS p
JOIN header AS h ON h.header_id = p.header_id;

-- An unquoted process name may hold commas: its cells are put together again.
UPDATE data_line SET surplus = 0, cells = list_concat(
    list_concat(
        cells[:process_position - 1],
        [array_to_string(
            cells[process_position:process_position + surplus], ','
        )]
    ),
    cells[process_position + surplus + 1:]
)
WHERE surplus > 0 AND dialect = 'apps' AND process_position > 0;

CREATE TABLE ragged AS SELECT line FROM data_line WHERE surplus > 0;

-- The last line may have been cut where it ends: a cell short of the others has no
-- text, and one that may be short of its unit is marked.
INSERT INTO line_cell
WITH last_line AS (SELECT max(line) AS line FROM record WHERE NOT $whole)
SELECT
    d.line, c.column_id,
    CASE
        WHEN d.line = last_line.line AND c.position = len(d.cells) AND d.surplus < 0
        THEN NULL
        ELSE d.cells[c.position]
    END,
    coalesce(d.line = last_line.line AND c.position = d.width, false)
FROM data_line AS d
CROSS JOIN last_line
JOIN header_column AS c ON c.header_id = d.header_id
WHERE d.surplus <= 0;
"""
