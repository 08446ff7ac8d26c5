-- @title One figure over runs
-- One figure of run_summary for each run, in the order in which the runs were recorded
-- (imported, where a trace does not say when it was), with its change since the run
-- before and since the first. A run that lacks the figure has a row without a value;
-- the run before is the last one that has it.
-- @param metric VARCHAR Column of run_summary: median_iteration_ns, iteration_count,
--     gpu_busy_pct, compute_pct, exposed_communication_pct, exposed_copy_pct, idle_pct,
--     kernel_count, kernel_sum_ns, kernel_busy_ns, gpu_busy_ns, memcpy_count,
--     h2d_bytes, d2h_bytes, warning_count or data_loss_count.
-- @param time_window VARCHAR capture, gpu (first start to last end of the run's GPU
--     operations) or steps (first start to last end of its iterations).
-- @column run_id id key The run.
-- @column ordinal id neutral Place in the order, from 0.
-- @column label text neutral The user's name for the run.
-- @column recorded_at timestamp neutral When the recording began, UTC; NULL where the
--     trace does not say it.
-- @column ingested_at timestamp neutral When it was imported, UTC.
-- @column metric text neutral The figure.
-- @column value value neutral Its value, in the unit that its name ends in.
-- @column change_pct pct neutral Change since the run before, of that one's value.
-- @column change_from_first_pct pct neutral Change since the first run that has the
--     figure, of that one's value.
-- @column window_name text neutral capture, gpu or steps.
-- @key run_id
-- @chart line x=ordinal y=value
-- @requires run Import several runs and choose them: --run all.
-- @since 0.2
CREATE MACRO run_history(
    metric VARCHAR := 'median_iteration_ns', time_window VARCHAR := 'capture'
) AS TABLE
WITH figures AS (
    SELECT
        summary.run_id, summary.label, summary.window_name,
        run.origin_unix_ns + coalesce(run.first_ts_ns, 0) AS recorded_unix_ns,
        run.ingested_at,
        CAST(CASE metric
            WHEN 'median_iteration_ns' THEN summary.median_iteration_ns
            WHEN 'iteration_count' THEN summary.iteration_count
            WHEN 'gpu_busy_pct' THEN summary.gpu_busy_pct
            WHEN 'compute_pct' THEN summary.compute_pct
            WHEN 'exposed_communication_pct' THEN summary.exposed_communication_pct
            WHEN 'exposed_copy_pct' THEN summary.exposed_copy_pct
            WHEN 'idle_pct' THEN summary.idle_pct
            WHEN 'kernel_count' THEN summary.kernel_count
            WHEN 'kernel_sum_ns' THEN summary.kernel_sum_ns
            WHEN 'kernel_busy_ns' THEN summary.kernel_busy_ns
            WHEN 'gpu_busy_ns' THEN summary.gpu_busy_ns
            WHEN 'memcpy_count' THEN summary.memcpy_count
            WHEN 'h2d_bytes' THEN summary.h2d_bytes
            WHEN 'd2h_bytes' THEN summary.d2h_bytes
            WHEN 'warning_count' THEN summary.warning_count
            WHEN 'data_loss_count' THEN summary.data_loss_count
            ELSE error('metric must be a figure that run_history names')
        END AS DOUBLE) AS value
    FROM v1.run_summary(time_window := time_window) AS summary
    JOIN run ON summary.run_id = run.run_id
),
ordered AS (
    SELECT
        run_id, label, window_name, recorded_unix_ns, ingested_at, value,
        row_number() OVER in_order - 1 AS ordinal,
        last_value(value IGNORE NULLS) OVER (
            in_order ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS previous_value,
        first_value(value IGNORE NULLS) OVER (
            in_order ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING
        ) AS first_value
    FROM figures
    WINDOW in_order AS (
        ORDER BY coalesce(recorded_unix_ns, epoch_ns(ingested_at)), ingested_at, run_id
    )
)
SELECT
    run_id, ordinal, label, make_timestamp_ns(recorded_unix_ns) AS recorded_at,
    ingested_at, CAST(metric AS VARCHAR) AS metric, value,
    100.0 * (value - previous_value) / nullif(abs(previous_value), 0) AS change_pct,
    100.0 * (value - first_value) / nullif(abs(first_value), 0)
        AS change_from_first_pct,
    window_name
FROM ordered
ORDER BY ordinal;
