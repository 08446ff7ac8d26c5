"""One import's way into the store: parts aside, then in place, manifest last.

Invariant: at any moment there is the whole run with its manifest, or nothing
that a reader sees. Of several processes that import the same run, one commits
and the others leave nothing behind.
"""

from __future__ import annotations

import hashlib
import secrets
import threading
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import traceql
from traceql import manifest as manifests
from traceql.diagnostics import Finding
from traceql.errors import StoreError, UsageError
from traceql.manifest import Manifest, PartFile, Run
from traceql.selectors import check_names
from traceql.storage import Storage, discard, storage_errors


class Staging:
    """Parts of one run on their way into the store: a context manager.

    Leaving the context removes what was not committed.

    Attributes:
        run_id: The run.
        nonce: Tells this import's files from those of any other.
    """

    def __init__(self, storage: Storage, run_id: str) -> None:
        if not manifests.RUN_ID.fullmatch(run_id):
            raise UsageError(f"{run_id!r} is no run id: r and digits or small letters")
        self.run_id = run_id
        self.nonce = secrets.token_hex(6)
        self._storage = storage
        self._parts: list[tuple[str, Path]] = []
        self._lock = threading.Lock()
        self._committed = False
        self._folder: Path | None = None

    def __enter__(self) -> Staging:
        """Makes the folder for the parts."""
        with storage_errors(self._storage, "write to"):
            self._folder = self._storage.scratch(self.nonce)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Removes the folder with whatever is left in it."""
        if self._folder is not None:
            discard(self._folder)

    def part(self, table: str) -> Path:
        """A fresh local path for one Parquet file of a table; any thread may ask.

        A path that is never written, or that holds no rows, is no part.
        """
        if self._folder is None or not manifests.TABLE.fullmatch(table):
            raise ValueError(f"no part for table {table!r} outside `with`")
        with self._lock:
            number = sum(name == table for name, _ in self._parts)
            path = self._folder / table / f"part-{self.nonce}-{number}.parquet"
            self._parts.append((table, path))
        with storage_errors(self._storage, "write to"):
            path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def commit(
        self,
        *,
        importer: Mapping[str, Any],
        source: Mapping[str, Any],
        label: str | None = None,
        tags: Mapping[str, str] | None = None,
        options: Mapping[str, Any] | None = None,
        diagnostics: Iterable[Finding] = (),
        facts: Mapping[str, Any] | None = None,
        schema_version: str = "v1",
        replace: bool = False,
    ) -> Run | None:
        """Puts the parts in place and then writes the manifest.

        Args:
            importer: name, version.
            source: uri, sha256, bytes, member.
            label: The user's name for the run.
            tags: The user's tags.
            options: What changed the import's outcome.
            diagnostics: What the import found.
            facts: A small summary for `traceql runs`; JSON values.
            schema_version: The folder of the tables.
            replace: Take the place of a run with the same id. Its label and tags
                stay where none are given; its parts stay for their readers.

        Returns:
            The run, or None when another import had committed it before.

        Raises:
            StoreError: The store cannot be written, or a part is no Parquet file.
                Nothing of this import stays.
        """
        if self._committed:
            raise ValueError("committed before")
        check_names(label, tags or {})
        name = manifests.name_of(self.run_id)
        with storage_errors(self._storage, "write to"):
            present = self._storage.read([name]).get(name)
            if present is not None and not replace:
                return None
            old = self._parse(present)
            moves, columns = self._measure(schema_version)
            try:
                for path, part in moves:
                    self._storage.adopt(path, part.path)
                self._storage.settle([part.path for _, part in moves])
                manifest = Manifest(
                    run_id=self.run_id,
                    nonce=self.nonce,
                    importer=dict(importer),
                    source=dict(source),
                    ingested_at=datetime.now(UTC).isoformat(timespec="microseconds"),
                    files=tuple(part for _, part in moves),
                    columns=columns,
                    label=label or (old.label if old else None),
                    tags={**(old.tags if old else {}), **(tags or {})},
                    options=dict(options or {}),
                    diagnostics=tuple(diagnostics),
                    facts=dict(facts or {}),
                    schema_version=schema_version,
                    traceql_version=traceql.__version__,
                )
                if replace:
                    # The old parts' age counts from now: their readers live on.
                    for part in old.files if old else ():
                        self._storage.touch(part.path)
                    self._storage.replace(name, manifest.as_json())
                elif not self._storage.create(name, manifest.as_json()):
                    self._withdraw(moves)
                    return None
            except BaseException:
                # An interrupt may come after the manifest: then the run is there.
                if not self._is_ours(name):
                    self._withdraw(moves)
                raise
            self._committed = True
        return Run(manifest)

    def _parse(self, data: bytes | None) -> Manifest | None:
        if data is None:
            return None
        try:
            return manifests.parse(data, manifests.name_of(self.run_id))
        except StoreError:
            return None  # a damaged manifest: replacing it mends the run

    def _measure(
        self, schema_version: str
    ) -> tuple[list[tuple[Path, PartFile]], dict[str, list[str]]]:
        moves: list[tuple[Path, PartFile]] = []
        columns: dict[str, list[str]] = {}
        for table, path in self._parts:
            if not path.exists():
                continue
            try:
                footer = pq.read_metadata(path)
            except pa.ArrowInvalid as error:
                raise StoreError(f"{path} is no Parquet file: {error}") from error
            if not footer.num_rows:
                continue
            names = list(footer.schema.to_arrow_schema().names)
            if columns.setdefault(table, names) != names:
                raise StoreError(f"the parts of {table} differ in their columns")
            with path.open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
            final = f"{schema_version}/{table}/run_id={self.run_id}/{path.name}"
            size = path.stat().st_size
            moves.append((path, PartFile(table, final, footer.num_rows, size, digest)))
        return moves, columns

    def _is_ours(self, name: str) -> bool:
        try:
            manifest = self._parse(self._storage.read([name]).get(name))
        except Exception:
            return True  # unknown: a stray part is better than a run without files
        return manifest is not None and manifest.nonce == self.nonce

    def _withdraw(self, moves: list[tuple[Path, PartFile]]) -> None:
        for _, part in moves:
            try:
                self._storage.remove(part.path)
            except OSError:
                continue  # the others may still go; vacuum takes what stays
            self._storage.prune(part.path.rpartition("/")[0])
