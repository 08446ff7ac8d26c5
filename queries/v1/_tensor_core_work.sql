-- @title Kernels, and whether they use tensor cores
-- One row per kernel name and operation (by name, type and input types) that launched
-- it. What the source itself says of a kernel, or of an operation, wins over the rules:
-- rules/kernel_tensor_core.csv by the kernel's name, where they do not know
-- rules/class_tensor_core.csv by its class; rules/op_tensor_core.csv by the operation's
-- name and type: no where they say nothing, unknown for a cluster of operations.
-- Operations of one name in a run have one answer. Whole graph launches are not in it.
-- @param time_window VARCHAR As in _windows.
-- @param from_ns BIGINT As in _windows.
-- @param to_ns BIGINT As in _windows.
-- @column run_id id key The run.
-- @column kernel_name text key Name of the kernel.
-- @column op_name text key The operation that launched it; NULL where that is unknown.
-- @column type_name text key Its type, else its name.
-- @column input_types json key Types of its inputs.
-- @column is_stated bool key The source says whether the kernel uses tensor cores.
-- @column uses_tc text key yes, no or unknown.
-- @column tc_eligible text neutral Whether the operation could: yes, no or unknown.
-- @column kernel_count count neutral Executions that lie at least partly in the window.
-- @column kernel_ns ns lower Sum of durations in the window.
-- @column window_name text neutral capture, gpu, steps or range.
-- @key run_id, kernel_name, op_name, type_name, input_types, is_stated, uses_tc
-- @since 0.2
CREATE MACRO _tensor_core_work(
    time_window VARCHAR := 'capture', from_ns BIGINT := NULL, to_ns BIGINT := NULL
) AS TABLE
WITH kernels AS (
    SELECT
        run_id, name, op_id, ts_ns, dur_ns,
        -- Text is searched first: most kernels' JSON says nothing of it.
        CASE
            WHEN contains(CAST(extra AS VARCHAR), '"uses_tc"')
                OR contains(CAST(extra AS VARCHAR), '"op_') THEN extra
        END AS extra
    FROM kernel
),
told AS (
    SELECT
        kernels.run_id, kernels.name, windows.window_name,
        json_extract_string(kernels.extra, '$.uses_tc') AS stated,
        CASE
            WHEN kernels.op_id IS NOT NULL THEN op.name
            ELSE json_extract_string(kernels.extra, '$.op_name')
        END AS op_name,
        CASE
            WHEN kernels.op_id IS NOT NULL THEN op.op_type
            ELSE json_extract_string(kernels.extra, '$.op_type')
        END AS op_type,
        op.input_types,
        least(
            kernels.ts_ns + greatest(coalesce(kernels.dur_ns, 0), 0),
            windows.window_end_ns
        ) - greatest(kernels.ts_ns, windows.window_start_ns) AS dur_ns
    FROM kernels
    JOIN v1._windows(
        time_window := time_window, from_ns := from_ns, to_ns := to_ns
    ) AS windows
        ON kernels.run_id = windows.run_id
        AND (
            kernels.ts_ns < windows.window_end_ns
            AND kernels.ts_ns + kernels.dur_ns > windows.window_start_ns
            OR coalesce(kernels.dur_ns <= 0, true)
            AND kernels.ts_ns BETWEEN windows.window_start_ns AND windows.window_end_ns
        )
    LEFT JOIN op ON kernels.run_id = op.run_id AND kernels.op_id = op.op_id
),
work AS (
    SELECT
        run_id, name, window_name, stated, coalesce(op_name, op_type) AS op_name,
        op_type, input_types, count(*) AS kernel_count,
        CAST(coalesce(sum(dur_ns), 0) AS BIGINT) AS kernel_ns
    FROM told
    GROUP BY ALL
),
stated_ops AS (
    SELECT
        run_id, coalesce(name, op_type) AS op_name,
        bool_or(json_extract_string(extra, '$.tc_eligible') = 'true') AS stated
    FROM op
    WHERE contains(CAST(extra AS VARCHAR), '"tc_eligible"')
    GROUP BY run_id, coalesce(name, op_type)
),
eligible AS (
    SELECT
        work.run_id, work.op_name,
        CASE
            WHEN any_value(stated_ops.stated) THEN 'yes'
            WHEN NOT any_value(stated_ops.stated) THEN 'no'
            WHEN bool_or(list_contains(work.rules, 'yes')) THEN 'yes'
            WHEN bool_or(list_contains(work.rules, 'cluster')) THEN 'unknown'
            ELSE 'no'
        END AS answer
    FROM (
        SELECT
            run_id, op_name,
            [v1.op_tensor_core(op_name), v1.op_tensor_core(op_type)] AS rules
        FROM work
    ) AS work
    LEFT JOIN stated_ops
        ON work.run_id = stated_ops.run_id AND work.op_name = stated_ops.op_name
    WHERE work.op_name IS NOT NULL
    GROUP BY work.run_id, work.op_name
),
judged AS (
    SELECT
        run_id, name, window_name, op_name, op_type, input_types, kernel_count,
        kernel_ns, stated IS NOT NULL AS is_stated,
        CASE stated WHEN 'true' THEN 'yes' WHEN 'false' THEN 'no' ELSE coalesce(
            nullif(v1.kernel_tensor_core(name), 'unknown'),
            v1.class_tensor_core(v1.kernel_class(name)), 'unknown'
        ) END AS uses_tc
    FROM work
)
SELECT
    judged.run_id, judged.name AS kernel_name, judged.op_name,
    coalesce(judged.op_type, judged.op_name) AS type_name, judged.input_types,
    judged.is_stated, judged.uses_tc,
    coalesce(eligible.answer, 'unknown') AS tc_eligible, judged.kernel_count,
    judged.kernel_ns, judged.window_name
FROM judged
LEFT JOIN eligible
    ON judged.run_id = eligible.run_id AND judged.op_name = eligible.op_name;
