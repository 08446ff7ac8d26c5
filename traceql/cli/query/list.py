"""`traceql query list`: the catalogue."""

from __future__ import annotations

from pathlib import Path

import click

from traceql.cli.options import Output, output_options, queries_option


@click.command("list")
@queries_option
@output_options
def command(query_dirs: tuple[Path, ...], output: Output) -> None:
    """List the queries: name, title and parameters."""
    from traceql.cli.catalogue import catalogue_result
    from traceql.queries import discover

    output.show(catalogue_result(discover(query_dirs)))
