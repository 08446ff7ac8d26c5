-- @title The innermost annotation around host calls
-- One row per host call of a kind that has a push_pop range around its start on its
-- thread, with the innermost such range: the one that began last. Ranges that nest are
-- found from the last event before the call, without a row per level: a range that
-- opened there is the innermost, and when one closed there, the one that holds it is.
-- Ranges that cross others have a row per call in them. A range holds a call that began
-- from its start to before its end.
-- @param which VARCHAR launch (calls that launched GPU work) or sync (calls that wait
--     for the GPU).
-- @column run_id id key The run.
-- @column api_call_id id key The call.
-- @column annotation_id id neutral The innermost range.
-- @key run_id, api_call_id
-- @since 0.2
CREATE MACRO _call_annotations(which VARCHAR := 'launch') AS TABLE
WITH RECURSIVE calls AS MATERIALIZED (
    SELECT
        run_id, api_call_id, thread_hash, at_ns,
        row_number() OVER (PARTITION BY thread_hash ORDER BY at_ns, api_call_id)
            AS call_no,
        count(*) OVER (
            PARTITION BY thread_hash ORDER BY at_ns
            RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS upto_no
    FROM (
        SELECT run_id, api_call_id, thread_hash, launch_ns AS at_ns
        FROM v1._launches()
        WHERE which = 'launch'
        UNION ALL
        SELECT run_id, api_call_id, hash(run_id, pid, tid), start_ns
        FROM v1._sync_calls()
        WHERE which = 'sync'
    )
),
ranges AS MATERIALIZED (
    SELECT
        part.run_id, part.annotation_id, part.thread_hash, part.start_ns, part.end_ns,
        coalesce(part.depth, 0) AS depth, part.parent_id, part.crossing
    FROM v1._annotation_ranges() AS part
    SEMI JOIN calls ON part.thread_hash = calls.thread_hash
    WHERE part.kind = 'push_pop' AND part.end_ns > part.start_ns
),
crossed AS MATERIALIZED (
    SELECT run_id, annotation_id, thread_hash, start_ns, end_ns, depth, parent_id
    FROM ranges
    WHERE crossing
),
-- From each crossing range up to the nearest that crosses no other.
climbs AS (
    SELECT run_id, annotation_id, parent_id FROM crossed
    UNION ALL
    SELECT climbs.run_id, climbs.annotation_id, crossed.parent_id
    FROM climbs
    JOIN crossed
        ON climbs.run_id = crossed.run_id AND climbs.parent_id = crossed.annotation_id
),
above AS (
    SELECT climbs.run_id, climbs.annotation_id, climbs.parent_id
    FROM climbs
    ANTI JOIN crossed
        ON climbs.run_id = crossed.run_id AND climbs.parent_id = crossed.annotation_id
),
-- Time and depth in one number, so that at one moment the deepest start is the last and
-- the shallowest end; by time alone where they do not fit, as with damaged times.
scales AS MATERIALIZED (
    SELECT
        CASE
            WHEN (max(depth) + 2)::HUGEINT * greatest(
                max(end_ns)::HUGEINT, -min(start_ns)::HUGEINT,
                (SELECT max(at_ns) FROM calls)::HUGEINT,
                -(SELECT min(at_ns) FROM calls)::HUGEINT
            ) < 9223372036854775807 THEN max(depth)::BIGINT + 1
            ELSE 1
        END AS scale
    FROM ranges
),
opened AS (
    SELECT
        ranges.thread_hash, ranges.annotation_id, ranges.start_ns,
        ranges.start_ns * scales.scale + least(ranges.depth, scales.scale - 1)
            AS start_key
    FROM ranges, scales
    WHERE NOT ranges.crossing
),
closed AS (
    SELECT
        ranges.thread_hash, ranges.end_ns, ranges.parent_id,
        ranges.end_ns * scales.scale
        + scales.scale - 1 - least(ranges.depth, scales.scale - 1) AS end_key
    FROM ranges, scales
    WHERE NOT ranges.crossing
),
keyed AS (
    SELECT
        calls.run_id, calls.api_call_id, calls.thread_hash,
        calls.at_ns * scales.scale + scales.scale - 1 AS at_key
    FROM calls, scales
),
after_opening AS (
    SELECT
        keyed.run_id, keyed.api_call_id, keyed.thread_hash, keyed.at_key,
        opened.annotation_id, opened.start_ns
    FROM keyed
    ASOF JOIN opened
        ON keyed.thread_hash = opened.thread_hash AND keyed.at_key >= opened.start_key
),
last_event AS (
    SELECT
        after_opening.run_id, after_opening.api_call_id,
        CASE
            WHEN closed.end_ns > after_opening.start_ns THEN closed.parent_id
            ELSE after_opening.annotation_id
        END AS annotation_id
    FROM after_opening
    ASOF LEFT JOIN closed
        ON after_opening.thread_hash = closed.thread_hash
        AND after_opening.at_key >= closed.end_key
),
nested AS (
    SELECT
        last_event.run_id, last_event.api_call_id,
        CASE
            WHEN above.annotation_id IS NULL THEN last_event.annotation_id
            ELSE above.parent_id
        END AS annotation_id
    FROM last_event
    LEFT JOIN above
        ON last_event.run_id = above.run_id
        AND last_event.annotation_id = above.annotation_id
),
crossed_ended AS (
    SELECT
        crossed.run_id, crossed.annotation_id, crossed.thread_hash, crossed.start_ns,
        crossed.depth, calls.upto_no
    FROM crossed
    ASOF JOIN calls
        ON crossed.thread_hash = calls.thread_hash AND crossed.end_ns > calls.at_ns
),
crossed_calls AS (
    SELECT
        crossed_ended.run_id, crossed_ended.annotation_id, crossed_ended.thread_hash,
        crossed_ended.start_ns, crossed_ended.depth,
        unnest(range(coalesce(calls.upto_no, 0) + 1, crossed_ended.upto_no + 1))
            AS call_no
    FROM crossed_ended
    ASOF LEFT JOIN calls
        ON crossed_ended.thread_hash = calls.thread_hash
        AND crossed_ended.start_ns > calls.at_ns
),
of_crossed AS MATERIALIZED (
    SELECT
        calls.run_id, calls.api_call_id,
        max(struct_pack(
            s := crossed_calls.start_ns, d := crossed_calls.depth,
            i := crossed_calls.annotation_id
        )) AS last
    FROM crossed_calls
    JOIN calls
        ON crossed_calls.thread_hash = calls.thread_hash
        AND crossed_calls.call_no = calls.call_no
    GROUP BY calls.run_id, calls.api_call_id
),
-- Where a crossing range holds a call too, the later start of both.
nested_start AS (
    SELECT
        nested.run_id, nested.api_call_id, nested.annotation_id, ranges.start_ns,
        ranges.depth
    FROM of_crossed
    JOIN nested
        ON of_crossed.run_id = nested.run_id
        AND of_crossed.api_call_id = nested.api_call_id
    JOIN ranges
        ON nested.run_id = ranges.run_id
        AND nested.annotation_id = ranges.annotation_id
)
SELECT nested.run_id, nested.api_call_id, nested.annotation_id
FROM nested
ANTI JOIN of_crossed
    ON nested.run_id = of_crossed.run_id
    AND nested.api_call_id = of_crossed.api_call_id
WHERE nested.annotation_id IS NOT NULL
UNION ALL
SELECT
    of_crossed.run_id, of_crossed.api_call_id,
    CASE
        WHEN nested_start.start_ns > of_crossed.last.s
            OR nested_start.start_ns = of_crossed.last.s
            AND nested_start.depth > of_crossed.last.d
            THEN nested_start.annotation_id
        ELSE of_crossed.last.i
    END
FROM of_crossed
LEFT JOIN nested_start
    ON of_crossed.run_id = nested_start.run_id
    AND of_crossed.api_call_id = nested_start.api_call_id;
