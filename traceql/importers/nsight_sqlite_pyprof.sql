-- Operations of PyTorch in NVTX ranges. Facts: PyProf and DLProf push two ranges round
-- each call of a function of torch: {'traceMarker': [call site, ...], 'funcStack': path}
-- and within it {'mod': ..., 'op': ..., 'args': [...]}, Python literals; PyTorch's
-- emit_nvtx pushes "aten::conv2d, seq = 0" and, on the thread of the backward pass,
-- "ConvBackward, seq = 0", where seq pairs the two passes. Newer ones add
-- ", op_id = 5" and ", sizes = [[1, 3]]". Each stays an annotation, and is an op too.

-- @phase ops

-- @prepare
CREATE TABLE op_range AS
SELECT
    row_id, ts_ns, end_ns, pid, tid, text, starts_with(text, '{') AS is_literal
FROM nvtx
WHERE event_type IN (59, 70)
    AND (
        starts_with(text, '{''mod''') OR starts_with(text, 'aten::')
        OR contains(text, ', seq = ') AND regexp_matches(text, ', seq = -?[0-9]+(,|$)')
    );
-- Python reads each text once, however often it was pushed, as a literal: no code runs.
CREATE TABLE op_literal AS
SELECT text, literal_json(text) AS content
FROM (
    SELECT DISTINCT text FROM op_range WHERE is_literal
    UNION
    SELECT DISTINCT text
    FROM nvtx
    WHERE starts_with(text, '{''traceMarker''') AND EXISTS (FROM op_range)
);
DELETE FROM op_range
WHERE is_literal AND text IN (SELECT text FROM op_literal WHERE (content->'op') IS NULL);
CREATE TABLE op_place AS
SELECT n.row_id, n.pid, n.tid, n.ts_ns, n.end_ns,
    l.content->>'$.funcStack' AS func_stack,
    array_to_string(CAST(l.content->'$.traceMarker' AS VARCHAR[]), E'\n') AS stack
FROM nvtx AS n
JOIN op_literal AS l ON l.text = n.text
WHERE starts_with(n.text, '{''traceMarker''');
-- Until when some operation is open that has begun.
CREATE TABLE op_reach AS
SELECT
    pid, tid, ts_ns,
    max(coalesce(end_ns, 9223372036854775807)) OVER (
        PARTITION BY pid, tid ORDER BY ts_ns
    ) AS end_ns
FROM op_range;
-- The same coarsely, by slots of time: a call in none of them needs no closer look.
-- They are 65,536 and two for each operation, however long operations last.
CREATE TABLE op_segment AS
SELECT
    pid, tid, greatest(ts_ns, (SELECT min(ts_ns) FROM launch)) AS ts_ns,
    least(
        end_ns, lead(ts_ns) OVER (PARTITION BY pid, tid ORDER BY ts_ns),
        (SELECT max(ts_ns) FROM launch)
    ) AS end_ns
