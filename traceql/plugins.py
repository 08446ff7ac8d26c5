"""What other packages add: entry points, listed without being imported.

Groups: `traceql.importers` (an object that is an `Importer`) and `traceql.queries` (a
folder of queries: a path, or a package that is one).
"""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType
from typing import Any

from traceql.errors import UsageError

IMPORTERS = "traceql.importers"
QUERIES = "traceql.queries"


def listed(group: str) -> list[EntryPoint]:
    """The entry points of a group, by name; nothing is imported."""
    return sorted(entry_points(group=group), key=lambda entry: entry.name)


def load(entry: EntryPoint) -> Any:
    """What an entry point names.

    Raises:
        UsageError: Its package cannot be imported.
    """
    try:
        return entry.load()
    except Exception as error:
        owner = entry.dist.name if entry.dist is not None else "an unknown package"
        raise UsageError(
            f"plug-in {entry.name} of {owner} cannot be loaded: {error}",
            hint=f"Mend or uninstall {owner}.",
        ) from error


def query_folder(entry: EntryPoint) -> Path:
    """The folder of queries that an entry point names."""
    target = load(entry)
    if isinstance(target, ModuleType):
        return Path(next(iter(target.__path__)))
    return Path(target)
