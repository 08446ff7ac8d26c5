-- How a trace of the TensorFlow 2 or JAX profiler (trace.json.gz of the trace viewer)
-- maps to the schema: what devices did. Facts: a process is a plane, "/device:GPU:0" or
-- "/host:CPU"; the threads of a device are its streams ("Stream #13(Compute)") and
-- lines that the profiler derived from them; arguments are text; a host row with a
-- correlation is the call that launched what bears the same one on a device.

-- @prepare
CREATE TABLE plane AS
SELECT
    pid, name, nullif(upper(p.kind), '') AS kind,
    TRY_CAST(p.ordinal AS INTEGER) AS ordinal,
    -- Traces of several hosts in one file name the host before the plane.
    trim(p.host) AS host, p.kind <> '' AS is_device
FROM (
    SELECT
        pid, name,
        regexp_extract(
            name,
            '^(.*?)(?:/device:([A-Za-z_]+):([0-9]+)|/host:|$)',
            ['host', 'kind', 'ordinal']
        ) AS p
    FROM process_name_of
);
CREATE TABLE device_plane AS
SELECT
    pid, host, kind, ordinal,
    CASE
        WHEN (
            SELECT count(DISTINCT ordinal) < count(*) FROM plane WHERE is_device
        ) THEN CAST(
            row_number() OVER (ORDER BY host, kind, ordinal, pid) - 1 AS INTEGER
        )
        ELSE ordinal
    END AS device_id
FROM plane
WHERE is_device;

-- What a thread of a device holds. Lines that the profiler derived from streams say
-- again what these did.
CREATE TABLE device_line AS
SELECT
    d.pid, t.tid, d.host, d.kind, d.device_id, t.name,
    CASE
        WHEN t.name = 'Steps' THEN 'steps'
        WHEN t.name IN ('TensorFlow Ops', 'Framework Ops') THEN 'ops'
        WHEN t.name = 'XLA Ops' THEN 'xla'
        WHEN regexp_matches(t.name, '^Stream #[0-9]+') THEN 'stream'
        ELSE 'derived'
    END AS line,
    coalesce(
        TRY_CAST(nullif(regexp_extract(t.name, '^Stream #([0-9]+)', 1), '') AS BIGINT),
        t.tid
    ) AS stream_id
FROM device_plane AS d
JOIN thread_name_of AS t ON t.pid = d.pid;
-- Operations of the framework, or where there is no such line those of XLA.
CREATE TABLE op_line AS
SELECT pid, tid, line, device_id
FROM (
    SELECT
        *, line = min(line) OVER (PARTITION BY pid) AS wanted
    FROM device_line
    WHERE line IN ('ops', 'xla') AND EXISTS (
        FROM thread_seen AS s
        WHERE s.pid = device_line.pid AND s.tid = device_line.tid
    )
)
WHERE wanted;

CREATE MACRO number_of(text) AS TRY_CAST(ltrim(text, '$') AS BIGINT);
CREATE MACRO gpu_kind(name) AS
    CASE
        WHEN regexp_matches(name, '^(?i)memcpy(H2D|D2H|D2D|P2P|H2H|Other|$|[ (])')
            THEN 'memcpy'
        WHEN regexp_matches(name, '^(?i)memset($|[ (])') THEN 'memset'
        ELSE 'kernel'
    END;
-- "conv1/Conv2D:Conv2D#from=a,to=b#" is of the operation before the first #.
CREATE MACRO op_key(annotation, tf_op) AS
    coalesce(nullif(split_part(annotation, '#', 1), ''), nullif(tf_op, ''));

-- kernel_details: "regs:32 static_shared:0 dynamic_shared:16 grid:8,1,1 block:256,1,1
-- occ_pct:50", once "regs:32 shm:16 grid:8,1,1 block:256,1,1". Some versions wrote
-- memory that nobody had set: then none of it is taken.
CREATE MACRO details_of(text) AS
    struct_pack(
        regs := TRY_CAST(regexp_extract(text, '\bregs:([0-9]+)', 1) AS UBIGINT),
        shared := TRY_CAST(regexp_extract(text, '\bshm:([0-9]+)', 1) AS UBIGINT),
        static_shared :=
            TRY_CAST(regexp_extract(text, '\bstatic_shared:([0-9]+)', 1) AS UBIGINT),
        dynamic_shared :=
            TRY_CAST(regexp_extract(text, '\bdynamic_shared:([0-9]+)', 1) AS UBIGINT),
        grid := TRY_CAST(
            string_split(regexp_extract(text, '\bgrid:([0-9,]+)', 1), ',') AS UBIGINT[]
        ),
        block := TRY_CAST(
            string_split(regexp_extract(text, '\bblock:([0-9,]+)', 1), ',') AS UBIGINT[]
        ),
        occupancy := TRY_CAST(regexp_extract(text, '\bocc_pct:([0-9.]+)', 1) AS DOUBLE)
    );
