-- What the importer reads of a Nsight Systems SQLite export, by table and column name.
-- A table or column that an export lacks is empty or NULL: exports are lazy and change
-- with every version (2020.3 to 2026.2 seen). demangledName, shortName, mangledName,
-- nameId, textId and jsonTextId are ids of StringIds; the reader gives each chunk a
-- table `names` (id, value, function) of those that it holds.

CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (
    row_id BIGINT, "start" BIGINT, "end" BIGINT, deviceId INTEGER, contextId BIGINT,
    greenContextId BIGINT, streamId BIGINT, correlationId BIGINT, globalPid BIGINT,
    demangledName BIGINT, shortName BIGINT, mangledName BIGINT,
    launchType TINYINT, cacheConfig INTEGER, registersPerThread INTEGER,
    gridX INTEGER, gridY INTEGER, gridZ INTEGER,
    blockX INTEGER, blockY INTEGER, blockZ INTEGER,
    clusterX INTEGER, clusterY INTEGER, clusterZ INTEGER,
    staticSharedMemory BIGINT, dynamicSharedMemory BIGINT,
    localMemoryPerThread BIGINT, localMemoryTotal BIGINT, gridId BIGINT,
    sharedMemoryExecuted BIGINT, sharedMemoryLimitConfig INTEGER,
    sharedMemoryRequestedPercentage INTEGER, graphId BIGINT, graphNodeId BIGINT,
    clusterSchedulingPolicy INTEGER, maxPotentialClusterSize INTEGER,
    maxActiveClusters INTEGER, qmdBulkReleaseDone BIGINT, qmdPreexitDone BIGINT,
    qmdLastCtaDone BIGINT, tensorSizeMinusOneElements VARCHAR
);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (
    row_id BIGINT, "start" BIGINT, "end" BIGINT, deviceId INTEGER, contextId BIGINT,
    greenContextId BIGINT, streamId BIGINT, correlationId BIGINT, globalPid BIGINT,
    bytes BIGINT, copyKind TINYINT, srcKind TINYINT, dstKind TINYINT,
    srcDeviceId INTEGER, dstDeviceId INTEGER, srcContextId BIGINT, dstContextId BIGINT,
    migrationCause INTEGER, graphNodeId BIGINT, virtualAddress BIGINT, copyCount BIGINT
);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET (
    row_id BIGINT, "start" BIGINT, "end" BIGINT, deviceId INTEGER, contextId BIGINT,
    greenContextId BIGINT, streamId BIGINT, correlationId BIGINT, globalPid BIGINT,
    value BIGINT, bytes BIGINT, graphNodeId BIGINT, memKind TINYINT
);
CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (
    row_id BIGINT, "start" BIGINT, "end" BIGINT, deviceId INTEGER, contextId BIGINT,
    greenContextId BIGINT, streamId BIGINT, correlationId BIGINT, globalPid BIGINT,
    graphId BIGINT, graphExecId BIGINT
);
CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (
    row_id BIGINT, "start" BIGINT, "end" BIGINT, deviceId INTEGER, contextId BIGINT,
    greenContextId BIGINT, streamId BIGINT, correlationId BIGINT, globalPid BIGINT,
    syncType INTEGER, eventId BIGINT, eventSyncId BIGINT
);
CREATE TABLE CUPTI_ACTIVITY_KIND_CUDA_EVENT (
    row_id BIGINT, "timestamp" BIGINT, deviceId INTEGER, contextId BIGINT,
    greenContextId BIGINT, streamId BIGINT, correlationId BIGINT, globalPid BIGINT,
    eventId BIGINT, eventSyncId BIGINT
);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (
    row_id BIGINT, "start" BIGINT, "end" BIGINT, eventClass SMALLINT, globalTid BIGINT,
    correlationId BIGINT, nameId BIGINT, returnValue BIGINT, callchainId BIGINT
);
CREATE TABLE OSRT_API (
    row_id BIGINT, "start" BIGINT, "end" BIGINT, globalTid BIGINT,
    correlationId BIGINT, nameId BIGINT, returnValue BIGINT, nestingLevel INTEGER,
    callchainId BIGINT
);
CREATE TABLE CUDNN_EVENTS (
    row_id BIGINT, "start" BIGINT, "end" BIGINT, globalTid BIGINT,
    nameId BIGINT, returnValue BIGINT
);
CREATE TABLE CUBLAS_EVENTS (
    row_id BIGINT, "start" BIGINT, "end" BIGINT, globalTid BIGINT,
    nameId BIGINT, returnValue BIGINT
);
CREATE TABLE NVTX_EVENTS (
    row_id BIGINT, "start" BIGINT, "end" BIGINT, eventType INTEGER, rangeId BIGINT,
    category BIGINT, color BIGINT, "text" VARCHAR, textId BIGINT, globalTid BIGINT,
    endGlobalTid BIGINT, domainId BIGINT, uint64Value BIGINT, int64Value BIGINT,
    doubleValue DOUBLE, uint32Value BIGINT, int32Value BIGINT, floatValue DOUBLE,
    jsonText VARCHAR, jsonTextId BIGINT, binaryData BLOB
);
CREATE TABLE PROFILER_OVERHEAD (
    row_id BIGINT, "start" BIGINT, "end" BIGINT, globalTid BIGINT,
    correlationId BIGINT, nameId BIGINT
);
CREATE TABLE CUPTI_ACTIVITY_KIND_OVERHEAD (
    row_id BIGINT, "start" BIGINT, "end" BIGINT, globalTid BIGINT,
    correlationId BIGINT, nameId BIGINT, overheadType INTEGER
);
CREATE TABLE GPU_METRICS (
    row_id BIGINT, "timestamp" BIGINT, typeId BIGINT, metricId BIGINT, value BIGINT
);
CREATE TABLE GENERIC_EVENTS (
    row_id BIGINT, "timestamp" BIGINT, rawTimestamp BIGINT, typeId BIGINT, data VARCHAR
);

