-- @title Host time in synchronising calls
-- How long each thread was blocked in calls that return only when the GPU is done
-- (synchronisation of a device, a stream or an event; copies and fills that are not
-- asynchronous), by the innermost push_pop annotation in which the call began. Whole
-- calls are counted as blocked, clipped to the window; a call inside another such call
-- is left out, so that the calls of a thread do not overlap and the rows of a thread
-- add up to its blocked time. gpu_idle_ns is what of it ran nothing on any device of
-- the run: there the wait was not for work.
-- @param top BIGINT Rows per run, by blocked_ns; NULL for all.
-- @param time_window VARCHAR capture, gpu or steps.
-- @param from_ns BIGINT Start of a range, ns since the run's origin.
-- @param to_ns BIGINT End of a range, ns since the run's origin.
-- @column run_id id key The run.
-- @column pid id key Process.
-- @column tid id key Thread.
-- @column annotation text key Innermost range around the call, as "domain:text"; NULL
--     for none.
-- @column sync_kind text key device, stream, event, copy or fill: what is waited for.
-- @column api text neutral cuda_runtime, cuda_driver, hip.
-- @column name text key Function.
-- @column call_count count lower Calls.
-- @column blocked_ns ns lower Sum of their durations in the window.
-- @column blocked_pct pct lower blocked_ns over the window.
-- @column gpu_idle_ns ns lower Time of these calls in which no device ran anything.
-- @column mean_ns ns lower Duration in the window: mean.
-- @column median_ns ns lower The same, median.
-- @column max_ns ns lower The same, longest.
-- @column window_name text neutral capture, gpu, steps or range.
-- @column window_start_ns ns neutral Start of the window, ns since the run's origin.
-- @column window_end_ns ns neutral End of the window, ns since the run's origin.
-- @key run_id, pid, tid, annotation, sync_kind, name
-- @chart bar x=blocked_ns y=name
-- @requires api_call Record API calls: nsys profile -t cuda
-- @since 0.2
CREATE MACRO sync_stalls(
    top BIGINT := NULL,
    time_window VARCHAR := 'capture',
    from_ns BIGINT := NULL,
    to_ns BIGINT := NULL
) AS TABLE
WITH windows AS (
    SELECT run_id, window_name, window_start_ns, window_end_ns
    FROM v1._windows(time_window := time_window, from_ns := from_ns, to_ns := to_ns)
),
calls AS MATERIALIZED (
    SELECT
        call.run_id, call.api_call_id, call.sync_kind, call.api, call.name, call.pid,
        call.tid,
        greatest(call.start_ns, windows.window_start_ns) AS start_ns,
        least(call.end_ns, windows.window_end_ns) AS end_ns
    FROM v1._sync_calls() AS call
    JOIN windows
        ON call.run_id = windows.run_id
        AND call.start_ns < windows.window_end_ns
        AND (
            call.end_ns > windows.window_start_ns
            OR call.end_ns = call.start_ns AND call.end_ns = windows.window_start_ns
        )
),
-- Disjoint busy spans of all devices of a run from the first to the last of the calls,
-- and the busy time before each.
pieces AS (
    SELECT
        run_id, start_ns, end_ns,
        max(end_ns) OVER (
            PARTITION BY run_id ORDER BY start_ns
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS reached_ns
    FROM (
        SELECT op.run_id, op.busy_from_ns AS start_ns, op.end_ns
        FROM v1._gpu_sweep() AS op
        JOIN (
            SELECT run_id, min(start_ns) AS first_ns, max(end_ns) AS last_ns
            FROM calls
            GROUP BY run_id
        ) AS within
            ON op.run_id = within.run_id AND op.end_ns > within.first_ns
            AND op.busy_from_ns < within.last_ns
        WHERE op.end_ns > op.busy_from_ns
    )
),
busy AS MATERIALIZED (
    SELECT
        run_id, greatest(start_ns, coalesce(reached_ns, start_ns)) AS start_ns, end_ns,
        sum(end_ns - greatest(start_ns, coalesce(reached_ns, start_ns))) OVER (
            PARTITION BY run_id ORDER BY end_ns ROWS UNBOUNDED PRECEDING
        ) AS upto_ns
    FROM pieces
    WHERE reached_ns IS NULL OR end_ns > reached_ns
),
-- Busy time before a moment: whole spans, and the part of one that it lies in.
started AS (
    SELECT
        calls.run_id, calls.api_call_id, calls.sync_kind, calls.api, calls.name,
        calls.pid, calls.tid, calls.start_ns, calls.end_ns,
        coalesce(busy.upto_ns - greatest(busy.end_ns - calls.start_ns, 0), 0)
            AS before_ns
    FROM calls
    ASOF LEFT JOIN busy
        ON calls.run_id = busy.run_id AND calls.start_ns >= busy.start_ns
),
measured AS (
    SELECT
        started.run_id, started.api_call_id, started.sync_kind, started.api,
        started.name, started.pid, started.tid,
        started.end_ns - started.start_ns AS dur_ns,
        started.end_ns - started.start_ns - (
            coalesce(busy.upto_ns - greatest(busy.end_ns - started.end_ns, 0), 0)
            - started.before_ns
        ) AS gpu_idle_ns
    FROM started
    ASOF LEFT JOIN busy
        ON started.run_id = busy.run_id AND started.end_ns >= busy.start_ns
),
totals AS (
    SELECT
        measured.run_id, measured.pid, measured.tid, part.name AS annotation,
        measured.sync_kind, measured.name,
        any_value(measured.api) AS api,
        count(*) AS call_count,
        CAST(sum(measured.dur_ns) AS BIGINT) AS blocked_ns,
        CAST(sum(measured.gpu_idle_ns) AS BIGINT) AS gpu_idle_ns,
        avg(measured.dur_ns) AS mean_ns,
        median(measured.dur_ns) AS median_ns,
        max(measured.dur_ns) AS max_ns
    FROM measured
    LEFT JOIN v1._call_annotations(which := 'sync') AS around
        ON measured.run_id = around.run_id
        AND measured.api_call_id = around.api_call_id
    LEFT JOIN v1._annotation_ranges() AS part
        ON around.run_id = part.run_id AND around.annotation_id = part.annotation_id
    GROUP BY
        measured.run_id, measured.pid, measured.tid, part.name, measured.sync_kind,
        measured.name
)
SELECT
    totals.run_id, totals.pid, totals.tid, totals.annotation, totals.sync_kind,
    totals.api, totals.name, totals.call_count, totals.blocked_ns,
    100.0 * totals.blocked_ns
        / (windows.window_end_ns - windows.window_start_ns) AS blocked_pct,
    totals.gpu_idle_ns, totals.mean_ns, totals.median_ns, totals.max_ns,
    windows.window_name, windows.window_start_ns, windows.window_end_ns
FROM totals
JOIN windows ON totals.run_id = windows.run_id
QUALIFY top IS NULL OR top >= row_number() OVER (
    PARTITION BY totals.run_id
    ORDER BY
        totals.blocked_ns DESC, totals.pid, totals.tid, totals.annotation,
        totals.sync_kind, totals.name
)
ORDER BY
    totals.run_id, totals.blocked_ns DESC, totals.pid, totals.tid, totals.annotation,
    totals.sync_kind, totals.name;
