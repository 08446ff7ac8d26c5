"""Kernels: which of them take the time."""

from traceql.report.answers import FOCUS, Ask
from traceql.report.figures import Figure
from traceql.report.sections import Section

_NO_BLOCKS = (
    "No kernel states its blocks per SM: torch.profiler on an NVIDIA device does."
)

SECTION = Section(
    id="kernels",
    title="Kernels",
    order=40,
    how=(
        "Kernels by name, the most expensive first. Totals are sums over all devices: "
        "kernels that run at once count each. The mean far above the median says that "
        "a few executions are slow. Point at a name to read it whole."
    ),
    figures=(
        Figure(
            id="kernel-totals",
            title="Kernels by total time",
            ask=Ask("kernel_totals"),
            columns={
                "name": "Kernel",
                "kernel_count": "Executions",
                "total_ns": "Total",
                "sum_pct": "Of kernel time",
                "busy_pct": "Of kernel-busy time",
                "mean_ns": "Mean",
                "median_ns": "Median",
                "min_ns": "Min",
                "max_ns": "Max",
                "stddev_ns": "Std dev",
            },
            bar="sum_pct",
            limit=200,
            chart="kernels",
            chart_sql="""\
SELECT
    row_number() OVER (ORDER BY total_ns DESC, name) AS rank, name, short_name,
    kernel_count, total_ns, sum_pct,
    CASE v1.kernel_class(name) WHEN 'communication' THEN 'communication'
        ELSE 'compute' END AS activity
FROM kernel_totals
ORDER BY rank
LIMIT 15""",
            how="The fifteen with the most time; the table has the others.",
            empty="No kernel was recorded.",
        ),
        Figure(
            id="short-kernels",
            title="Kernels shorter than their launch",
            ask=Ask("short_kernels"),
            columns={
                "name": "Kernel",
                "device_id": "Device",
                "short_count": "Short",
                "judged_count": "Judged",
                "kernel_count": "Executions",
                "of_device_pct": "Of the device's kernels",
                "short_ns": "Their time",
                "mean_ns": "Mean",
                "launch_ns": "Their launches",
            },
            sql="""\
SELECT
    name, device_id, short_count, judged_count, kernel_count,
    100 * of_device_share AS of_device_pct, short_ns, mean_ns, launch_ns
FROM short_kernels
ORDER BY short_count DESC, short_ns DESC, name, device_id""",
            units={"of_device_pct": "pct"},
            bar="of_device_pct",
            limit=50,
            how=(
                "Executions that took no longer than their share of the call that "
                "launched them."
            ),
            empty="No kernel is shorter than its launch.",
            fold=True,
        ),
        Figure(
            id="kernel-classes",
            title="Kernels by class and precision",
            ask=Ask("kernel_class_totals"),
            columns={
                "device_id": "Device",
                "class": "Class",
                "precision": "Precision",
                "kernel_count": "Executions",
                "name_count": "Names",
                "total_ns": "Total",
                "sum_pct": "Of kernel time",
                "mean_ns": "Mean",
                "unknown_class_pct": "Unknown class, in all",
                "top_name": "Most of it",
            },
            bar="sum_pct",
            limit=100,
            chart="kernel_classes",
            chart_sql="""\
SELECT
    class, precision, CAST(sum(total_ns) AS BIGINT) AS time_ns,
    100 * sum(total_ns) / nullif(sum(sum(total_ns)) OVER (), 0) AS sum_pct,
    CAST(sum(sum(total_ns)) OVER (PARTITION BY class) AS BIGINT) AS class_ns,
    precision AS ordinal
FROM kernel_class_totals
GROUP BY class, precision
ORDER BY class_ns DESC, class, precision""",
            how=(
                "By what the names say, with rules kept as data; what no rule knows is "
                "unknown. The precision is that of the operands. The chart adds up "
                "the devices."
            ),
            empty="No kernel was recorded.",
        ),
        Figure(
            id="tensor-cores",
            title="Tensor cores",
            ask=Ask("tensor_core_usage", {"group_by": "op"}),
            columns={
                "label": "Operation",
                "tc_eligible": "Could use them",
                "uses_tc": "Uses them",
                "kernel_count": "Executions",
                "kernel_ns": "Kernel time",
                "tc_ns": "With tensor cores",
                "no_tc_ns": "Without",
                "unknown_tc_ns": "Unknown",
                "utilization_pct": "Utilisation, at least",
                "utilization_max_pct": "At most",
            },
            marked="is_unused",
            sql="""\
SELECT
    coalesce(label, '(kernels without a known operation)') AS label, tc_eligible,
    uses_tc, kernel_count, kernel_ns, tc_ns, no_tc_ns, unknown_tc_ns, utilization_pct,
    utilization_max_pct, tc_eligible = 'yes' AND uses_tc = 'no' AS is_unused
FROM tensor_core_usage
ORDER BY kernel_ns DESC, label""",
            bar="utilization_pct",
            limit=50,
            how=(
                "By operation; marked are those that could use tensor cores and do "
                "not. What the source says counts, else rules by the names of kernels "
                "and operations. Utilisation is of the time of kernels in operations "
                "that could."
            ),
            empty="No kernel was recorded.",
            fold=True,
        ),
        Figure(
            id="precision-mix",
            title="Kernel time by precision",
            ask=Ask("precision_mix"),
            columns={
                "precision": "Precision",
                "kernel_count": "Executions",
                "name_count": "Names",
                "kernel_ns": "Kernel time",
                "kernel_pct": "Of kernel time",
                "by_op_ns": "Told by the operation",
                "tc_ns": "With tensor cores",
                "top_name": "Most of it",
            },
            bar="kernel_pct",
            how=(
                "The precision of the operands: what kernels' names say, else the "
                "types of the operation's inputs. What neither tells is unknown."
            ),
            empty="No kernel was recorded.",
        ),
        Figure(
            id="sm-efficiency",
            title="SM efficiency and occupancy of each device",
            ask=Ask("occupancy", {"time_window": FOCUS}),
            columns={
                "device_id": "Device",
                "sm_efficiency_pct": "SM efficiency",
                "blocks_per_sm": "Blocks per SM, mean",
                "warps_per_sm": "Warps per SM, mean",
                "est_occupancy_pct": "Occupancy, estimated",
                "few_blocks_pct": "Time with fewer blocks than SMs",
                "kernel_count": "Executions",
                "stated_count": "With blocks per SM",
                "window_name": "Window",
            },
            sql="FROM occupancy WHERE stated_count > 0 ORDER BY device_id",
            bar="sm_efficiency_pct",
            how=(
                "SM efficiency is the share of the window's SM time that has work, if "
                "blocks spread evenly; means are weighted by duration."
            ),
            empty=_NO_BLOCKS,
        ),
        Figure(
            id="occupancy",
            title="Occupancy by kernel",
            ask=Ask(
                "occupancy",
                {"time_window": FOCUS, "group_by": "name"},
                "occupancy_by_kernel",
            ),
            columns={
                "name": "Kernel",
                "device_id": "Device",
                "kernel_count": "Executions",
                "kernel_sum_ns": "Kernel time",
                "est_occupancy_pct": "Occupancy, estimated",
                "blocks_per_sm": "Blocks per SM, mean",
                "min_blocks_per_sm": "Least",
                "warps_per_sm": "Warps per SM, mean",
                "few_blocks_ns": "Time with fewer blocks than SMs",
                "few_blocks_pct": "Of its time",
            },
            sql="""\
FROM occupancy_by_kernel
WHERE stated_count > 0
ORDER BY kernel_sum_ns DESC, name, device_id""",
            bar="est_occupancy_pct",
            limit=50,
            how=(
                "Below one block per SM some SMs get none. What the source estimates, "
                "weighted by duration."
            ),
            empty=_NO_BLOCKS,
            fold=True,
        ),
    ),
)
