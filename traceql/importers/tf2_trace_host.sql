-- How a trace of the TensorFlow 2 or JAX profiler maps to the schema: what hosts did.
-- Facts: rows are ranges that the runtime or the user drew (TraceMe), Python frames
-- ("$file.py:12 name"), operations (with a long name "scope/name:Type", or one of XLA)
-- and calls of the driver, which bear a correlation and often the name of what they
-- launched; group_id says to which step a row belongs.

-- @prepare
CREATE MACRO host_table(name, args) AS
    CASE
        WHEN contains(args, '"correlation_id"') THEN 'api_call'
        WHEN starts_with(name, '$') THEN 'slice'
        WHEN contains(args, '"hlo_op"') THEN 'op'
        WHEN regexp_matches(args->>'$.long_name', '^[^:]+:[A-Za-z_][A-Za-z0-9_]*$')
            OR contains(args, '"is_eager"') THEN 'op'
        ELSE 'annotation'
    END;
-- Steps that the program or the runtime marked on the host.
CREATE TABLE step_marker AS
SELECT
    event_id, pid, ts_ns, end_ns, name, args->>'$.group_id' AS group_id,
    coalesce(args->>'$.step_name', args->>'$.step_num') AS step_name,
    coalesce(
        TRY_CAST(args->>'$.step_num' AS BIGINT),
        TRY_CAST(regexp_extract(args->>'$.step_name', '([0-9]+)$', 1) AS BIGINT)
    ) AS number
FROM slice_event
WHERE pid IN (SELECT pid FROM plane WHERE NOT is_device)
    AND (contains(args, '"step_num"') OR contains(args, '"step_name"'));
CREATE TABLE step_group AS
SELECT
    s.pid, s.args->>'$.group_id' AS group_id, min(s.ts_ns) AS ts_ns,
    max(s.end_ns) AS end_ns
FROM slice_event AS s
WHERE s.args->>'$.group_id' IN (SELECT group_id FROM step_marker)
GROUP BY ALL;

CREATE VIEW thread_range AS
SELECT
    event_key(s.event_id) AS id, s.pid, s.tid, s.ts_ns, s.open_until_ns AS end_ns,
    nullif(host_table(s.name, s.args), 'api_call') AS kind,
    host_table(s.name, s.args) = 'api_call' AS seeks,
    host_table(s.name, s.args) AS held_in
FROM slice_event AS s
WHERE s.pid IS NULL OR s.pid NOT IN (SELECT pid FROM device_plane)
UNION ALL
SELECT
    event_key(s.event_id), s.pid, s.tid, s.ts_ns, s.open_until_ns, d.line, false,
    CASE WHEN o.pid IS NOT NULL THEN 'op' ELSE 'annotation' END
FROM slice_event AS s
JOIN device_line AS d ON d.pid = s.pid AND d.tid = s.tid AND d.line = 'derived'
LEFT JOIN op_line AS o ON o.pid = s.pid AND o.tid = s.tid

-- @phase nest

-- @phase rows

-- @prepare
-- Names of kernels that calls bear.
CREATE TABLE launched_name AS
SELECT l.call.event_id AS event_id, any_value(g.name) AS name
FROM launch AS l
JOIN gpu_row AS g ON g.host = l.host AND g.correlation_id = l.correlation_id
WHERE g.kind = 'kernel'
GROUP BY l.call.event_id

-- @rows api_call FROM slice_event
SELECT
    s.ts_ns, s.dur_ns, event_key(s.event_id) AS api_call_id, s.api, s.name, s.pid,
    s.tid, nullif(number_of(s.args->>'$.correlation_id'), 0) AS correlation_id,
    left_of(
        s.args,
        to_json({
            'correlation_id': NULL,
            'kernel_details': CASE
                WHEN is_sane(details_of(s.args->>'$.kernel_details'))
                    THEN s.args->>'$.kernel_details'
            END,
            'name': CASE WHEN s.name IS DISTINCT FROM s.written THEN s.written END
        })
    ) AS extra
FROM (
    SELECT
        e.event_id, e.ts_ns, e.dur_ns, e.pid, e.tid, e.args, e.name AS written,
        CASE
            WHEN regexp_matches(e.name, '^(hip[A-Z]|hsa_)') THEN 'hip'
            WHEN regexp_matches(e.name, '^cuda[A-Z]') THEN 'cuda_runtime'
            ELSE 'cuda_driver'
        END AS api,
        CASE
            WHEN e.name IS DISTINCT FROM n.name
                AND regexp_matches(e.name, '^(cu|cuda|hip|hsa_)[A-Z][A-Za-z0-9_:]*$')
                THEN regexp_replace(e.name, '(_v[0-9]{4,})?(:[0-9]+)?$', '')
            WHEN regexp_matches(e.name, '^(?i)mem(cpy|set|ory)') THEN e.name
            -- The call's own name is not written: the kernel's stands in its place.
            ELSE 'kernel launch'
        END AS name
    FROM slice_event AS e
    LEFT JOIN launched_name AS n ON n.event_id = e.event_id
    WHERE host_table(e.name, e.args) = 'api_call'
        AND coalesce(e.pid NOT IN (SELECT pid FROM device_plane), true)
) AS s

