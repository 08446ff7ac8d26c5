-- @title API calls
-- Host API calls by name: how often and how long. Durations are summed: a call that
-- runs inside another counts in both, and so do calls of several threads at once. Calls
-- that start in the window count whole. Equals cuda_api_sum of nsys stats (its rows are
-- those whose api_group is cuda: runtime and driver calls together) and osrt_sum.
-- Quantiles are exact, by linear interpolation; the standard deviation is the sample's,
-- 0 for one.
-- @param only_api VARCHAR One API or group, such as cuda, cuda_runtime or osrt; NULL
--     for all.
-- @param top BIGINT Rows per run and group, by total time; NULL for all.
-- @param time_window VARCHAR capture, gpu or steps.
-- @param from_ns BIGINT Start of a range, ns since the run's origin.
-- @param to_ns BIGINT End of a range, ns since the run's origin.
-- @column run_id id key The run.
-- @column api_group text neutral cuda for cuda_runtime and cuda_driver, else the API.
-- @column api text key cuda_runtime, cuda_driver, hip, osrt, cudnn, cublas, nccl, ...
-- @column name text key Function, without the version suffix of its ABI.
-- @column call_count count neutral Calls.
-- @column failed_count count lower Calls that returned other than 0; NULL where no
--     return value is recorded, and for osrt, whose functions return anything.
-- @column total_ns ns lower Sum of durations.
-- @column sum_pct pct neutral total_ns over the sum of the group's calls in the window.
-- @column mean_ns ns lower Mean duration.
-- @column median_ns ns lower Median duration.
-- @column min_ns ns lower Shortest.
-- @column max_ns ns lower Longest.
-- @column stddev_ns ns lower Standard deviation of the durations.
-- @column q1_ns ns lower First quartile of the durations.
-- @column q3_ns ns lower Third quartile of the durations.
-- @column window_name text neutral capture, gpu, steps or range.
-- @column window_start_ns ns neutral Start of the window, ns since the run's origin.
-- @column window_end_ns ns neutral End of the window, ns since the run's origin.
-- @key run_id, api, name
-- @chart bar x=total_ns y=name
-- @requires api_call Record API calls: nsys profile -t cuda,osrt, or a PyTorch profiler
--     with ProfilerActivity.CPU and ProfilerActivity.CUDA.
-- @since 0.1
CREATE MACRO api_summary(
    only_api VARCHAR := NULL,
    top BIGINT := NULL,
    time_window VARCHAR := 'capture',
    from_ns BIGINT := NULL,
    to_ns BIGINT := NULL
) AS TABLE
WITH windows AS (
    SELECT run_id, window_name, window_start_ns, window_end_ns
    FROM v1._windows(time_window := time_window, from_ns := from_ns, to_ns := to_ns)
),
calls AS (
    SELECT
        api_call.run_id,
        CASE
            WHEN api_call.api IN ('cuda_runtime', 'cuda_driver') THEN 'cuda'
            ELSE api_call.api
        END AS api_group,
        api_call.api,
        api_call.name,
        CASE WHEN api_call.api <> 'osrt' THEN api_call.result END AS result,
        CASE WHEN api_call.dur_ns >= 0 THEN api_call.dur_ns END AS dur_ns
    FROM api_call
    INNER JOIN windows
        ON api_call.run_id = windows.run_id
        AND api_call.ts_ns >= windows.window_start_ns
        AND (
            api_call.ts_ns < windows.window_end_ns
            OR api_call.ts_ns = windows.window_end_ns AND windows.window_name <> 'range'
        )
),
totals AS (
    SELECT
        run_id, api_group, api, name,
        count(*) AS call_count,
        CASE WHEN count(result) > 0 THEN count(*) FILTER (result <> 0) END
            AS failed_count,
        coalesce(sum(dur_ns), 0) AS total_ns,
        avg(dur_ns) AS mean_ns,
        quantile_cont(dur_ns, [0.25, 0.5, 0.75]) AS quartiles_ns,
        min(dur_ns) AS min_ns,
        max(dur_ns) AS max_ns,
        CASE WHEN count(dur_ns) = 1 THEN 0 ELSE stddev_samp(dur_ns) END AS stddev_ns
    FROM calls
    WHERE only_api IS NULL OR only_api IN (api, api_group)
    GROUP BY run_id, api_group, api, name
),
groups AS (
    SELECT run_id, api_group, sum(dur_ns) AS sum_ns
    FROM calls
    GROUP BY run_id, api_group
)
SELECT
    totals.run_id,
    totals.api_group,
    totals.api,
    totals.name,
    totals.call_count,
    totals.failed_count,
    totals.total_ns::BIGINT AS total_ns,
    100.0 * totals.total_ns / nullif(groups.sum_ns, 0) AS sum_pct,
    totals.mean_ns,
    totals.quartiles_ns[2] AS median_ns,
    totals.min_ns,
    totals.max_ns,
    totals.stddev_ns,
    totals.quartiles_ns[1] AS q1_ns,
    totals.quartiles_ns[3] AS q3_ns,
    windows.window_name,
    windows.window_start_ns,
    windows.window_end_ns
FROM totals
INNER JOIN groups
    ON totals.run_id = groups.run_id AND totals.api_group = groups.api_group
INNER JOIN windows ON totals.run_id = windows.run_id
QUALIFY top IS NULL OR top >= row_number() OVER (
    PARTITION BY totals.run_id, totals.api_group
    ORDER BY totals.total_ns DESC, totals.name, totals.api
)
ORDER BY
    totals.run_id, totals.api_group, totals.total_ns DESC, totals.name, totals.api;
