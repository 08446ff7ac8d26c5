"""Steps: every moment of a step given to one kind of work, and the wait for input."""

from traceql.report.answers import Ask
from traceql.report.figures import Figure
from traceql.report.sections import Section

SECTION = Section(
    id="steps",
    title="Step breakdown",
    order=35,
    how=(
        "Each moment of an iteration goes to the first kind of work that runs at it, "
        "in this order: kernels, copies, fills, communication, calls of the GPU's "
        "runtime, waiting for input, framework operations; what is left is other. So "
        "the parts add up to the iteration, and host time shows only where no GPU "
        "work hides it. A capture without iterations is one step."
    ),
    figures=(
        Figure(
            id="step-breakdown",
            title="Where the steps' time goes",
            ask=Ask("step_breakdown"),
            columns={
                "pid": "Process",
                "part": "Part",
                "step_count": "Steps",
                "of_steps_pct": "Of step time",
                "mean_ns": "Mean",
                "median_ns": "Median",
                "min_ns": "Min",
                "max_ns": "Max",
            },
            sql="""\
SELECT
    pid, part, count(*) AS step_count,
    100.0 * sum(time_ns) / nullif(sum(step_ns), 0) AS of_steps_pct,
    avg(time_ns) AS mean_ns, median(time_ns) AS median_ns, min(time_ns) AS min_ns,
    max(time_ns) AS max_ns
FROM step_breakdown
GROUP BY pid, part, priority
ORDER BY pid, priority""",
            units={
                "step_count": "count",
                "of_steps_pct": "pct",
                "mean_ns": "ns",
                "median_ns": "ns",
                "min_ns": "ns",
                "max_ns": "ns",
            },
            bar="of_steps_pct",
            chart="step_breakdown",
            chart_sql="""\
SELECT
    iteration,
    coalesce('device ' || device_id, 'process ' || pid, 'unknown process') AS process,
    CASE part
        WHEN 'memcpy' THEN 'copies' WHEN 'memset' THEN 'fills'
        WHEN 'data_loader' THEN 'waiting for input' WHEN 'cpu_op' THEN 'operations'
        WHEN 'runtime' THEN 'GPU runtime' WHEN 'kernel' THEN 'kernels' ELSE part
    END AS part,
    time_ns / 1e6 AS time_ms, step_pct, priority AS ordinal
FROM step_breakdown
QUALIFY iteration % (
    1 + greatest(max(iteration) OVER () // 200, count(*) OVER () // 3000)
) = 0
ORDER BY process, iteration, ordinal
LIMIT 3200""",
            how="The parts of each step; the table has their means over the steps.",
            empty="The capture has no time to break down.",
        ),
        Figure(
            id="input-pipeline",
            title="Waiting for input",
            ask=Ask("input_pipeline"),
            columns={
                "iteration": "Step",
                "name": "Name",
                "pid": "Process",
                "step_ns": "Step time",
                "wait_ns": "Waits for input",
                "wait_pct": "Of the step",
                "exposed_wait_ns": "GPU idle meanwhile",
                "exposed_wait_pct": "Of the step",
                "read_ns": "Reading",
                "preprocess_ns": "Preprocessing",
                "other_input_ns": "Neither",
            },
            sql="""\
FROM input_pipeline
WHERE wait_ns IS NOT NULL
ORDER BY exposed_wait_ns DESC, pid, device_id, iteration""",
            bar="exposed_wait_pct",
            limit=50,
            how=(
                "The steps with the longest wait that no GPU work hides come first: "
                "only that wait cost time."
            ),
            empty=(
                "No range tells of waiting for input: PyTorch's data loader is named "
                "by its profiler; elsewhere draw an NVTX range “load data”."
            ),
            fold=True,
        ),
    ),
)
