-- How DLProf's CSV reports map to the schema. All but the iteration report are totals:
-- they become rows of reports, never events. file_name() is the file's name where the
-- run is a folder.

-- @prepare
CREATE MACRO yes(t) AS CASE lower(t) WHEN 'yes' THEN true WHEN 'no' THEN false END;
CREATE MACRO whole(t) AS TRY_CAST(t AS BIGINT);

-- @rows report_row
SELECT
    'detailed' AS report, row_number, file_name() AS source_file, "Op Name" AS name,
    "Op ID" AS op_key, "Op Name" AS op_name, "Op Type" AS op_type,
    "Direction" AS direction, whole("No. Calls") AS item_count,
    yes("TC Eligible") AS tc_eligible, yes("Using TC") AS uses_tc,
    whole("Total GPU Time (ns)") AS gpu_time_ns,
    whole("Total CPU Time (ns)") AS cpu_time_ns, fields
FROM detailed

-- @rows report_row
SELECT
    'kernel' AS report, row_number, file_name() AS source_file, "Kernel Name" AS name,
    "Op ID" AS op_key, "Op Name" AS op_name, "Direction" AS direction,
    yes("Uses TC") AS uses_tc, whole("Total GPU Time (ns)") AS gpu_time_ns, fields
FROM kernel_report

-- @rows report_row
SELECT
    'tensor_core' AS report, row_number, file_name() AS source_file, "Op Name" AS name,
    "Op ID" AS op_key, "Op Name" AS op_name, "Op Type" AS op_type,
    "Direction" AS direction, whole("Total Kernel Count") AS item_count,
    yes("Uses TC") AS uses_tc, whole("Total GPU Time (ns)") AS gpu_time_ns,
    TRY_CAST("TC Utilization (%)" AS DOUBLE) AS "value", fields
FROM tensor_core

-- @rows report_row
SELECT
    'op_type' AS report, row_number, file_name() AS source_file, "Op Type" AS name,
    "Op Type" AS op_type, whole("# Calls") AS item_count,
    whole("Total GPU Time (ns)") AS gpu_time_ns,
    whole("Total CPU Time (ns)") AS cpu_time_ns, fields
FROM op_type_report

-- @rows report_row
SELECT
    'group_op' AS report, row_number, file_name() AS source_file, "Name" AS name,
    whole("Num Calls Aggregated") AS item_count,
    whole("Total GPU Time (ns)") AS gpu_time_ns,
    whole("Total CPU Time (ns)") AS cpu_time_ns, fields
FROM group_op

-- @rows report_row
SELECT
    'expert_systems' AS report, row_number, file_name() AS source_file,
    "Problem" AS name, fields
FROM expert_systems

-- @rows report_row
SELECT
    'summary' AS report, section, row_number, file_name() AS source_file, name,
    whole(coalesce("# Ops", "# Kernels")) AS item_count,
    whole("GPU Time (ns)") AS gpu_time_ns, whole("CPU Time (ns)") AS cpu_time_ns,
    CASE WHEN section <> 'System Config' THEN TRY_CAST("value" AS DOUBLE) END
        AS "value",
    fields
FROM summary

-- @rows report_row
-- Beside a database or capture, which has the kernels: then it is a list like others.
SELECT
    'iteration' AS report, row_number, file_name() AS source_file,
    "Kernel Name" AS name, "Op ID" AS op_key, "Op Name" AS op_name,
    "Op Type" AS op_type, "Direction" AS direction, yes("Uses TC") AS uses_tc,
    whole("GPU Duration (ns)") AS gpu_time_ns, fields
FROM iteration_report
WHERE NOT with_events()

-- @run
WITH config AS (SELECT name, nullif("value", '') AS "value" FROM summary
    WHERE section = 'System Config')
SELECT
    'DLProf' AS tool,
    (SELECT min(ltrim("value", 'v')) FROM config WHERE name = 'DLProf Version')
        AS tool_version,
    CASE WHEN with_events() THEN 0 END AS source_origin_ns,
    CASE WHEN with_events() THEN 'none' END AS clock,
    (
        SELECT min(lower(nullif(regexp_extract("value", '^[A-Za-z]+'), '')))
        FROM config WHERE name = 'Framework'
    ) AS framework,
    (
        SELECT CAST(json_group_object(key, "value") AS VARCHAR)
        FROM (
            SELECT CASE name
                WHEN 'Framework' THEN 'framework' WHEN 'GPU Count' THEN 'gpu_count'
                WHEN 'CPU Model' THEN 'cpu_model'
                WHEN 'GPU Driver Version' THEN 'driver_version'
                WHEN 'CUDA Version' THEN 'cuda_version'
                WHEN 'cuDNN Version' THEN 'cudnn_version'
                WHEN 'NSys Version' THEN 'nsys_version'
                WHEN 'DLProf Build' THEN 'dlprof_build'
            END AS key, "value"
            FROM config
        )
        WHERE key IS NOT NULL AND "value" IS NOT NULL
        HAVING count(*) > 0
    ) AS extra

-- @diagnostic home_paths info Names hold paths of home directories; import with --redact to replace them.
SELECT count(*), NULL
FROM detailed
WHERE contains(fields, '/home/') OR contains(fields, '/Users/')
    OR contains(fields, '/root/')
