"""Where a store's files lie: a local folder, or any place that fsspec reaches.

Invariant: a name is relative to the store and uses `/`. A file appears under its
name whole or not at all; `create` lets one of many callers win. What cannot be
listed is an error, never an empty list: vacuum deletes what nobody names.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Protocol

from traceql.errors import StoreError, TraceQLError
from traceql.utf8 import is_utf8

STAGING = ".staging"
_NO_HARD_LINKS = {errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK}
_NO_FOLDER_SYNC = {errno.EINVAL, errno.ENOTSUP, errno.EACCES, errno.EBADF}
_RENAME_TRIES = 50


@dataclass(frozen=True)
class Entry:
    """One file: its name, size in bytes, and change time (Unix s, None unknown)."""

    name: str
    bytes: int
    modified_s: float | None


class Storage(Protocol):
    """What a store needs of the place where its files lie."""

    root: str
    local: bool

    def url(self, name: str) -> str:
        """The absolute path or URL of a name, for DuckDB and for messages."""

    def names(self, folder: str) -> list[str]:
        """Plain names in one folder, in no order; a missing folder has none."""

    def walk(self, folder: str) -> Iterator[Entry]:
        """All files under a folder, without following links to folders."""

    def read(self, names: Sequence[str]) -> dict[str, bytes]:
        """The contents of those that exist."""

    def open(self, name: str) -> BinaryIO:
        """Opens a file for reading; it can seek."""

    def create(self, name: str, data: bytes) -> bool:
        """Writes a new file; False when there is one already."""

    def replace(self, name: str, data: bytes) -> None:
        """Writes a file over whatever is there."""

    def scratch(self, nonce: str) -> Path:
        """A new local folder for the parts of one import."""

    def adopt(self, source: Path, name: str) -> None:
        """Moves a local file into the store, durably; it counts as new from now."""

    def settle(self, names: Sequence[str]) -> None:
        """Makes the names of adopted files durable."""

    def remove(self, name: str) -> bool:
        """Removes a file; False when there is none."""

    def touch(self, name: str) -> None:
        """Makes a file look new, where that is possible and the file there."""

    def prune(self, folder: str) -> None:
        """Removes a folder if it is empty."""

    def prune_older(self, folder: str, limit_s: float) -> None:
        """Removes empty folders under a folder that changed before a Unix time."""


class LocalStorage:
    """A folder on disk: hard links, renames and fsync."""

    local = True

    def __init__(self, root: Path) -> None:
        self.root = str(root)
        self._root = root

    def url(self, name: str) -> str:
        """The absolute path."""
        return f"{self.root}/{name}"

    def names(self, folder: str) -> list[str]:
        """Plain names in one folder; a missing folder has none."""
        try:
            return os.listdir(self._root / folder)  # noqa: PTH208 - iterdir is slow
        except FileNotFoundError:
            return []

    def walk(self, folder: str) -> Iterator[Entry]:
        """All files under a folder; files that vanish meanwhile are left out."""
        try:
            entries = list(os.scandir(self._root / folder))
        except FileNotFoundError:
            return
        for entry in entries:
            name = f"{folder}/{entry.name}"
            if entry.is_dir(follow_symlinks=False):
                yield from self.walk(name)
                continue
            with contextlib.suppress(FileNotFoundError):
                stat = entry.stat(follow_symlinks=False)
                yield Entry(name, stat.st_size, stat.st_mtime)

    def read(self, names: Sequence[str]) -> dict[str, bytes]:
        """The contents of those that exist."""
        found = {}
        for name in names:
            with contextlib.suppress(FileNotFoundError):
                found[name] = (self._root / name).read_bytes()
        return found

    def open(self, name: str) -> BinaryIO:
        """Opens a file for reading."""
        return (self._root / name).open("rb")

    def create(self, name: str, data: bytes) -> bool:
        """Writes a new file; False when there is one already.

        A hard link of a finished temporary file: readers never see half of it.
        """
        target = self._root / name
        temporary = self._write_temporary(data)
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            return self._link(temporary, target, data)
        finally:
            temporary.unlink(missing_ok=True)
            _sync_folder_if_possible(target.parent)

    def _link(self, temporary: Path, target: Path, data: bytes) -> bool:
        try:
            os.link(temporary, target)
        except FileExistsError:
            # A network file system may repeat a request that had succeeded.
            return temporary.stat().st_nlink > 1
        except OSError as error:
            if error.errno not in _NO_HARD_LINKS:
                raise
            try:
                _write_synced(target, data)
            except FileExistsError:
                return False
        return True

    def replace(self, name: str, data: bytes) -> None:
        """Writes a file over whatever is there, by a rename."""
        target = self._root / name
        temporary = self._write_temporary(data)
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            temporary.replace(target)
        finally:
            temporary.unlink(missing_ok=True)
        _sync_folder_if_possible(target.parent)

    def _write_temporary(self, data: bytes) -> Path:
        folder = self._root / STAGING
        folder.mkdir(parents=True, exist_ok=True)
        temporary = folder / f"{secrets.token_hex(8)}.tmp"
        _write_synced(temporary, data)
        return temporary

    def scratch(self, nonce: str) -> Path:
        """A folder beside the store's own, so that parts can be renamed."""
        folder = self._root / STAGING / nonce
        folder.mkdir(parents=True)
        return folder

    def adopt(self, source: Path, name: str) -> None:
        """Moves a file of `scratch` into place."""
        target = self._root / name
        # Renaming keeps the time: the first part of a long import would look old
        # to a vacuum that runs before the manifest is there.
        os.utime(source)
        with source.open("rb") as file:
            os.fsync(file.fileno())
        for left in reversed(range(_RENAME_TRIES)):
            try:
                target.parent.mkdir(parents=True, exist_ok=True)
                source.rename(target)
                return
            except FileNotFoundError:
                # Another process may prune the folder between the two calls.
                if not left or not source.exists():
                    raise

    def settle(self, names: Sequence[str]) -> None:
        """Syncs the folders of the names, up to the store's own."""
        folders = {parent for name in names for parent in Path(name).parents}
        for folder in sorted(folders, reverse=True):
            _sync_folder(self._root / folder)

    def remove(self, name: str) -> bool:
        """Removes a file; False when there is none."""
        try:
            (self._root / name).unlink()
        except FileNotFoundError:
            return False
        return True

    def touch(self, name: str) -> None:
        """Makes a file look new, if it is there."""
        with contextlib.suppress(FileNotFoundError):
            os.utime(self._root / name)

    def prune(self, folder: str) -> None:
        """Removes a folder if it is empty."""
        with contextlib.suppress(OSError):
            (self._root / folder).rmdir()

    def prune_older(self, folder: str, limit_s: float) -> None:
        """Removes empty folders under a folder that changed before a Unix time."""
        top = self._root / folder
        for path in [Path(path) for path, _, _ in os.walk(top, topdown=False)]:
            with contextlib.suppress(OSError):
                if path != top and path.stat().st_mtime < limit_s:
                    path.rmdir()


