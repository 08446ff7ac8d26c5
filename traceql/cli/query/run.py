"""`traceql query run`: the answer of one query."""

from __future__ import annotations

import click

from traceql.cli.options import (
    Output,
    Reading,
    complete_queries,
    output_options,
    pairs,
    reading_options,
)


@click.command("run")
@click.argument("name", shell_complete=complete_queries)
@click.option(
    "-p",
    "--param",
    "params",
    multiple=True,
    callback=pairs,
    metavar="K=V",
    help="A parameter of the query; may be repeated.",
)
@reading_options
@output_options
def command(
    name: str, params: dict[str, str], reading: Reading, output: Output
) -> None:
    """Run the query NAME over the chosen runs."""
    session = reading.open()
    output.show(session.query(name, params))
