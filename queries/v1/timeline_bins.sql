-- @title Timeline in bins
-- How busy each stream was in each bin of the window, and with what: the data of a
-- zoomed-out timeline. A lane is a stream (process, context and stream of a device);
-- lanes are in the order of device, then busy time, busiest first. A run has at most
-- 1,500 cells: the bins are fewer than asked for when lanes times bins would be more,
-- and bin_ns is the width that comes of it. Of more than 1,500 lanes the busiest 1,500
-- are shown, and hidden_lane_count says how many are not. Operations that span bins
-- are cut at the borders, to the nanosecond; busy time is a union within the lane.
-- @param time_window VARCHAR capture, gpu (first start to last end of the run's GPU
--     operations) or steps (first start to last end of its iterations).
-- @param from_ns BIGINT Start of a range instead, ns since the run's origin.
-- @param to_ns BIGINT End of that range.
-- @param bins BIGINT Bins of the window, at most: 1 to 1500; their widths differ by
--     1 ns at most.
-- @column run_id id key The run.
-- @column lane id key Ordinal of the lane, from 0.
-- @column bin id key Ordinal of the bin, from 0.
-- @column device_id id neutral Device of the lane; NULL where the operations name none.
-- @column pid id neutral Process of the lane.
-- @column context_id id neutral Context of the lane.
-- @column stream_id id neutral Stream of the lane.
-- @column bin_start_ns ns neutral Start of the bin, ns since the run's origin.
-- @column bin_ns ns neutral Width of the bin.
-- @column busy_ns ns neutral Time with at least one operation of the lane running.
-- @column busy_share share neutral That time, of the bin's width.
-- @column activity text neutral Activity with most time in the cell, as in gpu_op; the
--     first by name where several have as much; NULL where nothing ran.
-- @column hidden_lane_count count neutral Lanes of the run that are not shown.
-- @key run_id, lane, bin
-- @chart heatmap x=bin_start_ns y=lane color=busy_share
-- @requires kernel|memcpy|memset|graph_launch Record GPU activity: nsys profile -t cuda
-- @since 0.1
CREATE MACRO timeline_bins(
    time_window VARCHAR := 'capture', from_ns BIGINT := NULL, to_ns BIGINT := NULL,
    bins BIGINT := 300
) AS TABLE
WITH spans AS MATERIALIZED (
    SELECT
        run_id, device_id, pid, context_id, stream_id, activity, start_ns, end_ns,
        stream_from_ns
    FROM v1._gpu_spans(
        time_window := time_window, from_ns := from_ns, to_ns := to_ns
    )
),
streams AS (
    SELECT
        run_id, device_id, pid, context_id, stream_id,
        sum(end_ns - stream_from_ns) AS busy_ns
    FROM spans
    GROUP BY run_id, device_id, pid, context_id, stream_id
),
chosen AS (
    SELECT
        run_id, device_id, pid, context_id, stream_id, busy_ns,
        count(*) OVER (PARTITION BY run_id) AS lane_count
    FROM streams
    QUALIFY row_number() OVER (
        PARTITION BY run_id
        ORDER BY busy_ns DESC, device_id, pid, context_id, stream_id
    ) <= 1500
),
lanes AS MATERIALIZED (
    SELECT
        chosen.run_id, device_id, pid, context_id, stream_id,
        row_number() OVER (
            PARTITION BY chosen.run_id
            ORDER BY device_id, busy_ns DESC, pid, context_id, stream_id
        ) - 1 AS lane,
        greatest(lane_count - 1500, 0) AS hidden_lane_count,
        windows.window_start_ns,
        windows.window_end_ns - windows.window_start_ns AS window_ns,
        CASE
            WHEN bins < 1 OR bins > 1500 THEN error('bins must be 1 to 1500')
            ELSE least(
                coalesce(bins, 300), windows.window_end_ns - windows.window_start_ns,
                1500 // least(lane_count, 1500)
            )
        END AS bin_count
    FROM chosen
    JOIN v1._windows(
        time_window := time_window, from_ns := from_ns, to_ns := to_ns
    ) AS windows ON chosen.run_id = windows.run_id
),
placed AS (
    SELECT
        lanes.run_id, lanes.lane, activity, start_ns, end_ns, stream_from_ns,
        v1._bin_of(start_ns - window_start_ns + 1, bin_count, window_ns) AS first_bin,
        v1._bin_of(end_ns - window_start_ns, bin_count, window_ns) AS last_bin
    FROM spans
    JOIN lanes
        ON spans.run_id = lanes.run_id
        AND spans.device_id IS NOT DISTINCT FROM lanes.device_id
        AND spans.pid IS NOT DISTINCT FROM lanes.pid
        AND spans.context_id IS NOT DISTINCT FROM lanes.context_id
        AND spans.stream_id IS NOT DISTINCT FROM lanes.stream_id
    WHERE end_ns > start_ns
),
cells AS MATERIALIZED (
    SELECT
        run_id, lane, bin, device_id, pid, context_id, stream_id, hidden_lane_count,
        window_start_ns + CAST(
            CAST(bin AS HUGEINT) * window_ns // bin_count AS BIGINT
        ) AS bin_start_ns,
        window_start_ns + CAST(
            CAST(bin + 1 AS HUGEINT) * window_ns // bin_count AS BIGINT
        ) AS bin_end_ns
    FROM (
        SELECT
            run_id, lane, device_id, pid, context_id, stream_id, hidden_lane_count,
            window_start_ns, window_ns, bin_count, unnest(range(bin_count)) AS bin
        FROM lanes
    )
),
-- Most operations lie in one bin: only the others are cut at the borders.
cut AS (
    SELECT
        run_id, lane, activity, first_bin AS bin, end_ns - start_ns AS op_ns,
        end_ns - stream_from_ns AS added_ns
    FROM placed
    WHERE last_bin = first_bin
    UNION ALL
    SELECT
        spanning.run_id, spanning.lane, spanning.activity, spanning.bin,
        least(end_ns, bin_end_ns) - greatest(start_ns, bin_start_ns),
        greatest(
            least(end_ns, bin_end_ns) - greatest(stream_from_ns, bin_start_ns), 0
        )
    FROM (
        SELECT
            run_id, lane, activity, start_ns, end_ns, stream_from_ns,
            unnest(range(first_bin, last_bin + 1)) AS bin
        FROM placed
        WHERE last_bin > first_bin
    ) AS spanning
    JOIN cells
        ON spanning.run_id = cells.run_id AND spanning.lane = cells.lane
        AND spanning.bin = cells.bin
),
by_activity AS (
    SELECT
        run_id, lane, bin, activity, sum(op_ns) AS op_ns, sum(added_ns) AS added_ns
    FROM cut
    GROUP BY run_id, lane, bin, activity
),
busy AS (
    SELECT
        run_id, lane, bin, CAST(sum(added_ns) AS BIGINT) AS busy_ns,
        first(activity ORDER BY op_ns DESC, activity) AS activity
    FROM by_activity
    GROUP BY run_id, lane, bin
)
SELECT
    cells.run_id, cells.lane, cells.bin, cells.device_id, cells.pid, cells.context_id,
    cells.stream_id, cells.bin_start_ns,
    cells.bin_end_ns - cells.bin_start_ns AS bin_ns,
    coalesce(busy.busy_ns, 0) AS busy_ns,
    coalesce(busy.busy_ns, 0) / (cells.bin_end_ns - cells.bin_start_ns) AS busy_share,
    busy.activity, cells.hidden_lane_count
FROM cells
LEFT JOIN busy
    ON cells.run_id = busy.run_id AND cells.lane = busy.lane AND cells.bin = busy.bin
ORDER BY cells.run_id, cells.lane, cells.bin;
