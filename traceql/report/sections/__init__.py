"""Sections: one module here is one section, found by its name.

A section's module has `SECTION`. Its chart specifications lie beside it, named
`<chart>.vl.json`: Vega-Lite without data, in which `var(--name)` stands for a colour of
report.css.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

from traceql.report.answers import Answers, Ask
from traceql.report.figures import Figure


@dataclass(frozen=True)
class Section:
    """One part of the report.

    Attributes:
        id: Anchor in the page.
        title: Its heading.
        order: Sections stand in this order.
        how: How to read it, in a few sentences.
        figures: What it asks and shows.
        asks: What else it asks: for its template, or for findings.
        template: Its template; the plain one shows its figures one after the other.
        extra: What else its template needs, for the run at hand.
        optional: Whether it is left out where its figures have no rows.
    """

    id: str
    title: str
    order: int
    how: str
    figures: tuple[Figure, ...] = ()
    asks: tuple[Ask, ...] = ()
    template: str = "section.html.j2"
    extra: Callable[[Answers], dict[str, Any]] | None = None
    optional: bool = False


@cache
def sections() -> tuple[Section, ...]:
    """Every section, in the order of the page."""
    found: list[Section] = [
        importlib.import_module(f"{__name__}.{module.name}").SECTION
        for module in pkgutil.iter_modules(__path__)
    ]
    return tuple(sorted(found, key=lambda section: section.order))
