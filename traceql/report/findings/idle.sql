-- Time in which nothing ran, in the iterations or, without any, from the first GPU
-- operation to the last. Of the gaps between operations, clipped to that window, the
-- share whose next operation was launched only after the gap had begun; and the time
-- before the first operation or after the last, which is in no gap. Gaps of 10 µs or
-- less are not listed.
-- @kind limit
-- @section gaps
-- @uses focus_summary, gpu_gaps, stream_summary
-- @threshold idle ≥ 10 % of the window; host-bound: most gap time ends with an operation
--     launched after the gap began
-- @of {{ of_text }}
-- @says {{ "The GPUs are" if device_count > 1 else "The GPU is" }} idle
--     {{ idle_pct | pct }} of {{ of_text }}
--     {%- if edge_ns >= 0.5 * saving_ns %}: most of that, {{ edge_ns | ns }}, lies before
--     the first GPU operation or after the last
--     {%- elif gaps_ns < 0.5 * saving_ns %}: most of that in gaps of 10 µs or less
--     {%- elif host_pct is not none and host_pct >= 50 %}: in {{ host_pct | pct }} of the
--     gaps’ time the next operation had not been launched when the GPU fell idle
--     (host-bound)
--     {%- elif host_pct is not none %}: in {{ (100 - host_pct) | pct }} of the gaps’ time
--     the next operation had been launched before the GPU fell idle{% endif %}.
-- @do {% if longest_ns %}The longest gap in that window, {{ longest_ns | ns }}, lies between
--     <code>{{ before_name | cut }}</code> and <code>{{ after_name | cut }}</code> on
--     device {{ device_id }}.{% endif %}
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
        100 * coalesce(sum(gap_ns) FILTER (is_host_bound), 0)
            / sum(gap_ns) FILTER (is_host_bound IS NOT NULL) AS host_pct,
        sum(gap_ns) AS gaps_ns,
        max(gap_ns) AS longest_ns,
        arg_max(before_name, gap_ns) AS before_name,
        arg_max(after_name, gap_ns) AS after_name,
        arg_max(device_id, gap_ns) AS device_id
    FROM clipped
    GROUP BY run_id
),
edges AS (
    SELECT run_id, avg(edge_ns) AS edge_ns
    FROM (
        SELECT
            focus_summary.run_id, stream_summary.device_id,
            greatest(
                min(stream_summary.first_ns) - any_value(focus_summary.window_start_ns), 0
            ) + greatest(
                any_value(focus_summary.window_end_ns) - max(stream_summary.last_ns), 0
            ) AS edge_ns
        FROM stream_summary
        JOIN focus_summary ON stream_summary.run_id = focus_summary.run_id
        GROUP BY focus_summary.run_id, stream_summary.device_id
    )
    GROUP BY run_id
)
SELECT
    focus_summary.idle_pct, focus_summary.device_count, causes.host_pct,
    causes.longest_ns, causes.before_name, causes.after_name, causes.device_id,
    coalesce(edges.edge_ns, 0) AS edge_ns,
    coalesce(causes.gaps_ns, 0) / focus_summary.device_count AS gaps_ns,
    focus_summary.idle_pct / 100
        * (focus_summary.window_end_ns - focus_summary.window_start_ns) AS saving_ns,
    focus_summary.window_end_ns - focus_summary.window_start_ns AS of_ns,
    CASE focus_summary.window_name WHEN 'steps' THEN 'the iterations'
        ELSE 'the GPU window' END AS of_text
FROM focus_summary
LEFT JOIN causes ON focus_summary.run_id = causes.run_id
LEFT JOIN edges ON focus_summary.run_id = edges.run_id
WHERE focus_summary.idle_pct >= 10
