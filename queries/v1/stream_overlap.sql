-- @title Overlap of streams
-- How long two streams of one device were busy at the same time, for each pair of
-- streams of one run that both did work in the window: the intersection of their
-- unions. A stream is process, context and stream; each pair is one row, the stream
-- that comes first in the order of pid, context and stream being a. Pairs that never
-- overlap are rows of 0; on a device with more than 256 busy streams (stream_count)
-- only the pairs that overlap are rows.
-- @param time_window VARCHAR capture, gpu (first start to last end of the run's GPU
--     operations) or steps (first start to last end of its iterations).
-- @param from_ns BIGINT Start of a range instead, ns since the run's origin.
-- @param to_ns BIGINT End of that range.
-- @column run_id id key The run.
-- @column device_id id key Device; NULL where the operations name none.
-- @column a_pid id key Process of stream a.
-- @column a_context_id id key Context of stream a.
-- @column a_stream_id id key Stream a.
-- @column b_pid id key Process of stream b.
-- @column b_context_id id key Context of stream b.
-- @column b_stream_id id key Stream b.
-- @column window_name text neutral capture, gpu, steps or range.
-- @column window_ns ns neutral Length of the window.
-- @column a_busy_ns ns neutral Union of what ran on stream a.
-- @column b_busy_ns ns neutral Union of what ran on stream b.
-- @column overlap_ns ns higher Time in which both were busy.
-- @column overlap_of_smaller_share share higher The overlap, of the smaller of the two
--     busy times.
-- @column stream_count count neutral Streams of the device that did work.
-- @key run_id, device_id, a_pid, a_context_id, a_stream_id, b_pid, b_context_id,
--     b_stream_id
-- @requires kernel|memcpy|memset|graph_launch Record GPU activity: nsys profile -t cuda
-- @since 0.1
CREATE MACRO stream_overlap(
    time_window VARCHAR := 'capture', from_ns BIGINT := NULL, to_ns BIGINT := NULL
) AS TABLE
WITH streams AS (
    SELECT
        run_id, device_id, context_id, stream_id, pid,
        CAST(sum(end_ns - start_ns) AS BIGINT) AS busy_ns,
        row_number() OVER (
            PARTITION BY run_id, device_id ORDER BY pid, context_id, stream_id
        ) - 1 AS stream_no,
        count(*) OVER (PARTITION BY run_id, device_id) AS stream_count
    FROM v1._stream_busy(
        time_window := time_window, from_ns := from_ns, to_ns := to_ns
    )
    GROUP BY run_id, device_id, context_id, stream_id, pid
),
sets AS MATERIALIZED (
    SELECT run_id, device_id, a_group, b_group, a_streams, b_streams, time_ns
    FROM v1._stream_sets(
        time_window := time_window, from_ns := from_ns, to_ns := to_ns
    )
    WHERE a_group IS NOT NULL AND busy_stream_count > 1
),
-- Sets of many streams may be as many as the operations: they are added up by pairs of
-- six bits first, of which there are few. The pair's places and bits are one number.
sixes AS (
    SELECT
        run_id, device_id, a_group, b_group, a_streams, b_streams, time_ns, i,
        CASE WHEN i < 10 THEN a_streams >> (6 * i) ELSE b_streams >> (6 * i - 60) END
            & 63 AS i_bits
    FROM sets
    CROSS JOIN (SELECT unnest(range(20)) AS i)
    WHERE i_bits <> 0
),
six_pairs AS (
    SELECT
        run_id, device_id, a_group, b_group,
        (i << 17) + (j << 12) + (i_bits << 6) + (
            CASE WHEN j < 10 THEN a_streams >> (6 * j)
                ELSE b_streams >> (6 * j - 60) END & 63
        ) AS pair,
        sum(time_ns) AS time_ns
    FROM sixes
    JOIN (SELECT unnest(range(20)) AS j) ON i <= j
    WHERE pair & 63 <> 0
    GROUP BY run_id, device_id, a_group, b_group, pair
),
bit_pairs AS (
    SELECT
        run_id, device_id, a_group, b_group, 6 * (pair >> 17) + i_bit AS a_bit,
        6 * ((pair >> 12) & 31) + j_bit AS b_bit,
        CAST(sum(time_ns) AS BIGINT) AS overlap_ns
    FROM six_pairs
    CROSS JOIN (SELECT unnest(range(6)) AS i_bit)
    CROSS JOIN (SELECT unnest(range(6)) AS j_bit)
    WHERE (pair >> (6 + i_bit)) & 1 = 1 AND (pair >> j_bit) & 1 = 1 AND a_bit < b_bit
    GROUP BY run_id, device_id, a_group, b_group, a_bit, b_bit
),
-- Several sweeps may have found the same overlap.
common AS (
    SELECT
        run_id, device_id,
        a_bit % 60 + 60 * CASE WHEN a_bit < 60 THEN a_group ELSE b_group END AS a_no,
        b_bit % 60 + 60 * CASE WHEN b_bit < 60 THEN a_group ELSE b_group END AS b_no,
        max(overlap_ns) AS overlap_ns
    FROM bit_pairs
    GROUP BY run_id, device_id, a_no, b_no
)
SELECT
    a.run_id, a.device_id, a.pid AS a_pid, a.context_id AS a_context_id,
    a.stream_id AS a_stream_id, b.pid AS b_pid, b.context_id AS b_context_id,
    b.stream_id AS b_stream_id, spans.window_name,
    spans.window_end_ns - spans.window_start_ns AS window_ns,
    a.busy_ns AS a_busy_ns, b.busy_ns AS b_busy_ns,
    coalesce(common.overlap_ns, 0) AS overlap_ns,
    coalesce(common.overlap_ns, 0) / least(a.busy_ns, b.busy_ns)
        AS overlap_of_smaller_share,
    a.stream_count
FROM streams AS a
JOIN streams AS b
    ON a.run_id = b.run_id AND a.device_id IS NOT DISTINCT FROM b.device_id
    AND a.stream_no < b.stream_no
JOIN v1._windows(
    time_window := time_window, from_ns := from_ns, to_ns := to_ns
) AS spans ON a.run_id = spans.run_id
LEFT JOIN common
    ON a.run_id = common.run_id AND a.device_id IS NOT DISTINCT FROM common.device_id
    AND a.stream_no = common.a_no AND b.stream_no = common.b_no
WHERE common.overlap_ns > 0 OR a.stream_count <= 256
ORDER BY a.run_id, a.device_id, a.stream_no, b.stream_no;
