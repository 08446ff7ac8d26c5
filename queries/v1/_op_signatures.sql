-- @title Operations by their arguments
-- Each distinct name and arguments of operations, read for _op_formulas.
-- @column run_id id key The run.
-- @column name text key Name of the operation.
-- @column input_shapes text key Shapes of the inputs.
-- @column input_types text key Types of the inputs.
-- @column concrete_inputs text key Values of scalar inputs.
-- @column given text key What else the source says of the call, see _op_given.
-- @column bare_name text neutral The name without aten:: and underscores of Python.
-- @column is_aten bool neutral An operation of ATen, whose arguments have fixed places;
--     else a function of Python.
-- @column is_convolution bool neutral A convolution: see _op_convolutions.
-- @column shapes value neutral Shapes, one list each; NULL for what is no tensor's.
-- @column types value neutral Types.
-- @column concrete value neutral Values.
-- @column names value neutral Names of the arguments, empty for positional ones; NULL
--     where the source does not name any.
-- @column output_shape value neutral Shape of the first output, where it is stated.
-- @column layout text neutral Order of dimensions, where it is stated.
-- @column type_sizes value neutral Bytes of an element by its type.
-- @key run_id, name, input_shapes, input_types, concrete_inputs, given
-- @since 0.2
CREATE MACRO _op_signatures() AS TABLE
WITH signatures AS (
    SELECT DISTINCT
        run_id, coalesce(op_type, name) AS name, CAST(input_shapes AS VARCHAR)
            AS input_shapes,
        CAST(input_types AS VARCHAR) AS input_types,
        CAST(concrete_inputs AS VARCHAR) AS concrete_inputs,
        v1._op_given(extra) AS given
    FROM op
    WHERE input_shapes IS NOT NULL AND input_types IS NOT NULL
    UNION
    SELECT run_id, op_name, input_shapes, input_types, concrete_inputs, given
    FROM v1._pyprof_markers()
    WHERE is_marked
)
SELECT
    run_id, name, input_shapes, input_types, concrete_inputs, given, bare_name,
    starts_with(name, 'aten::') AS is_aten,
    regexp_full_match(
        bare_name,
        'conv(_transpose)?[123]d|_?convolution|cudnn_convolution(_transpose)?'
        || '|(cudnn_)?convolution_backward'
    ) AS is_convolution,
    [TRY_CAST(s AS BIGINT[]) FOR s IN json_extract(input_shapes, '$[*]')] AS shapes,
    TRY_CAST(input_types AS VARCHAR[]) AS types,
    TRY_CAST(concrete_inputs AS VARCHAR[]) AS concrete,
    -- PyProf lists what the call was given: the rest has its default.
    nullif(TRY_CAST(json_extract(given, '$.names') AS VARCHAR[]), []) AS names,
    TRY_CAST(json_extract(given, '$.outputs[0]') AS BIGINT[]) AS output_shape,
    json_extract_string(given, '$.layout') AS layout,
    MAP {
        'float': 4, 'float32': 4, 'double': 8, 'float64': 8, 'c10::Half': 2,
        'float16': 2, 'half': 2, 'c10::BFloat16': 2, 'bfloat16': 2, 'long int': 8,
        'long': 8, 'int64': 8, 'int': 4, 'int32': 4, 'short': 2, 'int16': 2,
        'unsigned char': 1, 'uint8': 1, 'signed char': 1, 'int8': 1, 'bool': 1
    } AS type_sizes
FROM (
    SELECT
        *, regexp_replace(
            regexp_replace(name, '^(aten|torch)::', ''), '^__(.*)__$', '\1'
        ) AS bare_name
    FROM signatures
);
