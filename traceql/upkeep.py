"""Upkeep of a store: reading all manifests, tag, delete, verify, vacuum.

Invariant: a file that any manifest names is never removed while that manifest
stands; where a manifest cannot be read, nothing of its run is.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import BinaryIO, Literal

import pyarrow as pa
import pyarrow.parquet as pq

from traceql import manifest as manifests
from traceql.errors import NoSuchRun, StoreError
from traceql.manifest import Manifest, PartFile, Run
from traceql.storage import STAGING, Entry, Storage

TABLES = "v1"
_TAG_TRIES = 50


@dataclass(frozen=True)
class Problem:
    """Something wrong in a store.

    Attributes:
        kind: missing, size, hash, rows (a file against its manifest), manifest
            (damaged), stray (a file that no manifest names: waste, no damage).
        path: The file, relative to the store.
        run_id: The run, where there is one.
        message: One sentence that names the file.
        advice: What to do.
    """

    kind: Literal["missing", "size", "hash", "rows", "manifest", "stray"]
    path: str
    run_id: str | None
    message: str
    advice: str


def read_runs(storage: Storage) -> tuple[list[Run], list[Problem]]:
    """All runs, in no order, and the manifests that cannot be read.

    A manifest that is deleted between listing and reading is no run.
    """
    names = [
        f"{manifests.FOLDER}/{name}"
        for name in storage.names(manifests.FOLDER)
        if name.endswith(".json")
    ]
    runs, problems = [], []
    for name, data in storage.read(names).items():
        try:
            runs.append(Run(manifests.parse(data, storage.url(name))))
        except StoreError as error:
            run_id = name.rpartition("/")[2].removesuffix(".json")
            problems.append(
                Problem("manifest", name, run_id, str(error), error.hint or "")
            )
    return runs, problems


def stand_in(problem: Problem) -> Manifest:
    """What is known of a run whose manifest is damaged: its id."""
    return Manifest(
        run_id=problem.run_id or "",
        nonce="",
        importer={},
        source={},
        ingested_at="",
        files=(),
        columns={},
    )


def is_whole(storage: Storage, run: Run) -> bool:
    """Whether all files of a run are there, by name."""
    present: dict[str, set[str]] = {}
    for part in run.files:
        folder, _, name = part.path.rpartition("/")
        if folder not in present:
            present[folder] = set(storage.names(folder))
        if name not in present[folder]:
            return False
    return True


def tag(
    storage: Storage, run: Run, changes: Mapping[str, str | None], label: str | None
) -> Run:
    """Rewrites a run's manifest with other tags and label, as `Store.tag` says.

    Raises:
        NoSuchRun: It was deleted meanwhile.
    """
    name = manifests.name_of(run.run_id)
    where = storage.url(name)
    for _ in range(_TAG_TRIES):
        before = storage.read([name]).get(name)
        if before is None:
            break
        fields = manifests.decode(before, where)
        merged = {**fields.get("tags", {}), **changes}
        fields["tags"] = {k: v for k, v in merged.items() if v is not None}
        if label is not None:
            fields["label"] = label or None
        after = manifests.encode(fields)
        # Without a lock, look again right before writing: whoever wrote in
        # between is not overwritten but read again.
        if storage.read([name]).get(name) != before:
            continue
        storage.replace(name, after)
        tagged = Run(manifests.parse(after, where))
        if is_whole(storage, tagged):
            return tagged
        storage.remove(name)  # deleted meanwhile: do not bring it back
        break
    raise NoSuchRun(f"run {run.run_id} was deleted or is being replaced")


def delete(storage: Storage, run: Run) -> bool:
    """Removes a run; False when somebody else has removed it before."""
    name = manifests.name_of(run.run_id)
    if not storage.remove(name):
        return False
    for part in run.files:
        storage.remove(part.path)
        _prune(storage, part.path)
    # A tag that was being written may have brought the manifest back.
    data = storage.read([name]).get(name)
    if data is not None and manifests.decode(data, name).get("nonce") == (
        run.manifest.nonce
    ):
        storage.remove(name)
    return True


def verify(storage: Storage, run: Run) -> Iterator[Problem]:
    """Compares a run's files with its manifest: presence, size, hash, rows."""
    for part in run.files:
        found = _compare(storage, part)
        if found is None:
            continue
        kind, what = found
        yield Problem(
            kind,
            part.path,
            run.run_id,
            f"{storage.url(part.path)}: {what}",
            "Ingest the source again with --force, or delete the run.",
        )


