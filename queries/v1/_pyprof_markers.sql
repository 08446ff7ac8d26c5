-- @title Operations of PyProf's .dict
-- The outermost marker of each kernel, a Python literal, as JSON.
-- @column run_id id key The run.
-- @column row_number value key Line of the file.
-- @column direction text neutral fprop or bprop.
-- @column gpu_time_ns ns lower Duration of the kernel.
-- @column is_call bool neutral It stands for a call of its operation.
-- @column marker text neutral Module, name and arguments; NULL where it has none, as
--     kernels of the backward pass do.
-- @column op_name text neutral Name of the operation.
-- @key run_id, row_number
-- @since 0.2
CREATE MACRO _pyprof_markers() AS TABLE
SELECT
    run_id, row_number, direction, gpu_time_ns,
    -- A product or convolution may take several kernels and another for its bias; of
    -- all others PyProf counts each kernel.
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
                    translate(fields->>'$.marker[0]', '''()', '"[]'), ',\s*\]', ']', 'g'
                ), '\bNone\b', 'null', 'g'
            ), '\bTrue\b', 'true', 'g'
        ), '\bFalse\b', 'false', 'g'
    ) AS JSON) AS marker,
    op_name
FROM report_row
WHERE report = 'pyprof_dict';
