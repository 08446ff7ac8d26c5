-- @kind capture
-- @section iterations
-- @uses run_summary
-- @threshold GPU work, and no iteration found
-- @says No iterations are marked, so nothing here is per step.
-- @do Mark them with NVTX ranges named “iteration 7”, or name yours:
--     <code>traceql query iteration_timing -p pattern='^my_step'</code>.
SELECT NULL AS saving_ns, NULL AS of_ns
FROM run_summary
WHERE iteration_count = 0 AND kernel_count + graph_launch_count > 0
