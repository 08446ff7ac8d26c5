-- @kind capture
-- @section overview
-- @uses run_summary, stream_summary
-- @threshold first GPU operation later than 25 % into the capture
-- @says The first GPU operation starts {{ late_ns | ns }} into the capture, after
--     {{ late_pct | pct }} of it: figures over the whole capture hold that set-up time.
-- @do Capture the steady part only: nsys profile --capture-range=cudaProfilerApi, or
--     --delay.
SELECT late_ns, 100 * late_ns / of_ns AS late_pct, NULL AS saving_ns, of_ns
FROM (
    SELECT
        min(stream_summary.first_ns) - any_value(run_summary.window_start_ns) AS late_ns,
        any_value(run_summary.window_end_ns - run_summary.window_start_ns) AS of_ns
    FROM stream_summary
    JOIN run_summary ON stream_summary.run_id = run_summary.run_id
    GROUP BY stream_summary.run_id
)
WHERE late_ns > 0.25 * of_ns
