-- @title Annotations projected onto the GPU, by name
-- The rows of annotation_gpu_trace added up by name: how long the work that ranges of
-- one name launched took on the GPU. A projection is a span, from the first start to
-- the last end of a range's operations; busy_ns is what of it those operations filled.
-- Sums over ranges: under ranges nested in one of the same name, and in overlapping
-- spans, time counts once per range. Equals nvtx_gpu_proj_sum of nsys stats, with busy
-- time beside the span. Standard deviations are the sample's, 0 for one. Ranges that
-- start in the window count whole.
-- @param busy_limit BIGINT As in annotation_gpu_trace.
-- @param top BIGINT Rows per run, by the total projection; NULL for all.
-- @param time_window VARCHAR capture, gpu or steps.
-- @param from_ns BIGINT Start of a range, ns since the run's origin.
-- @param to_ns BIGINT End of a range, ns since the run's origin.
-- @column run_id id key The run.
-- @column kind text key push_pop or start_end.
-- @column name text key Domain and text as "domain:text"; the text alone where no
--     domain is recorded.
-- @column annotation_count count neutral Ranges that launched GPU work.
-- @column gpu_span_ns ns lower Sum of the projections.
-- @column busy_ns ns lower Sum of the unions of each range's operations; NULL where one
--     is unknown.
-- @column busy_pct pct higher busy_ns over gpu_span_ns.
-- @column dur_ns ns lower Sum of the times on the host.
-- @column mean_span_ns ns lower Projection of a range: mean.
-- @column median_span_ns ns lower The same, median.
-- @column min_span_ns ns lower The same, shortest.
-- @column max_span_ns ns lower The same, longest.
-- @column stddev_span_ns ns lower The same, standard deviation.
-- @column launch_count count neutral Launching calls, once per range.
-- @column mean_launch_count count neutral Launching calls of a range, mean.
-- @column gpu_op_count count neutral Operations, once per range.
-- @column kernel_sum_ns ns lower Sum of kernel durations, once per range.
-- @column copy_sum_ns ns lower Sum of the durations of copies and fills, once per
--     range.
-- @column mean_depth value neutral Enclosing ranges of a range, mean.
-- @column mean_child_count count neutral Ranges directly in a range that launched GPU
--     work too, mean.
-- @column window_name text neutral capture, gpu, steps or range.
-- @column window_start_ns ns neutral Start of the window, ns since the run's origin.
-- @column window_end_ns ns neutral End of the window, ns since the run's origin.
-- @key run_id, kind, name
-- @chart bar x=gpu_span_ns y=name
-- @requires annotation Annotate the program: nvtx.annotate or
--     torch.cuda.nvtx.range_push with nsys profile -t cuda,nvtx, or
--     torch.profiler.record_function.
-- @requires kernel|memcpy|memset|graph_launch Record GPU activity: nsys profile -t
--     cuda,nvtx
-- @since 0.2
CREATE MACRO annotation_gpu_projection(
    busy_limit BIGINT := 20000000,
    top BIGINT := NULL,
    time_window VARCHAR := 'capture',
    from_ns BIGINT := NULL,
    to_ns BIGINT := NULL
) AS TABLE
WITH totals AS (
    SELECT
        run_id, kind, name,
        count(*) AS annotation_count,
        CAST(sum(gpu_span_ns) AS BIGINT) AS total_span_ns,
        CASE WHEN count(busy_ns) = count(*) THEN CAST(sum(busy_ns) AS BIGINT) END
            AS total_busy_ns,
        CAST(sum(dur_ns) AS BIGINT) AS total_dur_ns,
        avg(gpu_span_ns) AS mean_span_ns,
        median(gpu_span_ns) AS median_span_ns,
        min(gpu_span_ns) AS min_span_ns,
        max(gpu_span_ns) AS max_span_ns,
        CASE WHEN count(*) = 1 THEN 0 ELSE stddev_samp(gpu_span_ns) END
            AS stddev_span_ns,
        CAST(sum(launch_count) AS BIGINT) AS total_launch_count,
        avg(launch_count) AS mean_launch_count,
        CAST(sum(gpu_op_count) AS BIGINT) AS total_op_count,
        CAST(sum(kernel_sum_ns) AS BIGINT) AS total_kernel_ns,
        CAST(sum(copy_sum_ns) AS BIGINT) AS total_copy_ns,
        avg(depth) AS mean_depth,
        avg(child_count) AS mean_child_count,
        any_value(window_name) AS window_name,
        any_value(window_start_ns) AS window_start_ns,
        any_value(window_end_ns) AS window_end_ns
    FROM v1.annotation_gpu_trace(
        busy_limit := busy_limit, time_window := time_window, from_ns := from_ns,
        to_ns := to_ns
    )
    GROUP BY run_id, kind, name
)
SELECT
    totals.run_id, totals.kind, totals.name, totals.annotation_count,
    totals.total_span_ns AS gpu_span_ns, totals.total_busy_ns AS busy_ns,
    100.0 * totals.total_busy_ns / nullif(totals.total_span_ns, 0) AS busy_pct,
    totals.total_dur_ns AS dur_ns,
    totals.mean_span_ns, totals.median_span_ns, totals.min_span_ns, totals.max_span_ns,
    totals.stddev_span_ns,
    totals.total_launch_count AS launch_count, totals.mean_launch_count,
    totals.total_op_count AS gpu_op_count,
    totals.total_kernel_ns AS kernel_sum_ns, totals.total_copy_ns AS copy_sum_ns,
    totals.mean_depth, totals.mean_child_count,
    totals.window_name, totals.window_start_ns, totals.window_end_ns
FROM totals
QUALIFY top IS NULL OR top >= row_number() OVER (
    PARTITION BY totals.run_id
    ORDER BY totals.total_span_ns DESC, totals.name, totals.kind
)
ORDER BY totals.run_id, totals.total_span_ns DESC, totals.name, totals.kind;
