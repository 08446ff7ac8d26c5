"""The store: runs as manifests and Parquet files, in a folder or behind a URL.

Invariant: a run is what its manifest says. The manifest is written last and
removed first; no step needs a lock, and any number of processes may read, ingest,
tag, delete and vacuum at once.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from traceql import manifest as manifests
from traceql import upkeep
from traceql.errors import NoSuchRun, StoreError, UsageError
from traceql.manifest import Manifest, PartFile, Run
from traceql.selectors import (
    SHORTEST_PREFIX,
    check_names,
    listing,
    newest_first,
    select,
)
from traceql.staging import Staging
from traceql.storage import STAGING, Storage, open_storage, storage_errors
from traceql.upkeep import Problem

if TYPE_CHECKING:
    from traceql.ingest import Outcome
    from traceql.result import Result
    from traceql.session import Session

__all__ = [
    "Manifest",
    "PartFile",
    "Problem",
    "Run",
    "Staging",
    "Store",
    "default_path",
    "open_store",
]

FORMAT = 1
MARKER = "traceql-store.json"
_OWN = {MARKER, manifests.FOLDER, STAGING, upkeep.TABLES}

Selectors = str | Sequence[str]


def default_path() -> str:
    """TRACEQL_STORE, else the nearest `.traceql/` upwards, else `./.traceql`."""
    named = os.environ.get("TRACEQL_STORE")
    if named:
        return named
    here = Path.cwd()
    for folder in (here, *here.parents):
        # The marker tells a store from any other folder of that name.
        if (folder / ".traceql" / MARKER).is_file():
            return str(folder / ".traceql")
    return str(here / ".traceql")


def open_store(path: str | Path | None = None, *, create: bool = False) -> Store:
    """Opens a store; the first ingest creates one that is not there yet.

    Args:
        path: A folder or an fsspec URL such as `s3://bucket/traces`; None means
            `default_path()`.
        create: Create it now.

    Raises:
        StoreError: It is of a newer format, damaged or unreadable; or `create`
            and the folder holds other things.
    """
    store = Store(open_storage(default_path() if path is None else path))
    with storage_errors(store.storage, "read"):
        _ = store.exists
    if create:
        store.create()
    return store


class Store:
    """A store of runs.

    Attributes:
        path: Its absolute path or URL.
        storage: Where its files lie.
        problems: The damaged manifests that the last `runs()` passed over.
    """

    def __init__(self, storage: Storage) -> None:
        self.storage = storage
        self.path = storage.root
        self.problems: list[Problem] = []

    def __repr__(self) -> str:
        return f"<traceql.Store {self.path}>"

    @property
    def exists(self) -> bool:
        """Whether there is a store yet.

        Raises:
            StoreError: Its format is newer than this TraceQL, or unreadable.
        """
        data = self.storage.read([MARKER]).get(MARKER)
        if data is None:
            return False
        where = self.storage.url(MARKER)
        try:
            number = int(json.loads(data)["format"])
        except (ValueError, TypeError, LookupError):
            hint = f'If this is a store, write {{"format": {FORMAT}}} into that file.'
            raise StoreError(f"damaged file {where}", hint=hint) from None
        if number > FORMAT:
            raise StoreError(
                f"the store {self.path} has format {number}; "
                f"this TraceQL reads up to {FORMAT}",
                hint="Update TraceQL.",
            )
        return True

    def create(self) -> None:
        """Makes the store unless it is there; of many processes each may call it.

        Raises:
            StoreError: The folder holds other things, or cannot be written.
        """
        with storage_errors(self.storage, "write to"):
            if self.exists:
                return
            others = sorted(set(self.storage.names("")) - _OWN)
            if others:
                shown = ", ".join(others[:3]) + (", ..." if len(others) > 3 else "")
                raise StoreError(
                    f"{self.path} is no store and holds other files: {shown}",
                    hint="Name a new or empty folder: --store or TRACEQL_STORE.",
                )
            self.storage.create(MARKER, manifests.encode({"format": FORMAT}))

    def runs(self, selectors: Selectors = ("all",)) -> list[Run]:
        """The runs that any of the selectors names, newest ingest first.

        Damaged manifests are passed over and listed in `problems`.

        Args:
            selectors: See `traceql.selectors.select`.

        Raises:
            NoSuchRun: There is no store, or a selector names no run.
            UsageError: An ambiguous or malformed selector.
            StoreError: The store cannot be read, or the selected run's manifest
                is damaged.
        """
        wanted = [selectors] if isinstance(selectors, str) else list(selectors)
        self._require()
        exact = [text for text in wanted if manifests.RUN_ID.fullmatch(text)]
        if exact == wanted and (found := self._exactly(exact)):
            self.problems = []
            return found
        with storage_errors(self.storage, "read"):
            runs, self.problems = upkeep.read_runs(self.storage)
        self._refuse_damaged(runs, wanted)
        return select(newest_first(runs), wanted)

    def run(self, selector: str = "@latest") -> Run:
        """The one run that a selector names.

        Raises:
            UsageError: It names several.
            NoSuchRun, StoreError: As in `runs`.
        """
        found = self.runs([selector])
        if not found:
            raise NoSuchRun(f"the store {self.path} holds no runs")
        if len(found) > 1:
            raise UsageError(
                f"{selector!r} names {len(found)} runs: {listing(found)}",
                hint="Name one by its id.",
            )
        return found[0]

    def attached(self, runs: Sequence[Run]) -> list[Run]:
        """The sample logs that lie beside some runs, newest ingest first."""
        ids = {run.run_id for run in runs}
        problems = self.problems
        logs = [r for r in self.runs() if r.manifest.options.get("attached_to") in ids]
        self.problems = problems
        return logs

    def find(self, run_id: str) -> Run | None:
        """The run of a full id, or None; no store is no run.

        Raises:
            StoreError: Its manifest is damaged.
        """
        name = manifests.name_of(run_id)
        with storage_errors(self.storage, "read"):
            data = self.storage.read([name]).get(name)
        if data is None:
            return None
        return Run(manifests.parse(data, self.storage.url(name)))

    def paths(self, run: Run, table: str | None = None) -> list[str]:
        """Absolute paths or URLs of a run's Parquet files, of one table or all."""
        return [
            self.storage.url(part.path)
            for part in run.files
            if table is None or part.table == table
        ]

    def stage(self, run_id: str) -> Staging:
        """The way in for a new run: a context manager that cleans up after itself.

        Raises:
            StoreError: The store cannot be created or written.
        """
        self.create()
        return Staging(self.storage, run_id)

    def tag(
        self,
        selectors: Selectors,
        tags: Mapping[str, str | None] | None = None,
        label: str | None = None,
    ) -> list[Run]:
        """Sets tags and label of runs.

        Args:
            selectors: Which runs.
            tags: Values to set; None removes a tag.
            label: The new label; None leaves it, the empty text removes it.

        Returns:
            The runs as they are now.
        """
        changes = dict(tags or {})
        check_names(label or None, changes)
        runs = self.runs(selectors)
        with storage_errors(self.storage, "write to"):
            return [upkeep.tag(self.storage, run, changes, label) for run in runs]

    def delete(self, selectors: Selectors) -> list[Run]:
        """Removes runs: the manifest first, then the files that it names.

        The full id also removes a run whose manifest is damaged; its files are
        then for `vacuum`.

        Returns:
            The runs that were removed.
        """
        wanted = [selectors] if isinstance(selectors, str) else list(selectors)
        self._require()
        damaged = []
        with storage_errors(self.storage, "write to"):
            for problem in upkeep.read_runs(self.storage)[1]:
                if problem.run_id in wanted:
                    self.storage.remove(problem.path)
                    damaged.append(Run(upkeep.stand_in(problem)))
                    wanted.remove(problem.run_id)
            found = self.runs(wanted) if wanted else []
            return damaged + [run for run in found if upkeep.delete(self.storage, run)]

    def verify(self, selectors: Selectors = ("all",)) -> list[Problem]:
        """Reads every file of the runs again and compares it with the manifest.

        With `all`, damaged manifests and files that no manifest names (kind
        `stray`: waste, no damage) are reported too.
        """
        problems: list[Problem] = []
        runs = self.runs(selectors)
        with storage_errors(self.storage, "read"):
            for run in runs:
                problems += upkeep.verify(self.storage, run)
            if "all" in ([selectors] if isinstance(selectors, str) else selectors):
                problems += self.problems
                problems += upkeep.strays(self.storage)
        return problems

    def vacuum(
        self, older_than_s: float = 86_400, *, dry_run: bool = False
    ) -> list[str]:
        """Removes what no manifest names and nobody has touched for a while.

        Args:
            older_than_s: The age in seconds from which on files go. It protects
                imports under way, and readers of runs that were replaced.
            dry_run: Only list them.

        Returns:
            The names of the files, relative to the store.
        """
        self._require()
        with storage_errors(self.storage, "write to"):
            return upkeep.vacuum(self.storage, older_than_s, dry_run)

    def ingest(self, *sources: str | Path, **options: Any) -> list[Outcome]:
        """Imports traces; see `traceql.ingest.ingest`."""
        from traceql import ingest

        return ingest.ingest(self, sources, **options)

    def session(self, run: Selectors = "@latest", **limits: Any) -> Session:
        """A DuckDB session over runs; see `traceql.session.open_session`."""
        from traceql import session

        return session.open_session(self, self.runs(run or "@latest"), **limits)

    def query(
        self, name: str, *, run: Selectors = "@latest", **params: object
    ) -> Result:
        """Runs a query of the catalogue: `store.query("kernel_totals", top=10)`."""
        return self.session(run).query(name, params)

    def sql(self, text: str, *, run: Selectors = "@latest") -> Result:
        """Runs SQL over the tables, views and queries of runs."""
        return self.session(run).sql(text)

    def report(
        self, path: str | Path | None = None, *, run: Selectors = "@latest"
    ) -> Path:
        """Writes the HTML report of runs; by default to `traceql-<run id>.html`."""
        from traceql.report import write_report

        runs = self.runs(run)
        return write_report(self, runs, Path(path or f"traceql-{runs[0].run_id}.html"))

    def _require(self) -> None:
        with storage_errors(self.storage, "read"):
            if not self.exists:
                raise NoSuchRun(
                    f"no store at {self.path}",
                    hint="traceql ingest FILE makes one; "
                    "--store or TRACEQL_STORE names another.",
                )

    def _exactly(self, run_ids: list[str]) -> list[Run] | None:
        # Full ids need no look at thousands of other manifests.
        found = {run_id: self.find(run_id) for run_id in run_ids}
        runs = [run for run in found.values() if run is not None]
        return newest_first(runs) if len(runs) == len(found) else None

    def _refuse_damaged(self, runs: Sequence[Run], wanted: Sequence[str]) -> None:
        labels = {run.label for run in runs}
        for text in wanted:
            for problem in self.problems:
                named = len(text) >= SHORTEST_PREFIX and text not in labels
                if named and problem.run_id and problem.run_id.startswith(text):
                    raise StoreError(problem.message, hint=problem.advice)
