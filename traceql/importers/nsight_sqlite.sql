-- How a Nsight Systems export maps to the schema. Facts: row ids are
-- source table ordinal << 40 | rowid; globalTid is VM << 48 | pid << 24 | tid, and
-- globalPid the same without the tid; correlation ids are per process; times are ns
-- since the session's start, so source_origin_ns is 0 and ts_ns are nsys's own figures.

-- @prepare
CREATE MACRO row_key(ordinal, id) AS (CAST(ordinal AS BIGINT) << 40) | id;
CREATE MACRO pid_of(global_id) AS (global_id >> 24) & 16777215;
CREATE MACRO tid_of(global_id) AS global_id & 16777215;
-- nsys writes "no stream" and "no event" as the largest unsigned number of 32 bits.
CREATE MACRO unless_none(id) AS nullif(id, 4294967295);
-- Exports of older reports have zeros where the report says nothing.
CREATE MACRO known_uuid(id) AS
    CASE WHEN regexp_replace(id, '[0-]', '', 'g') <> '' THEN id END;
CREATE MACRO signed_32(n) AS
    CAST(CASE WHEN n > 2147483647 THEN n - 4294967296 ELSE n END AS INTEGER);
-- SQLite has no unsigned numbers of 64 bits: the upper half is negative in it.
CREATE MACRO unsigned_64(n) AS
    CASE WHEN n < 0 THEN CAST(n AS HUGEINT) + 18446744073709551616 ELSE n END;
-- JSON has no infinity: it becomes a text.
CREATE MACRO json_number(x) AS
    CASE WHEN isfinite(x) THEN CAST(x AS VARCHAR) ELSE '"' || x || '"' END;
CREATE MACRO memory_name(kind) AS
    CASE kind
        WHEN 0 THEN 'pageable' WHEN 1 THEN 'pinned' WHEN 2 THEN 'device'
        WHEN 3 THEN 'array' WHEN 4 THEN 'managed' WHEN 5 THEN 'device_static'
        WHEN 6 THEN 'managed_static' WHEN 7 THEN 'unknown'
    END;
CREATE MACRO copy_direction(kind) AS
    CASE kind
        WHEN 1 THEN 'H2D' WHEN 2 THEN 'D2H' WHEN 3 THEN 'H2A' WHEN 4 THEN 'A2H'
        WHEN 5 THEN 'A2A' WHEN 6 THEN 'A2D' WHEN 7 THEN 'D2A' WHEN 8 THEN 'D2D'
        WHEN 9 THEN 'H2H' WHEN 10 THEN 'P2P' WHEN 11 THEN 'UVM_H2D'
        WHEN 12 THEN 'UVM_D2H' WHEN 13 THEN 'UVM_D2D' ELSE 'unknown'
    END;
-- 256 TiB in one operation is damage, and sums of such overflow.
CREATE MACRO plausible(n) AS CASE WHEN n BETWEEN 0 AND 281474976710656 THEN n END;
CREATE MACRO implausible(n) AS
    CASE WHEN n NOT BETWEEN 0 AND 281474976710656 THEN '"bytes":' || n END;
