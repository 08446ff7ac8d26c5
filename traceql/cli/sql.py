"""`traceql sql`: ad-hoc SQL over the tables, views and queries of runs."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from traceql.cli.options import Output, Reading, output_options, reading_options


@click.command("sql")
@click.argument("text", required=False)
@click.option(
    "-f",
    "--file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Read the SQL from FILE.",
)
@reading_options
@output_options
def command(
    text: str | None, file: Path | None, reading: Reading, output: Output
) -> None:
    """Run SQL over the chosen runs.

    TEXT may be - for standard input. Of several statements each shows its answer;
    --format and -o hold one.
    """
    if (text is None) == (file is None):
        raise click.UsageError("give the SQL as TEXT, as - for stdin, or as -f FILE")
    try:
        if file:
            text = file.read_text(encoding="utf-8")
        elif text == "-":
            text = sys.stdin.buffer.read().decode()
    except UnicodeDecodeError as error:
        raise click.UsageError(f"the SQL is not UTF-8: {error}") from error
    output.show_each(reading.open(), text or "")
