"""Kernels: which of them take the time."""

from traceql.report.answers import Ask
from traceql.report.figures import Figure
from traceql.report.sections import Section

SECTION = Section(
    id="kernels",
    title="Kernels",
    order=40,
    how=(
        "Kernels by name, the most expensive first. Totals are sums over all devices: "
        "kernels that run at once count each. The mean far above the median says that "
        "a few executions are slow. Point at a name to read it whole."
    ),
    figures=(
        Figure(
            id="kernel-totals",
            title="Kernels by total time",
            ask=Ask("kernel_totals"),
            columns={
                "name": "Kernel",
                "kernel_count": "Executions",
                "total_ns": "Total",
                "sum_pct": "Of kernel time",
                "busy_pct": "Of kernel-busy time",
                "mean_ns": "Mean",
                "median_ns": "Median",
                "min_ns": "Min",
                "max_ns": "Max",
                "stddev_ns": "Std dev",
            },
            bar="sum_pct",
            limit=200,
            chart="kernels",
            chart_sql="""\
SELECT
    row_number() OVER (ORDER BY total_ns DESC, name) AS rank, name, short_name,
    kernel_count, total_ns, sum_pct,
    CASE v1.kernel_class(name) WHEN 'communication' THEN 'communication'
        ELSE 'compute' END AS activity
FROM kernel_totals
ORDER BY rank
LIMIT 15""",
            how="The fifteen with the most time; the table has the others.",
            empty="No kernel was recorded.",
        ),
    ),
)
