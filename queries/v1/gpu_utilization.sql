-- @title GPU utilization
-- Busy time of each device, as the union of what ran on it, in the window or in equal
-- bins of it. U is the union of intervals: time with at least one of them running.
-- K: kernels and whole graph launches. M: copies and fills. Operations are clipped to
-- the row's span, which is the denominator of every percentage: union percentages
-- cannot pass 100, those of sums can and are no utilization. A device without any
-- operation in the run has no row, also where the source lists it: whether it was idle
-- or not recorded is unknown. Operations that name no device are a row of their own.
-- @param time_window VARCHAR capture, gpu (first start to last end of the run's GPU
--     operations) or steps (first start to last end of its iterations).
-- @param from_ns BIGINT Start of a range instead, ns since the run's origin.
-- @param to_ns BIGINT End of that range.
-- @param bins BIGINT Bins of the window, whose widths differ by 1 ns at most; NULL for
--     one row per device. A window has no more bins than nanoseconds.
-- @column run_id id key The run.
-- @column device_id id key Device; NULL where the operations name none.
-- @column bin id key Ordinal of the bin, from 0; 0 without bins.
-- @column window_name text neutral capture, gpu, steps or range.
-- @column bin_start_ns ns neutral Start of the row's span, ns since the run's origin.
-- @column bin_end_ns ns neutral End of the row's span (the next one's start).
-- @column bin_ns ns neutral Length of the row's span: the denominator.
-- @column kernel_union_ns ns higher U(K).
-- @column busy_union_ns ns higher U(K and M together).
-- @column communication_union_ns ns neutral U(communication kernels).
-- @column copy_union_ns ns neutral U(M).
-- @column idle_ns ns lower The span without U(K and M together).
-- @column kernel_sum_ns ns neutral Sum over K: kernels that overlap count each.
-- @column busy_sum_ns ns neutral Sum over K and M: what overlaps counts each.
-- @column kernel_pct pct higher U(K), of the span.
-- @column busy_pct pct higher U(K and M together), of the span.
-- @column communication_pct pct neutral U(communication kernels), of the span.
-- @column copy_pct pct neutral U(M), of the span.
-- @column kernel_sum_with_overlaps_pct pct neutral Sum over K, of the span: passes 100
--     where kernels run at once; no utilization.
-- @column busy_sum_with_overlaps_pct pct neutral Sum over K and M, of the span: passes
--     100 where operations run at once; no utilization.
-- @key run_id, device_id, bin
-- @chart line x=bin_start_ns y=busy_pct
-- @requires kernel|memcpy|memset|graph_launch Record GPU activity: nsys profile -t cuda
-- @since 0.1
CREATE MACRO gpu_utilization(
    time_window VARCHAR := 'capture', from_ns BIGINT := NULL, to_ns BIGINT := NULL,
    bins BIGINT := NULL
) AS TABLE
WITH windows AS (
    SELECT
        run_id, window_name, window_start_ns,
        window_end_ns - window_start_ns AS window_ns,
        CASE
            WHEN bins < 1 THEN error('bins must be at least 1')
            ELSE least(coalesce(bins, 1), window_end_ns - window_start_ns)
        END AS bin_count
    FROM v1._windows(time_window := time_window, from_ns := from_ns, to_ns := to_ns)
),
placed AS (
    SELECT
        op.run_id, op.device_id, op.is_kernel, op.start_ns, op.end_ns,
        op.busy_from_ns, op.kernel_from_ns, op.copy_from_ns, op.communication_from_ns,
        CASE WHEN bin_count = 1 THEN 0 ELSE v1._bin_of(
            op.start_ns - windows.window_start_ns + 1, bin_count, window_ns
        ) END AS first_bin,
        CASE WHEN bin_count = 1 THEN 0 ELSE v1._bin_of(
            op.end_ns - windows.window_start_ns, bin_count, window_ns
        ) END AS last_bin
    FROM v1._gpu_spans(
        time_window := time_window, from_ns := from_ns, to_ns := to_ns
    ) AS op
    JOIN windows ON op.run_id = windows.run_id
    WHERE op.end_ns > op.start_ns
),
borders AS (
    SELECT
        run_id, window_name, bin,
        window_start_ns + CAST(
            CAST(bin AS HUGEINT) * window_ns // bin_count AS BIGINT
        ) AS bin_start_ns,
        window_start_ns + CAST(
            CAST(bin + 1 AS HUGEINT) * window_ns // bin_count AS BIGINT
        ) AS bin_end_ns
    FROM (
        SELECT
            run_id, window_name, window_start_ns, window_ns, bin_count,
            unnest(range(bin_count)) AS bin
        FROM windows
    )
),
-- Most operations lie in one bin: only the others are cut at the borders.
cut AS (
    SELECT
        placed.run_id, placed.device_id, placed.bin, placed.is_kernel,
        greatest(start_ns, bin_start_ns) AS start_ns,
        least(end_ns, bin_end_ns) AS end_ns,
        greatest(busy_from_ns, bin_start_ns) AS busy_from_ns,
        CASE WHEN kernel_from_ns IS NOT NULL
            THEN greatest(kernel_from_ns, bin_start_ns) END AS kernel_from_ns,
        CASE WHEN copy_from_ns IS NOT NULL
            THEN greatest(copy_from_ns, bin_start_ns) END AS copy_from_ns,
        CASE WHEN communication_from_ns IS NOT NULL
            THEN greatest(communication_from_ns, bin_start_ns)
        END AS communication_from_ns
    FROM (
        SELECT
            run_id, device_id, is_kernel, start_ns, end_ns, busy_from_ns,
            kernel_from_ns, copy_from_ns, communication_from_ns,
            unnest(range(first_bin, last_bin + 1)) AS bin
        FROM placed
        WHERE last_bin > first_bin
    ) AS placed
    JOIN borders ON placed.run_id = borders.run_id AND placed.bin = borders.bin
),
pieces AS (
    SELECT
        run_id, device_id, first_bin AS bin, is_kernel, start_ns, end_ns,
        busy_from_ns, kernel_from_ns, copy_from_ns, communication_from_ns
    FROM placed
    WHERE last_bin = first_bin
    UNION ALL
    SELECT
        run_id, device_id, bin, is_kernel, start_ns, end_ns,
        busy_from_ns, kernel_from_ns, copy_from_ns, communication_from_ns
    FROM cut
),
measured AS (
    SELECT
        run_id, device_id, bin,
        sum(greatest(end_ns - busy_from_ns, 0)) AS busy_union_ns,
        sum(CASE WHEN end_ns > kernel_from_ns THEN end_ns - kernel_from_ns END)
            AS kernel_union_ns,
        sum(CASE WHEN end_ns > copy_from_ns THEN end_ns - copy_from_ns END)
            AS copy_union_ns,
        sum(CASE
            WHEN end_ns > communication_from_ns THEN end_ns - communication_from_ns
        END) AS communication_union_ns,
        sum(end_ns - start_ns) AS busy_sum_ns,
        sum(CASE WHEN is_kernel THEN end_ns - start_ns END) AS kernel_sum_ns
    FROM pieces
    GROUP BY run_id, device_id, bin
),
devices AS (
    SELECT DISTINCT run_id, device_id FROM gpu_op
),
filled AS (
    SELECT
        borders.run_id, devices.device_id, borders.bin, borders.window_name,
        borders.bin_start_ns, borders.bin_end_ns,
        borders.bin_end_ns - borders.bin_start_ns AS bin_ns,
        CAST(coalesce(kernel_union_ns, 0) AS BIGINT) AS kernel_union_ns,
        CAST(coalesce(busy_union_ns, 0) AS BIGINT) AS busy_union_ns,
        CAST(coalesce(communication_union_ns, 0) AS BIGINT) AS communication_union_ns,
        CAST(coalesce(copy_union_ns, 0) AS BIGINT) AS copy_union_ns,
        CAST(coalesce(kernel_sum_ns, 0) AS BIGINT) AS kernel_sum_ns,
        CAST(coalesce(busy_sum_ns, 0) AS BIGINT) AS busy_sum_ns
    FROM borders
    JOIN devices ON borders.run_id = devices.run_id
    LEFT JOIN measured
        ON borders.run_id = measured.run_id AND borders.bin = measured.bin
        AND devices.device_id IS NOT DISTINCT FROM measured.device_id
)
SELECT
    run_id, device_id, bin, window_name, bin_start_ns, bin_end_ns, bin_ns,
    kernel_union_ns, busy_union_ns, communication_union_ns, copy_union_ns,
    bin_ns - busy_union_ns AS idle_ns, kernel_sum_ns, busy_sum_ns,
    100.0 * kernel_union_ns / bin_ns AS kernel_pct,
    100.0 * busy_union_ns / bin_ns AS busy_pct,
    100.0 * communication_union_ns / bin_ns AS communication_pct,
    100.0 * copy_union_ns / bin_ns AS copy_pct,
    100.0 * kernel_sum_ns / bin_ns AS kernel_sum_with_overlaps_pct,
    100.0 * busy_sum_ns / bin_ns AS busy_sum_with_overlaps_pct
FROM filled
ORDER BY run_id, device_id, bin;
