"""JSON files that are no trace of events: what they are, and what to do instead.

Invariant: only the file's beginning is looked at; nothing here raises.
"""

from __future__ import annotations

import re

from traceql.importers import Head

_TORCH = (
    "Export the profiler's trace: prof.export_chrome_trace(FILE), or "
    "tensorboard_trace_handler(FOLDER)."
)
# Keys that occur in the file's beginning, all of them; what such a file is; the advice.
_KINDS: tuple[tuple[tuple[str, ...], str, str], ...] = (
    (
        ("rocprofiler-sdk-tool",),
        "a result file of rocprofv3, which TraceQL does not read",
        "Record the run with the PyTorch profiler, or convert it to a Chrome trace.",
    ),
    (
        ("$schema", "profiles", "shared"),
        "a speedscope file: it holds stacks, no trace",
        "Import the trace that it was made of.",
    ),
    (
        ("schema", "nodes"),
        "a PyTorch execution trace: a graph of operators without a timeline",
        _TORCH,
    ),
    (
        ("segments", "device_traces"),
        "a PyTorch memory snapshot",
        "Record with profile_memory=True and export the profiler's trace.",
    ),
    (
        ("projectId", "traceId", "spans"),
        "a Google Cloud trace: requests, not events",
        "TraceQL reads traces of events.",
    ),
    (
        ("nodes", "startTime", "endTime"),
        "a V8 CPU profile",
        "Record a trace in chrome://tracing, Perfetto or the Performance panel.",
    ),
)
_KEY = re.compile(r'"((?:[^"\\]|\\.)*)"\s*:')
# Its nodes may lie behind what is looked at.
_EXECUTION = re.compile(r'\{\s*"schema"\s*:\s*"\d')
_NSYS = re.compile(
    r'\s*\{"(?:Type|CudaEvent|NvtxEvent|TraceProcessEvent|FTraceEvent|data|CommEvent'
    r'|MmapEvent|DiagnosticEvent|CustomEvent|GenericEvent|GpuContextSwitchEvent)"'
)


def foreign_json(head: Head) -> tuple[str, str] | None:
    """What a JSON file (or pickle) is that TraceQL does not read, and what to do."""
    if head.data[:1] == b"\x80" and b"device_traces" in head.data:
        _, kind, advice = _KINDS[3]
        return kind, advice
    text = head.data.decode("utf-8", "replace").lstrip("\ufeff \t\r\n")
    if re.match(r"\[\s*\[", text):
        return (
            "a PyTorch memory timeline: an array of arrays, no events",
            "Record with profile_memory=True and export the profiler's trace.",
        )
    if not text.startswith(("{", "[")):
        return None
    keys = set(_KEY.findall(text))
    for needed, kind, advice in _KINDS:
        if keys.issuperset(needed) or (
            needed == ("schema", "nodes") and _EXECUTION.match(text)
        ):
            return kind, advice
    if _NSYS.match(text) and '"ph"' not in text:
        return (
            "a Nsight Systems export as JSON, a dump without documentation",
            "Export it so: nsys export --type sqlite REPORT",
        )
    return (
        "JSON without trace events",
        'A trace is an array of events, or an object with the key "traceEvents".',
    )
