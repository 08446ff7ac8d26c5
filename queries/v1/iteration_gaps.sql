-- @title Gaps between iterations
-- For each iteration and device, the time from the last end of the GPU work of the
-- latest earlier iteration with work there to the first start of its own, and what the
-- host did with it. An iteration owns what it launched, or what ran in a device's own
-- step, as in iteration_timing; the first one on a device has no gap and no row.
-- Negative where two overlap.
-- gap_ns = to_launch_ns + launch_to_start_ns where the launch is known: of several
-- operations that start first, that of the call with the lowest id. What the host was
-- in is the innermost annotation, or op, of the launching thread at the middle of the
-- time before the launch, or of the gap where the launch had come before it; NULL where
-- the iterations overlap.
-- @param pattern VARCHAR As in iteration_timing.
-- @column run_id id key The run.
-- @column pid id key Process of the iteration; NULL where the source does not say it.
-- @column iteration id key The iteration after the gap, as in iteration_timing.
-- @column device_id id key Device.
-- @column before_iteration id neutral The iteration before the gap.
-- @column source text neutral Where iterations come from: profiler_step, tf_step,
--     dlprof, ..., annotation, detected.
-- @column start_ns ns neutral Last end of the one before, ns since the run's origin.
-- @column end_ns ns neutral First start of this one.
-- @column gap_ns ns lower From one to the other.
-- @column other_work_ns ns neutral Time of the gap in which something ran on the device
--     all the same (union); NULL where the iterations overlap.
-- @column idle_ns ns lower Time of the gap in which nothing did.
-- @column to_iteration_ns ns lower From the gap's start to the start of the iteration
--     on the host (of a device's own step: on the device); negative where the host was
--     ahead.
-- @column to_launch_ns ns lower From the gap's start to the first launch; negative
--     where the host was ahead; NULL where the launch is unknown.
-- @column launch_to_start_ns ns lower From that launch to the first start.
-- @column is_host_bound bool neutral Whether that launch came after the gap had begun:
--     the device waited for the host.
-- @column annotation text neutral What the host was in meanwhile.
-- @column op text neutral The framework operation that it was in.
-- @key run_id, pid, iteration, device_id
-- @chart line x=iteration y=gap_ns
-- @requires iteration|annotation|kernel Mark the iterations: NVTX ranges named
--     "iteration 7", or profiler.step() in PyTorch.
-- @since 0.2
CREATE MACRO iteration_gaps(pattern VARCHAR := NULL) AS TABLE
WITH extents AS (
    SELECT
        run_id, step_pid, iteration, device_id, min(start_ns) AS first_ns,
        max(end_ns) AS last_ns,
        -- The first start and, of those, the lowest call, in one number.
        min(start_ns * CAST(4611686018427387904 AS HUGEINT)
            + coalesce(api_call_id, 4611686018427387903)) AS first_call
    FROM v1._step_ops(pattern := pattern)
    WHERE iteration IS NOT NULL
    GROUP BY run_id, step_pid, iteration, device_id
),
beside AS (
    SELECT
        run_id, step_pid, iteration, device_id, first_ns AS end_ns,
        CAST(first_call - first_ns * CAST(4611686018427387904 AS HUGEINT) AS BIGINT)
            AS api_call_id,
        lag(iteration) OVER earlier AS before_iteration,
        lag(last_ns) OVER earlier AS start_ns
    FROM extents
    WINDOW earlier AS (PARTITION BY run_id, step_pid, device_id ORDER BY iteration)
    QUALIFY before_iteration IS NOT NULL
),
gaps AS MATERIALIZED (
    SELECT
        beside.run_id, beside.step_pid, beside.iteration, beside.device_id,
        beside.before_iteration, beside.start_ns, beside.end_ns,
        api_call.ts_ns AS launch_ns, api_call.pid AS launch_pid,
        api_call.tid AS launch_tid
    FROM beside
    LEFT JOIN api_call
        ON beside.run_id = api_call.run_id AND beside.api_call_id = api_call.api_call_id
),
-- What had run on a device before a border of a gap, as in iteration_timing.
line AS (
    SELECT
        run_id, device_id, hash(run_id, device_id) AS device_hash, at_ns, end_ns,
        added_ns
    FROM (
        SELECT
            run_id, device_id, busy_from_ns AS at_ns, end_ns,
            end_ns - busy_from_ns AS added_ns
        FROM v1._gpu_sweep()
        WHERE end_ns > busy_from_ns
        UNION ALL
        SELECT run_id, device_id, at_ns, NULL, 0
        FROM (
            SELECT run_id, device_id, start_ns AS at_ns FROM gaps
            UNION
            SELECT run_id, device_id, end_ns FROM gaps
        )
    )
    ORDER BY device_hash, at_ns
),
reached AS (
    SELECT
        run_id, device_id, at_ns, end_ns IS NULL AS is_border,
        CAST(device_hash >> 2 AS HUGEINT) << 64 AS lane,
        sum(added_ns) OVER (ROWS UNBOUNDED PRECEDING) AS added_ns,
        max(lane + end_ns) OVER (ROWS UNBOUNDED PRECEDING) AS end_so_far
    FROM line
),
passed AS (
    SELECT
        run_id, device_id, at_ns,
        added_ns - coalesce(greatest(end_so_far - lane - at_ns, 0), 0) AS busy_ns
    FROM reached
    WHERE is_border
),
on_thread AS (
    SELECT
        run_id, step_pid, iteration, device_id, launch_pid, launch_tid,
        unnest(['annotation', 'op']) AS layer,
        CASE WHEN launch_ns > start_ns
            THEN (start_ns + least(launch_ns, end_ns)) // 2
            ELSE (start_ns + end_ns) // 2
        END AS middle_ns
    FROM gaps
    WHERE end_ns > start_ns AND launch_ns IS NOT NULL
),
met AS (
    SELECT
        on_thread.run_id, on_thread.step_pid, on_thread.iteration, on_thread.device_id,
        any_value(annotation.name) AS annotation, any_value(op.name) AS op
    FROM on_thread
    ASOF JOIN v1._host_moments() AS moment
        ON on_thread.run_id = moment.run_id AND on_thread.layer = moment.layer
        AND on_thread.launch_pid IS NOT DISTINCT FROM moment.pid
        AND on_thread.launch_tid IS NOT DISTINCT FROM moment.tid
        AND on_thread.middle_ns >= moment.at_ns
    LEFT JOIN annotation
        ON moment.run_id = annotation.run_id AND moment.layer = 'annotation'
        AND moment.range_id = annotation.annotation_id
    LEFT JOIN op
        ON moment.run_id = op.run_id AND moment.layer = 'op'
        AND moment.range_id = op.op_id
    GROUP BY
        on_thread.run_id, on_thread.step_pid, on_thread.iteration, on_thread.device_id
)
SELECT
    gaps.run_id, gaps.step_pid AS pid, gaps.iteration, gaps.device_id,
    gaps.before_iteration, step.source, gaps.start_ns, gaps.end_ns,
    gaps.end_ns - gaps.start_ns AS gap_ns,
    CASE WHEN gaps.end_ns >= gaps.start_ns
        THEN CAST(until.busy_ns - since.busy_ns AS BIGINT)
    END AS other_work_ns,
    CASE WHEN gaps.end_ns >= gaps.start_ns THEN CAST(
        gaps.end_ns - gaps.start_ns - until.busy_ns + since.busy_ns AS BIGINT
    ) END AS idle_ns,
    step.start_ns - gaps.start_ns AS to_iteration_ns,
    gaps.launch_ns - gaps.start_ns AS to_launch_ns,
    gaps.end_ns - gaps.launch_ns AS launch_to_start_ns,
    gaps.launch_ns > gaps.start_ns AS is_host_bound,
    met.annotation, met.op
FROM gaps
JOIN v1._iterations(pattern := pattern) AS step
    ON gaps.run_id = step.run_id AND gaps.step_pid IS NOT DISTINCT FROM step.pid
    AND gaps.iteration = step.iteration
    AND (step.device_id IS NULL OR gaps.device_id = step.device_id)
LEFT JOIN passed AS since
    ON gaps.run_id = since.run_id AND gaps.start_ns = since.at_ns
    AND gaps.device_id IS NOT DISTINCT FROM since.device_id
LEFT JOIN passed AS until
    ON gaps.run_id = until.run_id AND gaps.end_ns = until.at_ns
    AND gaps.device_id IS NOT DISTINCT FROM until.device_id
LEFT JOIN met
    ON gaps.run_id = met.run_id AND gaps.step_pid IS NOT DISTINCT FROM met.step_pid
    AND gaps.iteration = met.iteration
    AND gaps.device_id IS NOT DISTINCT FROM met.device_id
ORDER BY gaps.run_id, gaps.step_pid, gaps.iteration, gaps.device_id;
