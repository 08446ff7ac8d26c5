-- @title Kernel trace
-- One row per kernel execution, in time order: when, where, how launched, how large.
-- Kernels that start in the window, whole. The launch delay is signed: below zero where
-- the clocks of host and device disagree.
-- @param top BIGINT Only the longest so many of each run; NULL for all.
-- @param name_pattern VARCHAR Regular expression to find in the name; NULL for all.
-- @param time_window VARCHAR capture, gpu or steps.
-- @param from_ns BIGINT Start of a range, ns since the run's origin.
-- @param to_ns BIGINT End of a range, ns since the run's origin.
-- @column run_id id key The run.
-- @column kernel_id id key The kernel execution: kernel.kernel_id.
-- @column start_ns ns neutral Start, ns since the run's origin.
-- @column dur_ns ns lower Duration.
-- @column name text neutral Demangled name.
-- @column short_name text neutral Name without template and argument types.
-- @column device_id id neutral Device.
-- @column context_id id neutral Context.
-- @column stream_id id neutral Stream within the context.
-- @column pid id neutral Process.
-- @column correlation_id id neutral Number shared with the host call, per process.
-- @column launch_ts_ns ns neutral Start of the launching host call; NULL for an orphan.
-- @column launch_delay_ns ns lower start_ns minus launch_ts_ns.
-- @column grid_x dim neutral Blocks, x.
-- @column grid_y dim neutral Blocks, y.
-- @column grid_z dim neutral Blocks, z.
-- @column block_x dim neutral Threads of a block, x.
-- @column block_y dim neutral Threads of a block, y.
-- @column block_z dim neutral Threads of a block, z.
-- @column registers_per_thread dim neutral Registers of a thread.
-- @column static_shared_memory_bytes bytes neutral Static shared memory of a block.
-- @column dynamic_shared_memory_bytes bytes neutral Dynamic shared memory of a block.
-- @column local_memory_per_thread_bytes bytes neutral Local memory of a thread.
-- @column est_occupancy_pct pct higher Estimated occupancy, as the source states it, of
--     the warps that an SM can hold.
-- @column graph_node_id id neutral Node of a CUDA graph; NULL outside graphs.
-- @column window_name text neutral capture, gpu, steps or range.
-- @key run_id, kernel_id
-- @requires kernel Record GPU work: nsys profile -t cuda,nvtx, or a PyTorch profiler
--     with ProfilerActivity.CUDA.
-- @since 0.1
CREATE MACRO kernel_trace(
    top BIGINT := NULL,
    name_pattern VARCHAR := NULL,
    time_window VARCHAR := 'capture',
    from_ns BIGINT := NULL,
    to_ns BIGINT := NULL
) AS TABLE
WITH windows AS (
    SELECT run_id, window_name, window_start_ns, window_end_ns
    FROM v1._windows(time_window := time_window, from_ns := from_ns, to_ns := to_ns)
),
chosen AS (
    SELECT kernel.run_id, kernel.kernel_id, kernel.dur_ns
    FROM kernel
    INNER JOIN windows
        ON kernel.run_id = windows.run_id
        AND kernel.ts_ns >= windows.window_start_ns
        AND (
            kernel.ts_ns < windows.window_end_ns
            OR kernel.ts_ns = windows.window_end_ns AND windows.window_name <> 'range'
        )
    WHERE name_pattern IS NULL OR regexp_extract(kernel.name, name_pattern) <> ''
),
longest AS (
    SELECT run_id, kernel_id
    FROM chosen
    QUALIFY top >= row_number() OVER (
        PARTITION BY run_id ORDER BY dur_ns DESC NULLS LAST, kernel_id
    )
)
SELECT
    kernel.run_id,
    kernel.kernel_id,
    kernel.ts_ns AS start_ns,
    kernel.dur_ns,
    kernel.name,
    kernel.short_name,
    kernel.device_id,
    kernel.context_id,
    kernel.stream_id,
    kernel.pid,
    kernel.correlation_id,
    kernel.launch_ts_ns,
    kernel.ts_ns - kernel.launch_ts_ns AS launch_delay_ns,
    kernel.grid_x,
    kernel.grid_y,
    kernel.grid_z,
    kernel.block_x,
    kernel.block_y,
    kernel.block_z,
    kernel.registers_per_thread,
    kernel.static_shared_memory_bytes,
    kernel.dynamic_shared_memory_bytes,
    kernel.local_memory_per_thread_bytes,
    kernel.est_occupancy_pct,
    kernel.graph_node_id,
    windows.window_name
FROM kernel
INNER JOIN windows
    ON kernel.run_id = windows.run_id
    AND kernel.ts_ns >= windows.window_start_ns
    AND (
        kernel.ts_ns < windows.window_end_ns
        OR kernel.ts_ns = windows.window_end_ns AND windows.window_name <> 'range'
    )
WHERE (name_pattern IS NULL OR regexp_extract(kernel.name, name_pattern) <> '')
    AND (
        top IS NULL
        OR (kernel.run_id, kernel.kernel_id) IN (SELECT run_id, kernel_id FROM longest)
    )
ORDER BY kernel.run_id, start_ns, kernel.kernel_id;
