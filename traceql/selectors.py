"""Run selectors: id prefix, label, `@latest`, `@prev`, `tag:k=v`, `all`.

Invariant: a selector that names nothing is an error, an answer has no run twice,
and runs come newest ingest first. No selector depends on another.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence

from traceql.errors import NoSuchRun, UsageError
from traceql.manifest import Run
from traceql.utf8 import require_utf8

SHORTEST_PREFIX = 4
_RUN_ID = re.compile("r[0-9a-f]{15}")
_BY_AGE = {"@latest": 0, "@prev": 1}
_FORMS = "an id prefix, a label, @latest, @prev, tag:key=value or all"


def newest_first(runs: Iterable[Run]) -> list[Run]:
    """Runs by time of ingest, newest first; the run id breaks ties."""
    return sorted(runs, key=lambda run: (run.ingested_at, run.run_id), reverse=True)


def select(runs: Sequence[Run], selectors: Sequence[str]) -> list[Run]:
    """The union of what the selectors name.

    Args:
        runs: All runs of the store, newest first.
        selectors: Each is an id, an id prefix (`r` and three characters at
            least), a label (exact; all runs that carry it), `@latest`, `@prev`,
            `tag:key=value` or `all`.

    Raises:
        NoSuchRun: A selector names no run.
        UsageError: An id prefix fits several runs, or the selector is malformed.
    """
    chosen = {run.run_id for text in selectors for run in _matches(runs, text)}
    return [run for run in runs if run.run_id in chosen]


def check_names(label: str | None, tags: Mapping[str, str | None]) -> None:
    """Refuses labels and tags that no selector could name.

    Raises:
        UsageError: An empty label or key, a key with `=`, a label like a selector,
            text that is not UTF-8.
    """
    require_utf8(label or "", "the label")
    if label is not None and (
        not label.strip()
        or label == "all"
        or label.startswith(("@", "tag:"))
        or _RUN_ID.fullmatch(label)
    ):
        raise UsageError(
            f"{label!r} cannot be a label: selectors look like that",
            hint="A label is not empty, not 'all', no run id, and starts with "
            "neither @ nor tag:.",
        )
    for key, value in tags.items():
        require_utf8(f"{key}={value}", "the tag")
        if not key.strip() or "=" in key:
            raise UsageError(f"{key!r} cannot be the key of a tag", hint="--tag k=v")


def _matches(runs: Sequence[Run], text: str) -> list[Run]:
    require_utf8(text, "the selector")
    if text == "all":
        return list(runs)
    if text.startswith("@"):
        return _by_age(runs, text)
    if text.startswith("tag:"):
        return _by_tag(runs, text)
    named = [run for run in runs if text == run.run_id] or [
        run for run in runs if text == run.label
    ]
    if named:
        return named
    long_enough = len(text) >= SHORTEST_PREFIX
    found = [run for run in runs if long_enough and run.run_id.startswith(text)]
    if not found:
        raise NoSuchRun(f"no run {text!r}", hint=_near(runs, text))
    if len(found) > 1:
        raise UsageError(
            f"{text!r} fits {len(found)} runs: {listing(found)}",
            hint="Give more characters of the id.",
        )
    return found


def listing(runs: Sequence[Run], limit: int = 8) -> str:
    """Ids with their labels, in a line."""
    shown = [
        f"{run.run_id} ({run.label})" if run.label else run.run_id
        for run in runs[:limit]
    ]
    return ", ".join(shown) + (", ..." if len(runs) > limit else "")


def _by_age(runs: Sequence[Run], text: str) -> list[Run]:
    if text not in _BY_AGE:
        raise UsageError(f"no selector {text!r}", hint=f"A selector is {_FORMS}.")
    position = _BY_AGE[text]
    if position >= len(runs):
        raise NoSuchRun(
            f"no run {text}: the store holds {len(runs) or 'none'}",
            hint="traceql ingest FILE adds one.",
        )
    return [runs[position]]


def _by_tag(runs: Sequence[Run], text: str) -> list[Run]:
    key, equals, value = text.removeprefix("tag:").partition("=")
    if not key or not equals:
        raise UsageError(f"{text!r} is no tag selector", hint="Write tag:key=value.")
    found = [run for run in runs if run.tags.get(key) == value]
    if not found:
        known = {f"tag:{k}={v}" for run in runs for k, v in run.tags.items()}
        raise NoSuchRun(f"no run with {text}", hint=_suggest(text, known))
    return found


def _near(runs: Sequence[Run], text: str) -> str:
    if len(text) < SHORTEST_PREFIX and any(r.run_id.startswith(text) for r in runs):
        return f"An id prefix has {SHORTEST_PREFIX} characters at least."
    known = {run.run_id for run in runs} | {run.label for run in runs if run.label}
    return _suggest(text, known)


def _suggest(text: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(text, sorted(known), n=3)
    if near:
        return f"Did you mean {' or '.join(near)}?"
    return f"A selector is {_FORMS}; traceql runs lists what there is."
