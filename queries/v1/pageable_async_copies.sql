-- @title Asynchronous copies of pageable memory
-- Copies that an asynchronous call launched from or to pageable memory: they go through
-- a buffer of the driver, and the call may hold up the host until the copy is staged.
-- Equals nsys analyze cuda_memcpy_async, which stops at 50 rows, keeps version suffixes
-- in the names, and joins calls by the correlation number alone; here a copy has the
-- call of its own process. Copies without a known call are not here. Copies that start
-- in the window, with their whole duration.
-- @param top BIGINT Rows per run, longest first; NULL for all.
-- @param time_window VARCHAR capture, gpu or steps.
-- @param from_ns BIGINT Start of a range, ns since the run's origin.
-- @param to_ns BIGINT End of a range, ns since the run's origin.
-- @column run_id id key The run.
-- @column memcpy_id id key The copy.
-- @column api text neutral The call's API.
-- @column api_name text neutral Function that launched it.
-- @column pid id neutral Process.
-- @column tid id neutral Thread of the call.
-- @column device_id id neutral Device.
-- @column context_id id neutral Context.
-- @column green_context_id id neutral Green context.
-- @column stream_id id neutral Stream within the context.
-- @column kind text neutral Direction: H2D, D2H, D2D, ...
-- @column src_memory text neutral Memory copied from: pageable, pinned, device, ...
-- @column dst_memory text neutral Memory copied to.
-- @column bytes bytes neutral Bytes copied.
-- @column start_ns ns neutral Start on the device, ns since the run's origin.
-- @column dur_ns ns lower Duration on the device.
-- @column call_start_ns ns neutral Start of the call, ns since the run's origin.
-- @column call_dur_ns ns lower Duration of the call: what the host was held up.
-- @column window_name text neutral capture, gpu, steps or range.
-- @column window_start_ns ns neutral Start of the window, ns since the run's origin.
-- @column window_end_ns ns neutral End of the window, ns since the run's origin.
-- @key run_id, memcpy_id
-- @requires api_call Record API calls: nsys profile -t cuda
-- @requires memcpy Record GPU activity: nsys profile -t cuda
-- @since 0.2
CREATE MACRO pageable_async_copies(
    top BIGINT := NULL,
    time_window VARCHAR := 'capture',
    from_ns BIGINT := NULL,
    to_ns BIGINT := NULL
) AS TABLE
SELECT
    memcpy.run_id, memcpy.memcpy_id, api_call.api, api_call.name AS api_name,
    memcpy.pid, api_call.tid, memcpy.device_id, memcpy.context_id,
    memcpy.green_context_id, memcpy.stream_id,
    memcpy.kind, memcpy.src_memory, memcpy.dst_memory, memcpy.bytes,
    memcpy.ts_ns AS start_ns, memcpy.dur_ns, api_call.ts_ns AS call_start_ns,
    api_call.dur_ns AS call_dur_ns,
    windows.window_name, windows.window_start_ns, windows.window_end_ns
FROM memcpy
JOIN api_call
    ON memcpy.run_id = api_call.run_id AND memcpy.api_call_id = api_call.api_call_id
JOIN v1._windows(
    time_window := time_window, from_ns := from_ns, to_ns := to_ns
) AS windows
    ON memcpy.run_id = windows.run_id
    AND memcpy.ts_ns >= windows.window_start_ns
    AND (
        memcpy.ts_ns < windows.window_end_ns
        OR memcpy.ts_ns = windows.window_end_ns AND windows.window_name <> 'range'
    )
WHERE regexp_extract(api_call.name, '^(cuda|hip)Memcpy.*Async') <> ''
    AND 'pageable' IN (memcpy.src_memory, memcpy.dst_memory)
QUALIFY top IS NULL OR top >= row_number() OVER (
    PARTITION BY memcpy.run_id
    ORDER BY memcpy.dur_ns DESC NULLS LAST, memcpy.ts_ns, memcpy.memcpy_id
)
ORDER BY
    memcpy.run_id, memcpy.dur_ns DESC NULLS LAST, memcpy.ts_ns, memcpy.memcpy_id;