-- Small tables, read whole.
CREATE TABLE StringIds (id BIGINT, value VARCHAR);
CREATE TABLE ThreadNames (row_id BIGINT, nameId BIGINT, globalTid BIGINT);
CREATE TABLE PROCESSES (globalPid BIGINT, pid BIGINT, name VARCHAR);
CREATE TABLE TARGET_INFO_GPU (
    row_id BIGINT, id INTEGER, deviceId INTEGER, name VARCHAR, busLocation VARCHAR,
    uuid VARCHAR, cuDevice INTEGER, smCount INTEGER, totalMemory BIGINT,
    memoryBandwidth BIGINT, clockRate BIGINT, computeMajor INTEGER,
    computeMinor INTEGER, maxWarpsPerSm INTEGER, threadsPerWarp INTEGER,
    l2CacheSize BIGINT, chipName VARCHAR
);
CREATE TABLE TARGET_INFO_CUDA_GPU (
    row_id BIGINT, deviceId INTEGER, pid BIGINT, name VARCHAR,
    globalMemoryBandwidth BIGINT, globalMemorySize BIGINT, l2CacheSize BIGINT,
    numThreadsPerWarp INTEGER, coreClockRate BIGINT, numMultiprocessors INTEGER,
    maxWarpsPerMultiprocessor INTEGER, computeCapabilityMajor INTEGER,
    computeCapabilityMinor INTEGER
);
CREATE TABLE TARGET_INFO_CUDA_DEVICE (
    row_id BIGINT, gpuId INTEGER, cudaId INTEGER, pid BIGINT, uuid VARCHAR,
    numMultiprocessors INTEGER
);
CREATE TABLE TARGET_INFO_CUDA_NULL_STREAM (
    streamId BIGINT, processId BIGINT, deviceId INTEGER, contextId BIGINT
);
CREATE TABLE TARGET_INFO_CUDA_CONTEXT_INFO (
    nullStreamId BIGINT, processId BIGINT, deviceId INTEGER, contextId BIGINT,
    parentContextId BIGINT, isGreenContext INTEGER
);
CREATE TABLE TARGET_INFO_CUDA_STREAM (
    streamId BIGINT, processId BIGINT, contextId BIGINT, priority BIGINT, flag INTEGER
);
CREATE TABLE TARGET_INFO_NVTX_CUDA_STREAM (
    name VARCHAR, processId BIGINT, deviceId INTEGER, contextId BIGINT, streamId BIGINT
);
CREATE TABLE TARGET_INFO_GPU_METRICS (
    typeId BIGINT, metricId BIGINT, metricName VARCHAR
);
CREATE TABLE GENERIC_EVENT_TYPES (typeId BIGINT, sourceId BIGINT, data VARCHAR);
CREATE TABLE GENERIC_EVENT_SOURCES (sourceId BIGINT, data VARCHAR);
CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs BIGINT);
CREATE TABLE ANALYSIS_DETAILS (duration BIGINT);
CREATE TABLE TARGET_INFO_SYSTEM_ENV (name VARCHAR, value VARCHAR);
CREATE TABLE EXPORT_META_DATA (name VARCHAR, value VARCHAR);
CREATE TABLE META_DATA_EXPORT (name VARCHAR, value VARCHAR);
CREATE TABLE DIAGNOSTIC_EVENT (
    row_id BIGINT, "timestamp" BIGINT, severity INTEGER, "text" VARCHAR
);
CREATE TABLE ENUM_CUPTI_OVERHEAD_TYPE (id INTEGER, label VARCHAR);
