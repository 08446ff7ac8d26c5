-- @title Annotation ranges as the GPU saw them
-- One row per range that launched GPU work: from the first start to the last end of the
-- operations launched in it. First and last come from a tree of halves over the calls
-- of a thread: a range takes two nodes a level at most, not one row per operation. The
-- union is the plain sum where no two of the thread's operations overlap; only ranges
-- with an overlap are spelled out, and if they hold more than busy_limit calls in a
-- run, counting a call once for each distinct set of calls, their union stays NULL.
-- @param busy_limit BIGINT Most calls to spell out in a run.
-- @column run_id id key The run.
-- @column annotation_id id key The range.
-- @column launch_count count neutral Calls that launched.
-- @column gpu_op_count count neutral Operations launched.
-- @column kernel_count count neutral Kernels and whole graph launches among them.
-- @column kernel_sum_ns ns neutral Sum of their durations.
-- @column copy_sum_ns ns neutral Sum of the durations of copies and fills.
-- @column first_start_ns ns neutral First start on a device.
-- @column last_end_ns ns neutral Last end on a device.
-- @column busy_ns ns neutral Time in which one at least of the operations ran.
-- @key run_id, annotation_id
-- @since 0.2
CREATE MACRO _annotation_projection(busy_limit BIGINT := 20000000) AS TABLE
WITH RECURSIVE launches AS MATERIALIZED (
    SELECT
        run_id, api_call_id, thread_hash, launch_no, first_start_ns, last_end_ns
    FROM v1._launches()
),
launched AS MATERIALIZED (
    SELECT
        run_id, annotation_id, thread_hash, after_no, upto_no, gpu_op_count,
        kernel_count, kernel_sum_ns, copy_sum_ns
    FROM v1._annotation_launches()
),
parts AS MATERIALIZED (
    SELECT DISTINCT run_id, thread_hash, after_no, upto_no FROM launched
),
-- Node n of a level holds the calls n * 2^level + 1 to (n + 1) * 2^level.
nodes AS (
    SELECT
        thread_hash, 0 AS level, launch_no - 1 AS node, first_start_ns, last_end_ns,
        max(launch_no - 1) OVER (PARTITION BY thread_hash) AS last_node
    FROM launches
    UNION ALL
    SELECT
        thread_hash, any_value(level) + 1, node >> 1, min(first_start_ns),
        max(last_end_ns), any_value(last_node)
    FROM nodes
    WHERE last_node >> level > 0
    GROUP BY thread_hash, node >> 1
),
borders AS (
    SELECT
        thread_hash, after_no, upto_no, level,
        (after_no + (1::BIGINT << level) - 1) >> level AS low,
        upto_no >> level AS high
    FROM (
        SELECT
            thread_hash, after_no, upto_no,
            unnest(range(0, 1 + ceil(log2(upto_no - after_no))::BIGINT)) AS level
        FROM parts
    )
),
pieces AS (
    SELECT thread_hash, after_no, upto_no, level, low AS node
    FROM borders WHERE low < high AND low & 1 = 1
    UNION ALL
    SELECT thread_hash, after_no, upto_no, level, high - 1
    FROM borders WHERE low < high AND high & 1 = 1
),
reaches AS (
    SELECT
        pieces.thread_hash, pieces.after_no, pieces.upto_no,
        min(nodes.first_start_ns) AS first_start_ns,
        max(nodes.last_end_ns) AS last_end_ns
    FROM pieces
    JOIN nodes
        ON pieces.thread_hash = nodes.thread_hash AND pieces.level = nodes.level
        AND pieces.node = nodes.node
    GROUP BY pieces.thread_hash, pieces.after_no, pieces.upto_no
),
ops AS MATERIALIZED (
    SELECT
        launches.thread_hash, launches.launch_no, gpu_op.ts_ns AS start_ns,
        gpu_op.ts_ns + gpu_op.dur_ns AS end_ns
    FROM gpu_op
    JOIN launches
        ON gpu_op.run_id = launches.run_id
        AND gpu_op.api_call_id = launches.api_call_id
    WHERE gpu_op.dur_ns > 0
),
-- Of two operations that overlap the one that starts later is marked: a set of calls
-- without a mark holds no two that overlap.
marks AS (
    SELECT
        thread_hash, launch_no,
        coalesce(start_ns < max(end_ns) OVER (
            PARTITION BY thread_hash ORDER BY start_ns, end_ns, launch_no
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ), false) AS is_marked
    FROM ops
),
mark_counts AS (
    SELECT
        thread_hash, launch_no,
        sum(count(*) FILTER (is_marked)) OVER (
            PARTITION BY thread_hash ORDER BY launch_no
        ) AS upto_mark_count
    FROM marks
    WHERE is_marked
    GROUP BY thread_hash, launch_no
),
ended AS (
    SELECT
        parts.run_id, parts.thread_hash, parts.after_no, parts.upto_no,
        mark_counts.upto_mark_count
    FROM parts
    ASOF JOIN mark_counts
        ON parts.thread_hash = mark_counts.thread_hash
        AND parts.upto_no >= mark_counts.launch_no
),
overlapping AS MATERIALIZED (
    SELECT
        ended.thread_hash, ended.after_no, ended.upto_no,
        sum(ended.upto_no - ended.after_no) OVER (PARTITION BY ended.run_id)
            <= busy_limit AS is_spelled
    FROM ended
    ASOF LEFT JOIN mark_counts
        ON ended.thread_hash = mark_counts.thread_hash
        AND ended.after_no >= mark_counts.launch_no
    WHERE ended.upto_mark_count > coalesce(mark_counts.upto_mark_count, 0)
),
spelled AS (
    SELECT
        thread_hash, after_no, upto_no,
        unnest(range(after_no + 1, upto_no + 1)) AS launch_no
    FROM overlapping
    WHERE is_spelled
),
added AS (
    SELECT
        spelled.thread_hash, spelled.after_no, spelled.upto_no,
        ops.end_ns - greatest(ops.start_ns, max(ops.end_ns) OVER (
            PARTITION BY spelled.thread_hash, spelled.after_no, spelled.upto_no
            ORDER BY ops.start_ns ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        )) AS added_ns
    FROM spelled
    JOIN ops
        ON spelled.thread_hash = ops.thread_hash
        AND spelled.launch_no = ops.launch_no
),
unions AS (
    SELECT
        thread_hash, after_no, upto_no,
        CAST(sum(greatest(added_ns, 0)) AS BIGINT) AS busy_ns
    FROM added
    GROUP BY thread_hash, after_no, upto_no
)
SELECT
    launched.run_id, launched.annotation_id,
    launched.upto_no - launched.after_no AS launch_count,
    launched.gpu_op_count, launched.kernel_count, launched.kernel_sum_ns,
    launched.copy_sum_ns, reaches.first_start_ns, reaches.last_end_ns,
    CASE
        WHEN overlapping.after_no IS NULL THEN
            launched.kernel_sum_ns + launched.copy_sum_ns
        ELSE unions.busy_ns
    END AS busy_ns
FROM launched
JOIN reaches
    ON launched.thread_hash = reaches.thread_hash
    AND launched.after_no = reaches.after_no AND launched.upto_no = reaches.upto_no
LEFT JOIN overlapping
    ON launched.thread_hash = overlapping.thread_hash
    AND launched.after_no = overlapping.after_no
    AND launched.upto_no = overlapping.upto_no
LEFT JOIN unions
    ON launched.thread_hash = unions.thread_hash
    AND launched.after_no = unions.after_no AND launched.upto_no = unions.upto_no;
