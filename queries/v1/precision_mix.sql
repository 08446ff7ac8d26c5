-- @title Precision mix
-- Kernel time by the precision of the operands: what the kernel's name says, by the
-- rules of kernel_class_totals (rules/kernel_precision.csv); where that says nothing,
-- the types of the inputs of the operation that launched it
-- (rules/type_precision.csv), if all that have a known precision have the same one. An
-- operation that could use tensor cores may compute FP32 inputs as TF32: kernels of it
-- that are not known to do without stay unknown, which is a row like the others.
-- Accumulators are wider than operands; integers but int8 are unknown. Durations are
-- summed, clipped to the window: kernels at once count each.
-- @param group_by VARCHAR run, op_type or op.
-- @param time_window VARCHAR capture, gpu (first start to last end of the run's GPU
--     operations) or steps (first start to last end of its iterations).
-- @param from_ns BIGINT Start of a range instead, ns since the run's origin.
-- @param to_ns BIGINT End of that range.
-- @column run_id id key The run.
-- @column label text key Type of operation (name where it has none) or operation; NULL
--     for the run, and for kernels without a known operation.
-- @column precision text key fp64, fp32, tf32, fp16, bf16, fp8, fp4, int8 or unknown.
-- @column kernel_count count neutral Executions that lie at least partly in the window.
-- @column name_count count neutral Different names.
-- @column kernel_ns ns lower Sum of durations.
-- @column kernel_pct pct neutral kernel_ns, of the sum over the label's kernels.
-- @column by_op_ns ns neutral Of kernel_ns, what the operation's types tell.
-- @column tc_ns ns neutral Of kernel_ns, kernels known to use tensor cores.
-- @column top_name text neutral The kernel with most of the time.
-- @column window_name text neutral capture, gpu, steps or range.
-- @key run_id, label, precision
-- @chart bar x=kernel_ns y=precision
-- @requires kernel Record GPU work: nsys profile -t cuda,nvtx, or a PyTorch profiler
--     with ProfilerActivity.CUDA.
-- @since 0.2
CREATE MACRO precision_mix(
    group_by VARCHAR := 'run', time_window VARCHAR := 'capture',
    from_ns BIGINT := NULL, to_ns BIGINT := NULL
) AS TABLE
WITH work AS MATERIALIZED (
    SELECT
        run_id, kernel_name, op_name, type_name, input_types, uses_tc, tc_eligible,
        kernel_count, kernel_ns, window_name
    FROM v1._tensor_core_work(
        time_window := time_window, from_ns := from_ns, to_ns := to_ns
    )
),
types AS (
    SELECT input_types, min(precision) AS precision
    FROM (
        SELECT
            input_types,
            v1.type_precision(json_extract_string(input_type, '$')) AS precision
        FROM (
            SELECT
                input_types,
                unnest(json_extract(input_types, '$[*]')) AS input_type
            FROM (SELECT DISTINCT input_types FROM work)
        )
    )
    WHERE precision <> 'unknown'
    GROUP BY input_types
    HAVING min(precision) = max(precision)
),
told AS (
    SELECT
        work.run_id, work.kernel_name, work.uses_tc, work.kernel_count, work.kernel_ns,
        work.window_name,
        CASE group_by
            WHEN 'op_type' THEN work.type_name
            WHEN 'op' THEN work.op_name
            WHEN 'run' THEN NULL
            ELSE error('group_by must be run, op_type or op')
        END AS label,
        nullif(v1.kernel_precision(work.kernel_name), 'unknown') AS by_name,
        CASE
            WHEN types.precision <> 'fp32' OR work.uses_tc = 'no'
                OR work.tc_eligible = 'no' THEN types.precision
        END AS by_op
    FROM work
    LEFT JOIN types ON work.input_types = types.input_types
),
names AS (
    SELECT
        run_id, label, coalesce(by_name, by_op, 'unknown') AS precision, kernel_name,
        CAST(sum(kernel_count) AS BIGINT) AS kernel_count,
        CAST(sum(kernel_ns) AS BIGINT) AS kernel_ns,
        CAST(sum(
            CASE WHEN by_name IS NULL AND by_op IS NOT NULL THEN kernel_ns ELSE 0 END
        ) AS BIGINT) AS by_op_ns,
        CAST(sum(CASE WHEN uses_tc = 'yes' THEN kernel_ns ELSE 0 END) AS BIGINT)
            AS tc_ns,
        any_value(window_name) AS window_name
    FROM told
    GROUP BY run_id, label, coalesce(by_name, by_op, 'unknown'), kernel_name
)
SELECT
    run_id, label, precision, CAST(sum(kernel_count) AS BIGINT) AS kernel_count,
    count(*) AS name_count, CAST(sum(kernel_ns) AS BIGINT) AS kernel_ns,
    100.0 * sum(kernel_ns) / nullif(
        sum(sum(kernel_ns)) OVER (PARTITION BY run_id, label), 0
    ) AS kernel_pct,
    CAST(sum(by_op_ns) AS BIGINT) AS by_op_ns, CAST(sum(tc_ns) AS BIGINT) AS tc_ns,
    arg_min(kernel_name, {'minus_ns': -kernel_ns, 'name': kernel_name}) AS top_name,
    any_value(window_name) AS window_name
FROM names
GROUP BY run_id, label, precision
ORDER BY run_id, label, sum(kernel_ns) DESC, precision;
