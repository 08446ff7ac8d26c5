"""`traceql store vacuum`: remove what no manifest names."""

from __future__ import annotations

import click

from traceql.cli.options import Output, note, output_options, store_option


@click.command("vacuum")
@click.option(
    "--older-than",
    type=click.FloatRange(min=0),
    default=1.0,
    metavar="DAYS",
    show_default=True,
    help="Leave younger files: an import may be writing them.",
)
@click.option("--dry-run", is_flag=True, help="Only list the files.")
@store_option
@output_options
def command(
    older_than: float, dry_run: bool, store: str | None, output: Output
) -> None:
    """Remove old files that belong to no run."""
    from traceql.cli.listing import files_result
    from traceql.store import open_store

    files = open_store(store).vacuum(older_than * 86_400, dry_run=dry_run)
    if files or output.asked:
        output.show(files_result(files))
    note(f"{len(files)} files {'would be ' if dry_run else ''}removed")
