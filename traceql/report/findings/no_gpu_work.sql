-- @kind capture
-- @section diagnostics
-- @uses run_summary
-- @threshold no kernel, copy, fill or CUDA graph in a trace
-- @says The capture holds no GPU work: no kernel, copy, fill or CUDA graph.
-- @do Record with <code>nsys profile -t cuda,nvtx</code>, let the program run to its GPU
--     work, and trace the process that does it (child processes too).
SELECT NULL AS saving_ns, NULL AS of_ns
FROM run_summary
WHERE kernel_count + memcpy_count + memset_count + graph_launch_count = 0
    AND tool IS DISTINCT FROM 'nvidia-smi'
