"""`traceql report`: one self-contained HTML file about runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from traceql.cli.options import chosen_runs, limit_options, run_option, store_option
from traceql.render import printable


@click.command("report")
@click.option("--html", is_flag=True, default=True, help="HTML, the only form.")
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="The file. Default: one named after the run, in this folder.",
)
@store_option
@run_option
@limit_options
def command(
    html: bool,
    output: Path | None,
    store: str | None,
    selectors: tuple[str, ...],
    limits: dict[str, Any],
) -> None:
    """Write an HTML report and print its path.

    One file that opens from disk, offline.
    """
    from traceql.report import write_report
    from traceql.store import open_store

    target = open_store(store)
    path = write_report(target, chosen_runs(target, selectors), output, **limits)
    click.echo(printable(str(path)))