CREATE MACRO is_sane(d) AS
    coalesce(d.regs <= 512, true)
    AND coalesce(d.shared < 1048576, true)
    AND coalesce(d.static_shared < 1048576, true)
    AND coalesce(d.dynamic_shared < 1048576, true)
    AND coalesce(d.occupancy BETWEEN 0 AND 100, true)
    AND coalesce(
        len(d.grid) = 3 AND d.grid[1] BETWEEN 1 AND 2147483647
        AND d.grid[2] BETWEEN 1 AND 65535 AND d.grid[3] BETWEEN 1 AND 65535
        AND len(d.block) = 3 AND d.block[1] BETWEEN 1 AND 1024
        AND d.block[2] BETWEEN 1 AND 1024 AND d.block[3] BETWEEN 1 AND 1024
        -- Worked out for impossible numbers too: it must not overflow.
        AND least(d.block[1], 2000) * least(d.block[2], 2000) * least(d.block[3], 2000)
            <= 1024,
        false
    );
CREATE MACRO memory_name(word) AS
    CASE lower(word)
        WHEN 'pageable' THEN 'pageable' WHEN 'pinned' THEN 'pinned'
        WHEN 'device' THEN 'device' WHEN 'array' THEN 'array'
        WHEN 'managed' THEN 'managed' WHEN 'device_static' THEN 'device_static'
        WHEN 'managed_static' THEN 'managed_static' WHEN 'unknown' THEN 'unknown'
    END;
CREATE MACRO left_of(args, taken) AS
    nullif(CAST(json_merge_patch(args, taken) AS VARCHAR), '{}');

CREATE OR REPLACE MACRO flow_table(row_id) AS (
    SELECT
        CASE
            WHEN d.line = 'stream' THEN gpu_kind(e.name)
            WHEN o.pid IS NOT NULL THEN 'op'
            WHEN d.line IS NOT NULL THEN 'annotation'
            WHEN p.pid IS NOT NULL THEN 'slice'
            ELSE host_table(e.name, e.args)
        END
    FROM staged.event AS e
    LEFT JOIN device_plane AS p ON p.pid = e.pid
    LEFT JOIN device_line AS d ON d.pid = e.pid AND d.tid = e.tid
    LEFT JOIN op_line AS o ON o.pid = e.pid AND o.tid = e.tid
    WHERE e.rowid = row_id & 1099511627775
);

-- The host process of each host: the only one that launches, else the only one.
CREATE TABLE host_plane AS
SELECT
    p.pid, p.host,
    CASE WHEN count(*) OVER (PARTITION BY p.host) = 1 THEN p.pid END AS only_pid
FROM plane AS p
WHERE NOT p.is_device AND EXISTS (FROM thread_seen AS s WHERE s.pid = p.pid)

-- @phase nest

-- @nest
SELECT id, pid, tid, ts_ns, end_ns, kind, seeks FROM thread_range
UNION ALL
SELECT id, pid, tid, ts_ns, end_ns, NULL, false FROM flow_point

-- @phase rows

-- @prepare
-- The outermost call of a correlation.
CREATE TABLE launch AS
SELECT
    host, pid, correlation_id,
    arg_min(
        struct_pack(event_id := event_id, ts_ns := ts_ns),
        CAST(ts_ns AS HUGEINT) * 9223372036854775807 - coalesce(end_ns, ts_ns)
    ) AS call
