-- How an ONNX Runtime profile maps to the schema. Facts: times count from the start of
-- the profile; the category says what a row is: Session (loading, a run of the model),
-- Node (an operation: "<node>_kernel_time", and its fences), Kernel and Api (of a GPU,
-- where its execution provider records them). Arguments are text.

-- @prepare
CREATE MACRO is_node(cat, name) AS cat = 'Node' AND ends_with(name, '_kernel_time');
CREATE MACRO is_copy(name) AS regexp_matches(name, '^(?i)mem(cpy|ory copy)');
CREATE MACRO is_slice(cat, name) AS
    coalesce(cat NOT IN ('Session', 'Kernel', 'Api') AND NOT is_node(cat, name), true)

-- @phase nest

-- @nest
SELECT
    event_key(event_id) AS id, pid, tid, ts_ns, open_until_ns AS end_ns,
    CASE
        WHEN is_node(cat, name) THEN 'op'
        WHEN cat = 'Session' THEN 'annotation'
        WHEN is_slice(cat, name) THEN 'slice'
    END AS kind,
    coalesce(cat = 'Api', false) AS seeks
FROM slice_event
WHERE cat IS DISTINCT FROM 'Kernel'

-- @phase rows

-- @rows annotation FROM slice_event
SELECT
    s.ts_ns, s.dur_ns, event_key(s.event_id) AS annotation_id, 'push_pop' AS kind,
    s.name, s.cat AS category, s.pid, s.tid, t.parent_id, t.depth, s.truncated,
    coalesce(t.crossing, false) AS crossing, nullif(s.args, '{}') AS payload
FROM slice_event AS s
LEFT JOIN nested AS t ON t.id = event_key(s.event_id)
WHERE s.cat = 'Session'

-- @rows op FROM slice_event
SELECT
    s.ts_ns, s.dur_ns, event_key(s.event_id) AS op_id,
    left(s.name, length(s.name) - length('_kernel_time')) AS name,
    nullif(s.args->>'$.op_name', '') AS op_type, 'host' AS placement, s.pid, s.tid,
    t.parent_id, t.depth,
    -- [{"float": [64, 64]}]: of each input its type and its shape.
    CASE
        WHEN s.inputs IS NOT NULL
            THEN to_json(list_transform(s.inputs, lambda i: i->'$.*'->0))
    END AS input_shapes,
    CASE
        WHEN s.inputs IS NOT NULL
            THEN to_json(list_transform(s.inputs, lambda i: json_keys(i)[1]))
    END AS input_types,
    s.truncated, coalesce(t.crossing, false) AS crossing,
    nullif(
        CAST(json_merge_patch(
            s.args, '{"op_name":null,"input_type_shape":null}'
        ) AS VARCHAR), '{}'
    ) AS extra
FROM (
    SELECT *, TRY_CAST(args->'$.input_type_shape' AS JSON[]) AS inputs
    FROM slice_event
    WHERE is_node(cat, name)
) AS s
LEFT JOIN nested AS t ON t.id = event_key(s.event_id)

-- @rows slice FROM slice_event
SELECT
    s.ts_ns, s.dur_ns, event_key(s.event_id) AS slice_id, s.name,
    nullif(s.cat, '') AS category, s.pid, s.tid, t.parent_id, t.depth, s.truncated,
    coalesce(t.crossing, false) AS crossing, extra_of(s.args, s.other) AS extra
FROM slice_event AS s
LEFT JOIN nested AS t ON t.id = event_key(s.event_id)
WHERE is_slice(s.cat, s.name)

-- @rows api_call FROM slice_event
SELECT
    ts_ns, dur_ns, event_key(event_id) AS api_call_id,
    CASE WHEN starts_with(name, 'hip') THEN 'hip' ELSE 'cuda_runtime' END AS api,
    regexp_replace(name, '_v[0-9]{4,}$', '') AS name, pid, tid,
    extra_of(args, other) AS extra
FROM slice_event
WHERE cat = 'Api'

-- @rows kernel FROM slice_event
-- Which device it was is not written.
SELECT
    ts_ns, dur_ns, event_key(event_id) AS kernel_id, name, nullif(pid, -1) AS pid,
    TRY_CAST(a.stream AS BIGINT) AS stream_id,
    TRY_CAST(a.grid_x AS INTEGER) AS grid_x, TRY_CAST(a.grid_y AS INTEGER) AS grid_y,
    TRY_CAST(a.grid_z AS INTEGER) AS grid_z, TRY_CAST(a.block_x AS INTEGER) AS block_x,
    TRY_CAST(a.block_y AS INTEGER) AS block_y,
    TRY_CAST(a.block_z AS INTEGER) AS block_z,
    extra_of(args, other) AS extra
FROM (
    SELECT
        *,
        json_transform(
            args,
            '{"stream":"VARCHAR","grid_x":"VARCHAR","grid_y":"VARCHAR",'
            || '"grid_z":"VARCHAR","block_x":"VARCHAR","block_y":"VARCHAR",'
            || '"block_z":"VARCHAR"}'
        ) AS a
    FROM slice_event
    WHERE cat = 'Kernel' AND NOT coalesce(is_copy(name), false)
)

-- @rows memcpy FROM slice_event
SELECT
    ts_ns, dur_ns, event_key(event_id) AS memcpy_id, nullif(pid, -1) AS pid,
    TRY_CAST(args->>'$.stream' AS BIGINT) AS stream_id, 'unknown' AS kind,
    extra_of(args, other) AS extra
FROM slice_event
WHERE cat = 'Kernel' AND is_copy(name)

-- @rows iteration FROM slice_event
SELECT
    ts_ns, dur_ns, event_key(event_id) AS iteration_id, name, 'model_run' AS source, pid
FROM slice_event
WHERE cat = 'Session' AND name = 'model_run'

-- @run
SELECT
    'ONNX Runtime' AS tool, 'onnxruntime' AS framework, NULL AS host,
    NULL AS environment

-- @diagnostic crossing_ranges info Host ranges overlap without nesting.
SELECT count(*), NULL FROM nested WHERE crossing

-- @diagnostic capped_export data_loss The profile has as many events as it may have: what came after is lost.
SELECT CASE WHEN count(*) = 1000000 THEN 1 ELSE 0 END, NULL FROM slice_event
