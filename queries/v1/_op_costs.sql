-- @title Operations and what each costs
-- One row per framework operation. On the host one sweep of each thread says what runs
-- within what: an operation within another is nested in it, API calls and GPU work
-- belong to the innermost operation around them. Calls count as their union on the
-- thread, so that a driver call under a runtime call counts once. An operation without
-- a known duration, or with a negative one, takes no time and holds nothing; one that
-- crosses its neighbour is nested in what holds it whole.
-- @column run_id id key The run.
-- @column op_id id key The operation.
-- @column is_device bool neutral Placed on a device: device time is that of its GPU
--     operations, or where it has none its own duration.
-- @column start_ns ns neutral Start, ns since the run's origin.
-- @column end_ns ns neutral End.
-- @column parent_op_id id neutral The operation around it; NULL at the top.
-- @column host_ns ns neutral Duration on the host; 0 for one placed on a device.
-- @column host_self_ns ns neutral The same without nested operations and API calls.
-- @column api_ns ns neutral API calls within it, nested operations' too.
-- @column api_self_ns ns neutral API calls that it makes itself.
-- @column device_ns ns neutral Sum of the durations of GPU operations launched in it.
-- @column device_self_ns ns neutral Of those that it launched itself.
-- @column gpu_op_count count neutral GPU operations that it launched itself.
-- @column nested_count count neutral GPU operations launched within it, its own too.
-- @column thread_hash id neutral One number for run, process and thread; NULL for one
--     placed on a device.
-- @column place value neutral Its number among what begins and ends on the thread.
-- @column end_place value neutral The last number within it.
-- @key run_id, op_id
-- @since 0.2
CREATE MACRO _op_costs() AS TABLE
WITH work AS (
    SELECT
        run_id, op_id, CAST(sum(greatest(dur_ns, 0)) AS BIGINT) AS device_ns,
        count(*) AS gpu_op_count
    FROM gpu_op
    WHERE op_id IS NOT NULL AND run_id IN (SELECT run_id FROM op)
    GROUP BY run_id, op_id
),
ops AS MATERIALIZED (
    SELECT
        hash(op.run_id, op.pid, op.tid) AS thread_hash, op.run_id, op.op_id,
        op.parent_id, op.ts_ns AS start_ns,
        op.ts_ns + CASE WHEN op.dur_ns > 0 THEN op.dur_ns ELSE 0 END AS end_ns,
        op.placement IS NOT DISTINCT FROM 'device' AS is_device,
        -- TensorFlow draws an operation of a device from its first kernel to its last,
        -- with the pauses between them: its duration is device time for want of better.
        CAST(CASE
            WHEN work.op_id IS NOT NULL THEN work.device_ns
            WHEN op.placement = 'device' AND op.dur_ns > 0 THEN op.dur_ns
            ELSE 0
        END AS BIGINT) AS device_ns,
        coalesce(work.gpu_op_count, 0) AS gpu_op_count,
        row_number() OVER () AS op_no
    FROM op
    LEFT JOIN work ON op.run_id = work.run_id AND op.op_id = work.op_id
),
-- Calls between two moments at which operations begin or end count as one, since
-- sorting is dear; of threads without operations, none do. Threads lie one after
-- another on a line, thread_no << 64 apart, so that no maximum reaches into the next.
threads AS MATERIALIZED (
    SELECT
        run_id, pid, tid, hash(run_id, pid, tid) AS thread_hash,
        row_number() OVER () AS thread_no
    FROM (
        SELECT DISTINCT run_id, pid, tid
        FROM op
        WHERE placement IS DISTINCT FROM 'device'
    )
),
line AS (
    SELECT
        threads.thread_no, call.ts_ns AS at_ns, true AS is_call,
        call.ts_ns + call.dur_ns AS end_ns
    FROM api_call AS call
    JOIN threads
        ON call.run_id = threads.run_id AND call.pid IS NOT DISTINCT FROM threads.pid
        AND call.tid IS NOT DISTINCT FROM threads.tid
    WHERE call.dur_ns > 0
    UNION ALL
    SELECT
        threads.thread_no, unnest([op.ts_ns, op.ts_ns + greatest(op.dur_ns, 0)]),
        false, NULL
    FROM op
    JOIN threads
        ON op.run_id = threads.run_id AND op.pid IS NOT DISTINCT FROM threads.pid
        AND op.tid IS NOT DISTINCT FROM threads.tid
    WHERE op.placement IS DISTINCT FROM 'device'
),
-- Running over rows as they come, sorted, takes half of the time of sorting windows.
reached AS (
    SELECT
        thread_no, at_ns, is_call,
        count(CASE WHEN NOT is_call THEN 1 END) OVER (ROWS UNBOUNDED PRECEDING)
            AS moment_no,
        max((CAST(thread_no AS HUGEINT) << 64) + end_ns)
            OVER (ROWS UNBOUNDED PRECEDING) AS line_end_ns
    FROM (
        SELECT thread_no, at_ns, is_call, end_ns
        FROM line
        ORDER BY thread_no, at_ns, is_call
    )
),
calls AS (
    SELECT
        any_value(thread_no) AS thread_no, min(at_ns) AS start_ns,
        CAST(sum(line_end_ns - greatest(
            (CAST(thread_no AS HUGEINT) << 64) + at_ns, earlier_end_ns
        )) AS BIGINT) AS added_ns
    FROM (
        SELECT
            thread_no, at_ns, is_call, moment_no, line_end_ns,
            lag(line_end_ns) OVER () AS earlier_end_ns
        FROM reached
    )
    WHERE is_call
    GROUP BY moment_no
),
-- An end comes before what begins then; longer operations begin before shorter ones,
-- those of no length begin and end one after another, and calls come last.
moments AS (
    SELECT
        thread_hash, start_ns AS at_ns, start_ns - end_ns AS rank, op_no,
        1 AS change, device_ns, gpu_op_count, 0 AS api_ns
    FROM ops
    WHERE NOT is_device
    UNION ALL
    SELECT
        thread_hash, end_ns,
        CASE WHEN end_ns > start_ns THEN -9223372036854775807 ELSE 0 END,
        op_no, -1, 0, 0, 0
    FROM ops
    WHERE NOT is_device
    UNION ALL
    SELECT threads.thread_hash, calls.start_ns, 1, NULL, 0, 0, 0, calls.added_ns
    FROM calls
    JOIN threads ON calls.thread_no = threads.thread_no
),
swept AS (
    SELECT
        op_no, change, sum(change) OVER so_far AS depth,
        row_number() OVER so_far AS place,
        sum(device_ns) OVER so_far - device_ns AS device_before_ns,
        sum(gpu_op_count) OVER so_far - gpu_op_count AS count_before,
        sum(api_ns) OVER so_far AS api_before_ns
    FROM moments
    WINDOW so_far AS (
        PARTITION BY thread_hash ORDER BY at_ns, rank, op_no, change DESC
        ROWS UNBOUNDED PRECEDING
    )
),
held AS (
    SELECT
        op_no,
        CAST(max(CASE WHEN change = 1 THEN depth END) AS INTEGER) AS depth,
        max(CASE WHEN change = 1 THEN place END) AS place,
        max(CASE WHEN change = -1 THEN place END) AS end_place,
        CAST(sum(-change * device_before_ns) AS BIGINT) AS device_ns,
        CAST(sum(-change * count_before) AS BIGINT) AS nested_count,
        CAST(sum(-change * api_before_ns) AS BIGINT) AS api_ns
    FROM swept
    WHERE op_no IS NOT NULL
    GROUP BY op_no
),
placed AS MATERIALIZED (
    SELECT
        ops.run_id, ops.thread_hash, ops.op_id, ops.parent_id, ops.start_ns, ops.end_ns,
        held.depth, held.place, held.end_place, held.device_ns, held.api_ns,
        held.nested_count
    FROM ops
    JOIN held ON ops.op_no = held.op_no
),
nested AS MATERIALIZED (
    SELECT
        inner_op.run_id, inner_op.op_id, inner_op.end_ns - inner_op.start_ns AS host_ns,
        inner_op.api_ns, inner_op.device_ns, inner_op.thread_hash, inner_op.place,
        inner_op.end_place, inner_op.nested_count,
        CASE
            WHEN outer_op.end_ns >= inner_op.end_ns THEN outer_op.op_id
            ELSE inner_op.parent_id
        END AS parent_op_id
    FROM placed AS inner_op
    ASOF LEFT JOIN placed AS outer_op
        ON inner_op.thread_hash = outer_op.thread_hash
        AND inner_op.depth - 1 = outer_op.depth AND inner_op.place > outer_op.place
),
children AS (
    SELECT
        run_id, parent_op_id, CAST(sum(host_ns) AS BIGINT) AS host_ns,
        CAST(sum(api_ns) AS BIGINT) AS api_ns
    FROM nested
    WHERE parent_op_id IS NOT NULL
    GROUP BY run_id, parent_op_id
)
SELECT
    ops.run_id, ops.op_id, ops.is_device, ops.start_ns, ops.end_ns,
    nested.parent_op_id, coalesce(nested.host_ns, 0) AS host_ns,
    coalesce(nested.host_ns - nested.api_ns, 0) - coalesce(
        children.host_ns - children.api_ns, 0
    ) AS host_self_ns,
    coalesce(nested.api_ns, 0) AS api_ns,
    coalesce(nested.api_ns, 0) - coalesce(children.api_ns, 0) AS api_self_ns,
    coalesce(nested.device_ns, ops.device_ns) AS device_ns,
    ops.device_ns AS device_self_ns,
    ops.gpu_op_count, coalesce(nested.nested_count, 0) AS nested_count,
    nested.thread_hash, nested.place, nested.end_place
FROM ops
LEFT JOIN nested ON ops.run_id = nested.run_id AND ops.op_id = nested.op_id
LEFT JOIN children
    ON ops.run_id = children.run_id AND ops.op_id = children.parent_op_id;
