-- What a DLProf database says of the GPU, where no Nsight Systems capture says more: no
-- stream, no context, no correlation. A kernel's call has times and no name.

-- @prepare
CREATE MACRO copy_direction(kind) AS
    CASE kind
        WHEN 1 THEN 'H2D' WHEN 2 THEN 'D2H' WHEN 3 THEN 'H2A' WHEN 4 THEN 'A2H'
        WHEN 5 THEN 'A2A' WHEN 6 THEN 'A2D' WHEN 7 THEN 'D2A' WHEN 8 THEN 'D2D'
        WHEN 9 THEN 'H2H' WHEN 10 THEN 'P2P' ELSE 'unknown'
    END;
-- One call may launch many kernels, as a graph does: it is one call.
CREATE TABLE call_of AS
SELECT
    kind, id,
    CASE WHEN api_start IS NOT NULL THEN row_key(
        101 + kind,
        min(id) OVER (PARTITION BY kind, pid, tid, api_start, api_stop)
    ) END AS api_call_id
FROM event_of_op;

-- @rows kernel
SELECT
    e.gpu_start AS ts_ns, e.gpu_stop - e.gpu_start AS dur_ns,
    row_key(111, e.id) AS kernel_id,
    coalesce(nullif(l.string, ''), nullif(s.string, '')) AS name,
    nullif(s.string, '') AS short_name, e.device_id, e.pid, c.api_call_id,
    e.api_start AS launch_ts_ns, e.op_id,
    g.x AS grid_x, g.y AS grid_y, g.z AS grid_z,
    b.x AS block_x, b.y AS block_y, b.z AS block_z,
    '{"uses_tc":' || json_bool(k.uses_tc) || '}' AS extra
FROM event_of_op AS e
JOIN read_only_kernels AS k ON k.id = e.id
LEFT JOIN call_of AS c ON c.kind = e.kind AND c.id = e.id
LEFT JOIN dictionary AS l ON l.id = k.long_name_id
LEFT JOIN dictionary AS s ON s.id = k.name_id
LEFT JOIN read_only_grid_block AS g ON g.id = k.grid_id
LEFT JOIN read_only_grid_block AS b ON b.id = k.block_id
WHERE e.kind = 1 AND e.gpu_start IS NOT NULL

-- @rows memcpy
SELECT
    e.gpu_start AS ts_ns, e.gpu_stop - e.gpu_start AS dur_ns,
    row_key(112, e.id) AS memcpy_id, e.device_id,
    copy_direction(m.copy_kind) AS kind, m.num_bytes AS bytes, e.pid, c.api_call_id,
    e.api_start AS launch_ts_ns, e.op_id
FROM event_of_op AS e
JOIN read_only_memcpys AS m ON m.id = e.id
LEFT JOIN call_of AS c ON c.kind = e.kind AND c.id = e.id
WHERE e.kind = 2 AND e.gpu_start IS NOT NULL

-- @rows memset
SELECT
    e.gpu_start AS ts_ns, e.gpu_stop - e.gpu_start AS dur_ns,
    row_key(113, e.id) AS memset_id, e.device_id, m.num_bytes AS bytes, e.pid,
    c.api_call_id, e.api_start AS launch_ts_ns, e.op_id
FROM event_of_op AS e
JOIN read_only_memsets AS m ON m.id = e.id
LEFT JOIN call_of AS c ON c.kind = e.kind AND c.id = e.id
WHERE e.kind = 3 AND e.gpu_start IS NOT NULL

