"""What a trace-event file shows of itself: what importers choose by.

Invariant: only three samples of the file are read, leniently; nothing here raises
for any content.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from traceql.importers import HEAD_BYTES, Head

_ROOT_ARRAY = re.compile(r"\ufeff?\s*\[\s*(?:\{|\]|$|null\b)")
_ROOT_OBJECT = re.compile(r"\ufeff?\s*\{\s*\"")
_KEY = re.compile(r'"((?:[^"\\\n]|\\.)*)"\s*:')
_PHASE = re.compile(r'"ph"\s*:\s*"([^"]*)"')
_CATEGORY = re.compile(r'"cat"\s*:\s*"((?:[^"\\]|\\.)*)"')
_NAME = re.compile(r'"name"\s*:\s*"((?:[^"\\]|\\.)*)"')
_PROCESS = re.compile(
    r'"name"\s*:\s*"process_name"[^{}]*"args"\s*:\s*\{\s*"name"\s*:\s*"([^"]*)"'
    r'|"args"\s*:\s*\{\s*"name"\s*:\s*"([^"]*)"\s*\}[^{}]*"name"\s*:\s*"process_name"'
)


@dataclass(frozen=True)
class Signs:
    """What a file shows of itself.

    Attributes:
        root: array or object.
        keys: Top-level keys seen before and after the events.
        categories: Values of `cat`.
        phases: Values of `ph`.
        names: Values of `name`.
        process_names: Names that processes were given.
        text: The samples themselves: the file's beginning, middle and end.
    """

    root: str
    keys: frozenset[str]
    categories: frozenset[str]
    phases: frozenset[str]
    names: frozenset[str]
    process_names: frozenset[str]
    text: str


@lru_cache(maxsize=4)
def signs_of(head: Head) -> Signs | None:
    """The signs of a file; None where it cannot be a trace-event file."""
    data = head.data
    encoding = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8"
    first = data.decode(encoding, "replace")
    if _ROOT_ARRAY.match(first):
        root = "array"
    elif _ROOT_OBJECT.match(first):
        root = "object"
    else:
        return None
    text = "\n".join([first, *(_more(head, encoding))])
    before, found, _ = first.partition('"traceEvents"')
    keys = _keys_at_top(before) | ({"traceEvents"} if found else set())
    if root == "object":
        keys |= _trailer_keys(text)
    return Signs(
        root=root,
        keys=frozenset(keys),
        categories=frozenset(_CATEGORY.findall(text)),
        phases=frozenset(_PHASE.findall(text)),
        names=frozenset(_NAME.findall(text)),
        process_names=frozenset(a or b for a, b in _PROCESS.findall(text)),
        text=text,
    )


def _more(head: Head, encoding: str) -> list[str]:
    """Samples of the middle and the end of a file longer than its head."""
    try:
        size = head.path.stat().st_size
        if size <= HEAD_BYTES:
            return []
        with head.path.open("rb") as file:
            samples = []
            for at in (size // 2, max(HEAD_BYTES, size - HEAD_BYTES)):
                file.seek(at & ~1)
                samples.append(file.read(HEAD_BYTES).decode(encoding, "replace"))
            return samples
    except OSError:
        return []


def _keys_at_top(text: str) -> set[str]:
    """Keys of the outermost object of a text that may be cut anywhere."""
    keys: set[str] = set()
    depth, at = 0, 0
    token = re.compile(r'"((?:[^"\\]|\\.)*)"(\s*:)?|[{}\[\]]', re.DOTALL)
    for match in token.finditer(text, at):
        if match[1] is not None:
            if depth == 1 and match[2]:
                keys.add(match[1])
        else:
            depth += 1 if match[0] in "{[" else -1
    return keys


def _trailer_keys(text: str) -> set[str]:
    """Keys behind the last `]` that follows an event: those of a trailer, mostly."""
    tail = text[-HEAD_BYTES:]
    ends = [m.end() for m in re.finditer(r"\}\s*\]\s*(?=,)", tail)]
    return _keys_at_top("{" + tail[ends[-1] :]) if ends else set()