def open_storage(path: str | Path) -> Storage:
    """The storage of a local path or of any URL that fsspec knows.

    Raises:
        StoreError: The URL's protocol is unknown, or its package is missing; or the
            path is not UTF-8.
    """
    text = str(path)
    if text.startswith("file://"):
        text = text.removeprefix("file://")
    if "://" not in text:
        folder = Path(text).expanduser().absolute()
        if not is_utf8(str(folder)):
            raise StoreError(
                f"the store's path is not UTF-8, which DuckDB needs: {folder}",
                hint="Name another one: --store or TRACEQL_STORE.",
            )
        return LocalStorage(folder)
    protocol = text.partition("://")[0]
    extra = {"gs": "gcs", "az": "azure", "abfs": "azure"}.get(protocol, protocol)
    try:
        from traceql.storage_fsspec import RemoteStorage

        return RemoteStorage(text)
    except ImportError as error:
        hint = f"pip install 'traceql[{extra}]'"
        raise StoreError(f"no back-end for {protocol}://: {error}", hint=hint) from None
    except ValueError as error:
        raise StoreError(f"cannot open {text}: {error}") from None


@contextlib.contextmanager
def storage_errors(storage: Storage, doing: str) -> Iterator[None]:
    """Turns what the system reports into a `StoreError` that says what to do.

    Args:
        storage: Whose errors; a remote back-end may raise any exception.
        doing: The failed action, as in "cannot write to".
    """
    try:
        yield
    except TraceQLError:
        raise
    except Exception as error:
        if storage.local and not isinstance(error, OSError):
            raise
        number = getattr(error, "errno", None)
        reason = os.strerror(number) if number else str(error) or type(error).__name__
        where = getattr(error, "filename", None) or storage.root
        raise StoreError(
            f"cannot {doing} the store {storage.root}: {reason} ({where})",
            hint=_advice(number, isinstance(error, PermissionError)),
        ) from error


def discard(folder: Path) -> None:
    """Removes a scratch folder with all that is in it, as far as possible."""
    shutil.rmtree(folder, ignore_errors=True)


def _advice(number: int | None, forbidden: bool) -> str | None:
    if number in (errno.ENOSPC, errno.EDQUOT):
        return "Free some space (traceql store vacuum), or use --store on another disk."
    if number == errno.EROFS or forbidden:
        return "Ask for write access, or name another store: --store or TRACEQL_STORE."
    if number in (errno.ENOTDIR, errno.EEXIST):
        return "A store is a folder; name another one: --store or TRACEQL_STORE."
    return None


def _write_synced(path: Path, data: bytes) -> None:
    with path.open("xb") as file:
        try:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        except BaseException:
            path.unlink(missing_ok=True)
            raise


def _sync_folder(folder: Path) -> None:
    try:
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
    except OSError as error:
        if error.errno not in _NO_FOLDER_SYNC:
            raise


def _sync_folder_if_possible(folder: Path) -> None:
    # The file is in place: a failure here makes it less durable, not undone.
    with contextlib.suppress(OSError):
        _sync_folder(folder)
