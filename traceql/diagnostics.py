"""Findings of an import: counted by code and message, with the first example kept.

Invariant: a finding never stops an import by itself, is never dropped, and
costs one row however often it occurs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Severity = Literal["info", "warning", "data_loss", "error"]


@dataclass
class Finding:
    """One kind of finding: how often, how bad, what it means, one example."""

    code: str
    severity: Severity
    count: int
    message: str
    example: str | None


class Diagnostics:
    """Collects findings of one import, in the order in which they first occur."""

    def __init__(self) -> None:
        self._findings: dict[tuple[str, str], Finding] = {}

    def add(
        self,
        code: str,
        severity: Severity,
        message: str,
        *,
        count: int = 1,
        example: str | None = None,
    ) -> None:
        """Counts `count` occurrences of `code`; the first example is kept.

        Args:
            code: Stable snake_case name of the kind of finding.
            severity: info, warning, data_loss or error.
            message: What it means and what to do, without figures of one case.
            count: Occurrences to add; zero or fewer adds nothing.
            example: One case, for the reader.
        """
        if count <= 0:
            return
        found = self._findings.get((code, message))
        if found is None:
            self._findings[code, message] = Finding(
                code, severity, count, message, example
            )
        else:
            found.count += count
            found.example = found.example or example

    def findings(self) -> list[Finding]:
        """All findings, first seen first."""
        return list(self._findings.values())

    def lost_data(self) -> list[Finding]:
        """The findings that mean lost data: what `--strict` refuses."""
        return [f for f in self.findings() if f.severity == "data_loss"]
