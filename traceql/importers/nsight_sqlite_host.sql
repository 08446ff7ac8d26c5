-- Host calls beside CUDA's: MPI, UCX, OpenACC, OpenMP, video engines. Row ids, pids and
-- times as nsight_sqlite.sql says.

-- @prepare
CREATE MACRO json_text(t) AS CAST(to_json(t) AS VARCHAR);
CREATE MACRO json_object_of(parts) AS '{' || nullif(parts, '') || '}';
CREATE TABLE mpi_rank AS
SELECT pid_of(globalTid) AS pid, min("rank") AS mpi_rank
FROM MPI_RANKS
GROUP BY ALL
HAVING count(DISTINCT "rank") = 1;
-- A handle is a number of its rank's, and may be used again after MPI_Comm_free.
CREATE TABLE mpi_communicator AS
SELECT
    "rank" AS mpi_rank, commHandle AS handle, min("timestamp") AS since_ns,
    any_value("size") AS group_size, any_value(localRank) AS local_rank,
    any_value(nullif(commUid, 0)) AS uid, any_value(members) AS members
FROM MPI_COMMUNICATORS
GROUP BY "rank", commHandle, coalesce(commUid, row_id);
-- Functions that move data or meet, and what the schema calls that. The other ones
-- (windows, files, probes, persistent set-ups) are calls only.
CREATE TABLE mpi_operation (function VARCHAR, operation VARCHAR);
INSERT INTO mpi_operation VALUES
    ('barrier', 'barrier'), ('bcast', 'broadcast'), ('reduce', 'reduce'),
    ('allreduce', 'all_reduce'), ('gather', 'gather'), ('gatherv', 'gather'),
    ('allgather', 'all_gather'), ('allgatherv', 'all_gather'),
    ('scatter', 'scatter'), ('scatterv', 'scatter'), ('alltoall', 'all_to_all'),
    ('alltoallv', 'all_to_all'), ('alltoallw', 'all_to_all'), ('scan', 'scan'),
    ('exscan', 'exclusive_scan'), ('reduce_scatter', 'reduce_scatter'),
    ('reduce_scatter_block', 'reduce_scatter'),
    ('neighbor_allgather', 'neighbor_all_gather'),
    ('neighbor_allgatherv', 'neighbor_all_gather'),
    ('neighbor_alltoall', 'neighbor_all_to_all'),
    ('neighbor_alltoallv', 'neighbor_all_to_all'),
    ('neighbor_alltoallw', 'neighbor_all_to_all'),
    ('send', 'send'), ('bsend', 'send'), ('ssend', 'send'), ('rsend', 'send'),
    ('recv', 'recv'), ('mrecv', 'recv'), ('sendrecv', 'send_recv'),
    ('sendrecv_replace', 'send_recv');
CREATE MACRO mpi_stem(function) AS
    lower(regexp_replace(CAST(function AS VARCHAR), '^P?MPI_', ''));

-- A call of a table that holds start, end, thread and name.
CREATE MACRO named_calls(chunk, ordinal, api_name) AS TABLE
SELECT
    c."start" AS ts_ns, c."end" - c."start" AS dur_ns,
    row_key(ordinal, c.row_id) AS api_call_id, api_name AS api,
    coalesce(CAST(n.function AS VARCHAR), 'unknown') AS name,
    pid_of(c.globalTid) AS pid, tid_of(c.globalTid) AS tid
FROM query_table(chunk) AS c
LEFT JOIN names AS n ON n.id = c.nameId;
CREATE MACRO ucx_calls(chunk, ordinal) AS TABLE
SELECT
    u."start" AS ts_ns, u."end" - u."start" AS dur_ns,
    row_key(ordinal, u.row_id) AS api_call_id, 'ucx' AS api,
    coalesce(CAST(n.function AS VARCHAR), 'unknown') AS name,
    pid_of(u.globalTid) AS pid, tid_of(u.globalTid) AS tid,
    json_object_of(concat_ws(
        ',', '"packedSize":' || u.packedSize, '"peerWorkerUid":' || u.peerWorkerUid,
        '"tag":' || u.tag
    )) AS extra
