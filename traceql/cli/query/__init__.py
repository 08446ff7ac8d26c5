"""`traceql query`: list, show and run the catalogue's queries."""

from traceql.cli.lazy import LazyGroup

command = LazyGroup(
    __name__,
    help="Run, list and show queries.\n\n"
    "traceql query kernel_totals -p top=10 needs no word `run`.",
    empty="list",
    default="run",
)
