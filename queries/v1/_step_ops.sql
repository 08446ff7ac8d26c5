-- @title GPU operations and the iteration that owns them
-- One row per GPU operation. An iteration owns what its process launched from its start
-- to before its end, wherever that ran; where iterations of a process overlap, the one
-- that began last owns. A device's own step owns what began there in it, whenever that
-- was launched, and nothing of other devices. Operations that no iteration launched, or
-- of which no launch is known, have a NULL iteration. Iterations of an unknown process
-- own what is launched by processes that have none; operations of an unknown process
-- belong to the run's only process with iterations. An operation without a known
-- duration, or with a negative one, takes no time. step_no numbers the iterations of
-- all runs, by run, process, device of their own and ordinal: where many rows are
-- grouped it stands for the four. direction is a copy's. Names are left out: sorting
-- them takes longer than all the rest.
-- @param pattern VARCHAR As in _iterations.
-- @since 0.1
CREATE MACRO _step_ops(pattern VARCHAR := NULL) AS TABLE
WITH steps AS MATERIALIZED (
    SELECT run_id, pid, device_id, iteration, start_ns, end_ns
    FROM v1._iterations(pattern := pattern)
),
owners AS (
    SELECT
        run_id, pid, device_id,
        row_number() OVER (ORDER BY run_id, pid, device_id) AS owner_no,
        count(DISTINCT coalesce(pid, -1)) OVER (PARTITION BY run_id) = 1 AS is_only
    FROM steps
    GROUP BY run_id, pid, device_id
),
numbered AS (
    SELECT
        steps.run_id, steps.pid, steps.iteration, steps.start_ns, steps.end_ns,
        owners.owner_no,
        row_number() OVER (
            ORDER BY steps.run_id, steps.pid, steps.device_id, steps.iteration
        ) AS step_no
    FROM steps
    JOIN owners
        ON steps.run_id = owners.run_id
        AND steps.pid IS NOT DISTINCT FROM owners.pid
        AND steps.device_id IS NOT DISTINCT FROM owners.device_id
),
-- Whose iterations own the work of each process on each device.
places AS MATERIALIZED (
    SELECT
        used.run_id, used.pid, used.device_id, owners.owner_no,
        owners.device_id IS NOT NULL AS is_of_device
    FROM (SELECT DISTINCT run_id, pid, device_id FROM gpu_op) AS used
    JOIN owners
        ON used.run_id = owners.run_id
        AND (used.device_id = owners.device_id OR owners.device_id IS NULL)
        AND (
            used.pid = owners.pid OR owners.pid IS NULL
            OR (owners.is_only AND used.pid IS NULL)
        )
    QUALIFY row_number() OVER (
        PARTITION BY used.run_id, used.pid, used.device_id
        ORDER BY owners.device_id IS NULL, owners.pid IS NULL
    ) = 1
),
launched AS (
    SELECT
        gpu_op.run_id, gpu_op.device_id, gpu_op.pid, gpu_op.op_kind,
        CASE WHEN gpu_op.op_kind = 'memcpy' THEN gpu_op.name[length('memcpy ') + 1:] END
            AS direction,
        gpu_op.activity, gpu_op.bytes, gpu_op.api_call_id, gpu_op.ts_ns AS start_ns,
        gpu_op.ts_ns + CASE WHEN gpu_op.dur_ns > 0 THEN gpu_op.dur_ns ELSE 0 END
            AS end_ns,
        CASE WHEN places.is_of_device THEN gpu_op.ts_ns ELSE gpu_op.launch_ts_ns END
            AS owned_ns,
        places.owner_no
    FROM gpu_op
    -- The limit, beyond any number of processes, tells DuckDB that places are few: it
    -- would build the hash table of the operations.
    LEFT JOIN (FROM places LIMIT 1000000) AS places
        ON gpu_op.run_id = places.run_id AND gpu_op.pid IS NOT DISTINCT FROM places.pid
        AND gpu_op.device_id IS NOT DISTINCT FROM places.device_id
)
SELECT
    launched.run_id, launched.device_id, launched.pid, launched.op_kind,
    launched.direction,
    launched.activity, launched.bytes, launched.api_call_id, launched.start_ns,
    launched.end_ns,
    CASE WHEN launched.owned_ns < numbered.end_ns THEN numbered.pid END AS step_pid,
    CASE WHEN launched.owned_ns < numbered.end_ns THEN numbered.iteration END
        AS iteration,
    CASE WHEN launched.owned_ns < numbered.end_ns THEN numbered.step_no END
        AS step_no
FROM launched
ASOF LEFT JOIN numbered
    ON launched.owner_no = numbered.owner_no
    AND launched.owned_ns >= numbered.start_ns;
