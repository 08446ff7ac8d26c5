"""Python literals that profilers wrote, as values or JSON.

Invariant: nothing is ever run; what is no literal is nothing.
"""

from __future__ import annotations

import ast
import json
import math
from typing import Any


def literal(text: str) -> Any:
    """The value of a Python literal: no names, no calls.

    Raises:
        ValueError: The text is no literal, or nested too deep to read.
    """
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError) as error:
        raise ValueError(f"no Python literal: {error}") from error


def as_json(value: Any) -> str:
    """A literal's value as JSON: tuples and sets are lists, NaN and infinities texts.

    Raises:
        ValueError: It is nested too deep.
    """
    try:
        return json.dumps(_plain(value), ensure_ascii=False, allow_nan=False)
    except RecursionError as error:
        raise ValueError("nested too deep") from error


def literal_json(text: str | None) -> str | None:
    """The JSON of a Python literal; None where the text is none."""
    try:
        return None if text is None else as_json(literal(text))
    except ValueError:
        return None


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(name): _plain(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(inner) for inner in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if value is None or isinstance(value, str | bool | int | float):
        return _valid(value) if isinstance(value, str) else value
    return str(value)  # bytes, complex numbers, an ellipsis


def _valid(text: str) -> str:
    """The text without lone surrogates, which no UTF-8 holds."""
    return text.encode("utf-8", "replace").decode()
