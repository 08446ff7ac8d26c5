-- How an XPlane file maps to the schema: what devices did. Facts: a plane is a host or
-- a device ("/device:GPU:0"); the lines of a GPU are its streams ("Stream #13(Compute)")
-- and lines that the profiler derived from them; a host event with a correlation is the
-- call that launched what bears the same one on a device. Ids are the events' own
-- (event_key: their place in the file), whichever table holds them.

-- @prepare
CREATE MACRO row_key(ordinal, id) AS (CAST(ordinal AS BIGINT) << 40) | id;
CREATE MACRO event_key(id) AS (CAST(1 AS BIGINT) << 40) | id;

-- A file does not say which process it is of: planes bear the numbers that the trace
-- viewer gives them, devices from 1, the threads of a host 701.
CREATE TABLE device_plane AS
SELECT
    plane_id, plane_name, stats, host, kind, ordinal, device_id, device_id + 1 AS pid
FROM (
    SELECT
        plane_id, name AS plane_name, stats, trim(p.host) AS host,
        upper(p.kind) AS kind, TRY_CAST(p.ordinal AS INTEGER) AS ordinal,
        CASE
            WHEN count(*) OVER () > (
                SELECT count(DISTINCT o) FROM (
                    SELECT regexp_extract(name, '/device:[A-Za-z_]+:([0-9]+)$', 1) AS o
                    FROM plane WHERE contains(name, '/device:')
                ) WHERE o <> ''
            )
                THEN CAST(row_number() OVER (
                    ORDER BY p.host, p.kind, TRY_CAST(p.ordinal AS INTEGER), plane_id
                ) - 1 AS INTEGER)
            ELSE TRY_CAST(p.ordinal AS INTEGER)
        END AS device_id
    FROM (
        SELECT
            *,
            regexp_extract(
                name, '^(.*?)/device:([A-Za-z_]+):([0-9]*)', ['host', 'kind', 'ordinal']
            ) AS p
        FROM plane
        WHERE contains(name, '/device:')
    )
);

-- What each line holds. Lines that the profiler derived from streams say again what
-- these did.
CREATE TABLE lane AS
SELECT
    l.line_id, l.plane_id, l.name, l.events, p.name AS plane_name,
    d.device_id, d.kind AS device_kind, coalesce(d.host, '') AS host,
    coalesce(d.pid, 701) AS pid,
    CASE WHEN l.id BETWEEN -2147483648 AND -1 THEN l.id + 4294967296 ELSE l.id END
        AS tid,
    CASE
        WHEN d.plane_id IS NULL THEN 'host'
        WHEN l.name = 'Steps' THEN 'steps'
        WHEN l.name IN ('TensorFlow Ops', 'Framework Ops') THEN 'ops'
        WHEN l.name IN ('XLA Ops', 'Async XLA Ops') THEN 'xla'
        WHEN regexp_matches(l.name, '^Stream #[0-9]+') THEN 'stream'
        ELSE 'derived'
    END AS role,
    TRY_CAST(nullif(regexp_extract(l.name, '^Stream #([0-9]+)', 1), '') AS BIGINT)
        AS stream_id
FROM line AS l
JOIN plane AS p ON p.plane_id = l.plane_id
LEFT JOIN device_plane AS d ON d.plane_id = l.plane_id;
-- Operations of the framework, or on planes that have no such line those of XLA.
CREATE TABLE op_lane AS
SELECT line_id
FROM lane
WHERE role IN ('ops', 'xla') AND events > 0
QUALIFY role = min(role) OVER (PARTITION BY plane_id);

CREATE MACRO number_of(text) AS TRY_CAST(ltrim(text, '$') AS BIGINT);
CREATE MACRO gpu_kind(name, memcpy_details, memset_details) AS
    CASE
        WHEN regexp_extract(name, '^(?i)memcpy([A-Z]2[A-Z]|Other|$|[ (])') <> ''
            OR memcpy_details IS NOT NULL THEN 'memcpy'
        WHEN regexp_extract(name, '^(?i)memset($|[ (])') <> ''
            OR memset_details IS NOT NULL THEN 'memset'
        ELSE 'kernel'
    END;
