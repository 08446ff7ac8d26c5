-- @title Idle time of a device, gap by gap
-- One row per span of the window in which nothing ran on a device, clipped to the
-- window: they sum to the window less the device's busy time. The cause comes from the
-- operation that ended the gap (of several that start at once, the one with the lowest
-- id) and from the whole gap, also where the window cuts it. An operation without a
-- known duration, or with a negative one, takes no time, and divides a gap.
-- @param kernel_wait_ns BIGINT As in idle_breakdown.
-- @param time_window VARCHAR As in _windows.
-- @param from_ns BIGINT Start of a range, ns since the run's origin.
-- @param to_ns BIGINT End of a range, ns since the run's origin.
-- @column run_id id key The run.
-- @column device_id id key Device; NULL where the operations name none.
-- @column start_ns ns key Start, ns since the run's origin.
-- @column end_ns ns neutral End.
-- @column cause text neutral As in idle_breakdown.
-- @column api_call_id id neutral The call that launched the operation after the gap.
-- @column host_ns ns neutral Time of the gap before that call began; NULL where no call
--     is known.
-- @column middle_ns ns neutral Middle of the gap, or of its part before that call where
--     it has one.
-- @column window_name text neutral capture, gpu, steps or range.
-- @column window_ns ns neutral Length of the window.
-- @key run_id, device_id, start_ns
-- @since 0.2
CREATE MACRO _idle_gaps(
    kernel_wait_ns BIGINT := 5000,
    time_window VARCHAR := 'capture', from_ns BIGINT := NULL, to_ns BIGINT := NULL
) AS TABLE
WITH windows AS (
    SELECT run_id, window_name, window_start_ns, window_end_ns
    FROM v1._windows(time_window := time_window, from_ns := from_ns, to_ns := to_ns)
),
ops AS (
    SELECT
        run_id, device_id, pid, api_call_id, launch_ts_ns, start_ns, end_ns,
        device_end_before_ns
    FROM v1._gpu_sweep()
),
lasts AS (
    SELECT run_id, device_id, max(end_ns) AS end_ns FROM ops GROUP BY run_id, device_id
),
gaps AS (
    SELECT
        ops.run_id, ops.device_id, ops.api_call_id, ops.launch_ts_ns,
        coalesce(
            ops.device_end_before_ns, least(windows.window_start_ns, ops.start_ns)
        ) AS start_ns,
        ops.start_ns AS end_ns,
        CASE WHEN ops.device_end_before_ns IS NULL THEN 'before the first' END AS edge
    FROM ops
    JOIN windows ON ops.run_id = windows.run_id
    WHERE ops.start_ns > coalesce(ops.device_end_before_ns, windows.window_start_ns)
    UNION ALL
    SELECT
        lasts.run_id, lasts.device_id, NULL, NULL, lasts.end_ns,
        windows.window_end_ns, 'after the last'
    FROM lasts
    JOIN windows ON lasts.run_id = windows.run_id
),
-- The profiler's own time on the processes of a device, as disjoint pieces.
own_time AS (
    SELECT
        run_id, device_id, began_ns, end_ns,
        coalesce(sum(end_ns - began_ns) OVER (
            PARTITION BY run_id, device_id ORDER BY began_ns
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ), 0) AS passed_ns
    FROM (
        SELECT
            overhead.run_id, used.device_id, overhead.ts_ns + overhead.dur_ns AS end_ns,
            greatest(overhead.ts_ns, max(overhead.ts_ns + overhead.dur_ns) OVER (
                PARTITION BY overhead.run_id, used.device_id ORDER BY overhead.ts_ns
                ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
            )) AS began_ns
        FROM overhead
        JOIN (
            SELECT run_id, device_id, pid FROM ops GROUP BY run_id, device_id, pid
        ) AS used
            ON overhead.run_id = used.run_id
            AND (overhead.pid = used.pid OR used.pid IS NULL)
        WHERE overhead.dur_ns > 0
            AND regexp_matches(overhead.kind, '^CUDA profiling (data flush|stop)')
    )
    WHERE end_ns > began_ns
),
near AS (
    SELECT gaps.run_id, gaps.device_id, gaps.start_ns, gaps.end_ns
    FROM gaps
    JOIN (
        SELECT run_id, device_id, min(began_ns) AS first_ns, max(end_ns) AS last_ns
        FROM own_time
        GROUP BY run_id, device_id
    ) AS extents
        ON gaps.run_id = extents.run_id
        AND gaps.device_id IS NOT DISTINCT FROM extents.device_id
        AND gaps.start_ns < extents.last_ns AND gaps.end_ns > extents.first_ns
),
-- Two moments of the profiler's running total give its time between them.
flushed AS (
    SELECT
        near.run_id, near.device_id, near.start_ns,
        coalesce(until.passed_ns + least(near.end_ns, until.end_ns) - until.began_ns, 0)
        - coalesce(
            since.passed_ns + least(near.start_ns, since.end_ns) - since.began_ns, 0
        ) AS profiler_ns
    FROM near
    ASOF LEFT JOIN own_time AS until
        ON near.run_id = until.run_id
        AND near.device_id IS NOT DISTINCT FROM until.device_id
        AND near.end_ns >= until.began_ns
    ASOF LEFT JOIN own_time AS since
        ON near.run_id = since.run_id
        AND near.device_id IS NOT DISTINCT FROM since.device_id
        AND near.start_ns >= since.began_ns
),
told AS (
    SELECT
        gaps.run_id, gaps.device_id, gaps.start_ns, gaps.end_ns, gaps.api_call_id,
        CASE
            WHEN 2 * flushed.profiler_ns > gaps.end_ns - gaps.start_ns THEN 'profiler'
            WHEN gaps.edge IS NOT NULL THEN gaps.edge
            WHEN gaps.launch_ts_ns IS NULL THEN 'unknown launch'
            WHEN gaps.launch_ts_ns > gaps.start_ns THEN 'host'
            WHEN gaps.end_ns - gaps.start_ns <= kernel_wait_ns THEN 'kernel wait'
            ELSE 'other'
        END AS cause,
        least(greatest(gaps.launch_ts_ns, gaps.start_ns), gaps.end_ns) AS launch_ns
    FROM gaps
    LEFT JOIN flushed
        ON gaps.run_id = flushed.run_id
        AND gaps.device_id IS NOT DISTINCT FROM flushed.device_id
        AND gaps.start_ns = flushed.start_ns
)
SELECT
    told.run_id, told.device_id,
    greatest(told.start_ns, windows.window_start_ns) AS start_ns,
    least(told.end_ns, windows.window_end_ns) AS end_ns,
    told.cause, told.api_call_id,
    CASE WHEN told.launch_ns IS NOT NULL THEN greatest(
        least(told.launch_ns, windows.window_end_ns)
        - greatest(told.start_ns, windows.window_start_ns), 0
    ) END AS host_ns,
    CASE
        WHEN told.launch_ns > told.start_ns THEN (told.start_ns + told.launch_ns) // 2
        ELSE (told.start_ns + told.end_ns) // 2
    END AS middle_ns,
    windows.window_name, windows.window_end_ns - windows.window_start_ns AS window_ns
FROM told
JOIN windows ON told.run_id = windows.run_id
WHERE told.start_ns < windows.window_end_ns AND told.end_ns > windows.window_start_ns;
