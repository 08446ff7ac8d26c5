-- @title GPU use by stretches of time
-- Stretches in which a process used a device little: its time from its first operation
-- to its last, in equal chunks, of which those in use for less than threshold_pct are
-- listed, neighbours as one. Equals nsys analyze gpu_time_util: what counts is the sum
-- of the operations, clipped to the chunk, so that operations at once add up and may
-- pass 100 %; the union stands beside it and cannot. Widths are whole ns, rounded up:
-- the last chunk is what is left. Operations without a known duration do not count.
-- @param chunks BIGINT Chunks of each process and device; fewer where whole ns allow
--     no more.
-- @param threshold_pct DOUBLE Chunks strictly below this are listed; NULL for all, each
--     on its own.
-- @param top BIGINT Rows per run, least used first; NULL for all.
-- @column run_id id key The run.
-- @column pid id key Process; NULL where the source does not say it.
-- @column device_id id key Device.
-- @column start_ns ns key Start of the stretch, ns since the run's origin.
-- @column end_ns ns neutral End of the stretch.
-- @column length_ns ns neutral Its length: the denominator.
-- @column chunk_count count neutral Chunks in it.
-- @column busy_sum_ns ns neutral Sum over its operations: what overlaps counts each.
-- @column busy_union_ns ns higher Time in which any of them ran.
-- @column busy_sum_with_overlaps_pct pct neutral The sum, of the length: passes 100
--     where operations run at once; no utilization.
-- @column busy_pct pct higher The union, of the length.
-- @key run_id, pid, device_id, start_ns
-- @requires kernel|memcpy|memset|graph_launch Record GPU activity: nsys profile -t cuda
-- @since 0.2
CREATE MACRO gpu_time_util(
    chunks BIGINT := 30, threshold_pct DOUBLE := 50, top BIGINT := NULL
) AS TABLE
WITH spans AS MATERIALIZED (
    SELECT
        run_id, pid, device_id, first_ns, last_ns, row_number() OVER () AS span_no,
        count(*) OVER (PARTITION BY run_id, device_id) = 1 AS is_alone,
        CASE
            WHEN chunks < 1 THEN error('chunks must be at least 1')
            ELSE (last_ns - first_ns - 1) // chunks + 1
        END AS chunk_ns
    FROM (
        SELECT
            run_id, pid, device_id, min(ts_ns) AS first_ns,
            max(ts_ns + dur_ns) AS last_ns
        FROM gpu_op
        WHERE dur_ns >= 0
        GROUP BY run_id, pid, device_id
    )
    WHERE last_ns > first_ns
),
-- Only a device that several processes share needs a sweep of each.
ops AS (
    SELECT spans.span_no, op.start_ns, op.end_ns, op.busy_from_ns
    FROM v1._gpu_sweep() AS op
    JOIN spans
        ON op.run_id = spans.run_id AND op.pid IS NOT DISTINCT FROM spans.pid
        AND op.device_id IS NOT DISTINCT FROM spans.device_id
    WHERE spans.is_alone AND op.end_ns > op.start_ns
    UNION ALL
    SELECT
        spans.span_no, op.ts_ns, op.ts_ns + op.dur_ns,
        least(op.ts_ns + op.dur_ns, greatest(op.ts_ns, max(op.ts_ns + op.dur_ns) OVER (
            PARTITION BY spans.span_no ORDER BY op.ts_ns
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        )))
    FROM gpu_op AS op
    JOIN spans
        ON op.run_id = spans.run_id AND op.pid IS NOT DISTINCT FROM spans.pid
        AND op.device_id IS NOT DISTINCT FROM spans.device_id
    WHERE NOT spans.is_alone AND op.dur_ns > 0
),
placed AS (
    SELECT
        ops.span_no, ops.start_ns, ops.end_ns, ops.busy_from_ns,
        (ops.start_ns - spans.first_ns) // spans.chunk_ns AS first_chunk,
        (ops.end_ns - spans.first_ns - 1) // spans.chunk_ns AS last_chunk
    FROM ops
    JOIN spans ON ops.span_no = spans.span_no
),
borders AS (
    SELECT
        run_id, pid, device_id, span_no, chunk,
        first_ns + chunk * chunk_ns AS chunk_start_ns,
        least(first_ns + (chunk + 1) * chunk_ns, last_ns) AS chunk_end_ns
    FROM (
        SELECT
            run_id, pid, device_id, span_no, first_ns, last_ns, chunk_ns,
            unnest(range((last_ns - first_ns - 1) // chunk_ns + 1)) AS chunk
        FROM spans
    )
),
-- Most operations lie in one chunk: only the others are cut at the borders.
pieces AS (
    SELECT span_no, first_chunk AS chunk, start_ns, end_ns, busy_from_ns
    FROM placed
    WHERE last_chunk = first_chunk
    UNION ALL
    SELECT
        crossing.span_no, crossing.chunk,
        greatest(crossing.start_ns, borders.chunk_start_ns),
        least(crossing.end_ns, borders.chunk_end_ns),
        greatest(crossing.busy_from_ns, borders.chunk_start_ns)
    FROM (
        SELECT
            span_no, start_ns, end_ns, busy_from_ns,
            unnest(range(first_chunk, last_chunk + 1)) AS chunk
        FROM placed
        WHERE last_chunk > first_chunk
    ) AS crossing
    JOIN borders
        ON crossing.span_no = borders.span_no AND crossing.chunk = borders.chunk
),
measured AS (
    SELECT
        span_no, chunk, sum(end_ns - start_ns) AS busy_sum_ns,
        sum(greatest(end_ns - busy_from_ns, 0)) AS busy_union_ns
    FROM pieces
    GROUP BY span_no, chunk
),
listed AS (
    SELECT
        borders.run_id, borders.pid, borders.device_id, borders.chunk,
        borders.chunk_start_ns, borders.chunk_end_ns,
        coalesce(measured.busy_sum_ns, 0) AS busy_sum_ns,
        coalesce(measured.busy_union_ns, 0) AS busy_union_ns,
        -- The same for neighbours that are listed.
        borders.chunk - CASE WHEN threshold_pct IS NULL THEN 0 ELSE row_number() OVER (
            PARTITION BY borders.run_id, borders.pid, borders.device_id
            ORDER BY borders.chunk
        ) END AS stretch
    FROM borders
    LEFT JOIN measured
        ON borders.span_no = measured.span_no AND borders.chunk = measured.chunk
    WHERE threshold_pct IS NULL
        OR 100.0 * coalesce(measured.busy_sum_ns, 0)
            < threshold_pct * (borders.chunk_end_ns - borders.chunk_start_ns)
),
stretches AS (
    SELECT
        run_id, pid, device_id, min(chunk_start_ns) AS start_ns,
        max(chunk_end_ns) AS end_ns, count(*) AS chunk_count,
        CAST(sum(busy_sum_ns) AS BIGINT) AS busy_sum_ns,
        CAST(sum(busy_union_ns) AS BIGINT) AS busy_union_ns
    FROM listed
    GROUP BY run_id, pid, device_id, stretch
)
SELECT
    run_id, pid, device_id, start_ns, end_ns, end_ns - start_ns AS length_ns,
    chunk_count, busy_sum_ns, busy_union_ns,
    100.0 * busy_sum_ns / (end_ns - start_ns) AS busy_sum_with_overlaps_pct,
    100.0 * busy_union_ns / (end_ns - start_ns) AS busy_pct
FROM stretches
QUALIFY top IS NULL OR top >= row_number() OVER (
    PARTITION BY run_id
    ORDER BY busy_sum_ns / (end_ns - start_ns), start_ns, pid, device_id
)
ORDER BY
    run_id, busy_sum_ns / (end_ns - start_ns), start_ns, pid, device_id;
