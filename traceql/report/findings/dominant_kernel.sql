-- @kind limit
-- @section kernels
-- @uses kernel_totals, run_summary
-- @threshold one kernel ≥ 20 % of the sum of kernel time, and ≥ 1 % of the capture
-- @of the capture
-- @says One kernel, <code>{{ short_name | cut }}</code>, takes {{ sum_pct | pct }} of kernel
--     time: {{ total_ns | ns }} in {{ kernel_count | counted("execution") }}.
-- @do What makes it faster pays first; its whole time is the most that can be saved.
SELECT
    kernel_totals.short_name, kernel_totals.sum_pct, kernel_totals.total_ns,
    kernel_totals.kernel_count,
    kernel_totals.total_ns / run_summary.device_count AS saving_ns,
    run_summary.window_end_ns - run_summary.window_start_ns AS of_ns
FROM kernel_totals
JOIN run_summary ON kernel_totals.run_id = run_summary.run_id
WHERE kernel_totals.sum_pct >= 20 AND kernel_totals.total_ns
    >= 0.01 * (run_summary.window_end_ns - run_summary.window_start_ns)
ORDER BY kernel_totals.total_ns DESC, kernel_totals.name
LIMIT 1
