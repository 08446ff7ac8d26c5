-- By kernel name, thread and device, at the medians: what a few slow calls cost is not in.
-- @kind limit
-- @section host
-- @uses launch_latency, run_summary
-- @threshold ≥ 50 % of launched kernels have a median duration below the median of the
--     calls that launch them, and these calls, at their medians, ≥ 5 % of the capture
-- @of the capture
-- @says {{ short_pct | pct }} of the kernels are shorter than the call that launches them:
--     {{ (kernel_ns / short_count) | ns }} of work for a call of
--     {{ (api_ns / short_count) | ns }}, on average.
-- @do Fuse them (torch.compile, fused optimisers) or replay them as a CUDA graph.
SELECT
    short_count, 100 * short_count / kernel_count AS short_pct, kernel_ns, api_ns,
    api_ns - kernel_ns AS saving_ns, of_ns
FROM (
    SELECT
        sum(launch_latency.kernel_count) AS kernel_count,
        sum(launch_latency.kernel_count) FILTER (kernel_median_ns < api_median_ns)
            AS short_count,
        sum(launch_latency.kernel_count * kernel_median_ns)
            FILTER (kernel_median_ns < api_median_ns) AS kernel_ns,
        sum(launch_latency.kernel_count * api_median_ns)
            FILTER (kernel_median_ns < api_median_ns) AS api_ns,
        any_value(run_summary.window_end_ns - run_summary.window_start_ns) AS of_ns
    FROM launch_latency
    JOIN run_summary ON launch_latency.run_id = run_summary.run_id
    WHERE launch_latency.api IS NOT NULL
)
WHERE short_count >= 0.5 * kernel_count AND api_ns >= 0.05 * of_ns
