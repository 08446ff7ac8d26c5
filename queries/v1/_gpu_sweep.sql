-- @title GPU operations and what each adds to the busy time
-- One row per GPU operation of the whole capture, and where that part of it begins
-- which nothing of the same set that started earlier covers: [from, end) of a set are
-- disjoint pieces whose sum is the length of the union, and so is their sum clipped to
-- any window. A from that is the operation's end adds nothing; it is NULL where the
-- operation is not of the set. Of operations that start at once on a device the one
-- with the lowest id is the first. An operation without a known duration, or with a
-- negative one, counts where it starts and takes no time.
-- @column run_id id key The run.
-- @column gpu_op_id id key The operation, as in gpu_op.
-- @column device_id id neutral Device; NULL where the operation names none.
-- @column context_id id neutral Context.
-- @column stream_id id neutral Stream within the context.
-- @column pid id neutral Process.
-- @column activity text neutral As in gpu_op.
-- @column is_kernel bool neutral A kernel or a whole graph launch (K), else a copy
--     or fill (M).
-- @column api_call_id id neutral The call that launched it.
-- @column launch_ts_ns ns neutral Start of that call.
-- @column start_ns ns neutral Start, ns since the run's origin.
-- @column end_ns ns neutral End.
-- @column device_end_before_ns ns neutral Latest end of what started earlier on its
--     device.
-- @column busy_from_ns ns neutral From, in U(K and M together).
-- @column kernel_from_ns ns neutral From, in U(K).
-- @column compute_from_ns ns neutral From, in U(K without communication).
-- @column communication_from_ns ns neutral From, in U(communication kernels).
-- @column copy_from_ns ns neutral From, in U(M).
-- @column stream_from_ns ns neutral From, in the union of its stream (process, context
--     and stream of one device).
-- @column stream_end_before_ns ns neutral Latest end of what started earlier on its
--     stream.
-- @key run_id, gpu_op_id
-- @since 0.2
CREATE MACRO _gpu_sweep() AS TABLE
WITH ops AS (
    SELECT
        run_id, gpu_op_id, device_id, context_id, stream_id, pid, activity,
        op_kind IN ('kernel', 'graph') AS is_kernel,
        activity = 'communication' AS is_communication, api_call_id, launch_ts_ns,
        ts_ns AS start_ns,
        ts_ns + CASE WHEN dur_ns > 0 THEN dur_ns ELSE 0 END AS end_ns
    FROM gpu_op
),
-- DuckDB leaves out the maxima that a query does not read.
reached AS (
    SELECT
        run_id, gpu_op_id, device_id, context_id, stream_id, pid, activity,
        is_kernel, is_communication, api_call_id, launch_ts_ns, start_ns, end_ns,
        max(end_ns) FILTER (is_kernel AND NOT is_communication) OVER on_device
            AS compute_end_ns,
        max(end_ns) FILTER (is_communication) OVER on_device AS communication_end_ns,
        max(end_ns) FILTER (NOT is_kernel) OVER on_device AS copy_end_ns,
        max(end_ns) OVER on_stream AS stream_end_before_ns
    FROM ops
    WINDOW
        on_device AS (
            PARTITION BY run_id, device_id ORDER BY start_ns, gpu_op_id
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ),
        on_stream AS (
            PARTITION BY run_id, device_id, context_id, stream_id, pid
            ORDER BY start_ns ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        )
)
SELECT
    run_id, gpu_op_id, device_id, context_id, stream_id, pid, activity, is_kernel,
    api_call_id, launch_ts_ns, start_ns, end_ns,
    greatest(compute_end_ns, communication_end_ns, copy_end_ns) AS device_end_before_ns,
    least(end_ns, greatest(start_ns, device_end_before_ns)) AS busy_from_ns,
    CASE WHEN is_kernel THEN
        least(end_ns, greatest(start_ns, compute_end_ns, communication_end_ns))
    END AS kernel_from_ns,
    CASE WHEN is_kernel AND NOT is_communication THEN
        least(end_ns, greatest(start_ns, compute_end_ns))
    END AS compute_from_ns,
    CASE WHEN is_communication THEN
        least(end_ns, greatest(start_ns, communication_end_ns))
    END AS communication_from_ns,
    CASE WHEN NOT is_kernel THEN least(end_ns, greatest(start_ns, copy_end_ns)) END
        AS copy_from_ns,
    least(end_ns, greatest(start_ns, stream_end_before_ns)) AS stream_from_ns,
    stream_end_before_ns
FROM reached;
