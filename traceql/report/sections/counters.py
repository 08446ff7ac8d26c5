"""Counters: samples of GPU metrics, nvidia-smi and the like, and unified memory."""

from traceql.report.answers import Ask
from traceql.report.figures import Figure
from traceql.report.sections import Section

SECTION = Section(
    id="counters",
    title="Counters and unified memory",
    order=85,
    how=(
        "Samples that the source took beside the trace. A mean is over samples, each "
        "alike; what a counter was between them is not known."
    ),
    figures=(
        Figure(
            id="counter-summary",
            title="Counters",
            ask=Ask("counter_summary"),
            columns={
                "name": "Counter",
                "unit": "Unit",
                "device_id": "Device",
                "source_gpu": "GPU of the source",
                "sample_count": "Samples",
                "missing_count": "Without value",
                "interval_ns": "Apart",
                "mean_value": "Mean",
                "median_value": "Median",
                "p95_value": "95 %",
                "min_value": "Min",
                "max_value": "Max",
            },
            empty="The capture holds no counters.",
        ),
        Figure(
            id="unified-memory",
            title="Unified memory: migrations and page faults",
            ask=Ask("unified_memory"),
            columns={
                "kind": "Kind",
                "access": "Access",
                "pid": "Process",
                "device_id": "Device",
                "event_count": "Events",
                "fault_count": "Faults",
                "total_bytes": "Bytes",
                "total_ns": "Time, sum",
                "throughput_gb_per_s": "Throughput",
                "max_bytes": "Largest",
            },
            empty="No migration and no page fault of unified memory was recorded.",
        ),
    ),
)
