-- CPU samples, scheduling and call chains, with --with-samples only: they dominate the
-- size of the captures that have them.

-- @prepare
CREATE TABLE frame (
    source VARCHAR, chain_id BIGINT, depth INTEGER, symbol BIGINT, module BIGINT
);
CREATE TABLE cpu_sample (
    ts_ns BIGINT, chain_id BIGINT, pid BIGINT, tid BIGINT, cpu INTEGER,
    thread_state INTEGER, cpu_cycles BIGINT
);
CREATE TABLE cpu_switch (
    row_id BIGINT, ts_ns BIGINT, pid BIGINT, tid BIGINT, cpu INTEGER,
    is_in BOOLEAN, thread_state INTEGER, thread_block INTEGER
);

-- @phase chains

-- @stage FROM SAMPLING_CALLCHAINS IF with_samples
INSERT INTO frame
SELECT 'sample', id, stackDepth, symbol, module FROM SAMPLING_CALLCHAINS

-- @stage FROM CUDA_CALLCHAINS IF with_samples
INSERT INTO frame SELECT 'cuda', id, stackDepth, symbol, module FROM CUDA_CALLCHAINS

-- @stage FROM OSRT_CALLCHAINS IF with_samples
INSERT INTO frame SELECT 'osrt', id, stackDepth, symbol, module FROM OSRT_CALLCHAINS

-- @phase host

-- @prepare
-- The same stacks come again and again: their text is spelled out once.
CREATE TABLE chain AS
SELECT
    source, chain_id,
    list(struct_pack(symbol := symbol, module := module) ORDER BY depth) AS frames
FROM frame
GROUP BY source, chain_id;
CREATE TABLE chain_text AS
WITH numbered AS (
    SELECT frames, row_number() OVER () AS n FROM (SELECT DISTINCT frames FROM chain)
),
flat AS (
    SELECT n, unnest(frames) AS f, generate_subscripts(frames, 1) AS depth
    FROM numbered
),
spelled AS (
    -- The module without its folder: where a library lies tells nothing.
    SELECT
        flat.n,
        string_agg(
            coalesce(s.value, '[unknown]')
                || coalesce(
                    ' (' || nullif(regexp_extract(m.value, '[^/\\]*$'), '') || ')', ''
                ),
            chr(10) ORDER BY flat.depth
        ) AS stack
    FROM flat
    LEFT JOIN StringIds AS s ON s.id = flat.f.symbol
    LEFT JOIN StringIds AS m ON m.id = flat.f.module
    GROUP BY flat.n
)
SELECT numbered.frames, spelled.stack
FROM numbered JOIN spelled ON spelled.n = numbered.n;
CREATE TABLE stack AS
SELECT c.source, c.chain_id, t.stack
FROM chain AS c JOIN chain_text AS t ON t.frames = c.frames;
CREATE TABLE cuda_stack AS
SELECT chain_id, stack FROM stack WHERE source = 'cuda';
CREATE TABLE osrt_stack AS
SELECT chain_id, stack FROM stack WHERE source = 'osrt';
CREATE TABLE sample_stack AS
SELECT chain_id, stack FROM stack WHERE source = 'sample';
DROP TABLE frame;
DROP TABLE chain;
DROP TABLE chain_text;
DROP TABLE stack

-- @stage FROM COMPOSITE_EVENTS IF with_samples
INSERT INTO cpu_sample
SELECT
    "start", id, pid_of(globalTid), tid_of(globalTid), cpu, threadState, cpuCycles
FROM COMPOSITE_EVENTS

-- @stage FROM SCHED_EVENTS IF with_samples
INSERT INTO cpu_switch
SELECT
    row_id, "start", pid_of(globalTid), tid_of(globalTid), cpu, isSchedIn <> 0,
    threadState, threadBlock
FROM SCHED_EVENTS

-- @phase rest

-- @rows sample
-- nsys samples the whole machine if asked to: of what else ran there nothing stays,
-- unless nothing but samples was recorded.
WITH traced AS (
    SELECT pid FROM written.api_call UNION SELECT pid FROM written.annotation
    UNION SELECT pid FROM written.overhead
)
SELECT
    s.ts_ns, s.pid, s.tid, s.cpu, k.stack,
    json_object_of(concat_ws(
        ',',
        '"threadState":'
            || json_text(coalesce(e.label, CAST(s.thread_state AS VARCHAR))),
        '"cpuCycles":' || s.cpu_cycles
    )) AS extra
FROM cpu_sample AS s
LEFT JOIN sample_stack AS k ON k.chain_id = s.chain_id
LEFT JOIN ENUM_SAMPLING_THREAD_STATE AS e ON e.id = s.thread_state
WHERE NOT EXISTS (FROM traced) OR s.pid IN (SELECT pid FROM traced)

-- @rows slice
-- From a switch in to the same thread's next switch out. What the capture's start or
-- end cut off has no known length; a switch out without its in is no slice.
WITH traced AS (
    SELECT pid FROM written.api_call UNION SELECT pid FROM written.annotation
    UNION SELECT pid FROM written.overhead
),
paired AS (
    SELECT
        *, lead(is_in) OVER later AS next_in, lead(ts_ns) OVER later AS next_ns,
        lead(thread_state) OVER later AS left_state,
        lead(thread_block) OVER later AS left_block
    FROM cpu_switch
    WINDOW later AS (PARTITION BY pid, tid ORDER BY ts_ns, row_id)
)
SELECT
    p.ts_ns, CASE WHEN NOT p.next_in THEN p.next_ns - p.ts_ns END AS dur_ns,
    row_key(70, p.row_id) AS slice_id, 'on CPU' AS name, 'sched' AS category,
    p.pid, p.tid, p.next_in IS NULL OR p.next_in AS truncated, false AS crossing,
    json_object_of(concat_ws(
        ',', '"cpu":' || p.cpu,
        '"leftInState":' || json_text(coalesce(
            s.label, CAST(CASE WHEN NOT p.next_in THEN p.left_state END AS VARCHAR)
        )),
        '"blockedBy":' || json_text(coalesce(
            b.label, CAST(CASE WHEN NOT p.next_in THEN p.left_block END AS VARCHAR)
        ))
    )) AS extra
FROM paired AS p
LEFT JOIN ENUM_SAMPLING_THREAD_STATE AS s
    ON s.id = p.left_state AND NOT p.next_in
LEFT JOIN ENUM_SCHEDULING_THREAD_BLOCK AS b
    ON b.id = p.left_block AND NOT p.next_in
WHERE p.is_in
    AND (NOT EXISTS (FROM traced) OR p.pid IN (SELECT pid FROM traced))

-- @diagnostic samples_of_other_processes info CPU samples and switches of processes that the capture did not trace: left out.
SELECT
    (SELECT count(*) FROM cpu_sample) - (SELECT count(*) FROM written.sample)
    + (SELECT count(*) FROM cpu_switch WHERE is_in)
    - (SELECT count(*) FROM written.slice WHERE category = 'sched'),
    NULL
