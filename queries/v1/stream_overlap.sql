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
WITH busy AS MATERIALIZED (
    SELECT run_id, device_id, context_id, stream_id, pid, start_ns, end_ns
    FROM v1._stream_busy(
        time_window := time_window, from_ns := from_ns, to_ns := to_ns
    )
),
streams AS MATERIALIZED (
    SELECT
        run_id, device_id, context_id, stream_id, pid,
        CAST(sum(end_ns - start_ns) AS BIGINT) AS busy_ns,
        dense_rank() OVER (ORDER BY run_id, device_id) AS device_no,
        row_number() OVER (
            PARTITION BY run_id, device_id ORDER BY pid, context_id, stream_id
        ) - 1 AS stream_no,
        count(*) OVER (PARTITION BY run_id, device_id) AS stream_count
    FROM busy
    GROUP BY run_id, device_id, context_id, stream_id, pid
),
-- Streams form groups of 60. Each two groups have a sweep, which holds its streams as
-- the bits of one number; a single group has one to itself.
grouped AS (
    SELECT
        run_id, device_id, context_id, stream_id, pid, device_no, stream_no,
        stream_no // 60 AS own_group, other_group
    FROM (
        SELECT
            run_id, device_id, context_id, stream_id, pid, device_no, stream_no,
            stream_count, unnest(range((stream_count + 59) // 60)) AS other_group
        FROM streams
    )
    WHERE other_group <> own_group OR stream_count <= 60
),
bits AS MATERIALIZED (
    SELECT
        run_id, device_id, context_id, stream_id, pid, device_no, stream_no,
        dense_rank() OVER (
            ORDER BY
                device_no, least(own_group, other_group),
                greatest(own_group, other_group)
        ) AS sweep,
        stream_no % 60 + 60 * CAST(own_group > other_group AS BIGINT) AS stream_bit
    FROM grouped
),
events AS (
    SELECT
        bits.sweep, unnest([busy.start_ns, busy.end_ns]) AS at_ns,
        unnest([
            CAST(1 AS HUGEINT) << CAST(stream_bit AS HUGEINT),
            -(CAST(1 AS HUGEINT) << CAST(stream_bit AS HUGEINT))
        ]) AS change
    FROM busy
    JOIN bits
        ON busy.run_id = bits.run_id
        AND busy.device_id IS NOT DISTINCT FROM bits.device_id
        AND busy.context_id IS NOT DISTINCT FROM bits.context_id
        AND busy.stream_id IS NOT DISTINCT FROM bits.stream_id
        AND busy.pid IS NOT DISTINCT FROM bits.pid
),
-- Within a tie the running sum means nothing, and has no time.
swept AS (
    SELECT
        sweep, sum(change) OVER (moments ROWS UNBOUNDED PRECEDING) AS mask,
        lead(at_ns) OVER moments - at_ns AS time_ns
    FROM events
    WINDOW moments AS (PARTITION BY sweep ORDER BY at_ns)
),
masks AS (
    SELECT
        sweep, CAST(mask & ((CAST(1 AS HUGEINT) << 60) - 1) AS BIGINT) AS low,
        CAST(mask >> 60 AS BIGINT) AS high, CAST(sum(time_ns) AS BIGINT) AS time_ns
    FROM swept
    WHERE time_ns > 0 AND mask > 0
    GROUP BY sweep, mask
),
-- Masks of many streams may be as many as the events: they are added up by pairs of
-- six bits first, of which there are few. The pair's places and bits are one number.
sixes AS (
    SELECT
        sweep, low, high, time_ns, i,
        CASE WHEN i < 10 THEN low >> (6 * i) ELSE high >> (6 * i - 60) END & 63
            AS i_bits
    FROM masks
    CROSS JOIN (SELECT unnest(range(20)) AS i)
    WHERE i_bits <> 0
),
six_pairs AS (
    SELECT
        sweep, (i << 17) + (j << 12) + (i_bits << 6) + (
            CASE WHEN j < 10 THEN low >> (6 * j) ELSE high >> (6 * j - 60) END & 63
        ) AS pair,
        sum(time_ns) AS time_ns
    FROM sixes
    JOIN (SELECT unnest(range(20)) AS j) ON i <= j
    WHERE pair & 63 <> 0
    GROUP BY sweep, pair
),
bit_pairs AS (
    SELECT
        sweep, 6 * (pair >> 17) + i_bit AS a_bit,
        6 * ((pair >> 12) & 31) + j_bit AS b_bit,
        CAST(sum(time_ns) AS BIGINT) AS overlap_ns
    FROM six_pairs
    CROSS JOIN (SELECT unnest(range(6)) AS i_bit)
    CROSS JOIN (SELECT unnest(range(6)) AS j_bit)
    WHERE (pair >> (6 + i_bit)) & 1 = 1 AND (pair >> j_bit) & 1 = 1 AND a_bit < b_bit
    GROUP BY sweep, a_bit, b_bit
),
-- Several sweeps may have found the same overlap.
common AS (
    SELECT
        a.device_no, a.stream_no AS a_no, b.stream_no AS b_no,
        max(overlap_ns) AS overlap_ns
    FROM bit_pairs
    JOIN bits AS a ON bit_pairs.sweep = a.sweep AND bit_pairs.a_bit = a.stream_bit
    JOIN bits AS b ON bit_pairs.sweep = b.sweep AND bit_pairs.b_bit = b.stream_bit
    GROUP BY a.device_no, a.stream_no, b.stream_no
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
JOIN streams AS b ON a.device_no = b.device_no AND a.stream_no < b.stream_no
JOIN v1._windows(
    time_window := time_window, from_ns := from_ns, to_ns := to_ns
) AS spans ON a.run_id = spans.run_id
LEFT JOIN common
    ON a.device_no = common.device_no AND a.stream_no = common.a_no
    AND b.stream_no = common.b_no
WHERE common.overlap_ns > 0 OR a.stream_count <= 256
ORDER BY a.run_id, a.device_id, a.stream_no, b.stream_no;
