-- @title GPU operations and the iteration that launched them
-- One row per GPU operation. An iteration owns what its process launched from its
-- start to before its end, wherever that ran; where iterations of a process overlap,
-- the one that began last owns. Operations that no iteration launched, or of which no
-- launch is known, have a NULL iteration. Iterations of an unknown process own what is
-- launched by processes that have none; operations of an unknown process belong to
-- the run's only process with iterations. An operation without a known duration, or
-- with a negative one, takes no time. step_no numbers the iterations of all runs, by
-- run, process and ordinal: where many rows are grouped it stands for the three.
-- @param pattern VARCHAR As in _iterations.
-- @since 0.1
CREATE MACRO _step_ops(pattern VARCHAR := NULL) AS TABLE
WITH steps AS MATERIALIZED (
    SELECT run_id, pid, iteration, start_ns, end_ns
    FROM v1._iterations(pattern := pattern)
),
processes AS (
    SELECT
        run_id, pid, row_number() OVER (ORDER BY run_id, pid) AS process_no,
        count(*) OVER (PARTITION BY run_id) = 1 AS is_only
    FROM steps
    GROUP BY run_id, pid
),
numbered AS (
    SELECT
        steps.run_id, steps.pid, steps.iteration, steps.start_ns, steps.end_ns,
        processes.process_no,
        row_number() OVER (
            ORDER BY steps.run_id, steps.pid, steps.iteration
        ) AS step_no
    FROM steps
    JOIN processes
        ON steps.run_id = processes.run_id
        AND steps.pid IS NOT DISTINCT FROM processes.pid
),
launched AS (
    SELECT
        gpu_op.run_id, gpu_op.device_id, gpu_op.pid, gpu_op.op_kind, gpu_op.name,
        gpu_op.activity, gpu_op.bytes, gpu_op.api_call_id, gpu_op.launch_ts_ns,
        gpu_op.ts_ns AS start_ns,
        gpu_op.ts_ns + CASE WHEN gpu_op.dur_ns > 0 THEN gpu_op.dur_ns ELSE 0 END
            AS end_ns,
        coalesce(own.process_no, other.process_no) AS process_no
    FROM gpu_op
    LEFT JOIN processes AS own ON gpu_op.run_id = own.run_id AND gpu_op.pid = own.pid
    LEFT JOIN processes AS other
        ON gpu_op.run_id = other.run_id
        AND (other.pid IS NULL OR (other.is_only AND gpu_op.pid IS NULL))
)
SELECT
    launched.run_id, launched.device_id, launched.pid, launched.op_kind, launched.name,
    launched.activity, launched.bytes, launched.api_call_id, launched.start_ns,
    launched.end_ns,
    CASE WHEN launched.launch_ts_ns < numbered.end_ns THEN numbered.pid END AS step_pid,
    CASE WHEN launched.launch_ts_ns < numbered.end_ns THEN numbered.iteration END
        AS iteration,
    CASE WHEN launched.launch_ts_ns < numbered.end_ns THEN numbered.step_no END
        AS step_no
FROM launched
ASOF LEFT JOIN numbered
    ON launched.process_no = numbered.process_no
    AND launched.launch_ts_ns >= numbered.start_ns;
