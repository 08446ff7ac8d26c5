-- @kind capture
-- @section diagnostics
-- @uses run_summary
-- @threshold a diagnostic time_outliers
-- @says Stamps of {{ stray_count | counted("event") }} lie more than a day from most
--     others: the window of {{ span_ns | ns }} is that long only through them.
-- @do Name the range that counts: <code>traceql query NAME -p from_ns=... -p
--     to_ns=...</code>.
SELECT
    diagnostic.count AS stray_count, run.span_ns, NULL AS saving_ns, NULL AS of_ns
FROM run_summary
JOIN run ON run.run_id = run_summary.run_id
JOIN diagnostic ON diagnostic.run_id = run_summary.run_id
WHERE diagnostic.code = 'time_outliers'
