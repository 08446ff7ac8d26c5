-- How a PyTorch profiler (Kineto) trace maps to the schema: what the host did, steps,
-- memory, collectives and the run itself. Macros and links are in kineto.sql.

-- @phase nest

-- @phase rows

-- @prepare
CREATE MACRO first_number(text) AS
    TRY_CAST(nullif(regexp_extract(text, '([0-9]+)', 1), '') AS INTEGER);
-- The file's own word for its rank, else what its name says: rank-3, worker3.
CREATE MACRO rank_in_name(path) AS
    first_number(regexp_extract(
        regexp_extract(path, '[^/\\]*$'), '(?i)(?:^|[^a-z])(?:rank|worker)[-_ ]?[0-9]+'
    ));
CREATE TABLE run_fact AS
SELECT
    coalesce(
        TRY_CAST(d.value->>'$.rank' AS INTEGER), rank_in_name(t.value->>'$'),
        rank_in_name(file_name())
    ) AS rank,
    TRY_CAST(d.value->>'$.world_size' AS INTEGER) AS world_size
FROM (SELECT 1)
LEFT JOIN (
    SELECT arg_max(value, length(value)) AS value FROM trace_key
    WHERE key = 'distributedInfo' AND json_type(value) = 'OBJECT'
) AS d ON true
LEFT JOIN (SELECT any_value(value) AS value FROM trace_key WHERE key = 'traceName') AS t
    ON true;

