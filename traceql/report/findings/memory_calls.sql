-- @kind limit
-- @section host
-- @uses focus_api, focus_summary
-- @threshold allocating and freeing calls ≥ 3 % of the window
-- @of {{ of_text }}
-- @says Calls that allocate or free memory take {{ total_ns | ns }} of the host
--     {%- if total_pct <= 100 %} ({{ total_pct | pct }} of {{ of_text }}){% endif %}, summed
--     over threads: most of it
--     <code>{{ name | cut }}</code>, {{ call_count | counted("call") }}.
-- @do Keep buffers, or use a caching or stream-ordered allocator.
SELECT
    total_ns, 100 * total_ns / of_ns AS total_pct, name, call_count,
    least(total_ns, of_ns) AS saving_ns, of_ns,
    CASE window_name WHEN 'steps' THEN 'the iterations'
        ELSE 'the GPU window' END AS of_text
FROM (
    SELECT
        sum(focus_api.total_ns) AS total_ns,
        arg_max(focus_api.name, focus_api.total_ns) AS name,
        arg_max(focus_api.call_count, focus_api.total_ns) AS call_count,
        any_value(focus_summary.window_end_ns - focus_summary.window_start_ns) AS of_ns,
        any_value(focus_summary.window_name) AS window_name
    FROM focus_api
    JOIN focus_summary ON focus_api.run_id = focus_summary.run_id
    WHERE focus_api.api_group IN ('cuda', 'hip') AND regexp_matches(
        focus_api.name,
        '^(cuda|cu|hip)_?(Malloc|Free|Mem(Alloc|Free)|HostAlloc|HostMalloc|HostFree)'
    )
    GROUP BY focus_api.run_id
)
WHERE total_ns >= 0.03 * of_ns
