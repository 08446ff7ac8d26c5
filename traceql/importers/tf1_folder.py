"""A folder of TensorFlow 1 timelines: one run, an iteration a file.

A loop that traces some of its calls of session.run writes a file for each. They are
told from timelines of other programs by their names, which differ only in numbers.
"""

from __future__ import annotations

import hashlib
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from traceql.importers import HEAD_BYTES, Context, Head, detect, read_head
from traceql.importers._trace_event import map_staged
from traceql.importers.tf1_timeline import DIALECT

if TYPE_CHECKING:
    import duckdb

_ENDING = re.compile(r"\.(?:json|gz|zst)$", re.IGNORECASE)
_PACKED = re.compile(r"\.(?:gz|zst)$", re.IGNORECASE)
_NUMBER = re.compile(r"\d+")
_STAGED_SHARE = 0.4
# A plane has the same process in every file; arrows and objects are a file's own.
_ADD = """
INSERT INTO staged.timeline_event BY NAME
SELECT
    e.* REPLACE (
        CASE WHEN p.number IS NOT NULL THEN p.number
            ELSE ({number} + 1) * 1000000 + e.pid END AS pid,
        CASE WHEN e.id IS NOT NULL THEN {number} || ':' || e.id END AS id
    )
FROM staged.event AS e
LEFT JOIN (
    SELECT s.pid, k.number
    FROM (
        SELECT pid, arg_max(args->>'$.name', rowid) AS name
        FROM staged.event WHERE ph = 'M' AND name = 'process_name' GROUP BY pid
    ) AS s
    JOIN timeline_process AS k ON k.name = s.name
) AS p ON p.pid = e.pid
ORDER BY e.rowid
"""
_PROCESSES = """
INSERT INTO timeline_process
SELECT (SELECT count(*) FROM timeline_process) + row_number() OVER (ORDER BY first) - 1,
    name
FROM (
    SELECT args->>'$.name' AS name, min(rowid) AS first
    FROM staged.event WHERE ph = 'M' AND name = 'process_name' GROUP BY ALL
)
WHERE name IS NOT NULL AND name NOT IN (SELECT name FROM timeline_process)
"""


class Tf1Folder:
    """Importer of folders that hold the timelines of one program."""

    name = "tf1-folder"
    # Its answers are those of the mapping that it shares.
    version = DIALECT.version
    title = "TensorFlow 1 timelines (a folder)"

    def sniff(self, head: Head) -> float:
        """Sure of a folder of timelines alike by name, and of no other capture."""
        return 0.95 if _timelines(head) else 0.0

    def read(
        self, path: Path, con: duckdb.DuckDBPyConnection, ctx: Context
    ) -> dict[str, Any]:
        """Imports all timelines of a folder; see `Importer.read`."""
        from traceql.importers._trace_event.layout import Layout

        files = _timelines(read_head(path)) or _files(path)
        number, seen = 0, set[str]()
        with tempfile.TemporaryDirectory(prefix="traceql-") as scratch:
            for place, file in enumerate(files):
                with file.open("rb") as opened:
                    digest = hashlib.file_digest(opened, "sha256").hexdigest()
                if digest in seen:
                    ctx.diagnostics.add(
                        "duplicate_timeline",
                        "info",
                        "Timelines with the same content: one of each counts.",
                        example=file.name,
                    )
                    continue
                seen.add(digest)
                _stage(file, number, con, ctx, Path(scratch))
                number += 1
                ctx.progress(_STAGED_SHARE * (place + 1) / len(files))
        con.execute("ALTER TABLE staged.timeline_event RENAME TO event")
        layout = Layout("object", 0, None, 0)
        return map_staged(DIALECT, layout, path.name, con, ctx)


def _stage(
    file: Path,
    number: int,
    con: duckdb.DuckDBPyConnection,
    ctx: Context,
    scratch: Path,
) -> None:
    """Adds the events of one file to the table `timeline_event`."""
    from traceql import unpacking
    from traceql.importers._trace_event import ranges, reading

    readable, cut = unpacking.unpacked(file, file.name, scratch)
    ctx.diagnostics.add(
        "cut_archive",
        "data_loss",
        "The compressed file is cut or damaged: what came before is imported.",
        count=1 if cut else 0,
        example=file.name,
    )
    if number:
        con.unregister_filesystem(ranges.PROTOCOL)
    reading.stage(readable, con, ctx, share=0)
    if not number:
        con.execute(
            "CREATE TABLE staged.timeline_event AS SELECT * FROM staged.event LIMIT 0; "
            "CREATE TABLE timeline_process (number BIGINT, name VARCHAR); "
            "CREATE TABLE timeline_file "
            "(number BIGINT, first_event BIGINT, name VARCHAR)"
        )
    con.execute(
        "INSERT INTO timeline_file SELECT ?, count(*), ? FROM staged.timeline_event",
        [number, file.name],
    )
    con.execute(_PROCESSES)
    con.execute(_ADD.format(number=number))
    con.execute("DROP TABLE staged.event")
    if readable != file:
        readable.unlink()


def _timelines(head: Head) -> list[Path]:
    """The timelines of a folder; none where it is not one program's, whole."""
    files = [] if head.data or not head.entries else _files(head.path)
    alike = {_NUMBER.sub("#", _PACKED.sub("", file.name)) for file in files}
    if len(alike) != 1 or len(files) < 2:
        return []
    try:
        others = [p for p in _visible(head.path) if p not in files]
        if any(p.is_dir() for p in others) or not all(map(_is_timeline, files)):
            return []
        return [] if any(detect(read_head(p)) for p in others) else files
    except OSError:
        return []


def _is_timeline(file: Path) -> bool:
    from traceql.importers._trace_event.signs import signs_of

    signs = signs_of(_unpacked_head(file))
    return signs is not None and DIALECT.sniff(signs) > 0.9


def _unpacked_head(file: Path) -> Head:
    """The beginning of a file, unpacked if it is compressed."""
    from traceql import unpacking

    return Head(file.name, unpacking.beginning(file, HEAD_BYTES), file)


def _visible(folder: Path) -> Iterator[Path]:
    return (p for p in sorted(folder.iterdir()) if not p.name.startswith("."))


def _files(folder: Path) -> list[Path]:
    """Files of a folder that may be timelines, in the order of their numbers."""
    found = [p for p in _visible(folder) if p.is_file() and _ENDING.search(p.name)]
    return sorted(found, key=lambda p: [int(n) for n in _NUMBER.findall(p.name)])


IMPORTER = Tf1Folder()