-- Operations that autograd numbered: one number joins a forward operation with what
-- ran backward for it. Backward ones name the thread (by PyTorch's own count) that ran
-- forward.
CREATE TABLE numbered_op AS
SELECT
    event_id, pid, tid, ts_ns, end_ns, a."Sequence number" AS sequence_number,
    coalesce(a."Fwd thread id", 0) AS forward_thread, a.backward
FROM (
    SELECT
        event_id, pid, tid, ts_ns, end_ns,
        struct_insert(
            json_transform(
                args, '{"Sequence number":"BIGINT","Fwd thread id":"BIGINT"}'
            ),
            backward := starts_with(name, 'autograd::engine::evaluate_function')
        ) AS a
    FROM slice_event
    WHERE is_op(cat, name)
)
WHERE a."Sequence number" >= 0 OR a.backward;
CREATE TABLE arrow AS
SELECT s.pid, s.tid AS from_tid, s.ts_ns AS from_ts_ns, f.tid, f.ts_ns
FROM (SELECT * FROM event WHERE ph = 's' AND cat = 'fwdbwd') AS s
JOIN (SELECT * FROM event WHERE ph = 'f' AND cat = 'fwdbwd') AS f
    ON f.pid = s.pid AND f.id = s.id;
-- By the arrows where there are some; else by the number, where one thread alone used
-- it: every thread counts for itself.
CREATE TABLE forward_of AS
SELECT
    b.pid, b.tid, b.sequence_number, b.forward_thread,
    arg_max(f.event_id, f.ts_ns) AS event_id, arg_max(f.tid, f.ts_ns) AS forward_tid
FROM arrow AS a
JOIN numbered_op AS b
    ON b.pid = a.pid AND b.tid = a.tid AND b.ts_ns = a.ts_ns AND b.forward_thread > 0
JOIN numbered_op AS f
    ON f.pid = a.pid AND f.tid = a.from_tid AND f.ts_ns = a.from_ts_ns
    AND f.forward_thread = 0 AND f.sequence_number = b.sequence_number
GROUP BY ALL
UNION ALL
SELECT
    b.pid, b.tid, b.sequence_number, b.forward_thread, f.event_id, f.tid
FROM (
    SELECT DISTINCT pid, tid, sequence_number, forward_thread
    FROM numbered_op WHERE forward_thread > 0
) AS b
JOIN (
    SELECT
        pid, sequence_number, arg_max(event_id, ts_ns) AS event_id, any_value(tid) AS tid
    FROM numbered_op
    WHERE forward_thread = 0 AND NOT backward
        AND EXISTS (FROM numbered_op WHERE forward_thread > 0)
    GROUP BY pid, sequence_number
    HAVING count(DISTINCT tid) = 1
) AS f ON f.pid = b.pid AND f.sequence_number = b.sequence_number
WHERE NOT EXISTS (FROM arrow);
-- The outermost ranges of the backward pass: what runs in them is part of it.
CREATE TABLE backward_range AS
SELECT pid, tid, ts_ns, end_ns
FROM (
    SELECT
        pid, tid, ts_ns, end_ns,
        max(end_ns) OVER (
            PARTITION BY pid, tid ORDER BY ts_ns, end_ns DESC
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS earlier_end_ns
    FROM numbered_op
    WHERE forward_thread > 0 OR backward
)
WHERE earlier_end_ns IS NULL OR ts_ns >= earlier_end_ns;
CREATE TABLE backward_op AS
SELECT s.event_id
FROM (SELECT * FROM slice_event WHERE is_op(cat, name)) AS s
ASOF JOIN backward_range AS b
    ON b.pid = s.pid AND b.tid = s.tid AND b.ts_ns <= s.ts_ns
WHERE s.end_ns <= b.end_ns
ORDER BY s.event_id;

-- Python frames whose thread the tracer did not know stand alone: their own ids tell
-- who called them.
CREATE TABLE lone_frame AS
SELECT s.event_id, s.parent
FROM (
    SELECT
        event_id,
        json_transform(args, '{"Python parent id":"BIGINT"}')."Python parent id" AS parent
    FROM slice_event
    WHERE cat = 'python_function' AND event_key(event_id) IN (
        SELECT id FROM nested WHERE parent_id IS NULL
    )
) AS s
WHERE s.parent IS NOT NULL;
CREATE TABLE python_parent AS
SELECT f.event_id, event_key(p.event_id) AS parent_id
FROM (
    SELECT
        event_id, json_transform(args, '{"Python id":"BIGINT"}')."Python id" AS python_id
    FROM slice_event
    WHERE cat = 'python_function' AND EXISTS (FROM lone_frame)
) AS p
JOIN lone_frame AS f ON f.parent = p.python_id;

CREATE MACRO collective_name(text) AS
    CASE
        WHEN text IS NULL THEN NULL
        WHEN text SIMILAR TO '(?i)_?all_?reduce.*' THEN 'all_reduce'
        WHEN text SIMILAR TO '(?i)_?all_?gather.*' THEN 'all_gather'
        WHEN text SIMILAR TO '(?i)_?reduce_?scatter.*' THEN 'reduce_scatter'
        WHEN text SIMILAR TO '(?i)_?all_?to_?all.*' THEN 'all_to_all'
        WHEN text SIMILAR TO '(?i)_?broadcast.*' THEN 'broadcast'
        WHEN text SIMILAR TO '(?i)send_?recv.*' THEN 'send_recv'
        ELSE lower(text)
    END;
-- Maps, not CASE: a macro's argument is written out at each of its places, and these
-- nest.
CREATE MACRO dtype_name(word) AS coalesce(
    MAP {
        'float': 'float32', 'double': 'float64', 'half': 'float16',
        'bfloat16': 'bfloat16', 'long': 'int64', 'long int': 'int64', 'int': 'int32',
        'short': 'int16', 'short int': 'int16', 'char': 'int8', 'signed char': 'int8',
        'byte': 'uint8', 'unsigned char': 'uint8'
    }[lower(replace(word, 'c10::', ''))],
    nullif(lower(word), '')
);
CREATE MACRO dtype_bytes(dtype) AS
    MAP {
        'float64': 8, 'int64': 8, 'complexfloat': 8, 'float32': 4, 'int32': 4,
        'float16': 2, 'bfloat16': 2, 'int16': 2, 'int8': 1, 'uint8': 1, 'bool': 1,
        'float8': 1
    }[regexp_replace(dtype, '^float8.*', 'float8')];
-- Types of arguments that are no tensors ("Scalar", "TensorList") are no element types.
CREATE MACRO known_dtype(word) AS
    CASE WHEN dtype_bytes(dtype_name(word)) IS NOT NULL THEN word END;
CREATE MACRO elements_of(dims) AS
    CASE
        WHEN len(TRY_CAST(dims->'$[0]' AS BIGINT[])) > 0
            THEN CAST(list_product(TRY_CAST(dims->'$[0]' AS BIGINT[])) AS BIGINT)
    END;
CREATE MACRO communication_args(args) AS
    json_transform(
        args,
        '{"Collective name":"VARCHAR","In msg nelems":"BIGINT",'
        || '"Out msg nelems":"BIGINT","Group size":"INTEGER","dtype":"VARCHAR",'
        || '"In split size":"JSON","Out split size":"JSON",'
        || '"Process Group Name":"VARCHAR","Process Group ID":"VARCHAR",'
        || '"Process Group Description":"VARCHAR","Process Group Ranks":"JSON",'
        || '"Rank":"INTEGER","Input Dims":"JSON","Input type":"JSON"}'
    );
-- What the host says of a communication. Gloo and MPI have nothing but their names.
CREATE TABLE communication_op AS
SELECT
    event_id, name, is_op(cat, name) AS is_op, ts_ns, dur_ns,
    communication_args(args) AS a
FROM slice_event
WHERE (is_op(cat, name) AND name = 'record_param_comms')
    OR ((is_op(cat, name) OR is_annotation(cat, name)) AND name SIMILAR TO
        '(gloo|mpi|ucc|xccl):.*');

-- @rows api_call FROM slice_event
SELECT
    s.ts_ns, s.dur_ns, event_key(s.event_id) AS api_call_id,
    CASE
        WHEN starts_with(s.name, 'hip') OR starts_with(s.name, 'hsa_') THEN 'hip'
        WHEN s.cat = 'Runtime' AND regexp_matches(s.name, '^cu[A-Z]') THEN 'cuda_driver'
        WHEN s.cat = 'Runtime' THEN 'cuda_runtime'
        ELSE s.cat
    END AS api,
    CASE
        WHEN contains(s.name, '_v') THEN regexp_replace(s.name, '_v[0-9]{4,}$', '')
        ELSE coalesce(s.name, 'unknown')
    END AS name,
    s.pid, s.tid,
    nullif(json_transform(s.args, '{"correlation":"BIGINT"}').correlation, 0)
        AS correlation_id,
    rest_of(s.args, '{"correlation":null}') AS extra
FROM slice_event AS s
WHERE is_call(s.cat)

-- @rows op FROM slice_event
SELECT
    s.ts_ns, s.dur_ns, event_key(s.event_id) AS op_id, s.name, 'host' AS placement,
    s.pid, s.tid, t.parent_id, t.depth,
    as_list(s.a."Input Dims") AS input_shapes,
    as_list(s.a."Input Strides") AS input_strides,
    as_list(s.a."Input type") AS input_types,
    as_list(s.a."Concrete Inputs") AS concrete_inputs,
    CASE WHEN s.sequence_number >= 0 THEN s.sequence_number END AS sequence_number,
    f.forward_tid, event_key(f.event_id) AS forward_op_id,
    CASE
        WHEN s.forward_thread > 0
            OR starts_with(s.name, 'autograd::engine::evaluate_function')
            OR b.event_id IS NOT NULL
            THEN true
        WHEN EXISTS (FROM backward_range) THEN false
    END AS is_backward,
    replace(nullif(s.a."Call stack", ''), ';', chr(10)) AS stack,
    nullif(s.a."Module Hierarchy", '') AS module,
    s.a.flops,
    s.truncated, coalesce(t.crossing, false) AS crossing,
    rest_of(
        s.args,
        '{"Input Dims":null,"Input Strides":null,"Input type":null,'
        || '"Concrete Inputs":null,"Sequence number":null,"Call stack":null,'
        || '"Module Hierarchy":null,"flops":null}'
    ) AS extra
FROM (
    SELECT
        *, a."Sequence number" AS sequence_number, a."Fwd thread id" AS forward_thread
    FROM (
        SELECT
            *,
            json_transform(
                args,
                '{"Input Dims":"JSON","Input Strides":"JSON","Input type":"JSON",'
                || '"Concrete Inputs":"JSON","Sequence number":"BIGINT",'
                || '"Fwd thread id":"BIGINT","Call stack":"VARCHAR",'
                || '"Module Hierarchy":"VARCHAR","flops":"BIGINT"}'
            ) AS a
        FROM slice_event
        WHERE is_op(cat, name)
    )
) AS s
LEFT JOIN nested AS t ON t.id = event_key(s.event_id)
LEFT JOIN forward_of AS f
    ON f.pid = s.pid AND f.tid = s.tid AND f.sequence_number = s.sequence_number
    AND f.forward_thread = s.forward_thread
LEFT JOIN (
    SELECT event_id FROM backward_op
    WHERE event_id BETWEEN
        (SELECT min(event_id) FROM event) AND (SELECT max(event_id) FROM event)
) AS b ON b.event_id = s.event_id

-- @rows annotation FROM slice_event
SELECT
    s.ts_ns, s.dur_ns, event_key(s.event_id) AS annotation_id, 'push_pop' AS kind,
    s.name, s.cat AS category, s.pid, s.tid, t.parent_id, t.depth, s.truncated,
    coalesce(t.crossing, false) AS crossing, extra_of(s.args, s.other) AS extra
FROM slice_event AS s
LEFT JOIN nested AS t ON t.id = event_key(s.event_id)
WHERE is_annotation(s.cat, s.name)

-- @rows annotation FROM event
SELECT
    ts_ns, 0 AS dur_ns, event_key(event_id) AS annotation_id, 'mark' AS kind, name,
    nullif(cat, '') AS category, pid, tid, args AS payload, false AS truncated,
    false AS crossing, CASE WHEN s IS NOT NULL THEN to_json({'scope': s}) END AS extra
FROM event
WHERE ph IN ('i', 'I', 'R') AND ts_ns IS NOT NULL AND NOT coalesce(
    name = '[memory]' OR starts_with(name, 'Iteration Start:')
    OR name = 'Record Window End', false
)

-- @rows async_slice FROM event
-- The profiler's own window: no work of anyone, and sometimes of another clock.
SELECT
    ts_ns, CASE WHEN ph = 'X' THEN dur_ns ELSE 0 END AS dur_ns, name,
    'profiler' AS category, pid, tid, false AS truncated,
    extra_of(args, other) AS extra
FROM event
WHERE ts_ns IS NOT NULL AND (
    (ph = 'X' AND is_window(cat))
    OR (ph = 'i' AND (starts_with(name, 'Iteration Start:') OR name = 'Record Window End'))
)

-- @rows slice FROM slice_event
SELECT
    s.ts_ns, s.dur_ns, event_key(s.event_id) AS slice_id, s.name,
    nullif(s.cat, '') AS category, s.pid, s.tid,
    coalesce(t.parent_id, p.parent_id) AS parent_id, t.depth, s.truncated,
    coalesce(t.crossing, false) AS crossing, extra_of(s.args, s.other) AS extra
FROM slice_event AS s
LEFT JOIN nested AS t ON t.id = event_key(s.event_id)
LEFT JOIN python_parent AS p ON p.event_id = s.event_id
WHERE is_slice(s.cat, s.name)

-- @rows overhead FROM slice_event
SELECT
    ts_ns, dur_ns, coalesce(name, 'unknown') AS kind,
    CASE
        WHEN pid <> -1 THEN pid
        ELSE (SELECT pid FROM host_process WHERE processes = 1 AND mark = '')
    END AS pid,
    CASE WHEN pid <> -1 THEN tid END AS tid, extra_of(args, other) AS extra
FROM slice_event
WHERE cat = 'overhead'

-- @rows iteration FROM slice_event
SELECT
    ts_ns, dur_ns, event_key(event_id) AS iteration_id,
    TRY_CAST(name[14:] AS BIGINT) AS number, name, 'profiler_step' AS source, pid,
    (SELECT rank FROM run_fact) AS rank
FROM slice_event
WHERE is_annotation(cat, name) AND starts_with(name, 'ProfilerStep#')

-- @rows memory_event FROM event
SELECT
    e.ts_ns,
    CASE
        WHEN e.a."Device Type" <> 0
            OR (e.a."Device Type" IS NULL AND e.a."Device Id" >= 0)
            THEN e.a."Device Id"
    END AS device_id,
    e.pid, e.a."Addr" AS address, e.a."Bytes" AS bytes,
    CASE WHEN e.a."Device Type" <> 0 THEN 'device' END AS kind,
    e.a."Total Allocated" AS total_allocated_bytes,
    e.a."Total Reserved" AS total_reserved_bytes,
    t.op_id,
    to_json({'tid': e.tid, 'device_type': e.a."Device Type"}) AS extra
FROM (
    SELECT
        *,
        json_transform(
            args,
            '{"Device Type":"INTEGER","Device Id":"INTEGER","Addr":"UBIGINT",'
            || '"Bytes":"BIGINT","Total Allocated":"BIGINT",'
            || '"Total Reserved":"BIGINT"}'
        ) AS a
    FROM event
    WHERE ph = 'i' AND name = '[memory]' AND ts_ns IS NOT NULL
) AS e
LEFT JOIN nested AS t ON t.id = event_key(e.event_id)

-- @rows collective FROM slice_event
SELECT
    s.ts_ns, s.dur_ns, event_key(s.event_id) AS kernel_id, l.op_id,
    collective_name(coalesce(
        s.a."Collective name", c.a."Collective name",
        nullif(regexp_extract(
            s.name,
            '(?i)(all_?reduce|all_?gather|reduce_?scatter|all_?to_?all|broadcast'
            || '|send_?recv|reduce|gather|scatter)'
        ), '')
    )) AS name,
    coalesce(s.a."In msg nelems", c.a."In msg nelems", elements_of(c.a."Input Dims"))
        AS in_elements,
    coalesce(s.a."Out msg nelems", c.a."Out msg nelems") AS out_elements,
    as_list(coalesce(s.a."In split size", c.a."In split size")) AS in_splits,
    as_list(coalesce(s.a."Out split size", c.a."Out split size")) AS out_splits,
    dtype_name(coalesce(s.a.dtype, c.a.dtype, known_dtype(c.a."Input type"->>'$[0]'))) AS dtype,
    in_elements * dtype_bytes(dtype) AS bytes,
    coalesce(
        s.a."Process Group Name", s.a."Process Group ID", c.a."Process Group Name",
        c.a."Process Group ID"
    ) AS group_name,
    coalesce(s.a."Process Group Description", c.a."Process Group Description")
        AS group_description,
    as_list(coalesce(s.a."Process Group Ranks", c.a."Process Group Ranks"))
        AS group_ranks,
    coalesce(s.a."Group size", c.a."Group size") AS group_size,
    coalesce(c.a."Rank", (SELECT rank FROM run_fact)) AS rank,
    CASE
        WHEN coalesce(s.a."Collective name", c.a."Collective name") IS NOT NULL
            THEN to_json({
                'Collective name':
                    coalesce(s.a."Collective name", c.a."Collective name")
            })
    END AS extra
FROM (
    SELECT e.*, communication_args(e.args) AS a
    FROM slice_event AS e
    LEFT JOIN kernel_name AS n ON n.name = e.name
    WHERE is_kernel(e.cat)
        AND (n.is_communication OR contains(e.args, '"Collective name"'))
) AS s
LEFT JOIN chunk_link(
    (SELECT min(event_id) FROM event), (SELECT max(event_id) FROM event)
) AS l ON l.event_id = s.event_id
LEFT JOIN communication_op AS c ON event_key(c.event_id) = l.op_id

-- @rows collective
-- Those without a kernel: of the host's own back-ends, or of a trace without its GPU.
SELECT
    c.ts_ns, c.dur_ns,
    CASE WHEN c.is_op THEN event_key(c.event_id) END AS op_id,
    collective_name(
        coalesce(c.a."Collective name", nullif(split_part(c.name, ':', 2), ''))
    ) AS name,
    coalesce(c.a."In msg nelems", elements_of(c.a."Input Dims")) AS in_elements,
    c.a."Out msg nelems" AS out_elements,
    as_list(c.a."In split size") AS in_splits,
    as_list(c.a."Out split size") AS out_splits,
    dtype_name(coalesce(c.a.dtype, known_dtype(c.a."Input type"->>'$[0]'))) AS dtype,
    in_elements * dtype_bytes(dtype) AS bytes,
    coalesce(c.a."Process Group Name", c.a."Process Group ID") AS group_name,
    c.a."Process Group Description" AS group_description,
    as_list(c.a."Process Group Ranks") AS group_ranks, c.a."Group size" AS group_size,
    coalesce(c.a."Rank", (SELECT rank FROM run_fact)) AS rank,
    to_json({'name': c.name, 'Collective name': c.a."Collective name"}) AS extra
FROM communication_op AS c
WHERE NOT EXISTS (FROM device_link AS l WHERE l.op_id = event_key(c.event_id))
    AND coalesce(c.a."Collective name", '') NOT IN ('wait', 'init')
    -- Waits of 2023 name neither a collective nor a tensor.
    AND (
        c.a."Collective name" IS NOT NULL OR c.name <> 'record_param_comms'
        OR c.a."Input type"->>'$[0]' <> 'Scalar'
    )
    AND (
        c.name = 'record_param_comms'
        OR NOT EXISTS (FROM communication_op AS o WHERE o.name = 'record_param_comms')
    )

-- @run
SELECT
    'PyTorch profiler' AS tool,
    (SELECT any_value(value->>'$') FROM trace_key WHERE key = 'pytorch_version')
        AS tool_version,
    (SELECT any_value(value->>'$') FROM trace_key WHERE key = 'schemaVersion')
        AS source_schema_version,
    'pytorch' AS framework,
    (SELECT rank FROM run_fact) AS rank,
    (SELECT world_size FROM run_fact) AS world_size,
    (
        SELECT json_group_object(key, value) FROM trace_key
        WHERE key IN (
            'cuda_runtime_version', 'cuda_driver_version', 'cupti_version',
            'hip_runtime_version', 'hip_driver_version', 'roctracer_version',
            'record_shapes', 'profile_memory', 'with_stack', 'with_flops',
            'with_modules', 'trace_id', 'distributedInfo', 'displayTimeUnit'
        )
    ) AS extra,
    (SELECT any_value(value->>'$') FROM trace_key WHERE key = 'host_name') AS host,
    (
        SELECT json_group_object(key, value) FROM trace_key
        WHERE key <> 'deviceProperties'
    ) AS environment

-- @diagnostic duplicate_steps warning The host states steps of one number more than once: all are kept.
SELECT count(*), min(name)
FROM (
    SELECT name FROM slice_event
    WHERE is_annotation(cat, name) AND starts_with(name, 'ProfilerStep#')
    GROUP BY pid, name HAVING count(*) > 1
)

-- @diagnostic crossing_ranges info Host ranges overlap without nesting.
SELECT count(*), NULL FROM nested WHERE crossing

-- @diagnostic unknown_category info Categories that TraceQL does not know: their events are slices.
SELECT count(*), any_value(cat) FROM event
WHERE ph = 'X' AND is_slice(cat, name) AND cat NOT IN (
    'python_function', 'mtia_ccp_events', 'cuda_profiler_range'
)
