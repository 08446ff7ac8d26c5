"""`traceql runs tag`: label runs and set or remove their tags."""

from __future__ import annotations

import click

from traceql.cli.options import (
    Output,
    complete_runs,
    output_options,
    pairs,
    store_option,
)


@click.command("tag")
@click.argument("selector", metavar="RUN", shell_complete=complete_runs)
@click.argument("tags", nargs=-1, metavar="[K=V]...", callback=pairs)
@click.option("--label", help="The run's new label; '' removes it.")
@click.option("--remove", multiple=True, metavar="K", help="Remove the tag K.")
@store_option
@output_options
def command(
    selector: str,
    tags: dict[str, str],
    *,
    label: str | None,
    remove: tuple[str, ...],
    store: str | None,
    output: Output,
) -> None:
    """Set or remove tags, set the label.

    RUN may select several runs.
    """
    from traceql.cli.listing import runs_result
    from traceql.store import open_store

    if not (tags or remove) and label is None:
        raise click.UsageError("give K=V, --remove K or --label")
    changes: dict[str, str | None] = {**tags, **dict.fromkeys(remove)}
    output.show(runs_result(open_store(store).tag([selector], changes, label=label)))
