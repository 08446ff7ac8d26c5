"""Counters: samples of GPU metrics, nvidia-smi and the like, and unified memory."""

from traceql.report.answers import Ask
from traceql.report.figures import Figure
from traceql.report.sections import Section

_BINS = 150
# What people look for first; then what moves most often.
_FIRST = (
    *("utilization.gpu", "memory.used", "power.draw", "temperature.gpu"),
    *("utilization.memory", "clocks.current.sm"),
)


def _lines(answer: str, time: str, series: str) -> str:
    """SQL of six counters over time: those of `_FIRST`, else those that vary."""
    return f"""\
WITH named AS (
    SELECT
        name || coalesce(' (' || nullif(unit, '') || ')', '') AS lane,
        list_position({list(_FIRST)!r}, name) AS place,
        {series} AS series, {time} / 1e9 AS time_s, mean_value AS value
    FROM {answer}
    WHERE mean_value IS NOT NULL
),
chosen AS (
    SELECT lane, coalesce(min(place), 99) AS place
    FROM named
    GROUP BY lane
    HAVING min(place) IS NOT NULL OR count(DISTINCT value) > 2
    ORDER BY place, count(DISTINCT value) DESC, lane
    LIMIT 6
)
SELECT named.lane, named.series, named.time_s, named.value
FROM named JOIN chosen USING (lane)
ORDER BY chosen.place, named.lane, named.series, named.time_s
LIMIT 6000"""


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
            id="counter-timeline",
            title="Counters over time",
            ask=Ask("counter_bins", {"bins": _BINS}),
            columns={
                "name": "Counter",
                "unit": "Unit",
                "device_id": "Device",
                "source_gpu": "GPU of the source",
                "start_ns": "From",
                "sample_count": "Samples",
                "mean_value": "Mean",
                "min_value": "Min",
                "max_value": "Max",
            },
            limit=500,
            chart="samples",
            chart_sql=_lines(
                "counter_bins",
                "start_ns",
                "coalesce('device ' || device_id, 'GPU ' || source_gpu, 'no device')",
            ),
            how=(
                "The mean in each of 150 stretches of the capture; nothing is known of "
                "a stretch without a sample. The chart has six counters at most."
            ),
            empty="The capture holds no counters.",
            fold=True,
        ),
        Figure(
            id="attached-samples",
            title="Logs beside the trace",
            ask=Ask("smi_over_trace", {"group_by": "moment"}),
            columns={
                "name": "Counter",
                "unit": "Unit",
                "device_id": "Device",
                "log_device_id": "GPU of the log",
                "matched_by": "Known by",
                "sample_count": "Samples",
                "missing_count": "Without value",
                "mean_value": "Mean",
                "min_value": "Min",
                "max_value": "Max",
                "first_ns": "First",
                "last_ns": "Last",
            },
            sql="""\
SELECT
    name, unit, device_id, log_run_id, log_device_id, matched_by,
    CAST(sum(sample_count) AS BIGINT) AS sample_count,
    CAST(sum(missing_count) AS BIGINT) AS missing_count,
    sum(mean_value * (sample_count - missing_count))
        / nullif(sum(sample_count - missing_count), 0) AS mean_value,
    min(min_value) AS min_value, max(max_value) AS max_value,
    min(first_ns) AS first_ns, max(last_ns) AS last_ns
FROM smi_over_trace
GROUP BY name, unit, device_id, log_run_id, log_device_id, matched_by
ORDER BY name, unit, device_id, log_run_id, log_device_id""",
            chart="samples",
            chart_sql=_lines(
                "smi_over_trace",
                "moment_ns",
                "coalesce('device ' || device_id, 'GPU ' || log_device_id || "
                "' of a log', 'no device')",
            ),
            how=(
                "Samples of the attached logs within the capture, on its time. "
                "nvidia-smi's utilisation is of up to a second before the sample."
            ),
            empty="No sample of the attached logs lies within the capture.",
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
