-- @title Streams
-- What each stream did in the window: operations by kind, busy time, idle time between
-- its first and its last operation. A stream is process, context and stream of one
-- device. Operations count where they lie at least partly in the window, and are
-- clipped to it; those without a known duration count and take no time. A gap is time
-- between operations of the stream with none running. Busy time is a union: kernels of
-- a CUDA graph may run at once within a stream.
-- @param time_window VARCHAR capture, gpu (first start to last end of the run's GPU
--     operations) or steps (first start to last end of its iterations).
-- @param from_ns BIGINT Start of a range instead, ns since the run's origin.
-- @param to_ns BIGINT End of that range.
-- @column run_id id key The run.
-- @column device_id id key Device; NULL where the operations name none.
-- @column pid id key Process.
-- @column context_id id key Context.
-- @column stream_id id key Stream within the context.
-- @column window_name text neutral capture, gpu, steps or range.
-- @column window_ns ns neutral Length of the window.
-- @column runs text neutral Kinds of what runs there: compute, communication, graph,
--     H2D, D2H, D2D, ..., memset.
-- @column op_count count neutral Operations.
-- @column kernel_count count neutral Kernels.
-- @column graph_count count neutral Launches of CUDA graphs traced as a whole.
-- @column h2d_count count neutral Copies from host to device.
-- @column d2h_count count neutral Copies from device to host.
-- @column d2d_count count neutral Copies within the device.
-- @column other_copy_count count neutral Copies of any other direction.
-- @column memset_count count neutral Fills.
-- @column busy_union_ns ns higher Time with at least one operation running.
-- @column busy_sum_ns ns neutral Sum of the operations' times: what overlaps counts
--     each.
-- @column busy_pct pct higher The union, of the window.
-- @column first_ns ns neutral First start in the window, ns since the run's origin.
-- @column last_ns ns neutral Last end in the window, ns since the run's origin.
-- @column idle_between_ns ns lower Sum of the gaps: from first to last without the
--     union.
-- @column gap_count count neutral Gaps between the first and the last operation.
-- @column longest_gap_ns ns lower The longest of them; 0 without gaps.
-- @key run_id, device_id, pid, context_id, stream_id
-- @chart bar x=busy_pct y=stream_id
-- @requires kernel|memcpy|memset|graph_launch Record GPU activity: nsys profile -t cuda
-- @since 0.1
CREATE MACRO stream_summary(
    time_window VARCHAR := 'capture', from_ns BIGINT := NULL, to_ns BIGINT := NULL
) AS TABLE
WITH ops AS (
    SELECT
        run_id, device_id, pid, context_id, stream_id, window_name, window_start_ns,
        window_end_ns - window_start_ns AS window_ns, activity,
        start_ns, end_ns, stream_from_ns, stream_end_before_ns,
        CASE WHEN start_ns > stream_end_before_ns THEN start_ns - stream_end_before_ns
        END AS gap_ns
    FROM v1._gpu_spans(
        time_window := time_window, from_ns := from_ns, to_ns := to_ns
    )
),
by_activity AS (
    SELECT
        run_id, device_id, pid, context_id, stream_id, window_name, window_ns,
        CASE WHEN activity IN ('graph', 'memset') THEN activity
            WHEN activity LIKE 'copy\_%' ESCAPE '\' THEN 'memcpy' ELSE 'kernel' END
            AS op_kind,
        activity,
        CASE WHEN op_kind = 'memcpy' THEN upper(activity[6:]) ELSE activity END AS runs,
        count(*) AS op_count,
        sum(end_ns - stream_from_ns) AS union_ns,
        sum(end_ns - start_ns) AS sum_ns,
        min(start_ns) AS first_ns, max(end_ns) AS last_ns,
        count(gap_ns) FILTER (stream_end_before_ns > window_start_ns) AS gap_count,
        max(gap_ns) FILTER (stream_end_before_ns > window_start_ns) AS longest_gap_ns,
        -- A gap from the window's start is one if an operation without time lies there.
        max(gap_ns) FILTER (stream_end_before_ns = window_start_ns) AS edge_gap_ns,
        bool_or(end_ns = window_start_ns) AS is_at_edge
    FROM ops
    GROUP BY
        run_id, device_id, pid, context_id, stream_id, window_name, window_ns, activity
),
streams AS (
    SELECT
        run_id, device_id, pid, context_id, stream_id, window_name, window_ns,
        string_agg(runs, ', ' ORDER BY op_kind <> 'kernel', op_kind, runs DESC) AS runs,
        CAST(sum(op_count) AS BIGINT) AS op_count,
        sum(op_count) FILTER (op_kind = 'kernel') AS kernel_count,
        sum(op_count) FILTER (op_kind = 'graph') AS graph_count,
        sum(op_count) FILTER (activity = 'copy_h2d') AS h2d_count,
        sum(op_count) FILTER (activity = 'copy_d2h') AS d2h_count,
        sum(op_count) FILTER (activity = 'copy_d2d') AS d2d_count,
        sum(op_count) FILTER (
            op_kind = 'memcpy' AND activity NOT IN ('copy_h2d', 'copy_d2h', 'copy_d2d')
        ) AS other_copy_count,
        sum(op_count) FILTER (op_kind = 'memset') AS memset_count,
        CAST(sum(union_ns) AS BIGINT) AS busy_union_ns,
        CAST(sum(sum_ns) AS BIGINT) AS busy_sum_ns,
        min(first_ns) AS first_ns, max(last_ns) AS last_ns,
        CAST(sum(gap_count) AS BIGINT) AS gap_count,
        coalesce(max(longest_gap_ns), 0) AS longest_gap_ns,
        CASE WHEN bool_or(is_at_edge) THEN max(edge_gap_ns) END AS edge_gap_ns
    FROM by_activity
    GROUP BY run_id, device_id, pid, context_id, stream_id, window_name, window_ns
)
SELECT
    run_id, device_id, pid, context_id, stream_id, window_name, window_ns, runs,
    op_count,
    CAST(coalesce(kernel_count, 0) AS BIGINT) AS kernel_count,
    CAST(coalesce(graph_count, 0) AS BIGINT) AS graph_count,
    CAST(coalesce(h2d_count, 0) AS BIGINT) AS h2d_count,
    CAST(coalesce(d2h_count, 0) AS BIGINT) AS d2h_count,
    CAST(coalesce(d2d_count, 0) AS BIGINT) AS d2d_count,
    CAST(coalesce(other_copy_count, 0) AS BIGINT) AS other_copy_count,
    CAST(coalesce(memset_count, 0) AS BIGINT) AS memset_count,
    busy_union_ns, busy_sum_ns, 100.0 * busy_union_ns / window_ns AS busy_pct,
    first_ns, last_ns, last_ns - first_ns - busy_union_ns AS idle_between_ns,
    gap_count + CAST(edge_gap_ns IS NOT NULL AS BIGINT) AS gap_count,
    greatest(longest_gap_ns, edge_gap_ns) AS longest_gap_ns
FROM streams
ORDER BY run_id, device_id, pid, context_id, stream_id;
