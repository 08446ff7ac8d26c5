"""Writes small XSpace protobufs, and reads real ones plainly: the wire format alone.

It shares nothing with the importer, so that a test compares two readings.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

Value = int | float | str


@dataclass(frozen=True)
class Ref:
    """A text that a stat refers to by number instead of holding it."""

    text: str


def number(value: int) -> bytes:
    """A varint; negative ones as 64 bits."""
    value &= (1 << 64) - 1
    out = b""
    while value > 0x7F:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def item(tag: int, value: int | float | bytes) -> bytes:
    """A field: a varint, a double, or bytes with their length."""
    if isinstance(value, bytes):
        return number(tag << 3 | 2) + number(len(value)) + value
    if isinstance(value, float):
        return number(tag << 3 | 1) + struct.pack("<d", value)
    return number(tag << 3) + number(value)


@dataclass
class Plane:
    """One plane to be written: `line` adds lines, `bytes` gives its message."""

    name: str
    stats: dict[str, Value | Ref] = field(default_factory=dict)
    _lines: list[bytes] = field(default_factory=list)
    _types: dict[tuple[str, str], int] = field(default_factory=dict)
    _stat_names: dict[str, int] = field(default_factory=dict)

    def line(
        self, tid: int, name: str, events: list[bytes], timestamp_ns: int = 0
    ) -> Plane:
        """Adds a line; the plane itself, to go on."""
        head = item(1, tid) + item(2, name.encode()) + item(3, timestamp_ns)
        self._lines.append(head + b"".join(item(4, e) for e in events))
        return self

    def event(
        self,
        name: str,
        offset_ps: int,
        duration_ps: int,
        display_name: str = "",
        **stats: Value | Ref,
    ) -> bytes:
        """An event of this plane, whose names the plane then has."""
        kind = self._types.setdefault((name, display_name), len(self._types) + 1)
        head = item(1, kind) + item(2, offset_ps) + item(3, duration_ps)
        return head + b"".join(item(4, self._stat(k, v)) for k, v in stats.items())

    def aggregate(self, name: str, occurrences: int) -> bytes:
        """An event that stands for several and has no time."""
        kind = self._types.setdefault((name, ""), len(self._types) + 1)
        return item(1, kind) + item(5, occurrences) + item(3, 7)

    def _stat(self, name: str, value: Value | Ref) -> bytes:
        head = item(1, self._number(name))
        if isinstance(value, Ref):
            return head + item(7, self._number(value.text))
        if isinstance(value, str):
            return head + item(5, value.encode())
        if isinstance(value, float):
            return head + item(2, value)
        return head + item(4 if value < 0 else 3, value)

    def _number(self, name: str) -> int:
        return self._stat_names.setdefault(name, len(self._stat_names) + 1)

    def __bytes__(self) -> bytes:
        stats = b"".join(item(6, self._stat(k, v)) for k, v in self.stats.items())
        types = b"".join(
            item(4, item(1, n) + item(2, item(1, n) + item(2, name.encode())
                 + (item(4, shown.encode()) if shown else b"")))
            for (name, shown), n in self._types.items()
        )  # fmt: skip
        names = b"".join(
            item(5, item(1, n) + item(2, item(1, n) + item(2, name.encode())))
            for name, n in self._stat_names.items()
        )
        lines = b"".join(item(3, line) for line in self._lines)
        return item(1, 0) + item(2, self.name.encode()) + lines + types + names + stats


def space(*planes: Plane, hostname: str = "") -> bytes:
    """A whole file."""
    out = b"".join(item(1, bytes(plane)) for plane in planes)
    return out + (item(4, hostname.encode()) if hostname else b"")


@dataclass(frozen=True)
class Read:
    """One event as a plain reading has it."""

    plane: str
    line: str
    name: str
    start_ps: int
    duration_ps: int


def events_of(data: bytes) -> Iterator[Read]:
    """All events of a file, read plainly."""
    for _, plane in (f for f in fields(data) if f[0] == 1):
        name, lines, types = "", [], {}
        for tag, value in fields(plane):
            if tag == 2:
                name = value.decode()
            elif tag == 3:
                lines.append(value)
            elif tag == 4:
                entry = dict(fields(value))
                types[entry.get(1, 0)] = dict(fields(entry[2])).get(2, b"").decode()
        for line in lines:
            head = {tag: v for tag, v in fields(line) if tag != 4}
            shown = (head.get(11) or head.get(2, b"")).decode()
            for tag, event in fields(line):
                if tag == 4:
                    e = {t: v for t, v in fields(event) if t < 4}
                    start = head.get(3, 0) * 1000 + e.get(2, 0)
                    yield Read(
                        name, shown, types.get(e.get(1, 0), ""), start, e.get(3, 0)
                    )


def fields(data: bytes) -> Iterator[tuple[int, Any]]:
    """Fields of a message: number and value, which is a number or bytes."""
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        value: int | bytes
        if tag & 7 == 0:
            value, at = _varint(data, at)
        else:
            size = {1: 8, 5: 4}.get(tag & 7)
            if size is None:
                size, at = _varint(data, at)
            value = data[at : at + size]
            at += size
        yield tag >> 3, value


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at += 1
        shift += 7
        if byte < 0x80:
            return value, at
