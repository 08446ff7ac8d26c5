-- @title Which thread launches on which device
-- GPU operations by the thread that launched them and the device that ran them: one
-- thread that drives all devices launches on them in turn, and its devices start late.
-- Operations whose call starts in the window; those without a known launch are a row
-- with tid NULL, by their start. A call that launches on several devices counts for
-- each. The stagger of a device in a step is from the first kernel of that step on any
-- device of the run to the first on this one, steps being matched across processes by
-- their number; over the steps that the window holds whole, it is NULL for runs without
-- steps. Steps that are a device's own begin with its work: they have no stagger.
-- @param pattern VARCHAR Annotations that are steps, as in iteration_timing.
-- @param time_window VARCHAR capture, gpu or steps.
-- @param from_ns BIGINT Start of a range, ns since the run's origin.
-- @param to_ns BIGINT End of a range, ns since the run's origin.
-- @column run_id id key The run.
-- @column pid id key Process.
-- @column tid id key Thread; NULL for operations without a known launch.
-- @column device_id id key Device.
-- @column launch_count count neutral Launching calls; NULL without a known launch.
-- @column gpu_op_count count neutral Operations.
-- @column kernel_count count neutral Kernels and whole graph launches among them.
-- @column device_pct pct neutral gpu_op_count over all operations of the device and run
--     in the window.
-- @column call_sum_ns ns lower Sum of the durations of the launching calls.
-- @column first_launch_ns ns neutral First launch, ns since the run's origin.
-- @column last_launch_ns ns neutral Last launch.
-- @column step_count count neutral Steps in which the device ran a kernel.
-- @column mean_stagger_ns ns lower First kernel of the device in a step, after the
--     first of any device: mean over steps.
-- @column max_stagger_ns ns lower The same, largest.
-- @column window_name text neutral capture, gpu, steps or range.
-- @column window_start_ns ns neutral Start of the window, ns since the run's origin.
-- @column window_end_ns ns neutral End of the window, ns since the run's origin.
-- @key run_id, pid, tid, device_id
-- @requires kernel|memcpy|memset|graph_launch Record GPU activity: nsys profile -t cuda
-- @since 0.2
CREATE MACRO launch_threads(
    pattern VARCHAR := NULL,
    time_window VARCHAR := 'capture',
    from_ns BIGINT := NULL,
    to_ns BIGINT := NULL
) AS TABLE
WITH windows AS (
    SELECT run_id, window_name, window_start_ns, window_end_ns
    FROM v1._windows(time_window := time_window, from_ns := from_ns, to_ns := to_ns)
),
calls AS (
    SELECT
        op.run_id, coalesce(api_call.pid, op.pid) AS pid, api_call.tid, op.device_id,
        op.api_call_id, api_call.ts_ns AS launch_ns,
        any_value(CASE WHEN api_call.dur_ns >= 0 THEN api_call.dur_ns END) AS call_ns,
        count(*) AS gpu_op_count,
        count(*) FILTER (op.op_kind IN ('kernel', 'graph')) AS kernel_count
    FROM gpu_op AS op
    LEFT JOIN api_call
        ON op.run_id = api_call.run_id AND op.api_call_id = api_call.api_call_id
    JOIN windows
        ON op.run_id = windows.run_id
        AND coalesce(api_call.ts_ns, op.ts_ns) >= windows.window_start_ns
        AND (
            coalesce(api_call.ts_ns, op.ts_ns) < windows.window_end_ns
            OR coalesce(api_call.ts_ns, op.ts_ns) = windows.window_end_ns
            AND windows.window_name <> 'range'
        )
    GROUP BY
        op.run_id, coalesce(api_call.pid, op.pid), api_call.tid, op.device_id,
        op.api_call_id, api_call.ts_ns
),
totals AS (
    SELECT
        run_id, pid, tid, device_id,
        CASE WHEN count(launch_ns) > 0 THEN count(launch_ns) END AS launch_count,
        CAST(sum(gpu_op_count) AS BIGINT) AS gpu_op_count,
        CAST(sum(kernel_count) AS BIGINT) AS kernel_count,
        CAST(sum(call_ns) AS BIGINT) AS call_sum_ns,
        min(launch_ns) AS first_launch_ns, max(launch_ns) AS last_launch_ns
    FROM calls
    GROUP BY run_id, pid, tid, device_id
),
steps AS (
    SELECT step.run_id, step.pid, step.iteration
    FROM v1._iterations(pattern := pattern) AS step
    JOIN windows
        ON step.run_id = windows.run_id AND step.start_ns >= windows.window_start_ns
        AND step.end_ns <= windows.window_end_ns
    WHERE step.device_id IS NULL
),
firsts AS (
    SELECT op.run_id, op.iteration, op.device_id, min(op.start_ns) AS first_ns
    FROM v1._step_ops(pattern := pattern) AS op
    SEMI JOIN steps
        ON op.run_id = steps.run_id AND op.iteration = steps.iteration
        AND op.step_pid IS NOT DISTINCT FROM steps.pid
    WHERE op.op_kind IN ('kernel', 'graph')
    GROUP BY op.run_id, op.iteration, op.device_id
),
staggers AS (
    SELECT
        run_id, device_id, count(*) AS step_count,
        avg(stagger_ns) AS mean_stagger_ns, max(stagger_ns) AS max_stagger_ns
    FROM (
        SELECT
            run_id, device_id,
            first_ns - min(first_ns) OVER (PARTITION BY run_id, iteration)
                AS stagger_ns
        FROM firsts
    )
    GROUP BY run_id, device_id
)
SELECT
    totals.run_id, totals.pid, totals.tid, totals.device_id, totals.launch_count,
    totals.gpu_op_count, totals.kernel_count,
    100.0 * totals.gpu_op_count / sum(totals.gpu_op_count) OVER (
        PARTITION BY totals.run_id, totals.device_id
    ) AS device_pct,
    totals.call_sum_ns, totals.first_launch_ns, totals.last_launch_ns,
    staggers.step_count, staggers.mean_stagger_ns, staggers.max_stagger_ns,
    windows.window_name, windows.window_start_ns, windows.window_end_ns
FROM totals
JOIN windows ON totals.run_id = windows.run_id
LEFT JOIN staggers
    ON totals.run_id = staggers.run_id
    AND totals.device_id IS NOT DISTINCT FROM staggers.device_id
ORDER BY
    totals.run_id, totals.pid, totals.tid, totals.device_id;
