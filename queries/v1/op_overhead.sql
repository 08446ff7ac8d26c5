-- @title Overhead of framework operations
-- What framework operations cost on the host beside the API calls that they make:
-- overhead is their duration without the union of the API calls of their thread within
-- it, at any depth; and for how long of that duration no GPU operation of their process
-- ran on any device. With the part of the training step that they belong to: backward
-- as the source says it, optimizer within a range named "Optimizer..." of the same
-- thread, else forward, or unknown where the source does not tell.
-- By name every operation counts, nested ones too, so that rows of different names
-- share time. By phase outermost operations count, which share none.
-- Operations placed on a device are left out; those that start in the window count
-- whole.
-- @param group_by VARCHAR name (phase and name) or phase.
-- @param time_window VARCHAR capture, gpu or steps.
-- @param from_ns BIGINT Start of a range, ns since the run's origin.
-- @param to_ns BIGINT End of a range, ns since the run's origin.
-- @column run_id id key The run.
-- @column phase text key forward, backward, optimizer or unknown.
-- @column name text key Name; NULL for group_by phase.
-- @column op_count count neutral Operations.
-- @column host_sum_ns ns lower Sum of durations.
-- @column api_ns ns lower Union of API calls within each, summed over operations.
-- @column overhead_ns ns lower host_sum_ns without api_ns.
-- @column overhead_pct pct lower That time, of host_sum_ns.
-- @column overhead_mean_ns ns lower That time by operation.
-- @column device_sum_ns ns neutral Sum of the durations of GPU operations launched
--     within them.
-- @column gpu_idle_ns ns lower Time of the operations in which no GPU operation of the
--     process ran, summed over operations; NULL where the process has no GPU work.
-- @column gpu_idle_pct pct lower That time, of host_sum_ns.
-- @column window_name text neutral capture, gpu, steps or range.
-- @column window_start_ns ns neutral Start of the window, ns since the run's origin.
-- @column window_end_ns ns neutral End of the window, ns since the run's origin.
-- @key run_id, phase, name
-- @chart bar x=overhead_ns y=name
-- @requires op Record framework operations: torch.profiler with
--     ProfilerActivity.CPU and ProfilerActivity.CUDA.
-- @since 0.2
CREATE MACRO op_overhead(
    group_by VARCHAR := 'name',
    time_window VARCHAR := 'capture', from_ns BIGINT := NULL, to_ns BIGINT := NULL
) AS TABLE
WITH windows AS (
    SELECT run_id, window_name, window_start_ns, window_end_ns
    FROM v1._windows(time_window := time_window, from_ns := from_ns, to_ns := to_ns)
),
-- Where some GPU work of a run names no process, all of it counts for each.
processes AS (
    SELECT
        run_id, bool_or(pid IS NULL) AS is_shared,
        bool_or(pid IS NULL) OR min(pid) = max(pid) AS has_one
    FROM gpu_op
    WHERE run_id IN (SELECT run_id FROM op)
    GROUP BY run_id
),
-- From pieces that are disjoint already: those of devices where all work counts
-- together, else those of streams.
pieces AS (
    SELECT process_hash, start_ns, end_ns
    FROM (
        SELECT
            CASE WHEN processes.is_shared THEN hash(op.run_id)
                ELSE hash(op.run_id, op.pid) END AS process_hash,
            CASE WHEN processes.has_one THEN op.busy_from_ns ELSE op.stream_from_ns END
                AS start_ns,
            op.end_ns
        FROM v1._gpu_sweep() AS op
        JOIN processes ON op.run_id = processes.run_id
    )
    WHERE end_ns > start_ns
),
busy AS (
    SELECT
        process_hash, greatest(start_ns, earlier_end_ns) AS start_ns, end_ns
    FROM (
        SELECT
            process_hash, start_ns, end_ns,
            max(end_ns) OVER (
                PARTITION BY process_hash ORDER BY start_ns
                ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
            ) AS earlier_end_ns
        FROM pieces
    )
    WHERE end_ns > coalesce(earlier_end_ns, start_ns)
),
passed AS MATERIALIZED (
    SELECT
        process_hash, start_ns, end_ns,
        CAST(sum(end_ns - start_ns) OVER (
            PARTITION BY process_hash ORDER BY start_ns ROWS UNBOUNDED PRECEDING
        ) AS BIGINT) AS busy_ns
    FROM busy
),
-- Outermost ones, so that the latest before an operation is the one around it.
optimizers AS (
    SELECT thread_hash, start_ns, end_ns
    FROM (
        SELECT
            thread_hash, start_ns, end_ns,
            max(end_ns) OVER (
                PARTITION BY thread_hash ORDER BY start_ns, end_ns DESC
                ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
            ) AS earlier_end_ns
        FROM (
            SELECT
                hash(run_id, pid, tid) AS thread_hash, ts_ns AS start_ns,
                ts_ns + dur_ns AS end_ns
            FROM annotation
            WHERE dur_ns > 0 AND regexp_extract(name, '^(?i:optimi[sz]er)') <> ''
            UNION ALL
            SELECT hash(run_id, pid, tid), ts_ns, ts_ns + dur_ns
            FROM op
            WHERE dur_ns > 0 AND regexp_extract(name, '^(?i:optimi[sz]er)') <> ''
        )
    )
    WHERE coalesce(end_ns > earlier_end_ns, true)
),
costs AS (
    SELECT
        op.run_id, op.op_id, op.name, op.is_backward, costs.thread_hash,
        costs.start_ns, costs.end_ns, costs.host_ns, costs.api_ns, costs.device_ns,
        CASE WHEN processes.is_shared THEN hash(op.run_id)
            ELSE hash(op.run_id, op.pid) END AS process_hash
    FROM v1._op_costs() AS costs
    JOIN op ON costs.run_id = op.run_id AND costs.op_id = op.op_id
    LEFT JOIN processes ON op.run_id = processes.run_id
    JOIN windows
        ON costs.run_id = windows.run_id AND costs.start_ns >= windows.window_start_ns
        AND (
            costs.start_ns < windows.window_end_ns
            OR costs.start_ns = windows.window_end_ns
            AND windows.window_name <> 'range'
        )
    WHERE NOT costs.is_device AND CASE group_by
        WHEN 'name' THEN true
        WHEN 'phase' THEN costs.parent_op_id IS NULL
        ELSE error('group_by must be name or phase')
    END
),
phased AS (
    SELECT
        costs.run_id, costs.name, costs.process_hash, costs.start_ns, costs.end_ns,
        costs.host_ns, costs.api_ns, costs.device_ns,
        CASE
            WHEN costs.is_backward THEN 'backward'
            WHEN optimizers.end_ns >= costs.end_ns THEN 'optimizer'
            WHEN NOT costs.is_backward THEN 'forward'
            ELSE 'unknown'
        END AS phase
    FROM costs
    ASOF LEFT JOIN optimizers
        ON costs.thread_hash = optimizers.thread_hash
        AND costs.start_ns >= optimizers.start_ns
),
-- GPU time up to a moment: the pieces that began before it, less what of the last one
-- lies behind it.
started AS (
    SELECT
        phased.run_id, phased.name, phased.phase, phased.process_hash, phased.end_ns,
        phased.host_ns, phased.api_ns, phased.device_ns,
        coalesce(passed.busy_ns - greatest(passed.end_ns - phased.start_ns, 0), 0)
            AS busy_before_ns
    FROM phased
    ASOF LEFT JOIN passed
        ON phased.process_hash = passed.process_hash
        AND phased.start_ns >= passed.start_ns
),
idle AS (
    SELECT
        started.run_id, started.name, started.phase, started.process_hash,
        started.host_ns, started.api_ns, started.device_ns,
        started.host_ns - (
            coalesce(passed.busy_ns - greatest(passed.end_ns - started.end_ns, 0), 0)
            - started.busy_before_ns
        ) AS idle_ns
    FROM started
    ASOF LEFT JOIN passed
        ON started.process_hash = passed.process_hash
        AND started.end_ns >= passed.start_ns
),
totals AS (
    SELECT
        idle.run_id, idle.phase, CASE WHEN group_by = 'name' THEN idle.name END AS name,
        count(*) AS op_count, CAST(sum(idle.host_ns) AS BIGINT) AS host_sum_ns,
        CAST(sum(idle.api_ns) AS BIGINT) AS api_ns,
        CAST(sum(idle.device_ns) AS BIGINT) AS device_sum_ns,
        CAST(sum(CASE WHEN known.process_hash IS NOT NULL THEN idle.idle_ns END)
            AS BIGINT) AS gpu_idle_ns
    FROM idle
    LEFT JOIN (SELECT DISTINCT process_hash FROM passed) AS known
        ON idle.process_hash = known.process_hash
    GROUP BY ALL
)
SELECT
    totals.run_id, totals.phase, totals.name, totals.op_count, totals.host_sum_ns,
    totals.api_ns, totals.host_sum_ns - totals.api_ns AS overhead_ns,
    100.0 * (totals.host_sum_ns - totals.api_ns) / nullif(totals.host_sum_ns, 0)
        AS overhead_pct,
    (totals.host_sum_ns - totals.api_ns) / totals.op_count AS overhead_mean_ns,
    totals.device_sum_ns, totals.gpu_idle_ns,
    100.0 * totals.gpu_idle_ns / nullif(totals.host_sum_ns, 0) AS gpu_idle_pct,
    windows.window_name, windows.window_start_ns, windows.window_end_ns
FROM totals
JOIN windows ON totals.run_id = windows.run_id
ORDER BY totals.run_id, overhead_ns DESC, totals.phase, totals.name;
