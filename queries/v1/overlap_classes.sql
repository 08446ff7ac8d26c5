-- @title Time by what ran at once
-- Each device's window, parted by the set of classes of GPU work that ran at the same
-- moment: compute (kernels that are no communication, and whole graph launches, which
-- may hold anything), communication (kernels known by name), H2D, D2H, D2D and P2P
-- copies, memset, other copies. The rows of a device sum to its window; idle is the
-- empty set. How many operations of a class run at once makes no difference. A device
-- without any operation in the run has no row, as in gpu_utilization.
-- @param time_window VARCHAR capture, gpu (first start to last end of the run's GPU
--     operations) or steps (first start to last end of its iterations).
-- @param from_ns BIGINT Start of a range instead, ns since the run's origin.
-- @param to_ns BIGINT End of that range.
-- @column run_id id key The run.
-- @column device_id id key Device; NULL where the operations name none.
-- @column classes text key The classes that ran, joined by " + "; or idle.
-- @column class_count count neutral How many classes that is; 0 for idle.
-- @column window_name text neutral capture, gpu, steps or range.
-- @column time_ns ns neutral Time with exactly these classes running.
-- @column window_pct pct neutral That time, of the window.
-- @column has_compute bool neutral Whether compute is among them.
-- @column has_communication bool neutral Whether communication is.
-- @column has_copy bool neutral Whether a copy or a fill is.
-- @key run_id, device_id, classes
-- @chart bar x=time_ns y=classes
-- @requires kernel|memcpy|memset|graph_launch Record GPU activity: nsys profile -t cuda
-- @since 0.2
CREATE MACRO overlap_classes(
    time_window VARCHAR := 'capture', from_ns BIGINT := NULL, to_ns BIGINT := NULL
) AS TABLE
WITH spans AS MATERIALIZED (
    SELECT
        run_id, device_id, start_ns, end_ns, compute_from_ns, communication_from_ns,
        CASE WHEN is_kernel THEN NULL
            ELSE CASE activity
                WHEN 'copy_h2d' THEN 4 WHEN 'copy_d2h' THEN 8 WHEN 'copy_d2d' THEN 16
                WHEN 'copy_p2p' THEN 32 WHEN 'memset' THEN 64 ELSE 128
            END
        END AS copy_class
    FROM v1._gpu_spans(time_window := time_window, from_ns := from_ns, to_ns := to_ns)
    WHERE end_ns > start_ns
),
-- Disjoint pieces of each class: of copies only the union of all of them is known yet.
pieces AS (
    SELECT run_id, device_id, compute_from_ns AS began_ns, end_ns, 1 AS class
    FROM spans
    WHERE end_ns > compute_from_ns
    UNION ALL
    SELECT run_id, device_id, communication_from_ns, end_ns, 2
    FROM spans
    WHERE end_ns > communication_from_ns
    UNION ALL
    SELECT run_id, device_id, greatest(start_ns, earlier_end_ns), end_ns, copy_class
    FROM (
        SELECT
            run_id, device_id, start_ns, end_ns, copy_class,
            max(end_ns) OVER (
                PARTITION BY run_id, device_id, copy_class ORDER BY start_ns
                ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
            ) AS earlier_end_ns
        FROM spans
        WHERE copy_class IS NOT NULL
    )
    WHERE end_ns > coalesce(earlier_end_ns, start_ns)
),
events AS (
    SELECT
        run_id, device_id, unnest([began_ns, end_ns]) AS at_ns,
        unnest([class, -class]) AS change
    FROM pieces
    ORDER BY run_id, device_id, at_ns
),
-- As in _stream_sets: a device ends with an empty set, and ties have no time.
swept AS (
    SELECT
        run_id, device_id,
        CAST(sum(change) OVER (ROWS UNBOUNDED PRECEDING) AS INTEGER) AS mask,
        lead(at_ns) OVER () - at_ns AS time_ns
    FROM events
),
measured AS (
    SELECT run_id, device_id, mask, CAST(sum(time_ns) AS BIGINT) AS time_ns
    FROM swept
    WHERE time_ns > 0 AND mask > 0
    GROUP BY run_id, device_id, mask
),
windows AS (
    SELECT
        spans.run_id, devices.device_id, spans.window_name,
        spans.window_end_ns - spans.window_start_ns AS window_ns
    FROM v1._windows(
        time_window := time_window, from_ns := from_ns, to_ns := to_ns
    ) AS spans
    JOIN (
        SELECT DISTINCT run_id, device_id FROM gpu_op
    ) AS devices ON spans.run_id = devices.run_id
),
busy AS (
    SELECT run_id, device_id, CAST(sum(time_ns) AS BIGINT) AS busy_ns
    FROM measured
    GROUP BY run_id, device_id
),
parts AS (
    SELECT
        windows.run_id, windows.device_id, windows.window_name, windows.window_ns,
        measured.mask, measured.time_ns
    FROM windows
    JOIN measured
        ON windows.run_id = measured.run_id
        AND windows.device_id IS NOT DISTINCT FROM measured.device_id
    UNION ALL
    SELECT
        windows.run_id, windows.device_id, windows.window_name, windows.window_ns, 0,
        windows.window_ns - coalesce(busy.busy_ns, 0)
    FROM windows
    LEFT JOIN busy
        ON windows.run_id = busy.run_id
        AND windows.device_id IS NOT DISTINCT FROM busy.device_id
    WHERE windows.window_ns > coalesce(busy.busy_ns, 0)
)
SELECT
    run_id, device_id,
    CASE WHEN mask = 0 THEN 'idle' ELSE concat_ws(
        ' + ',
        CASE WHEN mask & 1 > 0 THEN 'compute' END,
        CASE WHEN mask & 2 > 0 THEN 'communication' END,
        CASE WHEN mask & 4 > 0 THEN 'H2D' END,
        CASE WHEN mask & 8 > 0 THEN 'D2H' END,
        CASE WHEN mask & 16 > 0 THEN 'D2D' END,
        CASE WHEN mask & 32 > 0 THEN 'P2P' END,
        CASE WHEN mask & 64 > 0 THEN 'memset' END,
        CASE WHEN mask & 128 > 0 THEN 'other copies' END
    ) END AS classes,
    CAST(bit_count(mask) AS BIGINT) AS class_count, window_name, time_ns,
    100.0 * time_ns / window_ns AS window_pct,
    mask & 1 > 0 AS has_compute, mask & 2 > 0 AS has_communication,
    mask >= 4 AS has_copy
FROM parts
ORDER BY run_id, device_id, time_ns DESC, classes;
