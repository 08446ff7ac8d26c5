-- What the copies from or to pageable memory would take at the throughput of the pinned
-- copies of the same direction in the same capture; unknown without any. Where pinned
-- ones are no faster there is nothing to find.
-- @kind limit
-- @section copies
-- @uses memcpy_by_memory, run_summary
-- @threshold pageable ≥ 10 % of a direction's bytes, and ≥ 1 % of the capture's time
-- @of the capture
-- @says {{ kind }} copies use pageable memory for {{ pageable_share | pct }} of their
--     bytes, at {{ pageable_gb_per_s | rate }}
--     {%- if pinned_gb_per_s %}; pinned ones reach {{ pinned_gb_per_s | rate }}
--     {%- endif %}.
-- @do Allocate the host side pinned (cudaHostAlloc; pin_memory=True in PyTorch).
WITH sides AS (
    SELECT
        run_id, kind, total_bytes, total_ns,
        'pageable' IN (src_memory, dst_memory) AS is_pageable,
        'pinned' IN (src_memory, dst_memory) AS is_pinned
    FROM memcpy_by_memory
    WHERE kind IN ('H2D', 'D2H')
),
directions AS (
    SELECT
        run_id, kind, sum(total_bytes) AS bytes,
        sum(total_bytes) FILTER (is_pageable) AS pageable_bytes,
        sum(total_ns) FILTER (is_pageable) AS pageable_ns,
        sum(total_bytes) FILTER (is_pinned) AS pinned_bytes,
        sum(total_ns) FILTER (is_pinned) AS pinned_ns
    FROM sides
    GROUP BY run_id, kind
)
SELECT
    directions.kind,
    100 * directions.pageable_bytes / directions.bytes AS pageable_share,
    directions.pageable_bytes / nullif(directions.pageable_ns, 0) AS pageable_gb_per_s,
    directions.pinned_bytes / nullif(directions.pinned_ns, 0) AS pinned_gb_per_s,
    greatest(directions.pageable_ns
        - directions.pageable_bytes * directions.pinned_ns / directions.pinned_bytes, 0
    ) / run_summary.device_count AS saving_ns,
    run_summary.window_end_ns - run_summary.window_start_ns AS of_ns
FROM directions
JOIN run_summary ON directions.run_id = run_summary.run_id
WHERE directions.pageable_bytes >= 0.1 * directions.bytes
    AND directions.pageable_ns >= 0.01 * run_summary.device_window_ns
    AND coalesce(saving_ns > 0, true)
ORDER BY directions.kind