-- "conv1/Conv2D:Conv2D#from=a,to=b#" is of the operation before the first #.
CREATE MACRO op_key(annotation, tf_op) AS
    coalesce(nullif(split_part(annotation, '#', 1), ''), nullif(tf_op, ''));
CREATE MACRO memory_name(word) AS
    CASE lower(word)
        WHEN 'pageable' THEN 'pageable' WHEN 'pinned' THEN 'pinned'
        WHEN 'device' THEN 'device' WHEN 'array' THEN 'array'
        WHEN 'managed' THEN 'managed' WHEN 'device_static' THEN 'device_static'
        WHEN 'managed_static' THEN 'managed_static' WHEN 'unknown' THEN 'unknown'
    END;
CREATE MACRO copy_direction(name, details) AS
    CASE
        WHEN regexp_extract(name, '^(?i)memcpy([HDAP]2[HDAP])', 1) <> ''
            THEN upper(regexp_extract(name, '^(?i)memcpy([HDAP]2[HDAP])', 1))
        ELSE CASE regexp_extract(details, '\bkind:(\w+)', 1)
            WHEN 'HostToDevice' THEN 'H2D' WHEN 'DeviceToHost' THEN 'D2H'
            WHEN 'DeviceToDevice' THEN 'D2D' WHEN 'HostToHost' THEN 'H2H'
            WHEN 'PeerToPeer' THEN 'P2P' ELSE 'unknown'
        END
    END;

-- kernel_details: "regs:32 static_shared:0 dynamic_shared:16 grid:8,1,1 block:256,1,1
-- occ_pct:50", once "regs:32 shm:16 grid:8,1,1 block:256,1,1", on ROCm "grid:8,1,1
-- block:256,1,1 private_mem:0 group_mem:16 occ_pct:0". Some versions wrote memory that
-- nobody had set, mostly on the host's side of a launch: then none of it is taken.
CREATE MACRO number_in(text, key) AS
    TRY_CAST(regexp_extract(text, '\b' || key || ':([0-9]+)', 1) AS UBIGINT);
CREATE MACRO numbers_in(text, key) AS
    TRY_CAST(
        string_split(regexp_extract(text, '\b' || key || ':([0-9,]+)', 1), ',')
        AS UBIGINT[]
    );
CREATE MACRO details_of(text) AS
    struct_pack(
        regs := number_in(text, 'regs'),
        shared := coalesce(number_in(text, 'shm'), number_in(text, 'group_mem')),
        static_shared := number_in(text, 'static_shared'),
        dynamic_shared := number_in(text, 'dynamic_shared'),
        local := number_in(text, 'private_mem'),
        grid := numbers_in(text, 'grid'), block := numbers_in(text, 'block'),
        occupancy :=
            TRY_CAST(regexp_extract(text, '\bocc_pct:([0-9.]+)', 1) AS DOUBLE)
    );
CREATE MACRO is_sane(d) AS
    coalesce(d.regs <= 512, true)
    AND coalesce(d.shared < 1048576, true)
    AND coalesce(d.static_shared < 1048576, true)
    AND coalesce(d.dynamic_shared < 1048576, true)
    AND coalesce(d.local < 4294967296, true)
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
-- Few different texts occur: each is taken apart once.
CREATE TABLE detail (text VARCHAR, on_device BOOLEAN, events BIGINT);
-- What is left of an event's stats once the columns have taken theirs.
CREATE MACRO rest_of(rest, taken) AS
    nullif(CAST(json_merge_patch(rest, taken) AS VARCHAR), '{}');

CREATE TABLE device_op (
    event_id BIGINT, plane_id BIGINT, ts_ns BIGINT, end_ns BIGINT, group_id BIGINT,
    key VARCHAR
);
CREATE TABLE device_step (
    event_id BIGINT, device_id INTEGER, group_id BIGINT, name VARCHAR, ts_ns BIGINT,
    end_ns BIGINT
);
CREATE TABLE kernel_seen (name VARCHAR);
CREATE TABLE stream_seen (device_id INTEGER, context_id BIGINT, stream_id BIGINT,
    name VARCHAR);
