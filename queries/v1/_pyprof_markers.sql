-- @title Operations of PyProf's .dict
-- The outermost marker of each kernel, a Python literal of names, numbers and tuples,
-- and its arguments as the op table has them. A kernel of the backward pass has none:
-- like PyProf it takes that of the last kernel of the forward pass before it with its
-- sequence number, or where there is none with that as its other number.
-- @column run_id id key The run.
-- @column row_number value key Line of the file.
-- @column direction text neutral fprop or bprop.
-- @column gpu_time_ns ns lower Duration of the kernel.
-- @column is_call bool neutral It stands for a call of its operation, or for one of the
--     products of its backward pass.
-- @column is_product bool neutral Its operation is a product or a convolution.
-- @column is_marked bool neutral It has a marker, or that of its forward pass.
-- @column op_name text neutral Name of the operation, by its marker if it has one.
-- @column input_shapes text neutral Shapes of the arguments; NULL without a marker.
-- @column input_types text neutral Their types.
-- @column concrete_inputs text neutral Values of scalar ones.
-- @column given text neutral Their names, empty for positional ones, as _op_given has
--     them.
-- @key run_id, row_number
-- @since 0.2
CREATE MACRO _pyprof_markers() AS TABLE
WITH told AS MATERIALIZED (
    SELECT
        run_id, row_number, direction, gpu_time_ns, name, op_name,
        (fields->>'$.subSeqId') AS sub,
        TRY_CAST(fields->>'$.seqId[0]' AS BIGINT) AS seq,
        coalesce(TRY_CAST(json_extract(fields, '$.seqId') AS BIGINT[]), []) AS seqs,
        coalesce(TRY_CAST(json_extract(fields, '$.altSeqId') AS BIGINT[]), [])
            AS alt_seqs,
        (fields->>'$.marker[0]') AS marker
    FROM report_row
    WHERE report = 'pyprof_dict'
),
numbered AS (
    SELECT run_id, row_number, marker, unnest(seqs) AS seq FROM told
    WHERE direction = 'fprop'
),
numbered_other AS (
    SELECT run_id, row_number, marker, unnest(alt_seqs) AS seq FROM told
    WHERE direction = 'fprop'
),
traced AS (
    SELECT
        told.run_id, told.row_number, told.direction, told.gpu_time_ns, told.name,
        told.op_name, told.sub, told.seq,
        TRY_CAST(regexp_replace(
            regexp_replace(
                regexp_replace(
                    regexp_replace(
                        translate(coalesce(told.marker, CASE
                            WHEN told.direction <> 'bprop' THEN NULL
                            WHEN own.row_number IS NOT NULL THEN own.marker
                            ELSE other.marker
                        END), '''()', '"[]'),
                        ',\s*\]', ']', 'g'
                    ), '\bNone\b', 'null', 'g'
                ), '\bTrue\b', 'true', 'g'
            ), '\bFalse\b', 'false', 'g'
        ) AS JSON) AS marker
    FROM told
    ASOF LEFT JOIN numbered AS own
        ON told.run_id = own.run_id AND told.seq = own.seq
        AND told.row_number > own.row_number
    ASOF LEFT JOIN numbered_other AS other
        ON told.run_id = other.run_id AND told.seq = other.seq
        AND told.row_number > other.row_number
),
named AS (
    SELECT
        *, coalesce(marker->>'$.op', op_name) AS known_name,
        -- What cuDNN and cuBLAS do beside the product, and the bias.
        NOT regexp_matches(
            name,
            '(?i)elementwise|pointwise|bias|reduce|nchwToNhwc|nhwcToNchw|OffsetsKernel'
            || '|WinogradTiles|winograd[wd](grad)?(Data|Output|Delta)|gemm_pointers'
            || '|flip_filter|fft[12]d_|scaleTensor'
        ) AS is_main
    FROM traced
),
judged AS (
    SELECT
        *,
        regexp_matches(
            known_name,
            '^(conv(_transpose)?[123]d|linear|mm|bmm|addmm|baddbmm'
            || '|(__)?i?matmul(__)?)$'
        ) AS is_product
    FROM named
)
SELECT
    run_id, row_number, direction, gpu_time_ns,
    -- A product or convolution may take several kernels and another for its bias; its
    -- backward pass is two of them, of which the first two kernels are.  Of all others
    -- PyProf counts each kernel.
    CASE
        WHEN is_product AND direction = 'bprop' THEN is_main AND 2 >= count_if(is_main)
            OVER (
                PARTITION BY run_id, direction, seq ORDER BY row_number
                ROWS UNBOUNDED PRECEDING
            )
        WHEN is_product THEN sub = '0'
            AND NOT regexp_matches(name, '(?i)elementwise|pointwise|bias|reduce')
        ELSE true
    END AS is_call,
    is_product, marker IS NOT NULL AS is_marked, known_name AS op_name,
    CASE WHEN marker IS NOT NULL THEN CAST(to_json([
        coalesce(json_extract(a, '$.shape'), '[]')
        FOR a IN json_extract(marker, '$.args[*]')
    ]) AS VARCHAR) END AS input_shapes,
    CASE WHEN marker IS NOT NULL THEN CAST(to_json([
        coalesce(a->>'dtype', a->>'type') FOR a IN json_extract(marker, '$.args[*]')
    ]) AS VARCHAR) END AS input_types,
    CASE WHEN marker IS NOT NULL THEN CAST(to_json([
        coalesce(a->>'value', '') FOR a IN json_extract(marker, '$.args[*]')
    ]) AS VARCHAR) END AS concrete_inputs,
    CASE WHEN marker IS NOT NULL
        THEN v1._op_given(marker) END AS given
FROM judged;
