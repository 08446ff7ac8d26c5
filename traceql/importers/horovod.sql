-- How a Horovod timeline maps to the schema. Facts: a process is a tensor, and has no
-- threads; a tensor is negotiated (NEGOTIATE_ALLREDUCE, with a row for each rank at the
-- moment that it was ready), then the operation follows (ALLREDUCE) with its activities
-- in it (MPI_ALLREDUCE, MEMCPY_IN_FUSION_BUFFER). Tensors overlap, fused ones wholly:
-- times of several tensors must not be added up. Ends have no names.

-- @prepare
CREATE MACRO is_negotiation(name) AS starts_with(name, 'NEGOTIATE_');
-- A rank is ready: its number is the name.
CREATE MACRO is_rank(name, dur_ns) AS regexp_full_match(name, '[0-9]+') AND dur_ns = 0;
CREATE MACRO collective_name(name) AS
    CASE
        WHEN starts_with(name, 'ALLREDUCE') THEN 'all_reduce'
        WHEN starts_with(name, 'ALLGATHER') THEN 'all_gather'
        WHEN starts_with(name, 'BROADCAST') THEN 'broadcast'
        WHEN starts_with(name, 'ALLTOALL') THEN 'all_to_all'
        WHEN starts_with(name, 'REDUCESCATTER') THEN 'reduce_scatter'
        WHEN starts_with(name, 'ADASUM') THEN 'adasum'
        ELSE lower(name)
    END;
CREATE MACRO dtype_bytes(dtype) AS
    CASE
        WHEN dtype IN ('float64', 'int64', 'uint64') THEN 8
        WHEN dtype IN ('float32', 'int32', 'uint32') THEN 4
        WHEN dtype IN ('float16', 'bfloat16', 'int16', 'uint16') THEN 2
        WHEN dtype IN ('int8', 'uint8', 'bool', 'byte') THEN 1
    END;
CREATE MACRO elements_of(shape) AS
    CASE
        WHEN trim(shape) = '[]' THEN 1
        ELSE CAST(list_product(TRY_CAST(shape AS BIGINT[])) AS BIGINT)
    END;
CREATE TABLE epoch AS
SELECT
    max(TRY_CAST(args->>'$.start_time_since_epoch_in_micros' AS BIGINT)) * 1000
        AS unix_ns
FROM event
WHERE args->>'$.start_time_since_epoch_in_micros' IS NOT NULL;
CREATE TABLE seen_rank AS
SELECT max(TRY_CAST(name AS INTEGER)) + 1 AS world_size
FROM slice_event
WHERE is_rank(name, dur_ns)

-- @phase nest

-- @nest
SELECT event_key(event_id) AS id, pid, tid, ts_ns, open_until_ns AS end_ns
FROM slice_event
WHERE NOT coalesce(is_negotiation(name) OR is_rank(name, dur_ns), false)

-- @phase rows

-- @rows async_slice FROM slice_event
SELECT
    s.ts_ns, s.dur_ns, s.name, 'negotiation' AS category, p.name AS id, s.pid, s.tid,
    s.truncated, extra_of(s.args, s.other) AS extra
FROM slice_event AS s
LEFT JOIN process_name_of AS p ON p.pid = s.pid
WHERE is_negotiation(s.name)

-- @rows annotation FROM slice_event
SELECT
    s.ts_ns, 0 AS dur_ns, event_key(s.event_id) AS annotation_id, 'mark' AS kind,
    'rank ' || s.name || ' is ready' AS name, 'rank' AS category, s.pid, s.tid,
    to_json({'rank': TRY_CAST(s.name AS INTEGER), 'tensor': p.name}) AS payload,
    false AS truncated, false AS crossing
FROM slice_event AS s
LEFT JOIN process_name_of AS p ON p.pid = s.pid
WHERE is_rank(s.name, s.dur_ns)

-- @rows annotation FROM event
SELECT
    ts_ns, 0 AS dur_ns, event_key(event_id) AS annotation_id, 'mark' AS kind, name,
    nullif(cat, '') AS category, pid, tid, args AS payload, false AS truncated,
    false AS crossing
FROM event
WHERE ph IN ('i', 'I', 'R') AND ts_ns IS NOT NULL

-- @rows op FROM slice_event
-- Operations: what has no other around it.
SELECT
    s.ts_ns, s.dur_ns, event_key(s.event_id) AS op_id, p.name AS name,
    s.name AS op_type, 'host' AS placement, s.pid, s.tid, t.depth,
    CASE WHEN TRY_CAST(s.end_args->>'$.shape' AS BIGINT[]) IS NOT NULL
        THEN to_json([TRY_CAST(s.end_args->>'$.shape' AS BIGINT[])]) END
        AS input_shapes,
    CASE WHEN s.end_args->>'$.dtype' IS NOT NULL
        THEN to_json([s.end_args->>'$.dtype']) END AS input_types,
    s.truncated, coalesce(t.crossing, false) AS crossing,
    extra_of(s.args, s.other) AS extra
FROM (SELECT * REPLACE (CAST(end_args AS JSON) AS end_args) FROM slice_event) AS s
JOIN nested AS t ON t.id = event_key(s.event_id) AND t.parent_id IS NULL
LEFT JOIN process_name_of AS p ON p.pid = s.pid

-- @rows slice FROM slice_event
SELECT
    s.ts_ns, s.dur_ns, event_key(s.event_id) AS slice_id, s.name,
    'horovod' AS category, s.pid, s.tid, t.parent_id, t.depth, s.truncated,
    coalesce(t.crossing, false) AS crossing, extra_of(s.args, s.other) AS extra
FROM slice_event AS s
JOIN nested AS t ON t.id = event_key(s.event_id) AND t.parent_id IS NOT NULL

-- @rows collective FROM slice_event
SELECT
    s.ts_ns, s.dur_ns, event_key(s.event_id) AS op_id, collective_name(s.name) AS name,
    elements_of(s.end_args->>'$.shape') AS in_elements,
    s.end_args->>'$.dtype' AS dtype, in_elements * dtype_bytes(dtype) AS bytes,
    to_json({'tensor': p.name}) AS extra
FROM (SELECT * REPLACE (CAST(end_args AS JSON) AS end_args) FROM slice_event) AS s
JOIN nested AS t ON t.id = event_key(s.event_id) AND t.parent_id IS NULL
LEFT JOIN process_name_of AS p ON p.pid = s.pid

-- @run
SELECT
    'Horovod timeline' AS tool, (SELECT world_size FROM seen_rank) AS world_size,
    coalesce((SELECT unix_ns FROM epoch), origin_unix_ns()) AS origin_unix_ns,
    CASE WHEN (SELECT unix_ns FROM epoch) IS NOT NULL THEN 'session_start'
        ELSE clock() END
        AS clock,
    NULL AS host, NULL AS environment
