"""The walk over a file: its planes, their lines, and where the events are.

Invariant: every byte of the file belongs to a field whose frame is right, or the walk
ends in `Damaged`; of events only the frames are looked at.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from traceql.importers._xplane.messages import message
from traceql.importers._xplane.wire import (
    LENGTH,
    PADDING,
    Bytes,
    CutShort,
    Damaged,
    Field,
    Ints,
    field_at,
    fields,
)

_PLANE = 1  # of a space
_LINE, _EVENT_TYPE, _STAT_TYPE = 3, 4, 5  # of a plane
_EVENT = 4  # of a line
_EVENT_TAG = _EVENT << 3 | 2
_PIECE_BYTES = 8 << 20
_HEAD_BYTES = 64


@dataclass(frozen=True)
class Piece:
    """Fields of a line that lie together in the file, events and others.

    Attributes:
        start: Offset in the file.
        end: Offset after it.
        first_event: Number of its first event in the file.
        events: How many it has.
    """

    start: int
    end: int
    first_event: int
    events: int


@dataclass
class Line:
    """One line of a plane.

    Attributes:
        number: Its place in the file.
        head: Its facts, as the runtime reads them.
        pieces: Where its events are.
    """

    number: int
    head: Any
    pieces: list[Piece] = field(default_factory=list)

    @property
    def events(self) -> int:
        """How many events it has."""
        return sum(piece.events for piece in self.pieces)


@dataclass
class Plane:
    """One plane.

    Attributes:
        number: Its place in the file.
        head: Its facts, as the runtime reads them.
        lines: Its lines.
        event_types: Names and facts of events, by id.
        stat_names: Names of stats, and texts that stats refer to, by id.
    """

    number: int
    head: Any
    lines: list[Line] = field(default_factory=list)
    event_types: dict[int, Any] = field(default_factory=dict)
    stat_names: dict[int, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Its name."""
        return text(self.head.name)


@dataclass
class Space:
    """A whole file.

    Attributes:
        path: The file.
        head: What it says beside its planes.
        planes: The planes.
    """

    path: Path
    head: Any
    planes: list[Plane] = field(default_factory=list)


def text(data: bytes) -> str:
    """Text that may be no UTF-8."""
    return data.decode("utf-8", errors="replace")


def read_piece(path: Path, piece: Piece) -> Bytes:
    """The bytes of a piece, and the padding that `wire.many` wants."""
    with path.open("rb") as file:
        file.seek(piece.start)
        data = file.read(piece.end - piece.start)
    return np.frombuffer(data + bytes(PADDING), np.uint8)


def event_frames(data: Any, size: int, base: int) -> tuple[Ints, Ints]:
    """Where each event of a piece begins and ends, within the piece.

    Args:
        data: The piece's bytes.
        size: How many.
        base: Its offset in the file.
    """
    begins: list[int] = []
    ends: list[int] = []
    at = 0
    while at < size:
        # A short event has two bytes before it: no call for those.
        if data[at] == _EVENT_TAG and data[at + 1] < 0x80:
            begin = at + 2
            at = begin + data[at + 1]
        else:
            found = field_at(data, at, base)
            begin, at = found.begin, found.end
            if not _is_event(found):
                continue
        begins.append(begin)
        ends.append(at)
    return np.array(begins, np.int64), np.array(ends, np.int64)


