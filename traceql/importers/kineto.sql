-- How a PyTorch profiler (Kineto) trace maps to the schema: what devices did. Facts:
-- the category says what a row is, in the spelling of its era; rows of a device have
-- the device as pid and the stream as tid, so that the launching process is found by
-- other means; ids are the events' own (event_key), whichever table holds them.

-- @prepare
-- A row of a device is known by its category, never by its pid.
CREATE MACRO is_kernel(cat) AS cat IN ('kernel', 'Kernel');
CREATE MACRO is_copy(cat) AS cat IN ('gpu_memcpy', 'Memcpy');
CREATE MACRO is_fill(cat) AS cat IN ('gpu_memset', 'Memset');
CREATE MACRO is_sync(cat) AS cat IN ('cuda_sync', 'cuda_event');
CREATE MACRO is_device_note(cat) AS
    cat IN ('gpu_user_annotation', 'gpu_user_Annotation', 'GpuUserAnnotation');
-- What ROCm 7.1 and newer call a kernel, though a copy engine made it.
CREATE MACRO is_copy_name(name) AS starts_with(name, 'MEMORY_COPY_');
CREATE MACRO is_call(cat) AS
    cat IN (
        'cuda_runtime', 'cuda_driver', 'Runtime', 'xpu_runtime', 'xpu_driver',
        'mtia_runtime', 'glow_runtime', 'privateuse1_runtime', 'privateuse1_driver'
    );
-- Steps and other marks of the framework: until 2021 they were operators by category.
CREATE MACRO is_mark(name) AS
    starts_with(name, 'ProfilerStep#') OR starts_with(name, 'enumerate(DataLoader)')
    OR starts_with(name, 'Optimizer.step#') OR starts_with(name, 'Optimizer.zero_grad#')
    OR name = 'DistributedDataParallel.forward';
CREATE MACRO is_operator(cat) AS cat IN ('cpu_op', 'Operator');
CREATE MACRO is_op(cat, name) AS is_operator(cat) AND NOT coalesce(is_mark(name), false);
CREATE MACRO is_annotation(cat, name) AS
    cat IN ('user_annotation', 'UserAnnotation')
    OR (is_operator(cat) AND is_mark(name));
CREATE MACRO is_window(cat) AS cat = 'Trace';
CREATE MACRO is_slice(cat, name) AS
    NOT coalesce(
        is_kernel(cat) OR is_copy(cat) OR is_fill(cat) OR is_sync(cat)
        OR is_device_note(cat) OR is_call(cat) OR is_operator(cat)
        OR is_annotation(cat, name) OR is_window(cat) OR cat = 'overhead',
        false
    );
CREATE MACRO table_of(cat, name) AS
    CASE
        WHEN is_kernel(cat) AND NOT coalesce(is_copy_name(name), false) THEN 'kernel'
        WHEN is_copy(cat) OR is_kernel(cat) THEN 'memcpy'
        WHEN is_fill(cat) THEN 'memset'
        WHEN is_call(cat) THEN 'api_call'
        WHEN is_op(cat, name) THEN 'op'
        WHEN is_annotation(cat, name) THEN 'annotation'
        WHEN is_sync(cat) THEN 'sync'
        WHEN is_slice(cat, name) THEN 'slice'
    END;
CREATE OR REPLACE MACRO flow_table(row_id) AS (
    SELECT table_of(e.cat, e.name) FROM staged.event AS e
    WHERE e.rowid = row_id & 1099511627775
);

-- Arrows from calls to what they launched have the correlation as id: it tells a call
-- from one of no length that begins at the same moment.
CREATE OR REPLACE MACRO is_named_by(range_id, arrow_id, category) AS
    category IS DISTINCT FROM 'fwdbwd' AND (
        SELECT
            is_call(call.cat) AND arrow_id = json_transform(
                call.args, '{"correlation":"VARCHAR"}'
            ).correlation
        FROM staged.event AS call
        WHERE call.rowid = range_id & 1099511627775
    );

