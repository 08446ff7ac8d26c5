"""Protobuf's wire format: fields of one message in turn, or of many at once.

Of many messages the first field of each is read, then the second of each, and so on:
as many steps as the longest one has fields, each over plain arrays.
Invariant: what is damaged is refused with its position in the file.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Bytes: TypeAlias = npt.NDArray[np.uint8]
Ints: TypeAlias = npt.NDArray[np.int64]
Unsigned: TypeAlias = npt.NDArray[np.uint64]

# A value may be read beyond the end of a buffer before its length is checked.
PADDING = 32
VARINT, EIGHT, LENGTH, FOUR = 0, 1, 2, 5
_MAX_LENGTH = 1 << 40
_MAX_VARINT_BYTES = 10


class Damaged(Exception):
    """The bytes are no protobuf.

    Attributes:
        position: Offset of the first byte that cannot be right.
        what: What is wrong with it.
    """

    def __init__(self, position: int, what: str) -> None:
        super().__init__(f"byte {position}: {what}")
        self.position = position
        self.what = what


class CutShort(Damaged):
    """The file ends before the field that begins at the position does."""


@dataclass(frozen=True)
class Field:
    """One field of a message.

    Attributes:
        number: Its number.
        kind: Its wire type.
        start: Where its tag begins.
        begin: Where its value begins; after the length, if it has one.
        end: Where it ends.
    """

    number: int
    kind: int
    start: int
    begin: int
    end: int


def varint(data: Any, at: int, base: int = 0) -> tuple[int, int]:
    """The number at a place, and the place after it.

    Args:
        data: Bytes.
        at: Where it begins.
        base: Offset of `data` in the file, for errors.

    Raises:
        Damaged: It is longer than any number is.
        IndexError: The data end within it.
    """
    value = shift = 0
    for place in range(at, at + _MAX_VARINT_BYTES):
        byte = data[place]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, place + 1
        shift += 7
    raise Damaged(base + at, "a number of more than ten bytes")


def field_at(data: Any, at: int, base: int = 0) -> Field:
    """The field that begins at a place; its end may lie beyond the data.

    Args:
        data: Bytes.
        at: Where its tag is.
        base: Offset of `data` in the file; the places of the result are the data's.

    Raises:
        Damaged: There is no field.
        IndexError: The data end within its tag or length.
    """
    tag, begin = varint(data, at, base)
    number, kind = tag >> 3, tag & 7
    if number == 0 or number >= 1 << 29:
        raise Damaged(base + at, f"field number {number}")
    if kind == LENGTH:
        length, begin = varint(data, begin, base)
        if length >= _MAX_LENGTH:
            raise Damaged(base + at, f"a field of {length} bytes")
        return Field(number, kind, at, begin, begin + length)
    if kind == VARINT:
        return Field(number, kind, at, begin, varint(data, begin, base)[1])
    if kind in (EIGHT, FOUR):
        return Field(number, kind, at, begin, begin + (8 if kind == EIGHT else 4))
    raise Damaged(base + at, f"wire type {kind}")


def fields(data: Any, begin: int, end: int, base: int = 0) -> Iterator[Field]:
    """The fields of one message that is whole in memory.

    Raises:
        Damaged: A field is none, or crosses the end of the message.
    """
    while begin < end:
        try:
            field = field_at(data, begin, base)
        except IndexError:
            raise Damaged(base + begin, "a field that crosses its message") from None
        if field.end > end:
            raise Damaged(base + begin, "a field that crosses its message")
        yield field
        begin = field.end


@dataclass(frozen=True)
class Many:
    """Fields of many messages, in no order but that of each message's own.

    Attributes:
        message: Which message each field is of.
        number: Its number.
        kind: Its wire type.
        value: Its number, bits or length.
        begin: Where its content begins, for those with a length.
    """

    message: Ints
    number: Ints
    kind: Ints
    value: Unsigned
    begin: Ints


def many(data: Bytes, begin: Ints, end: Ints, base: int) -> Many:
    """All fields of messages that lie in one buffer.

    Args:
        data: The buffer, with `PADDING` bytes after its content.
        begin: Where each message begins.
        end: Where it ends.
        base: Offset of the buffer in the file, for errors.

    Raises:
        Damaged: A field is none, or crosses the end of its message.
    """
    message = np.flatnonzero(begin < end)
    at, limit = begin[message], end[message]
    steps: list[tuple[Any, ...]] = []
    while message.size:
        tag, after = _varints(data, at, base)
        kind = (tag & np.uint64(7)).astype(np.int64)
        number = (tag >> np.uint64(3)).astype(np.int64)
        value = np.zeros(message.size, np.uint64)
        counted = np.flatnonzero((kind == VARINT) | (kind == LENGTH))
        if counted.size == message.size:
            value, after = _varints(data, after, base)
        elif counted.size:
            value[counted], after[counted] = _varints(data, after[counted], base)
        start = after.copy()
        fixed = counted.size < message.size
        for width, wire in ((8, EIGHT), (4, FOUR)) if fixed else ():
            found = np.flatnonzero(kind == wire)
            if found.size:
                raw = data[after[found][:, None] + np.arange(width)]
                value[found] = raw.view(np.uint64 if width == 8 else np.uint32).ravel()
                after[found] += width
        long = kind == LENGTH
        after = after + np.where(long, value, 0).astype(np.int64)
        wrong = (
            (number == 0) | (number >= 1 << 29) | ~np.isin(kind, (0, 1, 2, 5))
            | (long & (value >= np.uint64(_MAX_LENGTH))) | (after > limit)
        )  # fmt: skip
        if wrong.any():
            first = int(np.flatnonzero(wrong)[np.argmin(at[wrong])])
            raise Damaged(base + int(at[first]), "a field that its message cannot hold")
        steps.append((message, number, kind, value, start))
        more = after < limit
        message, at, limit = message[more], after[more], limit[more]
    if not steps:
        none = np.zeros(0, np.int64)
        return Many(none, none, none, np.zeros(0, np.uint64), none)
    columns = [np.concatenate(c) for c in zip(*steps, strict=True)]
    return Many(*columns)


def _varints(data: Bytes, at: Ints, base: int) -> tuple[Unsigned, Ints]:
    """The numbers at many places, and the places after them."""
    byte = data[at]
    value = (byte & 0x7F).astype(np.uint64)
    after = at + 1
    longer = np.flatnonzero(byte >= 0x80)
    shift = 7
    while longer.size:
        if shift >= 7 * _MAX_VARINT_BYTES:
            raise Damaged(
                base + int(at[longer].min()), "a number of more than ten bytes"
            )
        place = np.minimum(after[longer], data.size - 1)
        byte = data[place]
        value[longer] |= (byte & 0x7F).astype(np.uint64) << np.uint64(shift)
        after[longer] += 1
        longer = longer[byte >= 0x80]
        shift += 7
    return value, after
