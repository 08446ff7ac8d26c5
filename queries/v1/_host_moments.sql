-- @title Innermost host range by moment
-- One row per moment at which the innermost annotation, or the innermost host op, of a
-- thread changes: from then until the next row of the thread and layer, range_id is the
-- innermost one that is open, NULL where none is. An ASOF join on at_ns finds what a
-- thread was in at any moment, however deep its ranges nest. Ranges that cross others
-- of their layer, end on another thread, have no end or no length are left out.
-- @param wanted BOOLEAN False for no rows, at no cost.
-- @column run_id id key The run.
-- @column layer text key annotation or op.
-- @column pid id key Process.
-- @column tid id key Thread.
-- @column at_ns ns key From when, ns since the run's origin.
-- @column range_id id neutral annotation_id or op_id of the innermost range.
-- @key run_id, layer, pid, tid, at_ns
-- @since 0.2
CREATE MACRO _host_moments(wanted BOOLEAN := true) AS TABLE
WITH ranges AS (
    SELECT
        run_id, 'annotation' AS layer, pid, tid, annotation_id AS range_id,
        ts_ns AS start_ns, ts_ns + dur_ns AS end_ns, crossing
    FROM annotation
    WHERE wanted AND dur_ns > 0
        AND kind IN ('push_pop', 'start_end') AND coalesce(end_tid = tid, true)
    UNION ALL
    SELECT run_id, 'op', pid, tid, op_id, ts_ns, ts_ns + dur_ns, crossing
    FROM op
    WHERE wanted AND dur_ns > 0 AND placement IS DISTINCT FROM 'device'
),
-- Annotations that cross a Python frame may still nest in each other: what is open
-- before such a range starts is open again when it has ended. Sets are told by sums.
crossing_events AS (
    SELECT
        run_id, layer, pid, tid, range_id, unnest([start_ns, end_ns]) AS at_ns,
        unnest([1, -1]) AS step, unnest([-end_ns, -start_ns]) AS inside,
        -- The hash of 0 is 0, which no sum would show.
        1 + CAST(hash(range_id) AS HUGEINT) AS mark
    FROM ranges
    WHERE crossing
),
crossing_sets AS (
    SELECT
        run_id, layer, range_id, step,
        sum(step * mark) OVER (
            PARTITION BY run_id, layer, pid, tid
            ORDER BY at_ns, step, inside, step * range_id ROWS UNBOUNDED PRECEDING
        ) - CASE WHEN step = 1 THEN mark ELSE 0 END AS open_set
    FROM crossing_events
),
crossers AS (
    SELECT run_id, layer, range_id
    FROM crossing_sets
    GROUP BY run_id, layer, range_id
    HAVING min(open_set) <> max(open_set)
),
events AS (
    SELECT
        run_id, layer, pid, tid, range_id, end_ns,
        unnest([start_ns, end_ns]) AS at_ns, unnest([1, -1]) AS step
    FROM ranges
    ANTI JOIN crossers USING (run_id, layer, range_id)
),
-- Ends come before starts of the same moment, and the outermost starts first.
swept AS (
    SELECT
        run_id, layer, pid, tid, range_id, end_ns, at_ns, step,
        sum(step) OVER (moments ROWS UNBOUNDED PRECEDING) AS depth,
        lead(at_ns) OVER moments AS next_ns
    FROM events
    WINDOW moments AS (
        PARTITION BY run_id, layer, pid, tid
        ORDER BY at_ns, step, end_ns DESC, range_id
    )
),
opened AS (
    SELECT
        run_id, layer, pid, tid, at_ns, next_ns, depth,
        last_value(CASE WHEN step = 1 THEN range_id END IGNORE NULLS) OVER (
            PARTITION BY run_id, layer, pid, tid, depth
            ORDER BY at_ns, step, end_ns DESC, range_id ROWS UNBOUNDED PRECEDING
        ) AS range_id
    FROM swept
)
SELECT
    run_id, layer, pid, tid, at_ns, CASE WHEN depth > 0 THEN range_id END AS range_id
FROM opened
WHERE next_ns IS DISTINCT FROM at_ns;