CREATE MACRO memory_name(word) AS
    CASE trim(word)
        WHEN 'Pageable' THEN 'pageable' WHEN 'Pinned' THEN 'pinned'
        WHEN 'Device' THEN 'device' WHEN 'Array' THEN 'array'
        WHEN 'Managed' THEN 'managed' WHEN 'Device Static' THEN 'device_static'
        WHEN 'Managed Static' THEN 'managed_static' WHEN 'Unknown' THEN 'unknown'
    END;
CREATE MACRO copy_direction(word) AS
    CASE word
        WHEN 'HtoD' THEN 'H2D' WHEN 'DtoH' THEN 'D2H' WHEN 'DtoD' THEN 'D2D'
        WHEN 'PtoP' THEN 'P2P' WHEN 'HtoH' THEN 'H2H' WHEN 'HtoA' THEN 'H2A'
        WHEN 'AtoH' THEN 'A2H' WHEN 'AtoA' THEN 'A2A' WHEN 'AtoD' THEN 'A2D'
        WHEN 'DtoA' THEN 'D2A' WHEN 'M2D' THEN 'H2D' WHEN 'D2M' THEN 'D2H'
        WHEN 'D2D' THEN 'D2D' WHEN 'H2D' THEN 'H2D' WHEN 'D2H' THEN 'D2H'
        WHEN 'HOST_TO_DEVICE' THEN 'H2D' WHEN 'DEVICE_TO_HOST' THEN 'D2H'
        WHEN 'DEVICE_TO_DEVICE' THEN 'D2D' WHEN 'HOST_TO_HOST' THEN 'H2H'
        WHEN 'CopyHostToDevice' THEN 'H2D' WHEN 'CopyDeviceToHost' THEN 'D2H'
        WHEN 'CopyDeviceToDevice' THEN 'D2D' WHEN 'CopyHostToHost' THEN 'H2H'
        ELSE 'unknown'
    END;
-- A list that may have been written as text, and cut: "[0, 1, ...".
CREATE MACRO as_list(j) AS
    CASE
        WHEN json_type(j) <> 'VARCHAR' THEN nullif(CAST(j AS VARCHAR), '[]')
        WHEN json_valid(j->>'$') THEN nullif(j->>'$', '[]')
        ELSE CAST(j AS VARCHAR)
    END;
-- The spelling is the era's; a STRUCT would hold but one of the two.
CREATE MACRO external_of(args) AS coalesce(
    TRY_CAST(args->>'$."External id"' AS BIGINT),
    TRY_CAST(args->>'$."external id"' AS BIGINT)
);
-- What is left of the arguments once the columns have taken theirs.
CREATE MACRO rest_of(args, taken) AS
    nullif(CAST(json_merge_patch(args, taken) AS VARCHAR), '{}');

-- Ranks that were merged into one file have their own mark before each process:
-- "[TP00] 83". GPU rows of a mark belong to the one process of that mark that calls
-- the driver (or, where none does, that runs operators).
CREATE TABLE process_kind AS
SELECT
    pid, coalesce(regexp_extract(raw_pid, '^\[[^\]]*\]'), '') AS mark,
    bool_or(coalesce(is_call(cat), false)) AS calls,
    bool_or(coalesce(is_operator(cat), false)) AS operates
FROM (
    SELECT DISTINCT pid, raw_pid, cat
    FROM event
    WHERE ph IN ('X', 'B') AND pid IS NOT NULL
)
GROUP BY ALL;
CREATE TABLE host_process AS
SELECT
    mark,
    CASE
        WHEN count(*) FILTER (calls) > 0 THEN min(pid) FILTER (calls)
        ELSE min(pid) FILTER (operates)
    END AS pid,
    CASE
        WHEN count(*) FILTER (calls) > 0 THEN count(*) FILTER (calls)
        ELSE count(*) FILTER (operates)
    END AS processes
FROM process_kind
GROUP BY mark;
CREATE TABLE pid_of_device AS
SELECT
    k.pid AS device_pid, k.mark,
    CASE WHEN h.processes = 1 THEN h.pid END AS pid
FROM process_kind AS k
JOIN host_process AS h USING (mark);

