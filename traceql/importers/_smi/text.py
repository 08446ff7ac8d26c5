r"""The text of a log, whatever wrote it: PowerShell's UTF-16, ANSI marks, bad bytes.

Invariant: the copy is UTF-8 with `\n` at the ends of lines, and says what was mended.
"""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass
from pathlib import Path

_MARKS = re.compile(r"\x1b\[[0-9;]*[A-Za-z]|[\x00\ufeff]")
_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_BLOCK = 1 << 20


@dataclass(frozen=True)
class Copied:
    """A log as clean text.

    Attributes:
        path: The copy.
        bad_count: Bytes that are no text of the encoding; they became U+FFFD.
        whole: Whether the last line has its end.
    """

    path: Path
    bad_count: int
    whole: bool


def encoding_of(data: bytes) -> str:
    """The encoding of a text, by its first bytes."""
    for bom, name in _BOMS:
        if data.startswith(bom):
            return name
    # Half of UTF-16's bytes are zero in plain text; which half says the order.
    pairs = data[:512]
    half = max(1, len(pairs) // 2)
    for offset, name in ((1, "utf-16-le"), (0, "utf-16-be")):
        if pairs[offset::2].count(0) > 0.6 * half and not pairs[1 - offset :: 2].count(
            0
        ):
            return name
    return "utf-8"


def beginning(data: bytes) -> str:
    """The text of a file's first bytes, without marks; never raises."""
    text = data.decode(encoding_of(data), "replace")
    return _MARKS.sub("", text).replace("\r\n", "\n").replace("\r", "\n")


def utf8_copy(path: Path, target: Path) -> Copied:
    """Writes the log as clean UTF-8.

    Args:
        path: The log.
        target: Where to write it.
    """
    with path.open("rb") as raw:
        encoding = encoding_of(raw.read(_BLOCK))
    bad, last, held = 0, "", ""
    with (
        path.open(encoding=encoding, errors="replace") as source,
        target.open("w", encoding="utf-8", newline="\n") as copy,
    ):
        while block := source.read(_BLOCK):
            # A mark may lie on the border of two blocks, but spans no lines.
            head, newline, held = (held + block).rpartition("\n")
            text = _MARKS.sub("", head + newline)
            bad += text.count("\ufffd")
            copy.write(text)
        last = _MARKS.sub("", held)
        bad += last.count("\ufffd")
        # What ends without a line's end may be cut; DuckDB needs no end.
        copy.write(last)
    return Copied(target, bad, not last.strip())
