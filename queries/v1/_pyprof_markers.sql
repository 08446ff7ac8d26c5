-- @title Operations of PyProf's .dict
-- The outermost marker of each kernel, a Python literal of names, numbers and tuples,
-- and its arguments as the op table has them.
-- @column run_id id key The run.
-- @column row_number value key Line of the file.
-- @column direction text neutral fprop or bprop.
-- @column gpu_time_ns ns lower Duration of the kernel.
-- @column is_call bool neutral It stands for a call of its operation.
-- @column is_marked bool neutral It has a marker; kernels of the backward pass have
--     none.
-- @column op_name text neutral Name of the operation, by its marker if it has one.
-- @column input_shapes text neutral Shapes of the arguments; NULL without a marker.
-- @column input_types text neutral Their types.
-- @column concrete_inputs text neutral Values of scalar ones.
-- @column arg_names text neutral Their names, empty for positional ones.
-- @key run_id, row_number
-- @since 0.2
CREATE MACRO _pyprof_markers() AS TABLE
WITH told AS (
    SELECT
        run_id, row_number, direction, gpu_time_ns,
        -- A product or convolution may take several kernels and another for its bias;
        -- of all others PyProf counts each kernel.
        CASE
            WHEN regexp_matches(
                op_name, '^(conv[123]d|linear|mm|bmm|addmm|baddbmm|(__)?i?matmul(__)?)$'
            ) THEN (fields->>'$.subSeqId') = '0'
                AND NOT regexp_matches(name, '(?i)elementwise|pointwise|bias|reduce')
            ELSE true
        END AS is_call,
        TRY_CAST(regexp_replace(
            regexp_replace(
                regexp_replace(
                    regexp_replace(
                        translate(fields->>'$.marker[0]', '''()', '"[]'),
                        ',\s*\]', ']', 'g'
                    ), '\bNone\b', 'null', 'g'
                ), '\bTrue\b', 'true', 'g'
            ), '\bFalse\b', 'false', 'g'
        ) AS JSON) AS marker,
        op_name
    FROM report_row
    WHERE report = 'pyprof_dict'
)
SELECT
    run_id, row_number, direction, gpu_time_ns, is_call,
    marker IS NOT NULL AS is_marked,
    CASE WHEN marker IS NULL THEN op_name ELSE marker->>'$.op' END AS op_name,
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
    json_extract(marker, '$.args[*].name') AS arg_names
FROM told;
