"""Compressed files unpacked aside: gzip of any number of members, zstd, one in another.

Invariant: what a cut or damaged file still gives is given, and that it was cut is said.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable
from pathlib import Path

GZIP = b"\x1f\x8b"
ZSTD = b"\x28\xb5\x2f\xfd"
_BLOCK = 1 << 20
_ZSTD_BLOCK = 1 << 16  # what an error in it loses is at most this
_DEPTH = 2
_ENDINGS = {GZIP: ".gz", ZSTD: ".zst"}


def unpacked(path: Path, name: str, folder: Path) -> tuple[Path, str | None]:
    """The file itself, or what it holds if it is compressed, by its first bytes.

    Args:
        path: The file.
        name: Its name, which the unpacked file takes without its ending.
        folder: Where to unpack.

    Returns:
        The file to read, and why it is incomplete, or None.

    Raises:
        EOFError: A gzip file is cut before its first byte.
        zlib.error: A gzip file is damaged before its first byte.
        OSError: It cannot be read or written, or a zstd file is damaged at once.
    """
    cut = None
    # A file that was compressed twice is common enough; one packed deeper is a bomb.
    for depth in range(_DEPTH):
        with path.open("rb") as file:
            magic = file.read(4)
        kind = next((k for k in _ENDINGS if magic.startswith(k)), None)
        if kind is None:
            break
        name = name.removesuffix(_ENDINGS[kind]) or "stdin"
        target = folder / f"unpacked{depth or ''}-{name}"
        why = _gunzip(path, target) if kind == GZIP else _unzstd(path, target)
        if depth:
            path.unlink()
        path, cut = target, cut or why
    return path, cut


def beginning(path: Path, size: int) -> bytes:
    """The first bytes of a file, or of what it holds if it is compressed.

    Nothing is raised for a damaged one: what there is is given.

    Raises:
        OSError: It cannot be opened.
    """
    with path.open("rb") as file:
        data = file.read(size)
    if data.startswith(GZIP):
        with gzip.open(path, "rb") as packed:
            return _read_on(packed.read1, size)
    if data.startswith(ZSTD):
        import pyarrow as pa

        with pa.CompressedInputStream(pa.OSFile(str(path)), "zstd") as packed:
            return _read_on(packed.read, size)
    return data


def _read_on(read: Callable[[int], bytes], size: int) -> bytes:
    blocks: list[bytes] = []
    left = size
    try:
        while left > 0 and (block := read(left)):
            blocks.append(block)
            left -= len(block)
    except (EOFError, OSError, zlib.error):  # gzip.BadGzipFile is an OSError
        pass
    return b"".join(blocks)


def _gunzip(path: Path, target: Path) -> str | None:
    with gzip.open(path, "rb") as packed, target.open("wb") as file:
        try:
            # One raw read at a time: a longer one loses what came before its error.
            while block := packed.read1(_BLOCK):
                file.write(block)
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            if file.tell() == 0:
                raise
            return str(error)
    return None


def _unzstd(path: Path, target: Path) -> str | None:
    import pyarrow as pa

    with (
        pa.CompressedInputStream(pa.OSFile(str(path)), "zstd") as packed,
        target.open("wb") as file,
    ):
        try:
            while block := packed.read(_ZSTD_BLOCK):
                file.write(block)
        except OSError as error:
            if file.tell() == 0:
                raise
            return str(error)
    return None
