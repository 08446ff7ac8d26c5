"""Runs and manifests as Results, so that every output format serves them too."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import pyarrow as pa

from traceql.query_file import ColumnDoc
from traceql.result import Result
from traceql.store import Problem, Run

_RUN_COLUMNS = {
    "run_id": pa.string(),
    "label": pa.string(),
    "ingested_at": pa.timestamp("s", "UTC"),
    "source": pa.string(),
    "tool": pa.string(),
    "devices": pa.string(),
    "span_ns": pa.int64(),
    "kernels": pa.int64(),
    "bytes": pa.int64(),
    "tags": pa.string(),
    "warnings": pa.int64(),
}

_RUN_DOCS = (
    ColumnDoc("span_ns", "ns", "neutral", "From the first event to the last."),
    ColumnDoc("bytes", "bytes", "neutral", "Size of the run's Parquet files."),
    ColumnDoc("warnings", "count", "lower", "Findings of a warning or worse."),
)


def runs_result(runs: Sequence[Run]) -> Result:
    """One row a run: what tells it from the others."""
    return Result.of_rows(map(_run_row, runs), _RUN_COLUMNS, "Runs", _RUN_DOCS)


def _run_row(run: Run) -> dict[str, Any]:
    facts = run.facts
    devices = facts.get("devices") or []
    return {
        "run_id": run.run_id,
        "label": run.label,
        "ingested_at": _time(run.ingested_at),
        "source": str(run.source.get("uri") or "").rstrip("/").rpartition("/")[2],
        "tool": " ".join(
            str(facts[key]) for key in ("tool", "tool_version") if facts.get(key)
        ),
        "devices": devices if isinstance(devices, str) else _devices(devices),
        "span_ns": facts.get("span_ns"),
        "kernels": run.rows.get("kernel", 0),
        "bytes": run.bytes,
        "tags": ", ".join(f"{k}={v}" for k, v in sorted(run.tags.items())),
        "warnings": sum(f.count for f in run.diagnostics if f.severity != "info"),
    }


def _devices(names: Sequence[object]) -> str:
    """The names, each once: `8 x NVIDIA H100`."""
    return ", ".join(
        f"{count} x {name}" if count > 1 else str(name)
        for name, count in Counter(names).items()
    )


def _time(text: str) -> dt.datetime | None:
    # The stand-in of a damaged manifest has no time.
    return dt.datetime.fromisoformat(text).replace(microsecond=0) if text else None


def manifest_result(run: Run) -> Result:
    """One row for each fact of a manifest: its dotted name and its value."""
    fields = asdict(run.manifest)
    found = {entry.pop("code"): entry for entry in fields.pop("diagnostics")}
    files = {entry.pop("path"): entry for entry in fields.pop("files")}
    columns = fields.pop("columns")
    # What is long comes last.
    fields |= {"rows": run.rows, "diagnostics": found, "columns": columns}
    fields |= {"files": files}
    rows = [{"field": name, "value": value} for name, value in _flat(fields)]
    types = {"field": pa.string(), "value": pa.string()}
    return Result.of_rows(rows, types, run.label or run.run_id)


def _flat(
    fields: Mapping[str, Any], prefix: str = ""
) -> Iterator[tuple[str, str | None]]:
    for key, value in fields.items():
        name = f"{prefix}{key}"
        if isinstance(value, Mapping):
            yield from _flat(value, f"{name}.")
        elif isinstance(value, list | tuple):
            yield name, ", ".join(map(str, value))
        else:
            yield name, None if value is None else str(value)


def problems_result(problems: Sequence[Problem]) -> Result:
    """One row a problem of a store."""
    names = ("kind", "path", "run_id", "message", "advice")
    types = dict.fromkeys(names, pa.string())
    return Result.of_rows(map(asdict, problems), types, "Problems")


def files_result(files: Sequence[str]) -> Result:
    """One row a file."""
    return Result.of_rows(({"file": name} for name in files), {"file": pa.string()})
