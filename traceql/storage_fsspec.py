"""A store behind fsspec: object stores, and `memory://` for tests.

Invariant: an object appears whole or not at all, and lists are never cached.
Exclusive creation is as good as the back-end's: where two writers may both win,
the later manifest stands, and the earlier one's parts are waste, not damage.
"""

from __future__ import annotations

import contextlib
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, BinaryIO, cast

from fsspec.core import url_to_fs

from traceql.storage import Entry


class RemoteStorage:
    """A place behind fsspec: an object store, or `memory://`."""

    local = False
    # Back-ends that cannot create exclusively look first and write then; within
    # one process this lock makes that safe.
    _creating = threading.Lock()

    def __init__(self, url: str) -> None:
        self._fs, self._root = cast(tuple[Any, str], url_to_fs(url.rstrip("/")))
        self.root = str(self._fs.unstrip_protocol(self._root))

    def _path(self, name: str) -> str:
        return f"{self._root}/{name}" if name else self._root

    def url(self, name: str) -> str:
        """The URL."""
        return f"{self.root}/{name}"

    def names(self, folder: str) -> list[str]:
        """Plain names in one folder; a missing folder has none."""
        self._fs.invalidate_cache(self._path(folder))
        try:
            paths = self._fs.ls(self._path(folder), detail=False)
        except FileNotFoundError:
            return []
        return [path.rstrip("/").rpartition("/")[2] for path in paths]

    def walk(self, folder: str) -> Iterator[Entry]:
        """All files under a folder."""
        self._fs.invalidate_cache()
        try:
            found = self._fs.find(self._path(folder), detail=True)
        except FileNotFoundError:
            return
        for path, info in found.items():
            name = path[len(self._root) + 1 :]
            yield Entry(name, int(info.get("size") or 0), _modified_s(info))

    def read(self, names: Sequence[str]) -> dict[str, bytes]:
        """The contents of those that exist, fetched together where that is faster."""
        if not names:
            return {}
        paths = {self._path(name): name for name in names}
        found = {}
        for path, data in self._fs.cat(list(paths), on_error="return").items():
            if isinstance(data, bytes):
                found[paths[path]] = data
            elif not isinstance(data, FileNotFoundError | KeyError):
                raise data
        return found

    def open(self, name: str) -> BinaryIO:
        """Opens a file for reading."""
        return cast(BinaryIO, self._fs.open(self._path(name), "rb"))

    def create(self, name: str, data: bytes) -> bool:
        """Writes a new file; False when there is one already."""
        path = self._path(name)
        with self._creating:
            self._fs.invalidate_cache(self._fs._parent(path))
            if self._fs.exists(path):
                return False
            try:
                self._pipe(path, data, mode="create")
            except FileExistsError:
                return False
        return True

    def replace(self, name: str, data: bytes) -> None:
        """Writes a file over whatever is there."""
        self._pipe(self._path(name), data)

    def _pipe(self, path: str, data: bytes, **options: str) -> None:
        self._in_folder(path, lambda: self._fs.pipe_file(path, data, **options))

    def _in_folder(self, path: str, write: Callable[[], object]) -> None:
        try:
            write()
        except FileNotFoundError:  # a back-end with real folders
            self._fs.makedirs(self._fs._parent(path), exist_ok=True)
            write()

    def scratch(self, nonce: str) -> Path:
        """A folder of this machine's temporary files, where a killed import stays."""
        return Path(tempfile.mkdtemp(prefix=f"traceql-{nonce}-"))

    def adopt(self, source: Path, name: str) -> None:
        """Uploads a file."""
        path = self._path(name)
        self._in_folder(path, lambda: self._fs.put_file(str(source), path))

    def settle(self, names: Sequence[str]) -> None:
        """An uploaded object is durable by itself."""

    def remove(self, name: str) -> bool:
        """Removes a file; False when there is none."""
        try:
            self._fs.rm_file(self._path(name))
        except FileNotFoundError:
            return False
        return True

    def touch(self, name: str) -> None:
        """An object's time cannot be set."""

    def prune(self, folder: str) -> None:
        """Object stores have no folders."""

    def prune_older(self, folder: str, limit_s: float) -> None:
        """Object stores have no folders."""


def _modified_s(info: dict[str, Any]) -> float | None:
    for key in ("mtime", "LastModified", "last_modified", "updated", "created"):
        value = info.get(key)
        if isinstance(value, datetime):
            return value.timestamp()
        if isinstance(value, int | float):
            return float(value)
        if isinstance(value, str):
            with contextlib.suppress(ValueError):
                return datetime.fromisoformat(value).timestamp()
    return None
