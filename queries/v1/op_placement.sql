-- @title Operations on host and device
-- How many framework operations put work on a device and how many are the host's alone,
-- and the time of each. An operation is on the device when the source places it there
-- or it launched GPU work itself; nested when only operations within it did; on the
-- host when nothing within it did. Each operation is in one row, and the self times of
-- a run's rows add up to all of it.
-- Operations that start in the window count whole.
-- @param time_window VARCHAR capture, gpu or steps.
-- @param from_ns BIGINT Start of a range, ns since the run's origin.
-- @param to_ns BIGINT End of a range, ns since the run's origin.
-- @column run_id id key The run.
-- @column placement text key device, nested or host.
-- @column op_count count neutral Operations.
-- @column op_pct pct neutral Those, of all operations in the window.
-- @column name_count count neutral Different names of them.
-- @column host_self_ns ns lower Host time without nested operations and API calls.
-- @column host_self_pct pct neutral That time, of the same of all operations.
-- @column api_self_ns ns lower Time in the API calls that they make themselves.
-- @column device_self_ns ns lower Sum of the durations of GPU operations that they
--     launched themselves; of those placed on a device without any their own.
-- @column gpu_op_count count neutral GPU operations that they launched themselves.
-- @column window_name text neutral capture, gpu, steps or range.
-- @column window_start_ns ns neutral Start of the window, ns since the run's origin.
-- @column window_end_ns ns neutral End of the window, ns since the run's origin.
-- @key run_id, placement
-- @chart bar x=host_self_ns y=placement
-- @requires op Record framework operations: torch.profiler with
--     ProfilerActivity.CPU and ProfilerActivity.CUDA.
-- @since 0.2
CREATE MACRO op_placement(
    time_window VARCHAR := 'capture', from_ns BIGINT := NULL, to_ns BIGINT := NULL
) AS TABLE
WITH costs AS (
    SELECT
        op.run_id, op.name, windows.window_name, windows.window_start_ns,
        windows.window_end_ns, costs.host_self_ns, costs.api_self_ns,
        costs.device_self_ns, costs.gpu_op_count,
        CASE
            WHEN costs.is_device OR costs.gpu_op_count > 0 THEN 'device'
            WHEN costs.nested_count > 0 THEN 'nested'
            ELSE 'host'
        END AS placement
    FROM v1._op_costs() AS costs
    JOIN op ON costs.run_id = op.run_id AND costs.op_id = op.op_id
    JOIN v1._windows(
        time_window := time_window, from_ns := from_ns, to_ns := to_ns
    ) AS windows
        ON costs.run_id = windows.run_id AND costs.start_ns >= windows.window_start_ns
        AND (
            costs.start_ns < windows.window_end_ns
            OR costs.start_ns = windows.window_end_ns
            AND windows.window_name <> 'range'
        )
),
totals AS (
    SELECT
        run_id, placement, count(*) AS op_count, count(DISTINCT name) AS name_count,
        CAST(sum(host_self_ns) AS BIGINT) AS host_self_ns,
        CAST(sum(api_self_ns) AS BIGINT) AS api_self_ns,
        CAST(sum(device_self_ns) AS BIGINT) AS device_self_ns,
        CAST(sum(gpu_op_count) AS BIGINT) AS gpu_op_count,
        any_value(window_name) AS window_name,
        any_value(window_start_ns) AS window_start_ns,
        any_value(window_end_ns) AS window_end_ns
    FROM costs
    GROUP BY run_id, placement
)
SELECT
    run_id, placement, op_count,
    100.0 * op_count / sum(op_count) OVER (PARTITION BY run_id) AS op_pct, name_count,
    host_self_ns,
    100.0 * host_self_ns / nullif(sum(host_self_ns) OVER (PARTITION BY run_id), 0)
        AS host_self_pct,
    api_self_ns, device_self_ns, gpu_op_count, window_name, window_start_ns,
    window_end_ns
FROM totals
ORDER BY run_id, placement;