CREATE TABLE launch_of_gpu (
    event_id BIGINT, has_call BOOLEAN, is_early BOOLEAN, plane_id BIGINT,
    stream_id BIGINT, ts_ns BIGINT, end_ns BIGINT
)

-- @phase seen

-- @stage FROM device_event
INSERT INTO device_op
SELECT
    e.event_id, e.plane_id, e.ts_ns, e.ts_ns + e.dur_ns, e.group_id,
    CASE l.role WHEN 'ops' THEN t.name
        ELSE coalesce(e.hlo_op, t.display_name, t.name) END
FROM device_event AS e
JOIN lane AS l ON l.line_id = e.line_id
JOIN op_lane AS o ON o.line_id = l.line_id
LEFT JOIN event_type AS t ON t.plane_id = e.plane_id AND t.type_id = e.type_id
WHERE e.occurrences IS NULL;
INSERT INTO device_step
SELECT
    e.event_id, l.device_id, e.group_id, coalesce(t.display_name, t.name), e.ts_ns,
    e.ts_ns + e.dur_ns
FROM device_event AS e
JOIN lane AS l ON l.line_id = e.line_id AND l.role = 'steps'
LEFT JOIN event_type AS t ON t.plane_id = e.plane_id AND t.type_id = e.type_id;
INSERT INTO host_range
SELECT
    event_key(e.event_id), l.pid, l.tid, e.ts_ns, e.ts_ns + e.dur_ns, l.role, false
FROM device_event AS e
JOIN lane AS l ON l.line_id = e.line_id AND l.role = 'derived'
WHERE e.occurrences IS NULL;
INSERT INTO detail SELECT kernel_details, true, count(*) FROM device_event
WHERE kernel_details IS NOT NULL GROUP BY kernel_details;
INSERT INTO kernel_seen
SELECT DISTINCT t.name
FROM device_event AS e
JOIN lane AS l ON l.line_id = e.line_id AND l.role = 'stream'
JOIN event_type AS t ON t.plane_id = e.plane_id AND t.type_id = e.type_id
WHERE gpu_kind(t.name, e.memcpy_details, e.memset_details) = 'kernel'

-- @phase nest

-- @prepare
CREATE TABLE kernel_name AS
SELECT name, short_name_of(name) AS short_name
FROM (SELECT DISTINCT name FROM kernel_seen WHERE name <> '');
CREATE TABLE kernel_detail AS
SELECT *, is_sane(d) AS sane
FROM (
    SELECT
        text, details_of(text) AS d,
        coalesce(sum(events) FILTER (on_device), 0) AS device_events,
        coalesce(sum(events) FILTER (NOT on_device), 0) AS host_events
    FROM detail
    GROUP BY text
)

-- @phase rows

-- @prepare
-- The outermost call of a correlation.
CREATE TABLE launch AS
SELECT
    correlation_id,
    arg_min(
        struct_pack(event_id := event_id, ts_ns := ts_ns, op_id := op_id),
        CAST(ts_ns AS HUGEINT) * 9223372036854775807 - end_ns
    ) AS call
FROM (
    SELECT c.event_id, c.correlation_id, c.ts_ns, c.end_ns, n.op_id
    FROM host_call AS c
    LEFT JOIN nested AS n ON n.id = event_key(c.event_id)
)
GROUP BY correlation_id;
-- The line of operations is drawn from kernels alone: copies that an operation makes
-- before and after them lie outside of it, in the same step.
CREATE TABLE step_op AS
SELECT plane_id, key, group_id, arg_min(event_id, ts_ns) AS event_id
FROM device_op
WHERE group_id IS NOT NULL
GROUP BY plane_id, key, group_id;
CREATE TABLE host_process AS
SELECT 701 AS pid WHERE EXISTS (FROM lane WHERE role = 'host' AND events > 0)

-- @stage FROM device_event
CREATE OR REPLACE TEMP TABLE gpu_row AS
SELECT
    e.*, l.device_id, l.stream_id, l.name AS line_name, t.name, h.pid,
    gpu_kind(t.name, e.memcpy_details, e.memset_details) AS kind,
    nullif(e.correlation_id, 0) AS correlation,
    number_of(e.context_id) AS context, c.call,
    op_key(e.annotation, e.tf_op) AS op_key
