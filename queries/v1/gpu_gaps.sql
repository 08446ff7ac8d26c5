-- @title Gaps in the work of a GPU
-- Spans in which nothing of a process ran on a device, longer than min_ns, between its
-- first and its last operation there, with the operations on both sides. Equals
-- nsys analyze gpu_gaps, whose threshold is 500 ms when not told: a gap is strictly
-- longer than min_ns; the profiler's own flush and stop overhead of the process counts
-- as busy between the first and the last operation; operations whose start on the
-- source's clock is not after 0 do not count, for Nsight captures only (0 is no time
-- there). Whole durations over the whole capture; operations without a known duration
-- do not count, those of zero duration end one gap and begin the next. Where several
-- operations end or start together, the one with the lowest id is named.
-- @param min_ns BIGINT Gaps strictly longer than this.
-- @param top BIGINT Rows per run, longest first; NULL for all.
-- @column run_id id key The run.
-- @column pid id key Process; NULL where the source does not say it.
-- @column device_id id key Device.
-- @column start_ns ns key Start of the gap, ns since the run's origin.
-- @column end_ns ns neutral End of the gap.
-- @column gap_ns ns lower Its length.
-- @column before_name text neutral What ended as the gap began: a GPU operation, else
--     the profiler's overhead.
-- @column before_context_id id neutral Its context.
-- @column before_stream_id id neutral Its stream.
-- @column after_name text neutral What ended the gap, as before_name.
-- @column after_context_id id neutral Its context.
-- @column after_stream_id id neutral Its stream.
-- @column after_launch_ns ns neutral When the host launched it; NULL where unknown.
-- @column is_host_bound bool neutral Whether that launch came after the gap had begun:
--     the device waited for the host; NULL where the launch is unknown.
-- @key run_id, pid, device_id, start_ns
-- @requires kernel|memcpy|memset|graph_launch Record GPU activity: nsys profile -t cuda
-- @since 0.1
CREATE MACRO gpu_gaps(min_ns BIGINT := 1000000, top BIGINT := NULL) AS TABLE
WITH ops AS NOT MATERIALIZED (
    SELECT
        gpu_op.run_id, gpu_op.pid, gpu_op.device_id, gpu_op.ts_ns AS start_ns,
        gpu_op.ts_ns + gpu_op.dur_ns AS end_ns
    FROM gpu_op
    JOIN run ON gpu_op.run_id = run.run_id
    WHERE gpu_op.dur_ns >= 0
        AND (
            gpu_op.ts_ns + coalesce(run.source_origin_ns, 0) > 0
            OR NOT regexp_matches(
                concat_ws(' ', run.format, run.tool), '(?i)nsys|nsight'
            )
        )
),
spans AS (
    SELECT
        run_id, pid, device_id, min(start_ns) AS first_ns, max(end_ns) AS last_ns
    FROM ops
    GROUP BY run_id, pid, device_id
),
own_time AS (
    SELECT
        overhead.run_id, spans.pid, spans.device_id, overhead.ts_ns AS start_ns,
        overhead.ts_ns + overhead.dur_ns AS end_ns, overhead.kind
    FROM overhead
    JOIN spans
        ON overhead.run_id = spans.run_id
        AND (overhead.pid = spans.pid OR spans.pid IS NULL)
    WHERE overhead.dur_ns >= 0
        AND regexp_matches(overhead.kind, '^CUDA profiling (data flush|stop)')
        AND overhead.ts_ns < spans.last_ns
        AND overhead.ts_ns + overhead.dur_ns > spans.first_ns
),
reached AS (
    SELECT
        run_id, pid, device_id, start_ns,
        max(end_ns) OVER (
            PARTITION BY run_id, pid, device_id ORDER BY start_ns
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS earlier_end_ns
    FROM (
        SELECT run_id, pid, device_id, start_ns, end_ns FROM ops
        UNION ALL
        SELECT run_id, pid, device_id, start_ns, end_ns FROM own_time
    )
),
gaps AS MATERIALIZED (
    SELECT
        run_id, pid, device_id, earlier_end_ns AS start_ns, start_ns AS end_ns,
        start_ns - earlier_end_ns AS gap_ns
    FROM reached
    WHERE start_ns - earlier_end_ns > min_ns
    QUALIFY row_number() OVER (
        PARTITION BY run_id ORDER BY gap_ns DESC, earlier_end_ns, pid, device_id
    ) <= coalesce(top, 9223372036854775807)
),
before AS (
    SELECT
        gaps.run_id, gaps.pid, gaps.device_id, gaps.start_ns,
        arg_min(
            {
                'name': gpu_op.name, 'context_id': gpu_op.context_id,
                'stream_id': gpu_op.stream_id
            },
            gpu_op.gpu_op_id
        ) AS op
    FROM gpu_op
    JOIN gaps
        ON gpu_op.run_id = gaps.run_id AND gpu_op.pid IS NOT DISTINCT FROM gaps.pid
        AND gpu_op.device_id IS NOT DISTINCT FROM gaps.device_id
        AND gpu_op.ts_ns + gpu_op.dur_ns = gaps.start_ns
    WHERE gpu_op.dur_ns >= 0
    GROUP BY gaps.run_id, gaps.pid, gaps.device_id, gaps.start_ns
),
after AS (
    SELECT
        gaps.run_id, gaps.pid, gaps.device_id, gaps.start_ns,
        arg_min(
            {
                'name': gpu_op.name, 'context_id': gpu_op.context_id,
                'stream_id': gpu_op.stream_id, 'launch_ns': gpu_op.launch_ts_ns
            },
            gpu_op.gpu_op_id
        ) AS op
    FROM gpu_op
    JOIN gaps
        ON gpu_op.run_id = gaps.run_id AND gpu_op.pid IS NOT DISTINCT FROM gaps.pid
        AND gpu_op.device_id IS NOT DISTINCT FROM gaps.device_id
        AND gpu_op.ts_ns = gaps.end_ns
    WHERE gpu_op.dur_ns >= 0
    GROUP BY gaps.run_id, gaps.pid, gaps.device_id, gaps.start_ns
),
edges AS (
    SELECT
        gaps.run_id, gaps.pid, gaps.device_id, gaps.start_ns,
        min(own_time.kind) FILTER (own_time.end_ns = gaps.start_ns) AS before_kind,
        min(own_time.kind) FILTER (own_time.start_ns = gaps.end_ns) AS after_kind
    FROM gaps
    JOIN own_time
        ON gaps.run_id = own_time.run_id AND gaps.pid IS NOT DISTINCT FROM own_time.pid
        AND gaps.device_id IS NOT DISTINCT FROM own_time.device_id
    GROUP BY gaps.run_id, gaps.pid, gaps.device_id, gaps.start_ns
)
SELECT
    gaps.run_id, gaps.pid, gaps.device_id, gaps.start_ns, gaps.end_ns, gaps.gap_ns,
    coalesce(before.op.name, edges.before_kind) AS before_name,
    before.op.context_id AS before_context_id, before.op.stream_id AS before_stream_id,
    coalesce(after.op.name, edges.after_kind) AS after_name,
    after.op.context_id AS after_context_id, after.op.stream_id AS after_stream_id,
    after.op.launch_ns AS after_launch_ns,
    after.op.launch_ns > gaps.start_ns AS is_host_bound
FROM gaps
LEFT JOIN before
    ON gaps.run_id = before.run_id AND gaps.pid IS NOT DISTINCT FROM before.pid
    AND gaps.device_id IS NOT DISTINCT FROM before.device_id
    AND gaps.start_ns = before.start_ns
LEFT JOIN after
    ON gaps.run_id = after.run_id AND gaps.pid IS NOT DISTINCT FROM after.pid
    AND gaps.device_id IS NOT DISTINCT FROM after.device_id
    AND gaps.start_ns = after.start_ns
LEFT JOIN edges
    ON gaps.run_id = edges.run_id AND gaps.pid IS NOT DISTINCT FROM edges.pid
    AND gaps.device_id IS NOT DISTINCT FROM edges.device_id
    AND gaps.start_ns = edges.start_ns
ORDER BY gaps.run_id, gaps.gap_ns DESC, gaps.start_ns, gaps.pid, gaps.device_id;
