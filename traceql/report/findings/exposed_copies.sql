-- The direction named is the one with the most exposed time in the capture.
-- @kind limit
-- @section copies
-- @uses focus_summary, memcpy_summary
-- @threshold exposed copies and fills ≥ 5 % of the window
-- @of {{ of_text }}
-- @says Copies and fills are exposed {{ exposed_copy_pct | pct }} of {{ of_text }}:
--     they run and no kernel beside them; most of it is {{ kind }}
--     ({{ exposed_ns | ns }} in {{ copy_count | counted("operation") }} of the capture,
--     summed over devices).
-- @do Run them on a stream of their own beside kernels; a copy from or to pageable
--     host memory cannot.
SELECT
    focus_summary.exposed_copy_pct, most.kind, most.exposed_ns, most.copy_count,
    focus_summary.exposed_copy_pct / 100
        * (focus_summary.window_end_ns - focus_summary.window_start_ns) AS saving_ns,
    focus_summary.window_end_ns - focus_summary.window_start_ns AS of_ns,
    CASE focus_summary.window_name WHEN 'steps' THEN 'the iterations'
        ELSE 'the GPU window' END AS of_text
FROM focus_summary
JOIN (FROM memcpy_summary ORDER BY exposed_ns DESC, kind LIMIT 1) AS most
    ON focus_summary.run_id = most.run_id
WHERE focus_summary.exposed_copy_pct >= 5
