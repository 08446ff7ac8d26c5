-- @title Memory by operation
-- What the framework operations of a name allocated, by device and kind of memory: of
-- themselves (self: the operation was the innermost) and with the operations nested in
-- them. An increase is what was allocated less what was freed. Totals count an
-- operation within one of the same name again. Events outside of any operation are a
-- row with NULL for the name. Equals torch-tb-profiler's memory view.
-- @param time_window VARCHAR capture, gpu or steps: allocations and frees in it.
-- @param from_ns BIGINT Start of a range, ns since the run's origin.
-- @param to_ns BIGINT End of a range, ns since the run's origin.
-- @column run_id id key The run.
-- @column device_id id key Device; NULL for host memory.
-- @column kind text key Kind of memory, as memory_event.kind; NULL where unknown.
-- @column name text key Name of the operations; NULL for what none of them did.
-- @column op_count count neutral Operations of the name that allocated or freed, or in
--     which others did.
-- @column self_increase_bytes bytes lower Allocated less freed by themselves.
-- @column self_allocation_bytes bytes lower Allocated by themselves.
-- @column self_allocation_count count lower Allocations by themselves.
-- @column increase_bytes bytes lower Allocated less freed within them.
-- @column allocation_bytes bytes lower Allocated within them.
-- @column allocation_count count lower Allocations within them.
-- @column window_name text neutral capture, gpu, steps or range.
-- @key run_id, device_id, kind, name
-- @chart bar x=self_allocation_bytes y=name
-- @requires memory_event Record memory: torch.profiler with profile_memory=True, or
--     nsys profile --cuda-memory-usage=true.
-- @since 0.2
CREATE MACRO memory_by_op(
    time_window VARCHAR := 'capture', from_ns BIGINT := NULL, to_ns BIGINT := NULL
) AS TABLE
WITH windows AS (
    SELECT run_id, window_name, window_start_ns, window_end_ns
    FROM v1._windows(time_window := time_window, from_ns := from_ns, to_ns := to_ns)
),
costs AS MATERIALIZED (
    SELECT run_id, op_id, thread_hash, place, end_place
    FROM v1._op_costs()
    WHERE run_id IN (SELECT run_id FROM memory_event)
),
events AS (
    SELECT
        memory_event.run_id, memory_event.device_id, memory_event.kind,
        memory_event.op_id, sum(memory_event.bytes) AS increase_bytes,
        coalesce(sum(memory_event.bytes) FILTER (memory_event.bytes > 0), 0)
            AS allocation_bytes,
        count(*) FILTER (memory_event.bytes > 0) AS allocation_count
    FROM memory_event
    JOIN windows
        ON memory_event.run_id = windows.run_id
        AND memory_event.ts_ns >= windows.window_start_ns
        AND (
            memory_event.ts_ns < windows.window_end_ns
            OR memory_event.ts_ns = windows.window_end_ns
            AND windows.window_name <> 'range'
        )
    WHERE memory_event.bytes IS NOT NULL
    GROUP BY
        memory_event.run_id, memory_event.device_id, memory_event.kind,
        memory_event.op_id
),
placed AS MATERIALIZED (
    SELECT
        events.run_id, events.device_id, events.kind, costs.op_id, costs.thread_hash,
        costs.place, events.increase_bytes, events.allocation_bytes,
        events.allocation_count,
        hash(costs.thread_hash, events.device_id, events.kind) AS line_hash
    FROM events
    LEFT JOIN costs ON events.run_id = costs.run_id AND events.op_id = costs.op_id
),
-- What the operations of a thread did up to each of them, in the order of the thread.
so_far AS MATERIALIZED (
    SELECT
        line_hash, place, count(*) OVER earlier AS event_count,
        sum(increase_bytes) OVER earlier AS increase_bytes,
        sum(allocation_bytes) OVER earlier AS allocation_bytes,
        sum(allocation_count) OVER earlier AS allocation_count
    FROM placed
    WHERE place IS NOT NULL
    WINDOW earlier AS (PARTITION BY line_hash ORDER BY place ROWS UNBOUNDED PRECEDING)
),
lines AS (
    SELECT DISTINCT run_id, thread_hash, line_hash, device_id, kind
    FROM placed
    WHERE place IS NOT NULL
),
-- All that an operation holds lies between its own place and its end's.
ended AS (
    SELECT
        asked.run_id, asked.op_id, asked.line_hash, asked.device_id, asked.kind,
        asked.place, so_far.event_count, so_far.increase_bytes,
        so_far.allocation_bytes, so_far.allocation_count
    FROM (
        SELECT
            costs.run_id, costs.op_id, costs.place, costs.end_place, lines.line_hash,
            lines.device_id, lines.kind
        FROM costs
        JOIN lines
            ON costs.run_id = lines.run_id AND costs.thread_hash = lines.thread_hash
    ) AS asked
    ASOF JOIN so_far
        ON asked.line_hash = so_far.line_hash AND asked.end_place >= so_far.place
    WHERE so_far.place >= asked.place
),
held AS (
    SELECT
        ended.run_id, ended.op_id, ended.device_id, ended.kind,
        ended.increase_bytes - coalesce(so_far.increase_bytes, 0) AS increase_bytes,
        ended.allocation_bytes - coalesce(so_far.allocation_bytes, 0)
            AS allocation_bytes,
        ended.allocation_count - coalesce(so_far.allocation_count, 0)
            AS allocation_count
    FROM ended
    ASOF LEFT JOIN so_far
        ON ended.line_hash = so_far.line_hash AND ended.place > so_far.place
),
totals AS (
    SELECT
        held.run_id, held.device_id, held.kind, op.name, count(*) AS op_count,
        coalesce(sum(placed.increase_bytes), 0) AS self_increase_bytes,
        coalesce(sum(placed.allocation_bytes), 0) AS self_allocation_bytes,
        coalesce(sum(placed.allocation_count), 0) AS self_allocation_count,
        sum(held.increase_bytes) AS increase_bytes,
        sum(held.allocation_bytes) AS allocation_bytes,
        sum(held.allocation_count) AS allocation_count
    FROM held
    JOIN op ON held.run_id = op.run_id AND held.op_id = op.op_id
    LEFT JOIN placed
        ON held.run_id = placed.run_id AND held.op_id = placed.op_id
        AND held.device_id IS NOT DISTINCT FROM placed.device_id
        AND held.kind IS NOT DISTINCT FROM placed.kind
    GROUP BY held.run_id, held.device_id, held.kind, op.name
    UNION ALL
    SELECT
        run_id, device_id, kind, NULL, 0, sum(increase_bytes), sum(allocation_bytes),
        sum(allocation_count), sum(increase_bytes), sum(allocation_bytes),
        sum(allocation_count)
    FROM placed
    WHERE place IS NULL
    GROUP BY run_id, device_id, kind
)
SELECT
    totals.run_id, totals.device_id, totals.kind, totals.name,
    CAST(sum(totals.op_count) AS BIGINT) AS op_count,
    TRY_CAST(sum(totals.self_increase_bytes) AS BIGINT) AS self_increase_bytes,
    TRY_CAST(sum(totals.self_allocation_bytes) AS BIGINT) AS self_allocation_bytes,
    CAST(sum(totals.self_allocation_count) AS BIGINT) AS self_allocation_count,
    TRY_CAST(sum(totals.increase_bytes) AS BIGINT) AS increase_bytes,
    TRY_CAST(sum(totals.allocation_bytes) AS BIGINT) AS allocation_bytes,
    CAST(sum(totals.allocation_count) AS BIGINT) AS allocation_count,
    any_value(windows.window_name) AS window_name
FROM totals
JOIN windows ON totals.run_id = windows.run_id
GROUP BY totals.run_id, totals.device_id, totals.kind, totals.name
ORDER BY
    totals.run_id, totals.device_id, totals.kind, self_allocation_bytes DESC,
    totals.name;
