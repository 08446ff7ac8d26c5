-- How any Chrome trace maps to the schema: ranges of threads are slices, instants are
-- annotations; the rest is in _trace_event/shared.sql and flows.sql.

-- @prepare
CREATE VIEW thread_range AS
SELECT
    event_key(event_id) AS id, pid, tid, ts_ns, open_until_ns AS end_ns,
    'slice' AS held_in
FROM slice_event

-- @phase nest

-- @nest
SELECT id, pid, tid, ts_ns, end_ns FROM thread_range
UNION ALL
FROM flow_point

-- @phase rows

-- @rows slice FROM slice_event
SELECT
    s.ts_ns, s.dur_ns, event_key(s.event_id) AS slice_id, s.name,
    nullif(s.cat, '') AS category, s.pid, s.tid, t.parent_id, t.depth,
    s.truncated, coalesce(t.crossing, false) AS crossing,
    CASE
        WHEN s.end_args IS NOT NULL AND s.end_args <> '{}'
            THEN json_merge_patch(
                coalesce(extra_of(s.args, s.other), '{}'),
                '{"args":' || s.end_args || '}'
            )
        ELSE extra_of(s.args, s.other)
    END AS extra
FROM slice_event AS s
LEFT JOIN nested AS t ON t.id = event_key(s.event_id)

-- @rows annotation FROM event
SELECT
    ts_ns, 0 AS dur_ns, event_key(event_id) AS annotation_id, 'mark' AS kind, name,
    nullif(cat, '') AS category, pid, tid, args AS payload,
    false AS truncated, false AS crossing,
    CASE
        WHEN s IS NOT NULL OR other IS NOT NULL
            THEN json_merge_patch(coalesce(other, '{}'), to_json({'scope': s}))
    END AS extra
FROM event
WHERE ph IN ('i', 'I', 'R') AND ts_ns IS NOT NULL

-- @run
SELECT
    NULL AS host,
    (
        SELECT json_group_object(key, value) FROM trace_key
        WHERE key NOT IN ('displayTimeUnit', 'stackFrames', 'samples')
    ) AS environment
