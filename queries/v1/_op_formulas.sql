-- @title Work of operations by their arguments
-- Floating-point operations and bytes of one call, by PyProf's formulas, for each
-- distinct name and arguments; NULL where there is no formula or an argument that it
-- needs is unknown. See op_cost.
-- @column run_id id key The run.
-- @column name text key Name of the operation.
-- @column input_shapes text key Shapes of the inputs.
-- @column input_types text key Types of the inputs.
-- @column concrete_inputs text key Values of scalar inputs.
-- @column flops value neutral Floating-point operations of one call.
-- @column work_bytes bytes neutral Bytes that one call reads and writes.
-- @key run_id, name, input_shapes, input_types, concrete_inputs
-- @since 0.2
CREATE MACRO _op_formulas() AS TABLE
WITH signatures AS (
    SELECT DISTINCT
        run_id, coalesce(op_type, name) AS name, CAST(input_shapes AS VARCHAR)
            AS input_shapes,
        CAST(input_types AS VARCHAR) AS input_types,
        CAST(concrete_inputs AS VARCHAR) AS concrete_inputs,
        json_extract(extra, '$.args[*].name') AS arg_names
    FROM op
    WHERE input_shapes IS NOT NULL AND input_types IS NOT NULL
    UNION
    SELECT run_id, op_name, input_shapes, input_types, concrete_inputs, arg_names
    FROM v1._pyprof_markers()
    WHERE is_marked
),
parsed AS (
    SELECT
        *,
        regexp_replace(
            regexp_replace(name, '^(aten|torch)::', ''), '^__(.*)__$', '\1'
        ) AS bare_name,
        [TRY_CAST(s AS BIGINT[]) FOR s IN json_extract(input_shapes, '$[*]')] AS shapes,
        TRY_CAST(input_types AS VARCHAR[]) AS types,
        TRY_CAST(concrete_inputs AS VARCHAR[]) AS concrete,
        -- PyProf lists what the call was given: the rest has its default.
        arg_names IS NOT NULL AND len(arg_names) > 0 AS has_defaults,
        list_bool_or([n <> '""' FOR n IN arg_names]) AS has_named
    FROM signatures
),
sized AS (
    SELECT
        *,
        MAP {
            'float': 4, 'float32': 4, 'double': 8, 'float64': 8, 'c10::Half': 2,
            'float16': 2, 'half': 2, 'c10::BFloat16': 2, 'bfloat16': 2, 'long int': 8,
            'long': 8, 'int64': 8, 'int': 4, 'int32': 4, 'short': 2, 'int16': 2,
            'unsigned char': 1, 'uint8': 1, 'signed char': 1, 'int8': 1, 'bool': 1
        } AS type_bytes,
        CASE
            WHEN bare_name IN (
                'mm', 'matmul', 'bmm', 'linear', 'addmm', 'baddbmm', 'imatmul'
            ) THEN 'product'
            WHEN regexp_matches(
                bare_name, '^(conv[123]d|_?convolution|cudnn_convolution)$'
            ) THEN 'convolution'
            WHEN bare_name IN ('embedding') THEN 'embedding'
            WHEN bare_name IN ('copy_', 'copy') THEN 'copy'
            WHEN regexp_matches(
                bare_name, '^(i|r)?(add|sub|mul|div|truediv)_?$|^(maximum|minimum)$'
            ) OR regexp_matches(bare_name, '^(eq|ne|lt|le|gt|ge)_?$') THEN
                -- An early add_ has a factor between its two tensors.
                CASE
                    WHEN len([s FOR s IN shapes[3:] IF len(s) > 0]) = 0 THEN 'binary'
                END
            ELSE bare_name
        END AS kind,
        CASE WHEN bare_name IN ('addmm', 'baddbmm') THEN 2 ELSE 1 END AS first
    FROM parsed
),
-- Of the first tensor of each: its elements, and what one takes.
measured AS (
    SELECT
        *, shapes[first] AS a, shapes[first + 1] AS b,
        CAST(list_product(shapes[first]) AS HUGEINT) AS a_count,
        CAST(list_product(shapes[first + 1]) AS HUGEINT) AS b_count,
        type_bytes[types[first]] AS a_bytes, type_bytes[types[first + 1]] AS b_bytes
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
        END AS width
    FROM measured
),
convolutions AS (
    SELECT
        *,
        CASE
            WHEN kind <> 'convolution' OR len(a) <> len(b) OR len(a) < 3 THEN NULL
            WHEN has_named THEN NULL
            WHEN bare_name LIKE '%convolution%' AND lower(concrete[7]) <> 'false'
                AND bare_name <> 'cudnn_convolution' THEN NULL
            ELSE [
                (
                    a[d + 2] + 2 * pads[least(d, len(pads))]
                    - dilations[least(d, len(dilations))] * (b[d + 2] - 1) - 1
                ) // nullif(strides[least(d, len(strides))], 0) + 1
                FOR d IN range(1, len(a) - 1)
            ]
        END AS spatial
    FROM (
        SELECT
            *,
            -- cudnn_convolution has no bias, and padding before stride.
            CASE WHEN bare_name = 'cudnn_convolution' THEN numbers[4]
                ELSE coalesce(numbers[4], CASE WHEN has_defaults AND len(concrete) < 4
                    THEN [1] END) END AS strides,
            CASE WHEN bare_name = 'cudnn_convolution' THEN numbers[3]
                ELSE coalesce(numbers[5], CASE WHEN has_defaults AND len(concrete) < 5
                    THEN [0] END) END AS pads,
            CASE WHEN bare_name = 'cudnn_convolution' THEN numbers[5]
                ELSE coalesce(numbers[6], CASE WHEN has_defaults AND len(concrete) < 6
                    THEN [1] END) END AS dilations
        FROM (
            SELECT
                *,
                [
                    coalesce(TRY_CAST(c AS BIGINT[]), [TRY_CAST(c AS BIGINT)])
                    FOR c IN concrete
                ] AS numbers
            FROM products
        )
    )
),
results AS (
    SELECT
        *,
        CAST(list_product(spatial) AS HUGEINT) AS spatial_count,
        -- Elements of an elementwise result, where shapes are broadcast.
        CASE
            WHEN kind <> 'binary' OR len(shapes) = 0 OR a IS NULL THEN NULL
            WHEN b IS NULL OR len(b) = 0 THEN a_count
            WHEN len(a) = 0 THEN b_count
            ELSE CAST(list_product([
                greatest(
                    CASE WHEN d <= len(a) THEN a[-d] ELSE 1 END,
                    CASE WHEN d <= len(b) THEN b[-d] ELSE 1 END
                )
                FOR d IN range(1, greatest(len(a), len(b)) + 1)
            ]) AS HUGEINT)
        END AS result_count
    FROM convolutions
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
    r.run_id, r.name, r.input_shapes, r.input_types, r.concrete_inputs,
    CAST(CASE
        WHEN len(r.a) IS NULL THEN NULL
        WHEN r.kind = 'product' THEN 2 * r.a_count * r.width
        WHEN r.kind = 'convolution' THEN 2 * r.a[1] * r.b_count * r.spatial_count
        WHEN r.kind IN ('embedding', 'copy') THEN 0
        WHEN r.kind = 'binary' THEN r.result_count
        WHEN len(r.a) > 0 THEN r.a_count * f.flops_each + f.flops_once
    END AS BIGINT) AS flops,
    CAST(CASE
        WHEN len(r.a) IS NULL THEN NULL
        WHEN r.kind = 'product' THEN r.a_bytes * (
            r.a_count + r.b_count + r.a_count // nullif(r.a[-1], 0) * r.width
        )
        WHEN r.kind = 'convolution' THEN r.a_bytes * (
            r.a_count + r.b_count + r.a[1] * r.b[1] * r.spatial_count
        )
        WHEN r.kind = 'copy' THEN r.a_count * r.a_bytes + r.b_count * r.b_bytes
        -- torch.nn.functional has the indices first, ATen the table.
        WHEN r.kind = 'embedding' AND starts_with(r.name, 'aten::')
            THEN r.b_count * (r.b_bytes + 2 * r.a[-1] * r.a_bytes)
        WHEN r.kind = 'embedding'
            THEN r.a_count * (r.a_bytes + 2 * r.b[-1] * r.b_bytes)
        WHEN r.kind = 'binary' THEN
            CASE WHEN len(r.a) > 0 THEN r.a_count * r.a_bytes ELSE 0 END
            + CASE WHEN len(r.b) > 0 THEN r.b_count * r.b_bytes ELSE 0 END
            + r.result_count * CASE WHEN len(r.a) > 0 THEN r.a_bytes ELSE r.b_bytes END
        WHEN len(r.a) > 0 THEN r.a_count * f.moves * r.a_bytes
    END AS BIGINT) AS work_bytes
FROM results AS r
LEFT JOIN per_element AS f ON f.kind = r.kind;