-- @rows op FROM slice_event
SELECT
    s.ts_ns, s.dur_ns, event_key(s.event_id) AS op_id,
    coalesce(
        nullif(
            regexp_replace(s.args->>'$.long_name', ':[A-Za-z_][A-Za-z0-9_]*$', ''), ''
        ),
        s.args->>'$.hlo_op', s.name
    ) AS name,
    nullif(
        regexp_extract(s.args->>'$.long_name', ':([A-Za-z_][A-Za-z0-9_]*)$', 1), ''
    ) AS op_type,
    'host' AS placement, s.pid, s.tid, t.parent_id, t.depth, s.truncated,
    coalesce(t.crossing, false) AS crossing,
    left_of(s.args, '{"long_name":null}') AS extra
FROM slice_event AS s
LEFT JOIN nested AS t ON t.id = event_key(s.event_id)
WHERE host_table(s.name, s.args) = 'op'
    AND coalesce(s.pid NOT IN (SELECT pid FROM device_plane), true)

-- @rows annotation FROM slice_event
SELECT
    s.ts_ns, s.dur_ns, event_key(s.event_id) AS annotation_id, 'push_pop' AS kind,
    s.name, nullif(s.cat, '') AS category, s.pid, s.tid, t.parent_id, t.depth,
    s.truncated, coalesce(t.crossing, false) AS crossing,
    nullif(s.args, '{}') AS payload, s.other AS extra
FROM slice_event AS s
LEFT JOIN nested AS t ON t.id = event_key(s.event_id)
WHERE host_table(s.name, s.args) = 'annotation'
    AND coalesce(s.pid NOT IN (SELECT pid FROM device_plane), true)

-- @rows slice FROM slice_event
SELECT
    s.ts_ns, s.dur_ns, event_key(s.event_id) AS slice_id,
    s.name[2:] AS name, 'python' AS category, s.pid, s.tid, t.parent_id, t.depth,
    s.truncated, coalesce(t.crossing, false) AS crossing,
    extra_of(s.args, s.other) AS extra
FROM slice_event AS s
LEFT JOIN nested AS t ON t.id = event_key(s.event_id)
WHERE host_table(s.name, s.args) = 'slice'
    AND coalesce(s.pid NOT IN (SELECT pid FROM device_plane), true)

-- @rows annotation FROM event
SELECT
    ts_ns, 0 AS dur_ns, event_key(event_id) AS annotation_id, 'mark' AS kind, name,
    nullif(cat, '') AS category, pid, tid, args AS payload, false AS truncated,
    false AS crossing
FROM event
WHERE ph IN ('i', 'I', 'R') AND ts_ns IS NOT NULL

-- @rows iteration
-- A step is what the host did for it, on all threads: what it launched belongs to it.
-- Where only devices' lines state steps, each is its device's own, as long as the line
-- says: the same number may be of another time on another device.
SELECT
    coalesce(g.ts_ns, m.ts_ns) AS ts_ns,
    coalesce(g.end_ns, m.end_ns) - coalesce(g.ts_ns, m.ts_ns) AS dur_ns,
    event_key(m.event_id) AS iteration_id, m.number, m.name, 'tf_step' AS source, m.pid,
    CAST(NULL AS INTEGER) AS device_id,
    nullif(
        CAST(json_merge_patch('{}', to_json({
            'group_id': m.group_id, 'step_name': m.step_name, 'device_ns': d.dur_ns
        })) AS VARCHAR), '{}'
    ) AS extra
FROM (
    SELECT * FROM step_marker
    QUALIFY group_id IS NULL
        OR row_number() OVER (PARTITION BY pid, group_id ORDER BY ts_ns, event_id) = 1
) AS m
LEFT JOIN step_group AS g ON g.pid = m.pid AND g.group_id = m.group_id
LEFT JOIN (
    SELECT s.args->>'$.group_id' AS group_id, max(s.dur_ns) AS dur_ns
    FROM slice_event AS s
    JOIN device_line AS l ON l.pid = s.pid AND l.tid = s.tid AND l.line = 'steps'
    GROUP BY ALL
) AS d ON d.group_id = m.group_id
UNION ALL
SELECT
    s.ts_ns, s.end_ns - s.ts_ns, event_key(s.event_id),
    TRY_CAST(regexp_extract(s.name, '([0-9]+)$', 1) AS BIGINT), s.name, 'tf_step',
    h.only_pid, l.device_id, to_json({'group_id': s.args->>'$.group_id'})
FROM slice_event AS s
JOIN device_line AS l ON l.pid = s.pid AND l.tid = s.tid AND l.line = 'steps'
LEFT JOIN host_plane AS h ON h.host = l.host AND h.only_pid IS NOT NULL
WHERE NOT EXISTS (FROM step_marker)

-- @run
SELECT
    'TensorFlow or JAX profiler' AS tool,
    CASE
        WHEN EXISTS (
            FROM slice_event
            WHERE name IN ('EagerKernelExecute', 'FunctionRun', 'SessionRun')
                OR starts_with(name, 'TFE_') OR starts_with(name, 'ExecutorState::')
        ) THEN 'tensorflow'
        WHEN EXISTS (
            FROM slice_event
            WHERE starts_with(name, 'PjitFunction')
                OR starts_with(args->>'$.hlo_module', 'jit_')
        ) THEN 'jax'
    END AS framework,
    job_name() AS job,
    nullif(
        regexp_extract(file_name(), '^(?:unpacked-)?(.*)\.trace\.json$', 1), ''
    ) AS host,
    (SELECT json_group_object(key, value) FROM trace_key) AS environment
