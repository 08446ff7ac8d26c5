"""Where the events of a trace file begin and end, and what stands around them.

Invariant: only the file's ends are read, in windows that grow as needed.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from traceql.importers._trace_event import mending

BOMS = (b"\xff\xfe", b"\xfe\xff")
_UTF8_BOM = b"\xef\xbb\xbf"
_WINDOWS = (1 << 16, 1 << 20, 1 << 24, 1 << 27)
_EVENTS = re.compile(rb'"traceEvents"\s*:\s*\[')
_ARRAY_END = re.compile(rb"\]\s*(?=,\s*\"|\}\s*$)")
_SPACE = b" \t\r\n\0"  # some writers leave zeros where they reserved space
_SIMPLE = re.compile(r'"([\w .-]+)"\s*:\s*(-?\d+(?:\.\d+)?|true|false|null|"[^"\\]*")')


@dataclass
class Layout:
    """What surrounds the events.

    Attributes:
        root: array or object.
        start: Offset of the first byte after the array's `[`.
        end: Offset of the array's `]`; None where the file is cut, or ends oddly.
        size: Size of the file.
        header: Top-level keys before the events, and their values.
        trailer: Those after the events.
        header_damaged: Whether the header had to be guessed at.
    """

    root: str
    start: int
    end: int | None
    size: int
    header: dict[str, Any] = field(default_factory=dict)
    trailer: dict[str, Any] = field(default_factory=dict)
    header_damaged: bool = False


def locate(path: Path) -> Layout | None:
    """Finds the events of a file; None where it has no array of them."""
    with path.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(0)
        head = file.read(_WINDOWS[0])
        lead = len(head) - len(head.removeprefix(_UTF8_BOM).lstrip(_SPACE))
        if head[lead : lead + 1] == b"[":
            found = Layout("array", lead + 1, None, size)
        elif head[lead : lead + 1] == b"{":
            in_object = _object(file, size, lead)
            if in_object is None:
                return None
            found = in_object
        else:
            return None
        _find_end(file, found)
        return found


def _object(file: BinaryIO, size: int, lead: int) -> Layout | None:
    """The layout of an object: the first `traceEvents` whose prefix is a header."""
    for window in _WINDOWS:
        file.seek(0)
        data = file.read(window)
        first = None
        for match in _EVENTS.finditer(data):
            first = first or match
            header = parse_keys(data[lead + 1 : match.start()])
            if header is not None:
                return Layout("object", match.end(), None, size, header)
        if first is not None and (len(data) < window or window >= _WINDOWS[1]):
            return _damaged(data[lead:], first, size)
        if len(data) < window:
            break
    return None


def _damaged(data: bytes, match: re.Match[bytes], size: int) -> Layout:
    """The layout behind a header that is no JSON: mended, or its plain keys."""
    text = data[1 : match.start()].decode("utf-8", "replace")
    header = parse_keys(mending.mend("{" + text, Counter())[1:].encode())
    if header is None:
        header = plain_keys(text.encode())
    return Layout("object", match.end(), None, size, header, header_damaged=True)


def parse_keys(data: bytes) -> dict[str, Any] | None:
    """The members of an object without its braces; None where they are no JSON."""
    text = data.decode("utf-8", "replace").strip().strip(",")
    try:
        keys = mending.load("{" + text + "}")
    except (ValueError, RecursionError):
        return None
    return keys if isinstance(keys, dict) else None


def plain_keys(data: bytes) -> dict[str, Any]:
    """The members with plain values that a text shows, whatever surrounds them."""
    text = data.decode("utf-8", "replace")
    return {key: json.loads(value) for key, value in _SIMPLE.findall(text)}


def _find_end(file: BinaryIO, layout: Layout) -> None:
    for window in _WINDOWS[:3]:
        low = max(layout.start, layout.size - window)
        file.seek(low)
        tail = file.read()
        end = _array_end(tail) if layout.root == "array" else _object_end(tail, layout)
        before = tail[max(0, (end or 0) - 4096) : end]
        if end is not None and _after_event(before, low == layout.start):
            layout.end = low + end
            return
        if low == layout.start or layout.root == "array":
            return


def _array_end(tail: bytes) -> int | None:
    """The `]` that ends an array and the file."""
    whole = tail.rstrip(_SPACE)
    return len(whole) - 1 if whole.endswith(b"]") else None


def _object_end(tail: bytes, layout: Layout) -> int | None:
    """The earliest `]` whose remainder is a trailer."""
    if not tail.rstrip(_SPACE).endswith(b"}"):
        return None
    text = tail.decode("latin-1")  # a character a byte: offsets stay
    for match in _ARRAY_END.finditer(tail):
        if _after_event(tail[max(0, match.start() - 4096) : match.start()], False) and (
            _is_trailer(text, match.end())
        ):
            keys = parse_keys(tail[match.end() :].rstrip(_SPACE)[:-1])
            if keys is not None:
                layout.trailer = keys
                return match.start()
    return None


def _is_trailer(text: str, at: int) -> bool:
    """Whether nothing but members, a brace and space follow; it fails early."""
    while (at := _past_space(text, at)) < len(text) and text[at] == ",":
        at = _past_space(text, at + 1)
        if not text.startswith('"', at):
            return False
        try:
            _, at = mending.DECODER.raw_decode(text, at)
            at = _past_space(text, at)
            if not text.startswith(":", at):
                return False
            _, at = mending.DECODER.raw_decode(text, _past_space(text, at + 1))
        except (ValueError, RecursionError):
            return False
    return text.startswith("}", at) and _past_space(text, at + 1) == len(text)


def _past_space(text: str, at: int) -> int:
    while at < len(text) and text[at] in " \t\r\n\0":
        at += 1
    return at


def _after_event(before: bytes, from_start: bool) -> bool:
    """Whether what stands before a `]` may be the end of events."""
    before = before.rstrip(_SPACE)
    return before.endswith((b"}", b",", b"null")) or (from_start and not before)
