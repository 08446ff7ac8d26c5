-- @title Busy streams at once
-- How long exactly k streams of a device were busy at once, k = 0, 1, 2, ...: the rows
-- of a device sum to the window. A stream (process, context and stream) is busy while
-- at least one of its operations runs, however many; a k that never was has no row,
-- but for 0. A device without any operation in the run has no row, as in
-- gpu_utilization.
-- @param time_window VARCHAR capture, gpu (first start to last end of the run's GPU
--     operations) or steps (first start to last end of its iterations).
-- @param from_ns BIGINT Start of a range instead, ns since the run's origin.
-- @param to_ns BIGINT End of that range.
-- @column run_id id key The run.
-- @column device_id id key Device; NULL where the operations name none.
-- @column busy_stream_count count key Streams that were busy at once.
-- @column window_name text neutral capture, gpu, steps or range.
-- @column window_ns ns neutral Length of the window.
-- @column time_ns ns neutral Time with exactly so many busy streams.
-- @column window_pct pct neutral That time, of the window.
-- @key run_id, device_id, busy_stream_count
-- @chart bar x=busy_stream_count y=window_pct
-- @requires kernel|memcpy|memset|graph_launch Record GPU activity: nsys profile -t cuda
-- @since 0.1
CREATE MACRO stream_concurrency(
    time_window VARCHAR := 'capture', from_ns BIGINT := NULL, to_ns BIGINT := NULL
) AS TABLE
WITH windows AS (
    SELECT run_id, window_name, window_end_ns - window_start_ns AS window_ns
    FROM v1._windows(time_window := time_window, from_ns := from_ns, to_ns := to_ns)
),
-- The sweep that has all streams of its device: the only one, or the one that counts.
busy AS (
    SELECT
        run_id, device_id, busy_stream_count, CAST(sum(time_ns) AS BIGINT) AS time_ns
    FROM v1._stream_sets(
        time_window := time_window, from_ns := from_ns, to_ns := to_ns
    )
    WHERE a_group IS NULL OR b_group = 0
    GROUP BY run_id, device_id, busy_stream_count
),
devices AS (
    SELECT DISTINCT run_id, device_id FROM gpu_op
),
idle AS (
    SELECT
        windows.run_id, devices.device_id, 0 AS busy_stream_count,
        any_value(windows.window_ns)
            - CAST(coalesce(sum(busy.time_ns), 0) AS BIGINT) AS time_ns
    FROM windows
    JOIN devices ON windows.run_id = devices.run_id
    LEFT JOIN busy
        ON devices.run_id = busy.run_id
        AND devices.device_id IS NOT DISTINCT FROM busy.device_id
    GROUP BY windows.run_id, devices.device_id
),
shares AS (
    SELECT run_id, device_id, busy_stream_count, time_ns FROM idle
    UNION ALL
    SELECT run_id, device_id, busy_stream_count, time_ns FROM busy
)
SELECT
    shares.run_id, shares.device_id, shares.busy_stream_count, windows.window_name,
    windows.window_ns, shares.time_ns,
    100.0 * shares.time_ns / windows.window_ns AS window_pct
FROM shares
JOIN windows ON shares.run_id = windows.run_id
ORDER BY shares.run_id, shares.device_id, shares.busy_stream_count;