FROM (
    SELECT
        s.event_id, h.host, s.pid, s.ts_ns, s.end_ns,
        nullif(number_of(s.args->>'$.correlation_id'), 0) AS correlation_id
    FROM slice_event AS s
    JOIN host_plane AS h ON h.pid = s.pid
    WHERE host_table(s.name, s.args) = 'api_call'
)
WHERE correlation_id IS NOT NULL
GROUP BY host, pid, correlation_id;
CREATE TABLE gpu_row AS
SELECT
    s.event_id, s.pid AS device_pid, d.host, d.device_id, d.stream_id, s.name,
    gpu_kind(s.name) AS kind, s.ts_ns, s.end_ns,
    nullif(number_of(s.a.correlation_id), 0) AS correlation_id,
    number_of(s.a.context_id) AS context_id,
    op_key(s.a.annotation, s.a.tf_op) AS op_key, s.a.hlo_op, s.a.kernel_details,
    s.a.group_id
FROM (
    SELECT
        *,
        json_transform(
            args,
            '{"correlation_id":"VARCHAR","context_id":"VARCHAR","annotation":"VARCHAR",'
            || '"tf_op":"VARCHAR","hlo_op":"VARCHAR","kernel_details":"VARCHAR",'
            || '"group_id":"VARCHAR"}'
        ) AS a
    FROM slice_event
) AS s
JOIN device_line AS d ON d.pid = s.pid AND d.tid = s.tid AND d.line = 'stream';
-- Operations as the profiler placed them on devices.
CREATE TABLE device_op AS
SELECT
    s.event_id, s.pid, s.ts_ns, s.end_ns, s.args->>'$.group_id' AS group_id,
    CASE l.line
        WHEN 'ops' THEN coalesce(s.args->>'$.long_name', s.args->>'$.tf_op', s.name)
        ELSE coalesce(s.args->>'$.hlo_op', s.name)
    END AS key
FROM slice_event AS s
JOIN op_line AS l ON l.pid = s.pid AND l.tid = s.tid;
-- The line of operations is drawn from kernels alone: copies that an operation makes
-- before and after them lie outside of it, in the same step.
CREATE TABLE step_op AS
SELECT pid, key, group_id, arg_min(event_id, ts_ns) AS event_id
FROM device_op
WHERE group_id IS NOT NULL
GROUP BY pid, key, group_id;
CREATE TABLE gpu_link AS
SELECT
    g.event_id, g.device_id, g.context_id, g.stream_id, g.correlation_id,
    coalesce(l.pid, h.only_pid) AS pid, event_key(l.call.event_id) AS api_call_id,
    l.call.ts_ns AS launch_ts_ns,
    coalesce(
        CASE WHEN g.ts_ns < o.end_ns OR g.ts_ns = o.ts_ns
            THEN event_key(o.event_id) END,
        event_key(s.event_id), n.op_id
    ) AS op_id
FROM gpu_row AS g
LEFT JOIN step_op AS s
    ON s.pid = g.device_pid AND s.key = coalesce(g.op_key, g.hlo_op)
    AND s.group_id = g.group_id
LEFT JOIN (
    SELECT DISTINCT host, only_pid FROM host_plane WHERE only_pid IS NOT NULL
) AS h
    ON h.host = g.host
LEFT JOIN launch AS l ON l.host = g.host AND l.correlation_id = g.correlation_id
ASOF LEFT JOIN device_op AS o
    ON o.pid = g.device_pid AND o.key = coalesce(g.op_key, g.hlo_op)
    AND o.ts_ns <= g.ts_ns
LEFT JOIN (SELECT id, op_id FROM nested WHERE op_id IS NOT NULL) AS n
    ON n.id = event_key(l.call.event_id)

-- @rows kernel FROM slice_event
SELECT
    s.ts_ns, s.dur_ns, event_key(s.event_id) AS kernel_id, s.name, n.short_name,
    s.device_id, s.context_id, s.stream_id, s.pid, s.correlation_id, s.api_call_id,
    s.launch_ts_ns, s.op_id,
    CASE WHEN s.sane THEN s.d.grid[1] END AS grid_x,
    CASE WHEN s.sane THEN s.d.grid[2] END AS grid_y,
    CASE WHEN s.sane THEN s.d.grid[3] END AS grid_z,
    CASE WHEN s.sane THEN s.d.block[1] END AS block_x,
    CASE WHEN s.sane THEN s.d.block[2] END AS block_y,
    CASE WHEN s.sane THEN s.d.block[3] END AS block_z,
    CASE WHEN s.sane THEN s.d.regs END AS registers_per_thread,
    CASE WHEN s.sane THEN s.d.static_shared END AS static_shared_memory_bytes,
    CASE WHEN s.sane THEN s.d.dynamic_shared END AS dynamic_shared_memory_bytes,
    CASE WHEN s.sane THEN s.d.shared END AS shared_memory_bytes,
    -- 0 is what is written where it could not be worked out.
    CASE WHEN s.sane THEN nullif(s.d.occupancy, 0) END AS est_occupancy_pct,
    left_of(s.args, '{"correlation_id":null,"context_id":null,"kernel_details":null}')
        AS extra
