"""Output formats: one module here is one format, found by its name.

Invariant: data formats (csv, tsv, json, ndjson, parquet) hold every row and
every value exactly, in UTF-8; human formats (table, md) round and scale. Nothing
that could steer a terminal reaches one.

A format's module has `EXTENSIONS` and `write(result, stream, view)`. Modules with
a leading underscore are what the formats share. Importing this package loads
neither pyarrow nor rich.
"""

from __future__ import annotations

import importlib
import pkgutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Protocol, cast

from traceql.errors import UsageError
from traceql.render._printable import printable

if TYPE_CHECKING:
    from traceql.result import Result

__all__ = ["Renderer", "View", "format_of", "formats", "printable", "render"]


@dataclass(frozen=True)
class View:
    """What the output goes to.

    Attributes:
        width: Columns of the terminal, or None where lines may be of any length.
        terminal: Control characters must be made visible.
        color: Colours and weights may be used.
    """

    width: int | None = None
    terminal: bool = False
    color: bool = False


class Renderer(Protocol):
    """What a format's module offers."""

    EXTENSIONS: tuple[str, ...]

    def write(self, result: Result, stream: BinaryIO, view: View) -> str | None:
        """Writes `result`; returns a remark when it left something out."""


def formats() -> list[str]:
    """Names of the output formats."""
    return sorted(
        module.name
        for module in pkgutil.iter_modules(__path__)
        if not module.name.startswith("_")
    )


def _renderer(name: str) -> Renderer:
    if name not in formats():
        raise UsageError(
            f"unknown output format {name!r}", hint="one of " + ", ".join(formats())
        )
    return cast(Renderer, importlib.import_module(f"{__name__}.{name}"))


def format_of(path: str | Path) -> str:
    """The format that a file name's extension stands for.

    Raises:
        UsageError: No format has this extension.
    """
    extension = Path(path).suffix.lower().removeprefix(".")
    for name in formats():
        if extension in _renderer(name).EXTENSIONS:
            return name
    known = sorted(e for name in formats() for e in _renderer(name).EXTENSIONS)
    raise UsageError(
        f"no output format is known for {printable(str(path))!r}",
        hint="give --format, or one of these extensions: " + ", ".join(known),
    )


def render(
    result: Result, format: str, stream: BinaryIO, view: View | None = None
) -> str | None:
    """Writes `result` to `stream` in the named format.

    Returns:
        A remark for the reader when the format left rows or columns out.

    Raises:
        UsageError: The format is unknown.
    """
    return _renderer(format).write(result, stream, view or View())
