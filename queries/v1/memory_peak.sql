-- @title Peak memory
-- The most memory that was in use, by process, device and kind of memory, against what
-- the device has. Allocated and reserved are the source's own totals, NULL where it
-- states none; net is what the events of the capture add up to, from its first event:
-- what was allocated before is not in it. Peaks are those of the window, over the
-- moments after each allocation or free.
-- @param time_window VARCHAR capture, gpu or steps.
-- @param from_ns BIGINT Start of a range, ns since the run's origin.
-- @param to_ns BIGINT End of a range, ns since the run's origin.
-- @column run_id id key The run.
-- @column pid id key Process.
-- @column device_id id key Device; NULL for host memory.
-- @column kind text key Kind of memory, as memory_event.kind; NULL where unknown.
-- @column peak_allocated_bytes bytes lower Most that was allocated.
-- @column peak_reserved_bytes bytes lower Most that was reserved.
-- @column peak_net_bytes bytes lower Most of allocated less freed.
-- @column peak_ts_ns ns neutral When the most was allocated (of net, where the source
--     states no total): the first such moment, ns since the run's origin.
-- @column peak_op text neutral Operation that allocated then.
-- @column capacity_bytes bytes neutral Memory of the device; NULL for the host's, and
--     where the capture does not say it.
-- @column peak_of_capacity_pct pct lower Peak of reserved, else of allocated, else of
--     net, of the capacity.
-- @column allocation_count count neutral Allocations.
-- @column allocation_bytes bytes neutral Their sum.
-- @column free_count count neutral Frees.
-- @column free_bytes bytes neutral Their sum.
-- @column window_name text neutral capture, gpu, steps or range.
-- @column window_start_ns ns neutral Start of the window, ns since the run's origin.
-- @column window_end_ns ns neutral End of the window, ns since the run's origin.
-- @key run_id, pid, device_id, kind
-- @requires memory_event Record memory: torch.profiler with profile_memory=True, or
--     nsys profile --cuda-memory-usage=true.
-- @since 0.2
CREATE MACRO memory_peak(
    time_window VARCHAR := 'capture', from_ns BIGINT := NULL, to_ns BIGINT := NULL
) AS TABLE
WITH events AS (
    SELECT
        run_id, pid, device_id, kind, ts_ns, bytes, total_allocated_bytes,
        total_reserved_bytes, op_id,
        TRY_CAST(sum(bytes) OVER (
            PARTITION BY run_id, pid, device_id, kind
            ORDER BY ts_ns, total_allocated_bytes NULLS FIRST, bytes, address
            ROWS UNBOUNDED PRECEDING
        ) AS BIGINT) AS net_bytes
    FROM memory_event
),
measured AS (
    SELECT
        events.run_id, events.pid, events.device_id, events.kind,
        any_value(windows.window_name) AS window_name,
        any_value(windows.window_start_ns) AS window_start_ns,
        any_value(windows.window_end_ns) AS window_end_ns,
        max(total_allocated_bytes) AS peak_allocated_bytes,
        max(total_reserved_bytes) AS peak_reserved_bytes,
        max(net_bytes) AS peak_net_bytes,
        coalesce(
            min_by(
                {'ts_ns': ts_ns, 'op_id': op_id},
                {'less': -total_allocated_bytes, 'ts_ns': ts_ns, 'op_id': op_id}
            ) FILTER (total_allocated_bytes IS NOT NULL),
            min_by(
                {'ts_ns': ts_ns, 'op_id': op_id},
                {'less': -net_bytes, 'ts_ns': ts_ns, 'op_id': op_id}
            ) FILTER (net_bytes IS NOT NULL)
        ) AS peak,
        count(*) FILTER (bytes > 0) AS allocation_count,
        TRY_CAST(coalesce(sum(bytes) FILTER (bytes > 0), 0) AS BIGINT)
            AS allocation_bytes,
        count(*) FILTER (bytes < 0) AS free_count,
        TRY_CAST(coalesce(-sum(bytes) FILTER (bytes < 0), 0) AS BIGINT) AS free_bytes
    FROM events
    JOIN v1._windows(
        time_window := time_window, from_ns := from_ns, to_ns := to_ns
    ) AS windows
        ON events.run_id = windows.run_id AND events.ts_ns >= windows.window_start_ns
        AND (
            events.ts_ns < windows.window_end_ns
            OR events.ts_ns = windows.window_end_ns AND windows.window_name <> 'range'
        )
    GROUP BY events.run_id, events.pid, events.device_id, events.kind
)
SELECT
    measured.run_id, measured.pid, measured.device_id, measured.kind,
    measured.peak_allocated_bytes, measured.peak_reserved_bytes,
    measured.peak_net_bytes, measured.peak.ts_ns AS peak_ts_ns, op.name AS peak_op,
    device.memory_bytes AS capacity_bytes,
    100.0 * coalesce(
        measured.peak_reserved_bytes, measured.peak_allocated_bytes,
        measured.peak_net_bytes
    ) / nullif(device.memory_bytes, 0) AS peak_of_capacity_pct,
    measured.allocation_count, measured.allocation_bytes, measured.free_count,
    measured.free_bytes, measured.window_name, measured.window_start_ns,
    measured.window_end_ns
FROM measured
LEFT JOIN device
    ON measured.run_id = device.run_id AND measured.device_id = device.device_id
LEFT JOIN op ON measured.run_id = op.run_id AND measured.peak.op_id = op.op_id
ORDER BY measured.run_id, measured.pid, measured.device_id, measured.kind;
