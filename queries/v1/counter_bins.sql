-- @title Counters over time
-- The window in bins of equal length (their lengths differ by 1 ns at most), and the
-- samples of each counter in each: mean, least and most of those that have a value.
-- Bins without a sample have no row: what a counter was between samples is not known.
-- @param bins BIGINT Bins, 1 to 1500.
-- @param only_name VARCHAR Regular expression to find in the names of the counters;
--     NULL for all.
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
-- @column bin value key Number of the bin, from 0.
-- @column start_ns ns neutral Its start, ns since the run's origin.
-- @column end_ns ns neutral Its end.
-- @column sample_count count neutral Samples in it.
-- @column missing_count count lower Samples without a value.
-- @column mean_value value neutral Mean.
-- @column min_value value neutral Smallest.
-- @column max_value value neutral Largest.
-- @column window_name text neutral capture, gpu, steps or range.
-- @column window_start_ns ns neutral Start of the window, ns since the run's origin.
-- @column window_end_ns ns neutral End of the window, ns since the run's origin.
-- @key run_id, device_id, source_gpu, pid, name, unit, bin
-- @chart line x=start_ns y=mean_value
-- @requires counter Record counters: nsys profile --gpu-metrics-devices=all, or log
--     nvidia-smi --query-gpu=... --format=csv -lms 100.
-- @since 0.2
CREATE MACRO counter_bins(
    bins BIGINT := 100,
    only_name VARCHAR := NULL,
    time_window VARCHAR := 'capture',
    from_ns BIGINT := NULL,
    to_ns BIGINT := NULL
) AS TABLE
WITH windows AS (
    SELECT
        run_id, window_name, window_start_ns, window_end_ns,
        window_end_ns - window_start_ns AS span_ns,
        least(
            CASE
                WHEN bins BETWEEN 1 AND 1500 THEN bins
                ELSE error('bins must be 1 to 1500')
            END,
            window_end_ns - window_start_ns
        ) AS bin_count
    FROM v1._windows(time_window := time_window, from_ns := from_ns, to_ns := to_ns)
),
-- Bin i is [start + span * i // count, start + span * (i + 1) // count).
placed AS (
    SELECT
        counter.run_id, counter.device_id,
        TRY_CAST(counter.extra ->> 'gpuId' AS BIGINT) AS source_gpu,
        counter.pid, counter.name, counter.unit, counter.value,
        CAST(least(
            (
                (counter.ts_ns - windows.window_start_ns + 1)::HUGEINT
                * windows.bin_count - 1
            ) // windows.span_ns,
            windows.bin_count - 1
        ) AS BIGINT) AS bin
    FROM counter
    JOIN windows
        ON counter.run_id = windows.run_id
        AND counter.ts_ns >= windows.window_start_ns
        AND (
            counter.ts_ns < windows.window_end_ns
            OR counter.ts_ns = windows.window_end_ns AND windows.window_name <> 'range'
        )
    WHERE only_name IS NULL OR regexp_matches(counter.name, only_name)
),
totals AS (
    SELECT
        run_id, device_id, source_gpu, pid, name, unit, bin,
        count(*) AS sample_count,
        count(*) - count(value) AS missing_count,
        avg(value) AS mean_value, min(value) AS min_value, max(value) AS max_value
    FROM placed
    GROUP BY run_id, device_id, source_gpu, pid, name, unit, bin
)
SELECT
    totals.run_id, totals.device_id, totals.source_gpu, totals.pid, totals.name,
    totals.unit, totals.bin,
    CAST(
        windows.window_start_ns
        + windows.span_ns::HUGEINT * totals.bin // windows.bin_count AS BIGINT
    ) AS start_ns,
    CAST(
        windows.window_start_ns
        + windows.span_ns::HUGEINT * (totals.bin + 1) // windows.bin_count AS BIGINT
    ) AS end_ns,
    totals.sample_count, totals.missing_count, totals.mean_value, totals.min_value,
    totals.max_value,
    windows.window_name, windows.window_start_ns, windows.window_end_ns
FROM totals
JOIN windows ON totals.run_id = windows.run_id
ORDER BY
    totals.run_id, totals.device_id, totals.source_gpu, totals.pid, totals.name,
    totals.unit, totals.bin;
