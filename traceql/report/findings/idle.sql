-- Time in which nothing ran, in the iterations or, without any, from the first GPU
-- operation to the last. A gap is waiting for the host from its start to the start of
-- the call that launched the operation after it.
-- @kind limit
-- @section gaps
-- @uses focus_summary
-- @threshold idle time ≥ 10 % of the window
-- @says {{ "The GPUs are" if device_count > 1 else "The GPU is" }} idle
--     {{ idle_pct | pct }} of {{ window_text }}.
-- @do Look at what the host does before the longest gaps.
SELECT
    idle_pct, device_count, idle_pct / 100 * (window_end_ns - window_start_ns) AS saving_ns,
    window_end_ns - window_start_ns AS of_ns,
    CASE window_name WHEN 'steps' THEN 'the iterations'
        ELSE 'the time from the first to the last GPU operation' END AS window_text
FROM focus_summary
WHERE idle_pct >= 10
