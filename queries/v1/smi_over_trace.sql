-- @title Sample logs over a trace's time
-- Samples of the logs that are attached to a run (traceql ingest LOG --attach RUN), on
-- the run's own time: each figure of each device, in the window, or in each iteration.
-- Statistics are over the samples that have a value, each alike, however far apart they
-- are. A sample belongs to the last iteration of a process that began before it, if it
-- lies within that one; those in no iteration of any process are a row of their own,
-- and so are all where steps are devices' own, since these say nothing of the time on
-- other devices. Grouped by moment the rows are the samples themselves. What a sample
-- says may be of the time before it: nvidia-smi's utilisation is the share of up to the
-- last second with a kernel, not of an iteration.
-- @param group_by VARCHAR run, iteration or moment.
-- @param iteration_pattern VARCHAR Regular expression to find in the names of
--     annotations that are iterations; NULL: see _iterations.
-- @param time_window VARCHAR capture, gpu or steps.
-- @param from_ns BIGINT Start of a range, ns since the run's origin.
-- @param to_ns BIGINT End of a range, ns since the run's origin.
-- @column run_id id key The trace.
-- @column log_run_id id key The log.
-- @column device_id id key Device of the trace; NULL where nothing proves which one it
--     is, or the sample is of no device.
-- @column log_device_id id key Device as the log numbers it.
-- @column matched_by text neutral How device_id is known: uuid, bus, or index, which
--     counts where another log of the run says whose it is; NULL for unknown.
-- @column counter_pid id key Process, where the counter is a process's.
-- @column name text key Counter.
-- @column unit text key Unit; NULL for unknown.
-- @column pid id key Process of the iteration; NULL unless grouped by iteration.
-- @column iteration id key Ordinal of the iteration in its process; NULL unless grouped
--     by iteration, and for samples in none.
-- @column moment_ns ns key Time of the samples, ns since the run's origin; NULL unless
--     grouped by moment.
-- @column sample_count count neutral Samples.
-- @column missing_count count lower Samples without a value.
-- @column mean_value value neutral Mean of the samples that have a value.
-- @column min_value value neutral Smallest.
-- @column max_value value neutral Largest.
-- @column first_ns ns neutral First sample, ns since the run's origin.
-- @column last_ns ns neutral Last sample.
-- @column window_name text neutral capture, gpu, steps or range.
-- @column window_start_ns ns neutral Start of the window, ns since the run's origin.
-- @column window_end_ns ns neutral End of the window, ns since the run's origin.
-- @key run_id, log_run_id, device_id, log_device_id, counter_pid, name, unit, pid,
--     iteration, moment_ns
-- @requires attached_counter Lay a log beside the run: nvidia-smi
--     --query-gpu=timestamp,index,uuid,utilization.gpu,memory.used --format=csv
--     -lms 100 -f LOG, then traceql ingest LOG --attach RUN --clock-offset 0.
-- @since 0.1
CREATE MACRO smi_over_trace(
    group_by VARCHAR := 'run',
    iteration_pattern VARCHAR := NULL,
    time_window VARCHAR := 'capture',
    from_ns BIGINT := NULL,
    to_ns BIGINT := NULL
) AS TABLE
WITH windows AS (
    SELECT run_id, window_name, window_start_ns, window_end_ns
    FROM v1._windows(time_window := time_window, from_ns := from_ns, to_ns := to_ns)
),
-- What to add to a log's ts_ns to get the trace's.
clocks AS (
    SELECT
        run.run_id, log.run_id::VARCHAR AS log_run_id,
        log.clock_offset_ns + CASE
            WHEN run.origin_unix_ns IS NULL THEN 0
            WHEN log.origin_unix_ns IS NOT NULL
                THEN log.origin_unix_ns - run.origin_unix_ns
            WHEN log.clock = 'local_time'
                THEN log.source_origin_ns - run.origin_unix_ns
            ELSE 0
        END AS shift_ns
    FROM run
    JOIN attached_run AS log ON log.attached_to = run.run_id::VARCHAR
    WHERE log.clock_offset_ns IS NOT NULL
),
samples AS (
    SELECT
        clocks.run_id, clocks.log_run_id,
        row_number() OVER () AS sample_no,
        counter.ts_ns + clocks.shift_ns AS at_ns,
        counter.device_id AS log_device_id, counter.pid AS counter_pid,
        counter.name, counter.unit, counter.value
    FROM attached_counter AS counter
    JOIN clocks ON clocks.log_run_id = counter.run_id::VARCHAR
    JOIN windows
        ON windows.run_id = clocks.run_id
        AND counter.ts_ns + clocks.shift_ns >= windows.window_start_ns
        AND (
            counter.ts_ns + clocks.shift_ns < windows.window_end_ns
            OR counter.ts_ns + clocks.shift_ns = windows.window_end_ns
            AND windows.window_name <> 'range'
        )
),
steps AS (
    SELECT
        step.run_id, coalesce(step.pid, -1) AS on_pid, step.pid, step.iteration,
        step.start_ns, step.end_ns
    FROM v1._iterations(pattern := iteration_pattern) AS step
    WHERE CASE
        WHEN group_by IN ('run', 'iteration', 'moment') THEN group_by = 'iteration'
        ELSE error('group_by must be run, iteration or moment')
    END AND step.device_id IS NULL
),
asked AS (
    SELECT samples.*, processes.on_pid
    FROM samples
    JOIN (SELECT DISTINCT run_id, on_pid FROM steps) AS processes
        ON processes.run_id = samples.run_id
),
within AS (
    SELECT
        asked.* EXCLUDE (on_pid), steps.pid, steps.iteration
    FROM asked
    ASOF JOIN steps
        ON steps.run_id = asked.run_id AND steps.on_pid = asked.on_pid
        AND steps.start_ns <= asked.at_ns
    WHERE asked.at_ns < steps.end_ns
),
placed AS (
    SELECT * FROM within
    UNION ALL
    SELECT samples.*, NULL, NULL
    FROM samples
    WHERE samples.sample_no NOT IN (SELECT sample_no FROM within)
),
totals AS (
    SELECT
        run_id, log_run_id, log_device_id, counter_pid, name, unit, pid, iteration,
        CASE WHEN group_by = 'moment' THEN at_ns END AS moment_ns,
        count(*) AS sample_count,
        count(*) - count(value) AS missing_count,
        avg(value) AS mean_value, min(value) AS min_value, max(value) AS max_value,
        min(at_ns) AS first_ns, max(at_ns) AS last_ns
    FROM placed
    GROUP BY
        run_id, log_run_id, log_device_id, counter_pid, name, unit, pid, iteration,
        moment_ns
)
SELECT
    totals.run_id, totals.log_run_id, devices.device_id, totals.log_device_id,
    devices.matched_by, totals.counter_pid, totals.name, totals.unit, totals.pid,
    totals.iteration, totals.moment_ns, totals.sample_count, totals.missing_count,
    totals.mean_value, totals.min_value, totals.max_value, totals.first_ns,
    totals.last_ns,
    windows.window_name, windows.window_start_ns, windows.window_end_ns
FROM totals
JOIN windows ON windows.run_id = totals.run_id
LEFT JOIN v1._smi_devices() AS devices
    ON devices.run_id = totals.run_id::VARCHAR
    AND devices.log_run_id = totals.log_run_id
    AND devices.log_device_id = totals.log_device_id
ORDER BY
    totals.run_id, devices.device_id, totals.name, totals.unit, totals.pid,
    totals.iteration, totals.moment_ns, totals.log_run_id, totals.log_device_id,
    totals.counter_pid;
