-- @title What a source says of a call beside its inputs
-- Of a row's extra, as one text to join by: the names of the arguments that PyProf
-- wrote, empty for those given by position; the shapes of the outputs and the order of
-- dimensions that DLProf wrote. NULL where there is none of them.
-- @param row_extra JSON Of a row of op.
-- @since 0.2
CREATE MACRO _op_given(row_extra JSON) AS CASE
    -- Text is searched first: most operations' JSON says nothing of it.
    WHEN contains(CAST(row_extra AS VARCHAR), '"args":')
        OR contains(CAST(row_extra AS VARCHAR), '"output_shapes":')
    THEN CAST(to_json({
        'names': json_extract(row_extra, '$.args[*].name'),
        'outputs': json_extract(row_extra, '$.output_shapes'),
        'layout': json_extract_string(row_extra, '$.data_format')
    }) AS VARCHAR)
END;
