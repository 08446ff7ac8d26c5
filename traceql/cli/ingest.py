"""`traceql ingest`: import traces."""

from __future__ import annotations

from typing import Any

import click

from traceql.cli.options import limit_options, note, pairs, store_option
from traceql.errors import ExitCode


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
@click.option("--format", metavar="IMPORTER", help="Skip the detection of the format.")
@click.option("--force", is_flag=True, help="Import again what is present.")
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
    from traceql.cli.outcomes import line, remarks
    from traceql.cli.progress import progress_bar
    from traceql.ingest import ingest
    from traceql.store import open_store

    with progress_bar(quiet) as progress:
        target = open_store(store, create=True)
        outcomes = ingest(target, list(sources), progress=progress, **limits, **how)
    for outcome in outcomes:
        if outcome.run:
            click.echo(line(outcome))
        for remark in remarks(outcome, quiet):
            note(remark)
    return max((o.error.exit_code for o in outcomes if o.error), default=ExitCode.OK)
