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
-- @column link text neutral How the two devices are linked: NV and the number of links,
--     PIX, PXB, PHB, NODE or SYS; several with commas; NULL where the copies have not
--     two devices, or no matrix of links is attached (nvidia-smi topo -m > LOG, then
--     traceql ingest LOG --attach RUN).
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
totals AS MATERIALIZED (
    SELECT
        run_id, device_id, kind, src_memory, dst_memory,
        row_number() OVER () AS row_no,
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
),
-- Without a matrix of links nothing is read for this.
linked AS (
    SELECT
        memcpy.run_id, memcpy.kind,
        CASE WHEN group_by = 'device' THEN memcpy.device_id END AS device_id,
        CASE WHEN group_by = 'memory' THEN memcpy.src_memory END AS src_memory,
        CASE WHEN group_by = 'memory' THEN memcpy.dst_memory END AS dst_memory,
        string_agg(DISTINCT links.link, ', ' ORDER BY links.link) AS link
    FROM memcpy
    JOIN v1._device_links() AS links
        ON links.run_id = memcpy.run_id::VARCHAR
        AND links.src_device_id = memcpy.src_device_id
        AND links.dst_device_id = memcpy.dst_device_id
    JOIN windows
        ON windows.run_id = memcpy.run_id
        AND memcpy.ts_ns >= windows.window_start_ns
        AND (
            memcpy.ts_ns < windows.window_end_ns
            OR memcpy.ts_ns = windows.window_end_ns AND windows.window_name <> 'range'
        )
    GROUP BY ALL
),
copies_reached AS (
    SELECT
        totals.row_no, copies.run_id, copies.on_device,
        copies.ts_ns, copies.ts_ns + copies.dur_ns AS end_ns,
        max(copies.ts_ns + copies.dur_ns) OVER (
            PARTITION BY totals.row_no, copies.on_device
            ORDER BY copies.ts_ns ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS earlier_end_ns
    FROM copies
    INNER JOIN totals
        ON copies.run_id = totals.run_id AND copies.kind = totals.kind
        AND copies.device_id IS NOT DISTINCT FROM totals.device_id
        AND copies.src_memory IS NOT DISTINCT FROM totals.src_memory
        AND copies.dst_memory IS NOT DISTINCT FROM totals.dst_memory
    WHERE copies.dur_ns > 0 AND with_exposed
),
-- A device's kernels as disjoint pieces, and the borders of the copies: both ends of
-- each disjoint piece of a row's copies.
line AS (
    SELECT device_hash, at_ns, end_ns, added_ns, row_no, sign
    FROM (
        SELECT
            hash(run_id, coalesce(device_id, -1)) AS device_hash,
            kernel_from_ns AS at_ns, end_ns, end_ns - kernel_from_ns AS added_ns,
            NULL AS row_no, NULL AS sign
        FROM v1._gpu_sweep()
        WHERE end_ns > kernel_from_ns AND with_exposed
        UNION ALL
        SELECT
            hash(run_id, on_device),
            unnest([greatest(ts_ns, coalesce(earlier_end_ns, ts_ns)), end_ns]),
            NULL, 0, row_no, unnest([-1, 1])
        FROM copies_reached
        WHERE earlier_end_ns IS NULL OR end_ns > earlier_end_ns
    )
    ORDER BY device_hash, at_ns
),
-- What had run before a border: the pieces that began before it, less what of the last
-- one lies behind it. What runs between its borders hides a copy. Windows without an
-- order stream over the sorted rows: the sum goes on from device to device, and only
-- differences count; the hash, put far above any time, keeps the maxima apart.
reached AS (
    SELECT
        row_no, sign, at_ns, CAST(device_hash >> 2 AS HUGEINT) << 64 AS lane,
        sum(added_ns) OVER (ROWS UNBOUNDED PRECEDING) AS added_ns,
        max(lane + end_ns) OVER (ROWS UNBOUNDED PRECEDING) AS end_so_far
    FROM line
),
swept AS (
    SELECT
        row_no, sign, at_ns,
        added_ns - coalesce(greatest(end_so_far - lane - at_ns, 0), 0)
            AS busy_before_ns
    FROM reached
    WHERE row_no IS NOT NULL
),
exposed AS (
    SELECT
        row_no,
        sum(sign * at_ns) AS union_ns,
        sum(sign * (at_ns - busy_before_ns)) AS exposed_ns
    FROM swept
    GROUP BY row_no
)
SELECT
    totals.run_id,
    totals.device_id,
    totals.kind,
    totals.src_memory,
    totals.dst_memory,
    totals.copy_count,
    TRY_CAST(totals.total_bytes AS BIGINT) AS total_bytes,
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
    linked.link,
    windows.window_name,
    windows.window_start_ns,
    windows.window_end_ns
FROM totals
INNER JOIN windows ON totals.run_id = windows.run_id
LEFT JOIN exposed ON totals.row_no = exposed.row_no
LEFT JOIN linked
    ON totals.run_id = linked.run_id AND totals.kind = linked.kind
    AND totals.device_id IS NOT DISTINCT FROM linked.device_id
    AND totals.src_memory IS NOT DISTINCT FROM linked.src_memory
    AND totals.dst_memory IS NOT DISTINCT FROM linked.dst_memory
ORDER BY
    totals.run_id, totals.device_id, totals.total_ns DESC, totals.kind,
    totals.src_memory, totals.dst_memory;
