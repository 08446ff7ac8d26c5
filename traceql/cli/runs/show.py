"""`traceql runs show`: everything that a manifest says."""

from __future__ import annotations

import click

from traceql.cli.options import Output, complete_runs, output_options, store_option


@click.command("show")
@click.argument("selector", metavar="RUN", shell_complete=complete_runs)
@store_option
@output_options
def command(selector: str, store: str | None, output: Output) -> None:
    """Show all that is known of a run.

    Source, importer, rows by table, diagnostics, files.
    """
    from traceql.cli.listing import manifest_result
    from traceql.store import open_store

    output.show(manifest_result(open_store(store).run(selector)))
