-- @title What operations compute and how fast
-- Floating-point operations and bytes of framework operations by PyProf's formulas,
-- from the shapes and types of their inputs, against the GPU time of what they
-- launched: algorithmic figures, not measured ones. A product of matrices is 2MNK
-- operations and the bytes of its three matrices; a convolution 2NKPQCRS by group and
-- its input, weights and output, and so is each gradient of its backward pass; a
-- transposed one takes the places of its input for those of its output. Elementwise
-- ones are 1, 20 (exp, tanh, pow, ...) or 3 (addcmul, addcdiv, lerp) an element;
-- softmax 40, log_softmax 21, dropout 5, batch_norm 8, layer_norm 4 or with weights 5
-- (fvcore's), mse_loss 2 and 1; attention its two products of matrices, a mask or not
-- (PyTorch's flop_counter); embedding, copies and PyProf's adam none. Where PyProf is
-- known to be wrong, this is not: the bytes of linear count each of its matrices by
-- the size of its type (PyProf only the last); elementwise operations of two tensors
-- count the elements of the result and both inputs' bytes (PyProf takes both inputs'
-- elements for both); mse_loss counts its elements (PyProf what it moves). A bias that
-- linear or a convolution adds is not counted. An operation without a formula, or
-- whose arguments do not say enough, has NULL: so have normal backward operations, but
-- the products that they call have their own rows; DLProf's backward ones, which do
-- not say how many gradients they made; and the bytes of attention's backward pass and
-- of attention that brings its own weights, which hang on what is kept between its
-- steps. What a counted operation calls is in its row (linear's addmm is); all others
-- launched GPU work themselves. Rows add up to the GPU time of operations once. Of
-- PyProf's .dict, which has kernels and no calls, each kernel counts as one, as PyProf
-- has it, but for products and convolutions their first, and of their backward pass
-- each of its first two, with the arguments of the forward one; other backward
-- operations have NULL there. The rows of PyProf's own CSV have what PyProf computed,
-- with its faults.
-- @param top BIGINT Rows per run, by GPU time; NULL for all.
-- @column run_id id key The run.
-- @column label text key Operation.
-- @column direction text key forward or backward; NULL where unknown.
-- @column input_shapes text key Shapes of the inputs.
-- @column input_types text key Types of the inputs.
-- @column concrete_inputs text key Values of scalar inputs: strides, padding, axes.
-- @column call_count count neutral Calls; NULL for what has no formula in a .dict; of
--     PyProf's CSV kernels.
-- @column flops value neutral Floating-point operations of all calls; NULL where
--     unknown.
-- @column work_bytes bytes neutral Bytes that all calls read and write; NULL where
--     unknown.
-- @column source_flops value neutral Floating-point operations of the same calls as the
--     source itself computed them: torch.profiler with_flops=True, a TensorFlow or JAX
--     profile, PyProf's CSV (0 also where PyProf knows no formula); NULL where it does
--     not say it of each.
-- @column source_bytes bytes neutral Bytes likewise.
-- @column gpu_sum_ns ns lower Sum of the durations of what they launched.
-- @column tflops_per_s per_s higher 10^12 floating-point operations (flops, where that
--     is NULL source_flops) a second of GPU time; NULL at no GPU time.
-- @column gb_per_s gb_per_s higher 10^9 bytes (work_bytes, where that is NULL
--     source_bytes) a second of GPU time; NULL at none.
-- @column flops_per_byte value neutral Arithmetic intensity, flops by work_bytes.
-- @column bandwidth_pct pct higher gb_per_s of the device's peak memory bandwidth: more
--     than 100 where caches serve; NULL where the peak is not known, or devices of the
--     run differ.
-- @column is_known bool neutral Whether there is a formula.
-- @key run_id, label, direction, input_shapes, input_types, concrete_inputs
-- @chart bar x=gpu_sum_ns y=label
-- @requires op|report_row Record framework operations with their shapes: torch.profiler
--     with record_shapes=True, or PyProf's NVTX ranges.
-- @since 0.2
CREATE MACRO op_cost(top BIGINT := NULL) AS TABLE
WITH formulas AS MATERIALIZED (
    SELECT * FROM v1._op_formulas()
),
placed AS MATERIALIZED (
    SELECT
        op.run_id, coalesce(op.op_type, op.name) AS label,
        CASE op.is_backward WHEN true THEN 'backward' WHEN false THEN 'forward' END
            AS direction,
        CAST(op.input_shapes AS VARCHAR) AS input_shapes,
        CAST(op.input_types AS VARCHAR) AS input_types,
        CAST(op.concrete_inputs AS VARCHAR) AS concrete_inputs,
        costs.thread_hash, costs.place, costs.end_place, costs.device_ns,
        costs.device_self_ns, costs.gpu_op_count, formulas.flops, formulas.work_bytes,
        op.flops AS source_flops
    FROM v1._op_costs() AS costs
    JOIN op ON costs.run_id = op.run_id AND costs.op_id = op.op_id
    LEFT JOIN formulas
        ON op.run_id = formulas.run_id AND coalesce(op.op_type, op.name) = formulas.name
        AND CAST(op.input_shapes AS VARCHAR) = formulas.input_shapes
        AND CAST(op.input_types AS VARCHAR) = formulas.input_types
        AND CAST(op.concrete_inputs AS VARCHAR)
            IS NOT DISTINCT FROM formulas.concrete_inputs
        AND v1._op_given(op.extra) IS NOT DISTINCT FROM formulas.given
        -- DLProf's: how many gradients it made, nobody knows.
        AND NOT (
            op.is_backward IS true
            AND coalesce(
                contains(CAST(op.extra AS VARCHAR), '"direction":"bprop"'), false
            )
        )
    WHERE costs.nested_count > 0 OR costs.gpu_op_count > 0 OR costs.device_ns > 0
),
-- What lies within an operation that has a formula is that one's.
counted AS (
    SELECT *
    FROM placed
    QUALIFY coalesce(
        end_place > max(CASE WHEN flops IS NOT NULL THEN end_place END) OVER (
            PARTITION BY run_id, thread_hash ORDER BY place
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ), true
    )
),
calls AS (
    SELECT
        run_id, label, direction, input_shapes, input_types, concrete_inputs,
        count(*) AS call_count,
        CASE WHEN count(flops) = count(*) THEN CAST(sum(flops) AS BIGINT) END AS flops,
        CASE WHEN count(work_bytes) = count(*) THEN CAST(sum(work_bytes) AS BIGINT) END
            AS work_bytes,
        CASE WHEN count(source_flops) = count(*)
            THEN CAST(sum(source_flops) AS BIGINT) END AS source_flops,
        CAST(NULL AS BIGINT) AS source_bytes,
        CAST(sum(CASE WHEN flops IS NULL THEN device_self_ns ELSE device_ns END)
            AS BIGINT) AS gpu_sum_ns
    FROM counted
    WHERE flops IS NOT NULL OR gpu_op_count > 0 OR device_self_ns > 0
    GROUP BY ALL
    UNION ALL
    SELECT
        run_id, op_name, direction, input_shapes, input_types, concrete_inputs,
        CASE WHEN count(flops) = count(*) THEN CAST(sum(call_count) AS BIGINT) END,
        CASE WHEN count(flops) = count(*) THEN CAST(sum(call_count * flops) AS BIGINT)
            END,
        CASE WHEN count(work_bytes) = count(*)
            THEN CAST(sum(call_count * work_bytes) AS BIGINT) END,
        NULL, NULL, CAST(sum(gpu_sum_ns) AS BIGINT)
    FROM (
        SELECT
            marked.run_id, marked.op_name,
            MAP {'fprop': 'forward', 'bprop': 'backward'}[marked.direction]
                AS direction,
            marked.input_shapes, marked.input_types, marked.concrete_inputs,
            marked.call_count, formulas.flops, formulas.work_bytes, marked.gpu_sum_ns
        FROM (
            SELECT
                run_id, op_name, is_marked, is_product, direction, input_shapes,
                input_types, concrete_inputs, given,
                nullif(count_if(is_call), 0) AS call_count,
                CAST(sum(gpu_time_ns) AS BIGINT) AS gpu_sum_ns
            FROM v1._pyprof_markers()
            GROUP BY ALL
        ) AS marked
        LEFT JOIN formulas
            ON marked.run_id = formulas.run_id
            AND (marked.direction = 'fprop' OR marked.is_product)
            AND marked.is_marked AND marked.call_count IS NOT NULL
            AND marked.op_name = formulas.name
            -- Its kernels do not say which of them are of one call.
            AND marked.op_name <> 'multi_head_attention_forward'
            AND marked.input_shapes = formulas.input_shapes
            AND marked.input_types = formulas.input_types
            AND marked.concrete_inputs = formulas.concrete_inputs
            AND marked.given IS NOT DISTINCT FROM formulas.given
    )
    GROUP BY ALL
    UNION ALL
    SELECT
        run_id, op_name,
        MAP {'fprop': 'forward', 'bprop': 'backward'}[direction],
        NULL, NULL, fields->>'$.Params', count(*), NULL, NULL,
        CASE WHEN count(TRY_CAST(fields->>'$.FLOPs' AS DOUBLE)) = count(*)
            THEN CAST(sum(TRY_CAST(fields->>'$.FLOPs' AS DOUBLE)) AS BIGINT) END,
        CASE WHEN count(TRY_CAST(fields->>'$.Bytes' AS DOUBLE)) = count(*)
            THEN CAST(sum(TRY_CAST(fields->>'$.Bytes' AS DOUBLE)) AS BIGINT) END,
        CAST(sum(gpu_time_ns) AS BIGINT)
    FROM report_row
    WHERE report = 'pyprof_prof'
    GROUP BY ALL
),
peaks AS (
    SELECT
        run_id, CASE WHEN count(DISTINCT memory_bandwidth_bytes_per_s) = 1
            AND count(*) = count(memory_bandwidth_bytes_per_s)
            THEN min(memory_bandwidth_bytes_per_s) END AS bandwidth
    FROM device
    WHERE kind = 'gpu'
    GROUP BY run_id
)
SELECT
    calls.run_id, calls.label, calls.direction, calls.input_shapes, calls.input_types,
    calls.concrete_inputs, CAST(calls.call_count AS BIGINT) AS call_count,
    CAST(calls.flops AS BIGINT) AS flops,
    CAST(calls.work_bytes AS BIGINT) AS work_bytes, calls.source_flops,
    calls.source_bytes, calls.gpu_sum_ns,
    coalesce(calls.flops, calls.source_flops) / nullif(calls.gpu_sum_ns, 0) / 1e3
        AS tflops_per_s,
    coalesce(calls.work_bytes, calls.source_bytes) / nullif(calls.gpu_sum_ns, 0)
        AS gb_per_s,
    calls.flops / nullif(calls.work_bytes, 0) AS flops_per_byte,
    100.0 * coalesce(calls.work_bytes, calls.source_bytes)
        / nullif(calls.gpu_sum_ns, 0) * 1e9 / peaks.bandwidth
        AS bandwidth_pct,
    calls.flops IS NOT NULL AS is_known
FROM calls
LEFT JOIN peaks ON calls.run_id = peaks.run_id
QUALIFY top IS NULL OR top >= row_number() OVER (
    PARTITION BY calls.run_id
    ORDER BY calls.gpu_sum_ns DESC, calls.label, calls.direction, calls.input_shapes,
        calls.input_types, calls.concrete_inputs
)
ORDER BY
    calls.run_id, calls.gpu_sum_ns DESC, calls.label, calls.direction,
    calls.input_shapes, calls.input_types, calls.concrete_inputs;