CREATE VIEW thread_range AS
SELECT
    event_key(event_id) AS id, pid, tid, ts_ns, open_until_ns AS end_ns,
    CASE table_of(cat, name)
        WHEN 'op' THEN 'op' WHEN 'annotation' THEN 'annotation' WHEN 'slice' THEN 'slice'
    END AS kind,
    coalesce(is_call(cat), false) AS seeks,
    table_of(cat, name) AS held_in
FROM slice_event
WHERE table_of(cat, name) IS NOT NULL

-- @phase nest

-- @nest
-- What ran on a stream nests in nothing: it only holds ends of arrows.
SELECT id, pid, tid, ts_ns, end_ns, kind, seeks
FROM thread_range
WHERE held_in <> 'sync' AND (
    held_in NOT IN ('kernel', 'memcpy', 'memset') OR EXISTS (
        FROM flow_point AS p
        WHERE p.pid IS NOT DISTINCT FROM thread_range.pid
            AND p.tid IS NOT DISTINCT FROM thread_range.tid
    )
)
UNION ALL
SELECT id, pid, tid, ts_ns, end_ns, NULL, false FROM flow_point
UNION ALL
SELECT event_key(event_id), pid, tid, ts_ns, ts_ns, NULL, true
FROM event
WHERE ph = 'i' AND name = '[memory]' AND ts_ns IS NOT NULL

-- @phase rows

-- @prepare
-- The call that launched: of several with one correlation (a driver call inside its
-- runtime call) the outermost.
CREATE TABLE launch AS
SELECT
    pid, correlation_id,
    arg_min(
        struct_pack(event_id := event_id, tid := tid, ts_ns := ts_ns),
        CAST(ts_ns AS HUGEINT) * 9223372036854775807 - coalesce(end_ns, ts_ns)
    ) AS call
FROM (
    SELECT
        event_id, pid, tid, ts_ns, end_ns,
        nullif(
            json_transform(args, '{"correlation":"BIGINT"}').correlation, 0
        ) AS correlation_id
    FROM slice_event
    WHERE is_call(cat)
)
WHERE correlation_id IS NOT NULL
GROUP BY pid, correlation_id;

CREATE TABLE device_row AS
SELECT
    event_id, cat, pid AS device_pid, tid, ts_ns, end_ns,
    nullif(a.correlation, 0) AS correlation_id,
    external_id, a.device, a.context, a.stream
FROM (
    SELECT
        event_id, cat, pid, tid, ts_ns, end_ns, external_of(args) AS external_id,
        json_transform(
            args,
            '{"correlation":"BIGINT",'
            || '"device":"INTEGER","context":"BIGINT","stream":"BIGINT"}'
        ) AS a
    FROM slice_event
    WHERE is_kernel(cat) OR is_copy(cat) OR is_fill(cat) OR is_sync(cat)
);
-- PyTorch 2.0 wrote the correlation as External id: then it names no operation.
CREATE TABLE external_use AS
SELECT
    count(*) FILTER (external_id = correlation_id) AS equal,
    count(*) FILTER (external_id IS NOT NULL AND correlation_id IS NOT NULL) AS known
FROM device_row WHERE NOT is_sync(cat);
CREATE TABLE op_of_external AS
SELECT
    external_id, any_value(event_id) AS event_id,
    any_value(struct_pack(pid := pid, tid := tid, ts_ns := ts_ns, end_ns := end_ns))
        AS op
FROM (
    SELECT event_id, pid, tid, ts_ns, end_ns, external_of(args) AS external_id
    FROM slice_event
    WHERE is_op(cat, name)
        AND (SELECT known > 0 AND equal * 20 < known * 19 FROM external_use)
)
WHERE external_id <> 0
GROUP BY external_id
HAVING count(*) = 1;
CREATE TABLE device_link AS
SELECT
    d.event_id, p.pid, d.correlation_id,
    event_key(l.call.event_id) AS api_call_id, l.call.ts_ns AS launch_ts_ns,
    -- Stamps are rounded: of the operations open at a launch, the External id names the
    -- one that made it. One that was not open there is only believed without another.
    coalesce(
        CASE
            WHEN x.op.pid = l.pid AND x.op.tid = l.call.tid
                AND l.call.ts_ns BETWEEN x.op.ts_ns AND x.op.end_ns
                THEN event_key(x.event_id)
        END,
        n.op_id, event_key(x.event_id)
    ) AS op_id