class Walk:
    """One walk over one file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._events = 0
        self._lines = 0

    def space(self) -> Space:
        """Walks the whole file.

        Raises:
            Damaged: The file is cut, or no XSpace.
        """
        size = self._path.stat().st_size
        space = Space(self._path, message("SpaceHead")())
        with self._path.open("rb") as file:
            for found in self._fields(file, 0, size):
                if found.number == _PLANE:
                    space.planes.append(self._plane(file, found, len(space.planes)))
                else:
                    _merge(space.head, file, found)
        return space

    def _fields(self, file: BinaryIO, begin: int, end: int) -> Iterator[Field]:
        """Fields of a message of any size, by their frames alone."""
        while begin < end:
            file.seek(begin)
            head = file.read(min(_HEAD_BYTES, end - begin))
            found = _framed(head, 0, begin, end)
            yield found
            begin = found.end

    def _plane(self, file: BinaryIO, where: Field, number: int) -> Plane:
        plane = Plane(number, message("PlaneHead")())
        for found in self._fields(file, where.begin, where.end):
            if found.number == _LINE:
                plane.lines.append(self._line(file, found))
            elif found.number == _EVENT_TYPE:
                entry = _merge(message("EventTypeEntry")(), file, found, inner=True)
                plane.event_types[entry.key] = _slim(entry.value)
            elif found.number == _STAT_TYPE:
                entry = _merge(message("StatTypeEntry")(), file, found, inner=True)
                plane.stat_names[entry.key] = text(entry.value.name)
            else:
                _merge(plane.head, file, found)
        return plane

    def _line(self, file: BinaryIO, where: Field) -> Line:
        line = Line(self._lines, message("LineHead")())
        self._lines += 1
        begin = where.begin
        while begin < where.end:
            file.seek(begin)
            data = file.read(min(_PIECE_BYTES, where.end - begin))
            end, events = self._piece(line.head, data, begin, where.end)
            if end == begin:
                # One field larger than a piece: no event is, but let it be read.
                found = next(self._fields(file, begin, where.end))
                end, events = found.end, int(_is_event(found))
                if not events:
                    _merge(line.head, file, found)
            if events:
                line.pieces.append(Piece(begin, end, self._events, events))
                self._events += events
            begin = end
        return line

    def _piece(self, head: Any, data: bytes, base: int, limit: int) -> tuple[int, int]:
        """Walks the whole fields at the beginning of some bytes of a line.

        Returns:
            Where in the file they end, and how many events are among them.
        """
        size, at, events = len(data), 0, 0
        others = b""
        # An event of fewer than 128 bytes is two bytes and that many: no call for it.
        short = size - 130
        while at < size:
            if at < short and data[at] == _EVENT_TAG and data[at + 1] < 0x80:
                at += 2 + data[at + 1]
                events += 1
                continue
            try:
                found = field_at(data, at, base)
            except IndexError:
                if base + size >= limit:
                    raise Damaged(base + at, "a field that crosses its line") from None
                break
            if base + found.end > limit:
                raise Damaged(base + at, "a field that crosses its line")
            if found.end > size:
                break
            if _is_event(found):
                events += 1
            else:
                others += data[at : found.end]
            at = found.end
        if others:
            _parse(head, others, base)
        return base + at, events


def _is_event(found: Field) -> bool:
    return found.number == _EVENT and found.kind == LENGTH


def _framed(head: bytes, at: int, base: int, end: int) -> Field:
    """The field at a place of the file, which must end by `end`."""
    try:
        found = field_at(head, at, base)
    except IndexError:
        raise CutShort(base, "the last field is cut") from None
    if base + found.end > end:
        raise CutShort(base, f"a field lacks {base + found.end - end} of its bytes")
    return Field(found.number, found.kind, base, base + found.begin, base + found.end)


def _merge(into: Any, file: BinaryIO, found: Field, *, inner: bool = False) -> Any:
    """Adds a field to a message, or a field's content."""
    start = found.begin if inner else found.start
    file.seek(start)
    _parse(into, file.read(found.end - start), start)
    return into


def _parse(into: Any, data: bytes, base: int) -> None:
    from google.protobuf.message import DecodeError

    try:
        into.MergeFromString(data)
    except DecodeError:
        # The runtime does not say where: a walk does, at the outermost field.
        for _ in fields(data, 0, len(data), base):
            pass
        raise Damaged(base, "a message that cannot be read") from None


def _slim(event_type: Any) -> Any:
    """The event type without data: programs of megabytes stand there."""
    for stat in event_type.stats:
        if stat.WhichOneof("value") == "data":
            stat.ClearField("data")
    return event_type
