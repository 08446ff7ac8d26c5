-- @title Iterations detected in the launches
-- One row per iteration of a process without markers, from _launch_periods. Where the
-- devices of a process repeat equally often and in step, an iteration is from the first
-- start to the last end on any of them; else the device of greatest confidence says
-- what the process's iterations are. An iteration lasts to the first launch of the
-- next; where none follows at once, to the end of its GPU work, or to the next launch
-- if that is earlier.
-- @since 0.2
CREATE MACRO _detected_iterations() AS TABLE
WITH found AS MATERIALIZED (
    SELECT
        run_id, pid, device_id, iteration, start_ns, end_ns, is_followed,
        iteration_count, confidence_share
    FROM v1._launch_periods()
    WHERE iteration IS NOT NULL
),
leaders AS (
    SELECT run_id, pid, device_id, iteration_count
    FROM found
    WHERE iteration = 0
    QUALIFY row_number() OVER (
        PARTITION BY run_id, pid
        ORDER BY round(confidence_share, 2) DESC, start_ns, device_id
    ) = 1
),
alike AS (
    SELECT
        found.run_id, found.pid, found.iteration, found.start_ns, found.end_ns,
        found.is_followed, found.confidence_share,
        found.device_id IS NOT DISTINCT FROM leaders.device_id AS is_leading
    FROM found
    JOIN leaders
        ON found.run_id = leaders.run_id
        AND found.pid IS NOT DISTINCT FROM leaders.pid
        AND found.iteration_count = leaders.iteration_count
),
together AS (
    SELECT
        run_id, pid, iteration, min(start_ns) AS start_ns, max(end_ns) AS end_ns,
        bool_and(is_followed) AS is_followed,
        min(confidence_share) AS confidence_share,
        any_value(CASE WHEN is_leading THEN start_ns END) AS leading_start_ns,
        any_value(CASE WHEN is_leading THEN end_ns END) AS leading_end_ns,
        any_value(CASE WHEN is_leading THEN confidence_share END)
            AS leading_confidence_share,
        max(start_ns) < lead(min(start_ns)) OVER (
            PARTITION BY run_id, pid ORDER BY iteration
        ) AS is_apart,
        lead(min(start_ns)) OVER (
            PARTITION BY run_id, pid ORDER BY iteration
        ) AS next_start_ns
    FROM alike
    GROUP BY run_id, pid, iteration
),
decided AS (
    SELECT
        run_id, pid, iteration, start_ns, end_ns, is_followed, confidence_share,
        leading_start_ns, leading_end_ns, leading_confidence_share, next_start_ns,
        bool_and(coalesce(is_apart, true)) OVER (PARTITION BY run_id, pid)
            AS is_in_step
    FROM together
)
SELECT
    run_id, pid, iteration,
    CASE WHEN is_in_step THEN start_ns ELSE leading_start_ns END AS start_ns,
    CASE
        WHEN NOT is_in_step THEN leading_end_ns
        WHEN is_followed THEN next_start_ns
        ELSE least(end_ns, next_start_ns)
    END AS end_ns,
    CASE WHEN is_in_step THEN confidence_share ELSE leading_confidence_share END
        AS confidence_share
FROM decided;
