-- How PyProf's outputs map to the schema. Facts: a row is one execution of a kernel,
-- without its time; the first of several functions of torch is the outermost, which
-- PyProf calls the operation; FLOPs and bytes are worked out from the arguments, not
-- measured; TC is 1 or 0 where PyProf judges tensor cores, else it does not know.

-- @prepare
CREATE MACRO known(t) AS nullif(nullif(t, '-'), 'na');

-- @rows report_row
SELECT
    'pyprof_dict' AS report, row_number, fields->>'kShortName' AS name,
    fields->>'$.op[0]' AS op_name, nullif(fields->>'dir', '') AS direction,
    1 AS item_count, TRY_CAST(fields->>'kDuration' AS BIGINT) AS gpu_time_ns, fields
FROM dict_line
WHERE fields IS NOT NULL
ORDER BY row_number

-- @rows report_row
SELECT
    'pyprof_prof' AS report, row_number, fields->>'Kernel' AS name,
    known(fields->>'Op') AS op_name, known(fields->>'Direction') AS direction,
    1 AS item_count,
    CASE fields->>'TC' WHEN '1' THEN true WHEN '0' THEN false END AS uses_tc,
    TRY_CAST(fields->>'Sil(ns)' AS BIGINT) AS gpu_time_ns, fields
FROM prof_line
ORDER BY row_number

-- @rows device
SELECT device_id, 'gpu' AS kind, 'nvidia' AS vendor
FROM (
    SELECT TRY_CAST(fields->>'device' AS INTEGER) AS device_id FROM dict_line
    UNION
    SELECT TRY_CAST(fields->>'Device' AS INTEGER) FROM prof_line
)
WHERE device_id IS NOT NULL
ORDER BY device_id

-- @run
SELECT 'PyProf' AS tool, 'pytorch' AS framework, 'none' AS clock

-- @diagnostic damaged_lines data_loss Lines are no Python literal of a kernel: they are left out.
SELECT count(*), min('line ' || row_number || ': ' || left(text, 120))
FROM dict_line WHERE fields IS NULL

-- @diagnostic no_events info PyProf says no times: its kernels are in the table report_row, not in kernel.
SELECT 1, NULL

-- @diagnostic home_paths info Names hold paths of home directories; import with --redact to replace them.
SELECT count(*), NULL
FROM (SELECT fields FROM dict_line UNION ALL SELECT fields FROM prof_line)
WHERE contains(CAST(fields AS VARCHAR), '/home/')
    OR contains(CAST(fields AS VARCHAR), '/Users/')
    OR contains(CAST(fields AS VARCHAR), '/root/')
