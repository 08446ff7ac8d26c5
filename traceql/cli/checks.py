"""The checks of `traceql doctor`: each says what it found, none raises."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import shutil
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import pyarrow as pa

from traceql import __version__
from traceql.render import printable
from traceql.result import Result

_PACKAGES = (
    *("duckdb", "pyarrow", "polars", "adbc-driver-sqlite", "fsspec"),
    *("click", "rich", "jinja2", "vl-convert-python"),
)


@dataclass(frozen=True)
class Check:
    """One check: what was looked at, whether it is well, what was found."""

    check: str
    ok: bool
    found: str


def checks_result(checks: list[Check]) -> Result:
    """One row a check."""
    types = {"check": pa.string(), "ok": pa.bool_(), "found": pa.string()}
    return Result.of_rows(map(asdict, checks), types, "Checks")


def run_checks(store: str | None) -> list[Check]:
    """All checks, in the order in which one would ask."""
    tried = [
        _guarded("schema", _schema),
        _guarded("queries", _queries),
        _guarded("formats", _formats),
        _guarded("store", lambda: _store(store)),
        _guarded("store writable", lambda: _writable(store)),
        _guarded("memory limit", _memory_limit),
    ]
    return [*_versions(), *tried, *_tools()]


def _guarded(name: str, look: Callable[[], str]) -> Check:
    try:
        return Check(name, True, look())
    except Exception as error:
        return Check(name, False, printable(f"{type(error).__name__}: {error}"))


def _versions() -> Iterator[Check]:
    yield Check("traceql", True, __version__)
    yield Check("python", True, platform.python_version())
    for package in _PACKAGES:
        yield _guarded(package, partial(importlib.metadata.version, package))


def _schema() -> str:
    from traceql import schema

    loaded = schema.load()
    return f"{loaded.version}: {len(loaded.tables)} tables, {len(loaded.views)} views"


def _queries() -> str:
    from traceql import queries

    catalog = queries.discover()
    return f"{sum(not query.private for query in catalog.values())} queries"


def _formats() -> str:
    from traceql import importers

    found = importers.registry().values()
    return "; ".join(f"{importer.name}: {importer.title}" for importer in found)


def _store(given: str | None) -> str:
    from traceql.store import MARKER, open_store

    store = open_store(given)
    if given:
        how = "--store"
    elif os.environ.get("TRACEQL_STORE"):
        how = "TRACEQL_STORE"
    elif store.exists and Path(store.path, MARKER).is_file():
        how = "the nearest .traceql upwards"
    else:
        how = "the default"
    state = f"{len(store.runs())} runs" if store.exists else "not there yet"
    return f"{store.path} (by {how}): {state}"


def _writable(given: str | None) -> str:
    from traceql.store import open_store

    path = open_store(given).path
    if "://" in path:
        return "a URL: not tried"
    folder = Path(path)
    while not folder.exists():
        folder = folder.parent
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(f"{folder} cannot be written")
    return "yes"


def _memory_limit() -> str:
    from traceql.session import MEMORY_LIMIT

    return f"{MEMORY_LIMIT} a session; --memory-limit changes it"


def _tools() -> Iterator[Check]:
    # Both are optional: their absence is no fault.
    duckdb_cli = shutil.which("duckdb")
    yield Check("duckdb CLI", True, duckdb_cli or "none: the shell is the built-in one")
    yield _guarded("nsys", _nsys)


def _nsys() -> str:
    from traceql.importers._nsys import installed

    found = [f"{nsys.version} ({nsys.path})" for nsys in installed()]
    return "; ".join(found) or "none: .nsys-rep and .qdrep need one"