-- @rows sync
-- Rows have no time of the device: it is the call's. The call says the kind, where it
-- does, and not the number, which is nsys's (see nsight_sqlite.sql).
SELECT
    coalesce(e.gpu_start, e.api_start) AS ts_ns,
    CASE WHEN e.gpu_start IS NULL THEN e.api_stop - e.api_start
        ELSE e.gpu_stop - e.gpu_start END AS dur_ns,
    row_key(114, e.id) AS sync_id,
    CASE
        WHEN regexp_matches(n.string, 'StreamSynchronize') THEN 'stream_sync'
        WHEN regexp_matches(n.string, '(Device|Thread|Ctx)Synchronize')
            THEN 'context_sync'
        WHEN regexp_matches(n.string, 'EventSynchronize') THEN 'event_sync'
        WHEN regexp_matches(n.string, 'StreamWaitEvent') THEN 'stream_wait_event'
        WHEN y.sync_type = 1 THEN 'event_sync'
        WHEN y.sync_type = 2 THEN 'stream_wait_event'
        WHEN y.sync_type = 3 THEN 'stream_sync'
        WHEN y.sync_type = 4 THEN 'context_sync'
        ELSE 'unknown'
    END AS kind,
    nullif(y.event_id, 4294967295) AS event_id, e.device_id, e.pid, c.api_call_id,
    '{' || concat_ws(
        ',', '"syncType":' || y.sync_type,
        CASE WHEN e.gpu_start IS NULL THEN '"timeOf":"call"' END
    ) || '}' AS extra
FROM event_of_op AS e
JOIN read_only_cuda_syncs AS y ON y.id = e.id
LEFT JOIN call_of AS c ON c.kind = e.kind AND c.id = e.id
LEFT JOIN dictionary AS n ON n.id = e.name_id
WHERE e.kind = 4 AND coalesce(e.gpu_start, e.api_start) IS NOT NULL

-- @rows api_call
SELECT
    e.api_start AS ts_ns, e.api_stop - e.api_start AS dur_ns, c.api_call_id,
    CASE
        WHEN e.kind = 1 OR starts_with(n.string, 'cuda') THEN 'cuda_runtime'
        ELSE 'cuda_driver'
    END AS api,
    CASE
        WHEN e.kind = 1 OR coalesce(n.string, '') = '' THEN 'unknown'
        ELSE regexp_replace(n.string, '_v[0-9]{4,}$', '')
    END AS name,
    e.pid, e.tid,
    CASE WHEN e.kind = 1 THEN '{"launches":"kernel"}' END AS extra
FROM event_of_op AS e
JOIN call_of AS c
    ON c.kind = e.kind AND c.id = e.id AND c.api_call_id = row_key(101 + e.kind, e.id)
LEFT JOIN dictionary AS n ON n.id = e.name_id

-- @rows device
WITH known AS (
    SELECT *
    FROM read_only_gpu_infos
    QUALIFY row_number() OVER (PARTITION BY device_id ORDER BY id) = 1
),
-- Memory rows do not say whose they are: they serve where all say the same.
memory AS (
    SELECT CASE WHEN count(DISTINCT total) = 1 THEN nullif(min(total), 0) END AS total
    FROM gpu_memories
),
ids AS (
    SELECT device_id FROM known WHERE device_id IS NOT NULL
    UNION SELECT device_id FROM event_of_op WHERE device_id IS NOT NULL AND kind <= 3
)
SELECT
    ids.device_id, 'gpu' AS kind, 'nvidia' AS vendor, nullif(g.gpu_name, '') AS name,
    nullif(g.sm_count, 0) AS sm_count, memory.total AS memory_bytes,
    g.compute_capability_major AS compute_major,
    g.compute_capability_minor AS compute_minor
FROM ids
CROSS JOIN memory
LEFT JOIN known AS g ON g.device_id = ids.device_id

-- @rows thread
SELECT pid, tid FROM event_of_op WHERE pid IS NOT NULL OR tid IS NOT NULL
UNION
SELECT pid, tid FROM op_execution WHERE pid IS NOT NULL OR tid IS NOT NULL

-- @diagnostic no_streams info DLProf's database names no stream: the nsys_profile.sqlite of the same profile does.
SELECT count(*), NULL FROM event_of_op WHERE kind = 1

-- @diagnostic no_gpu_activity warning The profile holds no kernel, copy or fill. Let the program run to its GPU work before the profile ends.
SELECT CASE WHEN EXISTS (FROM event_of_op WHERE kind <= 3) THEN 0 ELSE 1 END, NULL
