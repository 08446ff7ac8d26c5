-- @title The tree of annotations
-- One row per push_pop range: where it stands in the nesting of its thread, and how
-- much of its time its own children do not cover. In order of process, thread and
-- start, a range stands after the range that holds it. The parent is the tightest range
-- of the thread that holds it whole; children that cross each other count whole, so
-- that the own time of their parent may fall below zero. A range that the capture cut
-- ends, as in nsys, at the last time of any annotation of its run. Equals
-- nvtx_pushpop_trace of nsys stats, whose stack of ids is the chain of parent_id.
-- Ranges that start in the window count whole, and so do their children.
-- @param max_depth BIGINT Ranges of at most this depth; NULL for all.
-- @param top BIGINT Rows per run, the first; NULL for all.
-- @param time_window VARCHAR capture, gpu or steps.
-- @param from_ns BIGINT Start of a range, ns since the run's origin.
-- @param to_ns BIGINT End of a range, ns since the run's origin.
-- @column run_id id key The run.
-- @column annotation_id id key The range.
-- @column parent_id id neutral The range that holds it; NULL at the top.
-- @column pid id neutral Process.
-- @column tid id neutral Thread.
-- @column depth value neutral Enclosing ranges; 0 at the top.
-- @column name text neutral Domain and text as "domain:text"; the text alone where no
--     domain is recorded.
-- @column start_ns ns neutral Start, ns since the run's origin.
-- @column end_ns ns neutral End.
-- @column dur_ns ns lower Duration.
-- @column child_sum_ns ns neutral Sum of the durations of its direct children.
-- @column self_ns ns lower dur_ns less child_sum_ns.
-- @column child_count count neutral Direct children.
-- @column is_crossing bool neutral Overlaps a neighbour without nesting.
-- @column is_unfinished bool lower The capture cut it.
-- @column window_name text neutral capture, gpu, steps or range.
-- @column window_start_ns ns neutral Start of the window, ns since the run's origin.
-- @column window_end_ns ns neutral End of the window, ns since the run's origin.
-- @key run_id, annotation_id
-- @requires annotation Annotate the program: nvtx.annotate or
--     torch.cuda.nvtx.range_push with nsys profile -t cuda,nvtx, or
--     torch.profiler.record_function.
-- @since 0.2
CREATE MACRO annotation_tree(
    max_depth BIGINT := NULL,
    top BIGINT := NULL,
    time_window VARCHAR := 'capture',
    from_ns BIGINT := NULL,
    to_ns BIGINT := NULL
) AS TABLE
WITH windows AS (
    SELECT run_id, window_name, window_start_ns, window_end_ns
    FROM v1._windows(time_window := time_window, from_ns := from_ns, to_ns := to_ns)
),
children AS (
    SELECT
        run_id, parent_id, count(*) AS child_count,
        CAST(sum(end_ns - start_ns) AS BIGINT) AS child_sum_ns
    FROM v1._annotation_ranges()
    WHERE kind = 'push_pop' AND parent_id IS NOT NULL
    GROUP BY run_id, parent_id
)
SELECT
    part.run_id, part.annotation_id, part.parent_id, part.pid, part.tid, part.depth,
    part.name, part.start_ns, part.end_ns, part.end_ns - part.start_ns AS dur_ns,
    coalesce(children.child_sum_ns, 0) AS child_sum_ns,
    part.end_ns - part.start_ns - coalesce(children.child_sum_ns, 0) AS self_ns,
    coalesce(children.child_count, 0) AS child_count,
    part.crossing AS is_crossing, part.is_unfinished,
    windows.window_name, windows.window_start_ns, windows.window_end_ns
FROM v1._annotation_ranges() AS part
JOIN windows
    ON part.run_id = windows.run_id
    AND part.start_ns >= windows.window_start_ns
    AND (
        part.start_ns < windows.window_end_ns
        OR part.start_ns = windows.window_end_ns AND windows.window_name <> 'range'
    )
LEFT JOIN children
    ON part.run_id = children.run_id AND part.annotation_id = children.parent_id
WHERE part.kind = 'push_pop' AND (max_depth IS NULL OR part.depth <= max_depth)
QUALIFY top IS NULL OR top >= row_number() OVER (
    PARTITION BY part.run_id
    ORDER BY part.pid, part.tid, part.start_ns, part.depth, part.annotation_id
)
ORDER BY
    part.run_id, part.pid, part.tid, part.start_ns, part.depth, part.annotation_id;
