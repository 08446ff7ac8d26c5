-- @title Kernel time by class and precision
-- Kernels by what they do and in which precision, as far as their names say: the rules
-- are data (rules/kernel_class.csv, rules/kernel_precision.csv: patterns, tried in
-- order, each with its source). What no rule knows is unknown, a row like the others,
-- and its share stands beside every row. The precision is that of the operands:
-- accumulators are wider; integers but int8 are unknown. Durations are summed, clipped
-- to the window, so that kernels at once count each. Whole graph launches are in no
-- class: what they hold is not traced.
-- @param group_by VARCHAR class_precision, class or precision, with NULL for the other.
-- @param time_window VARCHAR capture, gpu (first start to last end of the run's GPU
--     operations) or steps (first start to last end of its iterations).
-- @param from_ns BIGINT Start of a range instead, ns since the run's origin.
-- @param to_ns BIGINT End of that range.
-- @column run_id id key The run.
-- @column device_id id key Device.
-- @column class text key communication, attention, convolution, gemm, recurrent,
--     normalisation, softmax, loss, pooling, optimizer, reduction, sort, scan,
--     indexing, random, layout, quantisation, solver, elementwise or unknown.
-- @column precision text key fp64, fp32, tf32, fp16, bf16, fp8, fp4, int8 or unknown.
-- @column kernel_count count neutral Executions that lie at least partly in the window.
-- @column name_count count neutral Different names.
-- @column total_ns ns lower Sum of durations in the window.
-- @column sum_pct pct neutral total_ns, of the sum over the device's kernels.
-- @column mean_ns ns neutral total_ns over kernel_count.
-- @column unknown_class_pct pct lower Kernels of unknown class, of the same sum.
-- @column unknown_precision_pct pct lower Kernels of unknown precision, of that sum.
-- @column top_name text neutral The kernel with most of the time.
-- @column window_name text neutral capture, gpu, steps or range.
-- @key run_id, device_id, class, precision
-- @chart bar x=total_ns y=class
-- @requires kernel Record GPU work: nsys profile -t cuda,nvtx, or a PyTorch profiler
--     with ProfilerActivity.CUDA.
-- @since 0.2
CREATE MACRO kernel_class_totals(
    group_by VARCHAR := 'class_precision',
    time_window VARCHAR := 'capture', from_ns BIGINT := NULL, to_ns BIGINT := NULL
) AS TABLE
WITH named AS (
    SELECT
        kernel.run_id, kernel.device_id, kernel.name, windows.window_name,
        count(*) AS kernel_count,
        coalesce(sum(
            least(
                kernel.ts_ns + greatest(coalesce(kernel.dur_ns, 0), 0),
                windows.window_end_ns
            ) - greatest(kernel.ts_ns, windows.window_start_ns)
        ), 0) AS total_ns
    FROM kernel
    JOIN v1._windows(
        time_window := time_window, from_ns := from_ns, to_ns := to_ns
    ) AS windows
        ON kernel.run_id = windows.run_id
        AND (
            kernel.ts_ns < windows.window_end_ns
            AND kernel.ts_ns + kernel.dur_ns > windows.window_start_ns
            OR coalesce(kernel.dur_ns <= 0, true)
            AND kernel.ts_ns BETWEEN windows.window_start_ns AND windows.window_end_ns
        )
    GROUP BY kernel.run_id, kernel.device_id, kernel.name, windows.window_name
),
known AS (
    SELECT
        run_id, device_id, name, window_name, kernel_count, total_ns,
        coalesce(v1.kernel_class(name), 'unknown') AS class,
        coalesce(v1.kernel_precision(name), 'unknown') AS precision
    FROM named
),
told AS (
    SELECT
        run_id, device_id, name, window_name, kernel_count, total_ns,
        CASE
            WHEN group_by IN ('class_precision', 'class') THEN class
            WHEN group_by <> 'precision'
                THEN error('group_by must be class_precision, class or precision')
        END AS class,
        CASE WHEN group_by IN ('class_precision', 'precision') THEN precision END
            AS precision,
        sum(total_ns) OVER on_device AS device_ns,
        sum(CASE WHEN class = 'unknown' THEN total_ns ELSE 0 END) OVER on_device
            AS unknown_class_ns,
        sum(CASE WHEN precision = 'unknown' THEN total_ns ELSE 0 END) OVER on_device
            AS unknown_precision_ns
    FROM known
    WINDOW on_device AS (PARTITION BY run_id, device_id)
)
SELECT
    run_id, device_id, class, precision,
    CAST(sum(kernel_count) AS BIGINT) AS kernel_count, count(*) AS name_count,
    CAST(sum(total_ns) AS BIGINT) AS total_ns,
    100.0 * sum(total_ns) / nullif(any_value(device_ns), 0) AS sum_pct,
    CAST(sum(total_ns) / sum(kernel_count) AS DOUBLE) AS mean_ns,
    100.0 * any_value(unknown_class_ns) / nullif(any_value(device_ns), 0)
        AS unknown_class_pct,
    100.0 * any_value(unknown_precision_ns) / nullif(any_value(device_ns), 0)
        AS unknown_precision_pct,
    arg_min(name, {'minus_ns': -total_ns, 'name': name}) AS top_name,
    any_value(window_name) AS window_name
FROM told
GROUP BY run_id, device_id, class, precision
ORDER BY run_id, device_id, sum(total_ns) DESC, class, precision;
