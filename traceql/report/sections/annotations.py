"""Annotations: the ranges that the program drew."""

from traceql.report.answers import Ask
from traceql.report.figures import Figure
from traceql.report.sections import Section

SECTION = Section(
    id="annotations",
    title="Annotations",
    order=80,
    how=(
        "Ranges that the program or its framework drew on the host (NVTX, "
        "record_function). Time inside nested ranges counts in every level. What they "
        "launched on the GPU: traceql query annotation_gpu_projection, and "
        "kernels_by_annotation."
    ),
    figures=(
        Figure(
            id="annotation-summary",
            title="Annotations by total time",
            ask=Ask("annotation_summary"),
            columns={
                "name": "Annotation",
                "kind": "Kind",
                "annotation_count": "Count",
                "unfinished_count": "Cut",
                "total_ns": "Total",
                "sum_pct": "Of all ranges",
                "mean_ns": "Mean",
                "median_ns": "Median",
                "min_ns": "Min",
                "max_ns": "Max",
            },
            bar="sum_pct",
            chart="annotations",
            chart_sql="""\
SELECT name, kind, annotation_count, total_ns, sum_pct,
    row_number() OVER (ORDER BY total_ns DESC, kind, name) AS rank
FROM annotation_summary
WHERE total_ns > 0
ORDER BY rank
LIMIT 12""",
        ),
    ),
)
