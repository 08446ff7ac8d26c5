-- @title Annotations
-- Ranges that the user or a framework drew (NVTX, record_function, name scopes), by
-- name: how often and how long. Durations are summed, so time inside nested ranges
-- counts in every level. A range that the capture cut ends, as in nsys, at the last
-- time of any annotation of its run, and is counted in unfinished_count. Marks have no
-- time. Annotations that start in the window count whole. Equals nvtx_sum of nsys
-- stats; with only_kind push_pop nvtx_pushpop_sum, with start_end nvtx_startend_sum.
-- Quantiles are exact, by linear interpolation; the standard deviation is the sample's,
-- 0 for one.
-- @param only_kind VARCHAR push_pop, start_end or mark; NULL for all.
-- @param top BIGINT Rows per run, by total time; NULL for all.
-- @param time_window VARCHAR capture, gpu or steps.
-- @param from_ns BIGINT Start of a range, ns since the run's origin.
-- @param to_ns BIGINT End of a range, ns since the run's origin.
-- @column run_id id key The run.
-- @column kind text key push_pop, start_end or mark.
-- @column name text key Domain and text as "domain:text"; the text alone where no
--     domain is recorded.
-- @column annotation_count count neutral Ranges or marks.
-- @column unfinished_count count lower Ranges that the capture cut.
-- @column total_ns ns lower Sum of durations.
-- @column sum_pct pct neutral total_ns over the sum of all ranges of the chosen kinds
--     in the window.
-- @column mean_ns ns lower Mean duration.
-- @column median_ns ns lower Median duration.
-- @column min_ns ns lower Shortest.
-- @column max_ns ns lower Longest.
-- @column stddev_ns ns lower Standard deviation of the durations.
-- @column q1_ns ns lower First quartile of the durations.
-- @column q3_ns ns lower Third quartile of the durations.
-- @column window_name text neutral capture, gpu, steps or range.
-- @column window_start_ns ns neutral Start of the window, ns since the run's origin.
-- @column window_end_ns ns neutral End of the window, ns since the run's origin.
-- @key run_id, kind, name
-- @chart bar x=total_ns y=name
-- @requires annotation Annotate the program: nvtx.annotate or
--     torch.cuda.nvtx.range_push with nsys profile -t cuda,nvtx, or
--     torch.profiler.record_function.
-- @since 0.1
CREATE MACRO annotation_summary(
    only_kind VARCHAR := NULL,
    top BIGINT := NULL,
    time_window VARCHAR := 'capture',
    from_ns BIGINT := NULL,
    to_ns BIGINT := NULL
) AS TABLE
WITH windows AS (
    SELECT run_id, window_name, window_start_ns, window_end_ns
    FROM v1._windows(time_window := time_window, from_ns := from_ns, to_ns := to_ns)
),
last_times AS (
    SELECT run_id, max(ts_ns + coalesce(dur_ns, 0)) AS last_ns
    FROM annotation
    GROUP BY run_id
),
marked AS (
    SELECT
        annotation.run_id,
        annotation.kind,
        CASE
            WHEN annotation.domain IS NULL THEN annotation.name
            ELSE annotation.domain || ':' || coalesce(annotation.name, '')
        END AS name,
        annotation.kind <> 'mark' AND annotation.dur_ns IS NULL AS is_unfinished,
        CASE
            WHEN annotation.kind = 'mark' OR annotation.dur_ns < 0 THEN NULL
            ELSE coalesce(annotation.dur_ns, last_times.last_ns - annotation.ts_ns)
        END AS dur_ns
    FROM annotation
    INNER JOIN last_times ON annotation.run_id = last_times.run_id
    INNER JOIN windows
        ON annotation.run_id = windows.run_id
        AND annotation.ts_ns >= windows.window_start_ns
        AND (
            annotation.ts_ns < windows.window_end_ns
            OR annotation.ts_ns = windows.window_end_ns
            AND windows.window_name <> 'range'
        )
    WHERE CASE
        WHEN only_kind IS NULL THEN true
        WHEN only_kind IN ('push_pop', 'start_end', 'mark') THEN
            annotation.kind = only_kind
        ELSE error('only_kind must be push_pop, start_end or mark')
    END
),
totals AS (
    SELECT
        run_id, kind, name,
        count(*) AS annotation_count,
        count(*) FILTER (is_unfinished) AS unfinished_count,
        sum(dur_ns) AS total_ns,
        avg(dur_ns) AS mean_ns,
        quantile_cont(dur_ns, [0.25, 0.5, 0.75]) AS quartiles_ns,
        min(dur_ns) AS min_ns,
        max(dur_ns) AS max_ns,
        CASE WHEN count(dur_ns) = 1 THEN 0 ELSE stddev_samp(dur_ns) END AS stddev_ns
    FROM marked
    GROUP BY run_id, kind, name
)
SELECT
    totals.run_id,
    totals.kind,
    totals.name,
    totals.annotation_count,
    totals.unfinished_count,
    totals.total_ns::BIGINT AS total_ns,
    100.0 * totals.total_ns / nullif(
        sum(totals.total_ns) OVER (PARTITION BY totals.run_id), 0
    ) AS sum_pct,
    totals.mean_ns,
    totals.quartiles_ns[2] AS median_ns,
    totals.min_ns,
    totals.max_ns,
    totals.stddev_ns,
    totals.quartiles_ns[1] AS q1_ns,
    totals.quartiles_ns[3] AS q3_ns,
    windows.window_name,
    windows.window_start_ns,
    windows.window_end_ns
FROM totals
INNER JOIN windows ON totals.run_id = windows.run_id
QUALIFY top IS NULL OR top >= row_number() OVER (
    PARTITION BY totals.run_id
    ORDER BY totals.total_ns DESC NULLS LAST, totals.name, totals.kind
)
ORDER BY
    totals.run_id, totals.total_ns DESC NULLS LAST, totals.name, totals.kind;
