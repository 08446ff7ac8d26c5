-- How an XPlane file maps to the schema: what hosts did. Facts: rows are ranges that the
-- runtime or the user drew (TraceMe), Python frames ("$file.py:12 name"), operations
-- (named "scope/name:Type", or one of XLA) and calls of the driver, which bear a
-- correlation and often the name of what they launched; group_id says to which step a
-- row belongs.

-- @prepare
CREATE MACRO is_op_name(name) AS
    regexp_matches(name, '^[^:]+:[A-Za-z_][A-Za-z0-9_]*$');
-- What a host event is by its type; its stats may say more.
CREATE TABLE host_type AS
SELECT
    t.plane_id, t.type_id, coalesce(t.display_name, t.name) AS name,
    t.name AS long_name,
    t.display_name,
    CASE
        WHEN starts_with(t.name, '$') THEN 'slice'
        WHEN t.name IN ('MemoryAllocation', 'MemoryDeallocation') THEN 'memory'
        WHEN t.display_name IS NOT NULL AND is_op_name(t.name) THEN 'op'
        ELSE 'annotation'
    END AS kind
FROM event_type AS t
WHERE t.plane_id NOT IN (SELECT plane_id FROM device_plane);
-- The runtime numbers its steps apart from the name of the event: "FunctionRun 5".
CREATE MACRO step_name_of(name, step_name) AS
    CASE WHEN starts_with(step_name, name || ' ') THEN step_name ELSE name END;
CREATE MACRO host_kind(kind, correlation_id, hlo_op, is_eager) AS
    CASE
        WHEN correlation_id IS NOT NULL THEN 'api_call'
        WHEN kind IN ('slice', 'memory') THEN kind
        WHEN hlo_op IS NOT NULL OR is_eager IS NOT NULL THEN 'op'
        ELSE coalesce(kind, 'annotation')
    END;
CREATE TABLE host_range (
    id BIGINT, pid BIGINT, tid BIGINT, ts_ns BIGINT, end_ns BIGINT, kind VARCHAR,
    seeks BOOLEAN
);
CREATE TABLE host_call (
    event_id BIGINT, correlation_id BIGINT, ts_ns BIGINT, end_ns BIGINT
);
-- Steps that the program or the runtime marked on the host.
CREATE TABLE step_marker (
    event_id BIGINT, pid BIGINT, ts_ns BIGINT, end_ns BIGINT, name VARCHAR,
    group_id BIGINT, step_num BIGINT, step_name VARCHAR
);
CREATE TABLE step_group (group_id BIGINT, ts_ns BIGINT, end_ns BIGINT);
CREATE TABLE aggregated (events BIGINT)

-- @phase seen

-- @stage FROM host_event
CREATE OR REPLACE TEMP TABLE kinds AS
SELECT
    e.event_id, l.pid, l.tid, e.ts_ns, e.ts_ns + e.dur_ns AS end_ns,
    step_name_of(t.name, e.step_name) AS name,
    e.group_id, e.step_num, e.step_name, nullif(e.correlation_id, 0) AS correlation_id,
    host_kind(t.kind, e.correlation_id, e.hlo_op, e.is_eager) AS kind
FROM host_event AS e
JOIN lane AS l ON l.line_id = e.line_id
LEFT JOIN host_type AS t ON t.plane_id = e.plane_id AND t.type_id = e.type_id
WHERE e.occurrences IS NULL;
INSERT INTO aggregated
SELECT count(*) FROM host_event WHERE occurrences IS NOT NULL;
INSERT INTO detail SELECT kernel_details, false, count(*) FROM host_event
WHERE kernel_details IS NOT NULL GROUP BY kernel_details;
INSERT INTO host_range
SELECT
    event_key(event_id), pid, tid, ts_ns, end_ns,
    CASE WHEN kind IN ('op', 'annotation', 'slice') THEN kind END,
    kind IN ('api_call', 'memory')
FROM kinds;
INSERT INTO host_call
SELECT event_id, correlation_id, ts_ns, end_ns
FROM kinds
WHERE kind = 'api_call' AND correlation_id IS NOT NULL;
INSERT INTO step_marker
SELECT event_id, pid, ts_ns, end_ns, name, group_id, step_num, step_name
FROM kinds
WHERE step_num IS NOT NULL OR step_name IS NOT NULL;
INSERT INTO step_group
SELECT group_id, min(ts_ns), max(end_ns) FROM kinds
WHERE group_id IS NOT NULL
GROUP BY group_id

