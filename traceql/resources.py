"""The one place that knows where the schema and the queries are.

In a wheel they lie inside the package; in a checkout at its top level.
"""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).parent


def _folder(name: str) -> Path:
    inside = _PACKAGE / name
    return inside if inside.is_dir() else _PACKAGE.parent / name


def schemas_dir(version: str = "v1") -> Path:
    """Folder of the schema's DDL files of one version."""
    return _folder("schemas") / version


def queries_dir() -> Path:
    """Folder of the query packs: one folder a version in it."""
    return _folder("queries")


def report_dir() -> Path:
    """Folder of the report's templates and chart specs."""
    return _PACKAGE / "report"
