"""PyProf's outputs: net.dict, a kernel a line, and the CSV of pyprof.prof.

Neither says when a kernel ran: their rows are rows of a report and no kernels. A line
of a .dict is a Python literal; it is read as one and never run.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from traceql.importers import Context, Head
from traceql.importers._literals import literal, literal_json
from traceql.importers._once import run_mapping
from traceql.mapping import read_mapping

if TYPE_CHECKING:
    import duckdb

_HERE = Path(__file__).parent
# Headers of the CSV, which the user may choose among.
_COLUMNS = frozenset(
    {
        *("Idx", "SeqId", "AltSeqId", "TId", "Layer", "Trace", "Direction", "Sub"),
        *("Module", "Op", "Kernel", "Params", "Sil(ns)", "TC", "Device", "Stream"),
        *("Grid", "Block", "FLOPs", "Bytes"),
    }
)
_SIGNS = frozenset({"Kernel", "Sil(ns)", "FLOPs", "Params"})


class PyProf:
    """Importer of PyProf's outputs."""

    name = "pyprof"
    version = 1
    title = "PyProf .dict or prof CSV"

    def sniff(self, head: Head) -> float:
        """Sure by the keys of the first dictionary, or by the CSV's header."""
        first = head.data.lstrip(b"\xef\xbb\xbf").partition(b"\n")[0]
        if first.startswith(b"{'kShortName'"):
            return 0.95
        return 0.9 if _is_header(first.decode("utf-8", "replace")) else 0.0

    def read(
        self, path: Path, con: duckdb.DuckDBPyConnection, ctx: Context
    ) -> dict[str, Any]:
        """Imports one output; see `Importer.read`."""
        con.create_function("literal_json", literal_json, ["VARCHAR"], "VARCHAR")
        con.create_function("is_dict", _is_dict, ["VARCHAR"], "BOOLEAN")
        con.execute(
            "CREATE TABLE dict_line (row_number BIGINT, text VARCHAR, fields JSON);"
            "CREATE TABLE prof_line (row_number BIGINT, fields JSON)"
        )
        with path.open("rb") as file:
            is_dict = not _is_header(file.readline().decode("utf-8", "replace"))
        quoted = "'" + str(path).replace("'", "''") + "'"
        if is_dict:
            con.execute(
                "INSERT INTO dict_line "
                "SELECT row_number() OVER (), text, "
                "CASE WHEN is_dict(text) THEN literal_json(text) END "
                f"FROM read_csv({quoted}, auto_detect = false, header = false, "
                "columns = {'text': 'VARCHAR'}, delim = '\\x01', quote = '', "
                "escape = '', parallel = false, max_line_size = 16000000, "
                "ignore_errors = true) WHERE trim(text) <> ''"
            )
        else:
            con.execute(
                "INSERT INTO prof_line "
                "SELECT row_number() OVER (), to_json(r) "
                f"FROM read_csv({quoted}, header = true, all_varchar = true, "
                "delim = ',', quote = '\"', escape = '\"', parallel = false, "
                "ignore_errors = true, store_rejects = true, rejects_limit = 0, "
                "max_line_size = 16000000) AS r"
            )
            ((count, example),) = con.execute(
                "SELECT count(*), min_by(csv_line, line) FROM reject_errors"
            ).fetchall()
            ctx.diagnostics.add(
                "damaged_rows",
                "data_loss",
                "Rows of a report do not have the columns of its header: they are "
                "left out.",
                count=count,
                example=example and example[:200],
            )
        return run_mapping(con, ctx, read_mapping(_HERE / "pyprof.sql"))


IMPORTER = PyProf()


def _is_header(line: str) -> bool:
    cells = [cell.strip().strip('"') for cell in line.lstrip("\ufeff").split(",")]
    names = set(cells)
    return len(names & _SIGNS) >= 2 and len(names - _COLUMNS) == 0


def _is_dict(text: str) -> bool:
    try:
        value = literal(text)
    except ValueError:
        return False
    return isinstance(value, dict) and "kShortName" in value
