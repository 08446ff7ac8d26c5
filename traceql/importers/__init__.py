"""Importers: one format a file, found by name, chosen by content.

A module of this package that defines `IMPORTER` is an importer; other packages add
theirs through the entry-point group `traceql.importers`. An importer exposes the
source as relations in DuckDB and runs its mapping; it touches neither the store nor
the terminal.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from traceql import plugins
from traceql.diagnostics import Diagnostics

if TYPE_CHECKING:
    import duckdb

    from traceql.writer import Writer

HEAD_BYTES = 65_536


@dataclass(frozen=True)
class Head:
    """What a sniffer may look at.

    Attributes:
        name: File name; it only breaks ties.
        data: The first 64 KiB; nothing for a folder.
        path: The file, for looks that the first bytes do not allow, or the folder.
    """

    name: str
    data: bytes
    path: Path

    @cached_property
    def sqlite_tables(self) -> frozenset[str]:
        """Names of the tables if the file is a readable SQLite database."""
        from traceql.importers import _sqlite

        if not self.data.startswith(_sqlite.MAGIC):
            return frozenset()
        return _sqlite.table_names(self.path)

    @cached_property
    def entries(self) -> frozenset[str]:
        """Names of what a folder holds; empty for a file."""
        try:
            return frozenset(entry.name for entry in self.path.iterdir())
        except OSError:
            return frozenset()


@dataclass(frozen=True)
class Context:
    """What an importer works with.

    Attributes:
        writer: Takes the rows.
        diagnostics: Takes the findings.
        progress: Call it with the share done, 0 to 1.
        threads: Threads to use.
        keep_environment: Whether host names and the environment may be kept.
        with_samples: Whether CPU samples and call chains are wanted.
        nsys: The nsys to read reports with; None: TRACEQL_NSYS, or look for one.
        nsys_timeout_s: Seconds that it may take; None: by the report's size.
        columns: Names of the columns of a log that has no header; empty: not said.
        source: What the user named; inside an archive, the member.
    """

    writer: Writer
    diagnostics: Diagnostics
    progress: Callable[[float], None]
    threads: int = 2
    keep_environment: bool = False
    with_samples: bool = False
    nsys: str | None = None
    nsys_timeout_s: float | None = None
    columns: tuple[str, ...] = ()
    source: str = ""


class Importer(Protocol):
    """One format.

    Attributes:
        name: The format's name, as `--format` takes it.
        version: Grows when the same file gives another answer.
        title: The format's name for people.
    """

    name: str
    version: int
    title: str

    def sniff(self, head: Head) -> float:
        """How sure it is, 0 to 1, that it reads this file; never raises."""
        ...

    def read(
        self, path: Path, con: duckdb.DuckDBPyConnection, ctx: Context
    ) -> dict[str, Any]:
        """Writes all rows through `ctx.writer`; returns columns of the run table."""
        ...


def registry() -> dict[str, Importer]:
    """All importers by name: the built-in ones and those of other packages."""
    found: dict[str, Importer] = {}
    for module in pkgutil.iter_modules(__path__):
        if not module.name.startswith("_"):
            loaded = importlib.import_module(f"{__name__}.{module.name}")
            found[loaded.IMPORTER.name] = loaded.IMPORTER
    for entry in plugins.listed(plugins.IMPORTERS):
        importer = plugins.load(entry)
        found[importer.name] = importer
    return found


def read_head(path: Path) -> Head:
    """The part of a file or folder that sniffers look at."""
    if path.is_dir():
        return Head(path.name, b"", path)
    with path.open("rb") as file:
        return Head(path.name, file.read(HEAD_BYTES), path)


def detect(head: Head, among: Mapping[str, Importer] | None = None) -> Importer | None:
    """The importer that is surest of the file or folder, or None.

    Args:
        head: What there is to look at.
        among: The importers to ask; None: all.
    """
    known = registry() if among is None else among
    sure = [(i.sniff(head), i.name, i) for i in known.values()]
    best = max(sure, key=lambda s: s[:2], default=None)
    return best[2] if best is not None and best[0] > 0 else None
