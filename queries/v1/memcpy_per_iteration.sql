-- @title Copies of each iteration
-- Copies by iteration, device and direction. An iteration owns the copies that its
-- process launched between its start and its end, whenever they ran; copies that no
-- iteration launched are rows of their own, with NULL for the iteration. A device's own
-- step owns the copies that began there in it, as in iteration_timing. Directions
-- without copies are no rows. Whole durations count, and copies that overlap count
-- each; the bandwidth is the sum of bytes over the sum of time.
-- @param pattern VARCHAR Regular expression that the names of annotations must match
--     to be iterations; NULL for the source's own iterations, else names such as
--     "iteration 7".
-- @column run_id id key The run.
-- @column pid id key Process of the iteration; NULL where the source does not say it.
-- @column iteration id key Ordinal by time, as in iteration_timing; NULL for the copies
--     that no iteration launched.
-- @column device_id id key Device.
-- @column direction text key H2D, D2H, D2D, ... as memcpy.kind.
-- @column iteration_name text neutral Name of the iteration.
-- @column copy_count count neutral Copies.
-- @column copy_bytes bytes lower Bytes copied; NULL where no copy states them.
-- @column copy_sum_ns ns lower Sum of their durations.
-- @column bandwidth_gb_per_s gb_per_s higher Bytes of the copies that state them, over
--     the time of those, in 10^9 bytes per second; NULL at zero time.
-- @column in_every_iteration bool neutral Whether each iteration there has
--     copies of this direction on this device; NULL for what no iteration launched.
-- @column same_in_every_iteration bool neutral Whether each has as many, and as many
--     bytes: what need not be copied again may hide there.
-- @key run_id, pid, iteration, device_id, direction
-- @chart line x=iteration y=copy_bytes
-- @requires memcpy Record GPU activity: nsys profile -t cuda
-- @requires iteration|annotation|kernel Mark the iterations: NVTX ranges named
--     "iteration 7", or profiler.step() in PyTorch.
-- @since 0.1
CREATE MACRO memcpy_per_iteration(pattern VARCHAR := NULL) AS TABLE
WITH copies AS (
    SELECT
        run_id, step_pid AS pid, iteration, device_id, direction,
        count(*) AS copy_count, TRY_CAST(sum(bytes) AS BIGINT) AS copy_bytes,
        CAST(sum(end_ns - start_ns) AS BIGINT) AS copy_sum_ns,
        sum(end_ns - start_ns) FILTER (bytes IS NOT NULL) AS stated_ns
    FROM v1._step_ops(pattern := pattern)
    WHERE op_kind = 'memcpy'
    GROUP BY run_id, step_pid, iteration, device_id, direction
),
steps AS (
    SELECT
        run_id, pid, device_id, iteration, name,
        count(*) OVER (PARTITION BY run_id, pid, device_id) AS iteration_count
    FROM v1._iterations(pattern := pattern)
),
compared AS (
    SELECT
        copies.run_id, copies.pid, copies.iteration, copies.device_id, copies.direction,
        steps.name AS iteration_name, copies.copy_count, copies.copy_bytes,
        copies.copy_sum_ns, copies.stated_ns,
        count(*) OVER alike = steps.iteration_count AS in_every_iteration,
        min(copy_count) OVER alike = max(copy_count) OVER alike
            AND min(coalesce(copy_bytes, -1)) OVER alike
            = max(coalesce(copy_bytes, -1)) OVER alike AS is_same
    FROM copies
    LEFT JOIN steps
        ON copies.run_id = steps.run_id AND copies.pid IS NOT DISTINCT FROM steps.pid
        AND copies.iteration = steps.iteration
        AND (steps.device_id IS NULL OR copies.device_id = steps.device_id)
    WINDOW alike AS (
        PARTITION BY
            copies.run_id, copies.pid, copies.iteration IS NULL, copies.device_id,
            copies.direction
    )
)
SELECT
    run_id, pid, iteration, device_id, direction, iteration_name, copy_count,
    copy_bytes, copy_sum_ns,
    copy_bytes / nullif(stated_ns, 0) AS bandwidth_gb_per_s,
    in_every_iteration,
    in_every_iteration AND is_same AS same_in_every_iteration
FROM compared
ORDER BY run_id, pid, iteration, device_id, direction;