FROM (
    SELECT e.*, l.* EXCLUDE (event_id), is_sane(e.d) AS sane
    FROM (
        SELECT
            event_id, ts_ns, dur_ns, name, args,
            details_of(args->>'$.kernel_details') AS d
        FROM slice_event
        WHERE gpu_kind(name) = 'kernel'
    ) AS e
    JOIN gpu_link AS l ON l.event_id = e.event_id
) AS s
LEFT JOIN kernel_name AS n ON n.name = s.name

-- @rows memcpy FROM slice_event
SELECT
    s.ts_ns, s.dur_ns, event_key(s.event_id) AS memcpy_id, l.device_id, l.context_id,
    l.stream_id,
    coalesce(
        nullif(
            upper(regexp_extract(s.name, '^(?i)memcpy(H2D|D2H|D2D|P2P|H2H)', 1)), ''
        ),
        'unknown'
    ) AS kind,
    TRY_CAST(regexp_extract(s.text, '\bsize:([0-9]+)', 1) AS BIGINT) AS bytes,
    memory_name(regexp_extract(s.text, '\bkind_src:(\w+)', 1)) AS src_memory,
    memory_name(regexp_extract(s.text, '\bkind_dst:(\w+)', 1)) AS dst_memory,
    CASE
        WHEN regexp_matches(s.name, '^(?i)memcpyP2P')
            THEN TRY_CAST(regexp_extract(s.text, '\bdest:([0-9]+)', 1) AS INTEGER)
    END AS dst_device_id,
    l.pid, l.correlation_id, l.api_call_id, l.launch_ts_ns, l.op_id,
    left_of(s.args, '{"correlation_id":null,"context_id":null}') AS extra
FROM (
    SELECT *, coalesce(args->>'$.memcpy_details', args->>'$.memcpy') AS text
    FROM slice_event
    WHERE gpu_kind(name) = 'memcpy'
) AS s
JOIN gpu_link AS l ON l.event_id = s.event_id

-- @rows memset FROM slice_event
SELECT
    s.ts_ns, s.dur_ns, event_key(s.event_id) AS memset_id, l.device_id, l.context_id,
    l.stream_id,
    TRY_CAST(
        regexp_extract(s.text, '\b(?:size|num_bytes):([0-9]+)', 1) AS BIGINT
    ) AS bytes,
    TRY_CAST(regexp_extract(s.text, '\bvalue:([0-9]+)', 1) AS BIGINT) AS value,
    memory_name(regexp_extract(s.text, '\bkind:(\w+)', 1)) AS memory_kind,
    l.pid, l.correlation_id, l.api_call_id, l.launch_ts_ns, l.op_id,
    left_of(s.args, '{"correlation_id":null,"context_id":null}') AS extra
FROM (
    SELECT *, coalesce(args->>'$.memset_details', args->>'$.memset') AS text
    FROM slice_event
    WHERE gpu_kind(name) = 'memset'
) AS s
JOIN gpu_link AS l ON l.event_id = s.event_id

-- @rows op FROM slice_event
SELECT
    s.ts_ns, s.dur_ns, event_key(s.event_id) AS op_id,
    CASE
        WHEN contains(s.args->>'$.long_name', ':') AND l.line = 'ops'
            THEN regexp_replace(s.args->>'$.long_name', ':[^:]*$', '')
        ELSE coalesce(s.args->>'$.long_name', s.name)
    END AS name,
    CASE
        WHEN l.line = 'ops'
            THEN nullif(regexp_extract(s.args->>'$.long_name', ':([^:]*)$', 1), '')
        ELSE s.args->>'$.hlo_category'
    END AS op_type,
    'device' AS placement, s.pid, s.tid, s.truncated, false AS crossing,
    left_of(
        coalesce(s.args, '{}'),
        to_json({'long_name': NULL, 'name': s.name, 'device_id': l.device_id})
    ) AS extra
FROM slice_event AS s
JOIN op_line AS l ON l.pid = s.pid AND l.tid = s.tid

