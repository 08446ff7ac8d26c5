-- Binary NVTX payloads (nsys export --include-blobs=true), which NCCL attaches to its
-- ranges. A blob is a header of four little-endian numbers of 64 bits (domain, schema,
-- bytes of the payload, bytes of the blob) and the payload that the schema lays out.
-- What does not fit that in every part stays as it is, in extra.

-- @prepare
-- Little-endian hexadecimal text of 4 or 8 bytes, from byte number `place` on.
CREATE MACRO le_32(h, place) AS CAST(
    '0x' || substr(h, 2 * place + 7, 2) || substr(h, 2 * place + 5, 2)
    || substr(h, 2 * place + 3, 2) || substr(h, 2 * place + 1, 2) AS UBIGINT
);
CREATE MACRO le_64(h, place) AS
    CAST(le_32(h, place) AS HUGEINT) + CAST(le_32(h, place + 4) AS HUGEINT) * 4294967296;
CREATE MACRO signed_of(n, bits) AS
    CASE
        WHEN n >= CAST(1 AS HUGEINT) << (bits - 1)
            THEN n - (CAST(1 AS HUGEINT) << bits)
        ELSE n
    END;
-- Entry types of nvToolsExtPayload.h: 5 int, 6 unsigned, 7 and 8 long (8 bytes on
-- Linux), 9 and 10 long long, 15 to 18 sized, 22 size_t. An enum's type is its schema.
-- Arrays, pointers, texts and nested schemas (flags, other types) are not read.
-- The tables name no process: what two processes define differently is no layout.
CREATE TABLE payload_field AS
WITH enum AS (
    SELECT domainId, schemaId, any_value("size") AS "size"
    FROM NVTX_PAYLOAD_ENUMS GROUP BY ALL
),
entry AS (
    SELECT DISTINCT
        e.domainId, e.schemaId, e.idx, e.name, e.type, coalesce(e."offset", 0) AS place,
        coalesce(e.flags, 0) AS flags, enum.schemaId AS enum_id,
        CASE
            WHEN e.type IN (5, 6, 15, 16) THEN 4
            WHEN e.type IN (7, 8, 9, 10, 17, 18, 22) THEN 8
            WHEN enum."size" IN (4, 8) THEN enum."size"
        END AS width,
        e.type IN (5, 7, 9, 15, 17) AS is_signed
    FROM NVTX_PAYLOAD_SCHEMA_ENTRIES AS e
    LEFT JOIN enum ON enum.domainId = e.domainId AND enum.schemaId = e.type
)
SELECT domainId AS domain_id, schemaId AS schema_id, idx, any_value(name) AS name,
    any_value(place) AS place, any_value(width) AS width, any_value(is_signed) AS is_signed,
    any_value(enum_id) AS enum_id,
    count(*) = 1 AND bool_and(
        flags = 0 AND width IS NOT NULL AND name IS NOT NULL
    ) AS is_clear
FROM entry
GROUP BY domainId, schemaId, idx;
CREATE TABLE payload_schema AS
SELECT s.domainId AS domain_id, s.schemaId AS schema_id, min(s.payloadSize) AS bytes
FROM NVTX_PAYLOAD_SCHEMAS AS s
GROUP BY ALL
HAVING count(DISTINCT s.payloadSize) = 1
    AND (
        SELECT bool_and(f.is_clear) AND max(f.place + f.width) <= min(s.payloadSize)
        FROM payload_field AS f
        WHERE f.domain_id = s.domainId AND f.schema_id = s.schemaId
    );
CREATE TABLE payload_enum AS
SELECT domainId AS domain_id, schemaId AS schema_id, value, any_value(name) AS name
FROM NVTX_PAYLOAD_ENUM_ENTRIES
GROUP BY ALL
HAVING count(DISTINCT name) = 1

-- @phase device

-- @prepare
CREATE TABLE payload AS
WITH blob AS (
    SELECT row_id, domain_id, hex(binary_data) AS h, octet_length(binary_data) AS bytes
    FROM nvtx
    WHERE binary_data IS NOT NULL
),
known AS (
    SELECT b.row_id, b.domain_id, s.schema_id, b.h
    FROM blob AS b
    JOIN payload_schema AS s
        ON s.domain_id = b.domain_id AND b.bytes = 32 + s.bytes
        AND le_64(b.h, 8) = s.schema_id AND le_64(b.h, 16) = s.bytes
        AND le_64(b.h, 24) = b.bytes
    WHERE b.bytes >= 32
),
field AS (
    SELECT
        k.row_id, f.idx, f.name, k.domain_id, f.enum_id, f.width, f.is_signed,
        CASE f.width
            WHEN 4 THEN CAST(le_32(k.h, 32 + f.place) AS HUGEINT)
            ELSE le_64(k.h, 32 + f.place)
        END AS bits
    FROM known AS k
    JOIN payload_field AS f
        ON f.domain_id = k.domain_id AND f.schema_id = k.schema_id
),
value AS (
    SELECT
        f.row_id, f.idx, f.name, e.name AS label,
        CASE WHEN f.is_signed THEN signed_of(f.bits, 8 * f.width) ELSE f.bits END
            AS number
    FROM field AS f
    LEFT JOIN payload_enum AS e
        ON e.domain_id = f.domain_id AND e.schema_id = f.enum_id AND e.value = f.bits
)
SELECT
    row_id,
    '{' || string_agg(
        json_text(name) || ':' || coalesce(json_text(label), CAST(number AS VARCHAR)),
        ',' ORDER BY idx
    ) || '}' AS content,
    max(number) FILTER (name = 'NCCL communicator ID') AS communicator,
    max(number) FILTER (name = 'Message size [bytes]') AS bytes,
    max(number) FILTER (name = 'No. of ranks') AS ranks,
    max(number) FILTER (name = 'Rank') AS "rank",
    max(number) FILTER (name = 'Peer rank') AS peer,
    max(label) FILTER (name = 'Reduction operation') AS reduction