FROM device_event AS e
JOIN lane AS l ON l.line_id = e.line_id AND l.role = 'stream'
LEFT JOIN event_type AS t ON t.plane_id = e.plane_id AND t.type_id = e.type_id
LEFT JOIN host_process AS h ON true
LEFT JOIN launch AS c ON c.correlation_id = nullif(e.correlation_id, 0)
WHERE e.occurrences IS NULL;
CREATE OR REPLACE TEMP TABLE gpu_op_id AS
SELECT
    g.event_id,
    coalesce(
        CASE WHEN g.ts_ns < o.end_ns OR g.ts_ns = o.ts_ns
            THEN event_key(o.event_id) END,
        event_key(s.event_id), g.call.op_id
    ) AS op_id
FROM gpu_row AS g
LEFT JOIN step_op AS s
    ON s.plane_id = g.plane_id AND s.key = coalesce(g.op_key, g.hlo_op)
    AND s.group_id = g.group_id
ASOF LEFT JOIN device_op AS o
    ON o.plane_id = g.plane_id AND o.key = coalesce(g.op_key, g.hlo_op)
    AND o.ts_ns <= g.ts_ns;
INSERT INTO launch_of_gpu
SELECT
    event_id, call IS NOT NULL, coalesce(ts_ns < call.ts_ns, false), plane_id,
    stream_id, ts_ns, ts_ns + dur_ns
FROM gpu_row;
INSERT INTO stream_seen
SELECT DISTINCT device_id, context, stream_id, line_name FROM gpu_row

-- @rows kernel FROM device_event
SELECT
    g.ts_ns, g.dur_ns, event_key(g.event_id) AS kernel_id, g.name, n.short_name,
    g.device_id, g.context AS context_id, g.stream_id, g.pid,
    g.correlation AS correlation_id, event_key(g.call.event_id) AS api_call_id,
    g.call.ts_ns AS launch_ts_ns, o.op_id,
    nullif(g.graph_id, 0) AS graph_id, nullif(g.graph_node_id, 0) AS graph_node_id,
    k.d.grid[1] AS grid_x, k.d.grid[2] AS grid_y, k.d.grid[3] AS grid_z,
    k.d.block[1] AS block_x, k.d.block[2] AS block_y, k.d.block[3] AS block_z,
    k.d.regs AS registers_per_thread, k.d.static_shared AS static_shared_memory_bytes,
    k.d.dynamic_shared AS dynamic_shared_memory_bytes,
    k.d.shared AS shared_memory_bytes, k.d.local AS local_memory_per_thread_bytes,
    -- 0 is what is written where it could not be worked out.
    nullif(k.d.occupancy, 0) AS est_occupancy_pct,
    CASE
        WHEN g.kernel_details IS NULL THEN nullif(g.rest, '{}')
        ELSE rest_of(g.rest, '{"kernel_details":null}')
    END AS extra
FROM gpu_row AS g
JOIN gpu_op_id AS o ON o.event_id = g.event_id
LEFT JOIN kernel_detail AS k ON k.text = g.kernel_details AND k.sane
LEFT JOIN kernel_name AS n ON n.name = g.name
WHERE g.kind = 'kernel'

-- @rows memcpy FROM device_event
SELECT
    g.ts_ns, g.dur_ns, event_key(g.event_id) AS memcpy_id, g.device_id,
    g.context AS context_id, g.stream_id,
    copy_direction(g.name, g.memcpy_details) AS kind,
    number_in(g.memcpy_details, 'size') AS bytes,
    memory_name(regexp_extract(g.memcpy_details, '\bkind_src:(\w+)', 1)) AS src_memory,
    memory_name(regexp_extract(g.memcpy_details, '\bkind_dst:(\w+)', 1)) AS dst_memory,
    CASE
        WHEN copy_direction(g.name, g.memcpy_details) = 'P2P'
            THEN number_in(g.memcpy_details, 'dest')
    END AS dst_device_id,
    g.pid, g.correlation AS correlation_id, event_key(g.call.event_id) AS api_call_id,
    g.call.ts_ns AS launch_ts_ns, o.op_id, nullif(g.graph_node_id, 0) AS graph_node_id,
    nullif(g.rest, '{}') AS extra