-- @rows annotation FROM slice_event
-- Lines of a device that the profiler derived: scopes, modules, steps.
SELECT
    s.ts_ns, s.dur_ns, event_key(s.event_id) AS annotation_id, 'push_pop' AS kind,
    s.name, d.name AS category, s.pid, s.tid, t.parent_id, t.depth, s.truncated,
    coalesce(t.crossing, false) AS crossing,
    left_of(
        coalesce(s.args, '{}'), to_json({'device_id': d.device_id})
    ) AS extra
FROM slice_event AS s
JOIN device_line AS d ON d.pid = s.pid AND d.tid = s.tid AND d.line <> 'stream'
LEFT JOIN nested AS t ON t.id = event_key(s.event_id)
WHERE NOT EXISTS (FROM op_line AS o WHERE o.pid = s.pid AND o.tid = s.tid)

-- @rows slice FROM slice_event
-- Threads of a device without a name: what they hold is unknown.
SELECT
    s.ts_ns, s.dur_ns, event_key(s.event_id) AS slice_id, s.name,
    nullif(s.cat, '') AS category, s.pid, s.tid, s.truncated, false AS crossing,
    extra_of(s.args, s.other) AS extra
FROM slice_event AS s
JOIN device_plane AS p ON p.pid = s.pid
WHERE NOT EXISTS (FROM device_line AS d WHERE d.pid = s.pid AND d.tid = s.tid)

-- @rows device
SELECT
    device_id,
    CASE kind WHEN 'GPU' THEN 'gpu' WHEN 'TPU' THEN 'tpu' WHEN 'CPU' THEN 'cpu'
        ELSE 'other' END AS kind,
    CASE WHEN host <> '' THEN to_json({'plane': kind || ':' || ordinal}) END AS extra
FROM device_plane

-- @rows context
SELECT
    'stream' AS kind, g.device_id, coalesce(g.context_id, 0) AS context_id, g.stream_id,
    any_value(g.pid) AS pid, any_value(d.name) AS name
FROM gpu_link AS g
JOIN device_line AS d
    ON d.device_id = g.device_id AND d.stream_id = g.stream_id AND d.line = 'stream'
WHERE g.context_id IS NOT NULL
GROUP BY g.device_id, g.context_id, g.stream_id

-- @diagnostic insane_kernel_details warning Kernel details (grid, block, registers) are no possible ones, as some TensorFlow versions wrote: NULL.
SELECT count(*), any_value(kernel_details)
FROM gpu_row
WHERE kind = 'kernel' AND kernel_details <> ''
    AND NOT is_sane(details_of(kernel_details))

-- @diagnostic orphan_gpu_ops info Kernels, copies and fills whose launching call is not in the capture: no launch time; no step owns them.
SELECT count(*), NULL FROM gpu_link WHERE api_call_id IS NULL

-- @diagnostic starts_before_launch warning GPU rows start before the call that launched them: the clocks of host and device disagree.
SELECT count(*), any_value(g.name)
FROM gpu_row AS g JOIN gpu_link AS l ON l.event_id = g.event_id
WHERE g.ts_ns < l.launch_ts_ns

-- @diagnostic derived_rows info Rows of a device that the profiler derived from its streams are operations, scopes and steps: they make nothing busy.
SELECT coalesce(sum(s.events), 0), min(d.name)
FROM thread_seen AS s
JOIN device_line AS d ON d.pid = s.pid AND d.tid = s.tid
WHERE d.line <> 'stream'

-- @diagnostic unnamed_device_rows warning Threads of a device have no name: whether their rows are work is unknown, they are slices.
SELECT coalesce(sum(s.events), 0), NULL
FROM thread_seen AS s
JOIN device_plane AS p ON p.pid = s.pid
WHERE NOT EXISTS (FROM device_line AS d WHERE d.pid = s.pid AND d.tid = s.tid)

-- @diagnostic no_gpu_activity info The trace holds no kernel, copy or fill.
SELECT CASE WHEN count(*) = 0 THEN 1 ELSE 0 END, NULL FROM gpu_row

-- @diagnostic capped_export data_loss The trace viewer's export has as many events as it may have: what it left out is unknown. Import the xplane.pb beside it.
SELECT CASE WHEN count(*) IN (1000000, 5000000) THEN 1 ELSE 0 END, count(*) || ' events'
FROM slice_event
