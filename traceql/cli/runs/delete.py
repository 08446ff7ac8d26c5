"""`traceql runs delete`: delete runs and their files."""

from __future__ import annotations

import sys

import click

from traceql.cli.options import Output, complete_runs, output_options, store_option


@click.command("delete")
@click.argument(
    "selectors", nargs=-1, required=True, metavar="RUN...", shell_complete=complete_runs
)
@click.option("--yes", is_flag=True, help="Do not ask.")
@store_option
@output_options
def command(
    selectors: tuple[str, ...], yes: bool, store: str | None, output: Output
) -> None:
    """Delete runs with their files.

    Asks first, and lists what is gone.
    """
    from traceql.cli.listing import runs_result
    from traceql.render import printable
    from traceql.store import open_store

    target = open_store(store)
    if not yes:
        doomed = target.runs(selectors)
        selectors = tuple(run.run_id for run in doomed)
        names = ", ".join(printable(run.label or run.run_id) for run in doomed)
        if not sys.stdin.isatty():
            raise click.UsageError(f"this would delete {names}: say so with --yes")
        click.confirm(f"Delete {names}?", abort=True, err=True)
    output.show(runs_result(target.delete(selectors)))