FROM gpu_row AS g
JOIN gpu_op_id AS o ON o.event_id = g.event_id
WHERE g.kind = 'memcpy'

-- @rows memset FROM device_event
SELECT
    g.ts_ns, g.dur_ns, event_key(g.event_id) AS memset_id, g.device_id,
    g.context AS context_id, g.stream_id,
    coalesce(
        number_in(g.memset_details, 'size'), number_in(g.memset_details, 'num_bytes')
    ) AS bytes,
    number_in(g.memset_details, 'value') AS value,
    memory_name(regexp_extract(g.memset_details, '\bkind:(\w+)', 1)) AS memory_kind,
    g.pid, g.correlation AS correlation_id, event_key(g.call.event_id) AS api_call_id,
    g.call.ts_ns AS launch_ts_ns, o.op_id, nullif(g.graph_node_id, 0) AS graph_node_id,
    nullif(g.rest, '{}') AS extra
FROM gpu_row AS g
JOIN gpu_op_id AS o ON o.event_id = g.event_id
WHERE g.kind = 'memset'

-- @rows op FROM device_event
-- Operations as the profiler placed them on devices.
SELECT
    e.ts_ns, e.dur_ns, event_key(e.event_id) AS op_id,
    CASE
        WHEN l.role = 'xla' THEN coalesce(t.display_name, t.name)
        WHEN contains(t.name, ':') THEN regexp_replace(t.name, ':[^:]*$', '')
        ELSE t.name
    END AS name,
    CASE
        WHEN l.role = 'xla' THEN t.stats->>'$.hlo_category'
        ELSE nullif(regexp_extract(t.name, ':([^:]*)$', 1), '')
    END AS op_type,
    'device' AS placement, l.pid, l.tid,
    coalesce(
        e.model_flops, e.flops, TRY_CAST(t.stats->>'$.model_flops' AS BIGINT),
        TRY_CAST(t.stats->>'$.flops' AS BIGINT)
    ) AS flops,
    false AS truncated, false AS crossing,
    json_merge_patch(
        json_merge_patch(t.stats, coalesce(e.rest, '{}')),
        to_json({
            'device_id': l.device_id, 'line': l.name,
            'long_name': CASE WHEN l.role = 'xla' AND t.display_name <> t.name
                THEN t.name END
        })
    ) AS extra
FROM device_event AS e
JOIN lane AS l ON l.line_id = e.line_id
JOIN op_lane AS o ON o.line_id = l.line_id
LEFT JOIN event_type AS t ON t.plane_id = e.plane_id AND t.type_id = e.type_id
WHERE e.occurrences IS NULL

-- @rows annotation FROM device_event
-- Lines that the profiler derived: scopes, modules, steps, source lines.
SELECT
    e.ts_ns, e.dur_ns, event_key(e.event_id) AS annotation_id, 'push_pop' AS kind,
    coalesce(t.display_name, t.name) AS name, l.name AS category, l.pid, l.tid,
    n.parent_id, n.depth, false AS truncated, coalesce(n.crossing, false) AS crossing,
    json_merge_patch(
        json_merge_patch(coalesce(t.stats, '{}'), coalesce(e.rest, '{}')),
        to_json({'device_id': l.device_id})
    ) AS extra
FROM device_event AS e
JOIN lane AS l ON l.line_id = e.line_id AND l.role <> 'stream'
LEFT JOIN event_type AS t ON t.plane_id = e.plane_id AND t.type_id = e.type_id
LEFT JOIN nested AS n ON n.id = event_key(e.event_id)
WHERE e.occurrences IS NULL AND l.line_id NOT IN (SELECT line_id FROM op_lane)

