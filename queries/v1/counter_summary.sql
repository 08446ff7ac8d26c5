-- @title Counters
-- Samples of each counter of each device: GPU metrics, nvidia-smi columns, counters of
-- Chrome traces, network metrics. Samples in the window. Statistics are over the
-- samples that have a value, each alike, however far apart they are; quantiles are
-- exact, by linear interpolation; the standard deviation is the sample's, 0 for one.
-- interval_ns says how dense the samples are.
-- @param time_window VARCHAR capture, gpu or steps.
-- @param from_ns BIGINT Start of a range, ns since the run's origin.
-- @param to_ns BIGINT End of a range, ns since the run's origin.
-- @column run_id id key The run.
-- @column device_id id key Device; NULL for the host, or a device that the trace does
--     not number.
-- @column source_gpu id key Number that the source gives to a GPU without a device_id.
-- @column pid id key Process, where the counter is a process's.
-- @column name text key Counter.
-- @column unit text key Unit; pct means per cent of peak; NULL for unknown.
-- @column sample_count count neutral Samples.
-- @column missing_count count lower Samples without a value.
-- @column mean_value value neutral Mean.
-- @column median_value value neutral Median.
-- @column min_value value neutral Smallest.
-- @column max_value value neutral Largest.
-- @column stddev_value value neutral Standard deviation.
-- @column p5_value value neutral 5th percentile.
-- @column p95_value value neutral 95th percentile.
-- @column first_ns ns neutral First sample, ns since the run's origin.
-- @column last_ns ns neutral Last sample.
-- @column interval_ns ns lower Mean time from one moment with a sample to the next.
-- @column window_name text neutral capture, gpu, steps or range.
-- @column window_start_ns ns neutral Start of the window, ns since the run's origin.
-- @column window_end_ns ns neutral End of the window, ns since the run's origin.
-- @key run_id, device_id, source_gpu, pid, name, unit
-- @requires counter Record counters: nsys profile --gpu-metrics-devices=all, or log
--     nvidia-smi --query-gpu=... --format=csv -lms 100.
-- @since 0.2
CREATE MACRO counter_summary(
    time_window VARCHAR := 'capture', from_ns BIGINT := NULL, to_ns BIGINT := NULL
) AS TABLE
WITH windows AS (
    SELECT run_id, window_name, window_start_ns, window_end_ns
    FROM v1._windows(time_window := time_window, from_ns := from_ns, to_ns := to_ns)
),
totals AS (
    SELECT
        counter.run_id, counter.device_id,
        TRY_CAST(counter.extra ->> 'gpuId' AS BIGINT) AS source_gpu,
        counter.pid, counter.name, counter.unit,
        count(*) AS sample_count,
        count(*) - count(counter.value) AS missing_count,
        avg(counter.value) AS mean_value,
        quantile_cont(counter.value, [0.05, 0.5, 0.95]) AS quantiles,
        min(counter.value) AS min_value,
        max(counter.value) AS max_value,
        CASE WHEN count(counter.value) = 1 THEN 0 ELSE stddev_samp(counter.value) END
            AS stddev_value,
        min(counter.ts_ns) AS first_ns,
        max(counter.ts_ns) AS last_ns,
        count(DISTINCT counter.ts_ns) AS moment_count
    FROM counter
    JOIN windows
        ON counter.run_id = windows.run_id
        AND counter.ts_ns >= windows.window_start_ns
        AND (
            counter.ts_ns < windows.window_end_ns
            OR counter.ts_ns = windows.window_end_ns AND windows.window_name <> 'range'
        )
    GROUP BY
        counter.run_id, counter.device_id, source_gpu, counter.pid, counter.name,
        counter.unit
)
SELECT
    totals.run_id, totals.device_id, totals.source_gpu, totals.pid, totals.name,
    totals.unit, totals.sample_count, totals.missing_count, totals.mean_value,
    totals.quantiles[2] AS median_value, totals.min_value, totals.max_value,
    totals.stddev_value, totals.quantiles[1] AS p5_value,
    totals.quantiles[3] AS p95_value, totals.first_ns, totals.last_ns,
    (totals.last_ns - totals.first_ns) / nullif(totals.moment_count - 1, 0)
        AS interval_ns,
    windows.window_name, windows.window_start_ns, windows.window_end_ns
FROM totals
JOIN windows ON totals.run_id = windows.run_id
ORDER BY
    totals.run_id, totals.device_id, totals.source_gpu, totals.pid, totals.name,
    totals.unit;
