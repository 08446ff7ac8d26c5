-- @kind limit
-- @section overview
-- @uses focus_utilization
-- @threshold the busiest device ≥ 1.2 × as busy as the mean of those that ran anything
-- @of {{ of_text }}
-- @says The devices are not equally busy: device {{ most_id }} {{ most_pct | pct }} of
--     {{ of_text }}, device {{ least_id }} {{ least_pct | pct }}.
-- @do Balance the work, or find what the others wait for.
SELECT
    arg_max(device_id, busy_union_ns) AS most_id, max(busy_pct) AS most_pct,
    arg_min(device_id, busy_union_ns) AS least_id, min(busy_pct) AS least_pct,
    max(busy_union_ns) - avg(busy_union_ns) AS saving_ns, any_value(bin_ns) AS of_ns,
    CASE any_value(window_name) WHEN 'steps' THEN 'the iterations'
        ELSE 'the GPU window' END AS of_text
FROM focus_utilization
WHERE busy_union_ns > 0
HAVING count(*) > 1 AND max(busy_union_ns) >= 1.2 * avg(busy_union_ns)
