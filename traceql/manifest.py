"""The manifest: one JSON file a run, whose presence is the run.

Invariant: a manifest names every file of its run, and only files inside the
run's own partitions; whatever does not say so is refused as damaged, so that
nobody deletes by the word of a stray file. Unknown keys are kept on rewriting.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from traceql.diagnostics import Finding
from traceql.errors import StoreError

FORMAT = 1
FOLDER = "runs"
RUN_ID = re.compile(r"r[0-9a-z]{1,63}")
TABLE = re.compile(r"[a-z][a-z0-9_]*")
_PART = re.compile(r"v\d+/([a-z][a-z0-9_]*)/run_id=(r[0-9a-z]+)/[\w.-]+\.parquet")


@dataclass(frozen=True)
class PartFile:
    """One Parquet file of a run; `path` is relative to the store."""

    table: str
    path: str
    rows: int
    bytes: int
    sha256: str


@dataclass(frozen=True)
class Manifest:
    """What is known of one run without opening its Parquet files.

    Attributes:
        importer: name, version.
        source: uri, sha256, bytes, member.
        ingested_at: UTC, ISO 8601 with microseconds; orders the runs.
        columns: Column names of each table, in the order of its files.
        facts: A small summary: devices, span_ns, kernel count, tool.
    """

    run_id: str
    nonce: str
    importer: Mapping[str, Any]
    source: Mapping[str, Any]
    ingested_at: str
    files: tuple[PartFile, ...]
    columns: Mapping[str, list[str]]
    label: str | None = None
    tags: Mapping[str, str] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    diagnostics: tuple[Finding, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)
    schema_version: str = "v1"
    traceql_version: str = ""
    format: int = FORMAT

    def as_json(self) -> bytes:
        """The file's bytes."""
        return encode(asdict(self))


@dataclass(frozen=True)
class Run:
    """One imported run of a store."""

    manifest: Manifest

    @property
    def run_id(self) -> str:
        """`r` and 15 hexadecimal digits."""
        return self.manifest.run_id

    @property
    def label(self) -> str | None:
        """The user's name for it."""
        return self.manifest.label

    @property
    def tags(self) -> Mapping[str, str]:
        """The user's tags."""
        return self.manifest.tags

    @property
    def source(self) -> Mapping[str, Any]:
        """Where it came from: uri, sha256, bytes, member."""
        return self.manifest.source

    @property
    def ingested_at(self) -> str:
        """UTC, ISO 8601."""
        return self.manifest.ingested_at

    @property
    def diagnostics(self) -> tuple[Finding, ...]:
        """What the import found."""
        return self.manifest.diagnostics

    @property
    def facts(self) -> Mapping[str, Any]:
        """The small summary that the import wrote."""
        return self.manifest.facts

    @property
    def files(self) -> tuple[PartFile, ...]:
        """Its Parquet files."""
        return self.manifest.files

    @property
    def rows(self) -> dict[str, int]:
        """Rows by table; a table without rows is absent."""
        rows: dict[str, int] = {}
        for part in self.manifest.files:
            rows[part.table] = rows.get(part.table, 0) + part.rows
        return rows

    @property
    def bytes(self) -> int:
        """Size of its Parquet files."""
        return sum(part.bytes for part in self.manifest.files)

    def _repr_html_(self) -> str:
        shown = {
            "run": self.run_id,
            "label": self.label or "",
            "tags": ", ".join(f"{k}={v}" for k, v in sorted(self.tags.items())),
            "source": str(self.source.get("uri", "")),
            "ingested": self.ingested_at,
            "rows": f"{sum(self.rows.values()):,}",
            "bytes": f"{self.bytes:,}",
        }
        cells = "".join(
            f"<tr><th>{key}</th><td>{html.escape(value)}</td></tr>"
            for key, value in shown.items()
        )
        return f"<table>{cells}</table>"


def name_of(run_id: str) -> str:
    """The manifest's name, relative to the store."""
    return f"{FOLDER}/{run_id}.json"


def encode(fields: Mapping[str, Any]) -> bytes:
    """Sorted, indented JSON: the same fields are the same bytes."""
    return (json.dumps(fields, indent=1, sort_keys=True) + "\n").encode()


def decode(data: bytes, path: str) -> dict[str, Any]:
    """The fields of a manifest, unknown ones included.

    Args:
        data: The file's bytes.
        path: Its full path, for the message.

    Raises:
        StoreError: It is no JSON object, or of a newer format.
    """
    try:
        fields = json.loads(data)
        number = fields["format"]
        if not isinstance(number, int):
            raise TypeError("format is no number")
    except (ValueError, TypeError, LookupError) as error:
        raise _damaged(path, error) from None
    if number > FORMAT:
        raise StoreError(
            f"{path} has format {number}; this TraceQL reads up to {FORMAT}",
            hint="Update TraceQL.",
        )
    return dict(fields)


def parse(data: bytes, path: str) -> Manifest:
    """Reads a manifest.

    Args:
        data: The file's bytes.
        path: Its full path, `.../runs/<run_id>.json`.

    Raises:
        StoreError: It is damaged, of a newer format, or names foreign files.
    """
    fields = decode(data, path)
    run_id = path.rpartition("/")[2].removesuffix(".json")
    try:
        known = {name: fields[name] for name in _FIELDS if name in fields}
        known["files"] = tuple(PartFile(**part) for part in fields["files"])
        known["diagnostics"] = tuple(Finding(**f) for f in fields["diagnostics"])
        manifest = Manifest(**known)
        _check(manifest, run_id)
    except (ValueError, TypeError, LookupError, AttributeError) as error:
        raise _damaged(path, error) from None
    return manifest


_FIELDS = tuple(Manifest.__dataclass_fields__)


def _check(manifest: Manifest, run_id: str) -> None:
    if manifest.run_id != run_id or not RUN_ID.fullmatch(run_id):
        raise ValueError(f"it speaks of run {manifest.run_id!r}")
    if not isinstance(manifest.ingested_at, str):
        raise TypeError("ingested_at is no text")
    if not isinstance(manifest.label, str | None):
        raise TypeError("label is no text")
    manifest.tags.items()
    for part in manifest.files:
        match = _PART.fullmatch(part.path)
        if not match or match.groups() != (part.table, run_id):
            raise ValueError(f"it names a file outside the run: {part.path!r}")
        if not isinstance(part.rows, int) or not isinstance(part.bytes, int):
            raise TypeError(f"rows or bytes of {part.path} are no numbers")


def _damaged(path: str, error: Exception) -> StoreError:
    run_id = path.rpartition("/")[2].removesuffix(".json")
    return StoreError(
        f"damaged manifest {path}: {error}",
        hint="traceql store verify lists all damage; ingest the source again with "
        f"--force, or remove the run: traceql runs delete --yes {run_id}",
    )
