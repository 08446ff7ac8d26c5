-- Device memory, unified memory and the making of CUDA graphs. Row ids, pids and times
-- as nsight_sqlite.sql says.

-- @phase device

-- @rows memory_event FROM CUDA_GPU_MEMORY_USAGE_EVENTS
SELECT
    m."start" AS ts_ns,
    -- Pageable and pinned memory is the host's.
    CASE WHEN m.memKind NOT IN (0, 1) OR m.memKind IS NULL
        THEN coalesce(d.device_id, m.deviceId) END AS device_id,
    gpu_pid(m.globalPid) AS pid, unsigned_64(m.address) AS address,
    CASE m.memoryOperationType
        WHEN 0 THEN plausible(m.bytes) WHEN 1 THEN -plausible(m.bytes)
    END AS bytes,
    memory_name(m.memKind) AS kind, m.name,
    nullif(m.correlationId, 0) AS correlation_id,
    json_object_of(concat_ws(
        ',',
        '"contextId":' || m.contextId, '"streamId":' || unless_none(m.streamId),
        '"pc":' || nullif(unsigned_64(m.pc), 0),
        CASE
            WHEN m.memoryOperationType NOT IN (0, 1)
                THEN '"memoryOperationType":' || m.memoryOperationType
                    || ',"bytes":' || m.bytes
            ELSE implausible(m.bytes)
        END,
        '"localMemoryPoolAddress":'
            || nullif(unsigned_64(m.localMemoryPoolAddress), 0),
        '"localMemoryPoolReleaseThreshold":' || m.localMemoryPoolReleaseThreshold,
        '"localMemoryPoolSize":' || m.localMemoryPoolSize,
        '"localMemoryPoolUtilizedSize":' || m.localMemoryPoolUtilizedSize,
        '"importedMemoryPoolAddress":'
            || nullif(unsigned_64(m.importedMemoryPoolAddress), 0),
        '"importedMemoryPoolProcessId":' || nullif(m.importedMemoryPoolProcessId, 0)
    )) AS extra
FROM CUDA_GPU_MEMORY_USAGE_EVENTS AS m
LEFT JOIN device_map AS d
    ON d.pid = gpu_pid(m.globalPid) AND d.ordinal = m.deviceId

-- @rows object_event FROM CUDA_GPU_MEMORY_POOL_EVENTS
SELECT
    m."start" AS ts_ns, 'cuda_memory_pool' AS name,
    CAST(unsigned_64(m.address) AS VARCHAR) AS id,
    CASE m.operationType WHEN 1 THEN 'create' WHEN 2 THEN 'delete' ELSE 'snapshot' END
        AS kind,
    json_object_of(concat_ws(
        ',',
        '"operation":' || CASE m.operationType
            WHEN 1 THEN '"created"' WHEN 2 THEN '"destroyed"' WHEN 3 THEN '"trimmed"'
            ELSE CAST(m.operationType AS VARCHAR)
        END,
        '"type":' || CASE m.poolType
            WHEN 1 THEN '"local"' WHEN 2 THEN '"imported"'
            ELSE CAST(m.poolType AS VARCHAR)
        END,
        '"device_id":' || coalesce(d.device_id, m.deviceId),
        '"bytes":' || m.localMemoryPoolSize,
        '"used_bytes":' || m.localMemoryPoolUtilizedSize,
        '"release_threshold_bytes":' || m.localMemoryPoolReleaseThreshold,
        '"min_bytes_to_keep":' || m.minBytesToKeep
    )) AS snapshot,
    gpu_pid(m.globalPid) AS pid,
    '{"correlationId":' || nullif(m.correlationId, 0) || '}' AS extra
FROM CUDA_GPU_MEMORY_POOL_EVENTS AS m
LEFT JOIN device_map AS d
    ON d.pid = gpu_pid(m.globalPid) AND d.ordinal = m.deviceId

-- @rows page_fault FROM CUDA_UM_CPU_PAGE_FAULT_EVENTS
-- One row is one fault of a processor.
SELECT
    f."start" AS ts_ns, gpu_pid(f.globalPid) AS pid,
    unsigned_64(f.address) AS address, 1 AS pages,
    json_object_of(concat_ws(
        ',', '"instruction":' || json_text(i.value), '"module":' || json_text(m.value),
        '"sourceFile":' || json_text(s.value), '"sourceLine":' || f.sourceLine,
        '"pc":' || nullif(unsigned_64(f.originalFaultPc), 0)
    )) AS extra
FROM CUDA_UM_CPU_PAGE_FAULT_EVENTS AS f
LEFT JOIN main.StringIds AS i ON i.id = f.CpuInstruction
LEFT JOIN main.StringIds AS m ON m.id = f.module
LEFT JOIN main.StringIds AS s ON s.id = f.sourceFile

-- @rows page_fault FROM CUDA_UM_GPU_PAGE_FAULT_EVENTS
SELECT
    f."start" AS ts_ns, f."end" - f."start" AS dur_ns,
    coalesce(d.device_id, f.deviceId) AS device_id, gpu_pid(f.globalPid) AS pid,
    unsigned_64(f.address) AS address, f.numberOfPageFaults AS pages,
    CASE f.faultAccessType
        WHEN 1 THEN 'read' WHEN 2 THEN 'write' WHEN 3 THEN 'atomic'
        WHEN 4 THEN 'prefetch' ELSE 'unknown'
    END AS access
FROM CUDA_UM_GPU_PAGE_FAULT_EVENTS AS f
LEFT JOIN device_map AS d
    ON d.pid = gpu_pid(f.globalPid) AND d.ordinal = f.deviceId

-- @prepare
-- A graph, its executable and its nodes are made, or cloned, once each.
CREATE MACRO graph_objects(chunk) AS TABLE
SELECT
    g."start" AS ts_ns,
    CASE
        WHEN nullif(g.graphNodeId, 0) IS NOT NULL THEN 'cuda_graph_node'
        WHEN nullif(g.graphExecId, 0) IS NOT NULL THEN 'cuda_graph_exec'
        ELSE 'cuda_graph'
    END AS name,
    CAST(coalesce(
        nullif(g.graphNodeId, 0), nullif(g.graphExecId, 0), g.graphId
    ) AS VARCHAR) AS id,
    'create' AS kind,
    json_object_of(concat_ws(
        ',', '"event":' || json_text(CAST(n.value AS VARCHAR)),
        '"graph_id":' || nullif(g.graphId, 0),
        '"original_graph_id":' || nullif(g.originalGraphId, 0),
        '"original_graph_node_id":' || nullif(g.originalGraphNodeId, 0)
    )) AS snapshot,
    pid_of(g.globalTid) AS pid, tid_of(g.globalTid) AS tid
FROM query_table(chunk) AS g
LEFT JOIN names AS n ON n.id = g.nameId

-- @rows object_event FROM CUDA_GRAPH_EVENTS
FROM graph_objects('CUDA_GRAPH_EVENTS')

-- @rows object_event FROM CUDA_GRAPH_NODE_EVENTS
FROM graph_objects('CUDA_GRAPH_NODE_EVENTS')
