-- Time in which nothing ran, in the iterations or, without any, from the first GPU
-- operation to the last. Of the gaps listed, clipped to that window, the share whose next
-- operation was launched only after the gap had begun.
-- @kind limit
-- @section gaps
-- @uses focus_summary, gpu_gaps
-- @threshold idle ≥ 10 % of the window; host-bound: launched after the gap began
-- @says {{ "The GPUs are" if device_count > 1 else "The GPU is" }} idle
--     {{ idle_pct | pct }} of {{ window_text }}
--     {%- if host_pct is not none %}: in {{ host_pct | pct }} of the gaps’ time the next
--     operation had not been launched when the GPU fell idle
--     {%- if host_pct >= 50 %} (host-bound){% endif %}{% endif %}.
-- @do {% if longest_ns %}The longest gap, {{ longest_ns | ns }}, lies between
--     <code>{{ before_name }}</code> and <code>{{ after_name }}</code> on device
--     {{ device_id }}.{% endif %}
WITH clipped AS (
    SELECT
        gpu_gaps.run_id, gpu_gaps.device_id, gpu_gaps.before_name, gpu_gaps.after_name,
        gpu_gaps.is_host_bound,
        least(gpu_gaps.end_ns, focus_summary.window_end_ns)
            - greatest(gpu_gaps.start_ns, focus_summary.window_start_ns) AS gap_ns
    FROM gpu_gaps
    JOIN focus_summary ON gpu_gaps.run_id = focus_summary.run_id
    WHERE gpu_gaps.start_ns < focus_summary.window_end_ns
        AND gpu_gaps.end_ns > focus_summary.window_start_ns
),
causes AS (
    SELECT
        run_id,
        100 * sum(gap_ns) FILTER (is_host_bound)
            / sum(gap_ns) FILTER (is_host_bound IS NOT NULL) AS host_pct,
        max(gap_ns) AS longest_ns,
        arg_max(before_name, gap_ns) AS before_name,
        arg_max(after_name, gap_ns) AS after_name,
        arg_max(device_id, gap_ns) AS device_id
    FROM clipped
    GROUP BY run_id
)
SELECT
    focus_summary.idle_pct, focus_summary.device_count, causes.host_pct,
    causes.longest_ns, causes.before_name, causes.after_name, causes.device_id,
    focus_summary.idle_pct / 100
        * (focus_summary.window_end_ns - focus_summary.window_start_ns) AS saving_ns,
    focus_summary.window_end_ns - focus_summary.window_start_ns AS of_ns,
    CASE focus_summary.window_name WHEN 'steps' THEN 'the iterations'
        ELSE 'the time from the first to the last GPU operation' END AS window_text
FROM focus_summary
LEFT JOIN causes ON focus_summary.run_id = causes.run_id
WHERE focus_summary.idle_pct >= 10
