-- @title Synchronising calls
-- Calls in which the host waits for a whole device or a whole stream:
-- cudaDeviceSynchronize, cudaStreamSynchronize and their HIP namesakes. Equals nsys
-- analyze cuda_api_sync, which stops at 50 rows and keeps version suffixes in the
-- names; like it without calls that wait for a context or for an event (sync_stalls has
-- these). Calls that start in the window, with their whole duration.
-- @param top BIGINT Rows per run, longest first; NULL for all.
-- @param time_window VARCHAR capture, gpu or steps.
-- @param from_ns BIGINT Start of a range, ns since the run's origin.
-- @param to_ns BIGINT End of a range, ns since the run's origin.
-- @column run_id id key The run.
-- @column api_call_id id key The call.
-- @column api text neutral cuda_runtime, hip, ...
-- @column name text neutral Function.
-- @column pid id neutral Process.
-- @column tid id neutral Thread.
-- @column start_ns ns neutral Start, ns since the run's origin.
-- @column dur_ns ns lower Duration.
-- @column window_name text neutral capture, gpu, steps or range.
-- @column window_start_ns ns neutral Start of the window, ns since the run's origin.
-- @column window_end_ns ns neutral End of the window, ns since the run's origin.
-- @key run_id, api_call_id
-- @requires api_call Record API calls: nsys profile -t cuda
-- @since 0.2
CREATE MACRO sync_calls(
    top BIGINT := NULL,
    time_window VARCHAR := 'capture',
    from_ns BIGINT := NULL,
    to_ns BIGINT := NULL
) AS TABLE
SELECT
    api_call.run_id, api_call.api_call_id, api_call.api, api_call.name, api_call.pid,
    api_call.tid, api_call.ts_ns AS start_ns, api_call.dur_ns,
    windows.window_name, windows.window_start_ns, windows.window_end_ns
FROM api_call
JOIN v1._windows(
    time_window := time_window, from_ns := from_ns, to_ns := to_ns
) AS windows
    ON api_call.run_id = windows.run_id
    AND api_call.ts_ns >= windows.window_start_ns
    AND (
        api_call.ts_ns < windows.window_end_ns
        OR api_call.ts_ns = windows.window_end_ns AND windows.window_name <> 'range'
    )
WHERE regexp_extract(api_call.name, '^(cuda|hip)(Device|Stream)Synchronize') <> ''
QUALIFY top IS NULL OR top >= row_number() OVER (
    PARTITION BY api_call.run_id
    ORDER BY api_call.dur_ns DESC NULLS LAST, api_call.ts_ns, api_call.api_call_id
)
ORDER BY
    api_call.run_id, api_call.dur_ns DESC NULLS LAST, api_call.ts_ns,
    api_call.api_call_id;
