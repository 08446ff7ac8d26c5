"""`traceql shell`: SQL at a prompt, with the runs' views and queries loaded."""

from __future__ import annotations

import shutil

import click

from traceql.cli.options import Reading, reading_options


@click.command("shell")
@click.option("--no-cli", is_flag=True, help="Use the built-in prompt.")
@reading_options
def command(no_cli: bool, reading: Reading) -> int:
    """Open a SQL prompt over the chosen runs.

    The DuckDB CLI where `duckdb` is on PATH, else a built-in prompt.
    """
    duckdb_cli = None if no_cli else shutil.which("duckdb")
    session = reading.open()
    if duckdb_cli:
        from traceql.cli.duckdb_cli import run_cli

        return run_cli(duckdb_cli, session.script(), reading.limits)
    from traceql.cli.prompt import Prompt

    return Prompt(session).run()
