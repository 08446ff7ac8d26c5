"""TraceQL: GPU profiler traces in one SQL store.

    import traceql

    store = traceql.open_store("my.traceql")
    store.ingest("run.sqlite", tags={"model": "resnet50"})
    store.query("kernel_totals", top=10).pl()

Names are loaded on first use, so that `import traceql` and `traceql --version`
cost nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from traceql.errors import (
        DataLoss,
        ImportFailed,
        NoSuchRun,
        QueryError,
        StoreError,
        TraceQLError,
        UnrecognisedInput,
        UsageError,
    )
    from traceql.result import Result
    from traceql.store import Run, Store, open_store

_HOMES = {
    "open_store": "traceql.store",
    "Store": "traceql.store",
    "Run": "traceql.store",
    "Result": "traceql.result",
    "TraceQLError": "traceql.errors",
    "UsageError": "traceql.errors",
    "UnrecognisedInput": "traceql.errors",
    "NoSuchRun": "traceql.errors",
    "DataLoss": "traceql.errors",
    "ImportFailed": "traceql.errors",
    "StoreError": "traceql.errors",
    "QueryError": "traceql.errors",
}

__all__ = [
    "DataLoss",
    "ImportFailed",
    "NoSuchRun",
    "QueryError",
    "Result",
    "Run",
    "Store",
    "StoreError",
    "TraceQLError",
    "UnrecognisedInput",
    "UsageError",
    "__version__",
    "open_store",
]


def __getattr__(name: str) -> Any:
    """Loads a public name from its home on first use."""
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'traceql' has no attribute {name!r}")
    value = getattr(importlib.import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Public names, loaded or not."""
    return sorted(__all__)
