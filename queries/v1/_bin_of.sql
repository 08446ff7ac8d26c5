-- @title Bin of a moment
-- Of a whole parted in equal bins, where bin i begins at i * whole_ns // bin_total: the
-- bin that holds the nanosecond which ends so long after the start of the whole.
-- HUGEINT is several times slower and only serves wholes that are too long for BIGINT.
-- @param past_ns BIGINT From the start of the whole to the end of that nanosecond.
-- @param bin_total BIGINT Bins.
-- @param whole_ns BIGINT Length of the whole.
-- @since 0.2
CREATE MACRO _bin_of(past_ns BIGINT, bin_total BIGINT, whole_ns BIGINT) AS
CASE WHEN whole_ns < 9223372036854775807 // bin_total
    THEN (past_ns * bin_total - 1) // whole_ns
    ELSE CAST((CAST(past_ns AS HUGEINT) * bin_total - 1) // whole_ns AS BIGINT)
END;
