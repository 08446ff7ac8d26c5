-- @title Unified memory
-- Migrations and page faults of unified memory, per process, device and kind.
-- Migrations have bytes and time on the device; faults have how many there were, and
-- time where the source gives one. Throughput is the sum of bytes over the sum of time.
-- Events that start in the window count whole. Equals the totals of um_total_sum and
-- um_cpu_page_faults_sum of nsys stats; um_sum splits them by virtual address.
-- @param time_window VARCHAR capture, gpu or steps.
-- @param from_ns BIGINT Start of a range, ns since the run's origin.
-- @param to_ns BIGINT End of a range, ns since the run's origin.
-- @column run_id id key The run.
-- @column pid id key Process.
-- @column device_id id key Device; NULL for faults of the host.
-- @column kind text key migration_h2d, migration_d2h, migration_d2d, host_fault or
--     device_fault.
-- @column access text key Of faults: read, write, atomic, prefetch or unknown.
-- @column event_count count lower Rows of the trace.
-- @column fault_count count lower Page faults; NULL for migrations.
-- @column total_bytes bytes lower Bytes migrated; NULL for faults.
-- @column total_ns ns lower Sum of durations; NULL where the source has none.
-- @column mean_ns ns lower Duration: mean.
-- @column max_ns ns lower The same, longest.
-- @column throughput_gb_per_s gb_per_s higher Bytes over time.
-- @column min_bytes bytes neutral Smallest migration.
-- @column median_bytes bytes neutral Median migration.
-- @column max_bytes bytes neutral Largest migration.
-- @column window_name text neutral capture, gpu, steps or range.
-- @column window_start_ns ns neutral Start of the window, ns since the run's origin.
-- @column window_end_ns ns neutral End of the window, ns since the run's origin.
-- @key run_id, pid, device_id, kind, access
-- @requires memcpy|page_fault Record unified memory: nsys profile -t cuda
--     --cuda-um-cpu-page-faults=true --cuda-um-gpu-page-faults=true
-- @since 0.2
CREATE MACRO unified_memory(
    time_window VARCHAR := 'capture', from_ns BIGINT := NULL, to_ns BIGINT := NULL
) AS TABLE
WITH windows AS (
    SELECT run_id, window_name, window_start_ns, window_end_ns
    FROM v1._windows(time_window := time_window, from_ns := from_ns, to_ns := to_ns)
),
events AS (
    SELECT
        run_id, pid, device_id, 'migration_' || lower(kind[5:]) AS kind,
        CAST(NULL AS VARCHAR) AS access, ts_ns, dur_ns, bytes,
        CAST(NULL AS BIGINT) AS fault_count
    FROM memcpy
    WHERE kind IN ('UVM_H2D', 'UVM_D2H', 'UVM_D2D')
    UNION ALL
    SELECT
        run_id, pid, device_id,
        CASE WHEN device_id IS NULL THEN 'host_fault' ELSE 'device_fault' END, access,
        ts_ns, dur_ns, NULL, coalesce(pages, 1)
    FROM page_fault
),
totals AS (
    SELECT
        events.run_id, events.pid, events.device_id, events.kind, events.access,
        count(*) AS event_count,
        CAST(sum(events.fault_count) AS BIGINT) AS fault_count,
        TRY_CAST(sum(events.bytes) AS BIGINT) AS total_bytes,
        CAST(sum(events.dur_ns) FILTER (events.dur_ns >= 0) AS BIGINT) AS total_ns,
        avg(events.dur_ns) FILTER (events.dur_ns >= 0) AS mean_ns,
        max(events.dur_ns) FILTER (events.dur_ns >= 0) AS max_ns,
        sum(events.bytes) FILTER (events.dur_ns >= 0)
            / nullif(sum(events.dur_ns) FILTER (events.dur_ns >= 0), 0)
            AS throughput_gb_per_s,
        min(events.bytes) AS min_bytes,
        median(events.bytes) AS median_bytes,
        max(events.bytes) AS max_bytes,
        any_value(windows.window_name) AS window_name,
        any_value(windows.window_start_ns) AS window_start_ns,
        any_value(windows.window_end_ns) AS window_end_ns
    FROM events
    JOIN windows
        ON events.run_id = windows.run_id
        AND events.ts_ns >= windows.window_start_ns
        AND (
            events.ts_ns < windows.window_end_ns
            OR events.ts_ns = windows.window_end_ns AND windows.window_name <> 'range'
        )
    GROUP BY events.run_id, events.pid, events.device_id, events.kind, events.access
)
SELECT
    totals.run_id, totals.pid, totals.device_id, totals.kind, totals.access,
    totals.event_count, totals.fault_count, totals.total_bytes, totals.total_ns,
    totals.mean_ns, totals.max_ns, totals.throughput_gb_per_s, totals.min_bytes,
    totals.median_bytes, totals.max_bytes,
    totals.window_name, totals.window_start_ns, totals.window_end_ns
FROM totals
ORDER BY
    totals.run_id, totals.pid, totals.device_id, totals.kind, totals.access;
