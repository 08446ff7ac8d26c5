-- How a TensorFlow 1 timeline (timeline.Timeline) maps to the schema. Facts: a process
-- is a plane, named "<device> Compute" or "<device> Tensors"; a thread is a lane that
-- the writer chose, no thread and no stream. A GPU has a plane for each stream, and two
-- that repeat those: stream:all (kernels) and memcpy (copies). The plane of the GPU
-- itself ("/job:.../device:GPU:0") holds what the host did to schedule its operations.
-- Rows of a GPU bear the name of their operation: names of kernels are lost.

-- @prepare
CREATE OR REPLACE MACRO counter_unit(name, cat) AS
    CASE WHEN cat = 'Memory' THEN 'bytes' END;

CREATE TABLE plane AS
SELECT
    pid, p.device, upper(p.kind) AS kind, TRY_CAST(p.ordinal AS INTEGER) AS ordinal,
    CASE
        WHEN p.part = '' THEN 'ops'
        WHEN p.part IN ('memcpy', 'stream:all') THEN p.part
        WHEN regexp_full_match(p.part, 'stream:[0-9]+') THEN 'stream'
        ELSE 'other'
    END AS part,
    TRY_CAST(split_part(p.part, ':', 2) AS BIGINT) AS stream_id
FROM (
    SELECT
        pid,
        regexp_extract(
            name,
            '^((?:/job:[^/]+)?(?:/replica:[0-9]+)?(?:/task:[0-9]+)?'
            || '/(?:device:|host:)?([A-Za-z_]+)(?::([0-9]+))?)(?:/([^ ]*))? Compute$',
            ['device', 'kind', 'ordinal', 'part']
        ) AS p
    FROM process_name_of
)
WHERE p.device <> '';

-- Tasks of one job may each have a GPU 0.
CREATE TABLE gpu AS
WITH seen AS (
    SELECT device, ordinal, bool_or(part = 'stream') AS has_streams
    FROM plane
    WHERE part IN ('stream', 'stream:all', 'memcpy')
    GROUP BY device, ordinal
)
SELECT
    device, has_streams,
    CASE
        WHEN (SELECT count(DISTINCT ordinal) < count(*) FROM seen)
            THEN CAST(row_number() OVER (ORDER BY ordinal, device) - 1 AS INTEGER)
        ELSE ordinal
    END AS device_id
FROM seen;

CREATE TABLE op_event AS
SELECT
    s.event_id, f.number AS file_number, s.args->>'$.name' AS name, s.pid, s.tid,
    s.ts_ns, s.end_ns
FROM slice_event AS s
JOIN plane AS p ON p.pid = s.pid AND p.part = 'ops'
ASOF LEFT JOIN timeline_file AS f ON f.first_event <= s.event_id;

-- What ran on a GPU. A copy between a host and a device bears the edge that it serves,
-- "edge_<number>_<operation>": it belongs to the operation that made the data.
CREATE TABLE gpu_event AS
WITH rows AS (
    SELECT
        s.event_id, f.number AS file_number, p.part, p.stream_id, g.device_id,
        g.device, g.has_streams, s.ts_ns, s.dur_ns, s.name AS op_type, s.args,
        s.args->>'$.name' AS name
    FROM slice_event AS s
    JOIN plane AS p ON p.pid = s.pid
    JOIN gpu AS g ON g.device = p.device
    ASOF LEFT JOIN timeline_file AS f ON f.first_event <= s.event_id
    WHERE p.part IN ('stream', 'stream:all', 'memcpy')
)
SELECT
    r.event_id, r.file_number, r.part, r.stream_id, r.device_id, r.ts_ns, r.dur_ns,
    r.args, r.name, r.op_type, r.has_streams,
    r.part = 'stream' OR NOT r.has_streams AS counts,
    coalesce(nullif(regexp_extract(r.name, '^edge_[0-9]+_(.*)$', 1), ''), r.name)
        AS op_name,
    CASE
        WHEN regexp_matches(r.op_type, '^(?i)memset') THEN 'memset'
        WHEN regexp_matches(r.op_type, '^(?i)memcpy') OR r.part = 'memcpy'
            OR c.event_id IS NOT NULL THEN 'memcpy'
        ELSE 'kernel'
    END AS kind
FROM rows AS r
LEFT JOIN (
    SELECT device, ts_ns, dur_ns, name, op_type, min(event_id) AS event_id
    FROM rows WHERE part = 'memcpy' GROUP BY ALL
) AS c
    ON r.part = 'stream' AND c.device = r.device AND c.ts_ns = r.ts_ns
    AND c.dur_ns IS NOT DISTINCT FROM r.dur_ns AND c.name = r.name
    AND c.op_type IS NOT DISTINCT FROM r.op_type;

