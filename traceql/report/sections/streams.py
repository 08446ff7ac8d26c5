"""Streams: what ran where and when, and what ran at once."""

from traceql.report.answers import FOCUS, Ask
from traceql.report.figures import Figure
from traceql.report.sections import Section

SECTION = Section(
    id="streams",
    title="Streams and overlap",
    order=50,
    how=(
        "A stream is process, context and stream of one device. Work that could run at "
        "once stands on different streams; the tables say for how long it did. Overlap "
        "is the time in which both streams were busy, as a share of the less busy one."
    ),
    figures=(
        Figure(
            id="stream-summary",
            title="Streams",
            ask=Ask("stream_summary"),
            columns={
                "device_id": "Device",
                "pid": "Process",
                "context_id": "Context",
                "stream_id": "Stream",
                "runs": "Runs",
                "op_count": "Operations",
                "busy_union_ns": "Busy, union",
                "busy_pct": "Of the capture",
                "idle_between_ns": "Idle between",
                "gap_count": "Gaps",
                "longest_gap_ns": "Longest gap",
            },
            sql="FROM stream_summary ORDER BY busy_union_ns DESC, device_id, pid, "
            "context_id, stream_id",
            bar="busy_pct",
        ),
        Figure(
            id="stream-concurrency",
            title="Streams busy at once",
            ask=Ask("stream_concurrency", {"time_window": FOCUS}),
            columns={
                "device_id": "Device",
                "busy_stream_count": "Busy streams",
                "window_name": "Window",
                "time_ns": "Time",
                "window_pct": "Of the window",
            },
            bar="window_pct",
            chart="concurrency",
            how="How long exactly so many streams of a device were busy.",
        ),
        Figure(
            id="overlap-classes",
            title="What ran at once",
            ask=Ask("overlap_classes", {"time_window": FOCUS}),
            columns={
                "device_id": "Device",
                "classes": "Running",
                "window_name": "Window",
                "time_ns": "Time",
                "window_pct": "Of the window",
            },
            bar="window_pct",
            limit=60,
            chart="overlap_classes",
            chart_sql="""\
SELECT
    device_id, part, sum(time_ns) AS time_ns, sum(window_pct) AS window_pct,
    any_value(ordinal) AS ordinal
FROM (
    SELECT
        device_id, time_ns, window_pct,
        CASE
            WHEN class_count = 0 THEN ('idle', 4)
            WHEN has_compute AND class_count = 1 THEN ('compute alone', 0)
            WHEN has_compute THEN ('compute and others', 1)
            WHEN has_communication THEN ('communication, no compute', 2)
            ELSE ('copies alone', 3)
        END AS named,
        named[1] AS part, named[2] AS ordinal
    FROM overlap_classes
)
GROUP BY device_id, part
ORDER BY device_id, ordinal""",
            how=(
                "Each device's window by the set of classes of work that ran at the "
                "same moment. Communication without compute is exposed. Whole graph "
                "launches count as compute."
            ),
        ),
        Figure(
            id="comm-overlap",
            title="Communication and copies beside compute",
            ask=Ask("comm_overlap", {"time_window": FOCUS}),
            columns={
                "device_id": "Device",
                "compute_union_ns": "Compute",
                "communication_union_ns": "Communication",
                "overlapped_communication_pct": "Of it beside compute",
                "exposed_communication_ns": "Exposed comm.",
                "exposed_communication_pct": "Of the window",
                "copy_union_ns": "Copies",
                "overlapped_copy_pct": "Of them beside kernels",
                "exposed_copy_ns": "Exposed copies",
                "exposed_copy_pct": "Of the window",
            },
            sql="""\
SELECT
    device_id, compute_union_ns, communication_union_ns,
    100 * overlapped_communication_share AS overlapped_communication_pct,
    exposed_communication_ns, exposed_communication_pct, copy_union_ns,
    100 * overlapped_copy_share AS overlapped_copy_pct, exposed_copy_ns,
    exposed_copy_pct
FROM comm_overlap
ORDER BY device_id""",
            units={"overlapped_communication_pct": "pct", "overlapped_copy_pct": "pct"},
            how="Unions on each device; exposed is what nothing hid.",
            fold=True,
        ),
        Figure(
            id="stream-overlap",
            title="Pairs of streams that overlap",
            ask=Ask("stream_overlap", {"time_window": FOCUS}),
            columns={
                "device_id": "Device",
                "a_stream": "Stream a",
                "b_stream": "Stream b",
                "a_busy_ns": "a busy",
                "b_busy_ns": "b busy",
                "overlap_ns": "Overlap",
                "overlap_of_smaller_pct": "Of the less busy",
            },
            sql="""\
SELECT
    device_id,
    concat_ws('/', a_pid, a_context_id, a_stream_id) AS a_stream,
    concat_ws('/', b_pid, b_context_id, b_stream_id) AS b_stream,
    a_busy_ns, b_busy_ns, overlap_ns,
    100 * overlap_of_smaller_share AS overlap_of_smaller_pct
FROM stream_overlap
WHERE overlap_ns > 0
ORDER BY overlap_ns DESC, device_id, a_pid, a_context_id, a_stream_id, b_pid,
    b_context_id, b_stream_id""",
            bar="overlap_of_smaller_pct",
            units={"overlap_of_smaller_pct": "pct"},
            how="A stream is written process/context/stream.",
            empty="No two streams of a device were ever busy at the same time.",
        ),
    ),
)
