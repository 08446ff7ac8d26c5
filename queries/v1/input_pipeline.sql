-- @title Waiting for input
-- For each step how long the host waited for input, and how much of that the GPU was
-- idle: only then did the wait cost time. Waits are known by their names: PyTorch's
-- data loader, TensorFlow's IteratorGetNext, ranges called "load data" and the like;
-- so are reading (TFRecord and other file iterators) and preprocessing (other
-- iterators, decoding, collating), which may run on threads of their own beside the
-- step. Every time is a union over the threads of the step's process, clipped to the
-- step; the GPU works when any device runs something of the process, in a device's own
-- step when that device does. A run without
-- iterations is one step: its capture. Where no range tells of input, times are NULL.
-- @param pattern VARCHAR Regular expression to find in the names of annotations that
--     are iterations; NULL for the source's own, else names such as "iteration 7".
-- @column run_id id key The run.
-- @column pid id key Process of the step; NULL where the source does not say it.
-- @column device_id id key Device whose own step it is; NULL for a step of the host,
--     which covers all devices of its process.
-- @column iteration id key Ordinal by time in the process, or on that device, from 0.
-- @column name text neutral Name of the step.
-- @column source text neutral profiler_step, annotation, detected, ...; capture for a
--     run without iterations.
-- @column start_ns ns neutral Start of the step, ns since the run's origin.
-- @column step_ns ns lower Time of the step: the denominator.
-- @column wait_ns ns lower Waiting for input.
-- @column wait_pct pct lower That time, of the step.
-- @column exposed_wait_ns ns lower Waiting for input while no GPU work ran.
-- @column exposed_wait_pct pct lower That time, of the step.
-- @column read_ns ns neutral Reading input.
-- @column preprocess_ns ns neutral Preprocessing input and not reading it.
-- @column other_input_ns ns neutral Waiting and neither reading nor preprocessing: for
--     workers in other processes, copies, or what is not recorded.
-- @column busy_ns ns neutral Time of the step with GPU work.
-- @key run_id, pid, device_id, iteration
-- @chart line x=iteration y=exposed_wait_ns
-- @requires op|annotation|slice Record host ranges: torch.profiler with
--     ProfilerActivity.CPU, the TensorFlow profiler, or an NVTX range "load data".
-- @since 0.2
CREATE MACRO input_pipeline(pattern VARCHAR := NULL) AS TABLE
WITH measured AS (
    SELECT
        run_id, pid, device_id, iteration,
        sum(time_ns) FILTER (mask & 2 > 0) AS wait_ns,
        sum(time_ns) FILTER (mask & 3 = 2) AS exposed_wait_ns,
        sum(time_ns) FILTER (mask & 4 > 0) AS read_ns,
        sum(time_ns) FILTER (mask & 12 = 8) AS preprocess_ns,
        sum(time_ns) FILTER (mask & 14 = 2) AS other_input_ns,
        sum(time_ns) FILTER (mask & 1 > 0) AS busy_ns
    FROM v1._step_masks(mode := 'input', pattern := pattern)
    GROUP BY run_id, pid, device_id, iteration
),
-- A run in which nothing at all waits or works for input has not recorded it.
telling AS (
    SELECT run_id
    FROM v1._breakdown_work(mode := 'input')
    WHERE role > 0
    GROUP BY run_id
),
filled AS (
    SELECT
        steps.run_id, steps.pid, steps.device_id, steps.iteration, steps.name,
        steps.source, steps.start_ns, steps.end_ns - steps.start_ns AS step_ns,
        telling.run_id IS NOT NULL AS is_told,
        CAST(coalesce(measured.wait_ns, 0) AS BIGINT) AS wait_ns,
        CAST(coalesce(measured.exposed_wait_ns, 0) AS BIGINT) AS exposed_wait_ns,
        CAST(coalesce(measured.read_ns, 0) AS BIGINT) AS read_ns,
        CAST(coalesce(measured.preprocess_ns, 0) AS BIGINT) AS preprocess_ns,
        CAST(coalesce(measured.other_input_ns, 0) AS BIGINT) AS other_input_ns,
        CAST(coalesce(measured.busy_ns, 0) AS BIGINT) AS busy_ns
    FROM v1._breakdown_steps(mode := 'input', pattern := pattern) AS steps
    LEFT JOIN telling ON steps.run_id = telling.run_id
    LEFT JOIN measured
        ON steps.run_id = measured.run_id
        AND steps.pid IS NOT DISTINCT FROM measured.pid
        AND steps.device_id IS NOT DISTINCT FROM measured.device_id
        AND steps.iteration = measured.iteration
)
SELECT
    run_id, pid, device_id, iteration, name, source, start_ns, step_ns,
    CASE WHEN is_told THEN wait_ns END AS wait_ns,
    CASE WHEN is_told THEN 100.0 * wait_ns / nullif(step_ns, 0) END AS wait_pct,
    CASE WHEN is_told THEN exposed_wait_ns END AS exposed_wait_ns,
    CASE WHEN is_told THEN 100.0 * exposed_wait_ns / nullif(step_ns, 0) END
        AS exposed_wait_pct,
    CASE WHEN is_told THEN read_ns END AS read_ns,
    CASE WHEN is_told THEN preprocess_ns END AS preprocess_ns,
    CASE WHEN is_told THEN other_input_ns END AS other_input_ns,
    CASE WHEN is_told THEN busy_ns END AS busy_ns
FROM filled
ORDER BY run_id, pid, device_id, iteration;
