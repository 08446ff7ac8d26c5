"""The page: every run's facts, findings and sections, in one HTML text.

Invariant: all foreign text goes through Jinja's autoescape or `script_json`; the only
scripts and styles that run are the page's own, by their hashes.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

import traceql
from traceql.render import printable
from traceql.report import findings, formats, runtime
from traceql.report.answers import Answers, Ask
from traceql.report.figures import Figure, Shown, show
from traceql.report.sections import Section, sections

if TYPE_CHECKING:
    from traceql.diagnostics import Finding as Diagnostic
    from traceql.manifest import Run
    from traceql.session import Session

FOLDER = Path(__file__).parent / "templates"
ACTIVITIES = (
    *("compute", "communication", "graph", "copy_h2d", "copy_d2h", "copy_d2d"),
    *("copy_p2p", "memset"),
)
"""Activities that have a colour of their own in report.css."""
_WORST_FIRST = ("data_loss", "error", "warning")

COMPARISON = Figure(
    id="comparison",
    title="The runs side by side",
    ask=Ask("run_summary"),
    columns={
        "name": "Run",
        "tool_version": "Version",
        "device_count": "Devices",
        "window_ns": "Capture",
        "gpu_busy_pct": "GPU busy",
        "compute_pct": "Compute",
        "exposed_communication_pct": "Exposed comm.",
        "exposed_copy_pct": "Exposed copies",
        "idle_pct": "Idle",
        "largest_loss": "Largest loss",
        "kernel_count": "Kernels",
        "kernel_sum_ns": "Kernels, sum",
        "iteration_count": "Iterations",
        "median_iteration_ns": "Median iteration",
    },
    sql="SELECT coalesce(label, CAST(run_id AS VARCHAR)) AS name, "
    "window_end_ns - window_start_ns AS window_ns, * FROM answer.run_summary",
    units={"window_ns": "ns"},
    how="Shares are of the whole capture times the devices that ran anything.",
)
HISTORY = Figure(
    id="history",
    title="Iterations from run to run",
    ask=Ask("run_history"),
    columns={
        "name": "Run",
        "recorded_at": "Recorded, UTC",
        "median_ns": "Median iteration",
        "change_pct": "Since the run before",
        "change_from_first_pct": "Since the first",
    },
    sql="SELECT coalesce(label, CAST(run_id AS VARCHAR)) AS name, "
    "CAST(value AS BIGINT) AS median_ns, * FROM answer.run_history ORDER BY ordinal",
    units={"median_ns": "ns"},
    limit=1000,
    chart="history",
    chart_sql="SELECT ordinal, coalesce(label, CAST(run_id AS VARCHAR)) AS name, "
    "CAST(recorded_at AS VARCHAR) AS recorded_at, value AS median_ns, change_pct "
    "FROM answer.run_history WHERE value IS NOT NULL ORDER BY ordinal",
    how="In the order of recording; of import, where a trace does not say when it was.",
)


@dataclass(frozen=True)
class Fact:
    """One thing to know of a run."""

    name: str
    value: str


@dataclass(frozen=True)
class Part:
    """A section with its data."""

    id: str
    section: Section
    figures: tuple[Shown, ...]
    extra: dict[str, Any]


@dataclass(frozen=True)
class Report:
    """All that the page says of one run."""

    prefix: str
    title: str
    facts: tuple[Fact, ...]
    limits: tuple[findings.Finding, ...]
    remarks: tuple[findings.Finding, ...]
    has_gpu_work: bool
    parts: tuple[Part, ...]
    warnings: tuple[Diagnostic, ...]
    infos: tuple[Diagnostic, ...]
    provenance: tuple[Fact, ...]


def render(session: Session) -> str:
    """The report about a session's runs as HTML text."""
    env = Environment(
        loader=FileSystemLoader(FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    env.filters.update(formats.FILTERS)
    answers = Answers(session)
    several = len(session.runs) > 1
    over_runs = (COMPARISON, HISTORY) if several else ()
    asked = questions() | {figure.ask.table: figure.ask for figure in over_runs}
    answers.ask(asked.values())
    reports = [
        _report(answers, run, f"run{i + 1}-" if several else "", env)
        for i, run in enumerate(session.runs)
    ]
    comparison = [show(figure, answers, "") for figure in over_runs]
    of_runs = (part.figures for report in reports for part in report.parts)
    shown = [*comparison, *(figure for figures in of_runs for figure in figures)]
    drawn = any(figure.spec for figure in shown)
    script = runtime.script() if drawn else None
    css = _read("report.css")
    scripts = [_read("tables.js"), _read("timeline.js")]
    if script:
        scripts.append(_read("charts.js"))
    return env.get_template("page.html.j2").render(
        reports=reports,
        comparison=comparison,
        title=reports[0].title if not several else f"{len(reports)} runs",
        version=traceql.__version__,
        rules=findings.rules(),
        titles={section.id: section.title for section in sections()},
        known_activities=ACTIVITIES,
        css=Markup(css),
        runtime=Markup(script) if script else None,
        scripts=[Markup(text) for text in scripts],
        csp=_policy([*([script] if script else []), *scripts], css),
    )


def questions() -> dict[str, Ask]:
    """Every question of the report, by the name of its answer."""
    found: dict[str, Ask] = {}
    for section in sections():
        for ask in (*section.asks, *(figure.ask for figure in section.figures)):
            found[ask.table] = ask
    return found


def _report(answers: Answers, run: Run, prefix: str, env: Environment) -> Report:
    answers.look_at(run)
    summary = answers.sql("FROM run_summary").rows()
    found = findings.find(answers, questions(), env)
    ranked = sorted(
        (d for d in run.diagnostics if d.severity in _WORST_FIRST),
        key=lambda d: _WORST_FIRST.index(d.severity),
    )
    work = ("kernel", "memcpy", "memset", "graph_launch")
    has_gpu_work = any(run.rows.get(table) for table in work)
    parts = [
        Part(
            f"{prefix}{section.id}",
            section,
            tuple(show(figure, answers, prefix) for figure in section.figures),
            section.extra(answers) if section.extra else {},
        )
        for section in sections()
    ]
    parts = [
        p for p in parts if not p.section.optional or any(f.total for f in p.figures)
    ]
    if not has_gpu_work and _is_no_gpu_profile(run):
        # The sections that bear evidence stay.
        named = {finding.rule.section for finding in found}
        parts = [
            reduced
            for part in parts
            if (reduced := _with_input(part)).figures
            or not part.figures
            or part.section.id in named
        ]
    return Report(
        prefix=prefix,
        title=printable(run.label or _file_name(run) or run.run_id),
        facts=_facts(run, summary[0] if summary else {}),
        limits=tuple(f for f in found if f.rule.kind == "limit"),
        remarks=tuple(f for f in found if f.rule.kind == "capture"),
        has_gpu_work=has_gpu_work,
        parts=tuple(parts),
        warnings=tuple(ranked),
        infos=tuple(d for d in run.diagnostics if d.severity not in _WORST_FIRST),
        provenance=_provenance(run),
    )


def _is_no_gpu_profile(run: Run) -> bool:
    """Whether the source is of a kind that lacks nothing where it has no GPU work.

    How to record it would be wrong advice for a log of samples or any program's trace.
    """
    logged = run.facts.get("tool") == "nvidia-smi"
    return logged or run.manifest.importer.get("name") == "chrome-trace"


def _with_input(part: Part) -> Part:
    """A section without the figures that have nothing to show."""
    kept = (f for f in part.figures if f.total and not f.note)
    return replace(part, figures=tuple(kept))


def _facts(run: Run, summary: dict[str, Any]) -> tuple[Fact, ...]:
    devices: list[str] = list(run.facts.get("devices") or [])
    span = run.facts.get("span_ns")
    tool = f"{run.facts.get('tool') or ''} {run.facts.get('tool_version') or ''}"
    steps = summary.get("iteration_count")
    median = summary.get("median_iteration_ns")
    per_step = f"{steps:,} × {formats.time(median)} (median)" if steps else "none found"
    rank = summary.get("rank")
    facts = [
        ("Captured with", tool.strip() or "unknown"),
        ("Devices", _counted(devices) or "none named"),
        ("Window", _window(span)),
        ("Kernels", formats.count(summary.get("kernel_count") or 0)),
        ("Iterations", per_step),
        ("Rank", "" if rank is None else str(rank)),
        ("Framework", summary.get("framework") or ""),
        ("Run", run.run_id),
        ("Tags", ", ".join(f"{k}={v}" for k, v in sorted(run.tags.items()))),
        ("Ingested", f"{run.ingested_at[:16].replace('T', ' ')} UTC"),
    ]
    return _told(facts)


def _window(span_ns: int | None) -> str:
    if not span_ns:
        return "empty"
    # What the window of samples of one moment lasts.
    return "one moment" if span_ns == 1 else formats.time(span_ns)


def _provenance(run: Run) -> tuple[Fact, ...]:
    source, manifest = run.source, run.manifest
    importer = manifest.importer
    options = ", ".join(f"{k} = {v}" for k, v in sorted(manifest.options.items()))
    rows = ", ".join(f"{k} {v:,}" for k, v in sorted(run.rows.items()))
    facts = [
        ("Source", str(source.get("uri") or "")),
        ("Member", str(source.get("member") or "")),
        ("Source size", f"{source['bytes']:,} bytes" if source.get("bytes") else ""),
        ("Source SHA-256", str(source.get("sha256") or "")),
        ("Importer", f"{importer.get('name')}, version {importer.get('version')}"),
        ("Options", options),
        ("Imported by", f"TraceQL {manifest.traceql_version}"),
        ("Ingested", run.ingested_at),
        ("Schema", manifest.schema_version),
        ("Report by", f"TraceQL {traceql.__version__}"),
        ("Run", run.run_id),
        ("Rows", rows),
    ]
    return _told(facts)


def _told(facts: Sequence[tuple[str, str]]) -> tuple[Fact, ...]:
    return tuple(Fact(name, printable(value)) for name, value in facts if value)


def _counted(names: list[str]) -> str:
    """Names in order of appearance, equal ones counted: `2 × Tesla T4`."""
    counts = {name: names.count(name) for name in names}
    return ", ".join(f"{n} × {name}" if n > 1 else name for name, n in counts.items())


def _file_name(run: Run) -> str:
    uri = str(run.source.get("uri") or "")
    return uri.replace("\\", "/").rstrip("/").rpartition("/")[2]


def _read(name: str) -> str:
    return (FOLDER / name).read_text(encoding="utf-8")


def _policy(scripts: Sequence[str], css: str) -> str:
    """The content security policy: our own scripts and style, and nothing else."""
    hashes = " ".join(f"'sha256-{_hash(text)}'" for text in scripts)
    return (
        f"default-src 'none'; script-src {hashes}; style-src 'sha256-{_hash(css)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
