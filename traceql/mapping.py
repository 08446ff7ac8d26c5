"""Mapping files: the SQL that turns a source's own relations into the schema.

A mapping file is plain SQL cut into blocks by header comments:

    -- @prepare                      statements run once, before the rest
    -- @phase NAME                   what follows waits for all that came before
    -- @stage FROM SOURCE            statement run on each chunk of SOURCE
    -- @rows TABLE FROM SOURCE       SELECT run on each chunk of SOURCE
    -- @nest                         SELECT id, pid, tid, ts_ns, end_ns of host ranges:
                                     makes the table `nested` (see traceql.nesting)
    -- @beside TABLE                 SELECT run once, while the chunks are read
    -- @rows TABLE                   SELECT run once, when they have been
    -- @run                          SELECT of one row: what the run table should say
    -- @diagnostic CODE SEVERITY MESSAGE      SELECT count, example
    -- @findings                     SELECT code, severity, count, message, example

A header of a chunked block may end in IF OPTION: the source is read only where the
user asked for it, as `-- @stage FROM SAMPLING_CALLCHAINS IF with_samples`. Where a
mapping takes several files, phases of one name are one phase, in the files' order.

Invariant: the meaning of a format stands in its mapping file; a reader only brings
the source's relations in front of it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from traceql.diagnostics import Severity

_HEADER = re.compile(r"^-- @(?P<kind>\w+)[ ]*(?P<rest>.*)$")


@dataclass(frozen=True)
class Block:
    """One piece of SQL and what it is for.

    Attributes:
        kind: The header's first word.
        sql: The statement, without a trailing semicolon.
        table: Schema table that it fills (rows, beside).
        source: Source relation whose chunks it reads; empty: run once.
        option: Option of the import that it waits for; empty: it always runs.
        code: Code of the finding (diagnostic).
        severity: Severity of the finding (diagnostic).
        message: What the finding means (diagnostic).
    """

    kind: str
    sql: str
    table: str = ""
    source: str = ""
    option: str = ""
    code: str = ""
    severity: Severity = "info"
    message: str = ""


@dataclass(frozen=True)
class Phase:
    """Blocks that may run in any order, once all earlier phases are done."""

    name: str
    blocks: list[Block] = field(default_factory=list)

    def chunked(self) -> dict[str, list[Block]]:
        """Blocks by the source whose chunks they read, in the file's order."""
        by_source: dict[str, list[Block]] = {}
        for block in self.blocks:
            if block.source:
                by_source.setdefault(block.source, []).append(block)
        return by_source

    def once(self) -> list[Block]:
        """Blocks that run once, in the file's order."""
        return [b for b in self.blocks if not b.source]


def _block(header: re.Match[str], sql: str, where: str) -> Block:
    kind, rest = header["kind"], header["rest"].strip()
    words, option = rest.split(), ""
    if kind in ("stage", "rows") and len(words) > 3 and words[-2] == "IF":
        words, option = words[:-2], words[-1]
    if kind in ("prepare", "nest", "run", "findings"):
        return Block(kind, sql)
    if kind == "stage" and len(words) == 2 and words[0] == "FROM":
        return Block(kind, sql, source=words[1], option=option)
    if kind in ("rows", "beside") and len(words) == 1:
        return Block(kind, sql, table=words[0])
    if kind == "rows" and len(words) == 3 and words[1] == "FROM":
        return Block(kind, sql, table=words[0], source=words[2], option=option)
    if kind == "diagnostic" and len(words) > 2:
        code, severity, message = rest.split(maxsplit=2)
        return Block(
            kind, sql, code=code, severity=cast(Severity, severity), message=message
        )
    raise ValueError(f"{where}: bad header: -- @{kind} {rest}")


def read_mapping(*paths: Path) -> list[Phase]:
    """Reads a mapping: one file, or several that add to one another's phases.

    Raises:
        ValueError: A header is malformed; the message names file and line.
    """
    phases: dict[str, Phase] = {}
    for path in paths:
        for name, blocks in _read(path):
            phases.setdefault(name, Phase(name)).blocks.extend(blocks)
    return list(phases.values())


def _read(path: Path) -> list[tuple[str, list[Block]]]:
    phases: list[tuple[str, list[Block]]] = [("start", [])]
    header: re.Match[str] | None = None
    lines: list[str] = []
    where = path.name

    def close() -> None:
        if header is not None and header["kind"] != "phase":
            sql = "\n".join(lines).strip().removesuffix(";")
            phases[-1][1].append(_block(header, sql, where))

    for number, line in enumerate(path.read_text().splitlines(), 1):
        match = _HEADER.match(line)
        if match is None:
            lines.append(line)
            continue
        close()
        where = f"{path.name}:{number}"
        header, lines = match, []
        if match["kind"] == "phase":
            phases.append((match["rest"].strip(), []))
    close()
    return phases
