-- What DLProf's reports say of events, where nothing else in the run does: a row of the
-- iteration report is one launch of one kernel, without stream, process and thread.

-- @prepare
CREATE MACRO row_key(ordinal, id) AS (CAST(ordinal AS BIGINT) << 40) | id;
CREATE MACRO text_json(t) AS CAST(to_json(nullif(t, '')) AS VARCHAR);
CREATE TABLE launch_row AS
SELECT
    *, whole("GPU Start Time (ns)") AS ts_ns, whole("GPU Duration (ns)") AS dur_ns,
    whole("API Call Start (ns)") AS api_ts_ns, whole("API Call Time (ns)") AS api_dur_ns,
    whole("Device ID") AS device_id
FROM iteration_report;

-- @rows kernel
SELECT
    ts_ns, dur_ns, row_key(111, row_number) AS kernel_id,
    coalesce(nullif("Long Kernel Name", ''), nullif("Kernel Name", '')) AS name,
    nullif("Kernel Name", '') AS short_name, device_id,
    CASE WHEN api_ts_ns IS NOT NULL THEN row_key(102, row_number) END AS api_call_id,
    api_ts_ns AS launch_ts_ns,
    whole("Grid X") AS grid_x, whole("Grid Y") AS grid_y, whole("Grid Z") AS grid_z,
    whole("Block X") AS block_x, whole("Block Y") AS block_y,
    whole("Block Z") AS block_z,
    '{' || concat_ws(
        ',', '"uses_tc":' || CAST(yes("Uses TC") AS VARCHAR),
        '"iteration":' || whole("Iteration"), '"op_key":' || text_json("Op ID"),
        '"op_name":' || text_json("Op Name"), '"op_type":' || text_json("Op Type"),
        '"direction":' || text_json("Direction"),
        '"data_types":' || text_json("Data Types"),
        '"input_shapes":' || text_json("Input Shapes"),
        '"parameters":' || text_json("Parameters"),
        '"output_shapes":' || text_json("Output Shapes")
    ) || '}' AS extra
FROM launch_row
WHERE ts_ns IS NOT NULL

-- @rows api_call
SELECT
    api_ts_ns AS ts_ns, api_dur_ns AS dur_ns, row_key(102, row_number) AS api_call_id,
    'cuda_runtime' AS api, 'unknown' AS name, '{"launches":"kernel"}' AS extra
FROM launch_row
WHERE api_ts_ns IS NOT NULL

-- @rows device
-- GPUs have no numbers in the summary: one name for each, in order.
WITH named AS (
    SELECT ordinal AS device_id, name
    FROM gpu_name
    WHERE (SELECT count(*) FROM gpu_name) = (
        SELECT min(whole("value")) FROM summary WHERE name = 'GPU Count'
    )
),
used AS (SELECT DISTINCT device_id FROM launch_row WHERE device_id IS NOT NULL)
SELECT coalesce(u.device_id, n.device_id) AS device_id, 'gpu' AS kind,
    'nvidia' AS vendor, n.name
FROM used AS u
FULL JOIN named AS n ON n.device_id = u.device_id

-- @rows advice
SELECT "Problem" AS problem, nullif("Recommendation", '') AS recommendation
FROM expert_systems
ORDER BY row_number

-- @diagnostic rows_without_time data_loss Rows have no start, or one that is no time: they are left out.
SELECT count(*), min("Kernel Name") FROM launch_row WHERE ts_ns IS NULL

-- @diagnostic no_streams info DLProf's reports name no stream and no thread.
SELECT count(*), NULL FROM launch_row

-- @diagnostic no_events info The report holds totals, no events: it is in the table report_row.
SELECT CASE WHEN EXISTS (FROM launch_row) THEN 0 ELSE 1 END, NULL
