"""Gaps: when the devices had nothing to do, and between which operations."""

from traceql.report.answers import Ask
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
