-- @title Iterations in figures
-- Each figure of iteration_timing over the iterations of a process on a device: mean,
-- exact median and quantile, spread. Iterations that lack the figure do not count in
-- it. Work that no iteration launched is not in it.
-- @param pattern VARCHAR Regular expression that the names of annotations must match
--     to be iterations; NULL for the source's own iterations, else names such as
--     "iteration 7".
-- @column run_id id key The run.
-- @column pid id key Process of the iterations; NULL where the source does not say it.
-- @column device_id id key Device.
-- @column metric text key Column of iteration_timing: wall_ns, kernel_union_ns, ...
-- @column iteration_count count neutral Iterations that have the figure.
-- @column outlier_count count lower Iterations whose wall time is an outlier.
-- @column mean_ns ns lower Mean.
-- @column median_ns ns lower Median.
-- @column stddev_ns ns lower Sample standard deviation; NULL for one iteration.
-- @column min_ns ns lower Least.
-- @column p95_ns ns lower 95th percentile, between the neighbours by distance.
-- @column max_ns ns lower Greatest.
-- @column mean_of_wall_pct pct neutral Mean of the figure, of the mean wall time.
-- @key run_id, pid, device_id, metric
-- @chart bar x=mean_ns y=metric
-- @requires iteration|annotation|kernel Mark the iterations: NVTX ranges named
--     "iteration 7", or profiler.step() in PyTorch.
-- @since 0.1
CREATE MACRO iteration_summary(pattern VARCHAR := NULL) AS TABLE
WITH figures AS (
    SELECT
        run_id, pid, device_id, is_outlier, wall_ns,
        unnest([
            'wall_ns', 'kernel_union_ns', 'kernel_sum_ns', 'compute_union_ns',
            'communication_union_ns', 'exposed_communication_ns', 'copy_union_ns',
            'exposed_copy_ns', 'busy_union_ns', 'idle_ns', 'gap_before_ns'
        ]) AS metric,
        unnest([
            wall_ns, kernel_union_ns, kernel_sum_ns, compute_union_ns,
            communication_union_ns, exposed_communication_ns, copy_union_ns,
            exposed_copy_ns, busy_union_ns, idle_ns, gap_before_ns
        ]) AS value
    FROM v1.iteration_timing(pattern := pattern)
    WHERE iteration IS NOT NULL
)
SELECT
    run_id, pid, device_id, metric, count(value) AS iteration_count,
    count(*) FILTER (is_outlier AND value IS NOT NULL) AS outlier_count,
    avg(value) AS mean_ns, median(value) AS median_ns, stddev_samp(value) AS stddev_ns,
    min(value) AS min_ns, quantile_cont(value, 0.95) AS p95_ns, max(value) AS max_ns,
    100.0 * avg(value) / nullif(avg(wall_ns), 0) AS mean_of_wall_pct
FROM figures
GROUP BY run_id, pid, device_id, metric
ORDER BY run_id, pid, device_id, metric;
