-- @kind capture
-- @section host
-- @uses api_summary
-- @threshold any API call that returned an error
-- @says {{ failed_count | counted("API call") }} returned an error, most often
--     <code>{{ name | cut }}</code>.
-- @do Some libraries probe on purpose; else check their return values.
SELECT
    sum(failed_count) AS failed_count, arg_max(name, failed_count) AS name,
    NULL AS saving_ns, NULL AS of_ns
FROM api_summary
HAVING sum(failed_count) > 0
