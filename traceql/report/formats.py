"""How the report writes numbers, and how foreign text becomes harmless in scripts.

Invariant: a number in a sentence has three significant digits and its unit; JSON from
`script_json` cannot end the script element that it stands in.
"""

from __future__ import annotations

import json
import math
from typing import Any

from markupsafe import Markup

from traceql.render import printable

_TIMES = ((1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1, "ns"))
_SIZES = ((2**40, "TiB"), (2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"), (1, "B"))
_ESCAPES = {ord(char): f"\\u{ord(char):04x}" for char in "<>&\u2028\u2029"}


def time(ns: float | None) -> str:
    """Nanoseconds in the unit that suits them: `9.04 ms`."""
    return _scaled(ns, _TIMES)


def size(count: float | None) -> str:
    """Bytes in the unit that suits them: `32 MiB`."""
    return _scaled(count, _SIZES)


def percent(value: float | None) -> str:
    """A percentage: `38 %`, `4.2 %`, `< 0.1 %`."""
    if value is None:
        return "unknown"
    if 0 < value < 0.1:
        return "< 0.1 %"
    return f"{value:.0f} %" if value >= 9.95 or value == 0 else f"{value:.1f} %"


def share(value: float) -> str:
    """A percentage in a table, whose head has the sign: `38.21`, `< 0.01`."""
    return "< 0.01" if 0 < value < 0.01 else f"{value:.2f}"


def count(value: float | None) -> str:
    """A whole number with separators."""
    return "unknown" if value is None else f"{int(value):,}"


def counted(value: float | None, word: str) -> str:
    """A number of things: `1 call`, `142 calls`, `2 copies`."""
    many = f"{word[:-1]}ies" if word.endswith("y") else f"{word}s"
    return f"{count(value)} {word if value == 1 else many}"


def times(ratio: float | None) -> str:
    """A ratio: `2.1×`."""
    return "unknown" if ratio is None else f"{ratio:.2g}×"


def rate(gb_per_s: float | None) -> str:
    """A throughput: `3.1 GB/s`."""
    return "unknown" if gb_per_s is None else f"{_digits(gb_per_s)} GB/s"


def cut(name: str | None, width: int = 60) -> str:
    """A long name without its middle; `unknown` for none."""
    if name is None:
        return "unknown"
    if len(name) <= width:
        return name
    return f"{name[: width * 2 // 3]}…{name[-width // 3 :]}"


def script_json(value: Any) -> Markup:
    """JSON for a script element: no HTML in it, and equal values are equal bytes."""
    dense = (",", ":")
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=dense)
    return Markup(text.translate(_ESCAPES))


FILTERS = {
    "ns": time,
    "bytes": size,
    "pct": percent,
    "count": count,
    "counted": counted,
    "times": times,
    "rate": rate,
    "cut": cut,
    "json": script_json,
    "printable": printable,
}


def _scaled(value: float | None, steps: tuple[tuple[float, str], ...]) -> str:
    if value is None or not math.isfinite(value):
        return "unknown"
    factor, unit = next((s for s in steps if abs(value) >= s[0]), steps[-1])
    return f"{_digits(value / factor)} {unit}"


def _digits(value: float) -> str:
    """Three significant digits, without an exponent."""
    if not value:
        return "0"
    decimals = max(2 - math.floor(math.log10(abs(value))), 0)
    text = f"{value:,.{min(decimals, 4)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
