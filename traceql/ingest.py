"""Import of whatever a user names: files, folders, archives, one after another.

Invariant: one bad source stops no other; every name has its outcome.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any

from traceql import importers, sources
from traceql.errors import (
    ImportFailed,
    TraceQLError,
    UnrecognisedInput,
    UsageError,
)
from traceql.importing import Options, Outcome, Progress, import_source
from traceql.recognise import refusal
from traceql.sources import Named, Source

if TYPE_CHECKING:
    from traceql.store import Store

__all__ = ["Options", "Outcome", "ingest"]


def ingest(
    store: Store,
    names: Sequence[str | Path],
    *,
    jobs: int = 1,
    progress: Progress | None = None,
    **options: Any,
) -> list[Outcome]:
    """Imports sources into a store.

    Args:
        store: The store.
        names: Files, folders, globs, URLs, or `-` for standard input.
        jobs: Processes to import several sources with.
        progress: Called with a source's name and the share of it that is done.
        options: Fields of `Options`.

    Returns:
        One outcome a source, in the order of the names.

    Raises:
        UsageError: An option is wrong.
        StoreError: The store cannot be created.
    """
    chosen = _options(options)
    store.create()
    work: list[Named | Outcome] = []
    for name in map(str, names):
        try:
            work += sources.expand([name])
        except TraceQLError as error:
            work.append(Outcome(name, "failed", error=error))
    items = list(dict.fromkeys(w for w in work if isinstance(w, Named)))
    if jobs > 1 and len(items) > 1:
        done = _in_processes(store, chosen, items, jobs, progress)
    else:
        done = {i: _ingest_named(store, chosen, i, progress) for i in items}
    outcomes: list[Outcome] = []
    for piece in work:
        outcomes += [piece] if isinstance(piece, Outcome) else done.pop(piece, [])
    return outcomes or [_nothing_there(names)]


def _in_processes(
    store: Store,
    options: Options,
    items: list[Named],
    jobs: int,
    progress: Progress | None,
) -> dict[Named, list[Outcome]]:
    """Imports each item in one of `jobs` processes, which share the threads."""
    jobs = min(jobs, len(items))
    shared = replace(options, threads=max(1, options.threads // jobs))
    done = {}
    # Fresh processes: neither DuckDB nor Arrow survives a fork.
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        batches = {i: pool.submit(_ingest_named, store, shared, i) for i in items}
        for item, batch in batches.items():
            try:
                done[item] = batch.result()
            except BrokenProcessPool:
                done[item] = [Outcome(item.uri, "failed", error=_killed(item))]
            if progress is not None:
                progress(item.uri, 1.0)
    return done


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
    known = importers.registry()
    if options.format is not None and options.format not in known:
        raise UsageError(
            f"no importer {options.format!r}", hint=f"There are: {', '.join(known)}"
        )
    return options


def _nothing_there(names: Sequence[str | Path]) -> Outcome:
    where = ", ".join(map(str, names)) or "nothing"
    return Outcome(
        where,
        "failed",
        error=UnrecognisedInput(
            f"{where}: holds no capture that TraceQL imports",
            hint="Export reports first: nsys export --type sqlite REPORT",
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
            if not outcomes and item.explicit:
                outcomes.append(_nothing_there([item.uri]))
    except TraceQLError as error:
        outcomes.append(Outcome(item.uri, "failed", error=error))
    return outcomes


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
            if not passing:
                raise refusal(source.uri, importers.read_head(source.path))
            return
        outcome = import_source(store, options, source, importer, progress)
    except TraceQLError as error:
        outcome = Outcome(source.uri, "failed", error=error)
    yield replace(outcome, seconds=time.perf_counter() - began)


def _importer(options: Options, source: Source) -> importers.Importer | None:
    if options.format is not None:
        return importers.registry()[options.format]
    return importers.detect(importers.read_head(source.path))
