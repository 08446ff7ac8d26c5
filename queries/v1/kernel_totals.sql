-- @title Kernel totals
-- Kernels by name: how often, how long, and what share. Durations are summed, so time
-- at which kernels ran at once counts more than once; kernels that start in the window
-- count whole. Equals cuda_gpu_kern_sum of nsys stats (group_by short_name: its :base,
-- mangled_name: its :mangled, name_grid_block: cuda_gpu_kern_gb_sum). Quantiles are
-- exact, by linear interpolation; the standard deviation is the sample's, 0 for one.
-- @param top BIGINT Rows per run (and device), by total time; NULL for all.
-- @param group_by VARCHAR name, short_name, mangled_name or name_grid_block.
-- @param per_device BOOLEAN True for one set of rows, and of shares, per device.
-- @param time_window VARCHAR capture, gpu or steps.
-- @param from_ns BIGINT Start of a range, ns since the run's origin.
-- @param to_ns BIGINT End of a range, ns since the run's origin.
-- @column run_id id key The run.
-- @column device_id id key Device; NULL for all unless per_device.
-- @column name text key Name of the kernel, in the form that group_by asks for.
-- @column grid text key Blocks x,y,z; NULL unless name_grid_block.
-- @column block text key Threads x,y,z; NULL unless name_grid_block.
-- @column short_name text neutral Name without template and argument types.
-- @column kernel_count count neutral Executions.
-- @column total_ns ns lower Sum of durations.
-- @column sum_pct pct neutral total_ns over the sum of all kernels in the window.
-- @column busy_pct pct neutral total_ns over the time in which any kernel ran (union
--     per device, added over devices); above 100 where a kernel runs beside itself.
-- @column mean_ns ns lower Mean duration.
-- @column median_ns ns lower Median duration.
-- @column min_ns ns lower Shortest.
-- @column max_ns ns lower Longest.
-- @column stddev_ns ns lower Standard deviation of the durations.
-- @column q1_ns ns lower First quartile of the durations.
-- @column q3_ns ns lower Third quartile of the durations.
-- @column window_name text neutral capture, gpu, steps or range.
-- @column window_start_ns ns neutral Start of the window, ns since the run's origin.
-- @column window_end_ns ns neutral End of the window, ns since the run's origin.
-- @key run_id, device_id, name, grid, block
-- @chart bar x=total_ns y=short_name
-- @requires kernel Record GPU work: nsys profile -t cuda,nvtx, or a PyTorch profiler
--     with ProfilerActivity.CUDA.
-- @since 0.1
CREATE MACRO kernel_totals(
    top BIGINT := NULL,
    group_by VARCHAR := 'name',
    per_device BOOLEAN := false,
    time_window VARCHAR := 'capture',
    from_ns BIGINT := NULL,
    to_ns BIGINT := NULL
) AS TABLE
WITH windows AS (
    SELECT run_id, window_name, window_start_ns, window_end_ns
    FROM v1._windows(time_window := time_window, from_ns := from_ns, to_ns := to_ns)
),
kernels AS NOT MATERIALIZED (
    SELECT
        kernel.run_id,
        kernel.device_id AS on_device,
        CASE WHEN per_device THEN kernel.device_id END AS device_id,
        CASE group_by
            WHEN 'name' THEN kernel.name
            WHEN 'short_name' THEN kernel.short_name
            WHEN 'mangled_name' THEN coalesce(kernel.mangled_name, kernel.name)
            WHEN 'name_grid_block' THEN kernel.name
            ELSE error(
                'group_by must be name, short_name, mangled_name or name_grid_block'
            )
        END AS name,
        CASE WHEN group_by = 'name_grid_block' THEN concat_ws(
            ',', kernel.grid_x, kernel.grid_y, kernel.grid_z
        ) END AS grid,
        CASE WHEN group_by = 'name_grid_block' THEN concat_ws(
            ',', kernel.block_x, kernel.block_y, kernel.block_z
        ) END AS block,
        kernel.short_name,
        kernel.ts_ns,
        CASE WHEN kernel.dur_ns >= 0 THEN kernel.dur_ns END AS dur_ns
    FROM kernel
    INNER JOIN windows
        ON kernel.run_id = windows.run_id
        AND kernel.ts_ns >= windows.window_start_ns
        AND (
            kernel.ts_ns < windows.window_end_ns
            OR kernel.ts_ns = windows.window_end_ns AND windows.window_name <> 'range'
        )
),
reached AS (
    SELECT
        run_id, device_id, ts_ns, dur_ns,
        max(ts_ns + dur_ns) OVER (
            PARTITION BY run_id, on_device ORDER BY ts_ns
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS earlier_end_ns
    FROM kernels
),
busy AS (
    SELECT
        run_id, device_id,
        sum(dur_ns) AS sum_ns,
        sum(greatest(
            0, ts_ns + dur_ns - greatest(ts_ns, coalesce(earlier_end_ns, ts_ns))
        )) AS busy_ns
    FROM reached
    GROUP BY run_id, device_id
),
totals AS (
    SELECT
        run_id, device_id, name, grid, block,
        any_value(short_name) AS short_name,
        count(*) AS kernel_count,
        sum(dur_ns) AS total_ns,
        avg(dur_ns) AS mean_ns,
        quantile_cont(dur_ns, [0.25, 0.5, 0.75]) AS quartiles_ns,
        min(dur_ns) AS min_ns,
        max(dur_ns) AS max_ns,
        CASE WHEN count(dur_ns) = 1 THEN 0 ELSE stddev_samp(dur_ns) END AS stddev_ns
    FROM kernels
    GROUP BY run_id, device_id, name, grid, block
)
SELECT
    totals.run_id,
    totals.device_id,
    totals.name,
    totals.grid,
    totals.block,
    totals.short_name,
    totals.kernel_count,
    totals.total_ns::BIGINT AS total_ns,
    100.0 * totals.total_ns / nullif(busy.sum_ns, 0) AS sum_pct,
    100.0 * totals.total_ns / nullif(busy.busy_ns, 0) AS busy_pct,
    totals.mean_ns,
    totals.quartiles_ns[2] AS median_ns,
    totals.min_ns,
    totals.max_ns,
    totals.stddev_ns,
    totals.quartiles_ns[1] AS q1_ns,
    totals.quartiles_ns[3] AS q3_ns,
    windows.window_name,
    windows.window_start_ns,
    windows.window_end_ns
FROM totals
INNER JOIN busy
    ON totals.run_id = busy.run_id
    AND totals.device_id IS NOT DISTINCT FROM busy.device_id
INNER JOIN windows ON totals.run_id = windows.run_id
QUALIFY top IS NULL OR top >= row_number() OVER (
    PARTITION BY totals.run_id, totals.device_id
    ORDER BY totals.total_ns DESC NULLS LAST, totals.name, totals.grid, totals.block
)
ORDER BY
    totals.run_id, totals.device_id, totals.total_ns DESC NULLS LAST,
    totals.name, totals.grid, totals.block;
