-- @title Use of tensor cores
-- Kernel time with and without tensor cores, in all kernels and in those of operations
-- that could use them. Each kernel uses them, does not, or is unknown: what the source
-- says of the kernel counts (DLProf does), else rules by its name, which are data
-- (rules/kernel_tensor_core.csv, rules/class_tensor_core.csv). Whether an operation
-- could is what the source says of it, else rules (rules/op_tensor_core.csv: lists of
-- TensorFlow and PyTorch) by its name and type, with one answer for all operations of a
-- name; unknown for clusters of operations (XLA's _XlaLaunch, PartitionedCall), which
-- may hold such. Kernels of these, and those without a known operation, are in neither.
-- The operation is the innermost around the launch. A group uses tensor cores where any
-- of its kernels does, as in DLProf. Utilisation is DLProf's: time of tensor-core
-- kernels by that of all kernels, in operations that could use them; unknown kernels
-- count as without in utilization_pct, and as with in utilization_max_pct. Durations
-- are summed, clipped to the window: kernels at once count each.
-- @param group_by VARCHAR run, kernel, op_type or op.
-- @param unused BOOLEAN Only groups that could use tensor cores and do not.
-- @param top BIGINT Rows per run, by kernel time; NULL for all.
-- @param time_window VARCHAR capture, gpu (first start to last end of the run's GPU
--     operations) or steps (first start to last end of its iterations).
-- @param from_ns BIGINT Start of a range instead, ns since the run's origin.
-- @param to_ns BIGINT End of that range.
-- @column run_id id key The run.
-- @column label text key Kernel, type of operation (name where it has none) or
--     operation; NULL for the run, and for kernels without a known operation.
-- @column uses_tc text neutral yes where any kernel does, else unknown where any is,
--     else no.
-- @column tc_eligible text neutral Likewise of their operations: could they.
-- @column kernel_count count neutral Executions that lie at least partly in the window.
-- @column kernel_ns ns lower Sum of their durations.
-- @column tc_ns ns neutral Of that with tensor cores.
-- @column no_tc_ns ns neutral Without.
-- @column unknown_tc_ns ns lower Unknown.
-- @column tc_pct pct higher tc_ns of kernel_ns; NULL where all is unknown.
-- @column unknown_tc_pct pct lower unknown_tc_ns of kernel_ns.
-- @column stated_pct pct neutral Time of kernels of which the source itself says it,
--     of kernel_ns.
-- @column eligible_ns ns neutral Kernels of operations that could use tensor cores.
-- @column eligible_tc_ns ns neutral Of that with them.
-- @column eligible_no_tc_ns ns lower Without.
-- @column unknown_eligible_ns ns lower Kernels without a known operation, or of a
--     cluster of operations.
-- @column utilization_pct pct higher eligible_tc_ns of eligible_ns: at least so much;
--     NULL where nothing is known.
-- @column utilization_max_pct pct neutral The same with unknown kernels: at most.
-- @column window_name text neutral capture, gpu, steps or range.
-- @key run_id, label
-- @chart bar x=kernel_ns y=label
-- @requires kernel Record GPU work: nsys profile -t cuda,nvtx, or a PyTorch profiler
--     with ProfilerActivity.CUDA.
-- @since 0.2
CREATE MACRO tensor_core_usage(
    group_by VARCHAR := 'run', unused BOOLEAN := false, top BIGINT := NULL,
    time_window VARCHAR := 'capture', from_ns BIGINT := NULL, to_ns BIGINT := NULL
) AS TABLE
WITH labelled AS (
    SELECT
        run_id, uses_tc, tc_eligible, is_stated, kernel_count, kernel_ns, window_name,
        CASE group_by
            WHEN 'kernel' THEN kernel_name
            WHEN 'op_type' THEN type_name
            WHEN 'op' THEN op_name
            WHEN 'run' THEN NULL
            ELSE error('group_by must be run, kernel, op_type or op')
        END AS label
    FROM v1._tensor_core_work(
        time_window := time_window, from_ns := from_ns, to_ns := to_ns
    )
),
totals AS (
    SELECT
        run_id, label, any_value(window_name) AS window_name,
        CASE
            WHEN bool_or(uses_tc = 'yes') THEN 'yes'
            WHEN bool_or(uses_tc = 'unknown') THEN 'unknown'
            ELSE 'no'
        END AS uses_tc,
        CASE
            WHEN bool_or(tc_eligible = 'yes') THEN 'yes'
            WHEN bool_or(tc_eligible = 'unknown') THEN 'unknown'
            ELSE 'no'
        END AS tc_eligible,
        CAST(sum(kernel_count) AS BIGINT) AS kernel_count,
        CAST(sum(kernel_ns) AS BIGINT) AS kernel_ns,
        CAST(sum(
            CASE WHEN uses_tc = 'yes' THEN kernel_ns ELSE 0 END
        ) AS BIGINT) AS tc_ns,
        CAST(sum(
            CASE WHEN uses_tc = 'no' THEN kernel_ns ELSE 0 END
        ) AS BIGINT) AS no_tc_ns,
        CAST(sum(
            CASE WHEN uses_tc = 'unknown' THEN kernel_ns ELSE 0 END
        ) AS BIGINT) AS unknown_tc_ns,
        CAST(sum(
            CASE WHEN is_stated THEN kernel_ns ELSE 0 END
        ) AS BIGINT) AS stated_ns,
        CAST(sum(
            CASE WHEN tc_eligible = 'yes' THEN kernel_ns ELSE 0 END
        ) AS BIGINT) AS eligible_ns,
        CAST(sum(
            CASE WHEN tc_eligible = 'yes' AND uses_tc = 'yes' THEN kernel_ns ELSE 0 END
        ) AS BIGINT) AS eligible_tc_ns,
        CAST(sum(
            CASE WHEN tc_eligible = 'yes' AND uses_tc = 'no' THEN kernel_ns ELSE 0 END
        ) AS BIGINT) AS eligible_no_tc_ns,
        CAST(sum(
            CASE WHEN tc_eligible = 'unknown' THEN kernel_ns ELSE 0 END
        ) AS BIGINT) AS unknown_eligible_ns
    FROM labelled
    GROUP BY run_id, label
)
SELECT
    run_id, label, uses_tc, tc_eligible, kernel_count, kernel_ns, tc_ns, no_tc_ns,
    unknown_tc_ns,
    CASE WHEN unknown_tc_ns < kernel_ns THEN 100.0 * tc_ns / kernel_ns END AS tc_pct,
    100.0 * unknown_tc_ns / nullif(kernel_ns, 0) AS unknown_tc_pct,
    100.0 * stated_ns / nullif(kernel_ns, 0) AS stated_pct,
    eligible_ns, eligible_tc_ns, eligible_no_tc_ns, unknown_eligible_ns,
    CASE WHEN eligible_tc_ns + eligible_no_tc_ns > 0
        THEN 100.0 * eligible_tc_ns / eligible_ns END AS utilization_pct,
    100.0 * (eligible_ns - eligible_no_tc_ns) / nullif(eligible_ns, 0)
        AS utilization_max_pct,
    window_name
FROM totals
WHERE unused IS NOT true OR (tc_eligible = 'yes' AND uses_tc = 'no')
QUALIFY top IS NULL OR top >= row_number() OVER (
    PARTITION BY run_id ORDER BY kernel_ns DESC, label
)
ORDER BY run_id, kernel_ns DESC, label;
