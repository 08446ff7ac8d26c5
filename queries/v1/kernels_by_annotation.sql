-- @title Kernels under annotations
-- Which kernels ran under ranges of which name, at every level of nesting: a kernel is
-- under each range of the launching thread in which its launching call began, crossing
-- and start_end ranges too. Under ranges nested in a range of the same name a kernel
-- counts once and its time once; the nested_ columns count it once per range. Equals
-- nvtx_kern_sum of nsys stats, whose Kern Inst is kernel_count, and whose Total, Avg
-- and StdDev are the nested_ columns. Quantiles are exact, by linear interpolation,
-- each kernel once; standard deviations are the sample's, 0 for one. Kernels without a
-- known duration count and take no time. Ranges that start in the window count whole.
-- Graphs traced as a whole are no kernels. Names whose ranges hold the same calls are
-- worked out once, so that deep nesting costs little where the levels hold the same.
-- @param top BIGINT Rows per run, by sum_ns; NULL for all.
-- @param count_limit BIGINT annotation_count needs a row per distinct set of calls that
--     is a range's and call; with more than this many in a run it stays NULL.
-- @param time_window VARCHAR capture, gpu or steps.
-- @param from_ns BIGINT Start of a range, ns since the run's origin.
-- @param to_ns BIGINT End of a range, ns since the run's origin.
-- @column run_id id key The run.
-- @column kind text key push_pop or start_end.
-- @column annotation text key Domain and text of the range as "domain:text"; the text
--     alone where no domain is recorded.
-- @column pid id key Process.
-- @column tid id key Thread.
-- @column name text key Kernel.
-- @column short_name text neutral Name without template and argument types.
-- @column annotation_count count neutral Ranges of that name with that kernel in them;
--     NULL beyond count_limit.
-- @column kernel_count count neutral Executions, each once.
-- @column sum_ns ns lower Sum of their durations.
-- @column sum_pct pct neutral sum_ns over the sum of all kernels of the run under any
--     annotation of the window, each once; the rows of nested names add up to more.
-- @column mean_ns ns lower Duration: mean.
-- @column median_ns ns lower The same, median.
-- @column min_ns ns lower The same, shortest.
-- @column max_ns ns lower The same, longest.
-- @column stddev_ns ns lower The same, standard deviation.
-- @column nested_kernel_count count neutral Executions, once per range of the name.
-- @column nested_sum_ns ns neutral Sum of durations, once per range of the name.
-- @column nested_mean_ns ns neutral nested_sum_ns per execution and range.
-- @column nested_stddev_ns ns neutral Standard deviation of the durations, each once
--     per range of the name.
-- @column window_name text neutral capture, gpu, steps or range.
-- @column window_start_ns ns neutral Start of the window, ns since the run's origin.
-- @column window_end_ns ns neutral End of the window, ns since the run's origin.
-- @key run_id, kind, annotation, pid, tid, name
-- @requires annotation Annotate the program: nvtx.annotate or
--     torch.cuda.nvtx.range_push with nsys profile -t cuda,nvtx, or
--     torch.profiler.record_function.
-- @requires kernel Record GPU work: nsys profile -t cuda,nvtx, or a PyTorch profiler
--     with ProfilerActivity.CUDA.
-- @since 0.2
CREATE MACRO kernels_by_annotation(
    top BIGINT := NULL,
    count_limit BIGINT := 20000000,
    time_window VARCHAR := 'capture',
    from_ns BIGINT := NULL,
    to_ns BIGINT := NULL
) AS TABLE
WITH windows AS (
    SELECT run_id, window_name, window_start_ns, window_end_ns
    FROM v1._windows(time_window := time_window, from_ns := from_ns, to_ns := to_ns)
),
kernels AS MATERIALIZED (
    SELECT
        call.run_id, call.thread_hash, call.launch_no, hash(kernel.name) AS kernel_hash,
        CASE WHEN kernel.dur_ns >= 0 THEN kernel.dur_ns END AS dur_ns,
        lag(call.launch_no, 1, 0) OVER (
            PARTITION BY call.thread_hash, hash(kernel.name) ORDER BY call.launch_no
        ) AS earlier_no
    FROM kernel
    JOIN v1._launches() AS call
        ON kernel.run_id = call.run_id AND kernel.api_call_id = call.api_call_id
),
kernel_names AS (
    SELECT
        hash(name) AS kernel_hash, any_value(name) AS name,
        any_value(short_name) AS short_name,
        row_number() OVER (ORDER BY name) AS name_order
    FROM kernel
    GROUP BY name
),
held AS MATERIALIZED (
    SELECT
        launched.run_id, launched.thread_hash, launched.after_no, launched.upto_no,
        part.kind, part.name, part.pid, part.tid,
        hash(part.kind, part.name) AS name_hash
    FROM v1._annotation_launches() AS launched
    JOIN v1._annotation_ranges() AS part
        ON launched.run_id = part.run_id
        AND launched.annotation_id = part.annotation_id
    JOIN windows
        ON launched.run_id = windows.run_id
        AND launched.start_ns >= windows.window_start_ns
        AND (
            launched.start_ns < windows.window_end_ns
            OR launched.start_ns = windows.window_end_ns
            AND windows.window_name <> 'range'
        )
    WHERE launched.kernel_count > 0
),
spans AS (
    SELECT
        run_id, thread_hash, name_hash, after_no, upto_no, count(*) AS range_count,
        any_value(kind) AS kind, any_value(name) AS name, any_value(pid) AS pid,
        any_value(tid) AS tid
    FROM held
    GROUP BY run_id, thread_hash, name_hash, after_no, upto_no
),
-- Names whose ranges hold the same calls, as often, are one set.
names AS MATERIALIZED (
    SELECT
        run_id, thread_hash, name_hash, any_value(kind) AS kind,
        any_value(name) AS name, any_value(pid) AS pid, any_value(tid) AS tid,
        hash(thread_hash, count(*), sum(hash(after_no, upto_no, range_count)))
            AS set_hash,
        row_number() OVER (
            ORDER BY any_value(name), any_value(kind), any_value(pid), any_value(tid)
        ) AS name_order
    FROM spans
    GROUP BY run_id, thread_hash, name_hash
),
set_spans AS MATERIALIZED (
    SELECT
        spans.run_id, spans.thread_hash, names.set_hash, spans.after_no, spans.upto_no,
        spans.range_count
    FROM spans
    JOIN (
        SELECT thread_hash, set_hash, min(name_hash) AS name_hash
        FROM names
        GROUP BY thread_hash, set_hash
    ) AS names
        ON spans.thread_hash = names.thread_hash AND spans.name_hash = names.name_hash
),
crowded AS MATERIALIZED (
    SELECT DISTINCT thread_hash, set_hash
    FROM (
        SELECT
            thread_hash, set_hash,
            after_no < max(upto_no) OVER (
                PARTITION BY thread_hash, set_hash ORDER BY after_no
                ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
            ) AS is_overlapping
        FROM set_spans
    )
    WHERE is_overlapping
),
crowded_spans AS MATERIALIZED (
    SELECT
        set_spans.run_id, set_spans.thread_hash, set_spans.set_hash,
        set_spans.after_no, set_spans.upto_no, set_spans.range_count
    FROM set_spans
    SEMI JOIN crowded
        ON set_spans.thread_hash = crowded.thread_hash
        AND set_spans.set_hash = crowded.set_hash
),
-- Where ranges of a set share calls: between two neighbours of all borders of the set
-- lie as many ranges of it.
borders AS (
    SELECT thread_hash, set_hash, after_no AS border_no, range_count AS step
    FROM crowded_spans
    UNION ALL
    SELECT thread_hash, set_hash, upto_no, -range_count FROM crowded_spans
),
cells AS (
    SELECT
        thread_hash, set_hash, border_no AS after_no,
        lead(border_no) OVER borders_of_set AS upto_no,
        sum(sum(step)) OVER borders_of_set AS level_count
    FROM borders
    GROUP BY thread_hash, set_hash, border_no
    WINDOW borders_of_set AS (PARTITION BY thread_hash, set_hash ORDER BY border_no)
    UNION ALL
    SELECT
        set_spans.thread_hash, set_spans.set_hash, set_spans.after_no,
        set_spans.upto_no, set_spans.range_count
    FROM set_spans
    ANTI JOIN crowded
        ON set_spans.thread_hash = crowded.thread_hash
        AND set_spans.set_hash = crowded.set_hash
),
covered AS (
    SELECT
        thread_hash, set_hash, level_count, after_no,
        unnest(range(after_no + 1, upto_no + 1)) AS launch_no
    FROM cells
    WHERE level_count > 0
),
figures AS (
    SELECT
        covered.thread_hash, covered.set_hash, kernels.kernel_hash,
        count(*) AS kernel_count,
        sum(kernels.dur_ns) AS sum_ns,
        avg(kernels.dur_ns) AS mean_ns,
        median(kernels.dur_ns) AS median_ns,
        min(kernels.dur_ns) AS min_ns,
        max(kernels.dur_ns) AS max_ns,
        CASE WHEN count(kernels.dur_ns) = 1 THEN 0 ELSE stddev_samp(kernels.dur_ns) END
            AS stddev_ns,
        sum(covered.level_count) AS nested_kernel_count,
        sum(covered.level_count) FILTER (kernels.dur_ns IS NOT NULL) AS timed_count,
        sum(covered.level_count * kernels.dur_ns) AS nested_sum_ns,
        sum(covered.level_count * kernels.dur_ns::HUGEINT * kernels.dur_ns)
            AS nested_square_sum,
        -- A range has its first kernel of a name where the one before is not in it.
        CAST(sum(CASE
            WHEN kernels.earlier_no <= covered.after_no THEN covered.level_count
        END) AS BIGINT) AS annotation_count
    FROM covered
    JOIN kernels
        ON covered.thread_hash = kernels.thread_hash
        AND covered.launch_no = kernels.launch_no
    GROUP BY covered.thread_hash, covered.set_hash, kernels.kernel_hash
),
parts AS MATERIALIZED (
    SELECT DISTINCT run_id, thread_hash, after_no, upto_no FROM set_spans
),
limits AS MATERIALIZED (
    SELECT run_id, call_count <= count_limit AS is_counted
    FROM (
        SELECT run_id, sum(upto_no - after_no) AS call_count FROM parts GROUP BY run_id
    )
),
spelled AS (
    SELECT
        thread_hash, after_no, upto_no,
        unnest(range(after_no + 1, upto_no + 1)) AS launch_no
    FROM (
        SELECT DISTINCT run_id, thread_hash, after_no, upto_no FROM crowded_spans
    )
    WHERE run_id IN (SELECT limits.run_id FROM limits WHERE limits.is_counted)
),
part_kernels AS (
    SELECT
        spelled.thread_hash, spelled.after_no, spelled.upto_no, kernels.kernel_hash
    FROM spelled
    JOIN kernels
        ON spelled.thread_hash = kernels.thread_hash
        AND spelled.launch_no = kernels.launch_no
    GROUP BY ALL
),
counts AS (
    SELECT
        spans.thread_hash, spans.set_hash, part_kernels.kernel_hash,
        CAST(sum(spans.range_count) AS BIGINT) AS annotation_count
    FROM crowded_spans AS spans
    JOIN part_kernels
        ON spans.thread_hash = part_kernels.thread_hash
        AND spans.after_no = part_kernels.after_no
        AND spans.upto_no = part_kernels.upto_no
    GROUP BY spans.thread_hash, spans.set_hash, part_kernels.kernel_hash
),
whole AS (
    SELECT kernels.run_id, sum(kernels.dur_ns) AS whole_ns
    FROM (
        SELECT
            thread_hash,
            unnest(range(1 + greatest(after_no, earlier_upto_no), upto_no + 1))
                AS launch_no
        FROM (
            SELECT
                thread_hash, after_no, upto_no,
                max(upto_no) OVER (
                    PARTITION BY thread_hash ORDER BY after_no
                    ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
                ) AS earlier_upto_no
            FROM parts
        )
    ) AS annotated
    JOIN kernels
        ON annotated.thread_hash = kernels.thread_hash
        AND annotated.launch_no = kernels.launch_no
    GROUP BY kernels.run_id
),
-- What is known of each name and its run, before rows become many.
titles AS MATERIALIZED (
    SELECT
        names.run_id, names.thread_hash, names.set_hash, names.kind, names.name,
        names.pid, names.tid, names.name_order, limits.is_counted, whole.whole_ns,
        windows.window_name, windows.window_start_ns, windows.window_end_ns
    FROM names
    JOIN windows ON names.run_id = windows.run_id
    JOIN limits ON names.run_id = limits.run_id
    LEFT JOIN whole ON names.run_id = whole.run_id
)
SELECT
    titles.run_id, titles.kind, titles.name AS annotation, titles.pid, titles.tid,
    kernel_names.name, kernel_names.short_name,
    CASE
        WHEN titles.is_counted
            THEN coalesce(counts.annotation_count, figures.annotation_count)
    END AS annotation_count,
    figures.kernel_count,
    CAST(figures.sum_ns AS BIGINT) AS sum_ns,
    100.0 * figures.sum_ns / nullif(titles.whole_ns, 0) AS sum_pct,
    figures.mean_ns, figures.median_ns, figures.min_ns, figures.max_ns,
    figures.stddev_ns,
    CAST(figures.nested_kernel_count AS BIGINT) AS nested_kernel_count,
    CAST(figures.nested_sum_ns AS BIGINT) AS nested_sum_ns,
    figures.nested_sum_ns / figures.timed_count AS nested_mean_ns,
    CASE
        WHEN figures.timed_count = 1 THEN 0
        ELSE sqrt(
            (
                figures.nested_square_sum
                - figures.nested_sum_ns
                * (figures.nested_sum_ns // figures.timed_count)
                - figures.nested_sum_ns
                * (figures.nested_sum_ns % figures.timed_count) / figures.timed_count
            ) / (figures.timed_count - 1)
        )
    END AS nested_stddev_ns,
    titles.window_name, titles.window_start_ns, titles.window_end_ns
FROM titles
JOIN figures
    ON titles.thread_hash = figures.thread_hash AND titles.set_hash = figures.set_hash
JOIN kernel_names ON figures.kernel_hash = kernel_names.kernel_hash
LEFT JOIN counts
    ON figures.thread_hash = counts.thread_hash AND figures.set_hash = counts.set_hash
    AND figures.kernel_hash = counts.kernel_hash
QUALIFY top IS NULL OR top >= row_number() OVER (
    PARTITION BY titles.run_id
    ORDER BY
        figures.sum_ns DESC NULLS LAST, titles.name_order, kernel_names.name_order
)
ORDER BY
    titles.run_id, figures.sum_ns DESC NULLS LAST, titles.name_order,
    kernel_names.name_order;
