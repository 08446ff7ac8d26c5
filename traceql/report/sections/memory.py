"""Memory: what the allocator handed out, when it was most, and to whom."""

from traceql.report.answers import Ask
from traceql.report.figures import Figure
from traceql.report.sections import Section

_BINS = 250  # points of a line that a screen can show

SECTION = Section(
    id="memory",
    title="Memory",
    order=65,
    how=(
        "Allocated and reserved are the totals that the source states after each "
        "allocation and free. Net is what those of the capture add up to: memory "
        "that was allocated before the capture is not in it."
    ),
    figures=(
        Figure(
            id="memory-peak",
            title="Peak memory",
            ask=Ask("memory_peak"),
            columns={
                "device_id": "Device",
                "kind": "Kind",
                "pid": "Process",
                "peak_allocated_bytes": "Allocated",
                "peak_reserved_bytes": "Reserved",
                "peak_net_bytes": "Net",
                "peak_ts_ns": "When",
                "peak_op": "Operation",
                "capacity_bytes": "Device has",
                "peak_of_capacity_pct": "Of it",
                "allocation_count": "Allocations",
                "free_count": "Frees",
            },
            bar="peak_of_capacity_pct",
            how="A row without a device is the host's memory.",
        ),
        Figure(
            id="memory-timeline",
            title="Memory over time",
            ask=Ask("memory_timeline", {"bins": _BINS}),
            columns={
                "device_id": "Device",
                "kind": "Kind",
                "pid": "Process",
                "ts_ns": "Time",
                "event_count": "Events",
                "allocated_bytes": "Allocated",
                "peak_allocated_bytes": "Most until then",
                "reserved_bytes": "Reserved",
                "net_bytes": "Net",
            },
            limit=500,
            chart="memory",
            chart_sql="""\
SELECT lane, ts_ns / 1e6 AS time_ms, series, bytes / 1048576 AS mib
FROM (
    UNPIVOT (
        SELECT
            concat_ws(
                ' ', coalesce('device ' || device_id, 'host'), nullif(kind, 'device'),
                CASE WHEN count(DISTINCT pid) OVER () > 1 THEN 'process ' || pid END
            ) AS lane,
            ts_ns, peak_allocated_bytes AS allocated,
            peak_reserved_bytes AS reserved,
            -- Where the source states its own total, net says nothing more.
            CASE WHEN peak_allocated_bytes IS NULL THEN peak_net_bytes END AS net
        FROM memory_timeline
    ) ON allocated, reserved, net INTO NAME series VALUE bytes
)
ORDER BY lane, series, ts_ns
LIMIT 6000""",
            how="The most in each of 250 stretches of the capture.",
            fold=True,
        ),
        Figure(
            id="memory-by-op",
            title="Memory by operation",
            ask=Ask("memory_by_op"),
            columns={
                "name": "Operation",
                "device_id": "Device",
                "kind": "Kind",
                "op_count": "Operations",
                "self_allocation_bytes": "Allocated, self",
                "self_allocation_count": "Allocations, self",
                "self_increase_bytes": "Kept, self",
                "allocation_bytes": "Allocated, with nested",
                "increase_bytes": "Kept, with nested",
            },
            sql="""\
FROM memory_by_op
ORDER BY device_id IS NULL, self_allocation_bytes DESC, name, device_id, kind""",
            limit=100,
            how=(
                "Kept is what was allocated less what was freed. A row without an "
                "operation is what happened outside of all."
            ),
        ),
    ),
)
