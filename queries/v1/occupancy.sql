-- @title Occupancy and SM efficiency
-- How much of a device's SMs its kernels could keep busy, as the source estimates it.
-- Blocks per SM is the grid over the number of SMs: below 1 some SMs get no block.
-- SM efficiency is the integral over time of min(1, sum of the blocks per SM of the
-- kernels running at the moment), over the window: the share of SM time with work on
-- it, if blocks spread evenly. Means are weighted by duration, over the kernels that
-- state the figure and within the window; kernels at once count each. Figures that no
-- kernel states are NULL. By name, SM efficiency is that of these kernels alone.
-- Equals torch-tb-profiler's, which measures between the first and the last of its own
-- steps (step_breakdown with mode tb gives them, for from_ns and to_ns), in doubles;
-- its means by kernel take what is not stated for 0.
-- @param group_by VARCHAR device, name or short_name.
-- @param time_window VARCHAR capture, gpu or steps.
-- @param from_ns BIGINT Start of a range, ns since the run's origin.
-- @param to_ns BIGINT End of a range, ns since the run's origin.
-- @column run_id id key The run.
-- @column device_id id key Device; NULL where the kernels name none.
-- @column name text key Name of the kernels; NULL for group_by device.
-- @column kernel_count count neutral Kernels that run in the window.
-- @column kernel_sum_ns ns neutral Sum of their durations in the window.
-- @column stated_count count neutral Those that state their blocks per SM.
-- @column blocks_per_sm value higher Mean blocks per SM, by duration.
-- @column min_blocks_per_sm value higher Least.
-- @column warps_per_sm value higher Mean warps per SM, by duration.
-- @column est_occupancy_pct pct higher Mean estimated achieved occupancy, by duration.
-- @column few_blocks_ns ns lower Sum of durations of kernels with fewer blocks than
--     SMs; NULL where none states its blocks.
-- @column few_blocks_pct pct lower That time, of kernel_sum_ns.
-- @column sm_busy_ns ns higher The integral: time as if all SMs had work.
-- @column sm_efficiency_pct pct higher That time, of the window.
-- @column window_name text neutral capture, gpu, steps or range.
-- @column window_start_ns ns neutral Start of the window, ns since the run's origin.
-- @column window_end_ns ns neutral End of the window, ns since the run's origin.
-- @key run_id, device_id, name
-- @chart bar x=sm_efficiency_pct y=name
-- @requires kernel Record GPU kernels: torch.profiler with ProfilerActivity.CUDA on an
--     NVIDIA device states blocks per SM and occupancy.
-- @since 0.2
CREATE MACRO occupancy(
    group_by VARCHAR := 'device', time_window VARCHAR := 'capture',
    from_ns BIGINT := NULL, to_ns BIGINT := NULL
) AS TABLE
WITH windows AS (
    SELECT run_id, window_name, window_start_ns, window_end_ns
    FROM v1._windows(time_window := time_window, from_ns := from_ns, to_ns := to_ns)
),
-- Blocks in billionths, so that the running sum is exact.
kernels AS NOT MATERIALIZED (
    SELECT
        kernel.run_id, kernel.device_id,
        CASE group_by
            WHEN 'device' THEN NULL
            WHEN 'name' THEN kernel.name
            WHEN 'short_name' THEN kernel.short_name
            ELSE error('group_by must be device, name or short_name')
        END AS label,
        greatest(kernel.ts_ns, windows.window_start_ns) AS start_ns,
        least(
            kernel.ts_ns + CASE WHEN kernel.dur_ns > 0 THEN kernel.dur_ns ELSE 0 END,
            windows.window_end_ns
        ) AS end_ns,
        CASE
            WHEN isfinite(kernel.blocks_per_sm) AND kernel.blocks_per_sm > 0
                THEN kernel.blocks_per_sm
        END AS blocks_per_sm,
        CASE
            WHEN isfinite(kernel.warps_per_sm) AND kernel.warps_per_sm > 0
                THEN kernel.warps_per_sm
        END AS warps_per_sm,
        CASE
            WHEN isfinite(kernel.est_occupancy_pct) AND kernel.est_occupancy_pct >= 0
                THEN kernel.est_occupancy_pct
        END AS est_occupancy_pct
    FROM kernel
    JOIN windows ON kernel.run_id = windows.run_id
    WHERE kernel.ts_ns < windows.window_end_ns
        AND kernel.ts_ns + greatest(coalesce(kernel.dur_ns, 0), 0)
            > windows.window_start_ns
        OR coalesce(kernel.dur_ns, 0) <= 0
        AND kernel.ts_ns BETWEEN windows.window_start_ns AND windows.window_end_ns
),
moments AS (
    SELECT
        run_id, device_id, label, unnest([start_ns, end_ns]) AS at_ns,
        unnest([blocks, -blocks]) AS change
    FROM (
        SELECT
            run_id, device_id, label, start_ns, end_ns,
            CAST(round(least(blocks_per_sm, 1e6) * 1e9) AS BIGINT) AS blocks
        FROM kernels
        WHERE blocks_per_sm IS NOT NULL AND end_ns > start_ns
    )
),
-- Within a tie the running sum means nothing, and has no time.
swept AS (
    SELECT
        run_id, device_id, label,
        sum(change) OVER (so_far ROWS UNBOUNDED PRECEDING) AS blocks,
        lead(at_ns) OVER so_far - at_ns AS time_ns
    FROM moments
    WINDOW so_far AS (PARTITION BY run_id, device_id, label ORDER BY at_ns)
),
integrals AS (
    SELECT
        run_id, device_id, label,
        sum(time_ns * least(blocks, 1000000000)) / 1e9 AS sm_busy_ns
    FROM swept
    WHERE time_ns > 0
    GROUP BY run_id, device_id, label
),
totals AS (
    SELECT
        run_id, device_id, label, count(*) AS kernel_count,
        CAST(sum(end_ns - start_ns) AS BIGINT) AS kernel_sum_ns,
        count(blocks_per_sm) AS stated_count,
        sum(blocks_per_sm * (end_ns - start_ns)) / nullif(
            sum(end_ns - start_ns) FILTER (blocks_per_sm IS NOT NULL), 0
        ) AS blocks_per_sm,
        min(blocks_per_sm) AS min_blocks_per_sm,
        sum(warps_per_sm * (end_ns - start_ns)) / nullif(
            sum(end_ns - start_ns) FILTER (warps_per_sm IS NOT NULL), 0
        ) AS warps_per_sm,
        sum(est_occupancy_pct * (end_ns - start_ns)) / nullif(
            sum(end_ns - start_ns) FILTER (est_occupancy_pct IS NOT NULL), 0
        ) AS est_occupancy_pct,
        CAST(sum(CASE
            WHEN blocks_per_sm < 1 THEN end_ns - start_ns
            WHEN blocks_per_sm >= 1 THEN 0
        END) AS BIGINT) AS few_blocks_ns
    FROM kernels
    GROUP BY run_id, device_id, label
)
SELECT
    totals.run_id, totals.device_id, totals.label AS name, totals.kernel_count,
    totals.kernel_sum_ns, totals.stated_count, totals.blocks_per_sm,
    totals.min_blocks_per_sm, totals.warps_per_sm, totals.est_occupancy_pct,
    totals.few_blocks_ns,
    100.0 * totals.few_blocks_ns / nullif(totals.kernel_sum_ns, 0) AS few_blocks_pct,
    integrals.sm_busy_ns,
    100.0 * integrals.sm_busy_ns / (windows.window_end_ns - windows.window_start_ns)
        AS sm_efficiency_pct,
    windows.window_name, windows.window_start_ns, windows.window_end_ns
FROM totals
JOIN windows ON totals.run_id = windows.run_id
LEFT JOIN integrals
    ON totals.run_id = integrals.run_id
    AND totals.device_id IS NOT DISTINCT FROM integrals.device_id
    AND totals.label IS NOT DISTINCT FROM integrals.label
ORDER BY totals.run_id, totals.device_id, totals.kernel_sum_ns DESC, totals.label;
