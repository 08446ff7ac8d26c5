"""Iterations: how long each took, and where its time went."""

from traceql.report.answers import Ask
from traceql.report.figures import Figure
from traceql.report.sections import Section

_NONE = (
    "No iteration is marked in this capture, and none was detected. Draw NVTX ranges "
    "named “iteration 7”, or say how yours are named: "
    "traceql query iteration_timing -p pattern='^my_step'"
)
_TIMING = Ask("iteration_timing", {"with_launch_count": False})

SECTION = Section(
    id="iterations",
    title="Iterations",
    order=30,
    how=(
        "An iteration owns the GPU work that it launched, whenever that ran; a step "
        "that the source states for one device owns what began there in it. Marked "
        "ones are slow: more than 1.05 times the median wall time and more than three "
        "robust deviations above it, where there are five or more. Idle is wall time "
        "in which nothing ran on the device. The row without a number is work that no "
        "iteration launched."
    ),
    figures=(
        Figure(
            id="iteration-timing",
            title="Iterations",
            ask=_TIMING,
            columns={
                "iteration": "Iteration",
                "name": "Name",
                "source": "Source",
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
            },
            sql="""\
FROM iteration_timing
WHERE EXISTS (FROM iteration_timing WHERE iteration IS NOT NULL)
ORDER BY is_outlier IS TRUE DESC, iteration IS NULL, pid, iteration, device_id""",
            marked="is_outlier",
            bar="idle_pct",
            limit=200,
            chart="iterations",
            chart_sql="""\
SELECT
    pid, iteration, coalesce(any_value(name), 'iteration ' || iteration) AS name,
    wall_ns / 1e6 AS wall_ms,
    any_value(wall_ns / wall_to_median_ratio) / 1e6 AS median_ms,
    CASE WHEN bool_or(is_outlier) THEN 'slow' ELSE 'usual' END AS pace
FROM iteration_timing
WHERE iteration IS NOT NULL
GROUP BY pid, iteration, start_ns, wall_ns
QUALIFY iteration % (1 + count(*) OVER () // 1000) = 0 OR pace = 'slow'
ORDER BY pid, iteration, start_ns, wall_ns
LIMIT 2000""",
            how="Wall time of each iteration on the host, against the median.",
            empty=_NONE,
        ),
        Figure(
            id="iteration-parts",
            title="Where the mean iteration goes",
            ask=_TIMING,
            columns={
                "device_id": "Device",
                "pid": "Process",
                "part": "Part",
                "iteration_count": "Iterations",
                "mean_ns": "Mean",
                "median_ns": "Median",
                "p95_ns": "95th percentile",
                "max_ns": "Max",
                "of_wall_pct": "Of mean wall",
            },
            sql="""\
SELECT
    device_id, pid, part, count(*) AS iteration_count, avg(time_ns) AS mean_ns,
    median(time_ns) AS median_ns, quantile_cont(time_ns, 0.95) AS p95_ns,
    max(time_ns) AS max_ns, 100 * avg(time_ns) / avg(wall) AS of_wall_pct
FROM (
    UNPIVOT (
        SELECT
            device_id, pid, wall_ns AS wall, wall_ns AS "wall time",
            compute_union_ns AS compute, communication_union_ns AS communication,
            exposed_communication_ns AS "exposed communication",
            copy_union_ns AS copies, exposed_copy_ns AS "exposed copies",
            idle_ns AS idle, gap_before_ns AS "gap before"
        FROM iteration_timing
        WHERE iteration IS NOT NULL
    ) ON "wall time", compute, communication, "exposed communication", copies,
        "exposed copies", idle, "gap before"
    INTO NAME part VALUE time_ns
)
GROUP BY device_id, pid, part
ORDER BY device_id, pid, mean_ns DESC, part""",
            units={
                "mean_ns": "ns",
                "median_ns": "ns",
                "p95_ns": "ns",
                "max_ns": "ns",
                "of_wall_pct": "pct",
            },
            bar="of_wall_pct",
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
        QUALIFY iteration % (
            1 + greatest(max(iteration) OVER () // 200, count(*) OVER () // 700)
        ) = 0
    ) ON compute, "exposed communication", "exposed copies", idle
    INTO NAME part VALUE time_ns
)
JOIN (
    VALUES ('compute', 0), ('exposed communication', 1), ('exposed copies', 2),
        ('idle', 3)
) AS parts (part, ordinal) USING (part)
ORDER BY device_id, iteration, ordinal
LIMIT 3200""",
            how=(
                "Compute, exposed time and idle time of each iteration. Work may end "
                "after its iteration does, so that the parts need not add up to the "
                "wall."
            ),
            empty=_NONE,
            fold=True,
        ),
        Figure(
            id="steady-range",
            title="Where the run is steady",
            ask=Ask("steady_range"),
            columns={
                "pid": "Process",
                "device_id": "Device",
                "is_steady": "Steady",
                "first_iteration": "From",
                "last_iteration": "To",
                "iteration_count": "Iterations",
                "warmup_count": "Warm-up",
                "steady_count": "In the range",
                "off_level_count": "Off the level",
                "level_ns": "Level",
                "tolerance_ns": "Tolerance",
                "median_ns": "Median",
                "variation_pct": "Variation",
                "warmup_excess_ns": "Warm-up beyond level",
            },
            how=(
                "The level is the median of the later half. The range begins with the "
                "first three iterations in a row that are within the tolerance of it, "
                "and ends with the last three. Variation is the standard deviation "
                "over the mean, in the range. A row names a device where steps are its "
                "own."
            ),
            empty=_NONE,
            fold=True,
        ),
        Figure(
            id="iteration-gaps",
            title="Between iterations",
            ask=Ask("iteration_gaps"),
            columns={
                "iteration": "Before iteration",
                "pid": "Process",
                "device_id": "Device",
                "gap_ns": "Gap",
                "idle_ns": "Idle of it",
                "to_launch_ns": "To the first launch",
                "launch_to_start_ns": "Launch to start",
                "is_host_bound": "Waited for the host",
                "annotation": "Host in annotation",
                "op": "Host in operation",
            },
            sql="FROM iteration_gaps ORDER BY gap_ns DESC, pid, iteration, device_id",
            limit=50,
            how=(
                "From the last end of an iteration's GPU work to the first start of "
                "the next one's, the longest first; negative where they overlap."
            ),
            empty=(
                "No device has work of two iterations of one process, so there is no "
                "gap between any."
            ),
            fold=True,
        ),
        Figure(
            id="iteration-detection",
            title="Iterations detected in the launches",
            ask=Ask("iteration_detection"),
            columns={
                "pid": "Process",
                "device_id": "Device",
                "is_detected": "Detected",
                "confidence_share": "Confidence",
                "abstained_because": "Why not",
                "iteration_count": "Iterations",
                "period_launch_count": "Launches each",
                "period_kind_count": "Kinds",
                "repeat_share": "Alike",
                "covered_share": "Of launches",
                "other_launch_count": "Other launches",
                "launch_count": "Launches",
                "unlaunched_count": "Without launch",
            },
            how=(
                "Looked for only where the capture marks no iteration: launches that "
                "repeat in the same order. Below a confidence of 0.6 nothing is taken "
                "for an iteration."
            ),
            empty="The capture marks its iterations.",
            fold=True,
        ),
    ),
)
