"""DLProf's CSV reports: NAME_summary.csv, NAME_detailed.csv and their like.

A report has a title, then a header, then rows; the summary has sections instead. Read
by the header's names: releases differ in columns.
"""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb

from traceql.errors import ImportFailed
from traceql.importers import Context, Head
from traceql.importers._once import run_mapping
from traceql.importers._tables import declared
from traceql.mapping import read_mapping

if TYPE_CHECKING:
    from collections.abc import Iterator

_HERE = Path(__file__).parent
_SCHEMA = "dlprof_report"
# Title -> relation, and a column that its header must have.
_REPORTS = {
    "All Iterations": ("detailed", "Using TC"),
    "Iteration Report": ("iteration_report", "GPU Start Time (ns)"),
    "Kernel Report": ("kernel_report", "Kernel Name"),
    "Tensor Core Report": ("tensor_core", "TC GPU Time (ns)"),
    "Op Type Summary Report": ("op_type_report", "Op Type"),
    "Group Op Report": ("group_op", "Num Calls Aggregated"),
    "Expert Systems Feedback": ("expert_systems", "Recommendation"),
    "System Config": ("summary", "GPU Count"),
}
_BOM = "\ufeff"
# Values of these look like numbers at times and are names.
_TEXT = frozenset(
    {
        *("Op ID", "Op Name", "Op Type", "Direction", "Name", "Kernel Name"),
        *("Data Type", "Data Types", "Input Shapes", "Output Shapes", "Parameters"),
        *("Stack Trace", "Long Kernel Name", "TC Kernel Names", "Non-TC Kernel Names"),
        *("Problem", "Recommendation"),
    }
)


class DlprofReport:
    """Importer of one CSV report of DLProf."""

    name = "dlprof-report"
    version = 1
    title = "DLProf report (CSV)"

    def sniff(self, head: Head) -> float:
        """Sure by the title and a column of the header."""
        text = head.data[:4096].decode("utf-8", "replace").lstrip(_BOM)
        return 0.95 if _kind(text) else 0.0

    def read(
        self, path: Path, con: duckdb.DuckDBPyConnection, ctx: Context
    ) -> dict[str, Any]:
        """Imports one report; see `Importer.read`.

        Raises:
            ImportFailed: The file is no such report.
        """
        return read_report(path, con, ctx, file_name=None, with_events=True)


IMPORTER = DlprofReport()


def read_report(
    path: Path,
    con: duckdb.DuckDBPyConnection,
    ctx: Context,
    *,
    file_name: str | None,
    with_events: bool,
) -> dict[str, Any]:
    """Imports one report.

    Args:
        path: The file.
        con: Connection to import through.
        ctx: What the importer works with.
        file_name: What its rows say that they stand in; None: the run is this file.
        with_events: Whether kernels, devices and advice are its to tell; no other
            source of the run does.

    Returns:
        Columns of the run table.

    Raises:
        ImportFailed: The file is no such report.
    """
    with path.open(encoding="utf-8", errors="replace") as file:
        kind = _kind(file.read(4096).lstrip(_BOM))
    if kind is None:
        raise ImportFailed(
            f"{path}: no report of DLProf",
            hint="Reports begin with a title such as All Iterations, then a header.",
        )
    con.execute(
        f"DROP SCHEMA IF EXISTS {_SCHEMA} CASCADE; CREATE SCHEMA {_SCHEMA}; "
        f"SET schema = '{_SCHEMA}'"
    )
    try:
        relations = declared(con, (_HERE / "dlprof_report_source.sql").read_text())
        if kind == "summary":
            _load_summary(path, con)
        else:
            _load_table(path, con, ctx, kind, relations[kind].columns)
        name = "NULL" if file_name is None else _quoted(file_name)
        con.execute(
            f"CREATE MACRO file_name() AS {name}; "
            f"CREATE MACRO with_events() AS {with_events}"
        )
        mappings = [_HERE / "dlprof_report.sql"]
        if with_events:
            mappings.append(_HERE / "dlprof_report_events.sql")
        return run_mapping(con, ctx, read_mapping(*mappings))
    finally:
        con.execute("SET schema = 'main'")


def _kind(text: str) -> str | None:
    """The relation of the report that a text is the beginning of, or None."""
    title, _, rest = text.partition("\n")
    found = _REPORTS.get(title.strip().strip('"'))
    if found is None:
        return None
    relation, column = found
    header = rest.partition("\n")[0]
    return relation if column in header else None


