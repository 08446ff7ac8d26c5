-- @kind capture
-- @section diagnostics
-- @uses run_summary
-- @threshold no kernel, copy, fill or CUDA graph in a trace
-- @says The capture holds no GPU work: no kernel, copy, fill or CUDA graph.
-- @do {% if format == "chrome-trace" %}A Chrome trace says nothing of GPUs; record the
--     program's with <code>nsys profile -t cuda,nvtx</code> if it uses one.{% else %}Record
--     with <code>nsys profile -t cuda,nvtx</code>, or with the framework's profiler and
--     its GPU activities; let the program run to its GPU work, and trace the process
--     that does it (child processes too).{% endif %}
SELECT run.format, NULL AS saving_ns, NULL AS of_ns
FROM run_summary
JOIN run ON run.run_id = run_summary.run_id
WHERE kernel_count + memcpy_count + memset_count + graph_launch_count = 0
    AND run_summary.tool IS DISTINCT FROM 'nvidia-smi'
