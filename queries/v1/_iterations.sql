-- @title Iterations of a run
-- One row per iteration (training step). The source's own iterations win where the
-- run has some and no pattern is given; else finished annotations in whose name the
-- pattern finds some text; else, without a pattern, what is detected in the launch
-- sequence (see iteration_detection). Of marked iterations of one process that lie
-- within each other only the outermost counts. Where the source states no step of a
-- process's host, only its devices' own, these are counted on each device.
-- @param pattern VARCHAR Regular expression to find in the names of annotations;
--     NULL for the source's own iterations, else names such as "iteration 7", else
--     what is detected.
-- @column run_id id key The run.
-- @column pid id key Process; NULL where the source does not say it.
-- @column device_id id key Device whose own step it is; NULL for a step of the host,
--     which covers all devices of its process.
-- @column iteration id key Ordinal by time in the process, or on that device, from 0.
-- @column name text neutral Name, as the source writes it; NULL for detected ones.
-- @column source text neutral profiler_step, tf_step, dlprof, ...; annotation; or
--     detected.
-- @column start_ns ns neutral Start, ns since the run's origin.
-- @column end_ns ns neutral End, ns since the run's origin.
-- @column confidence_share share higher How sure a detected iteration is, 0.6 to 1, as
--     in iteration_detection; NULL for marked ones.
-- @key run_id, pid, device_id, iteration
-- @since 0.1
CREATE MACRO _iterations(pattern VARCHAR := NULL) AS TABLE
SELECT
    marked.run_id, marked.pid, marked.device_id, marked.iteration, marked.name,
    marked.source, marked.start_ns, marked.end_ns,
    CAST(NULL AS DOUBLE) AS confidence_share
FROM v1._marked_iterations(pattern := pattern) AS marked
UNION ALL
SELECT
    detected.run_id, detected.pid, NULL, detected.iteration, NULL, 'detected',
    detected.start_ns, detected.end_ns, detected.confidence_share
FROM v1._detected_iterations() AS detected
WHERE pattern IS NULL
ORDER BY run_id, pid, device_id, iteration;