def _load_table(
    path: Path,
    con: duckdb.DuckDBPyConnection,
    ctx: Context,
    relation: str,
    declared_columns: dict[str, str],
) -> None:
    """Loads a report of one table by the names of its header."""
    # Stack traces go over several lines: one thread reads, and no line is a row.
    options = (
        "skip = 1, header = true, all_varchar = true, delim = ',', quote = '\"', "
        "escape = '\"', parallel = false, max_line_size = 16000000, "
        "ignore_errors = true, store_rejects = true, rejects_limit = 0"
    )
    con.execute(
        "CREATE TEMP TABLE report_line AS SELECT row_number() OVER () AS row_number, * "
        f"FROM read_csv({_quoted(str(path))}, {options})"
    )
    ((rejected,),) = con.execute("SELECT count(*) FROM reject_errors").fetchall()
    first = con.execute("SELECT csv_line FROM reject_errors LIMIT 1").fetchall()
    ctx.diagnostics.add(
        "damaged_rows",
        "data_loss",
        "Rows of a report do not have the columns of its header: they are left out.",
        count=rejected,
        example=f"{path.name}: {(first[0][0] or '')[:200]}" if first else None,
    )
    present = [str(row[0]) for row in con.execute("DESCRIBE report_line").fetchall()]
    named = [name for name in present if name != "row_number"]
    fields = ", ".join(f"{_quoted(n)}: {_field(n)}" for n in named)
    taken = [n for n in declared_columns if n in named]
    columns = "".join(f", nullif({_name(n)}, '') AS {_name(n)}" for n in taken)
    con.execute(
        f"INSERT INTO {relation} BY NAME SELECT row_number, "
        f"json_merge_patch('{{}}', to_json({{{fields}}})) AS fields{columns} "
        "FROM report_line ORDER BY row_number"
    )
    con.execute("DROP TABLE temp.report_line")


def _field(name: str) -> str:
    """A column's value as JSON: a number where the report has one."""
    text = f"nullif({_name(name)}, '')"
    if name in _TEXT:
        return f"to_json({text})"
    return f"coalesce(to_json(TRY_CAST({text} AS BIGINT)), " + (
        f"to_json(TRY_CAST({text} AS DOUBLE)), to_json({text}))"
    )


def _name(column: str) -> str:
    return '"' + column.replace('"', '""') + '"'


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _load_summary(path: Path, con: duckdb.DuckDBPyConnection) -> None:
    """Loads the summary: sections, each a title over names with values or a table."""
    rows, gpu_names = [], list[str]()
    text = path.read_text(encoding="utf-8", errors="replace").lstrip(_BOM)
    for section, number, read, header in _summary_rows(text):
        cells = read
        if cells[0] == "GPU Name(s)":
            # Several names stand side by side, with bare commas between them.
            gpu_names = [name.strip() for name in cells[1:] if name.strip()]
            cells = [cells[0], ", ".join(gpu_names)]
        names = header[1:] if header else ["value"]
        values = dict(zip(names, cells[1:], strict=False))
        known = {name: value for name, value in values.items() if value != ""}
        rows.append(
            (
                number,
                json.dumps({n: _number(v) for n, v in known.items()}),
                section,
                cells[0],
                *(
                    known.get(n)
                    for n in (
                        *("value", "GPU Time (ns)", "CPU Time (ns)"),
                        *("# Ops", "# Kernels"),
                    )
                ),
            )
        )
    if rows:
        con.executemany("INSERT INTO summary VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)
    if gpu_names:
        con.executemany(
            "INSERT INTO gpu_name VALUES (?, ?)", list(enumerate(gpu_names))
        )


def _summary_rows(text: str) -> Iterator[tuple[str, int, list[str], list[str]]]:
    """Section, place in it, cells and, in a table, its header."""
    section, header, number = "", list[str](), 0
    awaits_title = True
    for cells in csv.reader(io.StringIO(text, newline="")):
        if not any(cell.strip() for cell in cells):
            awaits_title = True
        elif awaits_title:
            section, header, number = cells[0].strip(), [], 0
            awaits_title = False
        elif cells[0] == "" and not header:
            header = cells
        else:
            number += 1
            yield section, number, cells, header


def _number(text: str) -> int | float | str:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
