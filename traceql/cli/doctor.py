"""`traceql doctor`: what this installation has, and what it lacks."""

from __future__ import annotations

import click

from traceql.cli.options import Output, output_options, store_option
from traceql.errors import ExitCode


@click.command("doctor")
@store_option
@output_options
def command(store: str | None, output: Output) -> int:
    """Check the installation and the store.

    Versions, store, limits, tools and resources; no network is used.
    """
    from traceql.cli.checks import checks_result, run_checks

    checks = run_checks(store)
    output.show(checks_result(checks))
    return ExitCode.OK if all(check.ok for check in checks) else ExitCode.FAILURE
