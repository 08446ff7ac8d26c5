-- @kind capture
-- @section iterations
-- @uses run_summary, iteration_detection
-- @threshold GPU work, and no iteration found
-- @says No iterations are marked, and none were detected in the launches
--     {%- if reason %} ({{ reason }}){% endif %}, so nothing here is per step.
-- @do Mark them with NVTX ranges named “iteration 7”, or name yours:
--     <code>traceql query iteration_timing -p pattern='^my_step'</code>.
SELECT
    string_agg(DISTINCT iteration_detection.abstained_because, '; ') AS reason,
    NULL AS saving_ns, NULL AS of_ns
FROM run_summary
LEFT JOIN iteration_detection ON run_summary.run_id = iteration_detection.run_id
WHERE run_summary.iteration_count = 0
    AND run_summary.kernel_count + run_summary.graph_launch_count > 0
GROUP BY run_summary.run_id