FROM query_table(chunk) AS u
LEFT JOIN names AS n ON n.id = u.textId;
CREATE MACRO openacc_calls(chunk, ordinal) AS TABLE
SELECT
    a."start" AS ts_ns, a."end" - a."start" AS dur_ns,
    row_key(ordinal, a.row_id) AS api_call_id, 'openacc' AS api,
    coalesce(CAST(n.function AS VARCHAR), e.label, 'unknown') AS name,
    pid_of(a.globalTid) AS pid, tid_of(a.globalTid) AS tid,
    json_object_of(concat_ws(
        ',', '"eventKind":' || a.eventKind, '"lineNo":' || a.lineNo,
        '"srcFile":' || json_text(file.value),
        '"funcName":' || json_text(func.value),
        '"varName":' || json_text(variable.value),
        '"kernelName":' || json_text(kernel.value), '"bytes":' || a.bytes,
        '"numGangs":' || a.numGangs, '"numWorkers":' || a.numWorkers,
        '"vectorLength":' || a.vectorLength, '"cuDeviceId":' || a.cuDeviceId,
        '"cuContextId":' || a.cuContextId, '"cuStreamId":' || a.cuStreamId
    )) AS extra
FROM query_table(chunk) AS a
LEFT JOIN names AS n ON n.id = a.nameId
LEFT JOIN ENUM_OPENACC_EVENT_KIND AS e ON e.id = a.eventKind
LEFT JOIN main.StringIds AS file ON file.id = a.srcFile
LEFT JOIN main.StringIds AS func ON func.id = a.funcName
LEFT JOIN main.StringIds AS variable ON variable.id = a.varName
LEFT JOIN main.StringIds AS kernel ON kernel.id = a.kernelName;
CREATE MACRO openmp_calls(chunk, ordinal) AS TABLE
SELECT
    o."start" AS ts_ns, o."end" - o."start" AS dur_ns,
    row_key(ordinal, o.row_id) AS api_call_id, 'openmp' AS api,
    coalesce(CAST(n.function AS VARCHAR), e.label, 'unknown') AS name,
    pid_of(o.globalTid) AS pid, tid_of(o.globalTid) AS tid,
    json_object_of(concat_ws(
        ',', '"eventKind":' || o.eventKind, '"kind":' || o.kind,
        '"parallelId":' || o.parallelId, '"taskId":' || o.taskId,
        '"parentTaskId":' || o.parentTaskId, '"newTaskId":' || o.newTaskId,
        '"priorTaskId":' || o.priorTaskId,
        '"priorTaskStatus":' || o.priorTaskStatus,
        '"nextTaskId":' || o.nextTaskId, '"threadId":' || o.threadId,
        '"threadType":' || o.threadType, '"waitId":' || o.waitId,
        '"count":' || o."count"
    )) AS extra
FROM query_table(chunk) AS o
LEFT JOIN names AS n ON n.id = o.nameId
LEFT JOIN ENUM_OPENMP_EVENT_KIND AS e ON e.id = o.eventKind;

-- One operation as a collective. A call that only starts or posts the operation
-- (MPI_Iallreduce) says when it was asked for, not how long it took.
CREATE MACRO mpi_operations(chunk) AS TABLE
WITH called AS (
    SELECT
        p.*, r.mpi_rank, mpi_stem(n.function) AS stem,
        coalesce(o.operation, i.operation) AS operation,
        o.operation IS NULL AS posted
    FROM query_table(chunk) AS p
    JOIN names AS n ON n.id = p.textId
    LEFT JOIN mpi_operation AS o ON o.function = mpi_stem(n.function)
    LEFT JOIN mpi_operation AS i ON 'i' || i.function = mpi_stem(n.function)
    LEFT JOIN mpi_rank AS r ON r.pid = pid_of(p.globalTid)
    WHERE coalesce(o.operation, i.operation) IS NOT NULL
)
SELECT c.*, m.group_size, m.local_rank, m.members, coalesce(c.commUid, m.uid) AS uid
FROM called AS c
ASOF LEFT JOIN mpi_communicator AS m
    ON m.mpi_rank = c.mpi_rank AND m.handle = c.commHandle AND m.since_ns <= c."start";

-- @phase host

-- @rows api_call FROM MPI_P2P_EVENTS
SELECT
    m."start" AS ts_ns, m."end" - m."start" AS dur_ns,
    row_key(12, m.row_id) AS api_call_id, 'mpi' AS api,
    coalesce(CAST(n.function AS VARCHAR), 'unknown') AS name,
    pid_of(m.globalTid) AS pid, tid_of(m.globalTid) AS tid,
    json_object_of(concat_ws(
        ',', '"size":' || m."size", '"remoteRank":' || m.remoteRank,
        '"tag":' || m.tag, '"commHandle":' || m.commHandle,
        '"commUid":' || m.commUid, '"requestHandle":' || m.requestHandle
    )) AS extra
