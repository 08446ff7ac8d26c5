"""Operations: what the framework's operations cost on host and device."""

from traceql.report.answers import Ask
from traceql.report.figures import Figure
from traceql.report.sections import Section

SECTION = Section(
    id="ops",
    title="Framework operations",
    order=45,
    how=(
        "Self time on the host is without nested operations and without the GPU API "
        "calls that an operation makes. Device time is the sum of the GPU work that "
        "was launched from it, whenever that ran: what overlaps counts each. An "
        "operation that needs more of the host than of the device keeps the device "
        "waiting, unless the host runs ahead."
    ),
    figures=(
        Figure(
            id="op-summary",
            title="Operations by self time on host and device",
            ask=Ask("op_summary"),
            columns={
                "label": "Operation",
                "call_count": "Calls",
                "host_self_ns": "Host, self",
                "host_self_pct": "Of host self",
                "api_self_ns": "In API calls",
                "host_sum_ns": "Host, with nested",
                "host_mean_ns": "Host, mean",
                "device_self_ns": "Device, self",
                "device_self_pct": "Of device self",
                "device_sum_ns": "Device, with nested",
                "gpu_op_count": "GPU ops",
            },
            sql="""\
FROM op_summary
ORDER BY host_self_ns + device_self_ns DESC, label""",
            bar="device_self_pct",
            limit=200,
            chart="ops",
            chart_sql="""\
SELECT rank, label, call_count, placement, time_ns / 1e6 AS time_ms
FROM (
    UNPIVOT (
        SELECT
            row_number() OVER (ORDER BY host_self_ns + device_self_ns DESC, label)
                AS rank,
            label, call_count, host_self_ns AS host, device_self_ns AS device
        FROM op_summary
        WHERE label IS NOT NULL
        QUALIFY rank <= 15
    ) ON host, device INTO NAME placement VALUE time_ns
)
ORDER BY rank, placement""",
            how="The fifteen with the most self time; the table has the others.",
        ),
        Figure(
            id="op-placement",
            title="Operations on host and device",
            ask=Ask("op_placement"),
            columns={
                "placement": "Where",
                "op_count": "Operations",
                "op_pct": "Of all",
                "name_count": "Names",
                "host_self_ns": "Host, self",
                "host_self_pct": "Of host self",
                "api_self_ns": "In API calls",
                "device_self_ns": "Device, self",
                "gpu_op_count": "GPU ops",
            },
            bar="op_pct",
            how=(
                "On the device: it launched GPU work itself; nested: only operations "
                "within it did; on the host: nothing within it did."
            ),
        ),
        Figure(
            id="op-phases",
            title="Forward, backward, optimizer",
            ask=Ask("op_overhead", {"group_by": "phase"}, "op_phases"),
            columns={
                "phase": "Phase",
                "op_count": "Outermost operations",
                "host_sum_ns": "Host",
                "api_ns": "In API calls",
                "overhead_ns": "Beside them",
                "overhead_pct": "Of host",
                "device_sum_ns": "Device, sum",
                "gpu_idle_ns": "GPU idle meanwhile",
                "gpu_idle_pct": "Of host",
            },
            bar="gpu_idle_pct",
            how="What the outermost operations of each part of the training step take.",
        ),
    ),
)
