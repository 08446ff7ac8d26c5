-- @title Why a device was idle
-- The idle time of each device in the window, by cause. The rows of a device sum to its
-- window less its busy time (union). A gap is a span in which nothing ran on the
-- device; its cause is that of the operation that ended it. host: the call that
-- launched it began after the gap had: the device waited for the host. kernel wait: it
-- had been launched, and the gap is not longer than kernel_wait_ns: what the hardware
-- takes from one operation to the next. other: it had been launched, and waited longer:
-- for another stream, device or rank, or for the copy engines. unknown launch: the
-- capture holds no call for it. profiler: the profiler's own flush or stop took more
-- than half of the gap. before the first, after the last: outside of the device's
-- operations; a device without any in the run has no row. What the host did meanwhile
-- is the innermost annotation, and the innermost op, that the launching thread was in
-- at the middle of the gap, or of its part before the launch where it has one; NULL
-- where it was in none, or no launching thread is known.
-- @param group_by VARCHAR cause (one row each), host (cause, annotation and op) or gap.
-- @param kernel_wait_ns BIGINT Longest gap that is a kernel wait.
-- @param top BIGINT Rows per run, by idle time; NULL for all.
-- @param time_window VARCHAR capture, gpu (first start to last end of the run's GPU
--     operations) or steps (first start to last end of its iterations).
-- @param from_ns BIGINT Start of a range instead, ns since the run's origin.
-- @param to_ns BIGINT End of that range.
-- @column run_id id key The run.
-- @column device_id id key Device; NULL where the operations name none.
-- @column cause text key Why, as above.
-- @column annotation text neutral What the host was in; NULL if group_by is cause.
-- @column op text neutral The framework operation that it was in, likewise.
-- @column start_ns ns key Start of the gap, of the first one where the row has several.
-- @column gap_count count lower Gaps.
-- @column idle_ns ns lower Their time, clipped to the window.
-- @column idle_pct pct neutral That time, of the device's idle time in the window.
-- @column window_pct pct lower That time, of the window.
-- @column host_ns ns lower Of that time, what passed before the launch; gaps of unknown
--     launch have none.
-- @column longest_gap_ns ns lower The longest gap, clipped.
-- @column window_name text neutral capture, gpu, steps or range.
-- @key run_id, device_id, cause, start_ns
-- @chart bar x=idle_ns y=cause
-- @requires kernel|memcpy|memset|graph_launch Record GPU activity: nsys profile -t cuda
-- @since 0.2
CREATE MACRO idle_breakdown(
    group_by VARCHAR := 'cause', kernel_wait_ns BIGINT := 5000, top BIGINT := NULL,
    time_window VARCHAR := 'capture', from_ns BIGINT := NULL, to_ns BIGINT := NULL
) AS TABLE
WITH gaps AS (
    SELECT
        run_id, device_id, start_ns, end_ns, cause, api_call_id, host_ns, middle_ns,
        window_name, window_ns
    FROM v1._idle_gaps(
        kernel_wait_ns := kernel_wait_ns, time_window := time_window,
        from_ns := from_ns, to_ns := to_ns
    )
    WHERE CASE WHEN group_by IN ('cause', 'host', 'gap') THEN true
        ELSE error('group_by must be cause, host or gap')
    END
),
on_thread AS (
    SELECT
        gaps.run_id, gaps.device_id, gaps.start_ns, gaps.middle_ns, api_call.pid,
        api_call.tid, unnest(['annotation', 'op']) AS layer
    FROM gaps
    JOIN api_call
        ON gaps.run_id = api_call.run_id AND gaps.api_call_id = api_call.api_call_id
    WHERE group_by <> 'cause'
),
met AS (
    SELECT
        on_thread.run_id, on_thread.device_id, on_thread.start_ns,
        any_value(annotation.name) AS annotation, any_value(op.name) AS op
    FROM on_thread
    ASOF JOIN v1._host_moments(wanted := group_by <> 'cause') AS moment
        ON on_thread.run_id = moment.run_id AND on_thread.layer = moment.layer
        AND on_thread.pid IS NOT DISTINCT FROM moment.pid
        AND on_thread.tid IS NOT DISTINCT FROM moment.tid
        AND on_thread.middle_ns >= moment.at_ns
    LEFT JOIN annotation
        ON moment.run_id = annotation.run_id
        AND moment.range_id = annotation.annotation_id
        AND moment.layer = 'annotation'
    LEFT JOIN op
        ON moment.run_id = op.run_id AND moment.range_id = op.op_id
        AND moment.layer = 'op'
    GROUP BY on_thread.run_id, on_thread.device_id, on_thread.start_ns
),
grouped AS (
    SELECT
        gaps.run_id, gaps.device_id, gaps.cause, met.annotation, met.op,
        min(gaps.start_ns) AS start_ns, count(*) AS gap_count,
        CAST(sum(gaps.end_ns - gaps.start_ns) AS BIGINT) AS idle_ns,
        CAST(coalesce(sum(gaps.host_ns), 0) AS BIGINT) AS host_ns,
        max(gaps.end_ns - gaps.start_ns) AS longest_gap_ns,
        any_value(gaps.window_name) AS window_name,
        any_value(gaps.window_ns) AS window_ns
    FROM gaps
    LEFT JOIN met
        ON gaps.run_id = met.run_id AND gaps.start_ns = met.start_ns
        AND gaps.device_id IS NOT DISTINCT FROM met.device_id
    GROUP BY
        gaps.run_id, gaps.device_id, gaps.cause, met.annotation, met.op,
        CASE WHEN group_by = 'gap' THEN gaps.start_ns END
)
SELECT
    run_id, device_id, cause, annotation, op, start_ns, gap_count, idle_ns,
    100.0 * idle_ns / sum(idle_ns) OVER (PARTITION BY run_id, device_id) AS idle_pct,
    100.0 * idle_ns / window_ns AS window_pct, host_ns, longest_gap_ns, window_name
FROM grouped
QUALIFY top IS NULL OR top >= row_number() OVER (
    PARTITION BY run_id ORDER BY idle_ns DESC, device_id, cause, start_ns
)
ORDER BY run_id, idle_ns DESC, device_id, cause, start_ns;