FROM MPI_P2P_EVENTS AS m
LEFT JOIN names AS n ON n.id = m.textId

-- @rows collective FROM MPI_P2P_EVENTS
SELECT
    m."start" AS ts_ns, CASE WHEN NOT m.posted THEN m."end" - m."start" END AS dur_ns,
    m.operation AS name, m."size" AS bytes,
    CAST(coalesce(m.uid, m.commHandle) AS VARCHAR) AS group_name,
    m.group_size, m.mpi_rank AS "rank",
    json_object_of(concat_ws(
        ',', '"api":"mpi"', '"apiCallId":' || row_key(12, m.row_id),
        '"remoteRank":' || m.remoteRank, '"tag":' || m.tag,
        CASE WHEN m.posted THEN '"timeOf":"call"' END,
        '"members":' || json_text(m.members)
    )) AS extra
FROM mpi_operations('MPI_P2P_EVENTS') AS m

-- @rows api_call FROM MPI_COLLECTIVES_EVENTS
SELECT
    m."start" AS ts_ns, m."end" - m."start" AS dur_ns,
    row_key(13, m.row_id) AS api_call_id, 'mpi' AS api,
    coalesce(CAST(n.function AS VARCHAR), 'unknown') AS name,
    pid_of(m.globalTid) AS pid, tid_of(m.globalTid) AS tid,
    json_object_of(concat_ws(
        ',', '"size":' || m."size", '"recvSize":' || m.recvSize,
        '"rootRank":' || m.rootRank, '"commHandle":' || m.commHandle,
        '"commUid":' || m.commUid, '"requestHandle":' || m.requestHandle
    )) AS extra
FROM MPI_COLLECTIVES_EVENTS AS m
LEFT JOIN names AS n ON n.id = m.textId

-- @rows collective FROM MPI_COLLECTIVES_EVENTS
SELECT
    m."start" AS ts_ns, CASE WHEN NOT m.posted THEN m."end" - m."start" END AS dur_ns,
    m.operation AS name, coalesce(m."size", m.recvSize) AS bytes,
    CAST(coalesce(m.uid, m.commHandle) AS VARCHAR) AS group_name,
    m.group_size, m.mpi_rank AS "rank",
    json_object_of(concat_ws(
        ',', '"api":"mpi"', '"apiCallId":' || row_key(13, m.row_id),
        '"rootRank":' || m.rootRank, '"recvSize":' || m.recvSize,
        CASE WHEN m.posted THEN '"timeOf":"call"' END,
        '"members":' || json_text(m.members)
    )) AS extra
FROM mpi_operations('MPI_COLLECTIVES_EVENTS') AS m

-- @rows api_call FROM MPI_START_WAIT_EVENTS
SELECT
    m."start" AS ts_ns, m."end" - m."start" AS dur_ns,
    row_key(14, m.row_id) AS api_call_id, 'mpi' AS api,
    coalesce(CAST(n.function AS VARCHAR), 'unknown') AS name,
    pid_of(m.globalTid) AS pid, tid_of(m.globalTid) AS tid,
    '{"requestHandle":' || m.requestHandle || '}' AS extra
FROM MPI_START_WAIT_EVENTS AS m
LEFT JOIN names AS n ON n.id = m.textId

-- @rows api_call FROM MPI_OTHER_EVENTS
SELECT
    m."start" AS ts_ns, m."end" - m."start" AS dur_ns,
    row_key(15, m.row_id) AS api_call_id, 'mpi' AS api,
    coalesce(CAST(n.function AS VARCHAR), 'unknown') AS name,
    pid_of(m.globalTid) AS pid, tid_of(m.globalTid) AS tid
FROM MPI_OTHER_EVENTS AS m
LEFT JOIN names AS n ON n.id = m.textId

-- @rows api_call FROM UCP_SUBMIT_EVENTS
FROM ucx_calls('UCP_SUBMIT_EVENTS', 16)

-- @rows api_call FROM UCP_PROGRESS_EVENTS
FROM ucx_calls('UCP_PROGRESS_EVENTS', 17)

-- @rows api_call FROM UCP_EVENTS
FROM ucx_calls('UCP_EVENTS', 18)

