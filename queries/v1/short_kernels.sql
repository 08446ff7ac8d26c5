-- @title Kernels too short for their launch
-- Kernels by name that are not longer than threshold_ns or, without a threshold, than
-- their share of the call that launched them: the call's duration over the kernels
-- that it launched (a graph launch has many). The host cannot keep a device busy with
-- kernels that take less time than their launch. Kernels count whole, in the window
-- in which they start. Those without a known duration, or, without a threshold,
-- without a call in the capture, are not judged. Names with no short kernel have no
-- row.
-- @param threshold_ns BIGINT Longest kernel that is short; NULL for its launch.
-- @param top BIGINT Rows per run, by count of short kernels; NULL for all.
-- @param time_window VARCHAR capture, gpu or steps.
-- @param from_ns BIGINT Start of a range, ns since the run's origin.
-- @param to_ns BIGINT End of a range, ns since the run's origin.
-- @column run_id id key The run.
-- @column device_id id key Device.
-- @column name text key Kernel.
-- @column short_name text neutral Name without template and argument types.
-- @column short_count count lower Short executions.
-- @column judged_count count neutral Executions that could be judged.
-- @column kernel_count count neutral All executions.
-- @column short_share share lower Short ones, of those judged.
-- @column of_device_share share lower Short ones, of all kernels judged on the device
--     in the window, whatever their name.
-- @column short_ns ns neutral Sum of their durations.
-- @column of_device_time_share share neutral That time, of the sum over all kernels
--     judged on the device in the window.
-- @column mean_ns ns neutral Their mean duration.
-- @column launch_ns ns lower Sum of their shares of the calls that launched them; NULL
--     where none is known.
-- @column limit_ns ns neutral The threshold; NULL where each launch is one.
-- @column window_name text neutral capture, gpu, steps or range.
-- @key run_id, device_id, name
-- @requires kernel Record GPU work: nsys profile -t cuda,nvtx, or a PyTorch profiler
--     with ProfilerActivity.CUDA.
-- @since 0.2
CREATE MACRO short_kernels(
    threshold_ns BIGINT := NULL, top BIGINT := NULL,
    time_window VARCHAR := 'capture', from_ns BIGINT := NULL, to_ns BIGINT := NULL
) AS TABLE
WITH windows AS (
    SELECT run_id, window_name, window_start_ns, window_end_ns
    FROM v1._windows(time_window := time_window, from_ns := from_ns, to_ns := to_ns)
),
launches AS (
    SELECT
        launched.run_id, launched.api_call_id,
        api_call.dur_ns / launched.kernel_count AS launch_ns
    FROM (
        SELECT run_id, api_call_id, count(*) AS kernel_count
        FROM kernel
        WHERE api_call_id IS NOT NULL
        GROUP BY run_id, api_call_id
    ) AS launched
    JOIN api_call
        ON launched.run_id = api_call.run_id
        AND launched.api_call_id = api_call.api_call_id
    WHERE api_call.dur_ns >= 0
),
judged AS (
    SELECT
        kernel.run_id, kernel.device_id, kernel.name, kernel.short_name,
        windows.window_name, launches.launch_ns,
        CASE WHEN kernel.dur_ns >= 0 THEN kernel.dur_ns END AS kernel_ns,
        kernel_ns <= coalesce(threshold_ns, launches.launch_ns) AS is_short
    FROM kernel
    JOIN windows
        ON kernel.run_id = windows.run_id
        AND kernel.ts_ns >= windows.window_start_ns
        AND (
            kernel.ts_ns < windows.window_end_ns
            OR kernel.ts_ns = windows.window_end_ns AND windows.window_name <> 'range'
        )
    LEFT JOIN launches
        ON kernel.run_id = launches.run_id
        AND kernel.api_call_id = launches.api_call_id
),
named AS (
    SELECT
        run_id, device_id, name, any_value(short_name) AS short_name,
        any_value(window_name) AS window_name, count(*) AS kernel_count,
        count(is_short) AS judged_count, count(*) FILTER (is_short) AS short_count,
        sum(kernel_ns) FILTER (is_short IS NOT NULL) AS judged_ns,
        sum(kernel_ns) FILTER (is_short) AS short_ns,
        sum(launch_ns) FILTER (is_short) AS launch_ns
    FROM judged
    GROUP BY run_id, device_id, name
),
weighed AS (
    SELECT
        run_id, device_id, name, short_name, window_name, kernel_count, judged_count,
        short_count, short_ns, launch_ns,
        sum(judged_count) OVER on_device AS device_count,
        sum(judged_ns) OVER on_device AS device_ns
    FROM named
    WINDOW on_device AS (PARTITION BY run_id, device_id)
)
SELECT
    run_id, device_id, name, short_name, short_count, judged_count, kernel_count,
    short_count / judged_count AS short_share,
    CAST(short_count / device_count AS DOUBLE) AS of_device_share,
    CAST(short_ns AS BIGINT) AS short_ns,
    CAST(short_ns / nullif(device_ns, 0) AS DOUBLE) AS of_device_time_share,
    CAST(short_ns / short_count AS DOUBLE) AS mean_ns, launch_ns,
    threshold_ns AS limit_ns, window_name
FROM weighed
WHERE short_count > 0
QUALIFY top IS NULL OR top >= row_number() OVER (
    PARTITION BY run_id ORDER BY short_count DESC, short_ns DESC, name, device_id
)
ORDER BY run_id, short_count DESC, short_ns DESC, name, device_id;
