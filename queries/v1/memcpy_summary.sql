-- @title Copies and fills
-- Memory copies by direction, and fills: how many, how large, how long, how fast, and
-- how much of their time no kernel hid. Times are sums; operations that start in the
-- window count whole. Equals cuda_gpu_mem_time_sum and cuda_gpu_mem_size_sum of nsys
-- stats. Standard deviations are the sample's, 0 for one; medians are exact.
-- @param group_by VARCHAR kind, memory (kind and both memories) or device (kind and
--     device).
-- @param with_exposed BOOLEAN False leaves the exposed columns NULL and saves a pass
--     over the kernels.
-- @param time_window VARCHAR capture, gpu or steps.
-- @param from_ns BIGINT Start of a range, ns since the run's origin.
-- @param to_ns BIGINT End of a range, ns since the run's origin.
-- @column run_id id key The run.
-- @column device_id id key Device; NULL for all unless grouped by device.
-- @column kind text key H2D, D2H, D2D, P2P, ..., or memset.
-- @column src_memory text key Memory copied from; NULL unless grouped by memory.
-- @column dst_memory text key Memory copied to or filled; NULL unless grouped by
--     memory.
-- @column copy_count count neutral Copies or fills.
-- @column total_bytes bytes neutral Bytes copied or filled.
-- @column total_ns ns lower Sum of durations.
-- @column time_pct pct neutral total_ns over the sum of all copies and fills in the
--     window.
-- @column throughput_gb_per_s gb_per_s higher Sum of bytes over sum of time; NULL at
--     zero time.
-- @column pageable_pct pct lower Bytes from or to pageable host memory over all bytes
--     whose memories are known; NULL for fills.
-- @column exposed_ns ns lower Time in which such a copy ran and no kernel on its
--     device: union per device, added over devices.
-- @column exposed_pct pct lower exposed_ns over the time in which such a copy ran
--     (union per device, added over devices).
-- @column min_bytes bytes neutral Smallest.
-- @column mean_bytes bytes neutral Mean size.
-- @column median_bytes bytes neutral Median size.
-- @column max_bytes bytes neutral Largest.
-- @column stddev_bytes bytes neutral Standard deviation of the sizes.
-- @column min_ns ns lower Shortest.
-- @column mean_ns ns lower Mean duration.
-- @column median_ns ns lower Median duration.
-- @column max_ns ns lower Longest.
-- @column stddev_ns ns lower Standard deviation of the durations.
-- @column window_name text neutral capture, gpu, steps or range.
-- @column window_start_ns ns neutral Start of the window, ns since the run's origin.
-- @column window_end_ns ns neutral End of the window, ns since the run's origin.
-- @key run_id, device_id, kind, src_memory, dst_memory
-- @chart bar x=total_ns y=kind
-- @requires memcpy|memset Record GPU work: nsys profile -t cuda, or a PyTorch profiler
--     with ProfilerActivity.CUDA.
-- @since 0.1
CREATE MACRO memcpy_summary(
    group_by VARCHAR := 'kind',
    with_exposed BOOLEAN := true,
    time_window VARCHAR := 'capture',
    from_ns BIGINT := NULL,
    to_ns BIGINT := NULL
) AS TABLE
WITH windows AS (
    SELECT run_id, window_name, window_start_ns, window_end_ns
    FROM v1._windows(time_window := time_window, from_ns := from_ns, to_ns := to_ns)
),
ops AS (
    SELECT
        run_id, device_id, kind, src_memory, dst_memory, bytes, ts_ns, dur_ns,
        src_memory = 'pageable' OR dst_memory = 'pageable' AS is_pageable
    FROM memcpy
    UNION ALL
    SELECT run_id, device_id, 'memset', NULL, memory_kind, bytes, ts_ns, dur_ns, NULL
    FROM memset
),
copies AS (
    SELECT
        ops.run_id,
        coalesce(ops.device_id, -1) AS on_device,
        CASE
            WHEN group_by = 'device' THEN ops.device_id
            WHEN group_by NOT IN ('kind', 'memory') THEN
                error('group_by must be kind, memory or device')
        END AS device_id,
        ops.kind,
        CASE WHEN group_by = 'memory' THEN ops.src_memory END AS src_memory,
        CASE WHEN group_by = 'memory' THEN ops.dst_memory END AS dst_memory,
        ops.bytes,
        ops.is_pageable,
        ops.ts_ns,
        CASE WHEN ops.dur_ns >= 0 THEN ops.dur_ns END AS dur_ns
    FROM ops
    INNER JOIN windows
        ON ops.run_id = windows.run_id
        AND ops.ts_ns >= windows.window_start_ns
        AND (
            ops.ts_ns < windows.window_end_ns
            OR ops.ts_ns = windows.window_end_ns AND windows.window_name <> 'range'
        )
),
kernels AS (
    SELECT run_id, coalesce(device_id, -1) AS on_device, ts_ns, ts_ns + dur_ns AS end_ns
    FROM kernel
    WHERE dur_ns > 0 AND with_exposed
    UNION ALL
    SELECT run_id, coalesce(device_id, -1), ts_ns, ts_ns + dur_ns
    FROM graph_launch
    WHERE dur_ns > 0 AND with_exposed
),
kernels_reached AS (
    SELECT
        run_id, on_device, ts_ns, end_ns,
        max(end_ns) OVER (
            PARTITION BY run_id, on_device ORDER BY ts_ns
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS earlier_end_ns
    FROM kernels
),
-- What each kernel adds to the busy time of its device: disjoint pieces, in order.
kernel_pieces AS (
    SELECT
        run_id, on_device,
        greatest(ts_ns, coalesce(earlier_end_ns, ts_ns)) AS piece_start_ns,
        end_ns AS piece_end_ns
    FROM kernels_reached
    WHERE earlier_end_ns IS NULL OR end_ns > earlier_end_ns
),
kernel_busy AS (
    SELECT
        run_id, on_device, piece_start_ns, piece_end_ns,
        sum(piece_end_ns - piece_start_ns) OVER (
            PARTITION BY run_id, on_device ORDER BY piece_start_ns
            ROWS UNBOUNDED PRECEDING
        ) - (piece_end_ns - piece_start_ns) AS busy_before_ns
    FROM kernel_pieces
),
copies_reached AS (
    SELECT
        run_id, on_device, device_id, kind, src_memory, dst_memory,
        ts_ns, ts_ns + dur_ns AS end_ns,
        max(ts_ns + dur_ns) OVER (
            PARTITION BY run_id, on_device, device_id, kind, src_memory, dst_memory
            ORDER BY ts_ns ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS earlier_end_ns
    FROM copies
    WHERE dur_ns > 0 AND with_exposed
),
copy_pieces AS (
    SELECT
        run_id, on_device, device_id, kind, src_memory, dst_memory,
        greatest(ts_ns, coalesce(earlier_end_ns, ts_ns)) AS piece_start_ns,
        end_ns AS piece_end_ns
    FROM copies_reached
    WHERE earlier_end_ns IS NULL OR end_ns > earlier_end_ns
),
-- Kernel time before a copy's end less kernel time before its start hides the copy.
hidden AS (
    SELECT
        copy.run_id, copy.device_id, copy.kind, copy.src_memory, copy.dst_memory,
        copy.piece_end_ns - copy.piece_start_ns AS piece_ns,
        coalesce(at_end.busy_before_ns, 0)
        + coalesce(
            least(copy.piece_end_ns, at_end.piece_end_ns) - at_end.piece_start_ns, 0
        )
        - coalesce(at_start.busy_before_ns, 0)
        - coalesce(
            least(copy.piece_start_ns, at_start.piece_end_ns)
            - at_start.piece_start_ns,
            0
        ) AS hidden_ns
    FROM copy_pieces AS copy
    ASOF LEFT JOIN kernel_busy AS at_start
        ON copy.run_id = at_start.run_id
        AND copy.on_device = at_start.on_device
        AND copy.piece_start_ns >= at_start.piece_start_ns
    ASOF LEFT JOIN kernel_busy AS at_end
        ON copy.run_id = at_end.run_id
        AND copy.on_device = at_end.on_device
        AND copy.piece_end_ns >= at_end.piece_start_ns
),
exposed AS (
    SELECT
        run_id, device_id, kind, src_memory, dst_memory,
        sum(piece_ns) AS union_ns,
        sum(piece_ns - hidden_ns) AS exposed_ns
    FROM hidden
    GROUP BY run_id, device_id, kind, src_memory, dst_memory
),
totals AS (
    SELECT
        run_id, device_id, kind, src_memory, dst_memory,
        count(*) AS copy_count,
        sum(bytes) AS total_bytes,
        coalesce(sum(dur_ns), 0) AS total_ns,
        sum(bytes) FILTER (dur_ns IS NOT NULL) AS timed_bytes,
        sum(bytes) FILTER (is_pageable) AS pageable_bytes,
        sum(bytes) FILTER (is_pageable IS NOT NULL) AS known_bytes,
        min(bytes) AS min_bytes,
        avg(bytes) AS mean_bytes,
        median(bytes) AS median_bytes,
        max(bytes) AS max_bytes,
        CASE WHEN count(bytes) = 1 THEN 0 ELSE stddev_samp(bytes) END AS stddev_bytes,
        min(dur_ns) AS min_ns,
        avg(dur_ns) AS mean_ns,
        median(dur_ns) AS median_ns,
        max(dur_ns) AS max_ns,
        CASE WHEN count(dur_ns) = 1 THEN 0 ELSE stddev_samp(dur_ns) END AS stddev_ns
    FROM copies
    GROUP BY run_id, device_id, kind, src_memory, dst_memory
)
SELECT
    totals.run_id,
    totals.device_id,
    totals.kind,
    totals.src_memory,
    totals.dst_memory,
    totals.copy_count,
    totals.total_bytes::BIGINT AS total_bytes,
    totals.total_ns::BIGINT AS total_ns,
    100.0 * totals.total_ns / nullif(
        sum(totals.total_ns) OVER (PARTITION BY totals.run_id), 0
    ) AS time_pct,
    totals.timed_bytes / nullif(totals.total_ns, 0) AS throughput_gb_per_s,
    100.0 * coalesce(totals.pageable_bytes, 0) / nullif(totals.known_bytes, 0)
        AS pageable_pct,
    CASE WHEN with_exposed THEN coalesce(exposed.exposed_ns, 0)::BIGINT END
        AS exposed_ns,
    100.0 * exposed.exposed_ns / nullif(exposed.union_ns, 0) AS exposed_pct,
    totals.min_bytes,
    totals.mean_bytes,
    totals.median_bytes,
    totals.max_bytes,
    totals.stddev_bytes,
    totals.min_ns,
    totals.mean_ns,
    totals.median_ns,
    totals.max_ns,
    totals.stddev_ns,
    windows.window_name,
    windows.window_start_ns,
    windows.window_end_ns
FROM totals
INNER JOIN windows ON totals.run_id = windows.run_id
LEFT JOIN exposed
    ON totals.run_id = exposed.run_id
    AND totals.device_id IS NOT DISTINCT FROM exposed.device_id
    AND totals.kind = exposed.kind
    AND totals.src_memory IS NOT DISTINCT FROM exposed.src_memory
    AND totals.dst_memory IS NOT DISTINCT FROM exposed.dst_memory
ORDER BY
    totals.run_id, totals.device_id, totals.total_ns DESC, totals.kind,
    totals.src_memory, totals.dst_memory;