-- @rows api_call FROM CUPTI_ACTIVITY_KIND_OPENACC_DATA
FROM openacc_calls('CUPTI_ACTIVITY_KIND_OPENACC_DATA', 19)

-- @rows api_call FROM CUPTI_ACTIVITY_KIND_OPENACC_LAUNCH
FROM openacc_calls('CUPTI_ACTIVITY_KIND_OPENACC_LAUNCH', 20)

-- @rows api_call FROM CUPTI_ACTIVITY_KIND_OPENACC_OTHER
FROM openacc_calls('CUPTI_ACTIVITY_KIND_OPENACC_OTHER', 21)

-- @rows api_call FROM NVVIDEO_DECODER_API
FROM named_calls('NVVIDEO_DECODER_API', 22, 'nvvideo')

-- @rows api_call FROM NVVIDEO_ENCODER_API
FROM named_calls('NVVIDEO_ENCODER_API', 23, 'nvvideo')

-- @rows api_call FROM NVVIDEO_JPEG_API
FROM named_calls('NVVIDEO_JPEG_API', 24, 'nvvideo')

-- @rows api_call FROM OPENMP_EVENT_KIND_CANCEL
FROM openmp_calls('OPENMP_EVENT_KIND_CANCEL', 25)

-- @rows api_call FROM OPENMP_EVENT_KIND_CRITICAL_SECTION
FROM openmp_calls('OPENMP_EVENT_KIND_CRITICAL_SECTION', 26)

-- @rows api_call FROM OPENMP_EVENT_KIND_DISPATCH
FROM openmp_calls('OPENMP_EVENT_KIND_DISPATCH', 27)

-- @rows api_call FROM OPENMP_EVENT_KIND_FLUSH
FROM openmp_calls('OPENMP_EVENT_KIND_FLUSH', 28)

-- @rows api_call FROM OPENMP_EVENT_KIND_LOCK_DESTROY
FROM openmp_calls('OPENMP_EVENT_KIND_LOCK_DESTROY', 29)

-- @rows api_call FROM OPENMP_EVENT_KIND_LOCK_INIT
FROM openmp_calls('OPENMP_EVENT_KIND_LOCK_INIT', 30)

-- @rows api_call FROM OPENMP_EVENT_KIND_MASTER
FROM openmp_calls('OPENMP_EVENT_KIND_MASTER', 31)

-- @rows api_call FROM OPENMP_EVENT_KIND_MUTEX_RELEASED
FROM openmp_calls('OPENMP_EVENT_KIND_MUTEX_RELEASED', 32)

-- @rows api_call FROM OPENMP_EVENT_KIND_MUTEX_WAIT
FROM openmp_calls('OPENMP_EVENT_KIND_MUTEX_WAIT', 33)

-- @rows api_call FROM OPENMP_EVENT_KIND_PARALLEL
FROM openmp_calls('OPENMP_EVENT_KIND_PARALLEL', 34)

-- @rows api_call FROM OPENMP_EVENT_KIND_REDUCTION
FROM openmp_calls('OPENMP_EVENT_KIND_REDUCTION', 35)

-- @rows api_call FROM OPENMP_EVENT_KIND_SYNC_REGION
FROM openmp_calls('OPENMP_EVENT_KIND_SYNC_REGION', 36)

-- @rows api_call FROM OPENMP_EVENT_KIND_SYNC_REGION_WAIT
FROM openmp_calls('OPENMP_EVENT_KIND_SYNC_REGION_WAIT', 37)

-- @rows api_call FROM OPENMP_EVENT_KIND_TASK
FROM openmp_calls('OPENMP_EVENT_KIND_TASK', 38)

-- @rows api_call FROM OPENMP_EVENT_KIND_TASK_CREATE
FROM openmp_calls('OPENMP_EVENT_KIND_TASK_CREATE', 39)

-- @rows api_call FROM OPENMP_EVENT_KIND_TASK_SCHEDULE
FROM openmp_calls('OPENMP_EVENT_KIND_TASK_SCHEDULE', 40)

-- @rows api_call FROM OPENMP_EVENT_KIND_THREAD
FROM openmp_calls('OPENMP_EVENT_KIND_THREAD', 41)

-- @rows api_call FROM OPENMP_EVENT_KIND_WORKSHARE
FROM openmp_calls('OPENMP_EVENT_KIND_WORKSHARE', 42)
