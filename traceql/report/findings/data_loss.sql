-- @kind capture
-- @section diagnostics
-- @uses run_summary
-- @threshold any diagnostic of severity data_loss or error
-- @says The capture or its import lost data
--     ({{ data_loss_count | counted("kind") }} of error): counts and sums below may be too small.
-- @do
SELECT data_loss_count, NULL AS saving_ns, NULL AS of_ns
FROM run_summary
WHERE data_loss_count > 0