CREATE MACRO has_home(t) AS
    contains(t, '/home/') OR contains(t, '/Users/') OR contains(t, '/root/')
    OR contains(t, ':\Users\') OR contains(t, ':\\Users\\');

-- Calls that may have launched GPU work: filled from the runtime's chunks, joined by
-- process and correlation. Where two calls share one (a driver call inside its runtime
-- call), the outermost launched: the earliest start, then the latest end.
CREATE TABLE launch (
    pid BIGINT, correlation_id BIGINT, api_call_id BIGINT, ts_ns BIGINT, end_ns BIGINT
);
CREATE TABLE sync_call (api_call_id BIGINT, function VARCHAR);
CREATE TABLE nvtx (
    row_id BIGINT, ts_ns BIGINT, end_ns BIGINT, event_type INTEGER, text VARCHAR,
    pid BIGINT, tid BIGINT, end_tid BIGINT, domain_id BIGINT, category BIGINT,
    range_id BIGINT, color BIGINT, payload VARCHAR, binary_data BLOB
);
CREATE TABLE metric (
    ts_ns BIGINT, type_id BIGINT, name VARCHAR, value DOUBLE
);
CREATE TABLE event_record (row_id BIGINT);
-- The framework's operation that a call was made in, where NVTX ranges tell.
CREATE TABLE op_of_call (api_call_id BIGINT, op_id BIGINT);

-- Activity rows name a GPU by its CUDA ordinal, which each process counts for itself.
-- While ordinals and GPUs pair one to one the ordinal is the device; where processes
-- disagree, the target's own GPU number is.
CREATE TABLE gpu_of_ordinal AS
SELECT DISTINCT pid, cudaId AS ordinal, gpuId AS gpu_id
FROM TARGET_INFO_CUDA_DEVICE
WHERE cudaId IS NOT NULL AND gpuId IS NOT NULL;
CREATE TABLE device_map AS
SELECT pid, ordinal, gpu_id AS device_id
FROM gpu_of_ordinal
WHERE EXISTS (
    FROM gpu_of_ordinal AS a JOIN gpu_of_ordinal AS b
        ON (a.ordinal = b.ordinal) <> (a.gpu_id = b.gpu_id)
);
-- GPU number of the target -> device_id. Exports of 2020 list CUDA's devices apart and
-- do not say which GPU each is: then only a name that occurs once in both tells.
CREATE TABLE device_of_gpu AS
WITH named_once AS (
    SELECT name, min(deviceId) AS device_id
    FROM TARGET_INFO_CUDA_GPU
    GROUP BY name
    HAVING count(DISTINCT deviceId) = 1
        AND name IN (
            SELECT name FROM TARGET_INFO_GPU GROUP BY name HAVING count(*) = 1
        )
)
SELECT
    gpu.row_id, coalesce(gpu.id, gpu.deviceId) AS gpu_id,
    CASE
        WHEN EXISTS (FROM device_map) THEN coalesce(gpu.id, gpu.deviceId)
        WHEN EXISTS (FROM gpu_of_ordinal) THEN (
            SELECT min(o.ordinal) FROM gpu_of_ordinal AS o WHERE o.gpu_id = gpu.id
        )
        WHEN (SELECT count(cuDevice) FROM TARGET_INFO_GPU) > 0 THEN gpu.cuDevice
        WHEN EXISTS (FROM TARGET_INFO_CUDA_GPU) THEN named_once.device_id
        ELSE coalesce(gpu.id, gpu.deviceId)
    END AS device_id
FROM TARGET_INFO_GPU AS gpu
LEFT JOIN named_once ON named_once.name = gpu.name;

CREATE TABLE stream_info AS
SELECT
    processId AS pid, contextId AS context_id, streamId AS stream_id,
    min(signed_32(priority)) AS priority, max(flag) AS flag
FROM TARGET_INFO_CUDA_STREAM
GROUP BY ALL;

-- GPU rows without a process belong to the file's only one, if there is only one.
CREATE TABLE host_process (pid BIGINT);
CREATE MACRO gpu_pid(global_pid) AS
    coalesce(pid_of(global_pid), (SELECT pid FROM host_process));

-- The launching call of each (process, correlation) that a chunk names.
CREATE MACRO launched_by(chunk) AS TABLE
SELECT
    launch.pid, launch.correlation_id,
    arg_min(
        launch.api_call_id,
        CAST(launch.ts_ns AS HUGEINT) * 9223372036854775807 - launch.end_ns
    ) AS api_call_id,
    min(launch.ts_ns) AS launch_ts_ns
FROM launch
SEMI JOIN (
    SELECT gpu_pid(globalPid) AS pid, correlationId AS correlation_id
    FROM query_table(chunk)
    WHERE correlationId <> 0
) USING (pid, correlation_id)
GROUP BY launch.pid, launch.correlation_id;

-- @phase chains

-- @phase host

-- @rows api_call FROM CUPTI_ACTIVITY_KIND_RUNTIME
SELECT
    r."start" AS ts_ns, r."end" - r."start" AS dur_ns,
    row_key(1, r.row_id) AS api_call_id,
    CASE
        WHEN r.eventClass = 0 THEN 'cuda_runtime'
        WHEN r.eventClass = 1 THEN 'cuda_driver'
        WHEN starts_with(CAST(n.value AS VARCHAR), 'cuda') OR n.value IS NULL
            THEN 'cuda_runtime'
        ELSE 'cuda_driver'
    END AS api,
    coalesce(n.function, 'unknown') AS name,
    pid_of(r.globalTid) AS pid, tid_of(r.globalTid) AS tid,
    nullif(r.correlationId, 0) AS correlation_id, r.returnValue AS result,
    k.stack AS callchain,
    -- Class 67 is the frame that CUDA backtraces put round a call.
    CASE WHEN r.eventClass > 1 THEN '{"eventClass":' || r.eventClass || '}' END AS extra
FROM CUPTI_ACTIVITY_KIND_RUNTIME AS r
LEFT JOIN names AS n ON n.id = r.nameId
LEFT JOIN cuda_stack AS k ON k.chain_id = r.callchainId

-- @stage FROM CUPTI_ACTIVITY_KIND_RUNTIME
INSERT INTO launch
SELECT pid_of(globalTid), correlationId, row_key(1, row_id), "start", "end"
FROM CUPTI_ACTIVITY_KIND_RUNTIME
WHERE correlationId <> 0;
INSERT INTO sync_call
SELECT row_key(1, r.row_id), n.function
FROM CUPTI_ACTIVITY_KIND_RUNTIME AS r
JOIN names AS n ON n.id = r.nameId
WHERE n.is_sync

-- @rows api_call FROM OSRT_API
SELECT
    o."start" AS ts_ns, o."end" - o."start" AS dur_ns,
    row_key(2, o.row_id) AS api_call_id, 'osrt' AS api,
    coalesce(n.function, 'unknown') AS name,
    pid_of(o.globalTid) AS pid, tid_of(o.globalTid) AS tid,
    nullif(o.correlationId, 0) AS correlation_id, o.returnValue AS result,
    o.nestingLevel AS nesting_level, k.stack AS callchain
FROM OSRT_API AS o
LEFT JOIN names AS n ON n.id = o.nameId
LEFT JOIN osrt_stack AS k ON k.chain_id = o.callchainId

-- @rows api_call FROM CUDNN_EVENTS
SELECT
    c."start" AS ts_ns, c."end" - c."start" AS dur_ns,
    row_key(3, c.row_id) AS api_call_id, 'cudnn' AS api,
    coalesce(n.function, 'unknown') AS name,
    pid_of(c.globalTid) AS pid, tid_of(c.globalTid) AS tid, c.returnValue AS result
FROM CUDNN_EVENTS AS c
LEFT JOIN names AS n ON n.id = c.nameId

-- @rows api_call FROM CUBLAS_EVENTS
SELECT
    c."start" AS ts_ns, c."end" - c."start" AS dur_ns,
    row_key(4, c.row_id) AS api_call_id, 'cublas' AS api,
    coalesce(n.function, 'unknown') AS name,
    pid_of(c.globalTid) AS pid, tid_of(c.globalTid) AS tid, c.returnValue AS result
FROM CUBLAS_EVENTS AS c
LEFT JOIN names AS n ON n.id = c.nameId

-- @rows overhead FROM PROFILER_OVERHEAD
SELECT
    p."start" AS ts_ns, p."end" - p."start" AS dur_ns,
    coalesce(n.value, 'unknown') AS kind,
    pid_of(p.globalTid) AS pid, tid_of(p.globalTid) AS tid,
    nullif(p.correlationId, 0) AS correlation_id
FROM PROFILER_OVERHEAD AS p
LEFT JOIN names AS n ON n.id = p.nameId

-- @rows overhead FROM CUPTI_ACTIVITY_KIND_OVERHEAD
SELECT
    p."start" AS ts_ns, p."end" - p."start" AS dur_ns,
    coalesce(CAST(n.value AS VARCHAR), e.label, 'unknown') AS kind,
    pid_of(p.globalTid) AS pid, tid_of(p.globalTid) AS tid,
    nullif(p.correlationId, 0) AS correlation_id,
    '{"overheadType":' || p.overheadType || '}' AS extra
FROM CUPTI_ACTIVITY_KIND_OVERHEAD AS p
LEFT JOIN names AS n ON n.id = p.nameId
LEFT JOIN ENUM_CUPTI_OVERHEAD_TYPE AS e ON e.id = p.overheadType

-- @stage FROM NVTX_EVENTS
INSERT INTO nvtx
SELECT
    v.row_id, v."start", v."end", v.eventType,
    coalesce(v."text", CAST(t.value AS VARCHAR)),
    pid_of(v.globalTid), tid_of(v.globalTid), tid_of(v.endGlobalTid),
    v.domainId, v.category, v.rangeId, v.color,
    coalesce(
        CAST(unsigned_64(v.uint64Value) AS VARCHAR), CAST(v.int64Value AS VARCHAR),
        json_number(v.doubleValue), CAST(v.uint32Value AS VARCHAR),
        CAST(v.int32Value AS VARCHAR), json_number(v.floatValue),
        CASE
            WHEN json_valid(coalesce(v.jsonText, CAST(j.value AS VARCHAR)))
                THEN coalesce(v.jsonText, CAST(j.value AS VARCHAR))
            ELSE CAST(to_json(coalesce(v.jsonText, CAST(j.value AS VARCHAR))) AS VARCHAR)
        END
    ),
    v.binaryData
FROM NVTX_EVENTS AS v
LEFT JOIN names AS t ON t.id = v.textId
LEFT JOIN names AS j ON j.id = v.jsonTextId

-- @stage FROM GPU_METRICS
INSERT INTO metric
SELECT m."timestamp", m.typeId, i.metricName, m.value
FROM GPU_METRICS AS m
LEFT JOIN (
    SELECT typeId, metricId, any_value(metricName) AS metricName
    FROM TARGET_INFO_GPU_METRICS GROUP BY ALL
) AS i ON i.typeId = m.typeId AND i.metricId = m.metricId

-- @stage FROM GENERIC_EVENTS
-- The older layout: one JSON object a moment. Newer files repeat it beside GPU_METRICS.
INSERT INTO metric
SELECT ts_ns, type_id, entry.key, TRY_CAST(entry.value AS DOUBLE)
FROM (
    SELECT
        coalesce(g."timestamp", g.rawTimestamp) AS ts_ns, g.typeId AS type_id,
        unnest(map_entries(from_json(g.data, '"MAP(VARCHAR, VARCHAR)"'))) AS entry
    FROM GENERIC_EVENTS AS g
    WHERE NOT EXISTS (FROM TARGET_INFO_GPU_METRICS)
        AND json_valid(g.data)
        AND g.typeId IN (
            SELECT t.typeId
            FROM GENERIC_EVENT_TYPES AS t
            JOIN GENERIC_EVENT_SOURCES AS s ON s.sourceId = t.sourceId
            WHERE s.data LIKE '%GpuMetrics%'
        )
)

-- @phase ops

-- @phase device

-- @prepare
INSERT INTO host_process
SELECT min(pid) FROM launch HAVING count(DISTINCT pid) = 1

-- @nest
SELECT row_id AS id, pid, tid, ts_ns, end_ns FROM nvtx WHERE event_type IN (59, 70)

-- @beside annotation
SELECT
    v.ts_ns, v.end_ns - v.ts_ns AS dur_ns, row_key(11, v.row_id) AS annotation_id,
    CASE
        WHEN v.event_type IN (59, 70) THEN 'push_pop'
        WHEN v.event_type IN (60, 71) THEN 'start_end'
        ELSE 'mark'
    END AS kind,
    v.text AS name, d.text AS domain,
    CASE WHEN v.category <> 0 THEN coalesce(c.text, CAST(v.category AS VARCHAR)) END
        AS category,
    v.pid, v.tid, v.end_tid,
    row_key(11, t.parent_id) AS parent_id, t.depth,
    coalesce(b.content, v.payload) AS payload,
    -- nsys itself ends what was open: exactly at the capture's length.
    (
        v.end_ns IS NULL
        OR v.end_ns IN (SELECT duration FROM ANALYSIS_DETAILS WHERE duration > 0)
    ) AND v.event_type NOT IN (34, 65) AS truncated,
    coalesce(t.crossing, false) AS crossing,
    '{' || nullif(concat_ws(
        ',',
        '"color":' || v.color, '"rangeId":' || nullif(v.range_id, 0),
        CASE WHEN b.row_id IS NULL
            THEN '"binaryData":"' || to_base64(v.binary_data) || '"' END
    ), '') || '}' AS extra
FROM nvtx AS v
LEFT JOIN nested AS t ON t.id = v.row_id
LEFT JOIN payload AS b ON b.row_id = v.row_id
LEFT JOIN (
    SELECT pid, domain_id, arg_min(text, row_id) AS text
    FROM nvtx WHERE event_type = 75 GROUP BY pid, domain_id
) AS d ON d.pid = v.pid AND d.domain_id = v.domain_id
LEFT JOIN (
    SELECT pid, domain_id, category, arg_min(text, row_id) AS text
    FROM nvtx WHERE event_type = 33 GROUP BY pid, domain_id, category
) AS c
    ON c.pid = v.pid AND c.category = v.category
    AND c.domain_id IS NOT DISTINCT FROM v.domain_id
WHERE v.event_type IN (34, 59, 60, 65, 70, 71)

-- @beside counter
-- The low byte of a type names the GPU of the target. The unit stands in brackets.
SELECT
    m.ts_ns, g.device_id, coalesce(m.name, 'metric of type ' || m.type_id) AS name,
    m.value,
    CASE
        WHEN m.name LIKE '%[%\%%]' ESCAPE '\' THEN 'pct'
        WHEN m.name LIKE '%[%]' THEN regexp_extract(m.name, '\[([^\[\]]*)\]$', 1)
        WHEN m.name LIKE '%Frequency' THEN 'Hz'
    END AS unit,
    -- Metrics cover GPUs that CUDA does not see: their number keeps them apart.
    CASE WHEN g.device_id IS NULL THEN '{"gpuId":' || (m.type_id & 255) || '}' END
        AS extra
FROM metric AS m
LEFT JOIN (
    SELECT gpu_id, min(device_id) AS device_id FROM device_of_gpu GROUP BY gpu_id
) AS g ON g.gpu_id = m.type_id & 255
WHERE m.ts_ns IS NOT NULL

-- @stage FROM CUPTI_ACTIVITY_KIND_KERNEL
-- Few combinations of these occur: spelled out once each, and joined as an ENUM.
CREATE OR REPLACE TEMP TABLE kernel_extra_text AS
SELECT
    *,
    '{' || nullif(concat_ws(
        ',',
        '"cacheConfig":' || cacheConfig,
        '"sharedMemoryExecuted":' || sharedMemoryExecuted,
        '"sharedMemoryLimitConfig":' || sharedMemoryLimitConfig,
        '"sharedMemoryRequestedPercentage":' || sharedMemoryRequestedPercentage,
        '"clusterSchedulingPolicy":' || nullif(clusterSchedulingPolicy, 0),
        '"maxPotentialClusterSize":' || nullif(maxPotentialClusterSize, 0),
        '"maxActiveClusters":' || nullif(maxActiveClusters, 0),
        '"qmdBulkReleaseDone":' || nullif(qmdBulkReleaseDone, 0),
        '"qmdPreexitDone":' || nullif(qmdPreexitDone, 0),
        '"qmdLastCtaDone":' || nullif(qmdLastCtaDone, 0),
        '"tensorSizeMinusOneElements":'
            || CAST(to_json(tensorSizeMinusOneElements) AS VARCHAR)
    ), '') || '}' AS extra
FROM (
    SELECT DISTINCT
        cacheConfig, sharedMemoryExecuted, sharedMemoryLimitConfig,
        sharedMemoryRequestedPercentage, clusterSchedulingPolicy,
        maxPotentialClusterSize, maxActiveClusters, qmdBulkReleaseDone,
        qmdPreexitDone, qmdLastCtaDone, tensorSizeMinusOneElements
    FROM CUPTI_ACTIVITY_KIND_KERNEL
);
CREATE OR REPLACE TEMP TYPE kernel_extra_value AS ENUM (
    SELECT DISTINCT extra FROM kernel_extra_text WHERE extra IS NOT NULL
);
CREATE OR REPLACE TEMP TABLE kernel_extra AS
SELECT * REPLACE (CAST(extra AS kernel_extra_value) AS extra) FROM kernel_extra_text;

-- @rows kernel FROM CUPTI_ACTIVITY_KIND_KERNEL
SELECT
    k."start" AS ts_ns, k."end" - k."start" AS dur_ns,
    row_key(5, k.row_id) AS kernel_id,
    n.value AS name, s.value AS short_name, m.value AS mangled_name,
    coalesce(d.device_id, k.deviceId) AS device_id,
    k.contextId AS context_id, k.streamId AS stream_id,
    nullif(k.greenContextId, 0) AS green_context_id, i.priority,
    gpu_pid(k.globalPid) AS pid, nullif(k.correlationId, 0) AS correlation_id,
    l.api_call_id, l.launch_ts_ns, f.op_id,
    nullif(k.graphId, 0) AS graph_id, nullif(k.graphNodeId, 0) AS graph_node_id,
    k.gridId AS grid_id,
    CASE k.launchType
        WHEN 1 THEN 'regular' WHEN 2 THEN 'cooperative'
        WHEN 3 THEN 'cooperative_multi_device'
    END AS launch_type,
    k.gridX AS grid_x, k.gridY AS grid_y, k.gridZ AS grid_z,
    k.blockX AS block_x, k.blockY AS block_y, k.blockZ AS block_z,
    nullif(k.clusterX, 0) AS cluster_x, nullif(k.clusterY, 0) AS cluster_y,
    nullif(k.clusterZ, 0) AS cluster_z,
    k.registersPerThread AS registers_per_thread,
    k.staticSharedMemory AS static_shared_memory_bytes,
    k.dynamicSharedMemory AS dynamic_shared_memory_bytes,
    k.localMemoryPerThread AS local_memory_per_thread_bytes,
    k.localMemoryTotal AS local_memory_total_bytes,
    x.extra
FROM CUPTI_ACTIVITY_KIND_KERNEL AS k
LEFT JOIN names AS n ON n.id = k.demangledName
LEFT JOIN names AS s ON s.id = k.shortName
LEFT JOIN names AS m ON m.id = k.mangledName
LEFT JOIN launched_by('CUPTI_ACTIVITY_KIND_KERNEL') AS l
    ON l.pid = gpu_pid(k.globalPid) AND l.correlation_id = k.correlationId
LEFT JOIN op_of_call AS f ON f.api_call_id = l.api_call_id
LEFT JOIN device_map AS d
    ON d.pid = gpu_pid(k.globalPid) AND d.ordinal = k.deviceId
LEFT JOIN stream_info AS i
    ON i.pid = gpu_pid(k.globalPid) AND i.context_id = k.contextId
    AND i.stream_id = k.streamId
LEFT JOIN kernel_extra AS x
    ON x.cacheConfig IS NOT DISTINCT FROM k.cacheConfig
    AND x.sharedMemoryExecuted IS NOT DISTINCT FROM k.sharedMemoryExecuted
    AND x.sharedMemoryLimitConfig IS NOT DISTINCT FROM k.sharedMemoryLimitConfig
    AND x.sharedMemoryRequestedPercentage IS NOT DISTINCT FROM k.sharedMemoryRequestedPercentage
    AND x.clusterSchedulingPolicy IS NOT DISTINCT FROM k.clusterSchedulingPolicy
    AND x.maxPotentialClusterSize IS NOT DISTINCT FROM k.maxPotentialClusterSize
    AND x.maxActiveClusters IS NOT DISTINCT FROM k.maxActiveClusters
    AND x.qmdBulkReleaseDone IS NOT DISTINCT FROM k.qmdBulkReleaseDone
    AND x.qmdPreexitDone IS NOT DISTINCT FROM k.qmdPreexitDone
    AND x.qmdLastCtaDone IS NOT DISTINCT FROM k.qmdLastCtaDone
    AND x.tensorSizeMinusOneElements IS NOT DISTINCT FROM k.tensorSizeMinusOneElements

-- @rows memcpy FROM CUPTI_ACTIVITY_KIND_MEMCPY
SELECT
    c."start" AS ts_ns, c."end" - c."start" AS dur_ns,
    row_key(6, c.row_id) AS memcpy_id,
    coalesce(d.device_id, c.deviceId) AS device_id,
    c.contextId AS context_id, c.streamId AS stream_id,
    nullif(c.greenContextId, 0) AS green_context_id,
    copy_direction(c.copyKind) AS kind, plausible(c.bytes) AS bytes,
    memory_name(c.srcKind) AS src_memory, memory_name(c.dstKind) AS dst_memory,
    coalesce(ds.device_id, c.srcDeviceId) AS src_device_id,
    coalesce(dd.device_id, c.dstDeviceId) AS dst_device_id,
    c.copyCount AS copy_count,
    gpu_pid(c.globalPid) AS pid, nullif(c.correlationId, 0) AS correlation_id,
    l.api_call_id, l.launch_ts_ns, f.op_id,
    nullif(c.graphNodeId, 0) AS graph_node_id,
    '{' || nullif(concat_ws(
        ',',
        '"srcContextId":' || c.srcContextId, '"dstContextId":' || c.dstContextId,
        '"migrationCause":' || c.migrationCause,
        '"virtualAddress":' || nullif(c.virtualAddress, 0), implausible(c.bytes)
    ), '') || '}' AS extra
FROM CUPTI_ACTIVITY_KIND_MEMCPY AS c
LEFT JOIN launched_by('CUPTI_ACTIVITY_KIND_MEMCPY') AS l
    ON l.pid = gpu_pid(c.globalPid) AND l.correlation_id = c.correlationId
LEFT JOIN op_of_call AS f ON f.api_call_id = l.api_call_id
LEFT JOIN device_map AS d
    ON d.pid = gpu_pid(c.globalPid) AND d.ordinal = c.deviceId
LEFT JOIN device_map AS ds
    ON ds.pid = gpu_pid(c.globalPid) AND ds.ordinal = c.srcDeviceId
LEFT JOIN device_map AS dd
    ON dd.pid = gpu_pid(c.globalPid) AND dd.ordinal = c.dstDeviceId

-- @rows memset FROM CUPTI_ACTIVITY_KIND_MEMSET
SELECT
    c."start" AS ts_ns, c."end" - c."start" AS dur_ns,
    row_key(7, c.row_id) AS memset_id,
    coalesce(d.device_id, c.deviceId) AS device_id,
    c.contextId AS context_id, c.streamId AS stream_id,
    nullif(c.greenContextId, 0) AS green_context_id,
    c.value, plausible(c.bytes) AS bytes, memory_name(c.memKind) AS memory_kind,
    gpu_pid(c.globalPid) AS pid, nullif(c.correlationId, 0) AS correlation_id,
    l.api_call_id, l.launch_ts_ns, f.op_id,
    nullif(c.graphNodeId, 0) AS graph_node_id,
    '{' || implausible(c.bytes) || '}' AS extra
FROM CUPTI_ACTIVITY_KIND_MEMSET AS c
LEFT JOIN launched_by('CUPTI_ACTIVITY_KIND_MEMSET') AS l
    ON l.pid = gpu_pid(c.globalPid) AND l.correlation_id = c.correlationId
LEFT JOIN op_of_call AS f ON f.api_call_id = l.api_call_id
LEFT JOIN device_map AS d
    ON d.pid = gpu_pid(c.globalPid) AND d.ordinal = c.deviceId

-- @rows graph_launch FROM CUPTI_ACTIVITY_KIND_GRAPH_TRACE
SELECT
    g."start" AS ts_ns, g."end" - g."start" AS dur_ns,
    row_key(8, g.row_id) AS graph_launch_id,
    g.graphId AS graph_id, g.graphExecId AS graph_exec_id,
    coalesce(d.device_id, g.deviceId) AS device_id,
    g.contextId AS context_id, g.streamId AS stream_id,
    nullif(g.greenContextId, 0) AS green_context_id,
    gpu_pid(g.globalPid) AS pid, nullif(g.correlationId, 0) AS correlation_id,
    l.api_call_id, l.launch_ts_ns, f.op_id
FROM CUPTI_ACTIVITY_KIND_GRAPH_TRACE AS g
LEFT JOIN launched_by('CUPTI_ACTIVITY_KIND_GRAPH_TRACE') AS l
    ON l.pid = gpu_pid(g.globalPid) AND l.correlation_id = g.correlationId
LEFT JOIN op_of_call AS f ON f.api_call_id = l.api_call_id
LEFT JOIN device_map AS d
    ON d.pid = gpu_pid(g.globalPid) AND d.ordinal = g.deviceId

-- @rows sync FROM CUPTI_ACTIVITY_KIND_SYNCHRONIZATION
-- The number of the kind cannot be trusted: exports of 2022.1 call cudaEventSynchronize
-- 2 and cudaDeviceSynchronize 1, those of 2024.6 and later cudaStreamSynchronize 2.
-- The call, where it is there, says it; the number stays in extra.
SELECT
    y."start" AS ts_ns, y."end" - y."start" AS dur_ns,
    row_key(9, y.row_id) AS sync_id,
    CASE
        WHEN regexp_matches(s.function, 'StreamSynchronize') THEN 'stream_sync'
        WHEN regexp_matches(s.function, '(Device|Thread|Ctx)Synchronize')
            THEN 'context_sync'
        WHEN regexp_matches(s.function, 'EventSynchronize') THEN 'event_sync'
        WHEN regexp_matches(s.function, 'StreamWaitEvent') THEN 'stream_wait_event'
        WHEN y.syncType = 1 THEN 'event_sync'
        WHEN y.syncType = 2 THEN 'stream_wait_event'
        WHEN y.syncType = 3 THEN 'stream_sync'
        WHEN y.syncType = 4 THEN 'context_sync'
        ELSE 'unknown'
    END AS kind,
    unless_none(y.eventId) AS event_id,
    coalesce(d.device_id, y.deviceId) AS device_id,
    y.contextId AS context_id, unless_none(y.streamId) AS stream_id,
    gpu_pid(y.globalPid) AS pid, nullif(y.correlationId, 0) AS correlation_id,
    l.api_call_id,
    '{' || nullif(concat_ws(
        ',',
        '"syncType":' || y.syncType,
        '"eventSyncId":' || unless_none(y.eventSyncId)
    ), '') || '}' AS extra
FROM CUPTI_ACTIVITY_KIND_SYNCHRONIZATION AS y
LEFT JOIN launched_by('CUPTI_ACTIVITY_KIND_SYNCHRONIZATION') AS l
    ON l.pid = gpu_pid(y.globalPid) AND l.correlation_id = y.correlationId
LEFT JOIN sync_call AS s ON s.api_call_id = l.api_call_id
LEFT JOIN device_map AS d
    ON d.pid = gpu_pid(y.globalPid) AND d.ordinal = y.deviceId

-- @rows sync FROM CUPTI_ACTIVITY_KIND_CUDA_EVENT
-- Device times are there only since 3.25 and only when asked for; else the call's.
SELECT
    coalesce(nullif(e."timestamp", 0), l.launch_ts_ns) AS ts_ns,
    row_key(10, e.row_id) AS sync_id, 'event_record' AS kind,
    unless_none(e.eventId) AS event_id,
    coalesce(d.device_id, e.deviceId) AS device_id,
    e.contextId AS context_id, unless_none(e.streamId) AS stream_id,
    gpu_pid(e.globalPid) AS pid, nullif(e.correlationId, 0) AS correlation_id,
    l.api_call_id,
    '{' || nullif(concat_ws(
        ',', '"eventSyncId":' || unless_none(e.eventSyncId),
        CASE WHEN nullif(e."timestamp", 0) IS NULL THEN '"timeOf":"call"' END
    ), '') || '}' AS extra
FROM CUPTI_ACTIVITY_KIND_CUDA_EVENT AS e
LEFT JOIN launched_by('CUPTI_ACTIVITY_KIND_CUDA_EVENT') AS l
    ON l.pid = gpu_pid(e.globalPid) AND l.correlation_id = e.correlationId
LEFT JOIN device_map AS d
    ON d.pid = gpu_pid(e.globalPid) AND d.ordinal = e.deviceId
WHERE coalesce(nullif(e."timestamp", 0), l.launch_ts_ns) IS NOT NULL

-- @stage FROM CUPTI_ACTIVITY_KIND_CUDA_EVENT
INSERT INTO event_record SELECT row_id FROM CUPTI_ACTIVITY_KIND_CUDA_EVENT

-- @phase rest

-- @rows device
WITH used AS (
    SELECT DISTINCT device_id
    FROM (
        SELECT device_id FROM written.kernel
        UNION ALL SELECT device_id FROM written.memcpy
        UNION ALL SELECT device_id FROM written.memset
        UNION ALL SELECT device_id FROM written.graph_launch
        UNION ALL SELECT device_id FROM written.sync
    )
    WHERE device_id IS NOT NULL
),
known AS (
    SELECT
        m.device_id, g.name, known_uuid(g.uuid) AS uuid, g.busLocation AS bus,
        g.smCount, g.totalMemory, g.computeMajor, g.computeMinor, g.maxWarpsPerSm,
        g.threadsPerWarp, g.memoryBandwidth, g.clockRate, g.id, g.l2CacheSize,
        g.chipName
    FROM TARGET_INFO_GPU AS g
    JOIN device_of_gpu AS m ON m.row_id = g.row_id
    WHERE m.device_id IS NOT NULL
    QUALIFY row_number() OVER (PARTITION BY m.device_id ORDER BY g.row_id) = 1
),
older AS (
    -- 2020's table; it gives the clock in kHz and the memory in MiB.
    SELECT *
    FROM TARGET_INFO_CUDA_GPU
    QUALIFY row_number() OVER (PARTITION BY deviceId ORDER BY row_id) = 1
),
sms AS (
    SELECT cudaId, max(numMultiprocessors) AS sm_count, max(known_uuid(uuid)) AS uuid
    FROM TARGET_INFO_CUDA_DEVICE
    WHERE NOT EXISTS (FROM device_map)
    GROUP BY cudaId
),
ids AS (
    SELECT device_id FROM used
    UNION SELECT device_id FROM known
    UNION SELECT deviceId FROM older WHERE deviceId IS NOT NULL
)
SELECT
    ids.device_id, 'gpu' AS kind, 'nvidia' AS vendor,
    coalesce(known.name, older.name) AS name,
    coalesce(known.uuid, sms.uuid) AS uuid, known.bus,
    coalesce(known.smCount, older.numMultiprocessors, sms.sm_count) AS sm_count,
    coalesce(known.totalMemory, older.globalMemorySize * 1048576) AS memory_bytes,
    coalesce(known.computeMajor, older.computeCapabilityMajor) AS compute_major,
    coalesce(known.computeMinor, older.computeCapabilityMinor) AS compute_minor,
    coalesce(known.maxWarpsPerSm, older.maxWarpsPerMultiprocessor) AS max_warps_per_sm,
    coalesce(
        known.maxWarpsPerSm * known.threadsPerWarp,
        older.maxWarpsPerMultiprocessor * older.numThreadsPerWarp
    ) AS max_threads_per_sm,
    coalesce(known.threadsPerWarp, older.numThreadsPerWarp) AS threads_per_warp,
    known.memoryBandwidth AS memory_bandwidth_bytes_per_s,
    coalesce(known.clockRate, older.coreClockRate * 1000) AS core_clock_hz,
    '{' || nullif(concat_ws(
        ',', '"gpuId":' || known.id,
        '"l2CacheSize":' || coalesce(known.l2CacheSize, older.l2CacheSize),
        '"chipName":' || CAST(to_json(nullif(known.chipName, '')) AS VARCHAR)
    ), '') || '}' AS extra
FROM ids
LEFT JOIN known ON known.device_id = ids.device_id
LEFT JOIN older ON older.deviceId = ids.device_id
LEFT JOIN sms ON sms.cudaId = ids.device_id

-- @rows thread
-- Only processes and threads that the capture has events of: nsys lists the machine's.
WITH used AS (
    SELECT pid, tid FROM written.api_call
    UNION SELECT pid, tid FROM written.annotation
    UNION SELECT pid, end_tid FROM written.annotation WHERE end_tid IS NOT NULL
    UNION SELECT pid, tid FROM written.overhead
    UNION
    SELECT pid, tid
    FROM (SELECT pid, tid FROM cpu_sample UNION SELECT pid, tid FROM cpu_switch)
    WHERE pid IN (
        SELECT pid FROM written.api_call UNION SELECT pid FROM written.annotation
        UNION SELECT pid FROM written.overhead
    )
),
thread_name AS (
    SELECT pid_of(t.globalTid) AS pid, tid_of(t.globalTid) AS tid,
        arg_max(s.value, t.row_id) AS name
    FROM ThreadNames AS t
    JOIN StringIds AS s ON s.id = t.nameId
    GROUP BY ALL
),
given_name AS (
    SELECT pid, tid, arg_max(text, row_id) AS name
    FROM nvtx WHERE event_type = 39 GROUP BY ALL
),
process AS (
    SELECT coalesce(pid_of(globalPid), pid) AS pid, any_value(name) AS name
    FROM PROCESSES GROUP BY ALL
)
SELECT
    used.pid, used.tid, process.name AS process_name,
    coalesce(given_name.name, thread_name.name) AS thread_name
FROM used
LEFT JOIN process ON process.pid = used.pid
LEFT JOIN thread_name ON thread_name.pid = used.pid AND thread_name.tid = used.tid
LEFT JOIN given_name ON given_name.pid = used.pid AND given_name.tid = used.tid
WHERE used.pid IS NOT NULL OR used.tid IS NOT NULL

-- @rows context
WITH null_stream AS (
    SELECT processId, deviceId, contextId, streamId, NULL AS parent, 0 AS green
    FROM TARGET_INFO_CUDA_NULL_STREAM
    UNION
    SELECT processId, deviceId, contextId, nullStreamId, nullif(parentContextId, 0),
        isGreenContext
    FROM TARGET_INFO_CUDA_CONTEXT_INFO
),
named AS (
    SELECT processId, contextId, streamId, any_value(name) AS name
    FROM TARGET_INFO_NVTX_CUDA_STREAM GROUP BY ALL
),
used AS (
    SELECT DISTINCT pid, device_id, context_id, stream_id
    FROM (
        SELECT pid, device_id, context_id, stream_id FROM written.kernel
        UNION ALL
        SELECT pid, device_id, context_id, stream_id FROM written.memcpy
        UNION ALL
        SELECT pid, device_id, context_id, stream_id FROM written.memset
        UNION ALL
        SELECT pid, device_id, context_id, stream_id FROM written.graph_launch
    )
    WHERE context_id IS NOT NULL
),
home AS (
    -- A stream's declaration has no device: its context's has.
    SELECT pid, context_id, min(device_id) AS device_id FROM used GROUP BY ALL
    UNION
    SELECT n.processId, n.contextId, min(coalesce(d.device_id, n.deviceId))
    FROM null_stream AS n
    LEFT JOIN device_map AS d ON d.pid = n.processId AND d.ordinal = n.deviceId
    WHERE NOT EXISTS (
        FROM used AS u WHERE u.pid = n.processId AND u.context_id = n.contextId
    )
    GROUP BY ALL
),
stream AS (
    SELECT pid, context_id, stream_id FROM used WHERE stream_id IS NOT NULL
    UNION SELECT pid, context_id, stream_id FROM stream_info
    UNION SELECT processId, contextId, streamId FROM null_stream
)
SELECT
    'context' AS kind, home.device_id, home.context_id, NULL AS stream_id,
    max(n.parent) AS parent_context_id, home.pid, NULL AS name, NULL AS priority,
    CASE WHEN bool_or(n.green = 1) THEN 'green' END AS flags
FROM home
LEFT JOIN null_stream AS n
    ON n.processId = home.pid AND n.contextId = home.context_id
GROUP BY home.device_id, home.context_id, home.pid
UNION ALL
SELECT
    'stream', home.device_id, stream.context_id, stream.stream_id, NULL, stream.pid,
    named.name, i.priority,
    CASE
        WHEN n.streamId IS NOT NULL THEN 'null'
        WHEN i.flag = 1 THEN 'default' WHEN i.flag = 2 THEN 'non_blocking'
        WHEN i.flag = 3 THEN 'null'
    END
FROM stream
LEFT JOIN home ON home.pid = stream.pid AND home.context_id = stream.context_id
LEFT JOIN stream_info AS i
    ON i.pid = stream.pid AND i.context_id = stream.context_id
    AND i.stream_id = stream.stream_id
LEFT JOIN null_stream AS n
    ON n.processId = stream.pid AND n.contextId = stream.context_id
    AND n.streamId = stream.stream_id
LEFT JOIN named
    ON named.processId = stream.pid AND named.contextId = stream.context_id
    AND named.streamId = stream.stream_id

-- @findings
-- What nsys itself had to complain of; what it merely tells stays out.
SELECT
    'nsys_message' AS code,
    CASE severity WHEN 3 THEN 'error' ELSE 'warning' END AS severity,
    count(*) AS count, "text" AS message, NULL AS example
FROM DIAGNOSTIC_EVENT
WHERE "text" IS NOT NULL AND severity IN (2, 3)
GROUP BY ALL
ORDER BY min("timestamp")

-- @run
WITH meta AS (
    SELECT name, value FROM EXPORT_META_DATA
    UNION ALL SELECT name, value FROM META_DATA_EXPORT
)
SELECT
    'Nsight Systems' AS tool,
    (SELECT max(value) FROM meta WHERE name = 'EXPORT_PRODUCT_VERSION') AS tool_version,
    (SELECT max(value) FROM meta WHERE name = 'EXPORT_SCHEMA_VERSION')
        AS source_schema_version,
    0 AS source_origin_ns,
    (SELECT min(utcEpochNs) FROM TARGET_INFO_SESSION_START_TIME) AS origin_unix_ns,
    CASE
        WHEN (SELECT min(utcEpochNs) FROM TARGET_INFO_SESSION_START_TIME) IS NULL
            THEN 'none'
        ELSE 'session_start'
    END AS clock,
    -- MPI's own rank; exports of before the MPI tables have it as a thread's name.
    (
        SELECT CASE WHEN count(DISTINCT rank_of) = 1 THEN min(rank_of) END
        FROM (
            SELECT "rank" AS rank_of FROM MPI_RANKS
            UNION ALL
            SELECT TRY_CAST(regexp_extract(text, '^MPI Rank ([0-9]+)$', 1) AS INTEGER)
            FROM nvtx WHERE event_type = 39 AND text LIKE 'MPI Rank %'
        )
    ) AS "rank",
    -- MPI_COMM_WORLD is the largest communicator that there is.
    (SELECT max("size") FROM MPI_COMMUNICATORS) AS world_size,
    (SELECT max(value) FROM TARGET_INFO_SYSTEM_ENV WHERE name = 'Hostname') AS host,
    (
        SELECT CAST(json_group_object(name, value) AS VARCHAR)
        FROM (
            SELECT name, max(value) AS value FROM TARGET_INFO_SYSTEM_ENV
            WHERE name IS NOT NULL GROUP BY name
        )
    ) AS environment

-- @diagnostic orphan_kernels info Kernels whose launching call is not in the capture (it began later, or dropped the call): no launch time; no step owns them.
SELECT count(*), min(name) FROM written.kernel WHERE api_call_id IS NULL

-- @diagnostic orphan_copies info Copies and fills whose launching call is not in the capture: no launch time; no step owns them.
SELECT count(*), min(name)
FROM (
    SELECT 'memcpy ' || kind AS name FROM written.memcpy WHERE api_call_id IS NULL
    UNION ALL SELECT 'memset' FROM written.memset WHERE api_call_id IS NULL
)

-- @diagnostic no_process warning GPU rows name no process: the capture's only host process stands in for it; where there are several, no launch is known.
SELECT count(*), NULL
FROM written.kernel
WHERE NOT EXISTS (
    FROM source_column
    WHERE table_name = 'CUPTI_ACTIVITY_KIND_KERNEL' AND column_name = 'globalPid'
)

-- @diagnostic ordinals_may_be_shared warning Several processes ran kernels on a device of the same number, and the export does not say which GPU each meant: with CUDA_VISIBLE_DEVICES set per process, different GPUs are taken for one. Export with nsys 2025 or later.
SELECT count(*), 'device ' || min(device_id)
FROM (
    SELECT device_id
    FROM written.kernel
    WHERE NOT EXISTS (FROM gpu_of_ordinal)
        AND (SELECT count(DISTINCT coalesce(id, deviceId)) FROM TARGET_INFO_GPU) > 1
    GROUP BY device_id
    HAVING count(DISTINCT pid) > 1
)

-- @diagnostic processes_share_ordinals info Processes number their GPUs differently: device_id is the target's GPU number, not the CUDA ordinal.
SELECT count(*), NULL FROM device_map

-- @diagnostic graphs_traced_whole info CUDA graphs were traced as a whole: the kernels in them have no rows. Record with --cuda-graph-trace=node to see them.
SELECT count(*), NULL FROM written.graph_launch

-- @diagnostic negative_duration data_loss Rows end before they start: they count as operations, not as time.
SELECT count(*), min(name)
FROM (
    SELECT coalesce(name, 'kernel') AS name FROM written.kernel WHERE dur_ns < 0
    UNION ALL SELECT 'memcpy ' || kind FROM written.memcpy WHERE dur_ns < 0
    UNION ALL SELECT 'memset' FROM written.memset WHERE dur_ns < 0
    UNION ALL SELECT 'graph' FROM written.graph_launch WHERE dur_ns < 0
    UNION ALL SELECT kind FROM written.sync WHERE dur_ns < 0
    UNION ALL SELECT kind FROM written.overhead WHERE dur_ns < 0
    UNION ALL SELECT name FROM written.api_call WHERE dur_ns < 0
    UNION ALL SELECT name FROM written.annotation WHERE dur_ns < 0
)

-- @diagnostic no_duration data_loss Rows have no end: they count as operations, not as time.
SELECT count(*), min(name)
FROM (
    SELECT coalesce(name, 'kernel') AS name FROM written.kernel WHERE dur_ns IS NULL
    UNION ALL SELECT 'memcpy ' || kind FROM written.memcpy WHERE dur_ns IS NULL
    UNION ALL SELECT 'memset' FROM written.memset WHERE dur_ns IS NULL
    UNION ALL SELECT 'graph' FROM written.graph_launch WHERE dur_ns IS NULL
    UNION ALL SELECT name FROM written.api_call WHERE dur_ns IS NULL
)

-- @diagnostic implausible_bytes data_loss Copies, fills or allocations of impossible size: their bytes are NULL, and stand in extra.
SELECT count(*), min(example)
FROM (
    SELECT 'memcpy ' || kind AS example FROM written.memcpy
    WHERE bytes IS NULL AND contains(extra, '"bytes":')
    UNION ALL
    SELECT 'memset' FROM written.memset WHERE bytes IS NULL AND extra IS NOT NULL
    UNION ALL
    SELECT 'memory_event' FROM written.memory_event
    WHERE bytes IS NULL AND contains(extra, '"bytes":')
        AND NOT contains(extra, '"memoryOperationType":')
)

-- @diagnostic unnamed_kernels data_loss Kernels name a string that the export does not have: they have no name.
SELECT count(*), NULL FROM written.kernel WHERE name IS NULL

-- @diagnostic unfinished_ranges info Ranges that the capture's end cut off: they have no duration, or last until that end.
SELECT count(*), min(name) FROM written.annotation WHERE truncated

-- @diagnostic crossing_ranges info Push/pop ranges that overlap without nesting.
SELECT count(*), min(name) FROM written.annotation WHERE crossing

-- @diagnostic event_records_without_time data_loss Event records without a device time whose call is not in the capture: left out.
SELECT
    (SELECT count(*) FROM event_record)
    - (SELECT count(*) FROM written.sync WHERE kind = 'event_record'),
    NULL

-- @diagnostic invalid_utf8 data_loss Names hold bytes that are no UTF-8: they read as U+FFFD.
-- No example: StringIds holds names of the machine's other processes too.
SELECT count(*), NULL
FROM (
    SELECT value FROM StringIds WHERE contains(value, chr(65533))
    UNION SELECT text FROM nvtx WHERE contains(text, chr(65533))
)

-- @diagnostic home_paths info Names hold paths of home directories; import with --redact to replace them.
SELECT count(*), NULL
FROM (
    SELECT name FROM written.annotation WHERE has_home(name) OR has_home(payload)
    UNION ALL
    SELECT process_name FROM (SELECT DISTINCT process_name FROM written.thread)
    WHERE has_home(process_name)
    UNION ALL
    SELECT name FROM (SELECT DISTINCT name FROM written.kernel)
    WHERE has_home(name)
    UNION ALL
    SELECT "text" FROM DIAGNOSTIC_EVENT WHERE severity IN (2, 3) AND has_home("text")
    UNION ALL
    SELECT extra FROM (SELECT DISTINCT extra FROM written.page_fault)
    WHERE has_home(extra)
    UNION ALL
    SELECT extra FROM written.api_call WHERE api = 'openacc' AND has_home(extra)
    UNION ALL
    SELECT stack FROM sample_stack WHERE has_home(stack)
    UNION ALL
    SELECT stack FROM cuda_stack WHERE has_home(stack)
    UNION ALL
    SELECT stack FROM osrt_stack WHERE has_home(stack)
)

-- @diagnostic domains_without_ranges warning NVTX domains were created but no range was recorded: the NVTX library is newer than this nsys understands.
SELECT
    CASE
        WHEN EXISTS (FROM nvtx WHERE event_type IN (34, 59, 60, 70, 71)) THEN 0
        ELSE count(*)
    END,
    min(text)
FROM nvtx
WHERE event_type = 75

-- @diagnostic no_gpu_activity warning The capture holds no kernel, copy, fill or graph launch. Record with nsys profile -t cuda,nvtx and let the program run to its GPU work.
SELECT
    CASE
        WHEN EXISTS (FROM written.kernel) OR EXISTS (FROM written.memcpy)
            OR EXISTS (FROM written.memset) OR EXISTS (FROM written.graph_launch)
            THEN 0
        ELSE 1
    END,
    NULL

-- @diagnostic no_api_calls info The capture holds no CUDA API calls: no launch times. Record with nsys profile -t cuda.
SELECT CASE WHEN EXISTS (FROM written.api_call WHERE api LIKE 'cuda%') THEN 0 ELSE 1 END,
    NULL

-- @diagnostic no_annotations info The capture holds no NVTX ranges: no iterations by pattern, no attribution. Annotate the program and record with nsys profile -t nvtx.
SELECT CASE WHEN EXISTS (FROM written.annotation) THEN 0 ELSE 1 END, NULL
