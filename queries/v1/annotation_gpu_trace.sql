-- @title Annotation ranges projected onto the GPU
-- One row per range in which its thread launched GPU work: from the first start to the
-- last end of the operations launched in it, of kernels, copies, fills and whole graph
-- launches, on any device. That span holds gaps and other work; busy_ns is the time in
-- which the range's own operations ran. Nested ranges count in every level. Work is the
-- range's if its call began from the range's start to before its end on the same
-- thread, so that crossing and start_end ranges have theirs too; ranges that end on
-- another thread launch nothing here. Equals nvtx_gpu_proj_trace of nsys stats, which
-- leaves out graphs traced as a whole. Ranges that start in the window count whole.
-- @param busy_limit BIGINT busy_ns of ranges whose operations overlap needs a row per
--     range and call; with more than this many in a run it stays NULL for these.
-- @param top BIGINT Rows per run, longest projection first; NULL for all.
-- @param time_window VARCHAR capture, gpu or steps.
-- @param from_ns BIGINT Start of a range, ns since the run's origin.
-- @param to_ns BIGINT End of a range, ns since the run's origin.
-- @column run_id id key The run.
-- @column annotation_id id key The range.
-- @column parent_id id neutral The tightest enclosing range.
-- @column kind text neutral push_pop or start_end.
-- @column name text neutral Domain and text as "domain:text"; the text alone where no
--     domain is recorded.
-- @column pid id neutral Process.
-- @column tid id neutral Thread.
-- @column depth value neutral Enclosing ranges; NULL for start_end.
-- @column child_count count neutral Ranges directly in it that launched GPU work too.
-- @column start_ns ns neutral Start on the host, ns since the run's origin.
-- @column dur_ns ns lower Time on the host.
-- @column gpu_start_ns ns neutral First start on a device, ns since the run's origin.
-- @column gpu_span_ns ns lower From there to the last end on a device.
-- @column busy_ns ns lower Union of its operations' time, over all devices; NULL beyond
--     busy_limit.
-- @column busy_pct pct higher busy_ns over gpu_span_ns.
-- @column launch_count count neutral Calls that launched: distinct correlation ids.
-- @column gpu_op_count count neutral Operations; one graph launch may have many.
-- @column kernel_count count neutral Kernels and whole graph launches among them.
-- @column kernel_sum_ns ns lower Sum of their durations.
-- @column copy_sum_ns ns lower Sum of the durations of copies and fills.
-- @column window_name text neutral capture, gpu, steps or range.
-- @column window_start_ns ns neutral Start of the window, ns since the run's origin.
-- @column window_end_ns ns neutral End of the window, ns since the run's origin.
-- @key run_id, annotation_id
-- @requires annotation Annotate the program: nvtx.annotate or
--     torch.cuda.nvtx.range_push with nsys profile -t cuda,nvtx, or
--     torch.profiler.record_function.
-- @requires kernel|memcpy|memset|graph_launch Record GPU activity: nsys profile -t
--     cuda,nvtx
-- @since 0.2
CREATE MACRO annotation_gpu_trace(
    busy_limit BIGINT := 20000000,
    top BIGINT := NULL,
    time_window VARCHAR := 'capture',
    from_ns BIGINT := NULL,
    to_ns BIGINT := NULL
) AS TABLE
WITH windows AS (
    SELECT run_id, window_name, window_start_ns, window_end_ns
    FROM v1._windows(time_window := time_window, from_ns := from_ns, to_ns := to_ns)
),
projected AS MATERIALIZED (
    SELECT
        part.run_id, part.annotation_id, part.parent_id, part.kind, part.name,
        part.pid, part.tid, part.depth, part.start_ns,
        part.end_ns - part.start_ns AS dur_ns,
        seen.first_start_ns, seen.last_end_ns, seen.busy_ns, seen.launch_count,
        seen.gpu_op_count, seen.kernel_count, seen.kernel_sum_ns, seen.copy_sum_ns
    FROM v1._annotation_projection(busy_limit := busy_limit) AS seen
    JOIN v1._annotation_ranges() AS part
        ON seen.run_id = part.run_id AND seen.annotation_id = part.annotation_id
),
children AS (
    SELECT run_id, parent_id, count(*) AS child_count
    FROM projected
    WHERE parent_id IS NOT NULL
    GROUP BY run_id, parent_id
)
SELECT
    projected.run_id, projected.annotation_id, projected.parent_id, projected.kind,
    projected.name, projected.pid, projected.tid, projected.depth,
    coalesce(children.child_count, 0) AS child_count,
    projected.start_ns, projected.dur_ns,
    projected.first_start_ns AS gpu_start_ns,
    projected.last_end_ns - projected.first_start_ns AS gpu_span_ns,
    projected.busy_ns,
    100.0 * projected.busy_ns
        / nullif(projected.last_end_ns - projected.first_start_ns, 0) AS busy_pct,
    projected.launch_count, projected.gpu_op_count, projected.kernel_count,
    projected.kernel_sum_ns, projected.copy_sum_ns,
    windows.window_name, windows.window_start_ns, windows.window_end_ns
FROM projected
JOIN windows
    ON projected.run_id = windows.run_id
    AND projected.start_ns >= windows.window_start_ns
    AND (
        projected.start_ns < windows.window_end_ns
        OR projected.start_ns = windows.window_end_ns
        AND windows.window_name <> 'range'
    )
LEFT JOIN children
    ON projected.run_id = children.run_id
    AND projected.annotation_id = children.parent_id
QUALIFY top IS NULL OR top >= row_number() OVER (
    PARTITION BY projected.run_id
    ORDER BY
        projected.last_end_ns - projected.first_start_ns DESC, projected.start_ns,
        projected.annotation_id
)
ORDER BY projected.run_id, projected.start_ns, projected.annotation_id;
