"""Iterations: how long each took, and where its time went."""

from traceql.report.answers import Ask
from traceql.report.figures import Figure
from traceql.report.sections import Section

SECTION = Section(
    id="iterations",
    title="Iterations",
    order=30,
    how=(
        "An iteration owns the GPU work that it launched, whenever that ran. Marked ones "
        "are slow: more than 1.05 times the median wall time and more than three robust "
        "deviations above it, where there are five or more. Idle is wall time in which "
        "nothing ran on the device. The row without a number is work that no iteration "
        "launched. Other names of steps: traceql query iteration_timing -p pattern=…"
    ),
    figures=(
        Figure(
            id="iteration-timing",
            title="Iterations",
            ask=Ask("iteration_timing"),
            columns={
                "iteration": "Iteration",
                "name": "Name",
                "pid": "Process",
                "device_id": "Device",
                "wall_ns": "Wall",
                "wall_to_median_ratio": "Of median",
                "gap_before_ns": "Gap before",
                "compute_union_ns": "Compute",
                "exposed_communication_ns": "Exposed comm.",
                "exposed_copy_ns": "Exposed copies",
                "idle_ns": "Idle",
                "idle_pct": "Idle",
                "op_count": "GPU ops",
                "launch_count": "Launches",
            },
            sql="FROM iteration_timing ORDER BY is_outlier IS TRUE DESC, "
            "iteration IS NULL, pid, iteration, device_id",
            marked="is_outlier",
            bar="idle_pct",
            limit=200,
            chart="iterations",
            chart_sql="""\
SELECT
    pid, iteration, any_value(name) AS name, any_value(wall_ns) / 1e6 AS wall_ms,
    any_value(wall_ns / wall_to_median_ratio) / 1e6 AS median_ms,
    CASE WHEN bool_or(is_outlier) THEN 'slow' ELSE 'usual' END AS pace
FROM iteration_timing
WHERE iteration IS NOT NULL
GROUP BY pid, iteration
ORDER BY pid, iteration
LIMIT 2000""",
            how="Wall time of each iteration on the host, against the median.",
            empty="No iteration was found.",
        ),
        Figure(
            id="iteration-parts",
            title="Where the mean iteration goes",
            ask=Ask("iteration_summary"),
            columns={
                "device_id": "Device",
                "pid": "Process",
                "metric": "Figure",
                "iteration_count": "Iterations",
                "mean_ns": "Mean",
                "median_ns": "Median",
                "stddev_ns": "Std dev",
                "min_ns": "Min",
                "p95_ns": "95th pct",
                "max_ns": "Max",
                "mean_of_wall_pct": "Of mean wall",
            },
            bar="mean_of_wall_pct",
            chart="iteration_parts",
            chart_sql="""\
SELECT iteration, device_id, part, time_ns / 1e6 AS time_ms, ordinal
FROM (
    UNPIVOT (
        SELECT
            iteration, device_id, compute_union_ns AS compute,
            exposed_communication_ns AS "exposed communication",
            exposed_copy_ns AS "exposed copies", idle_ns AS idle
        FROM iteration_timing
        WHERE iteration IS NOT NULL
    ) ON compute, "exposed communication", "exposed copies", idle
    INTO NAME part VALUE time_ns
)
JOIN (
    VALUES ('compute', 0), ('exposed communication', 1), ('exposed copies', 2),
        ('idle', 3)
) AS parts (part, ordinal) USING (part)
ORDER BY device_id, iteration, ordinal
LIMIT 4000""",
            how=(
                "Compute, exposed time and idle time of each iteration. Work may end "
                "after its iteration does, so that the parts need not add up to the wall."
            ),
            empty="No iteration was found.",
            fold=True,
        ),
    ),
)
