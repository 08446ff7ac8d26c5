-- @title Where a run is steady
-- Where the warm-up of a process ends and its iterations settle: a range to measure in,
-- where steps are devices' own one for each device.
-- The level is the median wall time of the later half of the iterations; an iteration
-- is at the level when it is off by no more than tolerance_pct of it, or than 3 *
-- 1.4826 median absolute deviations of that half if that is more. The warm-up ends
-- with the first settle_count iterations in a row at the level, and the range with the
-- last such. Slow ones within it stay, and are counted. A process with fewer than two
-- times settle_count iterations, or none so many in a row at the level, has a row
-- without a range.
-- @param pattern VARCHAR As in iteration_timing.
-- @param tolerance_pct DOUBLE Distance from the level that is no distance.
-- @param settle_count BIGINT Iterations in a row that must be at the level.
-- @column run_id id key The run.
-- @column pid id key Process; NULL where the source does not say it.
-- @column device_id id key Device whose own steps they are; NULL for steps of the host,
--     which cover all devices of its process.
-- @column source text neutral Where iterations come from, as in iteration_timing.
-- @column is_steady bool neutral Whether there is such a range.
-- @column first_iteration id neutral First iteration of the range.
-- @column last_iteration id neutral Last iteration of the range.
-- @column start_ns ns neutral Start of the range, ns since the run's origin: from_ns of
--     other queries.
-- @column end_ns ns neutral Its end: to_ns of other queries.
-- @column iteration_count count neutral All iterations of the process, or the device.
-- @column warmup_count count lower Iterations before the range.
-- @column steady_count count neutral Iterations in it.
-- @column tail_count count lower Iterations after it.
-- @column warmup_ns ns lower From the first iteration's start to the range's start.
-- @column level_ns ns lower Median wall time of the later half of all iterations.
-- @column tolerance_ns ns neutral Distance from it that counts as none.
-- @column mean_ns ns lower Mean wall time in the range.
-- @column median_ns ns lower Median wall time in the range.
-- @column stddev_ns ns lower Standard deviation there, the sample's; 0 for one.
-- @column variation_pct pct lower Standard deviation over mean, there.
-- @column off_level_count count lower Iterations of the range that are not at the
--     level.
-- @column warmup_excess_ns ns lower Wall time of the iterations before the range beyond
--     the level each.
-- @key run_id, pid, device_id
-- @requires iteration|annotation|kernel Mark the iterations: NVTX ranges named
--     "iteration 7", or profiler.step() in PyTorch.
-- @since 0.2
CREATE MACRO steady_range(
    pattern VARCHAR := NULL, tolerance_pct DOUBLE := 5, settle_count BIGINT := 3
) AS TABLE
WITH steps AS MATERIALIZED (
    SELECT
        run_id, pid, device_id, iteration, source, start_ns, end_ns,
        end_ns - start_ns AS wall_ns,
        count(*) OVER (PARTITION BY run_id, pid, device_id) AS iteration_count
    FROM v1._iterations(pattern := pattern)
    WHERE CASE
        WHEN settle_count < 1 THEN error('settle_count must be at least 1')
        WHEN tolerance_pct < 0 THEN error('tolerance_pct must not be negative')
        ELSE true
    END
),
levels AS (
    SELECT
        run_id, pid, device_id, median(wall_ns) AS level_ns, mad(wall_ns) AS mad_ns
    FROM steps
    WHERE iteration >= iteration_count // 2
    GROUP BY run_id, pid, device_id
),
judged AS (
    SELECT
        steps.run_id, steps.pid, steps.device_id, steps.iteration, steps.source,
        steps.start_ns, steps.end_ns, steps.wall_ns, steps.iteration_count,
        levels.level_ns,
        greatest(
            tolerance_pct / 100 * levels.level_ns, 3 * 1.4826 * levels.mad_ns
        ) AS tolerance_ns,
        abs(steps.wall_ns - levels.level_ns) <= greatest(
            tolerance_pct / 100 * levels.level_ns, 3 * 1.4826 * levels.mad_ns
        ) AS is_at_level
    FROM steps
    JOIN levels
        ON steps.run_id = levels.run_id AND steps.pid IS NOT DISTINCT FROM levels.pid
        AND steps.device_id IS NOT DISTINCT FROM levels.device_id
),
-- Iterations since the last one that was not at the level.
streaks AS (
    SELECT
        run_id, pid, device_id, iteration, start_ns, end_ns,
        iteration - coalesce(max(CASE WHEN NOT is_at_level THEN iteration END) OVER (
            PARTITION BY run_id, pid, device_id
            ORDER BY iteration ROWS UNBOUNDED PRECEDING
        ), -1) AS streak
    FROM judged
    WHERE iteration_count >= 2 * settle_count
),
ranges AS (
    SELECT
        run_id, pid, device_id, min(iteration - settle_count + 1) AS first_iteration,
        max(iteration) AS last_iteration
    FROM streaks
    WHERE streak >= settle_count
    GROUP BY run_id, pid, device_id
),
placed AS (
    SELECT
        judged.run_id, judged.pid, judged.device_id, judged.iteration, judged.source,
        judged.start_ns, judged.end_ns, judged.wall_ns, judged.level_ns,
        judged.tolerance_ns, judged.is_at_level, ranges.first_iteration,
        ranges.last_iteration,
        judged.iteration < ranges.first_iteration AS is_before,
        judged.iteration BETWEEN ranges.first_iteration AND ranges.last_iteration
            AS is_in,
        judged.iteration > ranges.last_iteration AS is_after
    FROM judged
    LEFT JOIN ranges
        ON judged.run_id = ranges.run_id AND judged.pid IS NOT DISTINCT FROM ranges.pid
        AND judged.device_id IS NOT DISTINCT FROM ranges.device_id
),
measured AS (
    SELECT
        run_id, pid, device_id, any_value(source) AS source,
        any_value(first_iteration) AS first_iteration,
        any_value(last_iteration) AS last_iteration,
        min(start_ns) FILTER (is_in) AS start_ns, max(end_ns) FILTER (is_in) AS end_ns,
        min(start_ns) AS origin_ns, count(*) AS iteration_count,
        count(*) FILTER (is_before) AS warmup_count,
        count(*) FILTER (is_in) AS steady_count,
        count(*) FILTER (is_after) AS tail_count,
        any_value(level_ns) AS level_ns, any_value(tolerance_ns) AS tolerance_ns,
        avg(wall_ns) FILTER (is_in) AS mean_ns,
        median(wall_ns) FILTER (is_in) AS median_ns,
        CASE WHEN count(*) FILTER (is_in) = 1 THEN 0
            ELSE stddev_samp(wall_ns) FILTER (is_in)
        END AS stddev_ns,
        count(*) FILTER (is_in AND NOT is_at_level) AS off_level_count,
        coalesce(sum(wall_ns - level_ns) FILTER (is_before), 0) AS warmup_excess_ns
    FROM placed
    GROUP BY run_id, pid, device_id
)
SELECT
    run_id, pid, device_id, source, first_iteration IS NOT NULL AS is_steady,
    first_iteration, last_iteration, start_ns, end_ns, iteration_count,
    CASE WHEN is_steady THEN warmup_count END AS warmup_count, steady_count,
    CASE WHEN is_steady THEN tail_count END AS tail_count,
    start_ns - origin_ns AS warmup_ns, level_ns, tolerance_ns, mean_ns, median_ns,
    stddev_ns, 100.0 * stddev_ns / nullif(mean_ns, 0) AS variation_pct,
    CASE WHEN is_steady THEN off_level_count END AS off_level_count,
    CASE WHEN is_steady THEN warmup_excess_ns END AS warmup_excess_ns
FROM measured
ORDER BY run_id, pid, device_id;
