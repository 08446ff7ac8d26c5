"""Synchronisation: where the host waited for the GPU, and calls that make it wait."""

from traceql.report.answers import FOCUS, Ask
from traceql.report.figures import Figure
from traceql.report.sections import Section

_COPY = {
    "start_ns": "Start",
    "dur_ns": "On the device",
    "call_dur_ns": "Call",
    "bytes": "Bytes",
    "api_name": "Function",
    "pid": "Process",
    "tid": "Thread",
    "device_id": "Device",
    "stream_id": "Stream",
}
_MEMORY = {"kind": "Direction", "src_memory": "From", "dst_memory": "To"}

SECTION = Section(
    id="synchronisation",
    title="Synchronisation",
    order=75,
    how=(
        "A thread is blocked in calls that return only when the GPU is done: it waits "
        "for a device, a stream, an event, or a copy. Waiting at the end of an "
        "iteration is how a host that runs ahead looks; what costs time is a wait "
        "after which the GPU has nothing to do, and a copy that need not wait."
    ),
    figures=(
        Figure(
            id="sync-stalls",
            title="Time blocked in synchronising calls, by caller",
            ask=Ask("sync_stalls", {"time_window": FOCUS}),
            columns={
                "annotation": "Innermost annotation",
                "sync_kind": "Waits for",
                "name": "Function",
                "pid": "Process",
                "tid": "Thread",
                "call_count": "Calls",
                "blocked_ns": "Blocked",
                "blocked_pct": "Of the window",
                "gpu_idle_ns": "Meanwhile no GPU ran",
                "median_ns": "Median",
                "max_ns": "Longest",
            },
            bar="blocked_pct",
            how=(
                "The rows of a thread do not overlap. In iterations, or without any in "
                "the time of GPU work."
            ),
            empty="No call of the window waits for the GPU.",
        ),
        Figure(
            id="pageable-async-copies",
            title="Asynchronous copies of pageable memory",
            ask=Ask("pageable_async_copies", {"top": 50}),
            columns=_MEMORY | _COPY,
            limit=20,
            how="They go through a buffer of the driver; pinned memory needs none.",
            empty="No asynchronous copy uses pageable memory.",
        ),
        Figure(
            id="sync-copies",
            title="Synchronous copies",
            ask=Ask("sync_copies", {"top": 50}),
            columns=_MEMORY | _COPY,
            limit=20,
            how="The host waits for each. The longest of the capture.",
            empty="No synchronous copy holds up the host.",
        ),
        Figure(
            id="sync-memsets",
            title="Synchronous fills",
            ask=Ask("sync_memsets", {"top": 50}),
            columns={"memory_kind": "Memory"} | _COPY,
            limit=20,
            empty="No synchronous fill holds up the host.",
        ),
        Figure(
            id="launch-threads",
            title="Who launches on which device",
            ask=Ask("launch_threads"),
            columns={
                "pid": "Process",
                "tid": "Thread",
                "device_id": "Device",
                "launch_count": "Calls",
                "gpu_op_count": "Operations",
                "device_pct": "Of the device's",
                "call_sum_ns": "Time in calls",
                "mean_stagger_ns": "Starts late in an iteration, mean",
                "max_stagger_ns": "Most",
            },
            bar="device_pct",
            how=(
                "A device starts late by the time from the first kernel of an "
                "iteration on any device to the first on it."
            ),
        ),
    ),
)
