"""What DLProf leaves in a folder: its database and the capture that it was made of.

The capture has streams, correlations, launches and all that runs outside of
operations; the database has the operations, iterations and advice. One run holds both
where their kernels are the same; else each is a run of its own.
"""

from __future__ import annotations

import json
import sqlite3
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from traceql.errors import ImportFailed
from traceql.importers import (
    Context,
    Head,
    _dlprof_pair,
    _nsight,
    detect,
    dlprof_report,
    dlprof_sqlite,
    nsight_report,
    read_head,
    registry,
)
from traceql.importers._sqlite import SqliteSource, settled

if TYPE_CHECKING:
    import duckdb

_HERE = Path(__file__).parent
_EVENT_FILES = "event_files"  # TensorBoard's copy of what the database holds
_HINT = "Name the two files to import each alone."


class DlprofFolder:
    """Importer of folders that hold one DLProf database and its capture."""

    name = "dlprof-folder"
    version = 1
    title = "DLProf database with its Nsight Systems capture (a folder)"

    def sniff(self, head: Head) -> float:
        """Sure of one database, one capture with its kernels, and reports of it."""
        return 0.95 if not head.data and _pair(head) else 0.0

    def read(
        self, path: Path, con: duckdb.DuckDBPyConnection, ctx: Context
    ) -> dict[str, Any]:
        """Imports both as one run; see `Importer.read`.

        A report can be compared only once it is exported: where it does not match, or
        no nsys reads it, the database is imported alone.

        Raises:
            ImportFailed: A file is damaged.
        """
        pair = _pair(read_head(path))
        if pair is None:
            raise ImportFailed(
                f"{path}: no DLProf database with its capture", hint=_HINT
            )
        database, capture = pair
        with ExitStack() as stack:
            try:
                export = capture
                if capture.suffix != ".sqlite":
                    export = nsight_report.as_sqlite(capture, stack, ctx)
                differs = _dlprof_pair.difference(database, export)
            except ImportFailed as error:
                differs = f"{error}. {error.hint}"
            if differs:
                facts = dlprof_sqlite.IMPORTER.read(database, con, ctx)
                dlprof_sqlite.warn_of_other(ctx, differs)
                return facts
            _tell_what_is_left_out(path, {database, capture}, ctx)
            return _joined(database, export, con, ctx)


IMPORTER = DlprofFolder()


def _joined(
    database: Path, export: Path, con: duckdb.DuckDBPyConnection, ctx: Context
) -> dict[str, Any]:
    from adbc_driver_manager import Error

    dlprof_sqlite.load(database, con, ctx)
    known = dlprof_sqlite.map_loaded(
        con, ctx, *dlprof_sqlite.KNOWN, *dlprof_sqlite.REPORTS
    )
    try:
        with settled(export) as whole:
            facts = _nsight.import_tables(
                SqliteSource(whole), con, ctx, ops=_HERE / "dlprof_folder.sql"
            )
    except (sqlite3.Error, Error) as error:
        raise ImportFailed(
            f"{export}: the SQLite database is damaged: {error}", hint=_HINT
        ) from error
    ours = ("tool", "tool_version", "framework")
    extra = [json.loads(f["extra"]) for f in (facts, known) if f.get("extra")]
    return facts | {
        **{name: known[name] for name in ours if known.get(name) is not None},
        "extra": json.dumps({k: v for each in extra for k, v in each.items()}),
    }


def _pair(head: Head) -> tuple[Path, Path] | None:
    """The database and its capture; None where they, or another file, are no pair."""
    if not any(name.endswith(".sqlite") for name in head.entries):
        return None
    try:
        databases = _dlprof_pair.databases(head.path)
        captures = _dlprof_pair.captures(head.path)
        if len(databases) != 1 or len(captures) != 1:
            return None
        (database,), (capture,) = databases, captures
        others = _others(head.path, {database, capture})
        if any(p.is_dir() and p.name != _EVENT_FILES for p in others):
            return None
        among = {k: v for k, v in registry().items() if v is not IMPORTER}
        found = [detect(read_head(p), among) for p in others if p.is_file()]
    except OSError:
        return None
    strange = any(i is not None and i is not dlprof_report.IMPORTER for i in found)
    exported = capture.suffix == ".sqlite"
    if strange or (exported and _dlprof_pair.difference(database, capture)):
        return None
    return database, capture


def _others(folder: Path, pair: set[Path]) -> list[Path]:
    """What else lies in a folder; other forms of the capture do not count."""
    stems = {path.stem for path in pair}
    return [
        path
        for path in sorted(folder.iterdir())
        if path not in pair
        and not path.name.startswith(".")
        and not (path.stem in stems and path.suffix in (".nsys-rep", ".qdrep"))
    ]


def _tell_what_is_left_out(folder: Path, pair: set[Path], ctx: Context) -> None:
    left_out = [p.name for p in _others(folder, pair) if p.suffix in (".csv", ".json")]
    ctx.diagnostics.add(
        "reports_left_out",
        "info",
        "Reports that DLProf wrote beside its database say what the database says: "
        "name them to import them too.",
        count=len(left_out),
        example=left_out[0] if left_out else None,
    )
