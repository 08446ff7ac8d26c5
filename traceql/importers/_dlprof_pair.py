"""DLProf databases and the Nsight Systems captures that they were made of.

DLProf takes the times of a capture unchanged, so that a pair is proven by its kernels:
as many, from the same first start to the same last end, each with its device, times
and name. Siblings need not match: a program profiled again overwrites the one and not
the other.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from functools import lru_cache
from pathlib import Path

from traceql.importers import _nsight, _sqlite, nsight_report, read_head

_EXPORT, _REPORTS = ".sqlite", (".nsys-rep", ".qdrep")
SIGNS = frozenset({"read_only_ops", "read_only_op_instances", "dictionary"})
# An execution stands under each NVTX domain that operations were collected for.
_KERNELS = """
CREATE TEMP VIEW listed AS
SELECT DISTINCT k.device_id, k.gpu_start, k.gpu_stop, d.string AS name
FROM database.read_only_kernels AS k
LEFT JOIN database.dictionary AS d ON d.id = k.name_id
WHERE k.gpu_start IS NOT NULL;
CREATE TEMP VIEW captured AS
SELECT DISTINCT k.deviceId, k.start, k."end", s.value AS name
FROM capture.CUPTI_ACTIVITY_KIND_KERNEL AS k
LEFT JOIN capture.StringIds AS s ON s.id = k.shortName
"""
_State = tuple[int, int]
_SPAN = 'SELECT count(*), min({}), max({}) FROM "{}"'
_STRANGERS = """
SELECT count(*), min(name)
FROM (SELECT * FROM listed EXCEPT SELECT * FROM captured)
"""


def databases(folder: Path) -> list[Path]:
    """The DLProf databases of a folder, sorted."""
    return [
        path
        for path in sorted(folder.glob(f"*{_EXPORT}"))
        if path.is_file() and read_head(path).sqlite_tables >= SIGNS
    ]


def captures(folder: Path) -> list[Path]:
    """The Nsight Systems captures of a folder, sorted; of one name its export.

    A damaged SQLite file counts as one.
    """
    found: dict[str, Path] = {}
    for ending in (_EXPORT, *_REPORTS):
        for path in sorted(folder.glob(f"*{ending}")):
            if path.is_file() and _is_capture(path):
                found.setdefault(path.stem, path)
    return [found[stem] for stem in sorted(found)]


def difference(database: Path, capture: Path) -> str | None:
    """What shows that a database was not made of an export; None: it was.

    Args:
        database: The DLProf database.
        capture: The SQLite export.
    """
    return _difference(database, capture, _state(database), _state(capture))


# An import asks several times, and the kernels of a large pair take seconds.
@lru_cache(maxsize=64)
def _difference(
    database: Path, capture: Path, _database_state: _State, _capture_state: _State
) -> str | None:
    missing = _sqlite.missing_bytes(capture)
    if missing:
        return f"{capture.name} is cut: {missing} bytes are missing at its end"
    try:
        with closing(sqlite3.connect("file::memory:", uri=True)) as con:
            con.execute("ATTACH ? AS database", (_sqlite.uri(database),))
            con.execute("ATTACH ? AS capture", (_sqlite.uri(capture),))
            con.executescript(_KERNELS)
            return _kernels_differ(con, database.name, capture.name)
    except sqlite3.Error as error:
        return f"{capture.name} and {database.name} cannot be compared: {error}"


def _state(path: Path) -> _State:
    """Size and time of change: another file of the same name is another."""
    stat = path.stat()
    return stat.st_size, stat.st_mtime_ns


def _kernels_differ(con: sqlite3.Connection, database: str, capture: str) -> str | None:
    listed = con.execute(_SPAN.format("gpu_start", "gpu_stop", "listed")).fetchone()
    held = con.execute(_SPAN.format("start", '"end"', "captured")).fetchone()
    if listed != held or not held[0]:
        return f"{database} has {_said(*listed)}, {capture} has {_said(*held)}"
    count, example = con.execute(_STRANGERS).fetchone()
    if not count:
        return None
    return (
        f"of {listed[0]} kernels in {database}, {count} are not in {capture} with "
        f"their device, times and name: {example}"
    )


def _said(count: int, start_ns: int | None, end_ns: int | None) -> str:
    if not count:
        return "no kernel"
    return f"{count} kernels from {start_ns} to {end_ns} ns"


def _is_capture(path: Path) -> bool:
    if path.suffix in _REPORTS:
        return read_head(path).data.startswith(nsight_report.MAGIC)
    head = read_head(path)
    # No table can be read of a damaged file: it may have been one.
    return _nsight.is_capture(head.sqlite_tables) or (
        head.data.startswith(_sqlite.MAGIC) and not head.sqlite_tables
    )
