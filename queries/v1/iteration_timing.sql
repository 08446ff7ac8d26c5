-- @title Time of each iteration
-- Where the time of each iteration went, by device. An iteration owns the GPU
-- operations that its process launched between its start and its end, whenever they
-- ran: sums and unions are over their whole durations, and may reach past its end. Only
-- idle_ns is by execution: the wall time without what ran on the device meanwhile,
-- whoever launched it. Where the source states steps of devices and none of the host
-- (TensorFlow's lines "Steps"), a step is its device's alone: it owns what began there
-- in it, whenever that was launched, and has no row for another device. U is the union
-- of intervals, on one device; K: kernels and whole graph launches; C: communication
-- kernels; P: K without C (graph launches with it); M: copies and fills. Work that no
-- iteration launched (between iterations, before them, or of unknown launch) is a row
-- per device with NULL for the iteration. An iteration of the host has a row for each
-- device that its process used in the run. An iteration is an outlier when its wall
-- time is more than 1.05 times the median and more than 3 * 1.4826 median absolute
-- deviations above it, over all iterations of its process (a device's own: of that
-- device), of which there must be five: slow first iterations are outliers and move
-- neither figure.
-- @param pattern VARCHAR Regular expression that the names of annotations must match
--     to be iterations; NULL for the source's own iterations, else names such as
--     "iteration 7".
-- @param with_launch_count BOOLEAN False leaves launch_count NULL and saves a pass over
--     the operations.
-- @column run_id id key The run.
-- @column pid id key Process of the iteration; NULL where the source does not say it.
-- @column iteration id key Ordinal by time, from 0, in the process, or on the device
--     where steps are its own; NULL for the work that no iteration launched.
-- @column device_id id key Device.
-- @column name text neutral Name of the iteration.
-- @column source text neutral Where iterations come from: profiler_step, tf_step,
--     dlprof, ..., annotation.
-- @column start_ns ns neutral Start on the host, or of the device's own step, ns since
--     the run's origin.
-- @column wall_ns ns lower Time from its start to its end.
-- @column wall_to_median_ratio ratio lower Wall time over the median of the process.
-- @column is_outlier bool neutral Whether it is far slower than the others (rule
--     above); NULL with fewer than five iterations.
-- @column first_gpu_ns ns neutral First start of its operations, ns since the origin.
-- @column last_gpu_ns ns neutral Last end of its operations, ns since the origin.
-- @column gap_before_ns ns lower From the last end of the latest earlier iteration with
--     work on the device to the first start of this one; negative when they overlap.
-- @column kernel_union_ns ns neutral U(K).
-- @column kernel_sum_ns ns neutral Sum over K.
-- @column compute_union_ns ns neutral U(P).
-- @column communication_union_ns ns neutral U(C).
-- @column communication_sum_ns ns neutral Sum over C.
-- @column exposed_communication_ns ns lower U(C and P together) without U(P).
-- @column overlapped_communication_ns ns higher Time with both C and P running.
-- @column copy_union_ns ns neutral U(M).
-- @column copy_sum_ns ns neutral Sum over M.
-- @column exposed_copy_ns ns lower U(K and M together) without U(K).
-- @column busy_union_ns ns neutral U(K and M together).
-- @column idle_ns ns lower Wall time in which nothing ran on the device.
-- @column idle_pct pct lower That time, of the wall time.
-- @column op_count count neutral GPU operations that it owns.
-- @column launch_count count neutral API calls that launched them, where known; NULL
--     in a run that knows of no operation's call.
-- @key run_id, pid, iteration, device_id
-- @chart line x=iteration y=wall_ns
-- @requires iteration|annotation|kernel Mark the iterations: NVTX ranges named
--     "iteration 7", or profiler.step() in PyTorch.
-- @since 0.1
CREATE MACRO iteration_timing(
    pattern VARCHAR := NULL, with_launch_count BOOLEAN := true
) AS TABLE
WITH steps AS MATERIALIZED (
    SELECT
        run_id, pid, device_id, iteration, name, source, start_ns, end_ns,
        row_number() OVER (ORDER BY run_id, pid, device_id, iteration) AS step_no
    FROM v1._iterations(pattern := pattern)
),
walls AS (
    SELECT
        run_id, pid, device_id, count(*) AS iteration_count,
        median(end_ns - start_ns) AS median_ns, mad(end_ns - start_ns) AS mad_ns
    FROM steps
    GROUP BY run_id, pid, device_id
),
launched AS (
    SELECT
        run_id, device_id, step_no, api_call_id, start_ns, end_ns,
        op_kind IN ('kernel', 'graph') AS in_k, activity = 'communication' AS in_c
    FROM v1._step_ops(pattern := pattern)
),
-- The work of an iteration on a device is a lane. Lanes are laid end to end on one
-- line, so that one sweep serves all of them: a sweep for each is several times slower.
lanes AS MATERIALIZED (
    SELECT
        run_id, device_id, step_no, op_count, first_ns, last_ns,
        row_number() OVER in_order AS lane_no,
        CAST(coalesce(sum(last_ns - first_ns) OVER (
            in_order ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ), 0) - first_ns AS BIGINT) AS shift_ns
    FROM (
        SELECT
            run_id, device_id, step_no, count(*) AS op_count, min(start_ns) AS first_ns,
            max(end_ns) AS last_ns
        FROM launched
        GROUP BY run_id, device_id, step_no
    )
    WINDOW in_order AS (ORDER BY run_id, device_id, step_no)
),
shifted AS MATERIALIZED (
    SELECT
        lanes.lane_no, launched.api_call_id, launched.in_k, launched.in_c,
        launched.start_ns + lanes.shift_ns AS start_ns,
        launched.end_ns + lanes.shift_ns AS end_ns
    FROM launched
    JOIN lanes
        ON launched.run_id = lanes.run_id
        AND launched.step_no IS NOT DISTINCT FROM lanes.step_no
        AND launched.device_id IS NOT DISTINCT FROM lanes.device_id
),
-- The latest ends so far on the line; windows without an order stream over sorted rows.
ended AS (
    SELECT
        lane_no, start_ns, end_ns, in_k, in_c,
        max(end_ns) FILTER (NOT in_k) OVER so_far AS m_end_ns,
        max(end_ns) FILTER (in_c) OVER so_far AS c_end_ns,
        max(end_ns) FILTER (in_k AND NOT in_c) OVER so_far AS p_end_ns
    FROM (
        SELECT lane_no, start_ns, end_ns, in_k, in_c FROM shifted ORDER BY start_ns
    )
    WINDOW so_far AS (ROWS UNBOUNDED PRECEDING)
),
-- What an operation adds to a union begins where the earlier ones of its kind end.
uncovered AS (
    SELECT
        lane_no, start_ns, end_ns, in_k, in_c,
        greatest(start_ns, lag(m_end_ns) OVER ()) AS m_from_ns,
        greatest(start_ns, lag(c_end_ns) OVER ()) AS c_from_ns,
        greatest(start_ns, lag(p_end_ns) OVER ()) AS p_from_ns,
        greatest(c_from_ns, p_from_ns) AS k_from_ns,
        greatest(k_from_ns, m_from_ns) AS busy_from_ns
    FROM ended
),
measured AS (
    SELECT
        lane_no,
        sum(greatest(end_ns - busy_from_ns, 0)) AS busy_ns,
        sum(greatest(end_ns - k_from_ns, 0)) FILTER (in_k) AS k_ns,
        sum(end_ns - start_ns) FILTER (in_k) AS k_sum_ns,
        sum(greatest(end_ns - m_from_ns, 0)) FILTER (NOT in_k) AS m_ns,
        sum(end_ns - start_ns) FILTER (NOT in_k) AS m_sum_ns,
        sum(greatest(end_ns - c_from_ns, 0)) FILTER (in_c) AS c_ns,
        sum(end_ns - start_ns) FILTER (in_c) AS c_sum_ns,
        sum(greatest(end_ns - p_from_ns, 0)) FILTER (in_k AND NOT in_c) AS p_ns
    FROM uncovered
    GROUP BY lane_no
),
calls AS MATERIALIZED (
    SELECT lanes.run_id, launches.lane_no, count(*) AS launch_count
    FROM (
        SELECT DISTINCT lane_no, api_call_id FROM shifted WHERE with_launch_count
    ) AS launches
    JOIN lanes ON launches.lane_no = lanes.lane_no
    WHERE launches.api_call_id IS NOT NULL
    GROUP BY lanes.run_id, launches.lane_no
),
owned AS (
    SELECT
        lanes.run_id, steps.pid, steps.iteration, lanes.device_id, lanes.op_count,
        lanes.first_ns AS first_gpu_ns, lanes.last_ns AS last_gpu_ns,
        calls.launch_count, measured.busy_ns, measured.k_ns, measured.k_sum_ns,
        measured.m_ns, measured.m_sum_ns, measured.c_ns, measured.c_sum_ns,
        measured.p_ns
    FROM lanes
    JOIN measured ON lanes.lane_no = measured.lane_no
    LEFT JOIN calls ON lanes.lane_no = calls.lane_no
    LEFT JOIN steps ON lanes.step_no = steps.step_no
),
used AS (
    SELECT run_id, pid, device_id FROM gpu_op GROUP BY run_id, pid, device_id
),
step_devices AS (
    SELECT
        steps.run_id, steps.pid, steps.iteration,
        coalesce(steps.device_id, used.device_id) AS device_id
    FROM steps
    LEFT JOIN used
        ON steps.run_id = used.run_id AND steps.device_id IS NULL
        AND (steps.pid = used.pid OR steps.pid IS NULL OR used.pid IS NULL)
    UNION
    SELECT run_id, pid, iteration, device_id FROM owned
),
-- What had run on a device before a border of an iteration: the pieces that began
-- before it, less what of the last one lies behind it.
borders AS (
    SELECT used.run_id, used.device_id, moments.at_ns
    FROM (
        SELECT run_id, start_ns AS at_ns FROM steps
        UNION
        SELECT run_id, end_ns FROM steps
    ) AS moments
    JOIN (SELECT DISTINCT run_id, device_id FROM used) AS used
        ON moments.run_id = used.run_id
),
line AS (
    SELECT
        run_id, device_id, hash(run_id, device_id) AS device_hash, at_ns, end_ns,
        added_ns
    FROM (
        SELECT
            run_id, device_id, busy_from_ns AS at_ns, end_ns,
            end_ns - busy_from_ns AS added_ns
        FROM v1._gpu_sweep()
        WHERE end_ns > busy_from_ns
        UNION ALL
        SELECT run_id, device_id, at_ns, NULL, 0 FROM borders
    )
    ORDER BY device_hash, at_ns
),
-- As in memcpy_summary.
reached AS (
    SELECT
        run_id, device_id, at_ns, end_ns IS NULL AS is_border,
        CAST(device_hash >> 2 AS HUGEINT) << 64 AS lane,
        sum(added_ns) OVER (ROWS UNBOUNDED PRECEDING) AS added_ns,
        max(lane + end_ns) OVER (ROWS UNBOUNDED PRECEDING) AS end_so_far
    FROM line
),
passed AS (
    SELECT
        run_id, device_id, at_ns,
        added_ns - coalesce(greatest(end_so_far - lane - at_ns, 0), 0) AS busy_ns
    FROM reached
    WHERE is_border
),
timed AS (
    SELECT
        step_devices.run_id, step_devices.pid, step_devices.iteration,
        step_devices.device_id, steps.device_id AS step_device_id, steps.name,
        steps.source, steps.start_ns,
        steps.end_ns - steps.start_ns AS wall_ns,
        at_end.busy_ns - at_start.busy_ns AS wall_busy_ns
    FROM step_devices
    LEFT JOIN steps
        ON step_devices.run_id = steps.run_id
        AND step_devices.pid IS NOT DISTINCT FROM steps.pid
        AND step_devices.iteration = steps.iteration
        AND (steps.device_id IS NULL OR step_devices.device_id = steps.device_id)
    LEFT JOIN passed AS at_start
        ON steps.run_id = at_start.run_id AND steps.start_ns = at_start.at_ns
        AND step_devices.device_id IS NOT DISTINCT FROM at_start.device_id
    LEFT JOIN passed AS at_end
        ON steps.run_id = at_end.run_id AND steps.end_ns = at_end.at_ns
        AND step_devices.device_id IS NOT DISTINCT FROM at_end.device_id
),
filled AS (
    SELECT
        timed.run_id, timed.pid, timed.iteration, timed.device_id, timed.name,
        timed.source, timed.start_ns, timed.wall_ns,
        timed.wall_ns / nullif(walls.median_ns, 0) AS wall_to_median_ratio,
        CASE WHEN walls.iteration_count >= 5 THEN
            timed.wall_ns > 1.05 * walls.median_ns
            AND timed.wall_ns > walls.median_ns + 3 * 1.4826 * walls.mad_ns
        END AS is_outlier,
        owned.first_gpu_ns, owned.last_gpu_ns,
        CAST(timed.wall_ns - timed.wall_busy_ns AS BIGINT) AS idle_ns,
        CAST(coalesce(owned.busy_ns, 0) AS BIGINT) AS busy_ns,
        CAST(coalesce(owned.k_ns, 0) AS BIGINT) AS k_ns,
        CAST(coalesce(owned.k_sum_ns, 0) AS BIGINT) AS k_sum_ns,
        CAST(coalesce(owned.m_ns, 0) AS BIGINT) AS m_ns,
        CAST(coalesce(owned.m_sum_ns, 0) AS BIGINT) AS m_sum_ns,
        CAST(coalesce(owned.c_ns, 0) AS BIGINT) AS c_ns,
        CAST(coalesce(owned.c_sum_ns, 0) AS BIGINT) AS c_sum_ns,
        CAST(coalesce(owned.p_ns, 0) AS BIGINT) AS p_ns,
        coalesce(owned.op_count, 0) AS op_count,
        CASE
            WHEN with_launch_count AND owned.op_count IS NULL
                OR timed.run_id IN (SELECT run_id FROM calls)
                THEN coalesce(owned.launch_count, 0)
        END AS launch_count
    FROM timed
    LEFT JOIN walls
        ON timed.run_id = walls.run_id AND timed.pid IS NOT DISTINCT FROM walls.pid
        AND timed.step_device_id IS NOT DISTINCT FROM walls.device_id
        AND timed.iteration IS NOT NULL
    LEFT JOIN owned
        ON timed.run_id = owned.run_id AND timed.pid IS NOT DISTINCT FROM owned.pid
        AND timed.iteration IS NOT DISTINCT FROM owned.iteration
        AND timed.device_id IS NOT DISTINCT FROM owned.device_id
)
SELECT
    run_id, pid, iteration, device_id, name, source, start_ns, wall_ns,
    wall_to_median_ratio, is_outlier, first_gpu_ns, last_gpu_ns,
    CASE WHEN iteration IS NOT NULL THEN first_gpu_ns - last_value(
        last_gpu_ns IGNORE NULLS
    ) OVER (
        PARTITION BY run_id, pid, device_id, iteration IS NULL ORDER BY iteration
        ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    ) END AS gap_before_ns,
    k_ns AS kernel_union_ns, k_sum_ns AS kernel_sum_ns, p_ns AS compute_union_ns,
    c_ns AS communication_union_ns, c_sum_ns AS communication_sum_ns,
    k_ns - p_ns AS exposed_communication_ns,
    c_ns + p_ns - k_ns AS overlapped_communication_ns,
    m_ns AS copy_union_ns, m_sum_ns AS copy_sum_ns, busy_ns - k_ns AS exposed_copy_ns,
    busy_ns AS busy_union_ns, idle_ns, 100.0 * idle_ns / nullif(wall_ns, 0) AS idle_pct,
    op_count, launch_count
FROM filled
ORDER BY run_id, pid, iteration, device_id;
