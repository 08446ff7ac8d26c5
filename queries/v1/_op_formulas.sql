-- @title Work of operations by their arguments
-- Floating-point operations and bytes of one call for each distinct name and arguments,
-- by PyProf's formulas (its pyprof/prof/*.py; of convolutions see _op_convolutions);
-- NULL where there is none or an argument that it needs is unknown. What PyProf has no
-- formula of: layer_norm is fvcore's norm_flop_counter, 4 operations an element and one
-- more with weights; attention is PyTorch's torch/utils/flop_counter.py, its products
-- of matrices alone, two forward and five backward, a causal mask or not, and the bytes
-- of its inputs and its result, as where no scores are kept. See op_cost.
-- @column run_id id key The run.
-- @column name text key Name of the operation.
-- @column input_shapes text key Shapes of the inputs.
-- @column input_types text key Types of the inputs.
-- @column concrete_inputs text key Values of scalar inputs.
-- @column given text key What else the source says of the call, see _op_given.
-- @column flops value neutral Floating-point operations of one call.
-- @column work_bytes bytes neutral Bytes that one call reads and writes.
-- @key run_id, name, input_shapes, input_types, concrete_inputs, given
-- @since 0.2
CREATE MACRO _op_formulas() AS TABLE
WITH sized AS (
    SELECT
        *,
        CASE
            WHEN bare_name IN (
                'mm', 'matmul', 'bmm', 'linear', 'addmm', 'baddbmm', 'imatmul'
            ) THEN 'product'
            WHEN bare_name IN ('embedding') THEN 'embedding'
            WHEN bare_name IN ('copy_', 'copy') THEN 'copy'
            WHEN regexp_matches(
                bare_name, '^(i|r)?(add|sub|mul|div|truediv)_?$|^(maximum|minimum)$'
            ) OR regexp_matches(bare_name, '^(eq|ne|lt|le|gt|ge)_?$') THEN
                -- An early add_ has a factor between its two tensors.
                CASE
                    WHEN len([s FOR s IN shapes[3:] IF len(s) > 0]) = 0 THEN 'binary'
                END
            WHEN regexp_matches(bare_name, '^(addcmul|addcdiv|lerp)_?$|^where$')
                THEN 'ternary'
            WHEN regexp_matches(
                bare_name,
                '^_?scaled_dot_product(_(flash|efficient|cudnn))?_attention'
                || '(_math)?(_for_cpu)?$'
            ) THEN 'attention'
            WHEN regexp_matches(
                bare_name,
                '^_scaled_dot_product_(flash|efficient|cudnn)_attention_backward$'
            ) THEN 'attention_backward'
            WHEN bare_name IN (
                'multi_head_attention_forward', '_native_multi_head_attention'
            ) THEN 'heads'
            WHEN bare_name IN ('layer_norm', 'native_layer_norm') THEN 'layer_norm'
            ELSE bare_name
        END AS kind,
        -- addmm adds to its first; the gradient comes before what attention was given.
        CASE WHEN bare_name IN ('addmm', 'baddbmm')
            OR bare_name LIKE '_scaled_dot_product%_backward' THEN 2 ELSE 1 END AS first
    FROM v1._op_signatures()
    WHERE NOT is_convolution
),
-- Of the first tensors of each: their elements, and what one takes.
measured AS (
    SELECT
        *, shapes[first] AS a, shapes[first + 1] AS b, shapes[first + 2] AS c,
        CAST(list_product(shapes[first]) AS HUGEINT) AS a_count,
        CAST(list_product(shapes[first + 1]) AS HUGEINT) AS b_count,
        CAST(list_product(shapes[first + 2]) AS HUGEINT) AS c_count,
        type_sizes[types[first]] AS a_bytes, type_sizes[types[first + 1]] AS b_bytes,
        -- Those that are tensors.
        [i FOR i IN range(1, len(shapes) + 1) IF len(shapes[i]) > 0] AS tensors
    FROM sized
),
products AS (
    SELECT
        *,
        -- Rows of the result's last dimension; NULL where shapes do not fit.
        CASE
            WHEN kind <> 'product' OR len(a) = 0 OR len(b) = 0 THEN NULL
            WHEN bare_name = 'linear' THEN
                CASE WHEN len(b) = 2 AND a[-1] = b[2] THEN b[1] END
            WHEN len(b) = 1 THEN CASE WHEN a[-1] = b[1] THEN 1 END
            WHEN a[-1] <> b[-2] THEN NULL
            WHEN len(b) = 2 OR a[:-3] = b[:-3] AND len(a) = len(b) THEN b[-1]
        END AS width,
        -- Scores of attention, one for each query and key; heads of queries may share
        -- those of keys.
        CASE
            WHEN kind NOT IN ('attention', 'attention_backward') THEN NULL
            WHEN len(a) NOT IN (3, 4) OR len(b) <> len(a) OR len(c) <> len(a) THEN NULL
            WHEN a[1] <> b[1] OR a[-1] <> b[-1] OR b[:-2] <> c[:-2] THEN NULL
            WHEN len(a) = 4 AND a[2] % nullif(b[2], 0) <> 0 THEN NULL
            ELSE CAST(list_product(a[:-2]) AS HUGEINT) * b[-2]
        END AS score_count,
        -- Of attention with its own weights: batch, queries, keys. ATen has the batch
        -- first.
        CASE WHEN kind = 'heads' AND len(a) = 3 AND len(b) = 3 AND b = c
            AND a[3] = b[3] AND shapes[6] = [3 * a[3], a[3]]
        THEN CASE
            WHEN is_aten AND a[1] = b[1] THEN [a[1], a[2], b[2]]
            WHEN NOT is_aten AND a[2] = b[2] THEN [a[2], a[1], b[1]]
        END END AS heads,
        -- Whether a loss is one number; in ATen 0 is none, 1 the mean, 2 the sum.
        CASE WHEN kind = 'mse_loss' AND a = b THEN MAP {
            'none': false, 'mean': true, 'sum': true, '0': false, '1': true, '2': true
        }[lower(CASE
            WHEN list_contains(names, 'reduction')
                THEN concrete[list_position(names, 'reduction')]
            WHEN len(names) = 2 THEN 'mean'
            ELSE concrete[3]
        END)] END AS is_reduced,
        -- Elements of an elementwise result, where shapes are broadcast.
        CASE
            WHEN kind = 'binary' AND len(shapes) > 0 AND a IS NOT NULL THEN
                CASE
                    WHEN b IS NULL OR len(b) = 0 THEN a_count
                    WHEN len(a) = 0 THEN b_count
                    ELSE CAST(list_product([
                        greatest(
                            CASE WHEN d <= len(a) THEN a[-d] ELSE 1 END,
                            CASE WHEN d <= len(b) THEN b[-d] ELSE 1 END
                        )
                        FOR d IN range(1, greatest(len(a), len(b)) + 1)
                    ]) AS HUGEINT)
                END
            -- A scalar factor is in no formula; a choice has its two sides.
            WHEN kind = 'ternary' AND len(tensors) IN (2, 3) AND (
                len(tensors) = 3 OR bare_name NOT LIKE 'addc%'
            ) AND len(shapes) >= 3 AND NOT (bare_name = 'where' AND tensors[2] IS NULL)
            THEN CAST(list_product([
                list_max([
                    CASE WHEN d <= len(shapes[i]) THEN shapes[i][-d] ELSE 1 END
                    FOR i IN tensors
                ])
                FOR d IN range(1, list_max([len(shapes[i]) FOR i IN tensors]) + 1)
            ]) AS HUGEINT)
        END AS result_count
    FROM measured
),
-- Floating-point operations and bytes for each element of the input, and once.
per_element AS (
    SELECT
        kind, flops_each, flops_once, moves
    FROM (VALUES
        ('relu', 1, 0, 2), ('relu_', 1, 0, 2), ('threshold', 1, 0, 2),
        ('leaky_relu', 1, 0, 2), ('clamp_min', 1, 0, 2), ('clamp_min_', 1, 0, 2),
        ('neg', 1, 0, 2), ('abs', 1, 0, 2), ('ceil', 1, 0, 2), ('floor', 1, 0, 2),
        ('round', 1, 0, 2), ('reciprocal', 1, 0, 2),
        ('exp', 20, 0, 2), ('log', 20, 0, 2), ('sin', 20, 0, 2), ('cos', 20, 0, 2),
        ('tanh', 20, 0, 2), ('sigmoid', 20, 0, 2), ('sqrt', 20, 0, 2),
        ('rsqrt', 20, 0, 2), ('pow', 20, 0, 2), ('erf', 20, 0, 2),
        ('softmax', 40, 0, 3), ('_softmax', 40, 0, 3),
        ('log_softmax', 21, 0, 3), ('_log_softmax', 21, 0, 3),
        ('batch_norm', 8, 0, 4), ('dropout', 5, 0, 2),
        ('sum', 1, 0, 1), ('mean', 1, 1, 1), ('norm', 2, 1, 1)
    ) AS formula (kind, flops_each, flops_once, moves)
)
SELECT
    r.run_id, r.name, r.input_shapes, r.input_types, r.concrete_inputs, r.given,
    CAST(CASE
        WHEN len(r.a) IS NULL THEN NULL
        WHEN r.kind = 'product' THEN 2 * r.a_count * r.width
        WHEN r.kind IN ('embedding', 'copy') THEN 0
        WHEN r.kind = 'binary' THEN r.result_count
        -- PyProf: three for addcmul and addcdiv, alike for lerp, of which it has none;
        -- a choice is one, as a comparison is.
        WHEN r.kind = 'ternary' THEN
            r.result_count * CASE r.bare_name WHEN 'where' THEN 1 ELSE 3 END
        WHEN r.kind = 'attention' THEN 2 * r.score_count * (r.a[-1] + r.c[-1])
        -- The scores again, and the gradients of query and key; those of scores and
        -- value.
        WHEN r.kind = 'attention_backward' THEN
            2 * r.score_count * (3 * r.a[-1] + 2 * r.c[-1])
        -- Query, key, value and result each by a matrix of its own, and two products.
        WHEN r.kind = 'heads' THEN 4 * r.heads[1] * r.a[3] * (
            r.a[3] * (r.heads[2] + r.heads[3]) + r.heads[2] * r.heads[3]
        )
        WHEN r.kind = 'layer_norm' THEN
            r.a_count * CASE WHEN len(r.tensors) > 1 THEN 5 ELSE 4 END
        -- PyProf doubles the elements that it moves; a difference and a square each.
        WHEN r.kind = 'mse_loss' THEN
            2 * r.a_count + CASE r.is_reduced WHEN true THEN 1 WHEN false THEN 0 END
        -- PyProf's Adam, apex's fused one: 0 for all that it does with what it moves.
        WHEN r.kind = 'adam' AND r.a = r.c AND r.a = r.shapes[4] AND r.a = r.shapes[5]
            THEN 0
        WHEN len(r.a) > 0 THEN r.a_count * f.flops_each + f.flops_once
    END AS BIGINT) AS flops,
    CAST(CASE
        WHEN len(r.a) IS NULL THEN NULL
        WHEN r.kind = 'product' THEN r.a_bytes * (
            r.a_count + r.b_count + r.a_count // nullif(r.a[-1], 0) * r.width
        )
        WHEN r.kind = 'copy' THEN r.a_count * r.a_bytes + r.b_count * r.b_bytes
        -- torch.nn.functional has the indices first, ATen the table.
        WHEN r.kind = 'embedding' AND r.is_aten
            THEN r.b_count * (r.b_bytes + 2 * r.a[-1] * r.a_bytes)
        WHEN r.kind = 'embedding'
            THEN r.a_count * (r.a_bytes + 2 * r.b[-1] * r.b_bytes)
        WHEN r.kind = 'binary' THEN
            CASE WHEN len(r.a) > 0 THEN r.a_count * r.a_bytes ELSE 0 END
            + CASE WHEN len(r.b) > 0 THEN r.b_count * r.b_bytes ELSE 0 END
            -- The result of a comparison is of bytes.
            + r.result_count * CASE
                WHEN regexp_full_match(r.bare_name, 'eq|ne|lt|le|gt|ge') THEN 1
                WHEN len(r.a) > 0 THEN r.a_bytes
                ELSE r.b_bytes
            END
        WHEN r.kind = 'ternary'
            AND len([i FOR i IN r.tensors IF r.type_sizes[r.types[i]] IS NULL]) = 0
        THEN CAST(list_sum([
            CAST(list_product(r.shapes[i]) AS HUGEINT) * r.type_sizes[r.types[i]]
            FOR i IN r.tensors
        ]) AS HUGEINT) + r.result_count * r.type_sizes[r.types[
            -- A choice is of the type of what it chooses from.
            CASE r.bare_name WHEN 'where' THEN r.tensors[-1] ELSE 1 END
        ]]
        WHEN r.kind = 'attention' AND r.score_count IS NOT NULL THEN r.a_bytes * (
            r.a_count + r.b_count + r.c_count
            + r.a_count // nullif(r.a[-1], 0) * r.c[-1]
        )
        WHEN r.kind = 'layer_norm' THEN r.a_bytes * (r.a_count + list_sum([
            CAST(list_product(r.shapes[i]) AS HUGEINT) FOR i IN r.tensors
        ]))
        WHEN r.kind = 'mse_loss' THEN r.a_count * r.a_bytes
            * CASE r.is_reduced WHEN true THEN 2 WHEN false THEN 3 END
        -- Weight, mean and variance read and written, the gradient read, and the copy
        -- of the weights in halves written where there is one (not by the types, as
        -- PyProf has it).
        WHEN r.kind = 'adam' AND r.a = r.c AND r.a = r.shapes[4] AND r.a = r.shapes[5]
            THEN r.a_count * (6 * r.a_bytes + r.type_sizes[r.types[5]])
                + CASE WHEN r.b = r.a THEN r.b_count * r.b_bytes ELSE 0 END
        WHEN len(r.a) > 0 THEN r.a_count * f.moves * r.a_bytes
    END AS BIGINT) AS work_bytes
FROM products AS r
LEFT JOIN per_element AS f ON f.kind = r.kind
UNION ALL
SELECT
    run_id, name, input_shapes, input_types, concrete_inputs, given, flops, work_bytes
FROM v1._op_convolutions();