FROM op_reach;
CREATE TABLE slot_length AS
SELECT
    CAST(coalesce(sum(CAST(end_ns AS HUGEINT) - ts_ns), 0) // 65536 + 1 AS BIGINT)
        AS slot_ns
FROM op_segment
WHERE end_ns >= ts_ns;
CREATE TABLE op_slot AS
SELECT DISTINCT
    pid, tid, unnest(range(ts_ns // slot_ns, end_ns // slot_ns + 1)) AS slot
FROM op_segment, slot_length
WHERE end_ns >= ts_ns;
-- Ranges of the backward pass; what lies in one is of it.
CREATE TABLE backward_reach AS
SELECT
    pid, tid, ts_ns,
    max(coalesce(end_ns, 9223372036854775807)) OVER (
        PARTITION BY pid, tid ORDER BY ts_ns ROWS UNBOUNDED PRECEDING
    ) AS end_ns
FROM op_range
WHERE regexp_matches(text, '[Bb]ackward[0-9]*, seq = ');

-- @nest
SELECT row_key(41, row_id) AS id, pid, tid, ts_ns, end_ns, 'op' AS kind, false AS seeks
FROM op_range
UNION ALL
-- Calls that launched something while an operation was open may belong to it.
SELECT c.api_call_id, c.pid, c.tid, c.ts_ns, c.ts_ns + coalesce(c.dur_ns, 0), 'call', true
-- Without such operations the calls are not even read.
FROM (
    SELECT c.*
    FROM written.api_call AS c
    SEMI JOIN op_slot AS o
        ON c.pid = o.pid AND c.tid = o.tid
        AND c.ts_ns // (SELECT slot_ns FROM slot_length) = o.slot
) AS c
ASOF JOIN op_reach AS o ON c.pid = o.pid AND c.tid = o.tid AND c.ts_ns >= o.ts_ns
WHERE c.api IN ('cuda_runtime', 'cuda_driver') AND c.correlation_id IS NOT NULL
    AND c.ts_ns <= o.end_ns

-- @diagnostic unread_op_ranges data_loss NVTX ranges look like an operation of PyProf and are no Python literal: they are annotations only.
SELECT count(*), min(text) FROM op_literal WHERE content IS NULL

-- @phase device

-- @prepare
INSERT INTO op_of_call
SELECT id, op_id FROM nested WHERE op_id IS NOT NULL;
CREATE TABLE op_nested AS
SELECT id, depth, crossing FROM nested WHERE id >= row_key(41, 0)

-- @beside op
WITH parsed AS (
    SELECT
        o.row_id, o.pid, o.tid, o.ts_ns, o.end_ns, o.is_literal,
        CASE WHEN o.is_literal THEN l.content->>'$.op'
            ELSE regexp_replace(o.text, ', (seq|op_id|sizes) = .*$', '') END AS name,
        nullif(TRY_CAST(
            regexp_extract(o.text, ', seq = (-?[0-9]+)', 1) AS BIGINT
        ), -1) AS sequence_number,
        regexp_matches(o.text, '[Bb]ackward[0-9]*, seq = ') AS ends_backward,
        CASE
            WHEN o.is_literal THEN CAST(to_json(
                [
                    coalesce(json_extract(a, '$.shape'), '[]')
                    FOR a IN json_extract(l.content, '$.args[*]')
                ]
            ) AS VARCHAR)
            ELSE nullif(regexp_extract(o.text, ', sizes = (\[[0-9, \[\]]*\])', 1), '')
        END AS input_shapes,
        CASE WHEN o.is_literal THEN CAST(to_json(
            [
                coalesce(a->>'dtype', a->>'type')
                FOR a IN json_extract(l.content, '$.args[*]')
            ]
        ) AS VARCHAR) END AS input_types,
        CASE WHEN o.is_literal THEN CAST(to_json(
            [
                coalesce(a->>'value', '')
                FOR a IN json_extract(l.content, '$.args[*]')
            ]
        ) AS VARCHAR) END AS concrete_inputs,
        CASE WHEN o.is_literal THEN
            '{"mod":' || CAST(to_json(l.content->>'$.mod') AS VARCHAR)
            || ',"args":' || CAST(l.content->'$.args' AS VARCHAR) || '}'
        END AS extra
    FROM op_range AS o
    LEFT JOIN op_literal AS l ON o.is_literal AND l.text = o.text
),
-- Whether a capture's ranges tell the passes apart: else no direction is known.
known AS (SELECT bool_or(NOT is_literal AND sequence_number IS NOT NULL) AS seq FROM parsed)
SELECT
    p.ts_ns, p.end_ns - p.ts_ns AS dur_ns, row_key(41, p.row_id) AS op_id, p.name,
    'host' AS placement, p.pid, p.tid,
    CASE WHEN outer_op.row_id IS NULL THEN a.parent_id
        ELSE row_key(41, outer_op.row_id) END AS parent_id,
    t.depth, p.input_shapes,
    p.input_types, p.concrete_inputs, p.sequence_number, f.tid AS forward_tid,
    row_key(41, f.row_id) AS forward_op_id,
    CASE
        WHEN coalesce(b.end_ns >= coalesce(p.end_ns, p.ts_ns), false) THEN true
        WHEN known.seq THEN false
    END AS is_backward,
    place.stack, place.func_stack AS module,
    p.end_ns IS NULL
        OR p.end_ns IN (SELECT duration FROM ANALYSIS_DETAILS WHERE duration > 0)
        AS truncated,
    coalesce(t.crossing, false) AS crossing, p.extra
FROM parsed AS p
CROSS JOIN known
LEFT JOIN op_nested AS t ON t.id = row_key(41, p.row_id)
-- As an annotation it lies in the same range, which may be an operation itself.
LEFT JOIN written.annotation AS a ON a.annotation_id = row_key(11, p.row_id)
LEFT JOIN op_range AS outer_op ON row_key(11, outer_op.row_id) = a.parent_id
LEFT JOIN op_place AS place
    ON p.is_literal AND row_key(11, place.row_id) = a.parent_id
ASOF LEFT JOIN backward_reach AS b
    ON b.pid = p.pid AND b.tid = p.tid AND b.ts_ns <= p.ts_ns
-- The innermost of those that bear the number made the node of the graph.
ASOF LEFT JOIN (
    SELECT pid, tid, row_id, ts_ns, sequence_number, true AS is_forward
    FROM parsed WHERE NOT ends_backward AND sequence_number IS NOT NULL
) AS f
    ON f.pid = p.pid AND f.sequence_number = p.sequence_number
    AND f.is_forward = p.ends_backward AND f.ts_ns < p.ts_ns
