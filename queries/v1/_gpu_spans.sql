-- @title GPU operations in a time window
-- One row per GPU operation that lies at least partly in the window of its run,
-- clipped to it. An operation without a known duration, or with a negative one,
-- counts where it starts and takes no time; so does one of zero duration, which
-- belongs to the window when it lies in it or on its borders.
-- @param time_window VARCHAR As in _windows.
-- @param from_ns BIGINT Start of a range, ns since the run's origin.
-- @param to_ns BIGINT End of a range, ns since the run's origin.
-- @since 0.1
CREATE MACRO _gpu_spans(
    time_window VARCHAR := 'capture', from_ns BIGINT := NULL, to_ns BIGINT := NULL
) AS TABLE
WITH placed AS (
    SELECT
        run_id, device_id, context_id, stream_id, pid, op_kind, activity, bytes,
        ts_ns, ts_ns + CASE WHEN dur_ns > 0 THEN dur_ns ELSE 0 END AS end_ts_ns
    FROM gpu_op
)
SELECT
    placed.run_id, placed.device_id, placed.context_id, placed.stream_id, placed.pid,
    placed.op_kind, placed.activity, placed.bytes,
    spans.window_name, spans.window_start_ns, spans.window_end_ns,
    greatest(placed.ts_ns, spans.window_start_ns) AS start_ns,
    least(placed.end_ts_ns, spans.window_end_ns) AS end_ns
FROM placed
JOIN v1._windows(
    time_window := time_window, from_ns := from_ns, to_ns := to_ns
) AS spans ON placed.run_id = spans.run_id
WHERE placed.ts_ns < spans.window_end_ns AND placed.end_ts_ns > spans.window_start_ns
    OR placed.ts_ns = placed.end_ts_ns
    AND placed.ts_ns BETWEEN spans.window_start_ns AND spans.window_end_ns;
