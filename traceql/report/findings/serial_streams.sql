-- @kind limit
-- @section streams
-- @uses stream_concurrency, stream_summary
-- @threshold a device with three or more streams, of which two are busy at once less than
--     5 % of its busy time
-- @says Device {{ device_id }} has {{ stream_count }} streams, but two or more are busy at
--     once only {{ shared_pct | pct }} of its busy time ({{ busy_ns | ns }}).
-- @do Look for default-stream work and synchronisation between them.
WITH busy AS (
    SELECT
        run_id, device_id, window_ns,
        sum(time_ns) FILTER (busy_stream_count >= 1) AS busy_ns,
        coalesce(sum(time_ns) FILTER (busy_stream_count >= 2), 0) AS shared_ns
    FROM stream_concurrency
    GROUP BY ALL
),
streams AS (
    SELECT run_id, device_id, count(*) FILTER (kernel_count > 0) AS stream_count
    FROM stream_summary
    GROUP BY ALL
)
SELECT
    busy.device_id, streams.stream_count, busy.busy_ns,
    100 * busy.shared_ns / busy.busy_ns AS shared_pct,
    NULL AS saving_ns, busy.window_ns AS of_ns
FROM busy
JOIN streams
    ON busy.run_id = streams.run_id
    AND busy.device_id IS NOT DISTINCT FROM streams.device_id
WHERE streams.stream_count >= 3 AND busy.shared_ns < 0.05 * busy.busy_ns
ORDER BY busy.device_id