-- The operation behind a row of a GPU: the latest of its name that began before it, or
-- the first where clocks differ.
CREATE TABLE gpu_link AS
SELECT
    g.event_id, event_key(coalesce(o.event_id, first_op.event_id)) AS op_id,
    coalesce(o.ts_ns, first_op.ts_ns) AS launch_ts_ns
FROM gpu_event AS g
ASOF LEFT JOIN op_event AS o
    ON o.file_number = g.file_number AND o.name = g.op_name AND o.ts_ns <= g.ts_ns
LEFT JOIN (
    SELECT
        file_number, name, min(ts_ns) AS ts_ns, arg_min(event_id, ts_ns) AS event_id
    FROM op_event
    GROUP BY file_number, name
) AS first_op
    ON first_op.file_number = g.file_number AND first_op.name = g.op_name

-- @phase nest

-- @nest
SELECT event_key(event_id) AS id, pid, tid, ts_ns, open_until_ns AS end_ns
FROM slice_event
WHERE pid IS NULL OR pid NOT IN (
    SELECT pid FROM plane WHERE part IN ('stream', 'stream:all', 'memcpy')
)

-- @phase rows

-- @rows op FROM slice_event
-- The time is the host's, also of operations that a GPU carries out.
SELECT
    s.ts_ns, s.dur_ns, event_key(s.event_id) AS op_id,
    coalesce(s.args->>'$.name', s.name) AS name,
    nullif(coalesce(s.args->>'$.op', s.name), 'unknown') AS op_type,
    'host' AS placement, s.pid, s.tid, t.parent_id, t.depth, s.truncated,
    coalesce(t.crossing, false) AS crossing,
    json_merge_patch(
        coalesce(s.args, '{}'), to_json({'name': NULL, 'op': NULL, 'device': p.device})
    ) AS extra
FROM slice_event AS s
JOIN plane AS p ON p.pid = s.pid AND p.part = 'ops'
LEFT JOIN nested AS t ON t.id = event_key(s.event_id)

-- @rows kernel
SELECT
    g.ts_ns, g.dur_ns, event_key(g.event_id) AS kernel_id,
    coalesce(nullif(g.op_type, 'unknown'), g.name) AS name,
    coalesce(nullif(g.op_type, 'unknown'), g.name) AS short_name,
    g.device_id, g.stream_id, l.launch_ts_ns, l.op_id,
    to_json({'name': g.name}) AS extra
FROM gpu_event AS g
JOIN gpu_link AS l ON l.event_id = g.event_id
WHERE g.counts AND g.kind = 'kernel'

-- @rows memcpy
SELECT
    g.ts_ns, g.dur_ns, event_key(g.event_id) AS memcpy_id, g.device_id, g.stream_id,
    CASE upper(regexp_extract(g.op_type, '^(?i)memcpy_?([A-Za-z0-9]+)', 1))
        WHEN 'HTOD' THEN 'H2D' WHEN 'DTOH' THEN 'D2H' WHEN 'DTOD' THEN 'D2D'
        WHEN 'PTOP' THEN 'P2P' WHEN 'HTOH' THEN 'H2H' WHEN 'HTOA' THEN 'H2A'
        WHEN 'ATOH' THEN 'A2H' WHEN 'ATOA' THEN 'A2A' WHEN 'ATOD' THEN 'A2D'
        WHEN 'DTOA' THEN 'D2A'
        ELSE 'unknown'
    END AS kind,
    l.launch_ts_ns, l.op_id, to_json({'name': g.name, 'op': g.op_type}) AS extra
FROM gpu_event AS g
JOIN gpu_link AS l ON l.event_id = g.event_id
WHERE g.counts AND g.kind = 'memcpy'

-- @rows memset
SELECT
    g.ts_ns, g.dur_ns, event_key(g.event_id) AS memset_id, g.device_id, g.stream_id,
    l.launch_ts_ns, l.op_id, to_json({'name': g.name, 'op': g.op_type}) AS extra
FROM gpu_event AS g
JOIN gpu_link AS l ON l.event_id = g.event_id
WHERE g.counts AND g.kind = 'memset'

-- @rows slice FROM slice_event
-- Whatever stands on no plane, or on one of an unknown kind.
SELECT
    s.ts_ns, s.dur_ns, event_key(s.event_id) AS slice_id, s.name,
    nullif(s.cat, '') AS category, s.pid, s.tid, t.parent_id, t.depth, s.truncated,
    coalesce(t.crossing, false) AS crossing, extra_of(s.args, s.other) AS extra
