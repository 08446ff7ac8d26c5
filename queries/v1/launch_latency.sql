-- @title Launch latency
-- Per kernel, launching thread and API: how long the launching call took, how long the
-- kernel waited, and how many operations its stream still had before it. Delays are
-- signed: a kernel may begin before its call returns. Kernels that start in the window,
-- with their whole call. Kernels of one graph launch share its call. Equals
-- cuda_kern_exec_sum of nsys stats, whose Q columns are queue_*: only kernels that
-- started at or after the end of their call. Kernels without a call in the capture are
-- a row of their own, with api NULL. Standard deviations are the sample's, 0 for one.
-- @param top BIGINT Rows per run, by the sum of total_*; NULL for all.
-- @param with_queue_depth BOOLEAN False leaves the queue_depth columns NULL and saves
--     their sweep.
-- @param time_window VARCHAR capture, gpu or steps.
-- @param from_ns BIGINT Start of a range, ns since the run's origin.
-- @param to_ns BIGINT End of a range, ns since the run's origin.
-- @column run_id id key The run.
-- @column pid id key Process.
-- @column tid id key Thread that launched; NULL for orphans.
-- @column device_id id key Device.
-- @column api text key Launching function; NULL for orphans.
-- @column name text key Kernel.
-- @column short_name text neutral Name without template and argument types.
-- @column kernel_count count neutral Executions.
-- @column queued_count count neutral Executions that began at or after their call's
--     end.
-- @column early_count count neutral Executions that began before their call's end.
-- @column before_call_count count lower Executions that began before their call did:
--     the clocks of host and device disagree.
-- @column delay_mean_ns ns lower Start of the kernel minus start of its call: mean.
-- @column delay_median_ns ns lower The same, median.
-- @column delay_min_ns ns lower The same, smallest.
-- @column delay_max_ns ns lower The same, largest.
-- @column after_call_mean_ns ns lower Start of the kernel minus end of its call, below
--     zero where it began earlier: mean.
-- @column after_call_median_ns ns lower The same, median.
-- @column after_call_min_ns ns lower The same, smallest.
-- @column after_call_max_ns ns lower The same, largest.
-- @column total_mean_ns ns lower Start of the call to the later of both ends: mean.
-- @column total_median_ns ns lower The same, median.
-- @column total_min_ns ns lower The same, shortest.
-- @column total_max_ns ns lower The same, longest.
-- @column total_stddev_ns ns lower The same, standard deviation.
-- @column api_mean_ns ns lower Duration of the call: mean.
-- @column api_median_ns ns lower The same, median.
-- @column api_min_ns ns lower The same, shortest.
-- @column api_max_ns ns lower The same, longest.
-- @column api_stddev_ns ns lower The same, standard deviation.
-- @column queue_mean_ns ns lower End of the call to start of the kernel, over
--     queued_count kernels: mean.
-- @column queue_median_ns ns lower The same, median.
-- @column queue_min_ns ns lower The same, shortest.
-- @column queue_max_ns ns lower The same, longest.
-- @column queue_stddev_ns ns lower The same, standard deviation.
-- @column kernel_mean_ns ns lower Duration of the kernel: mean.
-- @column kernel_median_ns ns lower The same, median.
-- @column kernel_min_ns ns lower The same, shortest.
-- @column kernel_max_ns ns lower The same, longest.
-- @column kernel_stddev_ns ns lower The same, standard deviation.
-- @column mean_queue_depth value neutral Operations of the stream that were launched
--     before the kernel's call and had not begun before it: mean.
-- @column max_queue_depth value neutral The same, largest.
-- @column window_name text neutral capture, gpu, steps or range.
-- @column window_start_ns ns neutral Start of the window, ns since the run's origin.
-- @column window_end_ns ns neutral End of the window, ns since the run's origin.
-- @key run_id, pid, tid, device_id, api, name
-- @requires kernel Record GPU work: nsys profile -t cuda,nvtx, or a PyTorch profiler
--     with ProfilerActivity.CUDA.
-- @since 0.1
CREATE MACRO launch_latency(
    top BIGINT := NULL,
    with_queue_depth BOOLEAN := true,
    time_window VARCHAR := 'capture',
    from_ns BIGINT := NULL,
    to_ns BIGINT := NULL
) AS TABLE
WITH windows AS (
    SELECT run_id, window_name, window_start_ns, window_end_ns
    FROM v1._windows(time_window := time_window, from_ns := from_ns, to_ns := to_ns)
),
-- A stream's queue: one more at each launch, one less at each start. One hash stands
-- for the five columns that name a stream: the sort is then twice as fast.
queue_events AS (
    SELECT
        run_id, hash(run_id, pid, device_id, context_id, stream_id) AS stream_hash,
        gpu_op_id, launch_ts_ns AS at_ns, 1 AS change
    FROM gpu_op
    WHERE with_queue_depth AND launch_ts_ns <= ts_ns
    UNION ALL
    SELECT
        run_id, hash(run_id, pid, device_id, context_id, stream_id) AS stream_hash,
        NULL AS gpu_op_id, ts_ns AS at_ns, -1 AS change
    FROM gpu_op
    WHERE with_queue_depth AND launch_ts_ns <= ts_ns
),
queue_depths AS (
    SELECT
        run_id, gpu_op_id,
        sum(change) OVER (
            PARTITION BY stream_hash ORDER BY at_ns, change DESC, gpu_op_id
            ROWS UNBOUNDED PRECEDING
        ) - 1 AS queue_depth
    FROM queue_events
    QUALIFY change = 1
),
launches AS (
    SELECT
        kernel.run_id,
        kernel.pid,
        api_call.tid,
        kernel.device_id,
        api_call.name AS api,
        kernel.name,
        kernel.short_name,
        kernel.ts_ns - api_call.ts_ns AS delay_ns,
        kernel.ts_ns - api_call.ts_ns - api_call.dur_ns AS after_call_ns,
        greatest(api_call.ts_ns + api_call.dur_ns, kernel.ts_ns + kernel.dur_ns)
        - api_call.ts_ns AS total_ns,
        api_call.dur_ns AS api_ns,
        CASE WHEN kernel.dur_ns >= 0 THEN kernel.dur_ns END AS kernel_ns,
        queue_depths.queue_depth
    FROM kernel
    INNER JOIN windows
        ON kernel.run_id = windows.run_id
        AND kernel.ts_ns >= windows.window_start_ns
        AND (
            kernel.ts_ns < windows.window_end_ns
            OR kernel.ts_ns = windows.window_end_ns AND windows.window_name <> 'range'
        )
    LEFT JOIN api_call
        ON kernel.run_id = api_call.run_id
        AND kernel.api_call_id = api_call.api_call_id
    LEFT JOIN queue_depths
        ON kernel.run_id = queue_depths.run_id
        AND kernel.kernel_id = queue_depths.gpu_op_id
),
totals AS (
    SELECT
        run_id, pid, tid, device_id, api, name,
        any_value(short_name) AS short_name,
        count(*) AS kernel_count,
        count(*) FILTER (after_call_ns >= 0) AS queued_count,
        count(*) FILTER (after_call_ns < 0) AS early_count,
        count(*) FILTER (delay_ns < 0) AS before_call_count,
        avg(delay_ns) AS delay_mean_ns,
        median(delay_ns) AS delay_median_ns,
        min(delay_ns) AS delay_min_ns,
        max(delay_ns) AS delay_max_ns,
        avg(after_call_ns) AS after_call_mean_ns,
        median(after_call_ns) AS after_call_median_ns,
        min(after_call_ns) AS after_call_min_ns,
        max(after_call_ns) AS after_call_max_ns,
        sum(total_ns) AS total_ns,
        avg(total_ns) AS total_mean_ns,
        median(total_ns) AS total_median_ns,
        min(total_ns) AS total_min_ns,
        max(total_ns) AS total_max_ns,
        CASE WHEN count(total_ns) = 1 THEN 0 ELSE stddev_samp(total_ns) END
            AS total_stddev_ns,
        avg(api_ns) AS api_mean_ns,
        median(api_ns) AS api_median_ns,
        min(api_ns) AS api_min_ns,
        max(api_ns) AS api_max_ns,
        CASE WHEN count(api_ns) = 1 THEN 0 ELSE stddev_samp(api_ns) END
            AS api_stddev_ns,
        avg(after_call_ns) FILTER (after_call_ns >= 0) AS queue_mean_ns,
        median(after_call_ns) FILTER (after_call_ns >= 0) AS queue_median_ns,
        min(after_call_ns) FILTER (after_call_ns >= 0) AS queue_min_ns,
        max(after_call_ns) FILTER (after_call_ns >= 0) AS queue_max_ns,
        CASE
            WHEN count(*) FILTER (after_call_ns >= 0) = 1 THEN 0
            ELSE stddev_samp(after_call_ns) FILTER (after_call_ns >= 0)
        END AS queue_stddev_ns,
        avg(kernel_ns) AS kernel_mean_ns,
        median(kernel_ns) AS kernel_median_ns,
        min(kernel_ns) AS kernel_min_ns,
        max(kernel_ns) AS kernel_max_ns,
        CASE WHEN count(kernel_ns) = 1 THEN 0 ELSE stddev_samp(kernel_ns) END
            AS kernel_stddev_ns,
        avg(queue_depth) AS mean_queue_depth,
        max(queue_depth)::BIGINT AS max_queue_depth
    FROM launches
    GROUP BY run_id, pid, tid, device_id, api, name
)
SELECT
    totals.run_id,
    totals.pid,
    totals.tid,
    totals.device_id,
    totals.api,
    totals.name,
    totals.short_name,
    totals.kernel_count,
    totals.queued_count,
    totals.early_count,
    totals.before_call_count,
    totals.delay_mean_ns,
    totals.delay_median_ns,
    totals.delay_min_ns,
    totals.delay_max_ns,
    totals.after_call_mean_ns,
    totals.after_call_median_ns,
    totals.after_call_min_ns,
    totals.after_call_max_ns,
    totals.total_mean_ns,
    totals.total_median_ns,
    totals.total_min_ns,
    totals.total_max_ns,
    totals.total_stddev_ns,
    totals.api_mean_ns,
    totals.api_median_ns,
    totals.api_min_ns,
    totals.api_max_ns,
    totals.api_stddev_ns,
    totals.queue_mean_ns,
    totals.queue_median_ns,
    totals.queue_min_ns,
    totals.queue_max_ns,
    totals.queue_stddev_ns,
    totals.kernel_mean_ns,
    totals.kernel_median_ns,
    totals.kernel_min_ns,
    totals.kernel_max_ns,
    totals.kernel_stddev_ns,
    totals.mean_queue_depth,
    totals.max_queue_depth,
    windows.window_name,
    windows.window_start_ns,
    windows.window_end_ns
FROM totals
INNER JOIN windows ON totals.run_id = windows.run_id
QUALIFY top IS NULL OR top >= row_number() OVER (
    PARTITION BY totals.run_id
    ORDER BY
        totals.total_ns DESC NULLS LAST, totals.name, totals.api, totals.pid,
        totals.tid, totals.device_id
)
ORDER BY
    totals.run_id, totals.total_ns DESC NULLS LAST, totals.name, totals.api,
    totals.pid, totals.tid, totals.device_id;
