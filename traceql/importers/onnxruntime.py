"""ONNX Runtime profiles (SessionOptions.enable_profiling)."""

from __future__ import annotations

from pathlib import Path

from traceql.importers._trace_event import (
    SHARED,
    Dialect,
    Signs,
    TraceEventImporter,
)

_SESSION = frozenset(
    [
        "model_loading_array",
        "model_loading_uri",
        "model_loading_istream",
        "model_loading_proto",
        "session_initialization",
        "model_run",
        "SequentialExecutor::Execute",
        "ParallelExecutor::Execute",
    ]
)
_NODE = ("_kernel_time", "_fence_before", "_fence_after")


def _sniff(signs: Signs) -> float:
    if signs.root != "array" or signs.phases - {"X"}:
        return 0.0
    if "Session" in signs.categories and signs.names & _SESSION:
        return 0.95
    if "Node" in signs.categories and any(n.endswith(_NODE) for n in signs.names):
        return 0.9
    return 0.0


IMPORTER = TraceEventImporter(
    Dialect(
        name="onnxruntime",
        version=1,
        title="ONNX Runtime profile",
        sniff=_sniff,
        mappings=(SHARED, Path(__file__).with_name("onnxruntime.sql")),
    )
)
