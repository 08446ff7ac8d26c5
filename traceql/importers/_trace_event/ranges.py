"""Byte ranges of a file as files that DuckDB reads.

Invariant: a range is read with positioned reads only, so any number of threads may
read one file, and nothing of it is held in memory.
"""

from __future__ import annotations

import io
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from fsspec.spec import AbstractFileSystem

PROTOCOL = "traceqlrange"


class RangeFiles(AbstractFileSystem):  # type: ignore[misc]
    """Serves `traceqlrange://LOW-HIGH.json`: the file's bytes between brackets.

    The events of a range are separated by commas; brackets make them an array.
    """

    protocol = PROTOCOL
    cachable = False

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path

    @staticmethod
    def name(low: int, high: int) -> str:
        """The name of a range: from byte `low` to before byte `high`."""
        return f"{PROTOCOL}://{low}-{high}.json"

    def _bounds(self, path: str) -> tuple[int, int]:
        low, _, high = path.rpartition("/")[2].removesuffix(".json").partition("-")
        return int(low), int(high)

    def info(self, path: str, **_: Any) -> dict[str, Any]:
        """Name, size and type, as fsspec wants them."""
        low, high = self._bounds(path)
        return {"name": path, "size": high - low + 2, "type": "file"}

    def exists(self, path: str, **_: Any) -> bool:
        """Any range exists."""
        return True

    def isfile(self, path: str) -> bool:
        """Any range is a file."""
        return True

    def glob(self, path: str, **_: Any) -> list[str]:
        """A range has no wildcards."""
        return [path]

    def modified(self, path: str) -> datetime:
        """The same at every moment: ranges do not change."""
        return datetime(2000, 1, 1, tzinfo=UTC)

    def open(self, path: str, mode: str = "rb", **_: Any) -> _Range:
        """Opens a range for reading."""
        return _Range(self.path, *self._bounds(path))


class _Range(io.RawIOBase):
    """`[`, the bytes, `]`."""

    def __init__(self, path: Path, low: int, high: int) -> None:
        super().__init__()
        self._descriptor = os.open(path, os.O_RDONLY)
        self._low, self._high = low, high
        self._position = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = (0, self._position, self._high - self._low + 2)[whence]
        self._position = base + offset
        return self._position

    def tell(self) -> int:
        return self._position

    def read(self, size: int = -1) -> bytes:
        total = self._high - self._low + 2
        left = total - self._position
        size = left if size < 0 else min(size, left)
        if size <= 0:
            return b""
        opening = b"[" if self._position == 0 else b""
        closing = b"]" if self._position + size == total else b""
        inner = size - len(opening) - len(closing)
        offset = self._low + self._position + len(opening) - 1
        # A single read stops short of 2 GiB, and may stop anywhere.
        got = os.pread(self._descriptor, inner, offset) if inner > 0 else b""
        data = opening + got + (closing if len(got) == inner else b"")
        self._position += len(data)
        return data

    def close(self) -> None:
        if not self.closed:
            os.close(self._descriptor)
        super().close()
