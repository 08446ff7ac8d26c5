-- @title GPU operations in a time window
-- One row per GPU operation that lies at least partly in the window of its run,
-- clipped to it, with what it adds to each union there, as in _gpu_sweep. An operation
-- without a known duration, or with a negative one, counts where it starts and takes
-- no time; so does one of zero duration, which belongs to the window when it lies in
-- it or on its borders.
-- @param time_window VARCHAR As in _windows.
-- @param from_ns BIGINT Start of a range, ns since the run's origin.
-- @param to_ns BIGINT End of a range, ns since the run's origin.
-- @since 0.1
CREATE MACRO _gpu_spans(
    time_window VARCHAR := 'capture', from_ns BIGINT := NULL, to_ns BIGINT := NULL
) AS TABLE
SELECT
    op.run_id, op.device_id, op.context_id, op.stream_id, op.pid, op.activity,
    op.is_kernel, op.stream_end_before_ns,
    spans.window_name, spans.window_start_ns, spans.window_end_ns,
    greatest(op.start_ns, spans.window_start_ns) AS start_ns,
    least(op.end_ns, spans.window_end_ns) AS end_ns,
    least(op.end_ns, spans.window_end_ns, greatest(
        op.busy_from_ns, spans.window_start_ns
    )) AS busy_from_ns,
    CASE WHEN op.kernel_from_ns IS NOT NULL THEN
        least(op.end_ns, spans.window_end_ns, greatest(
            op.kernel_from_ns, spans.window_start_ns
        ))
    END AS kernel_from_ns,
    CASE WHEN op.compute_from_ns IS NOT NULL THEN
        least(op.end_ns, spans.window_end_ns, greatest(
            op.compute_from_ns, spans.window_start_ns
        ))
    END AS compute_from_ns,
    CASE WHEN op.communication_from_ns IS NOT NULL THEN
        least(op.end_ns, spans.window_end_ns, greatest(
            op.communication_from_ns, spans.window_start_ns
        ))
    END AS communication_from_ns,
    CASE WHEN op.copy_from_ns IS NOT NULL THEN
        least(op.end_ns, spans.window_end_ns, greatest(
            op.copy_from_ns, spans.window_start_ns
        ))
    END AS copy_from_ns,
    least(op.end_ns, spans.window_end_ns, greatest(
        op.stream_from_ns, spans.window_start_ns
    )) AS stream_from_ns
FROM v1._gpu_sweep() AS op
JOIN v1._windows(
    time_window := time_window, from_ns := from_ns, to_ns := to_ns
) AS spans ON op.run_id = spans.run_id
WHERE op.start_ns < spans.window_end_ns AND op.end_ns > spans.window_start_ns
    OR op.start_ns = op.end_ns
    AND op.start_ns BETWEEN spans.window_start_ns AND spans.window_end_ns;
