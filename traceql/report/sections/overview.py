"""Overview: how busy each device was, with the denominator of every share."""

from traceql.report.answers import FOCUS, Ask
from traceql.report.figures import Figure
from traceql.report.sections import Section

UTILISATION = Ask("gpu_utilization", {"time_window": FOCUS}, "focus_utilization")

SECTION = Section(
    id="overview",
    title="Overview",
    order=10,
    how=(
        "Busy time is a union: two kernels at once count once, so a share never passes"
        " 100 %. Sums count each kernel and stand in columns of their own. Shares are "
        "of the window that the table names: the iterations where the capture has "
        "some, else the time from the first GPU operation to the last."
    ),
    figures=(
        Figure(
            id="capture",
            title="The capture in figures",
            ask=Ask("run_summary"),
            columns={
                "kernel_count": "Kernels",
                "kernel_sum_ns": "Kernels, sum",
                "gpu_busy_ns": "GPU busy, union",
                "device_window_ns": "Window × devices",
                "gpu_busy_pct": "GPU busy",
                "compute_pct": "Compute",
                "exposed_communication_pct": "Exposed communication",
                "exposed_copy_pct": "Exposed copies",
                "idle_pct": "Idle",
                "memcpy_count": "Copies",
                "memset_count": "Fills",
                "api_call_count": "API calls",
                "annotation_count": "Annotations",
            },
            tiles=True,
            how="The whole capture, set-up included; all devices that ran anything.",
        ),
        Figure(
            id="utilisation",
            title="How busy each device was",
            ask=UTILISATION,
            columns={
                "device_id": "Device",
                "window_name": "Window",
                "bin_ns": "Window length",
                "kernel_union_ns": "Kernels, union",
                "kernel_pct": "Kernels",
                "busy_union_ns": "Busy, union",
                "busy_pct": "Busy",
                "idle_ns": "Idle",
                "kernel_sum_ns": "Kernels, sum",
                "communication_pct": "Communication",
                "copy_pct": "Copies",
            },
            bar="busy_pct",
            chart="utilisation",
            chart_sql="""\
SELECT device_id, bin_ns, part, time_ns, 100 * time_ns / bin_ns AS window_pct, ordinal
FROM (
    UNPIVOT (
        SELECT
            device_id, bin_ns, kernel_union_ns AS kernels,
            busy_union_ns - kernel_union_ns AS "copies, no kernel", idle_ns AS idle
        FROM focus_utilization
    ) ON kernels, "copies, no kernel", idle INTO NAME part VALUE time_ns
)
JOIN (
    VALUES ('kernels', 0), ('copies, no kernel', 1), ('idle', 2)
) AS parts (part, ordinal) USING (part)
ORDER BY device_id, ordinal""",
            how=(
                "Each device's window, parted without overlap. A listed device that "
                "ran nothing has no row: whether it was idle or not recorded is "
                "unknown."
            ),
        ),
    ),
    asks=(
        Ask(
            "run_summary",
            {"time_window": FOCUS},
            "focus_summary",
            columns=(
                *("run_id", "device_count", "window_name", "window_start_ns"),
                *("window_end_ns", "exposed_communication_pct", "exposed_copy_pct"),
                "idle_pct",
            ),
        ),
    ),
)
