"""Gaps: when the devices had nothing to do, and between which operations."""

from traceql.report.answers import FOCUS, Ask
from traceql.report.figures import Figure
from traceql.report.sections import Section

SECTION = Section(
    id="gaps",
    title="Idle gaps",
    order=20,
    how=(
        "A gap is time in which nothing of a process ran on a device, between its "
        "first and its last operation there. It waited for the host when the operation"
        " after it was launched only after the gap had begun. Short gaps are left out "
        "of the list, whose query names the least length."
    ),
    figures=(
        Figure(
            id="idle-causes",
            title="Why the devices were idle",
            ask=Ask("idle_breakdown", {"group_by": "host", "time_window": FOCUS}),
            columns={
                "device_id": "Device",
                "cause": "Cause",
                "gap_count": "Gaps",
                "idle_ns": "Idle",
                "idle_pct": "Of idle time",
                "window_pct": "Of the window",
                "host_ns": "Before the launch",
                "longest_gap_ns": "Longest gap",
            },
            sql="""\
SELECT
    device_id, cause, CAST(sum(gap_count) AS BIGINT) AS gap_count,
    CAST(sum(idle_ns) AS BIGINT) AS idle_ns, sum(idle_pct) AS idle_pct,
    sum(window_pct) AS window_pct, CAST(sum(host_ns) AS BIGINT) AS host_ns,
    max(longest_gap_ns) AS longest_gap_ns
FROM idle_breakdown
GROUP BY device_id, cause
ORDER BY device_id, idle_ns DESC, cause""",
            units={
                "gap_count": "count",
                "idle_ns": "ns",
                "idle_pct": "pct",
                "window_pct": "pct",
                "host_ns": "ns",
            },
            bar="idle_pct",
            chart="idle_causes",
            chart_sql="""\
SELECT
    device_id, cause, CAST(sum(idle_ns) AS BIGINT) AS time_ns,
    sum(window_pct) AS window_pct, cause AS ordinal
FROM idle_breakdown
GROUP BY device_id, cause
ORDER BY device_id, time_ns DESC, cause""",
            how=(
                "host: the next operation was launched only after the device had "
                "fallen idle. kernel wait: it had been launched, and the gap is no "
                "longer than 5 µs. other: it had been launched and waited longer, for "
                "another stream, device or copy. unknown launch: the capture does not "
                "hold its call. The causes of a device sum to its idle time."
            ),
            empty="No device was ever idle.",
        ),
        Figure(
            id="idle-host",
            title="What the host did meanwhile",
            ask=Ask("idle_breakdown", {"group_by": "host", "time_window": FOCUS}),
            columns={
                "device_id": "Device",
                "cause": "Cause",
                "annotation": "In annotation",
                "op": "In operation",
                "gap_count": "Gaps",
                "idle_ns": "Idle",
                "idle_pct": "Of idle time",
            },
            sql="""\
FROM idle_breakdown
WHERE annotation IS NOT NULL OR op IS NOT NULL
ORDER BY idle_ns DESC, device_id, cause, start_ns""",
            bar="idle_pct",
            limit=30,
            how=(
                "The innermost annotation and operation that the launching thread was "
                "in at the middle of the gap or, where the host came late, of its part "
                "before the launch."
            ),
            empty="No annotation or operation of a launching thread covers a gap.",
        ),
        Figure(
            id="time-util",
            title="Stretches of little use",
            ask=Ask("gpu_time_util"),
            columns={
                "device_id": "Device",
                "pid": "Process",
                "start_ns": "Start",
                "length_ns": "Length",
                "chunk_count": "Chunks",
                "busy_pct": "In use, union",
                "busy_sum_with_overlaps_pct": "In use, sum",
            },
            sql="FROM gpu_time_util "
            "ORDER BY busy_sum_with_overlaps_pct, start_ns, pid, device_id",
            bar="busy_pct",
            limit=50,
            how=(
                "The time from a process's first operation on a device to its last, in "
                "thirty parts, of which those with operations for less than half are "
                "listed, neighbours as one."
            ),
            empty="No thirtieth was in use for less than half.",
            fold=True,
        ),
        Figure(
            id="gap-list",
            title="The longest gaps",
            ask=Ask("gpu_gaps", {"min_ns": 10_000}),
            columns={
                "device_id": "Device",
                "pid": "Process",
                "into_capture_ns": "Into the capture",
                "gap_ns": "Length",
                "waited_for": "Waited for",
                "before_name": "After",
                "after_name": "Before",
                "launch_after_ns": "Launched, into the gap",
            },
            sql="""\
SELECT
    device_id, pid,
    start_ns - (SELECT window_start_ns FROM run_summary) AS into_capture_ns, gap_ns,
    CASE is_host_bound WHEN true THEN 'the host' WHEN false THEN 'other'
        ELSE 'unknown' END AS waited_for,
    before_name, after_name, after_launch_ns - start_ns AS launch_after_ns
FROM gpu_gaps
ORDER BY gap_ns DESC, device_id, pid, start_ns""",
            limit=50,
            units={"launch_after_ns": "ns", "into_capture_ns": "ns"},
            also=(Ask("run_summary"),),
            empty="No gap is longer than 10 µs.",
        ),
    ),
)