-- @rows device
SELECT
    device_id,
    CASE kind WHEN 'GPU' THEN 'gpu' WHEN 'TPU' THEN 'tpu' WHEN 'CPU' THEN 'cpu'
        ELSE 'other' END AS kind,
    CASE
        WHEN stats->>'$.device_vendor' ILIKE '%nvidia%' THEN 'nvidia'
        WHEN stats->>'$.device_vendor' ILIKE '%amd%' THEN 'amd'
        WHEN kind = 'TPU' THEN 'google'
    END AS vendor,
    coalesce(stats->>'$.device_type_string', stats->>'$.device_name') AS name,
    nullif(TRY_CAST(stats->>'$.core_count' AS INTEGER), 0) AS sm_count,
    nullif(TRY_CAST(stats->>'$.memory_size' AS BIGINT), 0) AS memory_bytes,
    nullif(TRY_CAST(stats->>'$.compute_cap_major' AS INTEGER), 0) AS compute_major,
    CASE WHEN TRY_CAST(stats->>'$.compute_cap_major' AS INTEGER) > 0
        THEN TRY_CAST(stats->>'$.compute_cap_minor' AS INTEGER) END AS compute_minor,
    nullif(TRY_CAST(stats->>'$.memory_bandwidth' AS BIGINT), 0)
        AS memory_bandwidth_bytes_per_s,
    -- The profiler states kHz.
    nullif(TRY_CAST(stats->>'$.clock_rate' AS BIGINT), 0) * 1000 AS core_clock_hz,
    rest_of(
        json_merge_patch(
            stats,
            CASE WHEN host <> '' OR ordinal IS DISTINCT FROM device_id
                THEN to_json({'plane': plane_name}) ELSE '{}' END
        ),
        '{"device_vendor":null,"core_count":null,"memory_size":null,'
        || '"compute_cap_major":null,"compute_cap_minor":null,"clock_rate":null,'
        || '"memory_bandwidth":null}'
    ) AS extra
FROM device_plane
WHERE device_id IS NOT NULL

-- @rows context
SELECT
    'stream' AS kind, device_id, context_id, stream_id,
    any_value(pid) AS pid, any_value(name) AS name
FROM stream_seen
LEFT JOIN host_process ON true
WHERE context_id IS NOT NULL
GROUP BY device_id, context_id, stream_id

-- @diagnostic insane_kernel_details warning Kernel details (grid, block, registers) are no possible ones, as some TensorFlow versions wrote: NULL.
SELECT coalesce(sum(device_events), 0), min(text) FROM kernel_detail
WHERE NOT sane AND device_events > 0 AND text <> ''

-- @diagnostic insane_launch_details info Calls that launch bear kernel details that are no possible ones, as some TensorFlow versions wrote: left out; those of the kernels count.
SELECT coalesce(sum(host_events), 0), min(text) FROM kernel_detail
WHERE NOT sane AND host_events > 0 AND text <> ''

-- @diagnostic orphan_gpu_ops info Kernels, copies and fills whose launching call is not in the capture: no launch time; no step owns them.
SELECT count(*), NULL FROM launch_of_gpu WHERE NOT has_call

-- @diagnostic starts_before_launch warning GPU rows start before the call that launched them: the clocks of host and device disagree.
SELECT count(*), NULL FROM launch_of_gpu WHERE is_early

-- @diagnostic same_stream_overlap warning GPU rows overlap others of their own stream: busy times are unions, sums count both.
SELECT count(*), NULL
FROM (
    SELECT
        ts_ns,
        max(end_ns) OVER (
            PARTITION BY plane_id, stream_id ORDER BY ts_ns, end_ns, event_id
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS earlier_end_ns
    FROM launch_of_gpu
)
WHERE ts_ns < earlier_end_ns

-- @diagnostic derived_rows info Rows of a device that the profiler derived from its streams are operations, scopes and steps: they make nothing busy.
SELECT coalesce(sum(events), 0), min(name)
FROM lane WHERE device_id IS NOT NULL AND role <> 'stream'

-- @diagnostic no_gpu_activity info The file holds no kernel, copy or fill.
SELECT CASE WHEN count(*) = 0 THEN 1 ELSE 0 END, NULL FROM launch_of_gpu
