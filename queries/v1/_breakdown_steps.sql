-- @title Steps of step_breakdown
-- One row per step. Modes honest, xprof and input take the iterations as the host ran
-- them, or a device; a run without any is one step, its capture. Mode tb moves the
-- host's marked ones as torch-tb-profiler does: a step ends no earlier than the last
-- GPU operation that a call within it launched, and begins no earlier than the step
-- before it ends (the first: than what was launched before it and ended before its own
-- work began); a last step that launched less than 80 % of the one before is dropped,
-- as are steps after the last that launched anything. A run without marked iterations
-- is one step from the first to the last of its framework operations.
-- @param mode VARCHAR honest, tb, xprof or input.
-- @param pattern VARCHAR As in _iterations.
-- @since 0.2
CREATE MACRO _breakdown_steps(
    mode VARCHAR := 'honest', pattern VARCHAR := NULL
) AS TABLE
WITH found AS (
    SELECT run_id, pid, device_id, iteration, name, source, start_ns, end_ns
    FROM v1._iterations(pattern := pattern)
    WHERE mode <> 'tb'
    UNION ALL
    SELECT run_id, pid, device_id, iteration, name, source, start_ns, end_ns
    FROM v1._marked_iterations(pattern := pattern)
    WHERE mode = 'tb'
),
hosts AS (
    SELECT run_id, min(ts_ns) AS start_ns, max(ts_ns + dur_ns) AS end_ns
    FROM op
    WHERE dur_ns >= 0 AND mode = 'tb' AND placement IS DISTINCT FROM 'device'
    GROUP BY run_id
),
steps AS MATERIALIZED (
    SELECT run_id, pid, device_id, iteration, name, source, start_ns, end_ns FROM found
    UNION ALL
    SELECT
        run.run_id, NULL, NULL, 0, NULL, 'capture',
        coalesce(hosts.start_ns, run.first_ts_ns),
        coalesce(hosts.end_ns, run.first_ts_ns + run.span_ns)
    FROM run
    LEFT JOIN hosts ON run.run_id = hosts.run_id
    WHERE run.run_id NOT IN (SELECT run_id FROM found) AND run.span_ns > 0
),
processes AS (
    SELECT
        run_id, pid, device_id,
        row_number() OVER (ORDER BY run_id, pid, device_id) AS process_no,
        count(DISTINCT coalesce(pid, -1)) OVER (PARTITION BY run_id) = 1 AS is_only
    FROM steps
    GROUP BY run_id, pid, device_id
),
numbered AS (
    SELECT
        steps.run_id, steps.pid, steps.device_id, steps.iteration, steps.name,
        steps.source, steps.start_ns, steps.end_ns, processes.process_no
    FROM steps
    JOIN processes
        ON steps.run_id = processes.run_id
        AND steps.pid IS NOT DISTINCT FROM processes.pid
        AND steps.device_id IS NOT DISTINCT FROM processes.device_id
),
launched AS (
    SELECT
        gpu_op.ts_ns AS start_ns, gpu_op.ts_ns + gpu_op.dur_ns AS end_ns,
        coalesce(own.process_no, other.process_no) AS process_no,
        api_call.ts_ns AS call_ns,
        api_call.ts_ns + api_call.dur_ns AS call_end_ns
    FROM gpu_op
    LEFT JOIN processes AS own
        ON gpu_op.run_id = own.run_id AND gpu_op.pid = own.pid
        AND own.device_id IS NULL
    LEFT JOIN processes AS other
        ON gpu_op.run_id = other.run_id AND other.device_id IS NULL
        AND (other.pid IS NULL OR (other.is_only AND gpu_op.pid IS NULL))
    LEFT JOIN api_call
        ON gpu_op.run_id = api_call.run_id AND gpu_op.api_call_id = api_call.api_call_id
    WHERE mode = 'tb' AND gpu_op.dur_ns >= 0
),
owned AS (
    SELECT
        launched.process_no, launched.start_ns, launched.end_ns,
        CASE WHEN launched.call_end_ns <= numbered.end_ns THEN numbered.iteration END
            AS iteration
    FROM launched
    ASOF LEFT JOIN numbered
        ON launched.process_no = numbered.process_no
        AND launched.call_ns >= numbered.start_ns
),
work AS MATERIALIZED (
    SELECT
        process_no, iteration, count(*) AS op_count, min(start_ns) AS first_ns,
        max(end_ns) AS last_ns
    FROM owned
    WHERE iteration IS NOT NULL
    GROUP BY process_no, iteration
),
-- Where the first step's own GPU work lets it begin.
openings AS (
    SELECT numbered.process_no, max(owned.end_ns) AS end_ns
    FROM numbered
    JOIN work
        ON numbered.process_no = work.process_no AND numbered.iteration = work.iteration
    JOIN owned
        ON numbered.process_no = owned.process_no AND owned.iteration IS NULL
        AND owned.end_ns < work.first_ns
    WHERE numbered.iteration = 0
    GROUP BY numbered.process_no
),
ended AS (
    SELECT
        numbered.run_id, numbered.pid, numbered.device_id, numbered.iteration,
        numbered.name, numbered.source, numbered.start_ns, numbered.end_ns,
        numbered.process_no, work.op_count, openings.end_ns AS opening_ns,
        count(work.op_count) OVER (PARTITION BY numbered.process_no) > 0 AS is_moved,
        greatest(
            openings.end_ns,
            max(greatest(numbered.end_ns, work.last_ns)) OVER (
                PARTITION BY numbered.process_no ORDER BY numbered.iteration
            )
        ) AS moved_end_ns,
        max(CASE WHEN work.op_count > 0 THEN numbered.iteration END) OVER (
            PARTITION BY numbered.process_no
        ) AS last_iteration,
        lag(work.op_count) OVER (
            PARTITION BY numbered.process_no ORDER BY numbered.iteration
        ) AS earlier_op_count
    FROM numbered
    LEFT JOIN work
        ON numbered.process_no = work.process_no AND numbered.iteration = work.iteration
    LEFT JOIN openings ON numbered.process_no = openings.process_no
)
SELECT
    run_id, pid, device_id, iteration, name, source,
    CASE WHEN is_moved THEN greatest(start_ns, coalesce(
        lag(moved_end_ns) OVER (PARTITION BY process_no ORDER BY iteration), opening_ns
    )) ELSE start_ns END AS start_ns,
    CASE WHEN is_moved THEN moved_end_ns ELSE end_ns END AS end_ns
FROM ended
QUALIFY NOT is_moved OR iteration < last_iteration OR (
    iteration = last_iteration
    AND coalesce(earlier_op_count * 0.8 <= op_count, true)
)
ORDER BY run_id, pid, device_id, iteration;
