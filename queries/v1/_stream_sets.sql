-- @title Time by set of busy streams
-- How long each set of streams of a device was busy at once in the window: the ground
-- of stream_overlap and stream_concurrency, so that one sweep serves both. Streams are
-- numbered by pid, context and stream from 0 and form groups of 60. A device with one
-- group has one sweep; one with more has a sweep for each two groups, whose sets hold
-- their streams only, and one in which streams are counted, not told apart.
-- @param time_window VARCHAR As in _windows.
-- @param from_ns BIGINT Start of a range, ns since the run's origin.
-- @param to_ns BIGINT End of a range, ns since the run's origin.
-- @column run_id id key The run.
-- @column device_id id key Device; NULL where the operations name none.
-- @column a_group id key First group of the sweep; NULL where streams are counted.
-- @column b_group id key Second group; as the first where there is but one.
-- @column a_streams value key Set of busy streams of the first group: bit i is its
--     stream i. NULL where streams are counted.
-- @column b_streams value key The same of the second group; 0 where there is but one.
-- @column busy_stream_count count key Busy streams of the sweep.
-- @column time_ns ns neutral Time with exactly these busy.
-- @key run_id, device_id, a_group, b_group, a_streams, b_streams, busy_stream_count
-- @since 0.2
CREATE MACRO _stream_sets(
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
        dense_rank() OVER (ORDER BY run_id, device_id) AS device_no,
        row_number() OVER (
            PARTITION BY run_id, device_id ORDER BY pid, context_id, stream_id
        ) - 1 AS stream_no,
        (count(*) OVER (PARTITION BY run_id, device_id) + 59) // 60 AS group_count
    FROM busy
    GROUP BY run_id, device_id, context_id, stream_id, pid
),
members AS (
    SELECT
        run_id, device_id, context_id, stream_id, pid, device_no,
        least(own_group, other_group) AS a_group,
        greatest(own_group, other_group) AS b_group,
        CAST(stream_no % 60 + CASE WHEN own_group > other_group THEN 60 ELSE 0 END
            AS TINYINT) AS bit
    FROM (
        SELECT
            run_id, device_id, context_id, stream_id, pid, device_no, stream_no,
            stream_no // 60 AS own_group, group_count,
            unnest(range(group_count)) AS other_group
        FROM streams
    )
    WHERE other_group <> own_group OR group_count = 1
    UNION ALL
    SELECT
        run_id, device_id, context_id, stream_id, pid, device_no, NULL, NULL, 0
    FROM streams
    WHERE group_count > 1
),
sweeps AS (
    SELECT
        run_id, device_id, context_id, stream_id, pid, a_group, b_group, bit,
        dense_rank() OVER (ORDER BY device_no, a_group, b_group) AS sweep
    FROM members
),
events AS (
    SELECT
        sweeps.sweep, unnest([busy.start_ns, busy.end_ns]) AS at_ns, sweeps.bit,
        unnest([1, -1]) AS step
    FROM busy
    JOIN sweeps
        ON busy.run_id = sweeps.run_id
        AND busy.device_id IS NOT DISTINCT FROM sweeps.device_id
        AND busy.context_id IS NOT DISTINCT FROM sweeps.context_id
        AND busy.stream_id IS NOT DISTINCT FROM sweeps.stream_id
        AND busy.pid IS NOT DISTINCT FROM sweeps.pid
    ORDER BY sweep, at_ns
),
-- Windows without an order stream over the sorted rows, in half the time. A sweep ends
-- with an empty set: none needs a partition. Within a tie the running sum means
-- nothing, and has no time.
swept AS (
    SELECT
        sweep, sum(step * (CAST(1 AS HUGEINT) << CAST(bit AS HUGEINT))) OVER (
            ROWS UNBOUNDED PRECEDING
        ) AS mask,
        lead(at_ns) OVER () - at_ns AS time_ns
    FROM events
),
masks AS (
    SELECT sweep, mask, CAST(sum(time_ns) AS BIGINT) AS time_ns
    FROM swept
    WHERE time_ns > 0 AND mask > 0
    GROUP BY sweep, mask
)
SELECT
    named.run_id, named.device_id, named.a_group, named.b_group,
    CASE WHEN named.a_group IS NOT NULL
        THEN CAST(masks.mask & ((CAST(1 AS HUGEINT) << 60) - 1) AS BIGINT)
    END AS a_streams,
    CASE WHEN named.a_group IS NOT NULL THEN CAST(masks.mask >> 60 AS BIGINT) END
        AS b_streams,
    CASE WHEN named.a_group IS NULL THEN CAST(masks.mask AS BIGINT)
        ELSE bit_count(a_streams) + bit_count(b_streams)
    END AS busy_stream_count,
    masks.time_ns
FROM masks
JOIN (
    SELECT DISTINCT sweep, run_id, device_id, a_group, b_group FROM sweeps
) AS named ON masks.sweep = named.sweep;
