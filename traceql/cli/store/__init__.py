"""`traceql store`: check and tidy a store."""

from traceql.cli.lazy import LazyGroup

command = LazyGroup(__name__, help="Check a store and tidy it.")
