"""`traceql runs`: list, show, tag and delete the runs of a store."""

from traceql.cli.lazy import LazyGroup

command = LazyGroup(
    __name__,
    help="List, show, tag and delete runs. Alone it lists them.",
    empty="list",
    default="list",
)