FROM device_row AS d
LEFT JOIN pid_of_device AS p
    ON p.device_pid = d.device_pid
LEFT JOIN launch AS l ON l.pid = p.pid AND l.correlation_id = d.correlation_id
LEFT JOIN (SELECT id, op_id FROM nested WHERE op_id IS NOT NULL) AS n
    ON n.id = event_key(l.call.event_id)
LEFT JOIN op_of_external AS x
    ON x.external_id = d.external_id AND d.external_id IS DISTINCT FROM d.correlation_id
ORDER BY d.event_id;
-- The links of the rows that a chunk holds.
CREATE MACRO chunk_link(first_event, last_event) AS TABLE
SELECT * FROM device_link WHERE event_id BETWEEN first_event AND last_event;

-- @rows kernel FROM slice_event
SELECT
    s.ts_ns, s.dur_ns, event_key(s.event_id) AS kernel_id, s.name, n.short_name,
    coalesce(s.a.device, s.pid) AS device_id, s.a.context AS context_id,
    coalesce(s.a.stream, s.tid) AS stream_id, s.a.priority AS priority,
    l.pid, l.correlation_id, l.api_call_id, l.launch_ts_ns, l.op_id,
    nullif(s.a."graph id", 0) AS graph_id,
    nullif(s.a."graph node id", 0) AS graph_node_id,
    s.a.grid[1] AS grid_x, s.a.grid[2] AS grid_y, s.a.grid[3] AS grid_z,
    s.a.block[1] AS block_x, s.a.block[2] AS block_y, s.a.block[3] AS block_z,
    s.a."registers per thread" AS registers_per_thread,
    s.a."shared memory" AS shared_memory_bytes,
    CASE WHEN isfinite(s.a."blocks per SM") THEN s.a."blocks per SM" END
        AS blocks_per_sm,
    CASE WHEN isfinite(s.a."warps per SM") THEN s.a."warps per SM" END AS warps_per_sm,
    s.a."est. achieved occupancy %" AS est_occupancy_pct,
    rest_of(
        s.args,
        '{"device":null,"context":null,"stream":null,"correlation":null,"grid":null,'
        || '"block":null,"registers per thread":null,"shared memory":null,'
        || '"blocks per SM":null,"warps per SM":null,"priority":null,'
        || '"est. achieved occupancy %":null,"graph id":null,"graph node id":null}'
    ) AS extra
FROM (
    SELECT
        *,
        json_transform(
            args,
            '{"device":"INTEGER","context":"BIGINT","stream":"BIGINT",'
            || '"priority":"INTEGER","graph id":"BIGINT","graph node id":"BIGINT",'
            || '"grid":["INTEGER"],"block":["INTEGER"],'
            || '"registers per thread":"INTEGER","shared memory":"BIGINT",'
            || '"blocks per SM":"DOUBLE","warps per SM":"DOUBLE",'
            || '"est. achieved occupancy %":"DOUBLE"}'
        ) AS a
    FROM slice_event
    WHERE is_kernel(cat) AND NOT coalesce(is_copy_name(name), false)
) AS s
LEFT JOIN chunk_link(
    (SELECT min(event_id) FROM event), (SELECT max(event_id) FROM event)
) AS l ON l.event_id = s.event_id
LEFT JOIN kernel_name AS n ON n.name = s.name

