-- @title Convolutions by their arguments
-- Of each distinct convolution of _op_signatures, what it multiplies and moves. A plain
-- one takes each weight once for each place of its result and each image; a transposed
-- one once for each place of its input (PyTorch's flop_counter; PyProf knows none, or
-- counts it as a plain one). The backward pass is such a product for each gradient that
-- it was asked for, of the same sizes (PyProf counts each of its kernels so); the
-- gradient of the bias is not counted.
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
CREATE MACRO _op_convolutions() AS TABLE
WITH known AS (
    SELECT
        *,
        CASE
            -- (grad_output, input, weight, bias_sizes, stride, padding, dilation,
            -- transposed, output_padding, groups, output_mask)
            WHEN bare_name = 'convolution_backward' THEN shapes[2]
            ELSE shapes[1]
        END AS a,
        CASE
            WHEN bare_name LIKE '%convolution_backward' THEN shapes[3]
            ELSE shapes[2]
        END AS b,
        CASE bare_name
            WHEN 'convolution_backward' THEN shapes[1]
            -- (input, grad_output, weight, ..., output_mask)
            WHEN 'cudnn_convolution_backward' THEN shapes[2]
            ELSE output_shape
        END AS stated_output,
        CASE
            WHEN bare_name LIKE '%transpose%' THEN true
            WHEN bare_name IN ('convolution', '_convolution') THEN
                MAP {'true': true, 'false': false}[lower(concrete[7])]
            WHEN bare_name = 'convolution_backward' THEN
                MAP {'true': true, 'false': false}[lower(concrete[8])]
            ELSE false
        END AS is_transposed,
        -- Gradients that are wanted: of the input, the weights and perhaps the bias.
        CASE WHEN bare_name LIKE '%convolution_backward' THEN
            string_split(translate(lower(concrete[-1]), '[] ', ''), ',')
        END AS wanted,
        -- Places of stride, padding, dilation, output padding and groups.
        CASE
            WHEN bare_name = 'cudnn_convolution' THEN [4, 3, 5, NULL, 6]
            WHEN bare_name = 'cudnn_convolution_transpose' THEN [5, 3, 6, 4, 7]
            WHEN bare_name LIKE 'conv_transpose%' THEN [4, 5, 8, 6, 7]
            WHEN bare_name IN ('convolution', '_convolution') THEN [4, 5, 6, 8, 9]
            WHEN bare_name LIKE '%convolution_backward' THEN []
            ELSE [4, 5, 6, NULL, 7]
        END AS places
    FROM v1._op_signatures()
    WHERE is_convolution
    -- DLProf may write channels last, where places mean something else.
    AND coalesce(layout, '') NOT LIKE 'N,H%'
    AND coalesce(names[1] IN ('', 'input') AND names[2] IN ('', 'weight'), true)
),
placed AS (
    SELECT
        *,
        [
            coalesce(TRY_CAST(c AS BIGINT[]), [TRY_CAST(c AS BIGINT)])
            FOR c IN [
                CASE
                    WHEN list_contains(names, p.name)
                        THEN concrete[list_position(names, p.name)]
                    WHEN len(names) < p.place OR names[p.place] <> '' THEN p.usual
                    ELSE concrete[p.place]
                END
                FOR p IN [
                    {'name': 'stride', 'place': places[1], 'usual': '1'},
                    {'name': 'padding', 'place': places[2], 'usual': '0'},
                    {'name': 'dilation', 'place': places[3], 'usual': '1'},
                    {'name': 'output_padding', 'place': places[4], 'usual': '0'},
                    {'name': 'groups', 'place': places[5], 'usual': '1'}
                ]
            ]
        ] AS given_numbers
    FROM known
    WHERE len(a) = len(b) AND len(a) >= 3
),
sized AS (
    SELECT
        *,
        -- Of one number for all dimensions or one for each.
        [
            [n[least(d, len(n))] FOR d IN range(1, len(a) - 1)]
            FOR n IN given_numbers
        ] AS numbers
    FROM placed
),
measured AS (
    SELECT
        *,
        coalesce(stated_output[3:], CASE
            WHEN is_transposed THEN [
                (a[d + 2] - 1) * numbers[1][d] - 2 * numbers[2][d]
                + numbers[3][d] * (b[d + 2] - 1) + numbers[4][d] + 1
                FOR d IN range(1, len(a) - 1)
            ]
            ELSE [
                (a[d + 2] + 2 * numbers[2][d] - numbers[3][d] * (b[d + 2] - 1) - 1)
                // nullif(numbers[1][d], 0) + 1
                FOR d IN range(1, len(a) - 1)
            ]
        END) AS spatial,
        CASE
            WHEN wanted IS NULL THEN 1
            WHEN len(wanted) IN (2, 3)
                AND len([w FOR w IN wanted IF w IN ('true', 'false')]) = len(wanted)
            THEN len([w FOR w IN wanted[:2] IF w = 'true'])
        END AS product_count,
        CAST(list_product(a) AS HUGEINT) AS a_count,
        CAST(list_product(b) AS HUGEINT) AS b_count,
        type_sizes[types[1]] AS element_bytes
    FROM sized
),
counted AS (
    SELECT
        *,
        CASE WHEN len([s FOR s IN spatial IF s IS NULL]) = 0
            THEN CAST(list_product(spatial) AS HUGEINT) END AS spatial_count,
        -- Channels of the result.
        CASE
            WHEN stated_output IS NOT NULL THEN stated_output[2]
            WHEN is_transposed THEN b[2] * numbers[5][1]
            ELSE b[1]
        END AS width
    FROM measured
)
SELECT
    run_id, name, input_shapes, input_types, concrete_inputs, given,
    CAST(product_count * CASE
        WHEN is_transposed AND a[2] = b[1]
            THEN 2 * (a_count // nullif(a[2], 0)) * b_count
        WHEN NOT is_transposed THEN 2 * a[1] * spatial_count * b_count
    END AS BIGINT) AS flops,
    CAST(product_count * element_bytes * (
        a_count + b_count + a[1] * width * spatial_count
    ) AS BIGINT) AS work_bytes
FROM counted;
