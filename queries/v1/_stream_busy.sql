-- @title Busy time of each stream
-- When each stream was busy in the window of its run, as pieces that do not overlap
-- within a stream (they may touch). A stream is process, context and stream of one
-- device; the parts of its name that the source does not say are NULL.
-- @param time_window VARCHAR As in _windows.
-- @param from_ns BIGINT Start of a range, ns since the run's origin.
-- @param to_ns BIGINT End of a range, ns since the run's origin.
-- @since 0.1
CREATE MACRO _stream_busy(
    time_window VARCHAR := 'capture', from_ns BIGINT := NULL, to_ns BIGINT := NULL
) AS TABLE
SELECT
    run_id, device_id, context_id, stream_id, pid, stream_from_ns AS start_ns, end_ns
FROM v1._gpu_spans(time_window := time_window, from_ns := from_ns, to_ns := to_ns)
WHERE end_ns > stream_from_ns;