-- @rows memcpy FROM slice_event
-- A copy to another device between two of the same kind is one between peers.
SELECT
    s.ts_ns, s.dur_ns, event_key(s.event_id) AS memcpy_id,
    coalesce(s.a.device, s.a."inDevice", s.pid) AS device_id,
    coalesce(s.a.context, s.a."inContext") AS context_id,
    coalesce(s.a.stream, s.tid) AS stream_id,
    CASE
        WHEN s.direction = 'D2D' AND s.a."fromDevice" <> s.a."toDevice" THEN 'P2P'
        ELSE s.direction
    END AS kind,
    coalesce(s.a.bytes, s.a.size) AS bytes,
    memory_name(s.parts.src) AS src_memory, memory_name(s.parts.dst) AS dst_memory,
    s.a."fromDevice" AS src_device_id, s.a."toDevice" AS dst_device_id,
    l.pid, l.correlation_id, l.api_call_id, l.launch_ts_ns, l.op_id,
    nullif(s.a."graph node id", 0) AS graph_node_id,
    rest_of(
        s.args,
        '{"device":null,"context":null,"stream":null,"correlation":null,"bytes":null,'
        || '"size":null,"kind":null,"fromDevice":null,"toDevice":null,"inDevice":null,'
        || '"inContext":null,"memory bandwidth (GB/s)":null,"graph node id":null}'
    ) AS extra
FROM (
    SELECT
        *,
        CASE
            WHEN copy_direction(parts.direction) <> 'unknown' THEN copy_direction(parts.direction)
            ELSE copy_direction(coalesce(a.kind, regexp_extract(name, '_COPY_(\w+)$', 1)))
        END AS direction
    FROM (
        SELECT
            *,
            regexp_extract(
                name, '^Memcpy (\w+)(?:\s*\(([^()]*?) -> ([^()]*)\))?',
                ['direction', 'src', 'dst']
            ) AS parts,
            json_transform(
                args,
                '{"device":"INTEGER","context":"BIGINT","stream":"BIGINT",'
                || '"bytes":"BIGINT","size":"BIGINT","kind":"VARCHAR",'
                || '"fromDevice":"INTEGER","toDevice":"INTEGER","inDevice":"INTEGER",'
                || '"inContext":"BIGINT","graph node id":"BIGINT"}'
            ) AS a
        FROM slice_event
        WHERE is_copy(cat) OR (is_kernel(cat) AND is_copy_name(name))
    )
) AS s
LEFT JOIN chunk_link(
    (SELECT min(event_id) FROM event), (SELECT max(event_id) FROM event)
) AS l ON l.event_id = s.event_id

-- @rows memset FROM slice_event
SELECT
    s.ts_ns, s.dur_ns, event_key(s.event_id) AS memset_id,
    coalesce(s.a.device, s.pid) AS device_id, s.a.context AS context_id,
    coalesce(s.a.stream, s.tid) AS stream_id, s.a.bytes,
    memory_name(
        coalesce(nullif(regexp_extract(s.name, '\((.*)\)', 1), ''), s.a.kind)
    ) AS memory_kind,
    l.pid, l.correlation_id, l.api_call_id, l.launch_ts_ns, l.op_id,
    nullif(s.a."graph node id", 0) AS graph_node_id,
    rest_of(
        s.args,
        '{"device":null,"context":null,"stream":null,"correlation":null,"bytes":null,'
        || '"kind":null,"memory bandwidth (GB/s)":null,"graph node id":null}'
    ) AS extra
FROM (
    SELECT
        *,
        json_transform(
            args,
            '{"device":"INTEGER","context":"BIGINT","stream":"BIGINT",'
            || '"bytes":"BIGINT","kind":"VARCHAR","graph node id":"BIGINT"}'
        ) AS a
    FROM slice_event
    WHERE is_fill(cat)
) AS s
LEFT JOIN chunk_link(
    (SELECT min(event_id) FROM event), (SELECT max(event_id) FROM event)
) AS l ON l.event_id = s.event_id

