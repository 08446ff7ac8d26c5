-- @title Run summary
-- One row per run: what was captured, how busy its devices were, and where their time
-- went. Each device that ran anything contributes the whole window to device_window_ns;
-- compute, exposed communication, exposed copies and idle time part it without overlap,
-- so that their shares add up to 100. Compute is kernels other than communication, and
-- CUDA graphs traced as a whole; an operation is clipped to the window. Counts, sums
-- and bytes are those of the operations that start in it.
-- @param time_window VARCHAR capture, gpu or steps.
-- @param from_ns BIGINT Start of a range, ns since the run's origin.
-- @param to_ns BIGINT End of a range, ns since the run's origin.
-- @column run_id id key The run.
-- @column label text neutral Name that the user gave it.
-- @column tool text neutral Profiler.
-- @column tool_version text neutral Version of the profiler.
-- @column framework text neutral Framework that ran.
-- @column rank id neutral Rank of the process in its job.
-- @column devices text neutral Names of the devices that ran anything.
-- @column device_count count neutral Devices that ran anything.
-- @column kernel_count count neutral Kernels.
-- @column orphan_kernel_count count lower Kernels whose launch is not in the capture.
-- @column graph_launch_count count neutral CUDA graphs traced as a whole.
-- @column memcpy_count count neutral Copies.
-- @column memset_count count neutral Fills.
-- @column api_call_count count neutral Host API calls in the capture.
-- @column annotation_count count neutral Ranges and marks in the capture.
-- @column op_count count neutral Framework operations in the capture.
-- @column kernel_sum_ns ns lower Sum of kernel and graph durations (overlaps add).
-- @column kernel_busy_ns ns neutral Time in which a kernel or graph ran: union per
--     device, added over devices.
-- @column gpu_busy_ns ns neutral Time in which any operation ran: union per device,
--     added over devices.
-- @column device_window_ns ns neutral Length of the window times device_count.
-- @column gpu_busy_pct pct higher gpu_busy_ns over device_window_ns.
-- @column compute_pct pct higher Time in which compute ran (union), over
--     device_window_ns.
-- @column exposed_communication_pct pct lower Time in which communication ran and no
--     compute, over device_window_ns.
-- @column exposed_copy_pct pct lower Time in which copies or fills ran and no kernel,
--     over device_window_ns.
-- @column idle_pct pct lower Time in which nothing ran, over device_window_ns.
-- @column largest_loss text neutral The largest of idle, exposed_copy and
--     exposed_communication; NULL when compute fills the window, or nothing ran.
-- @column largest_loss_pct pct lower Its share of device_window_ns.
-- @column h2d_bytes bytes neutral Bytes copied from host to device.
-- @column d2h_bytes bytes neutral Bytes copied from device to host.
-- @column iteration_count count neutral Iterations in the capture: the source's own, or
--     annotations such as "iteration 7".
-- @column median_iteration_ns ns lower Their median duration.
-- @column warning_count count lower Kinds of warnings that the import raised.
-- @column data_loss_count count lower Kinds of data loss and errors in the import.
-- @column window_name text neutral capture, gpu, steps or range.
-- @column window_start_ns ns neutral Start of the window, ns since the run's origin.
-- @column window_end_ns ns neutral End of the window, ns since the run's origin.
-- @key run_id
-- @requires run Import a capture: traceql ingest FILE
-- @since 0.1
CREATE MACRO run_summary(
    time_window VARCHAR := 'capture',
    from_ns BIGINT := NULL,
    to_ns BIGINT := NULL
) AS TABLE
WITH windows AS (
    SELECT run_id, window_name, window_start_ns, window_end_ns
    FROM v1._windows(time_window := time_window, from_ns := from_ns, to_ns := to_ns)
),
-- Clipped to the window as in _gpu_spans; what only touches it tells its device.
used AS MATERIALIZED (
    SELECT
        run_id, device_id, bool_or(end_ns > start_ns) AS has_time,
        sum(end_ns - least(end_ns, greatest(busy_from_ns, window_start_ns)))
            FILTER (end_ns > start_ns) AS any_ns,
        sum(end_ns - least(end_ns, greatest(kernel_from_ns, window_start_ns)))
            FILTER (end_ns > start_ns AND kernel_from_ns IS NOT NULL) AS kernel_ns,
        sum(end_ns - least(end_ns, greatest(compute_from_ns, window_start_ns)))
            FILTER (end_ns > start_ns AND compute_from_ns IS NOT NULL) AS compute_ns
    FROM (
        SELECT
            op.run_id, op.device_id, op.busy_from_ns, op.kernel_from_ns,
            op.compute_from_ns, windows.window_start_ns,
            greatest(op.start_ns, windows.window_start_ns) AS start_ns,
            least(op.end_ns, windows.window_end_ns) AS end_ns
        FROM v1._gpu_sweep() AS op
        JOIN windows
            ON op.run_id = windows.run_id AND op.start_ns <= windows.window_end_ns
            AND op.end_ns >= windows.window_start_ns
    )
    GROUP BY run_id, device_id
),
busy AS (
    SELECT
        run_id, count(DISTINCT coalesce(device_id, -1)) AS device_count,
        sum(any_ns) AS any_ns, sum(kernel_ns) AS kernel_ns,
        sum(compute_ns) AS compute_ns
    FROM used
    WHERE has_time
    GROUP BY run_id
),
ops AS (
    SELECT
        run_id, ts_ns, dur_ns, 'kernel' AS op_kind, NULL AS kind, NULL AS bytes,
        api_call_id IS NULL AS is_orphan
    FROM kernel
    UNION ALL
    SELECT run_id, ts_ns, dur_ns, 'graph', NULL, NULL, false FROM graph_launch
    UNION ALL
    SELECT run_id, ts_ns, NULL, 'memcpy', kind, bytes, false FROM memcpy
    UNION ALL
    SELECT run_id, ts_ns, NULL, 'memset', NULL, NULL, false FROM memset
),
counts AS (
    SELECT
        ops.run_id,
        count(*) FILTER (op_kind = 'kernel') AS kernel_count,
        count(*) FILTER (is_orphan) AS orphan_kernel_count,
        count(*) FILTER (op_kind = 'graph') AS graph_launch_count,
        count(*) FILTER (op_kind = 'memcpy') AS memcpy_count,
        count(*) FILTER (op_kind = 'memset') AS memset_count,
        sum(dur_ns) FILTER (dur_ns >= 0) AS kernel_sum_ns,
        sum(bytes) FILTER (kind = 'H2D') AS h2d_bytes,
        sum(bytes) FILTER (kind = 'D2H') AS d2h_bytes
    FROM ops
    INNER JOIN windows
        ON ops.run_id = windows.run_id
        AND ops.ts_ns >= windows.window_start_ns
        AND (
            ops.ts_ns < windows.window_end_ns
            OR ops.ts_ns = windows.window_end_ns AND windows.window_name <> 'range'
        )
    GROUP BY ops.run_id
),
devices AS (
    SELECT
        used.run_id,
        string_agg(DISTINCT device.name, ', ' ORDER BY device.name) AS names
    FROM used
    INNER JOIN device
        ON used.run_id = device.run_id AND used.device_id = device.device_id
    GROUP BY used.run_id
),
calls AS (
    SELECT run_id, count(*) AS call_count FROM api_call GROUP BY run_id
),
annotations AS (
    SELECT run_id, count(*) AS annotation_count FROM annotation GROUP BY run_id
),
framework_ops AS (
    SELECT run_id, count(*) AS op_count FROM op GROUP BY run_id
),
stepped AS (
    SELECT run_id, median(end_ns - start_ns) AS median_iteration_ns
    FROM v1._iterations(pattern := NULL)
    GROUP BY run_id
),
-- Devices that state the same steps have them together.
counted AS (
    SELECT run_id, pid, max(step_count) AS step_count
    FROM (
        SELECT run_id, pid, device_id, count(*) AS step_count
        FROM v1._iterations(pattern := NULL)
        GROUP BY run_id, pid, device_id
    )
    GROUP BY run_id, pid
),
iterations AS (
    SELECT
        counted.run_id, CAST(sum(counted.step_count) AS BIGINT) AS iteration_count,
        any_value(stepped.median_iteration_ns) AS median_iteration_ns
    FROM counted
    JOIN stepped ON counted.run_id = stepped.run_id
    GROUP BY counted.run_id
),
findings AS (
    SELECT
        run_id,
        count(*) FILTER (severity = 'warning') AS warning_count,
        count(*) FILTER (severity IN ('data_loss', 'error')) AS data_loss_count
    FROM diagnostic
    GROUP BY run_id
),
shares AS (
    SELECT
        windows.run_id,
        windows.window_name,
        windows.window_start_ns,
        windows.window_end_ns,
        coalesce(busy.device_count, 0) AS device_count,
        coalesce(busy.any_ns, 0) AS any_ns,
        coalesce(busy.kernel_ns, 0) AS kernel_ns,
        coalesce(busy.compute_ns, 0) AS compute_ns,
        busy.device_count * (windows.window_end_ns - windows.window_start_ns)
            AS device_window_ns
    FROM windows
    LEFT JOIN busy ON windows.run_id = busy.run_id
),
parts AS (
    SELECT
        run_id, window_name, window_start_ns, window_end_ns, device_count, any_ns,
        kernel_ns, device_window_ns,
        100.0 * any_ns / device_window_ns AS gpu_busy_pct,
        100.0 * compute_ns / device_window_ns AS compute_pct,
        100.0 * (kernel_ns - compute_ns) / device_window_ns
            AS exposed_communication_pct,
        100.0 * (any_ns - kernel_ns) / device_window_ns AS exposed_copy_pct,
        100.0 * (device_window_ns - any_ns) / device_window_ns AS idle_pct,
        CASE
            WHEN device_window_ns IS NULL OR compute_ns = device_window_ns THEN NULL
            WHEN device_window_ns - any_ns
                >= greatest(any_ns - kernel_ns, kernel_ns - compute_ns) THEN 'idle'
            WHEN any_ns - kernel_ns >= kernel_ns - compute_ns THEN 'exposed_copy'
            ELSE 'exposed_communication'
        END AS largest_loss
    FROM shares
)
SELECT
    run.run_id,
    run.label,
    run.tool,
    run.tool_version,
    run.framework,
    run.rank,
    devices.names AS devices,
    coalesce(parts.device_count, 0) AS device_count,
    coalesce(counts.kernel_count, 0) AS kernel_count,
    coalesce(counts.orphan_kernel_count, 0) AS orphan_kernel_count,
    coalesce(counts.graph_launch_count, 0) AS graph_launch_count,
    coalesce(counts.memcpy_count, 0) AS memcpy_count,
    coalesce(counts.memset_count, 0) AS memset_count,
    coalesce(calls.call_count, 0) AS api_call_count,
    coalesce(annotations.annotation_count, 0) AS annotation_count,
    coalesce(framework_ops.op_count, 0) AS op_count,
    coalesce(counts.kernel_sum_ns, 0)::BIGINT AS kernel_sum_ns,
    coalesce(parts.kernel_ns, 0)::BIGINT AS kernel_busy_ns,
    coalesce(parts.any_ns, 0)::BIGINT AS gpu_busy_ns,
    parts.device_window_ns::BIGINT AS device_window_ns,
    parts.gpu_busy_pct,
    parts.compute_pct,
    parts.exposed_communication_pct,
    parts.exposed_copy_pct,
    parts.idle_pct,
    parts.largest_loss,
    CASE parts.largest_loss
        WHEN 'idle' THEN parts.idle_pct
        WHEN 'exposed_copy' THEN parts.exposed_copy_pct
        WHEN 'exposed_communication' THEN parts.exposed_communication_pct
    END AS largest_loss_pct,
    TRY_CAST(coalesce(counts.h2d_bytes, 0) AS BIGINT) AS h2d_bytes,
    TRY_CAST(coalesce(counts.d2h_bytes, 0) AS BIGINT) AS d2h_bytes,
    coalesce(iterations.iteration_count, 0) AS iteration_count,
    iterations.median_iteration_ns,
    coalesce(findings.warning_count, 0) AS warning_count,
    coalesce(findings.data_loss_count, 0) AS data_loss_count,
    parts.window_name,
    parts.window_start_ns,
    parts.window_end_ns
FROM run
LEFT JOIN parts ON run.run_id = parts.run_id
LEFT JOIN counts ON run.run_id = counts.run_id
LEFT JOIN devices ON run.run_id = devices.run_id
LEFT JOIN calls ON run.run_id = calls.run_id
LEFT JOIN annotations ON run.run_id = annotations.run_id
LEFT JOIN framework_ops ON run.run_id = framework_ops.run_id
LEFT JOIN iterations ON run.run_id = iterations.run_id
LEFT JOIN findings ON run.run_id = findings.run_id
ORDER BY run.run_id;
