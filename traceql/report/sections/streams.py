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
