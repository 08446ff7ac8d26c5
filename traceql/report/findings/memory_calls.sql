-- @kind limit
-- @section host
-- @uses api_summary, run_summary
-- @threshold allocating and freeing calls ≥ 3 % of the capture
-- @of the capture
-- @says Calls that allocate or free memory take {{ total_ns | ns }} of the host
--     ({{ total_pct | pct }} of the capture, summed over threads): most of it
--     <code>{{ name | cut }}</code>, {{ call_count | count }} calls.
-- @do Keep buffers, or use a caching or stream-ordered allocator; set-up counts here too.
SELECT
    total_ns, 100 * total_ns / of_ns AS total_pct, name, call_count,
    total_ns AS saving_ns, of_ns
FROM (
    SELECT
        sum(api_summary.total_ns) AS total_ns,
        arg_max(api_summary.name, api_summary.total_ns) AS name,
        arg_max(api_summary.call_count, api_summary.total_ns) AS call_count,
        any_value(run_summary.window_end_ns - run_summary.window_start_ns) AS of_ns
    FROM api_summary
    JOIN run_summary ON api_summary.run_id = run_summary.run_id
    WHERE api_summary.api_group IN ('cuda', 'hip') AND regexp_matches(
        api_summary.name,
        '^(cuda|cu|hip)_?(Malloc|Free|Mem(Alloc|Free)|HostAlloc|HostMalloc|HostFree)'
    )
    GROUP BY api_summary.run_id
)
WHERE total_ns >= 0.03 * of_ns
