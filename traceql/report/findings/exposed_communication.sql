-- @kind limit
-- @section iterations
-- @uses focus_summary
-- @threshold exposed communication ≥ 5 % of the window
-- @of {{ of_text }}
-- @says Communication is exposed {{ exposed_communication_pct | pct }} of
--     {{ of_text }}: collectives run and no compute beside them.
-- @do Overlap them with the backward pass (bucket sizes, streams), or shrink them.
SELECT
    exposed_communication_pct,
    exposed_communication_pct / 100 * (window_end_ns - window_start_ns) AS saving_ns,
    window_end_ns - window_start_ns AS of_ns,
    CASE window_name WHEN 'steps' THEN 'the iterations'
        ELSE 'the GPU window' END AS of_text
FROM focus_summary
WHERE exposed_communication_pct >= 5