-- @phase nest

-- @nest
SELECT id, pid, tid, ts_ns, end_ns, kind, seeks FROM host_range

-- @phase rows

-- @stage FROM host_event
CREATE OR REPLACE TEMP TABLE host_row AS
SELECT
    e.*, l.pid, l.tid, t.name, t.long_name, t.display_name,
    host_kind(t.kind, e.correlation_id, e.hlo_op, e.is_eager) AS kind,
    n.parent_id, n.depth, coalesce(n.crossing, false) AS crossing, n.op_id
FROM host_event AS e
JOIN lane AS l ON l.line_id = e.line_id
LEFT JOIN host_type AS t ON t.plane_id = e.plane_id AND t.type_id = e.type_id
LEFT JOIN (
    SELECT * FROM nested
    WHERE id BETWEEN (SELECT event_key(min(event_id)) FROM host_event)
        AND (SELECT event_key(max(event_id)) FROM host_event)
) AS n ON n.id = event_key(e.event_id)
WHERE e.occurrences IS NULL

-- @rows api_call FROM host_event
SELECT
    h.ts_ns, h.dur_ns, event_key(h.event_id) AS api_call_id,
    CASE
        WHEN regexp_extract(h.name, '^(hip[A-Z]|hsa_)') <> '' THEN 'hip'
        WHEN regexp_extract(h.name, '^cuda[A-Z]') <> '' THEN 'cuda_runtime'
        ELSE 'cuda_driver'
    END AS api,
    CASE
        WHEN k.name IS NULL AND regexp_extract(
            h.name, '^(cu|cuda|hip|hsa_)[A-Za-z0-9_]+(:[0-9]+)?$'
        ) <> ''
            THEN regexp_replace(h.name, '(_v[0-9]{4,})?(:[0-9]+)?$', '')
        WHEN regexp_extract(h.name, '^(?i)mem(cpy|set|ory)') <> '' THEN h.name
        -- The call's own name is not written: the kernel's stands in its place.
        ELSE 'kernel launch'
    END AS name,
    h.pid, h.tid, nullif(h.correlation_id, 0) AS correlation_id,
    CASE
        WHEN k.name IS NULL AND d.sane IS NOT false THEN nullif(h.rest, '{}')
        ELSE rest_of(
            json_merge_patch(
                coalesce(h.rest, '{}'),
                CASE WHEN NOT d.sane THEN '{"kernel_details":null}' ELSE '{}' END
            ),
            CASE WHEN k.name IS NULL THEN '{}' ELSE to_json({'name': h.name}) END
        )
    END AS extra
FROM host_row AS h
LEFT JOIN kernel_name AS k ON k.name = h.name
LEFT JOIN kernel_detail AS d ON d.text = h.kernel_details
WHERE h.kind = 'api_call'

-- @rows op FROM host_event
SELECT
    ts_ns, dur_ns, event_key(event_id) AS op_id,
    CASE
        WHEN display_name IS NULL THEN coalesce(hlo_op, name)
        ELSE regexp_replace(long_name, ':[A-Za-z_][A-Za-z0-9_]*$', '')
    END AS name,
    CASE
        WHEN display_name IS NOT NULL
            THEN nullif(regexp_extract(long_name, ':([A-Za-z_][A-Za-z0-9_]*)$', 1), '')
    END AS op_type,
    'host' AS placement, pid, tid, parent_id, depth, false AS truncated, crossing,
    nullif(rest, '{}') AS extra
FROM host_row
WHERE kind = 'op'

-- @rows annotation FROM host_event
SELECT
    ts_ns, dur_ns, event_key(event_id) AS annotation_id, 'push_pop' AS kind,
    step_name_of(name, step_name) AS name, pid, tid, parent_id, depth,
    false AS truncated, crossing,
    CASE
        WHEN display_name IS NULL THEN nullif(rest, '{}')
        ELSE json_merge_patch(coalesce(rest, '{}'), to_json({'long_name': long_name}))
    END AS payload
FROM host_row
WHERE kind = 'annotation'

-- @rows slice FROM host_event
SELECT
    ts_ns, dur_ns, event_key(event_id) AS slice_id, name[2:] AS name,
    'python' AS category, pid, tid, parent_id, depth, false AS truncated, crossing,
    nullif(rest, '{}') AS extra
FROM host_row
WHERE kind = 'slice'

