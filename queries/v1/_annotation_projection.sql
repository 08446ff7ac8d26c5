-- @title Annotation ranges as the GPU saw them
-- One row per range that launched GPU work: from the first start to the last end of the
-- operations launched in it. A range is whole pieces of its thread; first and last come
-- from a tree of halves over the pieces: a range takes two nodes a level at most, not
-- one row per operation. The union is the plain sum where no two of the thread's
-- operations overlap, and the sum over the pieces where no two pieces do; only ranges
-- of pieces that overlap are spelled out, an island (what operations of a piece fill
-- without a gap) a row. If the ranges with an overlap hold more than busy_limit calls
-- in a run, counting a call once for each distinct set of calls, their union stays
-- NULL.
-- @param busy_limit BIGINT Most calls of ranges with an overlap in a run.
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
WITH RECURSIVE line AS MATERIALIZED (
    SELECT
        run_id, thread_hash, what, annotation_id, start_ns,
        start_ns + coalesce(dur_ns, 0) AS end_ns, piece_no, launch_no, upto_op_count,
        upto_kernel_count, upto_kernel_sum_ns, upto_copy_sum_ns
    FROM v1._annotation_line()
),
launched AS MATERIALIZED (
    SELECT
        opened.run_id, opened.annotation_id, opened.thread_hash,
        opened.launch_no AS after_no, closed.launch_no AS upto_no,
        closed.upto_op_count - opened.upto_op_count AS gpu_op_count,
        closed.upto_kernel_count - opened.upto_kernel_count AS kernel_count,
        closed.upto_kernel_sum_ns - opened.upto_kernel_sum_ns AS kernel_sum_ns,
        closed.upto_copy_sum_ns - opened.upto_copy_sum_ns AS copy_sum_ns
    FROM line AS opened
    JOIN line AS closed
        ON opened.run_id = closed.run_id AND opened.annotation_id = closed.annotation_id
    WHERE opened.what = 0 AND closed.what = 1 AND closed.launch_no > opened.launch_no
),
parts AS (
    SELECT
        run_id, thread_hash, after_no, upto_no,
        any_value(kernel_sum_ns + copy_sum_ns) AS op_sum_ns
    FROM launched
    GROUP BY run_id, thread_hash, after_no, upto_no
),
-- An island is what operations of a piece fill without a gap.
swept AS (
    SELECT
        thread_hash, launch_no, start_ns, end_ns, piece_no,
        max(end_ns) OVER (
            piece ORDER BY start_ns, end_ns, launch_no
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS before_ns,
        max(end_ns) OVER piece AS last_ns,
        min(launch_no) OVER piece - 1 AS after_no,
        max(launch_no) OVER piece AS upto_no
    FROM line
    WHERE what = 2
    WINDOW piece AS (PARTITION BY thread_hash, piece_no)
),
coasts AS (
    SELECT
        thread_hash, after_no, upto_no, launch_no, start_ns, end_ns AS first_end_ns,
        coalesce(lead(before_ns) OVER (
            PARTITION BY thread_hash, piece_no ORDER BY start_ns, end_ns, launch_no
        ), last_ns) AS end_ns
    FROM swept
    WHERE before_ns IS NULL OR start_ns >= before_ns
),
islands AS MATERIALIZED (
    SELECT
        thread_hash, after_no, upto_no, start_ns, end_ns,
        row_number() OVER (ORDER BY thread_hash, after_no) AS island_no,
        -- Of two islands that overlap the one that starts later is marked: pieces
        -- without a mark hold no two that overlap.
        end_ns > start_ns AND coalesce(start_ns < max(end_ns) OVER (
            PARTITION BY thread_hash ORDER BY start_ns, first_end_ns, launch_no
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ), false) AS is_marked
    FROM coasts
),
pieces AS MATERIALIZED (
    SELECT
        thread_hash, after_no, upto_no, first_island, last_island, first_start_ns,
        last_end_ns,
        row_number() OVER in_order AS ordinal,
        sum(busy_ns) OVER in_order - busy_ns AS earlier_busy_ns,
        sum(busy_ns) OVER in_order AS upto_busy_ns,
        sum(mark_count) OVER in_order - mark_count AS earlier_mark_count,
        sum(mark_count) OVER in_order AS upto_mark_count
    FROM (
        SELECT
            thread_hash, after_no, upto_no, min(island_no) AS first_island,
            max(island_no) AS last_island, min(start_ns) AS first_start_ns,
            max(end_ns) AS last_end_ns, sum(end_ns - start_ns) AS busy_ns,
            count(*) FILTER (is_marked) AS mark_count
        FROM islands
        GROUP BY thread_hash, after_no, upto_no
    )
    WINDOW in_order AS (
        ORDER BY thread_hash, after_no
        ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
    )
),
-- Node n of a level holds the pieces n * 2^level + 1 to (n + 1) * 2^level.
nodes AS (
    SELECT
        0 AS level, ordinal - 1 AS node, first_start_ns, last_end_ns,
        max(ordinal - 1) OVER () AS last_node
    FROM pieces
    UNION ALL
    SELECT
        any_value(level) + 1, node >> 1, min(first_start_ns), max(last_end_ns),
        any_value(last_node)
    FROM nodes
    WHERE last_node >> level > 0
    GROUP BY node >> 1
),
placed AS MATERIALIZED (
    SELECT
        parts.run_id, parts.thread_hash, parts.after_no, parts.upto_no, parts.op_sum_ns,
        first.ordinal - 1 AS after_piece, last.ordinal AS upto_piece,
        first.first_island, last.last_island,
        CAST(last.upto_busy_ns - first.earlier_busy_ns AS BIGINT) AS busy_ns,
        last.upto_mark_count > first.earlier_mark_count AS is_marked
    FROM parts
    -- By thread too, the optimiser would pair all pieces of a thread first.
    JOIN pieces AS first ON parts.after_no = first.after_no
    JOIN pieces AS last ON parts.upto_no = last.upto_no
),
levels AS (
    SELECT
        after_piece, upto_piece, level,
        (after_piece + (1::BIGINT << level) - 1) >> level AS low,
        upto_piece >> level AS high
    FROM (
        SELECT
            after_piece, upto_piece,
            unnest(range(0, 1 + ceil(log2(upto_piece - after_piece))::BIGINT)) AS level
        FROM placed
    )
),
halves AS (
    SELECT after_piece, upto_piece, level, low AS node
    FROM levels WHERE low < high AND low & 1 = 1
    UNION ALL
    SELECT after_piece, upto_piece, level, high - 1
    FROM levels WHERE low < high AND high & 1 = 1
),
spans AS (
    SELECT
        halves.after_piece, halves.upto_piece,
        min(nodes.first_start_ns) AS first_start_ns,
        max(nodes.last_end_ns) AS last_end_ns
    FROM halves
    JOIN nodes ON halves.level = nodes.level AND halves.node = nodes.node
    GROUP BY halves.after_piece, halves.upto_piece
),
reaches AS MATERIALIZED (
    SELECT
        placed.thread_hash, placed.after_no, placed.upto_no, placed.first_island,
        placed.last_island, placed.op_sum_ns, placed.busy_ns,
        spans.first_start_ns, spans.last_end_ns,
        placed.is_marked OR placed.busy_ns < placed.op_sum_ns AS is_overlapping,
        placed.is_marked AND placed.upto_piece - placed.after_piece > 1 AS is_entangled,
        sum(CASE
            WHEN placed.is_marked OR placed.busy_ns < placed.op_sum_ns
                THEN placed.upto_no - placed.after_no
        END) OVER (PARTITION BY placed.run_id) <= busy_limit AS is_spelled
    FROM placed
    JOIN spans
        ON placed.after_piece = spans.after_piece
        AND placed.upto_piece = spans.upto_piece
),
spelled AS (
    SELECT
        thread_hash, after_no, upto_no,
        unnest(range(first_island, last_island + 1)) AS island_no
    FROM reaches
    WHERE is_entangled AND is_spelled
),
added AS (
    SELECT
        spelled.thread_hash, spelled.after_no, spelled.upto_no,
        islands.end_ns - greatest(islands.start_ns, max(islands.end_ns) OVER (
            PARTITION BY spelled.thread_hash, spelled.after_no, spelled.upto_no
            ORDER BY islands.start_ns ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        )) AS added_ns
    FROM spelled
    JOIN islands ON spelled.island_no = islands.island_no
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
        WHEN NOT reaches.is_overlapping THEN reaches.op_sum_ns
        WHEN NOT reaches.is_spelled THEN NULL
        WHEN reaches.is_entangled THEN unions.busy_ns
        ELSE reaches.busy_ns
    END AS busy_ns
FROM launched
JOIN reaches
    ON launched.thread_hash = reaches.thread_hash
    AND launched.after_no = reaches.after_no AND launched.upto_no = reaches.upto_no
LEFT JOIN unions
    ON launched.thread_hash = unions.thread_hash
    AND launched.after_no = unions.after_no AND launched.upto_no = unions.upto_no;