-- @rows sync FROM slice_event
SELECT
    s.ts_ns, s.dur_ns, event_key(s.event_id) AS sync_id,
    CASE
        WHEN s.cat = 'cuda_event' THEN 'event_record'
        WHEN s.name = 'Event Sync' THEN 'event_sync'
        WHEN s.name = 'Stream Wait Event' THEN 'stream_wait_event'
        WHEN s.name = 'Stream Sync' THEN 'stream_sync'
        WHEN s.name = 'Context Sync' THEN 'context_sync'
        ELSE 'unknown'
    END AS kind,
    coalesce(s.a.wait_on_cuda_event_id, s.a.event_id, s.a.cuda_event_id) AS event_id,
    coalesce(s.a.device, s.pid) AS device_id, s.a.context AS context_id,
    CASE WHEN s.a.stream >= 0 THEN s.a.stream END AS stream_id,
    l.pid, l.correlation_id, l.api_call_id,
    rest_of(
        s.args,
        '{"device":null,"context":null,"stream":null,"correlation":null,'
        || '"cuda_sync_kind":null,"wait_on_cuda_event_id":null,"event_id":null}'
    ) AS extra
FROM (
    SELECT
        *,
        json_transform(
            args,
            '{"device":"INTEGER","context":"BIGINT","stream":"BIGINT",'
            || '"wait_on_cuda_event_id":"BIGINT","event_id":"BIGINT",'
            || '"cuda_event_id":"BIGINT"}'
        ) AS a
    FROM slice_event
    WHERE is_sync(cat)
) AS s
LEFT JOIN chunk_link(
    (SELECT min(event_id) FROM event), (SELECT max(event_id) FROM event)
) AS l ON l.event_id = s.event_id

