-- @title Time window of each run
-- The window that a query measures in: one row per run that has one. A bound that is
-- given makes it a range; the bound that is not given is the capture's.
-- @param time_window VARCHAR capture (the whole capture), gpu (first start to last
--     end of the run's GPU operations) or steps (first start to last end of its
--     iterations, as far as the capture reaches; where these are devices' own, the
--     time in which each of the devices is in its, which may be none).
-- @param from_ns BIGINT Start of a range, ns since the run's origin.
-- @param to_ns BIGINT End of a range, ns since the run's origin.
-- @column run_id id key The run.
-- @column window_name text neutral capture, gpu, steps or range.
-- @column window_start_ns ns neutral Start, ns since the run's origin.
-- @column window_end_ns ns neutral End, ns since the run's origin.
-- @key run_id
-- @since 0.1
CREATE MACRO _windows(
    time_window VARCHAR := 'capture', from_ns BIGINT := NULL, to_ns BIGINT := NULL
) AS TABLE
WITH choice AS (
    SELECT CASE
        WHEN from_ns >= to_ns THEN error('to_ns must be greater than from_ns')
        WHEN coalesce(from_ns, to_ns) IS NOT NULL THEN 'range'
        WHEN time_window IN ('capture', 'gpu', 'steps') THEN time_window
        ELSE error('time_window must be capture, gpu or steps')
    END AS window_name
),
capture AS (
    SELECT
        run.run_id,
        coalesce(from_ns, run.first_ts_ns) AS start_ns,
        coalesce(to_ns, run.first_ts_ns + run.span_ns) AS end_ns
    FROM run
    WHERE time_window = 'capture' OR coalesce(from_ns, to_ns) IS NOT NULL
),
gpu AS (
    SELECT
        gpu_op.run_id,
        min(gpu_op.ts_ns) AS start_ns,
        max(gpu_op.ts_ns + gpu_op.dur_ns) AS end_ns
    FROM gpu_op
    WHERE time_window = 'gpu'
        AND coalesce(from_ns, to_ns) IS NULL
        AND gpu_op.dur_ns >= 0
    GROUP BY gpu_op.run_id
),
steps AS (
    SELECT
        stepping.run_id,
        greatest(any_value(run.first_ts_ns), coalesce(
            min(stepping.start_ns) FILTER (stepping.device_id IS NULL),
            max(stepping.start_ns)
        )) AS start_ns,
        least(any_value(run.first_ts_ns + run.span_ns), coalesce(
            max(stepping.end_ns) FILTER (stepping.device_id IS NULL),
            min(stepping.end_ns)
        )) AS end_ns
    FROM (
        SELECT
            step.run_id, step.device_id, min(step.start_ns) AS start_ns,
            max(step.end_ns) AS end_ns
        FROM v1._iterations(pattern := NULL) AS step
        WHERE time_window = 'steps' AND coalesce(from_ns, to_ns) IS NULL
        GROUP BY step.run_id, step.device_id
    ) AS stepping
    LEFT JOIN run ON stepping.run_id = run.run_id
    GROUP BY stepping.run_id
),
bounds AS (
    SELECT capture.run_id, capture.start_ns, capture.end_ns FROM capture
    UNION ALL
    SELECT gpu.run_id, gpu.start_ns, gpu.end_ns FROM gpu
    UNION ALL
    SELECT steps.run_id, steps.start_ns, steps.end_ns FROM steps
)
SELECT
    bounds.run_id,
    choice.window_name,
    bounds.start_ns AS window_start_ns,
    bounds.end_ns AS window_end_ns
FROM choice
LEFT JOIN bounds ON bounds.end_ns > bounds.start_ns
WHERE bounds.run_id IS NOT NULL
ORDER BY bounds.run_id;
