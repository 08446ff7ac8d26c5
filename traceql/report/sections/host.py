"""Host: what the host's calls took, and how long kernels waited after them."""

from traceql.report.answers import FOCUS, Ask
from traceql.report.figures import Figure
from traceql.report.sections import Section

SECTION = Section(
    id="host",
    title="Host and launches",
    order=70,
    how=(
        "Call times are sums over threads, and a call inside another counts in both. "
        "A long wait from call to kernel means that the GPU is behind the host; a "
        "short one, with idle gaps, that the GPU waits for the host. "
        "Synchronising calls are long where the host waits for the GPU."
    ),
    figures=(
        Figure(
            id="api-summary",
            title="API calls",
            ask=Ask("api_summary"),
            columns={
                "api": "API",
                "name": "Function",
                "call_count": "Calls",
                "failed_count": "Failed",
                "total_ns": "Total",
                "sum_pct": "Of its API",
                "mean_ns": "Mean",
                "median_ns": "Median",
                "min_ns": "Min",
                "max_ns": "Max",
            },
            sql="FROM api_summary "
            "ORDER BY api_group <> 'cuda', total_ns DESC, api, name",
            bar="sum_pct",
            chart="api",
            chart_sql="""\
SELECT name, api, api_group, call_count, total_ns, sum_pct,
    row_number() OVER (ORDER BY total_ns DESC, name) AS rank
FROM api_summary
WHERE api_group IN ('cuda', 'hip')
ORDER BY rank
LIMIT 12""",
            how="GPU runtime and driver calls with most time; the table has all APIs.",
        ),
        Figure(
            id="launch-latency",
            title="From launch to kernel",
            ask=Ask(
                "launch_latency",
                {"with_queue_depth": False},
                columns=(
                    *("run_id", "name", "api", "tid", "device_id", "kernel_count"),
                    *("api_median_ns", "delay_median_ns", "delay_max_ns"),
                    "kernel_median_ns",
                ),
            ),
            columns={
                "name": "Kernel",
                "api": "Launched by",
                "tid": "Thread",
                "device_id": "Device",
                "kernel_count": "Kernels",
                "api_median_ns": "Call, median",
                "delay_median_ns": "Wait, median",
                "delay_max_ns": "Wait, max",
                "kernel_median_ns": "Kernel, median",
            },
            how="The wait is from the start of the call to the start of the kernel.",
        ),
    ),
    asks=(
        Ask(
            "api_summary",
            {"time_window": FOCUS},
            "focus_api",
            columns=("run_id", "api_group", "api", "name", "call_count", "total_ns"),
        ),
    ),
)