FROM value
GROUP BY row_id;
-- The rank and size of a communicator stand where it was made, and only there. A
-- process that holds several ranks of one communicator does not say which one calls.
CREATE TABLE nccl_communicator AS
SELECT
    v.pid, p.communicator,
    CASE WHEN count(DISTINCT p."rank") = 1 THEN min(p."rank") END AS "rank",
    CASE WHEN count(DISTINCT p.ranks) = 1 THEN min(p.ranks) END AS ranks
FROM payload AS p
JOIN nvtx AS v ON v.row_id = p.row_id
WHERE p.communicator IS NOT NULL AND p.ranks IS NOT NULL
GROUP BY v.pid, p.communicator;
CREATE TABLE nccl_call AS
SELECT
    v.row_id, v.pid, v.tid, v.ts_ns, v.end_ns, p.communicator, p.bytes, p.peer,
    p.reduction, m."rank", m.ranks,
    CASE regexp_replace(v.text, '^p?nccl', '')
        WHEN 'AllReduce' THEN 'all_reduce' WHEN 'AllGather' THEN 'all_gather'
        WHEN 'ReduceScatter' THEN 'reduce_scatter' WHEN 'Reduce' THEN 'reduce'
        WHEN 'Broadcast' THEN 'broadcast' WHEN 'Bcast' THEN 'broadcast'
        WHEN 'AlltoAll' THEN 'all_to_all' WHEN 'Gather' THEN 'gather'
        WHEN 'Scatter' THEN 'scatter' WHEN 'Send' THEN 'send' WHEN 'Recv' THEN 'recv'
    END AS operation
FROM payload AS p
JOIN nvtx AS v ON v.row_id = p.row_id
LEFT JOIN nccl_communicator AS m
    ON m.pid = v.pid AND m.communicator = p.communicator
WHERE p.bytes IS NOT NULL AND v.event_type IN (59, 60, 70, 71)

-- @phase rest

-- @rows collective
-- The range is the call that asked for the operation. Where exactly one NCCL kernel
-- was launched in it, and in no other call, that kernel is the operation and gives its
-- time; in a group (ncclGroupStart) the launch comes later, and the time is not known.
WITH span AS (SELECT min(ts_ns) AS low, max(end_ns) AS high FROM nccl_call),
kernel AS (
    SELECT k.kernel_id, k.ts_ns, k.dur_ns, k.pid, k.api_call_id, k.launch_ts_ns
    FROM written.kernel AS k, span
    WHERE k.launch_ts_ns BETWEEN span.low AND span.high
        AND lower(k.name) LIKE '%nccl%'
),
launched AS (
    SELECT kernel.*, a.tid
    -- The right side is the table in memory: the few kernels, not all calls.
    FROM written.api_call AS a
    JOIN kernel ON kernel.api_call_id = a.api_call_id
),
inside AS (
    SELECT c.row_id, l.kernel_id, l.ts_ns, l.dur_ns
    FROM launched AS l
    ASOF JOIN nccl_call AS c
        ON c.pid = l.pid AND c.tid = l.tid AND c.ts_ns <= l.launch_ts_ns
    WHERE l.launch_ts_ns < c.end_ns
),
single AS (
    SELECT
        row_id, min(kernel_id) AS kernel_id, min(ts_ns) AS ts_ns, min(dur_ns) AS dur_ns
    FROM inside GROUP BY row_id HAVING count(*) = 1
)
SELECT
    coalesce(s.ts_ns, c.ts_ns) AS ts_ns, s.dur_ns, s.kernel_id,
    c.operation AS name, c.bytes, CAST(c.communicator AS VARCHAR) AS group_name,
    c.ranks AS group_size, c."rank",
    json_object_of(concat_ws(
        ',', '"api":"nccl"', '"annotationId":' || row_key(11, c.row_id),
        '"peerRank":' || c.peer, '"reduction":' || json_text(c.reduction),
        CASE WHEN s.kernel_id IS NULL THEN '"timeOf":"call"' END
    )) AS extra
FROM nccl_call AS c
LEFT JOIN single AS s ON s.row_id = c.row_id
WHERE c.operation IS NOT NULL

-- @diagnostic undecoded_payloads info Binary NVTX payloads whose layout the export does not say, or that do not fit it: kept as base64 in annotation.extra.
SELECT count(*), NULL
FROM nvtx AS v
WHERE v.binary_data IS NOT NULL AND v.event_type IN (34, 59, 60, 65, 70, 71)
    AND NOT EXISTS (FROM payload AS p WHERE p.row_id = v.row_id)

-- @diagnostic payloads_not_exported info NCCL described its calls, but the export leaves out what they say (message sizes, communicators). Export with nsys export --include-blobs=true.
SELECT
    CASE
        WHEN EXISTS (FROM payload_schema)
            AND NOT EXISTS (FROM nvtx WHERE binary_data IS NOT NULL) THEN count(*)
        ELSE 0
    END,
    min(v.text)
FROM nvtx AS v
JOIN nvtx AS d
    ON d.event_type = 75 AND d.pid = v.pid AND d.domain_id = v.domain_id
    AND d.text = 'NCCL'
WHERE v.event_type IN (59, 60)
