"""`traceql query show`: what a query answers, takes and gives."""

from __future__ import annotations

from pathlib import Path

import click

from traceql.cli.options import Output, complete_queries, output_options, queries_option


@click.command("show")
@click.argument("name", shell_complete=complete_queries)
@click.option("--sql", is_flag=True, help="Print the query's SQL instead.")
@queries_option
@output_options
def command(name: str, sql: bool, query_dirs: tuple[Path, ...], output: Output) -> None:
    """Show definition, parameters and columns."""
    from traceql.cli.catalogue import page, query_result
    from traceql.queries import discover, find

    query = find(discover(query_dirs), name)
    if sql:
        click.echo(query.sql.rstrip())
    elif output.asked:
        output.show(query_result(query))
    else:
        click.echo(page(query))
