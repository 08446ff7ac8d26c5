-- @title Overlap of communication with compute
-- How much of each device's communication ran beside compute, and how much of it, and
-- of the copies, nothing hid. U is the union of intervals on one device, clipped to
-- the window. K: kernels and whole graph launches; C: communication kernels, known by
-- name; P: K without C, graph launches with it, since what such a launch holds is not
-- traced; M: copies and fills. A device that ran nothing in the window has no row.
-- @param time_window VARCHAR capture, gpu (first start to last end of the run's GPU
--     operations) or steps (first start to last end of its iterations).
-- @param from_ns BIGINT Start of a range instead, ns since the run's origin.
-- @param to_ns BIGINT End of that range.
-- @column run_id id key The run.
-- @column device_id id key Device; NULL where the operations name none.
-- @column window_name text neutral capture, gpu, steps or range.
-- @column window_start_ns ns neutral Start of the window, ns since the run's origin.
-- @column window_end_ns ns neutral End of the window, ns since the run's origin.
-- @column compute_union_ns ns neutral U(P).
-- @column communication_union_ns ns neutral U(C).
-- @column communication_sum_ns ns neutral Sum over C: what overlaps counts each.
-- @column overlapped_communication_ns ns higher U(C and P): time with both running.
-- @column overlapped_communication_share share higher That time, of U(C); NULL without
--     communication.
-- @column exposed_communication_ns ns lower U(C or P) without U(P): communication ran
--     and no compute.
-- @column exposed_communication_pct pct lower That time, of the window.
-- @column copy_union_ns ns neutral U(M).
-- @column overlapped_copy_share share higher U(M) beside K, of U(M); NULL without
--     copies.
-- @column exposed_copy_ns ns lower U(K or M) without U(K): copies or fills ran and no
--     kernel.
-- @column exposed_copy_pct pct lower That time, of the window.
-- @column busy_union_ns ns neutral U(K or M).
-- @column link text neutral How the device is linked to the run's others that ran
--     communication in the window: NV and the number of links, PIX, PXB, PHB, NODE or
--     SYS; several with commas. Which of them a communication took is not recorded.
--     NULL where it or all others ran none, or a link is not known: see memcpy_summary.
-- @key run_id, device_id
-- @requires kernel|memcpy|memset|graph_launch Record GPU activity: nsys profile -t cuda
-- @since 0.2
CREATE MACRO comm_overlap(
    time_window VARCHAR := 'capture', from_ns BIGINT := NULL, to_ns BIGINT := NULL
) AS TABLE
WITH measured AS MATERIALIZED (
    SELECT
        run_id, device_id,
        any_value(window_name) AS window_name,
        any_value(window_start_ns) AS window_start_ns,
        any_value(window_end_ns) AS window_end_ns,
        CAST(sum(end_ns - busy_from_ns) AS BIGINT) AS busy_ns,
        CAST(coalesce(sum(end_ns - kernel_from_ns), 0) AS BIGINT) AS k_ns,
        CAST(coalesce(sum(end_ns - compute_from_ns), 0) AS BIGINT) AS p_ns,
        CAST(coalesce(sum(end_ns - communication_from_ns), 0) AS BIGINT) AS c_ns,
        CAST(coalesce(sum(
            CASE WHEN communication_from_ns IS NOT NULL THEN end_ns - start_ns END
        ), 0) AS BIGINT) AS c_sum_ns,
        CAST(coalesce(sum(end_ns - copy_from_ns), 0) AS BIGINT) AS m_ns
    FROM v1._gpu_spans(time_window := time_window, from_ns := from_ns, to_ns := to_ns)
    GROUP BY run_id, device_id
),
linked AS (
    SELECT
        one.run_id, one.device_id,
        CASE WHEN count(links.link) = count(*)
            THEN string_agg(DISTINCT links.link, ', ' ORDER BY links.link) END AS link
    FROM measured AS one
    JOIN measured AS other
        ON other.run_id = one.run_id AND other.device_id <> one.device_id
    LEFT JOIN v1._device_links() AS links
        ON links.run_id = one.run_id::VARCHAR
        AND links.src_device_id = one.device_id
        AND links.dst_device_id = other.device_id
    WHERE one.c_ns > 0 AND other.c_ns > 0
    GROUP BY one.run_id, one.device_id
)
SELECT
    measured.run_id, measured.device_id, window_name, window_start_ns, window_end_ns,
    p_ns AS compute_union_ns, c_ns AS communication_union_ns,
    c_sum_ns AS communication_sum_ns,
    c_ns + p_ns - k_ns AS overlapped_communication_ns,
    (c_ns + p_ns - k_ns) / nullif(c_ns, 0) AS overlapped_communication_share,
    k_ns - p_ns AS exposed_communication_ns,
    100.0 * (k_ns - p_ns) / (window_end_ns - window_start_ns)
        AS exposed_communication_pct,
    m_ns AS copy_union_ns,
    (k_ns + m_ns - busy_ns) / nullif(m_ns, 0) AS overlapped_copy_share,
    busy_ns - k_ns AS exposed_copy_ns,
    100.0 * (busy_ns - k_ns) / (window_end_ns - window_start_ns) AS exposed_copy_pct,
    busy_ns AS busy_union_ns, linked.link
FROM measured
LEFT JOIN linked
    ON measured.run_id = linked.run_id AND measured.device_id = linked.device_id
ORDER BY measured.run_id, measured.device_id;