-- @rows memory_event FROM host_event
-- What an allocator of a device or of the host gave out or took back. The total is the
-- allocator's own, after it.
SELECT
    ts_ns,
    TRY_CAST(regexp_extract(allocator_name, '^GPU_([0-9]+)_bfc$', 1) AS INTEGER)
        AS device_id,
    pid, address,
    CASE name WHEN 'MemoryDeallocation' THEN -allocation_bytes ELSE allocation_bytes END
        AS bytes,
    CASE
        WHEN regexp_extract(allocator_name, '^GPU_[0-9]+_bfc$') <> '' THEN 'device'
        WHEN allocator_name IN ('gpu_host_bfc', 'cuda_host_bfc', 'xla_gpu_host_bfc')
            THEN 'pinned'
    END AS kind,
    allocator_name AS name, bytes_allocated AS total_allocated_bytes, op_id,
    nullif(rest, '{}') AS extra
FROM host_row
WHERE kind = 'memory'

-- @beside thread
SELECT
    pid, tid, plane_name AS process_name, any_value(name) AS thread_name
FROM lane
WHERE events > 0
GROUP BY pid, tid, plane_name

-- @rows iteration
-- A step is what the host did for it, on all threads: what it launched belongs to it.
-- Where only devices' lines state steps, each is its device's own, as long as the line
-- says: the same number may be of another time on another device.
WITH grouped AS (
    SELECT group_id, min(ts_ns) AS ts_ns, max(end_ns) AS end_ns
    FROM step_group GROUP BY group_id
)
SELECT
    coalesce(g.ts_ns, m.ts_ns) AS ts_ns,
    coalesce(g.end_ns, m.end_ns) - coalesce(g.ts_ns, m.ts_ns) AS dur_ns,
    event_key(m.event_id) AS iteration_id,
    coalesce(
        m.step_num, TRY_CAST(regexp_extract(m.step_name, '([0-9]+)$', 1) AS BIGINT)
    ) AS number,
    m.name, 'tf_step' AS source, m.pid, CAST(NULL AS INTEGER) AS device_id,
    nullif(
        CAST(json_merge_patch('{}', to_json({
            'group_id': m.group_id, 'step_name': m.step_name, 'device_ns': d.dur_ns
        })) AS VARCHAR), '{}'
    ) AS extra
FROM (
    SELECT * FROM step_marker
    QUALIFY group_id IS NULL
        OR row_number() OVER (PARTITION BY group_id ORDER BY ts_ns, event_id) = 1
) AS m
LEFT JOIN grouped AS g ON g.group_id = m.group_id
LEFT JOIN (
    SELECT group_id, max(end_ns - ts_ns) AS dur_ns FROM device_step GROUP BY group_id
) AS d ON d.group_id = m.group_id
UNION ALL
SELECT
    ts_ns, end_ns - ts_ns, event_key(event_id),
    TRY_CAST(regexp_extract(name, '([0-9]+)$', 1) AS BIGINT), name, 'tf_step',
    (SELECT pid FROM host_process), device_id, to_json({'group_id': group_id})
FROM device_step
WHERE NOT EXISTS (FROM step_marker)

-- @run
SELECT
    'TensorFlow or JAX profiler' AS tool,
    CASE
        WHEN EXISTS (
            FROM event_type
            WHERE name IN ('EagerKernelExecute', 'FunctionRun', 'SessionRun')
                OR starts_with(name, 'TFE_') OR starts_with(name, 'ExecutorState::')
        ) THEN 'tensorflow'
        WHEN EXISTS (
            FROM event_type
            WHERE starts_with(name, 'PjitFunction') OR starts_with(name, 'PjRt')
        ) THEN 'jax'
    END AS framework,
    coalesce(
        (SELECT min(value) FROM space_text WHERE kind = 'hostnames' AND value <> ''),
        nullif(
            regexp_extract(file_name(), '^(?:unpacked-)?(.*)\.xplane\.pb$', 1), ''
        )
    ) AS host,
    (
        SELECT json_group_object(name, CAST(stats AS JSON))
        FROM plane WHERE name LIKE '%Task Environment'
    ) AS environment

-- @diagnostic aggregated_events info Events that stand for several occurrences have no time of their own: they are left out.
SELECT coalesce(sum(events), 0), NULL FROM aggregated

-- @diagnostic profiler_errors warning The profiler itself reported errors while it recorded.
SELECT count(*), min(value) FROM space_text WHERE kind = 'errors'

-- @diagnostic profiler_warnings info The profiler itself reported warnings while it recorded.
SELECT count(*), min(value) FROM space_text WHERE kind = 'warnings'
