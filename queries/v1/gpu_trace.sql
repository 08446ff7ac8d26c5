-- @title GPU trace
-- One row per GPU operation, in time order: kernels, copies, fills, and CUDA graphs
-- traced as a whole. Operations that start in the window, whole. Equals cuda_gpu_trace
-- of nsys stats but for the throughput, which is exact here and divided in integers
-- there, for a fill's memory, which is its destination here and its source there, and
-- for the names of copies and fills.
-- @param top BIGINT Only the longest so many of each run; NULL for all.
-- @param time_window VARCHAR capture, gpu or steps.
-- @param from_ns BIGINT Start of a range, ns since the run's origin.
-- @param to_ns BIGINT End of a range, ns since the run's origin.
-- @column run_id id key The run.
-- @column gpu_op_id id key kernel_id, memcpy_id, memset_id or graph_launch_id.
-- @column op_kind text neutral kernel, memcpy, memset or graph.
-- @column start_ns ns neutral Start, ns since the run's origin.
-- @column dur_ns ns lower Duration.
-- @column correlation_id id neutral Number shared with the host call, per process.
-- @column grid_x dim neutral Blocks, x.
-- @column grid_y dim neutral Blocks, y.
-- @column grid_z dim neutral Blocks, z.
-- @column block_x dim neutral Threads of a block, x.
-- @column block_y dim neutral Threads of a block, y.
-- @column block_z dim neutral Threads of a block, z.
-- @column registers_per_thread dim neutral Registers of a thread.
-- @column static_shared_memory_bytes bytes neutral Static shared memory of a block.
-- @column dynamic_shared_memory_bytes bytes neutral Dynamic shared memory of a block.
-- @column bytes bytes neutral Bytes copied or filled.
-- @column throughput_gb_per_s gb_per_s higher bytes over dur_ns; NULL at zero time.
-- @column src_memory text neutral Memory copied from: pageable, pinned, device, ...
-- @column dst_memory text neutral Memory copied to or filled.
-- @column device_id id neutral Device.
-- @column device_name text neutral Product name of the device.
-- @column context_id id neutral Context.
-- @column green_context_id id neutral Green context.
-- @column stream_id id neutral Stream within the context.
-- @column pid id neutral Process.
-- @column name text neutral Kernel name; memcpy and its direction; memset; CUDA graph.
-- @column window_name text neutral capture, gpu, steps or range.
-- @key run_id, gpu_op_id
-- @requires gpu_op Record GPU work: nsys profile -t cuda,nvtx, or a PyTorch profiler
--     with ProfilerActivity.CUDA.
-- @since 0.1
CREATE MACRO gpu_trace(
    top BIGINT := NULL,
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
        run_id, kernel_id AS gpu_op_id, 'kernel' AS op_kind, ts_ns, dur_ns,
        correlation_id, grid_x, grid_y, grid_z, block_x, block_y, block_z,
        registers_per_thread, static_shared_memory_bytes, dynamic_shared_memory_bytes,
        CAST(NULL AS BIGINT) AS bytes,
        CAST(NULL AS VARCHAR) AS src_memory, CAST(NULL AS VARCHAR) AS dst_memory,
        device_id, context_id, green_context_id, stream_id, pid, name
    FROM kernel
    UNION ALL BY NAME
    SELECT
        run_id, memcpy_id AS gpu_op_id, 'memcpy' AS op_kind, ts_ns, dur_ns,
        correlation_id, bytes, src_memory, dst_memory,
        device_id, context_id, green_context_id, stream_id, pid,
        'memcpy ' || kind AS name
    FROM memcpy
    UNION ALL BY NAME
    SELECT
        run_id, memset_id AS gpu_op_id, 'memset' AS op_kind, ts_ns, dur_ns,
        correlation_id, bytes, memory_kind AS dst_memory,
        device_id, context_id, green_context_id, stream_id, pid, 'memset' AS name
    FROM memset
    UNION ALL BY NAME
    SELECT
        run_id, graph_launch_id AS gpu_op_id, 'graph' AS op_kind, ts_ns, dur_ns,
        correlation_id, device_id, context_id, green_context_id, stream_id, pid,
        concat('CUDA graph ', graph_exec_id) AS name
    FROM graph_launch
),
longest AS (
    SELECT ops.run_id, ops.gpu_op_id
    FROM ops
    INNER JOIN windows
        ON ops.run_id = windows.run_id
        AND ops.ts_ns >= windows.window_start_ns
        AND (
            ops.ts_ns < windows.window_end_ns
            OR ops.ts_ns = windows.window_end_ns AND windows.window_name <> 'range'
        )
    QUALIFY top >= row_number() OVER (
        PARTITION BY ops.run_id ORDER BY ops.dur_ns DESC NULLS LAST, ops.gpu_op_id
    )
)
SELECT
    ops.run_id,
    ops.gpu_op_id,
    ops.op_kind,
    ops.ts_ns AS start_ns,
    ops.dur_ns,
    ops.correlation_id,
    ops.grid_x,
    ops.grid_y,
    ops.grid_z,
    ops.block_x,
    ops.block_y,
    ops.block_z,
    ops.registers_per_thread,
    ops.static_shared_memory_bytes,
    ops.dynamic_shared_memory_bytes,
    ops.bytes,
    CASE WHEN ops.dur_ns > 0 THEN ops.bytes / ops.dur_ns END AS throughput_gb_per_s,
    ops.src_memory,
    ops.dst_memory,
    ops.device_id,
    device.name AS device_name,
    ops.context_id,
    ops.green_context_id,
    ops.stream_id,
    ops.pid,
    ops.name,
    windows.window_name
FROM ops
INNER JOIN windows
    ON ops.run_id = windows.run_id
    AND ops.ts_ns >= windows.window_start_ns
    AND (
        ops.ts_ns < windows.window_end_ns
        OR ops.ts_ns = windows.window_end_ns AND windows.window_name <> 'range'
    )
LEFT JOIN device ON ops.run_id = device.run_id AND ops.device_id = device.device_id
WHERE top IS NULL
    OR (ops.run_id, ops.gpu_op_id) IN (SELECT run_id, gpu_op_id FROM longest)
ORDER BY ops.run_id, start_ns, ops.gpu_op_id;
