-- @title What step_breakdown and input_pipeline look at
-- One row per interval of GPU or host work and its role in the mode: its place in the
-- order of priority, from 0; in mode input 0 is GPU work, and the host waits for input
-- (1), reads (2) or preprocesses it (3): no rows for a run without any such range.
-- Host work (is_host) has no device. Intervals without a known end, and empty ones, are
-- left out.
-- @param mode VARCHAR honest, tb, xprof or input.
-- @since 0.2
CREATE MACRO _breakdown_work(mode VARCHAR := 'honest') AS TABLE
WITH tb_names AS (
    SELECT library || ':' || call AS name
    FROM (SELECT unnest(['nccl', 'gloo']) AS library)
    CROSS JOIN (
        SELECT unnest([
            'broadcast', 'reduce', 'all_reduce', 'all_gather', 'reduce_scatter'
        ]) AS call
    )
),
-- Only the tool's own order asks which operation launched a kernel.
tb_ops AS (
    SELECT op.run_id, op.op_id
    FROM op
    WHERE mode = 'tb' AND op.name IN (SELECT name FROM tb_names)
),
host AS (
    SELECT
        run_id, pid, ts_ns, dur_ns, name,
        CASE WHEN (run_id, op_id) IN (
            SELECT (run_id, op_id) FROM collective WHERE kernel_id IS NULL
        ) THEN 'collective' ELSE 'op' END AS kind, v1._input_stage(name) AS stage
    FROM op
    WHERE placement IS DISTINCT FROM 'device'
    UNION ALL
    SELECT
        run_id, pid, ts_ns, dur_ns, name, 'annotation', v1._input_stage(name)
    FROM annotation
    WHERE kind <> 'mark' AND NOT starts_with(coalesce(name, ''), 'ProfilerStep#')
    UNION ALL
    SELECT run_id, pid, ts_ns, dur_ns, name, 'slice', v1._input_stage(name)
    FROM slice
    WHERE mode <> 'tb' AND v1._input_stage(name) IS NOT NULL
),
-- GPU work comes from the sweep, though it needs none: a report has made it already.
work AS (
    SELECT
        run_id, pid, device_id, false AS is_host, start_ns AS ts_ns,
        end_ns - start_ns AS dur_ns,
        CASE mode
            WHEN 'input' THEN 0
            WHEN 'honest' THEN CASE
                WHEN activity = 'communication' THEN 3
                WHEN is_kernel THEN 0
                WHEN activity = 'memset' THEN 2
                ELSE 1
            END
            WHEN 'xprof' THEN CASE
                WHEN activity = 'communication' THEN 4
                WHEN is_kernel OR activity IN ('memset', 'copy_unknown') THEN 0
                WHEN activity IN ('copy_d2h', 'copy_a2h') THEN 1
                WHEN activity IN ('copy_h2d', 'copy_h2a') THEN 6
                WHEN activity <> 'copy_h2h' THEN 2
            END
        END AS role
    FROM v1._gpu_sweep()
    WHERE mode <> 'tb' AND (
        mode <> 'input' OR run_id IN (SELECT run_id FROM host WHERE stage IS NOT NULL)
    )
    UNION ALL
    SELECT
        gpu_op.run_id, gpu_op.pid, gpu_op.device_id, false, gpu_op.ts_ns, gpu_op.dur_ns,
        CASE
            WHEN op_kind = 'kernel' AND tb_ops.op_id IS NOT NULL THEN 3
            WHEN op_kind IN ('kernel', 'graph') THEN 0
            WHEN op_kind = 'memcpy' THEN 1
            ELSE 2
        END
    FROM gpu_op
    LEFT JOIN tb_ops ON gpu_op.run_id = tb_ops.run_id AND gpu_op.op_id = tb_ops.op_id
    WHERE mode = 'tb'
    UNION ALL
    SELECT
        run_id, pid, NULL, true, ts_ns, dur_ns,
        CASE
            WHEN mode = 'input' OR api IN ('osrt', 'openmp') THEN NULL
            WHEN mode = 'tb' THEN CASE
                WHEN api IN (
                    'cuda_runtime', 'hip', 'hip_runtime', 'xpu_runtime',
                    'mtia_runtime', 'glow_runtime', 'privateuse1_runtime'
                ) THEN 4
            END
            WHEN api IN ('nccl', 'rccl', 'mpi', 'ucx', 'nvshmem') THEN
                CASE mode WHEN 'xprof' THEN 7 ELSE 3 END
            WHEN api IN ('cudnn', 'cublas', 'openacc') THEN
                CASE mode WHEN 'xprof' THEN 7 ELSE 6 END
            ELSE CASE mode WHEN 'xprof' THEN 5 ELSE 4 END
        END
    FROM api_call
    UNION ALL
    SELECT
        run_id, pid, NULL, true, ts_ns, dur_ns,
        CASE
            WHEN mode = 'tb' THEN CASE
                WHEN starts_with(name, 'enumerate(DataLoader)#')
                    AND ends_with(name, '.__next__')
                    OR starts_with(name, 'enumerate(DataPipe)#') THEN 5
                WHEN name IN (SELECT tb_names.name FROM tb_names) THEN 3
                WHEN kind <> 'slice' THEN 6
            END
            WHEN mode = 'input' THEN CASE stage
                WHEN 'wait' THEN 1 WHEN 'read' THEN 2 WHEN 'preprocess' THEN 3
            END
            WHEN stage = 'wait' THEN CASE mode WHEN 'xprof' THEN 3 ELSE 5 END
            -- Where a GPU is, TensorFlow's executor works to give it work.
            WHEN mode = 'xprof' THEN CASE
                WHEN starts_with(name, 'ExecutorState::Process')
                    AND run_id IN (SELECT run_id FROM device WHERE kind = 'gpu') THEN 5
                WHEN kind = 'collective' THEN 4
                WHEN kind = 'op' THEN 7
            END
            WHEN kind = 'collective'
                OR regexp_extract(name, '^(nccl|gloo|mpi|ucc|xccl|hccl):') <> '' THEN 3
            WHEN kind = 'op' THEN 6
        END
    FROM host
)
SELECT
    run_id, pid, device_id, is_host, ts_ns AS start_ns, ts_ns + dur_ns AS end_ns, role
FROM work
WHERE dur_ns > 0 AND role IS NOT NULL;