def strays(storage: Storage) -> Iterator[Problem]:
    """Files among the tables and manifests that no manifest names."""
    for entry in _unnamed(storage, (TABLES, manifests.FOLDER)):
        yield Problem(
            "stray",
            entry.name,
            None,
            f"{storage.url(entry.name)} ({entry.bytes} bytes) belongs to no run",
            "traceql store vacuum removes it once it is old enough.",
        )


def vacuum(storage: Storage, older_than_s: float, dry_run: bool) -> list[str]:
    """Removes unnamed files whose time is older than `older_than_s`."""
    limit = time.time() - older_than_s
    old = [
        entry.name
        for entry in _unnamed(storage, (TABLES, manifests.FOLDER))
        if entry.modified_s is not None and entry.modified_s < limit
    ]
    old += _abandoned(storage, limit)
    if dry_run:
        return sorted(old)
    removed = [name for name in sorted(old) if storage.remove(name)]
    for name in removed:
        _prune(storage, name)
    for folder in (STAGING, TABLES):
        storage.prune_older(folder, limit)
    return removed


def _compare(
    storage: Storage, part: PartFile
) -> tuple[Literal["missing", "size", "hash", "rows"], str] | None:
    try:
        file = storage.open(part.path)
    except FileNotFoundError:
        return "missing", "the file is missing"
    with file:
        digest, size = _hash(file)
        if size != part.bytes:
            return "size", f"{size} bytes instead of {part.bytes}"
        if digest != part.sha256:
            return "hash", "the content has changed since it was imported"
        file.seek(0)
        try:
            rows = pq.read_metadata(file).num_rows
        except pa.ArrowInvalid as error:
            return "rows", f"no Parquet file: {error}"
    if rows != part.rows:
        return "rows", f"{rows} rows instead of {part.rows}"
    return None


def _hash(file: BinaryIO) -> tuple[str, int]:
    digest, size = hashlib.sha256(), 0
    while block := file.read(1 << 20):
        digest.update(block)
        size += len(block)
    return digest.hexdigest(), size


def _unnamed(storage: Storage, folders: tuple[str, ...]) -> list[Entry]:
    # Files first, manifests second: what a run committed in between is named.
    entries = [entry for folder in folders for entry in storage.walk(folder)]
    runs, problems = read_runs(storage)
    named = {part.path for run in runs for part in run.files}
    named |= {manifests.name_of(run.run_id) for run in runs}
    named |= {problem.path for problem in problems}
    unreadable = {f"run_id={problem.run_id}" for problem in problems}
    return [
        entry
        for entry in entries
        if entry.name not in named and unreadable.isdisjoint(entry.name.split("/"))
    ]


def _abandoned(storage: Storage, limit: float) -> list[str]:
    # An import is as old as its youngest file: one that runs for days lives.
    imports: dict[str, list[Entry]] = {}
    for entry in storage.walk(STAGING):
        imports.setdefault(entry.name.split("/")[1], []).append(entry)
    return [
        entry.name
        for entries in imports.values()
        if all(e.modified_s is not None and e.modified_s < limit for e in entries)
        for entry in entries
    ]


def _prune(storage: Storage, name: str) -> None:
    # Partition and import folders go when they are empty; tables' folders stay.
    folder = name.rpartition("/")[0]
    while folder.count("/"):
        if folder.rpartition("/")[0] == TABLES:
            return
        storage.prune(folder)
        folder = folder.rpartition("/")[0]
