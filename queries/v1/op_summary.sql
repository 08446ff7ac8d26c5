-- @title Framework operations
-- Framework operations by name, type, name and shapes of the inputs, or module: how
-- often, and their time on the host and on devices. Self time of the host is without
-- nested operations and without the API calls that the operation makes (as PyTorch's
-- "self CPU" is); api_self_ns has those. Device time adds up the GPU operations that
-- were launched from it, whenever they ran: what overlaps counts each. Sums count an
-- operation within one of the same group again; host_union_ns counts that time once.
-- Operations that start in the window count whole. Equals torch-tb-profiler's operator
-- view, except that it counts an operation whose only child has its name as one call,
-- and gives GPU work without a call in the capture to no operation. TensorFlow's
-- profiler writes an operation on the host, on the device, or on both: a call of both
-- counts once, on the host. Its tensorflow_stats have the two apart and equal ours in
-- device time and, tf.data's iterators aside (they are annotations here), in time on
-- the host, where self time includes API calls; they count a device's operation as
-- often as the most frequent of its kernels ran.
-- @param group_by VARCHAR name, type, shape (name and input shapes) or module.
-- @param top BIGINT Rows per run, by self time on host and device; NULL for all.
-- @param time_window VARCHAR capture, gpu or steps.
-- @param from_ns BIGINT Start of a range, ns since the run's origin.
-- @param to_ns BIGINT End of a range, ns since the run's origin.
-- @column run_id id key The run.
-- @column label text key Name, type (the name where there is none) or module; NULL for
--     operations that have no module.
-- @column input_shapes text key Shapes of the inputs, for group_by shape; else NULL.
-- @column call_count count neutral Operations, without those placed on a device whose
--     name the host has too.
-- @column host_self_ns ns lower Host time without nested operations and API calls.
-- @column host_self_pct pct neutral That time, of the same of all operations in the
--     window.
-- @column host_sum_ns ns lower Sum of durations on the host.
-- @column host_union_ns ns lower Time of their threads in at least one of them.
-- @column host_mean_ns ns lower host_sum_ns by operation on the host; NULL without.
-- @column api_self_ns ns lower Time in the API calls that they make themselves.
-- @column device_self_ns ns lower Sum of the durations of GPU operations that they
--     launched themselves; of those placed on a device without any their own.
-- @column device_self_pct pct neutral That time, of the same of all operations in the
--     window.
-- @column device_sum_ns ns lower The same with nested operations.
-- @column gpu_op_count count neutral GPU operations that they launched themselves.
-- @column window_name text neutral capture, gpu, steps or range.
-- @column window_start_ns ns neutral Start of the window, ns since the run's origin.
-- @column window_end_ns ns neutral End of the window, ns since the run's origin.
-- @key run_id, label, input_shapes
-- @chart bar x=host_self_ns y=label
-- @requires op Record framework operations: torch.profiler with
--     ProfilerActivity.CPU (record_shapes=True for shapes, with_modules=True for
--     modules).
-- @since 0.2
CREATE MACRO op_summary(
    group_by VARCHAR := 'name', top BIGINT := NULL,
    time_window VARCHAR := 'capture', from_ns BIGINT := NULL, to_ns BIGINT := NULL
) AS TABLE
WITH windows AS (
    SELECT run_id, window_name, window_start_ns, window_end_ns
    FROM v1._windows(time_window := time_window, from_ns := from_ns, to_ns := to_ns)
),
-- What the host calls operations, in runs that place some on devices.
host_names AS (
    SELECT DISTINCT run_id, name
    FROM op
    WHERE placement IS DISTINCT FROM 'device'
        AND run_id IN (SELECT run_id FROM op WHERE placement = 'device')
),
labelled AS (
    SELECT
        run_id, op_id, hash(run_id, pid, tid) AS thread_hash,
        CASE group_by
            WHEN 'name' THEN name
            WHEN 'type' THEN coalesce(op_type, name)
            WHEN 'shape' THEN name
            WHEN 'module' THEN module
            ELSE error('group_by must be name, type, shape or module')
        END AS label,
        CASE WHEN group_by = 'shape' THEN CAST(input_shapes AS VARCHAR) END
            AS input_shapes,
        placement = 'device'
        AND (run_id, name) IN (SELECT (run_id, name) FROM host_names) AS is_repeat
    FROM op
),
costs AS MATERIALIZED (
    SELECT
        labelled.run_id, labelled.label, labelled.input_shapes, costs.start_ns,
        costs.end_ns, costs.is_device, costs.host_ns, costs.host_self_ns,
        costs.api_self_ns, costs.device_ns, costs.device_self_ns, costs.gpu_op_count,
        labelled.thread_hash, coalesce(labelled.is_repeat, false) AS is_repeat
    FROM v1._op_costs() AS costs
    JOIN labelled ON costs.run_id = labelled.run_id AND costs.op_id = labelled.op_id
    JOIN windows
        ON costs.run_id = windows.run_id AND costs.start_ns >= windows.window_start_ns
        AND (
            costs.start_ns < windows.window_end_ns
            OR costs.start_ns = windows.window_end_ns
            AND windows.window_name <> 'range'
        )
),
added AS (
    SELECT
        run_id, label, input_shapes, is_device, is_repeat, host_ns, host_self_ns,
        api_self_ns, device_ns, device_self_ns, gpu_op_count,
        CASE WHEN is_device THEN 0 ELSE greatest(0, end_ns - greatest(
            start_ns,
            max(end_ns) OVER (
                PARTITION BY thread_hash, is_device, label, input_shapes
                ORDER BY start_ns ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
            )
        )) END AS added_ns
    FROM costs
),
totals AS (
    SELECT
        run_id, label, input_shapes,
        count(*) FILTER (NOT is_repeat) AS call_count,
        nullif(count(*) FILTER (NOT is_device), 0) AS host_count,
        CAST(sum(host_self_ns) AS BIGINT) AS host_self_ns,
        CAST(sum(host_ns) AS BIGINT) AS host_sum_ns,
        CAST(sum(added_ns) AS BIGINT) AS host_union_ns,
        CAST(sum(api_self_ns) AS BIGINT) AS api_self_ns,
        CAST(sum(device_self_ns) AS BIGINT) AS device_self_ns,
        CAST(sum(device_ns) AS BIGINT) AS device_sum_ns,
        CAST(sum(gpu_op_count) AS BIGINT) AS gpu_op_count
    FROM added
    GROUP BY run_id, label, input_shapes
)
SELECT
    totals.run_id, totals.label, totals.input_shapes, totals.call_count,
    totals.host_self_ns,
    100.0 * totals.host_self_ns / nullif(
        sum(totals.host_self_ns) OVER (PARTITION BY totals.run_id), 0
    ) AS host_self_pct,
    totals.host_sum_ns, totals.host_union_ns,
    totals.host_sum_ns / totals.host_count AS host_mean_ns,
    totals.api_self_ns, totals.device_self_ns,
    100.0 * totals.device_self_ns / nullif(
        sum(totals.device_self_ns) OVER (PARTITION BY totals.run_id), 0
    ) AS device_self_pct,
    totals.device_sum_ns, totals.gpu_op_count, windows.window_name,
    windows.window_start_ns, windows.window_end_ns
FROM totals
JOIN windows ON totals.run_id = windows.run_id
QUALIFY top IS NULL OR top >= row_number() OVER (
    PARTITION BY totals.run_id
    ORDER BY
        totals.host_self_ns + totals.device_self_ns DESC, totals.label,
        totals.input_shapes
)
ORDER BY
    totals.run_id, totals.host_self_ns + totals.device_self_ns DESC, totals.label,
    totals.input_shapes;
