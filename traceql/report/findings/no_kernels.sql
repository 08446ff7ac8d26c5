-- @kind capture
-- @section diagnostics
-- @uses run_summary
-- @threshold GPU work, but no kernel and no CUDA graph
-- @says No kernel is in this capture, only {{ memcpy_count | counted("copy") }} and
--     {{ memset_count | counted("fill") }}.
-- @do Let the program run to its kernels, or record with
--     <code>nsys profile -t cuda,nvtx</code>.
SELECT memcpy_count, memset_count, NULL AS saving_ns, NULL AS of_ns
FROM run_summary
WHERE kernel_count + graph_launch_count = 0 AND memcpy_count + memset_count > 0
