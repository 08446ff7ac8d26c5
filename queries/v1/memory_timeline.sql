-- @title Memory over time
-- Memory that the allocator had handed out and had reserved, after each allocation or
-- free or in bins of the window. Allocated and reserved are the source's own totals,
-- NULL where it states none; net is what the events themselves add up to, from the
-- first one of the capture: what was allocated before is not in it. Of events at the
-- same moment the one with the greatest total counts as the last. A bin without events
-- has no row: nothing changes in it.
-- @param time_window VARCHAR capture, gpu or steps.
-- @param from_ns BIGINT Start of a range, ns since the run's origin.
-- @param to_ns BIGINT End of a range, ns since the run's origin.
-- @param bins BIGINT Bins of the window, at most; NULL for one row per event.
-- @column run_id id key The run.
-- @column pid id key Process.
-- @column device_id id key Device; NULL for host memory.
-- @column kind text key Kind of memory, as memory_event.kind; NULL where unknown.
-- @column point value key Ordinal by time, from 0.
-- @column ts_ns ns neutral Time of its last event, ns since the run's origin.
-- @column event_count count neutral Allocations and frees.
-- @column allocated_bytes bytes lower Allocated after the last of them.
-- @column peak_allocated_bytes bytes lower Most that was allocated after any of them.
-- @column reserved_bytes bytes lower Reserved after the last of them.
-- @column peak_reserved_bytes bytes lower Most that was reserved after any of them.
-- @column net_bytes bytes neutral Allocated less freed up to here.
-- @column peak_net_bytes bytes neutral Most of that after any of them.
-- @column window_name text neutral capture, gpu, steps or range.
-- @key run_id, pid, device_id, kind, point
-- @chart line x=ts_ns y=allocated_bytes
-- @requires memory_event Record memory: torch.profiler with profile_memory=True, or
--     nsys profile --cuda-memory-usage=true.
-- @since 0.2
CREATE MACRO memory_timeline(
    time_window VARCHAR := 'capture', from_ns BIGINT := NULL, to_ns BIGINT := NULL,
    bins BIGINT := NULL
) AS TABLE
WITH windows AS (
    SELECT
        run_id, window_name, window_start_ns, window_end_ns,
        CASE
            WHEN bins < 1 THEN error('bins must be at least 1')
            ELSE bins
        END AS bin_count
    FROM v1._windows(time_window := time_window, from_ns := from_ns, to_ns := to_ns)
),
events AS (
    SELECT
        run_id, pid, device_id, kind, ts_ns, total_allocated_bytes,
        total_reserved_bytes,
        row_number() OVER in_order AS event_no,
        TRY_CAST(sum(bytes) OVER in_order AS BIGINT) AS net_bytes
    FROM memory_event
    WINDOW in_order AS (
        PARTITION BY run_id, pid, device_id, kind
        ORDER BY ts_ns, total_allocated_bytes NULLS FIRST, bytes, address
        ROWS UNBOUNDED PRECEDING
    )
),
placed AS (
    SELECT
        events.run_id, events.pid, events.device_id, events.kind, events.ts_ns,
        events.total_allocated_bytes, events.total_reserved_bytes, events.event_no,
        events.net_bytes, windows.window_name,
        CASE
            WHEN windows.bin_count IS NULL THEN events.event_no
            ELSE CAST(
                least(
                    CAST(events.ts_ns - windows.window_start_ns AS HUGEINT)
                    * windows.bin_count
                    // (windows.window_end_ns - windows.window_start_ns),
                    windows.bin_count - 1
                ) AS BIGINT
            )
        END AS bin
    FROM events
    JOIN windows
        ON events.run_id = windows.run_id AND events.ts_ns >= windows.window_start_ns
        AND (
            events.ts_ns < windows.window_end_ns
            OR events.ts_ns = windows.window_end_ns AND windows.window_name <> 'range'
        )
),
points AS (
    SELECT
        run_id, pid, device_id, kind, bin, max(ts_ns) AS ts_ns,
        count(*) AS event_count,
        arg_max(total_allocated_bytes, event_no) AS allocated_bytes,
        max(total_allocated_bytes) AS peak_allocated_bytes,
        arg_max(total_reserved_bytes, event_no) AS reserved_bytes,
        max(total_reserved_bytes) AS peak_reserved_bytes,
        arg_max(net_bytes, event_no) AS net_bytes, max(net_bytes) AS peak_net_bytes,
        any_value(window_name) AS window_name
    FROM placed
    GROUP BY run_id, pid, device_id, kind, bin
)
SELECT
    run_id, pid, device_id, kind,
    row_number() OVER (PARTITION BY run_id, pid, device_id, kind ORDER BY bin) - 1
        AS point,
    ts_ns, event_count, allocated_bytes, peak_allocated_bytes, reserved_bytes,
    peak_reserved_bytes, net_bytes, peak_net_bytes, window_name
FROM points
ORDER BY run_id, pid, device_id, kind, point;
