"""Sources: what a user names becomes named, hashed, readable local files.

A path, a folder, a glob, `-` for standard input, or a URL that fsspec opens; a gzip or
zstd file or a member of a zip archive is unpacked aside; a folder may itself be a
capture.
Invariant: a source is never written to, and what was unpacked or fetched is gone when
its context ends.
"""

from __future__ import annotations

import glob
import gzip
import hashlib
import os
import shutil
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import BinaryIO
from urllib.parse import urlsplit, urlunsplit

from traceql import unpacking
from traceql.errors import ImportFailed, StoreError, UnrecognisedInput

_ZIP = b"PK\x03\x04"
_BLOCK = 1 << 20


@dataclass(frozen=True)
class Source:
    """One importable file, or folder that is one capture.

    Attributes:
        uri: Where it comes from, as the user named it.
        path: The local file to read: the source itself, or what was unpacked.
        original: The file or folder whose bytes name the run.
        member: Name inside the archive, or None.
        cut: Why what was unpacked is incomplete, or None.
    """

    uri: str
    path: Path
    original: Path
    member: str | None = None
    cut: str | None = None

    @cached_property
    def sha256(self) -> str:
        """SHA-256 of the original's bytes, hexadecimal."""
        return _sha256(self.original)

    @property
    def bytes(self) -> int:
        """Size of the original, bytes."""
        if self.original.is_dir():
            return sum(file.stat().st_size for _, file in _inside(self.original))
        return self.original.stat().st_size

    @cached_property
    def fingerprint(self) -> str:
        """See `fingerprint`, of the original."""
        return fingerprint(self.original)

    @property
    def run_id(self) -> str:
        """`r` and 15 hexadecimal digits of what identifies the source."""
        beside = [_sha256(path) for path in journals(self.original)]
        identity = [self.sha256, *beside, *([self.member] if self.member else [])]
        if len(identity) > 1:
            return "r" + hashlib.sha256("\n".join(identity).encode()).hexdigest()[:15]
        return "r" + self.sha256[:15]


def _sha256(path: Path) -> str:
    if path.is_dir():
        lines = [f"{_sha256(file)} {name}\n" for name, file in _inside(path)]
        return hashlib.sha256(os.fsencode("".join(lines))).hexdigest()
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _inside(folder: Path) -> list[tuple[str, Path]]:
    """Relative name and path of each file of a folder, sorted; hidden ones are not."""
    found = [(path.relative_to(folder), path) for path in folder.rglob("*")]
    return sorted(
        (name.as_posix(), path)
        for name, path in found
        if path.is_file() and not _is_hidden(name)
    )


def fingerprint(path: Path) -> str:
    """What tells without reading it that a file or folder is the same as before.

    A hash of its absolute path and of the size and time of change of each of its
    files, journals beside it included; empty where that cannot be seen.
    """
    try:
        inside = _inside(path) if path.is_dir() else [("", path)]
        files = [*inside, *((j.name, j) for j in journals(path))]
        seen = [(name, file.stat()) for name, file in files]
        lines = [f"{name} {stat.st_size} {stat.st_mtime_ns}\n" for name, stat in seen]
        whole = "".join([f"{path.resolve()}\n", *lines])
        return hashlib.sha256(os.fsencode(whole)).hexdigest()
    except OSError:
        return ""


def journals(database: Path) -> list[Path]:
    """What a process that died left beside a SQLite file: part of its content."""
    beside = [database.with_name(database.name + end) for end in ("-wal", "-journal")]
    return [path for path in beside if path.is_file() and path.stat().st_size > 0]


def is_journal(path: Path) -> bool:
    """Whether a file is what SQLite has beside a database, and part of that."""
    ends = ("-wal", "-journal", "-shm")
    return any(
        path.name.endswith(end)
        and path.with_name(path.name.removesuffix(end)).is_file()
        for end in ends
    )


@dataclass(frozen=True)
class Named:
    """One thing to import, not opened yet.

    Attributes:
        uri: Path, URL or `-`.
        explicit: Whether the user named it himself; a file that a folder merely
            contains may be passed over.
        notes: Remarks for the user on how it was chosen.
    """

    uri: str
    explicit: bool
    notes: tuple[str, ...] = ()


