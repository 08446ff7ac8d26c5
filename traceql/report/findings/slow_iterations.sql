-- The rule of an outlier is iteration_timing's; an iteration is one row per device, and
-- its wall time is the same in each; a device's own steps are rows of their own.
-- @kind limit
-- @section iterations
-- @uses iteration_timing
-- @threshold an iteration's wall time > 1.05 × the median and > 3 robust deviations
--     above it, of at least five
-- @of the iterations
-- @says {% if slow_count == 1 %}Iteration {{ worst }} took
--     {{ worst_ratio | times }} the median ({{ worst_ns | ns }} against
--     {{ median_ns | ns }})
--     {%- else %}{{ slow_count | count }} of {{ iteration_count | count }} iterations
--     are slow; the worst, {{ worst }}, took {{ worst_ratio | times }} the median
--     ({{ worst_ns | ns }} against {{ median_ns | ns }})
--     {%- endif -%}
--     {%- if gap_ns and gap_ns > 0 %}; the device that waited longest was idle
--     {{ idle_ns | ns }} of it{% endif %}.
-- @do Compare its row with a usual iteration, and see the timeline there.
WITH walls AS (
    SELECT
        run_id, pid, iteration, any_value(name) AS name, wall_ns,
        any_value(wall_ns / wall_to_median_ratio) AS median_ns,
        any_value(wall_to_median_ratio) AS ratio, bool_or(is_outlier) AS is_slow,
        max(idle_ns) AS idle_ns, max(gap_before_ns) AS gap_ns
    FROM iteration_timing
    WHERE iteration IS NOT NULL
    GROUP BY run_id, pid, iteration, start_ns, wall_ns
)
SELECT
    count(*) FILTER (is_slow) AS slow_count,
    count(*) AS iteration_count,
    arg_max(iteration, ratio) FILTER (is_slow) AS worst,
    max(ratio) FILTER (is_slow) AS worst_ratio,
    arg_max(wall_ns, ratio) FILTER (is_slow) AS worst_ns,
    arg_max(median_ns, ratio) FILTER (is_slow) AS median_ns,
    arg_max(gap_ns, ratio) FILTER (is_slow) AS gap_ns,
    arg_max(idle_ns, ratio) FILTER (is_slow) AS idle_ns,
    sum(wall_ns - median_ns) FILTER (is_slow) AS saving_ns,
    sum(wall_ns) AS of_ns
FROM walls
HAVING count(*) FILTER (is_slow) > 0
