-- @title Where each step's time goes
-- Every moment of a step goes to the first kind of work, in the order of the mode, that
-- runs at it on the devices or host threads of the step's process; what no kind covers
-- is other. So the parts of a step sum exactly to its time. GPU work counts when it
-- runs, whoever launched it, on any device of the process: it hides the host's work
-- beside it, and one device hides another's idle time. Where the source states steps of
-- devices and none of the host, a step is its device's alone: GPU work elsewhere is not
-- in it; the host's work beside it is its process's, for whichever device. A kind that
-- the capture does not record takes no time.
-- honest: kernel (without communication), memcpy, memset, communication (its kernels,
-- host communication: MPI calls, ranges named nccl: or gloo:, collective operations
-- without a kernel), runtime (calls of the GPU's runtime and driver), data_loader
-- (waiting for input), cpu_op (framework operations), other. Annotations are no work,
-- except for those two kinds.
-- tb: as torch-tb-profiler computes it, which moves the steps with the GPU's work and
-- drops an incomplete last one (its steps, not the iterations of other queries), counts
-- communication kernels as kernel unless the ten operations nccl:... and gloo:... that
-- it knows launched them, leaves driver calls out and takes annotations for cpu_op. Not
-- taken over: its second counting of steps in which a step's projection on the GPU
-- stands beside it, projected annotations as host work, and times rounded to doubles.
-- xprof: device_compute, output (D2H), device_to_device, input (waiting for it, and
-- H2D), collectives, kernel_launch, host_compute, all_other, in that tool's order:
-- waiting for input comes before collectives, H2D after kernel launch. Compilation is
-- not told apart from host_compute. TensorFlow's executor at work for a GPU is
-- kernel_launch, as there. Steps are the host's, with all that its process does; the
-- tool's last from the first to the last GPU operation of the step's group and hold
-- that group alone. It takes all the group's host ranges for host_compute (but those
-- of eager execution, FunctionRun and tf.data), here annotations are no work; and
-- TensorFlow 2.3 and 2.4 took all copies for device_compute, as here those of unknown
-- direction are.
-- A run without iterations is one step: its capture (tb: its framework operations).
-- @param mode VARCHAR honest, tb or xprof.
-- @param pattern VARCHAR Regular expression to find in the names of annotations that
--     are iterations; NULL for the source's own, else names such as "iteration 7".
-- @column run_id id key The run.
-- @column pid id key Process of the step; NULL where the source does not say it.
-- @column device_id id key Device whose own step it is; NULL for a step of the host,
--     which covers all devices of its process.
-- @column iteration id key Ordinal by time in the process, or on that device, from 0.
-- @column part text key Kind of work.
-- @column priority value neutral Place in the order, from 0; of several the first.
-- @column name text neutral Name of the step.
-- @column source text neutral profiler_step, annotation, detected, ...; capture for a
--     run without iterations.
-- @column start_ns ns neutral Start of the step, ns since the run's origin.
-- @column step_ns ns lower Time of the step: the denominator.
-- @column time_ns ns neutral Time that goes to the part.
-- @column step_pct pct neutral That time, of the step.
-- @key run_id, pid, device_id, iteration, part
-- @chart bar x=iteration y=time_ns color=part
-- @requires kernel|memcpy|memset|graph_launch|op|api_call Record GPU activity and host
--     calls: torch.profiler with CPU and CUDA activities, or nsys profile -t cuda,nvtx.
-- @since 0.2
CREATE MACRO step_breakdown(
    mode VARCHAR := 'honest', pattern VARCHAR := NULL
) AS TABLE
WITH choice AS (
    SELECT CASE
        WHEN mode IN ('honest', 'tb') THEN [
            'kernel', 'memcpy', 'memset', 'communication', 'runtime', 'data_loader',
            'cpu_op', 'other'
        ]
        WHEN mode = 'xprof' THEN [
            'device_compute', 'output', 'device_to_device', 'input', 'collectives',
            'kernel_launch', 'input', 'host_compute', 'all_other'
        ]
        ELSE error('mode must be honest, tb or xprof')
    END AS parts
),
roles AS (
    SELECT parts[number] AS part, number - 1 AS role, number = len(parts) AS is_rest
    FROM (SELECT parts, unnest(range(1, len(parts) + 1)) AS number FROM choice)
),
steps AS MATERIALIZED (
    SELECT run_id, pid, device_id, iteration, name, source, start_ns, end_ns
    FROM v1._breakdown_steps(mode := mode, pattern := pattern)
),
-- The first role of a set is its lowest bit.
totals AS (
    SELECT
        masks.run_id, masks.pid, masks.device_id, masks.iteration, roles.part,
        CAST(sum(masks.time_ns) AS BIGINT) AS time_ns
    FROM v1._step_masks(mode := mode, pattern := pattern) AS masks
    JOIN roles ON bit_count((masks.mask & -masks.mask) - 1) = roles.role
    GROUP BY
        masks.run_id, masks.pid, masks.device_id, masks.iteration, roles.part
),
covered AS (
    SELECT
        run_id, pid, device_id, iteration, CAST(sum(time_ns) AS BIGINT) AS time_ns
    FROM totals
    GROUP BY run_id, pid, device_id, iteration
),
parts AS (
    SELECT part, min(role) AS priority, bool_or(is_rest) AS is_rest
    FROM roles
    GROUP BY part
),
filled AS (
    SELECT
        steps.run_id, steps.pid, steps.device_id, steps.iteration, parts.part,
        parts.priority, steps.name, steps.source, steps.start_ns,
        steps.end_ns - steps.start_ns AS step_ns,
        CASE
            WHEN parts.is_rest THEN
                steps.end_ns - steps.start_ns - coalesce(covered.time_ns, 0)
            ELSE coalesce(totals.time_ns, 0)
        END AS time_ns
    FROM steps
    CROSS JOIN parts
    LEFT JOIN totals
        ON steps.run_id = totals.run_id AND steps.pid IS NOT DISTINCT FROM totals.pid
        AND steps.device_id IS NOT DISTINCT FROM totals.device_id
        AND steps.iteration = totals.iteration AND parts.part = totals.part
    LEFT JOIN covered
        ON steps.run_id = covered.run_id AND steps.pid IS NOT DISTINCT FROM covered.pid
        AND steps.device_id IS NOT DISTINCT FROM covered.device_id
        AND steps.iteration = covered.iteration
)
SELECT
    run_id, pid, device_id, iteration, part, priority, name, source, start_ns, step_ns,
    time_ns, 100.0 * time_ns / nullif(step_ns, 0) AS step_pct
FROM filled
ORDER BY run_id, pid, device_id, iteration, priority;
