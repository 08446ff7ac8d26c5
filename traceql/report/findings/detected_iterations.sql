-- @kind capture
-- @section iterations
-- @uses run_summary, iteration_detection
-- @threshold iterations found that the capture does not mark
-- @says {{ iteration_count | count }} iterations are detected, confidence
--     {{ '%.2f' | format(confidence_share) }} (of at most 1): the launches repeat every
--     {{ period_launch_count | count }}. The capture marks none.
-- @do Their first launch is known, what the host does before it is not. To be sure,
--     mark them with NVTX ranges named “iteration 7”, or name yours:
--     <code>traceql query iteration_timing -p pattern='^my_step'</code>.
SELECT
    run_summary.iteration_count,
    min(iteration_detection.confidence_share) AS confidence_share,
    any_value(iteration_detection.period_launch_count
        ORDER BY iteration_detection.pid, iteration_detection.device_id)
        AS period_launch_count,
    NULL AS saving_ns, NULL AS of_ns
FROM run_summary
JOIN iteration_detection ON run_summary.run_id = iteration_detection.run_id
WHERE iteration_detection.is_detected AND run_summary.iteration_count > 0
GROUP BY run_summary.run_id, run_summary.iteration_count
