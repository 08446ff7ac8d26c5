"""`traceql ingest`: import traces."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from traceql.cli.options import (
    complete_runs,
    limit_options,
    listed,
    note,
    pairs,
    store_option,
)
from traceql.errors import ExitCode

if TYPE_CHECKING:
    from traceql.ingest import Outcome


@click.command("ingest")
@click.argument("sources", nargs=-1, required=True)
@store_option
@click.option(
    "--tag",
    "tags",
    multiple=True,
    callback=pairs,
    metavar="K=V",
    help="Tag the runs; may be repeated.",
)
@click.option("--label", help="A name for the runs.")
@click.option("--job", help="A name for the job that the runs are ranks of.")
@click.option("--format", metavar="IMPORTER", help="Skip the detection of the format.")
@click.option("--force", is_flag=True, help="Import again what is present.")
@click.option(
    "--resume", is_flag=True, help="Do not read again what is there and unchanged."
)
@click.option(
    "--jobs",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Import so many sources at once.",
)
@click.option("--strict", is_flag=True, help="Lost data is a failure (exit 4).")
@click.option("--keep-environment", is_flag=True, help="Keep host, user, environment.")
@click.option("--redact", is_flag=True, help="Replace home directories in names.")
@click.option(
    "--with-samples", is_flag=True, help="CPU samples, scheduling and call stacks too."
)
@click.option(
    "--nsys",
    metavar="PATH",
    help="The nsys that reads .nsys-rep and .qdrep. Default: $TRACEQL_NSYS, else the "
    "one on PATH or in the usual folders.",
)
@click.option(
    "--nsys-timeout",
    "nsys_timeout_s",
    type=click.FloatRange(min=0, min_open=True),
    metavar="SECONDS",
    help="End nsys after so long. Default: 300 and 5 for each MB of the report.",
)
@click.option(
    "--attach",
    metavar="RUN",
    shell_complete=complete_runs,
    help="Lay sample logs beside the trace RUN: an id, a label, @latest, tag:k=v.",
)
@click.option(
    "--clock-offset",
    metavar="DURATION",
    help="What to add to the log's clock to get the trace's: 0, +1.5s, -250ms, -2h; a "
    "number alone is nanoseconds.",
)
@click.option(
    "--columns",
    callback=listed,
    metavar="NAME,...",
    help="The columns of an nvidia-smi CSV log without a header (noheader), in order: "
    "timestamp,index,utilization.gpu.",
)
@limit_options
@click.option("--quiet", is_flag=True, help="Neither progress nor diagnostics.")
def command(
    sources: tuple[str, ...],
    store: str | None,
    quiet: bool,
    limits: dict[str, Any],
    **how: Any,
) -> int:
    """Import traces into the store.

    SOURCES are files, folders, globs, URLs or - for standard input.
    Prints run id, status, rows, seconds, label and source of each, tab-separated.
    """
    from traceql.cli.outcomes import line, remarks, summary
    from traceql.cli.progress import progress_bar
    from traceql.ingest import ingest
    from traceql.store import open_store

    def tell(outcome: Outcome) -> None:
        if outcome.run:
            click.echo(line(outcome))
        for remark in remarks(outcome, quiet):
            note(remark)

    waiting: list[Outcome] = []
    with progress_bar(quiet) as progress:
        # Lines would break the bar: beneath one they wait.
        outcomes = ingest(
            open_store(store, create=True),
            list(sources),
            progress=progress,
            tell=waiting.append if progress else tell,
            **limits,
            **how,
        )
    for outcome in waiting:
        tell(outcome)
    if len(outcomes) > 1 and not quiet:
        note(summary(outcomes))
    return max((o.error.exit_code for o in outcomes if o.error), default=ExitCode.OK)
