"""Findings: what limits a run, each a SQL file in findings/ with its threshold.

A file's header says, in comment lines:

    -- @kind limit         what costs time; or capture: what the capture itself lacks
    -- @section copies     where the evidence is
    -- @uses memcpy_summary, focus_summary     the answers it reads
    -- @threshold exposed copies >= 5 % of the window
    -- @of Template of the words for of_ns: the iterations, the capture
    -- @says Template of the sentence, over the columns of the row.
    -- @do Template of what to look at next, or nothing.

Its SELECT gives a row per finding and none where nothing stands out: at least
`saving_ns` (time that it could save at most, NULL where that cannot be said) and
`of_ns` (the time that is a share of). A line indented by four goes on with its tag.

Invariant: no sentence without a row; figures in it are columns of that row; a finding
says what was measured, never a cause that the data does not hold.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from jinja2 import Environment
from markupsafe import Markup

from traceql.errors import QueryError
from traceql.render import printable
from traceql.report.answers import Answers, Ask

FOLDER = Path(__file__).parent / "findings"
_TAGS = {"kind", "section", "uses", "threshold", "of", "says", "do"}


@dataclass(frozen=True)
class Rule:
    """One kind of finding, as its file says it."""

    name: str
    kind: str
    section: str
    uses: tuple[str, ...]
    threshold: str
    of: str
    says: str
    do: str
    sql: str


@dataclass(frozen=True)
class Finding:
    """One finding of a run.

    Attributes:
        rule: The rule that found it.
        sentence: What stands out, with figures.
        advice: What to look at next, or "".
        of: What `saving_pct` is a share of, in words.
        saving_ns: Time that it could save at most; None where that cannot be said.
        saving_pct: That time of the window, or None.
        sql: The SQL that found it.
    """

    rule: Rule
    sentence: Markup
    advice: Markup
    of: Markup
    saving_ns: float | None
    saving_pct: float | None
    sql: str


@cache
def rules() -> tuple[Rule, ...]:
    """All rules, by name."""
    return tuple(_parse(path) for path in sorted(FOLDER.glob("*.sql")))


def find(
    answers: Answers, asks: Mapping[str, Ask], env: Environment
) -> tuple[Finding, ...]:
    """The findings of the run at hand, what could save most first.

    Args:
        answers: Where the asked answers are.
        asks: The questions by name of their answer.
        env: Renders the sentences, with autoescape.
    """
    found = [
        finding for rule in rules() for finding in _apply(rule, answers, asks, env)
    ]
    return tuple(sorted(found, key=lambda f: -(f.saving_ns or 0)))


def _apply(
    rule: Rule, answers: Answers, asks: Mapping[str, Ask], env: Environment
) -> list[Finding]:
    tables = answers.tables(asks[name] for name in rule.uses)
    found = []
    for row in answers.sql(rule.sql).rows():
        values = {
            key: printable(value) if isinstance(value, str) else value
            for key, value in row.items()
        }
        saving, whole = row["saving_ns"], row["of_ns"]
        found.append(
            Finding(
                rule,
                Markup(env.from_string(rule.says).render(values)),
                Markup(env.from_string(rule.do).render(values)),
                Markup(env.from_string(rule.of).render(values)),
                saving,
                100 * saving / whole if saving is not None and whole else None,
                f"{tables}{rule.sql};",
            )
        )
    return found


def _parse(path: Path) -> Rule:
    lines = path.read_text(encoding="utf-8").splitlines()
    tags: dict[str, str] = dict.fromkeys(_TAGS, "")
    current = ""
    body = 0
    for number, line in enumerate(lines):
        if not line.startswith("--"):
            body = number
            break
        text = line.removeprefix("--")
        if match := re.match(r" @(\w+) ?(.*)", text):
            current = match[1]
            if current not in _TAGS:
                raise QueryError(f"{path}:{number + 1}: unknown tag @{current}")
            tags[current] = match[2].strip()
        elif current and text.startswith("     "):
            tags[current] += " " + text.strip()
        elif text.strip():
            current = ""
    return Rule(
        name=path.stem,
        kind=tags["kind"],
        section=tags["section"],
        uses=tuple(name.strip() for name in tags["uses"].split(",") if name.strip()),
        threshold=tags["threshold"],
        of=tags["of"],
        says=tags["says"],
        do=tags["do"],
        sql="\n".join(lines[body:]).strip().removesuffix(";"),
    )
