"""The import of one source: read, map, conform, write, commit.

Invariant: a source becomes a whole run or nothing.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import duckdb
import pyarrow as pa

from traceql import importers, schema, window
from traceql.attaching import Attachment, attached_facts
from traceql.diagnostics import Diagnostics, Finding
from traceql.errors import (
    DataLoss,
    ImportFailed,
    StoreError,
    TraceQLError,
    UsageError,
)
from traceql.sources import Source
from traceql.writer import Writer, redacted

if TYPE_CHECKING:
    from traceql.store import Run, Store

_NAMING = {"run", "diagnostic", "device", "thread", "context"}

Progress = Callable[[str, float], None]


@dataclass(frozen=True)
class Options:
    """How to import; what changes the outcome is kept in the manifest.

    Attributes:
        label: The user's name for the run.
        tags: The user's tags.
        job: Name of the job that the runs are ranks of.
        format: Importer to use instead of detection.
        force: Import again what is present.
        strict: Lost data is an error.
        keep_environment: Keep host name and environment.
        redact: Replace home directories in names.
        with_samples: Import CPU samples, scheduling and call chains too.
        nsys: The nsys to read Nsight reports with; None: TRACEQL_NSYS, or look for one.
        nsys_timeout_s: Seconds that it may take; None: by the report's size.
        columns: Names of the columns of an nvidia-smi CSV log without a header, in
            order; empty: it has a header, or they are not known.
        memory_limit: DuckDB's limit during the import; the process needs more.
        threads: Threads of one import.
        attached: The trace that sample logs are attached to.
    """

    label: str | None = None
    tags: Mapping[str, str] = field(default_factory=dict)
    job: str | None = None
    format: str | None = None
    force: bool = False
    strict: bool = False
    keep_environment: bool = False
    redact: bool = False
    with_samples: bool = False
    nsys: str | None = None
    nsys_timeout_s: float | None = None
    columns: tuple[str, ...] = ()
    memory_limit: str = "500MB"
    threads: int = 2
    attached: Attachment | None = None

    def kept(self) -> dict[str, Any]:
        """The options that change what the run holds."""
        kept: dict[str, Any] = {
            "keep_environment": self.keep_environment,
            "redact": self.redact,
        }
        # Named only where asked for: runs of before the option are not other runs.
        if self.with_samples:
            kept["with_samples"] = True
        if self.columns:
            kept["columns"] = ",".join(self.columns)
        if self.attached is not None:
            kept["attached_to"] = self.attached.run_id
            kept["clock_offset_ns"] = self.attached.stated_ns
        return kept


@dataclass(frozen=True)
class Outcome:
    """What became of one source.

    Attributes:
        source: Its name.
        status: imported, present (the same content is in the store), failed, or
            left_out: files of a folder or archive that are no capture.
        run: The run, unless it failed.
        error: Why it failed.
        notes: Remarks for the user; of files left out, which and why.
        seconds: Wall time.
        findings: The import's diagnostics.
    """

    source: str
    status: Literal["imported", "present", "failed", "left_out"]
    run: Run | None = None
    error: TraceQLError | None = None
    notes: list[str] = field(default_factory=list)
    seconds: float = 0.0
    findings: list[Finding] = field(default_factory=list)


def import_source(
    store: Store,
    options: Options,
    source: Source,
    importer: importers.Importer,
    progress: Progress | None,
) -> Outcome:
    """Imports one source with one importer.

    Args:
        store: Where the run goes.
        options: How to import.
        source: The file.
        importer: Its reader.
        progress: Called with the source's name and the share that is done.

    Returns:
        The run; the one that was there already where the content is the same.

    Raises:
        DataLoss: The import lost data and `options.strict` forbids that.
        ImportFailed: The source is damaged, or memory did not do.
        StoreError: The store cannot be written.
    """
    present = store.find(source.run_id)
    if present is not None and not options.force:
        return _present(source, importer, options, present)
    seen = source.fingerprint
    diagnostics = Diagnostics()
    tables = schema.load()
    with (
        store.stage(source.run_id) as staging,
        tempfile.TemporaryDirectory(prefix="traceql-") as scratch,
        _connect(options, scratch) as con,
        _import_errors(source),
    ):
        writer = Writer(staging, tables, diagnostics, redact=options.redact)
        context = importers.Context(
            writer=writer,
            diagnostics=diagnostics,
            progress=partial(progress, source.uri) if progress else _silent,
            threads=options.threads,
            keep_environment=options.keep_environment,
            with_samples=options.with_samples,
            nsys=options.nsys,
            nsys_timeout_s=options.nsys_timeout_s,
            columns=options.columns,
            source=source.member or source.uri,
        )
        facts = importer.read(source.path, con, context)
        diagnostics.add(
            "cut_archive",
            "data_loss",
            "The compressed file is cut or damaged: what came before is imported.",
            count=1 if source.cut else 0,
            example=source.cut,
        )
        lost = diagnostics.lost_data()
        if options.strict and lost:
            raise DataLoss(
                f"{source.uri}: {lost[0].code} x{lost[0].count}: {lost[0].message}",
                hint="Import without --strict to keep what is there.",
            )
        writer.show_written(con)
        facts |= window.of_written(con)
        diagnostics.add(
            "empty_capture",
            "warning",
            "The capture holds no events: nothing was recorded.",
            count=0 if _holds_events(con, tables) else 1,
        )
        if options.attached is not None:
            facts |= attached_facts(con, options.attached, source, facts, diagnostics)
        findings = diagnostics.findings()
        uri = source.uri
        if options.redact:
            findings, uri = [_redacted(f) for f in findings], redacted(uri)
        _write_run(con, writer, source, importer, options, facts)
        _write_diagnostics(con, writer, findings)
        run = staging.commit(
            importer={"name": importer.name, "version": importer.version},
            source={
                "uri": uri,
                "sha256": source.sha256,
                "bytes": source.bytes,
                "member": source.member,
                "fingerprint": seen,
            },
            label=options.label,
            tags=options.tags,
            options=options.kept(),
            diagnostics=findings,
            facts=_summary(con, writer, facts),
            schema_version=tables.version,
            replace=options.force,
        )
    if run is None:
        return _present(source, importer, options, store.find(source.run_id))
    return Outcome(source.uri, "imported", run=run, findings=findings)


def _holds_events(con: duckdb.DuckDBPyConnection, tables: schema.Schema) -> bool:
    """Whether there is a row that does not merely name something."""
    return any(window.holds(con, name) for name in tables.tables if name not in _NAMING)


def _redacted(finding: Finding) -> Finding:
    example = finding.example and redacted(finding.example)
    return replace(finding, message=redacted(finding.message), example=example)


def _silent(_: float) -> None:
    """Progress that nobody watches."""


def _present(
    source: Source, importer: importers.Importer, options: Options, run: Run | None
) -> Outcome:
    notes = ["already present"]
    if run is not None:
        made = run.manifest.importer
        if made != {"name": importer.name, "version": importer.version}:
            notes.append(
                f"it was made by {made['name']} {made['version']}, this is "
                f"{importer.name} {importer.version}; --force imports it again"
            )
        if run.manifest.options != options.kept():
            notes.append("it was made with other options; --force imports it again")
        if options.tags or options.label:
            notes.append("tags and label are unchanged; traceql runs tag sets them")
        if options.job:
            notes.append("its job is unchanged; --force imports it again")
    return Outcome(source.uri, "present", run=run, notes=["; ".join(notes)])


def _connect(options: Options, scratch: str) -> duckdb.DuckDBPyConnection:
    try:
        return duckdb.connect(
            config={
                "memory_limit": options.memory_limit,
                "temp_directory": scratch,
                "threads": options.threads,
                # Arrow streams carry no cardinality: the optimiser's guesses at join
                # orders over them cost more than they gain.
                "disabled_optimizers": "join_order,build_side_probe_side",
                "autoinstall_known_extensions": False,
                "autoload_known_extensions": False,
            }
        )
    except duckdb.Error as error:
        raise UsageError(
            f"memory limit {options.memory_limit}, threads {options.threads}: {error}",
            hint="Say --memory-limit as 2GB or 500MB, --threads as 1 or more.",
        ) from error


@contextmanager
def _import_errors(source: Source) -> Iterator[None]:
    """Turns what DuckDB raises during an import into errors that a user can act on."""
    try:
        yield
    except duckdb.OutOfMemoryException as error:
        raise ImportFailed(
            f"{source.uri}: out of memory: {error}",
            hint="Give the import more: --memory-limit 2GB.",
        ) from error
    except duckdb.IOException as error:
        raise StoreError(
            f"{source.uri}: reading or writing failed: {error}",
            hint="Free space in the store and in the temporary folder (TMPDIR).",
        ) from error
    except duckdb.Error as error:
        raise ImportFailed(f"{source.uri}: {error}") from error


def _write_run(
    con: duckdb.DuckDBPyConnection,
    writer: Writer,
    source: Source,
    importer: importers.Importer,
    options: Options,
    facts: dict[str, Any],
) -> None:
    row = {
        **facts,
        "label": options.label,
        "job": options.job or facts.get("job"),
        "source_uri": source.uri,
        "source_sha256": source.sha256,
        "source_bytes": source.bytes,
        "format": importer.name,
        "importer": importer.name,
        "importer_version": importer.version,
        "schema_version": schema.NEWEST,
        "ingested_at": datetime.now(UTC).isoformat(),
    }
    _write_rows(con, writer, "run", [row])


def _write_diagnostics(
    con: duckdb.DuckDBPyConnection, writer: Writer, findings: list[Finding]
) -> None:
    found = [
        {
            "code": f.code,
            "severity": f.severity,
            "count": f.count,
            "message": f.message,
            "example": f.example,
        }
        for f in findings
    ]
    if found:
        _write_rows(con, writer, "diagnostic", found)


def _write_rows(
    con: duckdb.DuckDBPyConnection,
    writer: Writer,
    table: str,
    rows: list[dict[str, Any]],
) -> None:
    """Writes a few rows of plain values; the writer casts them to their types."""
    table_of_text = pa.table(
        {n: [None if r[n] is None else str(r[n]) for r in rows] for n in rows[0]},
        schema=pa.schema([(n, pa.string()) for n in rows[0]]),
    )
    con.register("plain_rows", table_of_text)
    writer.write(con, table, "SELECT * FROM plain_rows")
    con.unregister("plain_rows")


def _summary(
    con: duckdb.DuckDBPyConnection, writer: Writer, facts: dict[str, Any]
) -> dict[str, Any]:
    """What `traceql runs` shows without opening a Parquet file."""
    writer.show_written(con)
    devices = con.execute(
        "SELECT list(coalesce(name, 'device ' || device_id) ORDER BY device_id) "
        "FROM written.device"
    ).fetchall()[0][0]
    return {
        "tool": facts.get("tool"),
        "tool_version": facts.get("tool_version"),
        "devices": devices or [],
        "first_ts_ns": facts["first_ts_ns"],
        "span_ns": facts["span_ns"],
    }
