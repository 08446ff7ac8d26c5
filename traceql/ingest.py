"""Import of whatever a user names: files, folders, archives, one after another.

Invariant: one bad source stops no other; every name has its outcome.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any

from traceql import importers, sources
from traceql.attaching import attachment
from traceql.errors import (
    ImportFailed,
    TraceQLError,
    UnrecognisedInput,
    UsageError,
)
from traceql.importing import Options, Outcome, Progress, import_source
from traceql.recognise import foreign_capture, is_damaged, refusal
from traceql.selectors import check_names
from traceql.siblings import one_of_each
from traceql.sources import Named, Source
from traceql.utf8 import is_utf8, require_utf8

if TYPE_CHECKING:
    from traceql.store import Run, Store

__all__ = ["Options", "Outcome", "ingest"]

COLUMNS_FORMAT = "nvidia-smi-csv"
"""The importer whose logs may lack the line that names their columns."""

# Of the files that a folder leaves out, as many are named; the others are counted.
_NAMED_COUNT = 3


def ingest(
    store: Store,
    names: Sequence[str | Path],
    *,
    jobs: int = 1,
    resume: bool = False,
    attach: str | None = None,
    clock_offset: str | int | None = None,
    progress: Progress | None = None,
    tell: Callable[[Outcome], None] | None = None,
    **options: Any,
) -> list[Outcome]:
    """Imports sources into a store.

    Args:
        store: The store.
        names: Files, folders, globs, URLs, or `-` for standard input.
        jobs: Processes to import several sources with.
        resume: Do not even read what a run of the store was made of: the same path,
            size and time of change.
        attach: Selector of the trace that the sources, sample logs, lie beside.
        clock_offset: What to add to the logs' clock to get the trace's, nanoseconds or
            a text such as `+1.5s`; needed where no wall clock proves it.
        progress: Called with a source's name and the share of it that is done; where
            there are several, with an empty name and the share of all.
        tell: Called with each outcome as soon as it is known; at last with one for each
            name of which files were left out, which the list does not have.
        options: Fields of `Options`.

    Returns:
        One outcome a source, in the order of the names.

    Raises:
        UsageError: An option is wrong.
        NoSuchRun: `attach` names no run.
        StoreError: The store cannot be created.
    """
    chosen = _options(options)
    store.create()
    if attach is not None:
        chosen = replace(chosen, attached=attachment(store, attach, clock_offset))
    elif clock_offset is not None:
        raise UsageError(
            "a clock offset needs the run that it leads to", hint="Add --attach RUN."
        )
    work, homes = _work(names, chosen)
    if resume and not chosen.force:
        runs = _by_fingerprint(store)
        work = [
            w if isinstance(w, Outcome) else _unchanged(w, runs, chosen) for w in work
        ]
    items = list(dict.fromkeys(w for w in work if isinstance(w, Named)))
    told = tell or _untold
    for outcome in work:
        if isinstance(outcome, Outcome):
            told(outcome)
    done: dict[Named, list[Outcome]] = {}
    left_out: dict[str, list[Outcome]] = {name: [] for name in homes.values()}
    for item, made in _batches(store, chosen, items, jobs, progress):
        done[item] = [o for o in made if o.status != "left_out"]
        left_out[homes[item.uri]] += [o for o in made if o.status == "left_out"]
        for outcome in done[item]:
            told(outcome)
        if progress is not None and len(items) > 1:
            progress("", len(done) / len(items))
    outcomes: list[Outcome] = []
    for piece in work:
        outcomes += [piece] if isinstance(piece, Outcome) else done.pop(piece, [])
    if not outcomes:
        outcomes = [_nothing_there(names)]
        told(outcomes[0])
    for name, files in left_out.items():
        if files:
            told(_left_out(name, files))
    return outcomes


def _work(
    names: Sequence[str | Path], options: Options
) -> tuple[list[Named | Outcome], dict[str, str]]:
    """What there is to import, and of each thing the name that it was found by."""
    known = importers.registry()

    def is_capture(folder: Path) -> bool:
        head = importers.read_head(folder)
        return bool(importers.detect(head, known) or foreign_capture(head))

    work: list[Named | Outcome] = []
    homes: dict[str, str] = {}
    for name in map(str, names):
        try:
            found = sources.expand([name], is_capture)
            for item in found:
                homes.setdefault(item.uri, name)
            # A forced format is for every file.
            work += found if options.format else one_of_each(found, known)
        except TraceQLError as error:
            work.append(Outcome(name, "failed", error=error))
    return work, homes


def _left_out(name: str, files: list[Outcome]) -> Outcome:
    """One outcome for all: the first few by name, the others counted."""
    shown = [
        f"{_inside(name, file.source)} ({file.notes[0]})"
        for file in sorted(files, key=lambda file: file.source)[:_NAMED_COUNT]
    ]
    more = len(files) - len(shown)
    count = f"{len(files)} files are" if len(files) > 1 else "one file is"
    note = f"{count} left out: {', '.join(shown)}" + (f", {more} more" if more else "")
    return Outcome(name, "left_out", notes=[note])


def _inside(name: str, source: str) -> str:
    """What a source is called in the folder or archive that holds it."""
    path = Path(source)
    if path.is_relative_to(name):
        return str(path.relative_to(name))
    return source.removeprefix(f"{name}!")


def _untold(_: Outcome) -> None:
    """For callers who wait for the list."""


def _by_fingerprint(store: Store) -> dict[str, Run]:
    """The runs by what their files looked like; archives hold several runs."""
    return {
        str(run.source["fingerprint"]): run
        for run in store.runs()
        if run.source.get("fingerprint") and run.source.get("member") is None
    }


def _unchanged(
    item: Named, runs: Mapping[str, Run], options: Options
) -> Named | Outcome:
    if not runs or item.uri == "-" or "://" in item.uri:
        return item
    run = runs.get(sources.fingerprint(Path(item.uri)))
    # Other options make another run of the same file: that is told on reading it.
    if run is None or run.manifest.options != options.kept():
        return item
    note = "unchanged since it was imported, not read again"
    return Outcome(item.uri, "present", run=run, notes=[note])


def _batches(
    store: Store,
    options: Options,
    items: list[Named],
    jobs: int,
    progress: Progress | None,
) -> Iterator[tuple[Named, list[Outcome]]]:
    """Imports each item, in one of `jobs` processes, which share the threads."""
    jobs = min(jobs, len(items))
    if jobs < 2:
        for item in items:
            yield item, _ingest_named(store, options, item, progress)
        return
    shared = replace(options, threads=max(1, options.threads // jobs))
    # Fresh processes: neither DuckDB nor Arrow survives a fork.
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        batches = {pool.submit(_ingest_named, store, shared, i): i for i in items}
        for batch in as_completed(batches):
            item = batches[batch]
            try:
                yield item, batch.result()
            except BrokenProcessPool:
                yield item, [Outcome(item.uri, "failed", error=_killed(item))]


def _killed(item: Named) -> ImportFailed:
    return ImportFailed(
        f"{item.uri}: an importing process was killed before this was done",
        hint="Often memory ran out: use fewer --jobs. What is missing can be "
        "imported again.",
    )


def _options(given: Mapping[str, Any]) -> Options:
    try:
        options = Options(**given)
    except TypeError as error:
        raise UsageError(f"ingest: {error}") from None
    if options.columns:
        options = _with_columns(options)
    known = importers.registry()
    if options.format is not None and options.format not in known:
        raise UsageError(
            f"no importer {options.format!r}", hint=f"There are: {', '.join(known)}"
        )
    check_names(options.label, options.tags)
    require_utf8(options.job or "", "the job")
    return options


def _with_columns(options: Options) -> Options:
    """The options with named columns: those of a log that nothing else can be."""
    names = tuple(name.strip() for name in options.columns)
    if "" in names or len(set(names)) < len(names):
        raise UsageError(
            f"--columns: a name is empty, or twice there: {','.join(names)!r}",
            hint="Name each column once, in order, as --query-gpu had them.",
        )
    if options.format not in (None, COLUMNS_FORMAT):
        raise UsageError(
            f"--columns is for nvidia-smi's CSV logs, not for {options.format}",
            hint=f"Leave --format out, or say --format {COLUMNS_FORMAT}.",
        )
    require_utf8(",".join(names), "a column's name")
    return replace(options, columns=names, format=COLUMNS_FORMAT)


def _nothing_there(names: Sequence[str | Path]) -> Outcome:
    where = ", ".join(map(str, names)) or "nothing"
    return Outcome(
        where,
        "failed",
        error=UnrecognisedInput(
            f"{where}: holds no capture that TraceQL imports",
            hint="Name a file of it to hear why it is none; traceql doctor lists "
            "the formats.",
        ),
    )


def _ingest_named(
    store: Store, options: Options, item: Named, progress: Progress | None = None
) -> list[Outcome]:
    """Imports what one name holds; failures become outcomes."""
    outcomes: list[Outcome] = []
    try:
        with sources.opened(item) as found:
            for source in found:
                # A file that a folder or archive merely contains may be anything.
                passing = not item.explicit or source.member is not None
                outcomes += _attempt(store, options, source, passing, progress)
            if item.explicit and all(o.status == "left_out" for o in outcomes):
                outcomes.append(_nothing_there([item.uri]))
    except TraceQLError as error:
        outcomes.append(Outcome(item.uri, "failed", error=error))
    return [replace(o, notes=[*o.notes, *item.notes]) for o in outcomes]


def _attempt(
    store: Store,
    options: Options,
    source: Source,
    passing: bool,
    progress: Progress | None,
) -> Iterator[Outcome]:
    began = time.perf_counter()
    try:
        importer = _importer(options, source)
        if importer is None:
            head = importers.read_head(source.path)
            if source.cut and not passing:
                raise ImportFailed(
                    f"{source.uri}: the archive is damaged: {source.cut}",
                    hint="Fetch the file again.",
                )
            # A capture that cannot be read is never passed over in silence.
            why = refusal(source.uri, head)
            if not passing or foreign_capture(head) or is_damaged(head):
                raise why
            if not sources.is_journal(source.path):
                kind = str(why).removeprefix(f"{source.uri}: ")
                yield Outcome(source.uri, "left_out", notes=[source.cut or kind])
            return
        if not is_utf8(f"{source.uri}{source.path.absolute()}"):
            raise UnrecognisedInput(
                f"{source.uri}: its path is not UTF-8, which DuckDB needs to read it",
                hint="Rename the file or folder, or read the file from standard "
                "input: traceql ingest - < FILE",
            )
        outcome = import_source(store, options, source, importer, progress)
    except TraceQLError as error:
        outcome = Outcome(source.uri, "failed", error=error)
    yield replace(outcome, seconds=time.perf_counter() - began)


def _importer(options: Options, source: Source) -> importers.Importer | None:
    if options.format is not None:
        return importers.registry()[options.format]
    return importers.detect(importers.read_head(source.path))
