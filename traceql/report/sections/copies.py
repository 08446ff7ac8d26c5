"""Copies: how many bytes went which way, how fast, and what no kernel hid."""

from traceql.report.answers import Ask
from traceql.report.figures import Figure
from traceql.report.sections import Section

SECTION = Section(
    id="copies",
    title="Copies and fills",
    order=60,
    how=(
        "H2D goes from host to device, D2H back, D2D within a device, P2P between two."
        " Throughput is the sum of bytes over the sum of time. Exposed time is time in"
        " which no kernel ran on the device meanwhile: the part that a run waits for. "
        "Copies of pageable memory go through a buffer of the driver and do not "
        "overlap."
    ),
    figures=(
        Figure(
            id="copies-by-direction",
            title="Copies and fills by direction",
            ask=Ask("memcpy_summary"),
            columns={
                "kind": "Direction",
                "copy_count": "Copies",
                "total_bytes": "Bytes",
                "total_ns": "Time, sum",
                "throughput_gb_per_s": "Throughput",
                "exposed_ns": "Exposed",
                "exposed_pct": "Of their time",
                "pageable_pct": "Pageable bytes",
                "median_bytes": "Median size",
                "max_bytes": "Largest",
                "max_ns": "Longest",
            },
            bar="exposed_pct",
            chart="copies",
        ),
        Figure(
            id="copies-by-memory",
            title="Copies and fills by kind of memory",
            ask=Ask(
                "memcpy_summary",
                {"group_by": "memory", "with_exposed": False},
                "memcpy_by_memory",
            ),
            columns={
                "kind": "Direction",
                "src_memory": "From",
                "dst_memory": "To",
                "copy_count": "Copies",
                "total_bytes": "Bytes",
                "total_ns": "Time, sum",
                "throughput_gb_per_s": "Throughput",
            },
        ),
        Figure(
            id="copies-per-iteration",
            title="Copies that every iteration makes",
            ask=Ask("memcpy_per_iteration"),
            columns={
                "device_id": "Device",
                "direction": "Direction",
                "iteration_count": "Iterations",
                "copies_each": "Copies, median",
                "copy_bytes": "Bytes, median",
                "max_copy_bytes": "Bytes, most",
                "copy_sum_ns": "Time, median",
                "max_copy_sum_ns": "Time, most",
                "is_same": "Same each time",
            },
            sql="""\
SELECT
    device_id, direction, count(*) AS iteration_count,
    median(copy_count) AS copies_each,
    median(copy_bytes) AS copy_bytes, max(copy_bytes) AS max_copy_bytes,
    median(copy_sum_ns) AS copy_sum_ns, max(copy_sum_ns) AS max_copy_sum_ns,
    CASE WHEN bool_and(same_in_every_iteration) THEN 'yes' ELSE 'no' END AS is_same
FROM memcpy_per_iteration
WHERE iteration IS NOT NULL
GROUP BY device_id, direction
ORDER BY copy_sum_ns DESC, device_id, direction""",
            how="What is copied again and again in one size may need no copy at all.",
            empty="No iteration launched a copy.",
            units={"max_copy_bytes": "bytes", "max_copy_sum_ns": "ns"},
        ),
    ),
)