FROM slice_event AS s
LEFT JOIN plane AS p ON p.pid = s.pid
LEFT JOIN nested AS t ON t.id = event_key(s.event_id)
WHERE coalesce(p.part, 'other') = 'other'

-- @rows annotation FROM event
SELECT
    ts_ns, 0 AS dur_ns, event_key(event_id) AS annotation_id, 'mark' AS kind, name,
    nullif(cat, '') AS category, pid, tid, args AS payload, false AS truncated,
    false AS crossing
FROM event
WHERE ph IN ('i', 'I', 'R') AND ts_ns IS NOT NULL

-- @rows device
SELECT
    device_id, 'gpu' AS kind,
    to_json({'device': string_agg(device, ' ' ORDER BY device)})
        AS extra
FROM (
    SELECT device_id, device FROM gpu
    UNION
    SELECT p.ordinal, p.device
    FROM plane AS p
    WHERE p.kind = 'GPU' AND p.part = 'ops' AND p.ordinal IS NOT NULL
        AND NOT EXISTS (FROM gpu AS g WHERE g.device_id = p.ordinal)
)
GROUP BY device_id

-- @rows flow
-- Data goes from the end of the operation that made it to the start of the one that
-- takes it.
SELECT
    coalesce(nullif(e.cat, ''), 'DataFlow') AS kind, s.id,
    s.pid AS from_pid, s.tid AS from_tid, s.ts_ns AS from_ts_ns,
    CASE WHEN source.event_id IS NOT NULL THEN 'op' END AS from_table,
    event_key(source.event_id) AS from_id,
    e.pid AS to_pid, e.tid AS to_tid, e.ts_ns AS to_ts_ns,
    CASE WHEN target.event_id IS NOT NULL THEN 'op' END AS to_table,
    event_key(target.event_id) AS to_id, to_json({'name': s.name}) AS extra
FROM (SELECT * FROM event WHERE ph IN ('t', 'f')) AS e
JOIN (SELECT * FROM event WHERE ph = 's') AS s ON s.id = e.id
LEFT JOIN (
    SELECT pid, tid, end_ns, min(event_id) AS event_id
    FROM op_event GROUP BY pid, tid, end_ns
) AS source ON source.pid = s.pid AND source.tid = s.tid AND source.end_ns = s.ts_ns
LEFT JOIN (
    SELECT pid, tid, ts_ns, min(event_id) AS event_id
    FROM op_event GROUP BY pid, tid, ts_ns
) AS target ON target.pid = e.pid AND target.tid = e.tid AND target.ts_ns = e.ts_ns

-- @rows iteration
-- A timeline is one session.run.
SELECT
    min(s.ts_ns) AS ts_ns, max(coalesce(s.end_ns, s.ts_ns)) - min(s.ts_ns) AS dur_ns,
    row_key(8, f.number) AS iteration_id,
    TRY_CAST(
        nullif(regexp_extract(f.name, '[A-Za-z][^0-9]*([0-9]+)[^0-9]*$', 1), '')
        AS BIGINT
    ) AS number,
    f.name, 'session_run' AS source
FROM slice_event AS s
ASOF JOIN timeline_file AS f ON f.first_event <= s.event_id
GROUP BY f.number, f.name

-- @run
SELECT
    'TensorFlow timeline' AS tool, 'tensorflow' AS framework,
    (SELECT to_json({'timelines': count(*)}) FROM timeline_file) AS extra,
    NULL AS host, NULL AS environment

-- @diagnostic derived_rows info Rows of the planes stream:all and memcpy repeat those of the streams: left out.
SELECT count(*), NULL FROM gpu_event WHERE NOT counts

-- @diagnostic planes_differ warning A GPU's streams do not hold what its planes stream:all and memcpy do: the streams count.
SELECT count(*), NULL
FROM (
    SELECT device_id FROM gpu_event
    WHERE has_streams
    GROUP BY device_id
    HAVING count(*) FILTER (part = 'stream') <> count(*) FILTER (part <> 'stream')
        AND count(*) FILTER (part <> 'stream') > 0
)

-- @diagnostic kernels_without_op info GPU rows of which no operation is known: no iteration owns them.
SELECT count(*), min(g.name)
FROM gpu_event AS g JOIN gpu_link AS l ON l.event_id = g.event_id
WHERE g.counts AND l.op_id IS NULL

-- @diagnostic crossing_ranges info Ranges of one lane overlap without nesting.
SELECT count(*), NULL FROM nested WHERE crossing
