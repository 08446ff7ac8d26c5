"""Sources: what a user names becomes named, hashed, readable local files.

A path, a folder, a glob, `-` for standard input, or a URL that fsspec opens; a gzip
file or a member of a zip archive is unpacked aside. Invariant: a source is never
written to, and what was unpacked or fetched is gone when its context ends.
"""

from __future__ import annotations

import glob
import gzip
import hashlib
import shutil
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import BinaryIO
from urllib.parse import urlsplit, urlunsplit

from traceql.errors import ImportFailed, StoreError, UnrecognisedInput

_GZIP = b"\x1f\x8b"
_ZIP = b"PK\x03\x04"
_BLOCK = 1 << 20


@dataclass(frozen=True)
class Source:
    """One importable file.

    Attributes:
        uri: Where it comes from, as the user named it.
        path: The local file to read: the source itself, or what was unpacked.
        original: The file whose bytes name the run.
        member: Name inside the archive, or None.
    """

    uri: str
    path: Path
    original: Path
    member: str | None = None

    @cached_property
    def sha256(self) -> str:
        """SHA-256 of the original's bytes, hexadecimal."""
        return _sha256(self.original)

    @property
    def bytes(self) -> int:
        """Size of the original, bytes."""
        return self.original.stat().st_size

    @property
    def run_id(self) -> str:
        """`r` and 15 hexadecimal digits of what identifies the source."""
        beside = [_sha256(path) for path in journals(self.original)]
        identity = [self.sha256, *beside, *([self.member] if self.member else [])]
        if len(identity) > 1:
            return "r" + hashlib.sha256("\n".join(identity).encode()).hexdigest()[:15]
        return "r" + self.sha256[:15]


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def journals(database: Path) -> list[Path]:
    """What a process that died left beside a SQLite file: part of its content."""
    beside = [database.with_name(database.name + end) for end in ("-wal", "-journal")]
    return [path for path in beside if path.is_file() and path.stat().st_size > 0]


@dataclass(frozen=True)
class Named:
    """One thing to import, not opened yet.

    Attributes:
        uri: Path, URL or `-`.
        explicit: Whether the user named it himself; a file that a folder merely
            contains may be passed over.
    """

    uri: str
    explicit: bool


def expand(names: list[str]) -> list[Named]:
    """Files, URLs and `-` behind the names: globs matched, folders walked, sorted.

    Raises:
        UnrecognisedInput: A name is nothing that exists.
    """
    found: dict[str, Named] = {}
    for name in names:
        try:
            for item in _expand_one(name):
                found.setdefault(item.uri, item)
        except OSError as error:
            raise UnrecognisedInput(
                f"{name}: cannot be read: {error.strerror}",
                hint="Check the path and your rights to it.",
            ) from error
    return list(found.values())


def _expand_one(name: str) -> Iterator[Named]:
    path = Path(name)
    if name == "-" or _is_url(name) or path.is_file():
        yield Named(name, explicit=True)
    elif path.is_dir():
        for inner in sorted(path.rglob("*")):
            if inner.is_file() and not _is_hidden(inner.relative_to(path)):
                yield Named(str(inner), explicit=False)
    elif glob.has_magic(name):
        matches = sorted(glob.glob(name, recursive=True))  # noqa: PTH207 - absolute too
        if not matches:
            raise UnrecognisedInput(
                f"{name}: no file matches", hint="Check the pattern and the folder."
            )
        for match in matches:
            yield from _expand_one(match)
    elif path.exists():
        raise UnrecognisedInput(f"{name}: neither a file nor a folder")
    else:
        raise UnrecognisedInput(
            f"{name}: no such file", hint="Check the path; quote a glob or a URL."
        )


def _is_url(name: str) -> bool:
    return "://" in name


def _is_hidden(path: Path) -> bool:
    return any(part.startswith(".") for part in path.parts)


@contextmanager
def opened(item: Named) -> Iterator[Iterator[Source]]:
    """The files behind one name, unpacked one by one; several for an archive.

    Raises:
        UnrecognisedInput: It cannot be read.
        ImportFailed: An archive is damaged.
    """
    with _scratch() as folder:
        try:
            original = _local(item.uri, folder)
            yield _unpacked(_public(item.uri), original, folder)
        except (EOFError, gzip.BadGzipFile, zlib.error, zipfile.BadZipFile) as error:
            raise ImportFailed(
                f"{item.uri}: the archive is damaged: {error}",
                hint="Fetch the file again.",
            ) from error
        except OSError as error:
            raise StoreError(
                f"{item.uri}: reading or unpacking failed: {error.strerror or error}",
                hint="Set TMPDIR to a folder with free space.",
            ) from error


@contextmanager
def _scratch() -> Iterator[Path]:
    try:
        scratch = tempfile.TemporaryDirectory(prefix="traceql-")
    except OSError as error:
        raise StoreError(
            f"no temporary folder can be made: {error}",
            hint="Set TMPDIR to a folder with free space.",
        ) from error
    with scratch as name:
        yield Path(name)


def _public(uri: str) -> str:
    """The URI without what may be secret: user, password, query."""
    if not _is_url(uri):
        return uri
    parts = urlsplit(uri)
    return urlunsplit(
        (parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", "")
    )


def _local(uri: str, folder: Path) -> Path:
    if uri == "-":
        return _save(sys.stdin.buffer, folder / "stdin")
    if not _is_url(uri):
        return Path(uri)
    import fsspec

    try:
        with fsspec.open(uri, "rb") as remote:
            return _save(remote, folder / (Path(uri).name or "download"))
    except Exception as error:
        # Each back-end raises kinds of its own, which have no common base.
        raise UnrecognisedInput(
            f"{_public(uri)}: cannot be read: {error}",
            hint="Check the URL; http:// needs aiohttp, and s3://, gs:// and "
            "abfs:// the extra s3, gcs or azure.",
        ) from error


def _save(stream: BinaryIO, path: Path) -> Path:
    with path.open("wb") as file:
        shutil.copyfileobj(stream, file, _BLOCK)
    return path


def _unpacked(uri: str, original: Path, folder: Path) -> Iterator[Source]:
    try:
        with original.open("rb") as file:
            magic = file.read(4)
    except OSError as error:
        raise UnrecognisedInput(f"{uri}: cannot be read: {error.strerror}") from error
    if magic.startswith(_GZIP):
        name = Path(uri).name.removesuffix(".gz") or "stdin"
        with gzip.open(original, "rb") as packed:
            unpacked = _save(packed, folder / f"unpacked-{name}")  # type: ignore[arg-type]
        yield Source(uri, unpacked, original)
    elif magic == _ZIP:
        with zipfile.ZipFile(original) as archive:
            for number, info in enumerate(archive.infolist()):
                if info.is_dir():
                    continue
                target = folder / f"{number}-{Path(info.filename).name}"
                with _member(uri, archive, info) as packed:
                    _save(packed, target)
                yield Source(f"{uri}!{info.filename}", target, original, info.filename)
                target.unlink()
    else:
        yield Source(uri, original, original)


def _member(uri: str, archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> BinaryIO:
    try:
        return archive.open(info)  # type: ignore[return-value]
    except (RuntimeError, NotImplementedError) as error:
        # What zipfile raises for a password, and for methods that it does not know.
        raise ImportFailed(
            f"{uri}!{info.filename}: cannot be unpacked: {error}",
            hint="Unpack the archive yourself, then import the folder.",
        ) from error
