"""`traceql store verify`: every file against its manifest."""

from __future__ import annotations

import click

from traceql.cli.options import (
    Output,
    complete_runs,
    note,
    output_options,
    store_option,
)
from traceql.errors import ExitCode


@click.command("verify")
@click.argument("selectors", nargs=-1, metavar="[RUN]...", shell_complete=complete_runs)
@store_option
@output_options
def command(selectors: tuple[str, ...], store: str | None, output: Output) -> int:
    """Check every file against its manifest.

    Reads all files again and lists what does not fit (exit 1). Strays,
    files that no manifest names, are listed too; they are waste, no damage.
    """
    from traceql.cli.listing import problems_result
    from traceql.store import open_store

    problems = open_store(store).verify(selectors or ("all",))
    damage = [problem for problem in problems if problem.kind != "stray"]
    if problems or output.asked:
        output.show(problems_result(problems))
    note(f"{len(damage)} problems, {len(problems) - len(damage)} strays")
    return ExitCode.FAILURE if damage else ExitCode.OK
