"""`traceql runs list`: the runs of a store, newest first."""

from __future__ import annotations

import click

from traceql.cli.options import (
    Output,
    complete_runs,
    note,
    output_options,
    store_option,
)


@click.command("list")
@click.argument("selectors", nargs=-1, metavar="[RUN]...", shell_complete=complete_runs)
@store_option
@output_options
def command(selectors: tuple[str, ...], store: str | None, output: Output) -> None:
    """List the runs, newest first.

    RUN chooses some of them.
    """
    from traceql.cli.listing import runs_result
    from traceql.store import open_store

    target = open_store(store)
    output.show(runs_result(target.runs(selectors or ("all",))))
    for problem in target.problems:
        note(f"warning: {problem.message}")