-- @rows device
-- Of the devices that ran something some are not in the list: ROCm counts agents. They
-- are what all of the list are, if those are alike.
WITH listed AS (
    SELECT TRY_CAST(j.value->>'$.id' AS INTEGER) AS device_id, j.value AS facts
    FROM (
        SELECT value FROM trace_key
        WHERE key IN ('deviceProperties', 'computeProperties')
            AND json_type(value) = 'ARRAY'
        LIMIT 1
    ) AS k, json_each(k.value) AS j
    WHERE json_type(j.value) = 'OBJECT'
),
alike AS (
    SELECT any_value(json_merge_patch(facts, '{"id":null}')) AS facts
    FROM listed
    HAVING count(DISTINCT CAST(json_merge_patch(facts, '{"id":null}') AS VARCHAR)) = 1
),
seen AS (
    SELECT DISTINCT CAST(coalesce(device, device_pid) AS INTEGER) AS device_id
    FROM device_row
    WHERE coalesce(device, device_pid) BETWEEN 0 AND 2147483647
),
devices AS (
    SELECT device_id, facts FROM listed WHERE device_id IS NOT NULL
    UNION ALL
    SELECT device_id, (SELECT facts FROM alike)
    FROM seen
    WHERE device_id NOT IN (SELECT device_id FROM listed WHERE device_id IS NOT NULL)
),
named AS (
    SELECT
        device_id, facts, facts->>'$.name' AS name,
        CASE
            WHEN facts->>'$.name' SIMILAR TO '(?i).*(amd|radeon|instinct).*' THEN 'amd'
            WHEN EXISTS (FROM trace_key WHERE key LIKE 'hip\_%' ESCAPE '\') THEN 'amd'
            WHEN facts->>'$.name' SIMILAR TO
                '(?i).*(nvidia|tesla|geforce|quadro|titan|rtx|a100|h100|v100).*'
                THEN 'nvidia'
            WHEN EXISTS (FROM trace_key WHERE key IN ('cupti_version')) THEN 'nvidia'
            WHEN facts->>'$.name' SIMILAR TO '(?i).*intel.*' THEN 'intel'
            WHEN facts IS NOT NULL THEN 'other'
        END AS vendor
    FROM devices
)
SELECT
    device_id,
    CASE
        WHEN vendor = 'other'
            AND EXISTS (FROM event WHERE cat = 'mtia_ccp_events')
            THEN 'other'
        ELSE 'gpu'
    END AS kind,
    vendor, name,
    nullif(facts->>'$.uuid', '') AS uuid,
    TRY_CAST(coalesce(facts->>'$.numSms', facts->>'$.maxComputeUnits') AS INTEGER)
        AS sm_count,
    TRY_CAST(facts->>'$.totalGlobalMem' AS BIGINT) AS memory_bytes,
    TRY_CAST(facts->>'$.computeMajor' AS INTEGER) AS compute_major,
    TRY_CAST(facts->>'$.computeMinor' AS INTEGER) AS compute_minor,
    TRY_CAST(facts->>'$.maxThreadsPerMultiprocessor' AS INTEGER)
        // nullif(TRY_CAST(facts->>'$.warpSize' AS INTEGER), 0) AS max_warps_per_sm,
    TRY_CAST(facts->>'$.maxThreadsPerMultiprocessor' AS INTEGER) AS max_threads_per_sm,
    TRY_CAST(facts->>'$.warpSize' AS INTEGER) AS threads_per_warp,
    rest_of(
        facts,
        '{"id":null,"name":null,"uuid":null,"numSms":null,"totalGlobalMem":null,'
        || '"computeMajor":null,"computeMinor":null,"warpSize":null,'
        || '"maxThreadsPerMultiprocessor":null,"maxComputeUnits":null}'
    ) AS extra
FROM named

-- @diagnostic gpu_rows_without_process info GPU rows do not say their process: the file's only one that calls the driver stands in for it.
SELECT count(*), NULL FROM device_link WHERE pid IS NOT NULL

-- @diagnostic several_host_processes warning Several processes call the driver and GPU rows do not say theirs: they have neither process nor launch.
SELECT count(*), NULL FROM device_link
WHERE pid IS NULL AND EXISTS (FROM host_process WHERE processes > 1)

-- @diagnostic merged_device_numbers warning Merged ranks use the same device numbers: where these are GPUs of several hosts, their times are taken as those of one.
SELECT count(*), min(device)
FROM (
    SELECT coalesce(d.device, d.device_pid) AS device
    FROM device_row AS d JOIN pid_of_device AS p USING (device_pid)
    GROUP BY ALL
    HAVING count(DISTINCT p.mark) > 1
)

-- @diagnostic orphan_gpu_ops info Kernels, copies and fills whose launching call is not in the capture: no launch time; no step owns them.
SELECT count(*), NULL
FROM device_link AS l JOIN device_row AS d USING (event_id)
WHERE l.api_call_id IS NULL AND NOT is_sync(d.cat)

-- @diagnostic external_id_is_correlation info External ids of GPU rows are their correlation ids, as PyTorch 2.0 wrote them: operations come from the launches alone.
SELECT CASE WHEN equal * 20 >= known * 19 THEN equal ELSE 0 END, NULL FROM external_use

-- @diagnostic starts_before_launch warning GPU rows start before the call that launched them: the clocks of host and device disagree.
SELECT count(*), NULL
FROM device_link AS l JOIN device_row AS d USING (event_id)
WHERE d.ts_ns < l.launch_ts_ns AND NOT is_sync(d.cat)

-- @diagnostic same_stream_overlap warning GPU rows overlap others of their own stream: busy times are unions, sums count both.
SELECT count(*), NULL
FROM (
    SELECT
        ts_ns,
        max(end_ns) OVER (
            PARTITION BY device_pid, device, context, coalesce(stream, tid)
            ORDER BY ts_ns, end_ns, event_id
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS earlier_end_ns
    FROM device_row WHERE NOT is_sync(cat)
)
WHERE ts_ns < earlier_end_ns

-- @diagnostic gpu_annotations_left_out info Projections of annotations on the GPU (gpu_user_annotation) repeat host rows: left out.
SELECT count(*), any_value(name) FROM event WHERE is_device_note(cat)

-- @diagnostic no_gpu_activity info The trace holds no kernel, copy or fill. Profile with ProfilerActivity.CUDA to record them.
SELECT CASE WHEN count(*) = 0 THEN 1 ELSE 0 END, NULL
FROM device_row WHERE NOT is_sync(cat)

-- @diagnostic device_rows_kept_as_slices info Rows of an accelerator whose work TraceQL cannot tell from waiting are slices: they make nothing busy.
SELECT count(*), any_value(name) FROM event WHERE cat = 'mtia_ccp_events'
