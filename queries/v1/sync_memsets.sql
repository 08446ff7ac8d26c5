-- @title Synchronous fills
-- Fills of pinned or managed memory that a synchronous call launched: the host waits
-- until they are done; fills of device memory do not wait. Equals nsys analyze
-- cuda_memset_sync, which stops at 50 rows, keeps version suffixes in the names, and
-- joins calls by the correlation number alone; here a fill has the call of its own
-- process. Fills that start in the window, with their whole duration.
-- @param top BIGINT Rows per run, longest first; NULL for all.
-- @param time_window VARCHAR capture, gpu or steps.
-- @param from_ns BIGINT Start of a range, ns since the run's origin.
-- @param to_ns BIGINT End of a range, ns since the run's origin.
-- @column run_id id key The run.
-- @column memset_id id key The fill.
-- @column api text neutral The call's API.
-- @column api_name text neutral Function that launched it.
-- @column pid id neutral Process.
-- @column tid id neutral Thread of the call.
-- @column device_id id neutral Device.
-- @column context_id id neutral Context.
-- @column green_context_id id neutral Green context.
-- @column stream_id id neutral Stream within the context.
-- @column memory_kind text neutral Memory filled: pinned or managed.
-- @column bytes bytes neutral Bytes filled.
-- @column start_ns ns neutral Start on the device, ns since the run's origin.
-- @column dur_ns ns lower Duration on the device.
-- @column call_start_ns ns neutral Start of the call, ns since the run's origin.
-- @column call_dur_ns ns lower Duration of the call: what the host was held up.
-- @column window_name text neutral capture, gpu, steps or range.
-- @column window_start_ns ns neutral Start of the window, ns since the run's origin.
-- @column window_end_ns ns neutral End of the window, ns since the run's origin.
-- @key run_id, memset_id
-- @requires api_call Record API calls: nsys profile -t cuda
-- @requires memset Record GPU activity: nsys profile -t cuda
-- @since 0.2
CREATE MACRO sync_memsets(
    top BIGINT := NULL,
    time_window VARCHAR := 'capture',
    from_ns BIGINT := NULL,
    to_ns BIGINT := NULL
) AS TABLE
SELECT
    memset.run_id, memset.memset_id, api_call.api, api_call.name AS api_name,
    memset.pid, api_call.tid, memset.device_id, memset.context_id,
    memset.green_context_id, memset.stream_id,
    memset.memory_kind, memset.bytes,
    memset.ts_ns AS start_ns, memset.dur_ns, api_call.ts_ns AS call_start_ns,
    api_call.dur_ns AS call_dur_ns,
    windows.window_name, windows.window_start_ns, windows.window_end_ns
FROM memset
JOIN api_call
    ON memset.run_id = api_call.run_id AND memset.api_call_id = api_call.api_call_id
JOIN v1._windows(
    time_window := time_window, from_ns := from_ns, to_ns := to_ns
) AS windows
    ON memset.run_id = windows.run_id
    AND memset.ts_ns >= windows.window_start_ns
    AND (
        memset.ts_ns < windows.window_end_ns
        OR memset.ts_ns = windows.window_end_ns AND windows.window_name <> 'range'
    )
WHERE regexp_extract(api_call.name, '^(cuda|hip)Memset') <> ''
    AND NOT contains(api_call.name, 'Async')
    AND memset.memory_kind IN ('pinned', 'managed')
QUALIFY top IS NULL OR top >= row_number() OVER (
    PARTITION BY memset.run_id
    ORDER BY memset.dur_ns DESC NULLS LAST, memset.ts_ns, memset.memset_id
)
ORDER BY
    memset.run_id, memset.dur_ns DESC NULLS LAST, memset.ts_ns, memset.memset_id;
