"""`traceql completion`: the script that completes commands, runs and queries."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> None:
    """Print SHELL's completion script.

    bash, zsh: eval "$(traceql completion bash)"; fish: traceql completion fish |
    source.
    """
    from traceql.cli.entry import root

    completion = get_completion_class(shell)
    if completion is None:
        raise click.UsageError(f"this click has no completion for {shell}")
    click.echo(completion(root, {}, "traceql", "_TRACEQL_COMPLETE").source())