def _no_folder(_: Path) -> bool:
    return False


def expand(
    names: list[str], is_capture: Callable[[Path], bool] = _no_folder
) -> list[Named]:
    """Files, URLs and `-` behind the names: globs matched, folders walked, sorted.

    Args:
        names: What the user named.
        is_capture: Whether a folder is one capture, not a place where some lie.

    Raises:
        UnrecognisedInput: A name is nothing that exists.
    """
    found: dict[str, Named] = {}
    for name in names:
        try:
            for item in _expand_one(name, is_capture):
                found.setdefault(item.uri, item)
        except OSError as error:
            raise UnrecognisedInput(
                f"{name}: cannot be read: {error.strerror}",
                hint="Check the path and your rights to it.",
            ) from error
    return list(found.values())


def _expand_one(name: str, is_capture: Callable[[Path], bool]) -> Iterator[Named]:
    path = Path(name)
    if name == "-" or _is_url(name) or path.is_file():
        yield Named(name, explicit=True)
    elif path.is_dir():
        if is_capture(path):
            yield Named(name, explicit=True)
        else:
            yield from _walked(path, is_capture)
    elif glob.has_magic(name):
        matches = sorted(glob.glob(name, recursive=True))  # noqa: PTH207 - absolute too
        if not matches:
            raise UnrecognisedInput(
                f"{name}: no file matches", hint="Check the pattern and the folder."
            )
        for match in matches:
            yield from _expand_one(match, is_capture)
    elif path.exists():
        raise UnrecognisedInput(f"{name}: neither a file nor a folder")
    else:
        raise UnrecognisedInput(
            f"{name}: no such file", hint="Check the path; quote a glob or a URL."
        )


def _walked(folder: Path, is_capture: Callable[[Path], bool]) -> Iterator[Named]:
    """What lies in a folder; a folder that is a capture counts as one thing."""
    whole: set[Path] = set()
    for inner in sorted(folder.rglob("*")):  # a folder before what is in it
        if _is_hidden(inner.relative_to(folder)) or not whole.isdisjoint(inner.parents):
            continue
        if inner.is_dir() and is_capture(inner):
            whole.add(inner)
        if inner.is_file() or inner in whole:
            yield Named(str(inner), explicit=False)


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
    with scratch() as folder:
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
def scratch() -> Iterator[Path]:
    """A temporary folder that is gone when the context ends.

    Raises:
        StoreError: None can be made.
    """
    try:
        made = tempfile.TemporaryDirectory(prefix="traceql-")
    except OSError as error:
        raise StoreError(
            f"no temporary folder can be made: {error}",
            hint="Set TMPDIR to a folder with free space.",
        ) from error
    with made as name:
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
    if original.is_dir():
        yield Source(uri, original, original)
        return
    try:
        with original.open("rb") as file:
            magic = file.read(4)
    except OSError as error:
        raise UnrecognisedInput(f"{uri}: cannot be read: {error.strerror}") from error
    if magic == _ZIP:
        with zipfile.ZipFile(original) as archive:
            for number, info in enumerate(archive.infolist()):
                if info.is_dir():
                    continue
                target = folder / f"{number}-{Path(info.filename).name}"
                with _member(uri, archive, info) as packed:
                    _save(packed, target)
                inner, cut = unpacking.unpacked(target, target.name, folder)
                name = f"{uri}!{info.filename}"
                yield Source(name, inner, original, info.filename, cut)
                inner.unlink()
                target.unlink(missing_ok=True)
    else:
        path, cut = unpacking.unpacked(original, Path(uri).name, folder)
        yield Source(uri, path, original, cut=cut)


def _member(uri: str, archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> BinaryIO:
    try:
        return archive.open(info)  # type: ignore[return-value]
    except (RuntimeError, NotImplementedError) as error:
        # What zipfile raises for a password, and for methods that it does not know.
        raise ImportFailed(
            f"{uri}!{info.filename}: cannot be unpacked: {error}",
            hint="Unpack the archive yourself, then import the folder.",
        ) from error
