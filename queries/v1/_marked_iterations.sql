-- @title Iterations that a run marks
-- One row per iteration (training step) that the capture itself names. The source's own
-- iterations win where the run has some and no pattern is given; else finished
-- annotations in whose name the pattern finds some text. Of iterations of one process
-- that lie within each other only the outermost counts. Where the source states no step
-- of a process's host, only its devices' own, these are counted on each device.
-- @param pattern VARCHAR Regular expression to find in the names of annotations;
--     NULL for the source's own iterations, else names such as "iteration 7".
-- @column run_id id key The run.
-- @column pid id key Process; NULL where the source does not say it.
-- @column device_id id key Device whose own step it is; NULL for a step of the host.
-- @column iteration id key Ordinal by time in the process, or on that device, from 0.
-- @column name text neutral Name, as the source writes it.
-- @column source text neutral profiler_step, tf_step, dlprof, ...; or annotation.
-- @column start_ns ns neutral Start, ns since the run's origin.
-- @column end_ns ns neutral End, ns since the run's origin.
-- @key run_id, pid, device_id, iteration
-- @since 0.2
CREATE MACRO _marked_iterations(pattern VARCHAR := NULL) AS TABLE
WITH stated AS (
    SELECT
        stated.run_id, stated.pid, stated.device_id, stated.name, stated.source,
        stated.ts_ns AS start_ns, stated.ts_ns + stated.dur_ns AS end_ns
    FROM iteration AS stated
    WHERE stated.dur_ns >= 0 AND pattern IS NULL
    -- Steps of the host are those of its devices, too.
    QUALIFY stated.device_id IS NULL OR count(*) FILTER (stated.device_id IS NULL)
        OVER (PARTITION BY stated.run_id, stated.pid) = 0
),
annotated AS (
    SELECT
        annotation.run_id, annotation.pid, annotation.name, 'annotation' AS source,
        annotation.ts_ns AS start_ns, annotation.ts_ns + annotation.dur_ns AS end_ns
    FROM annotation
    WHERE annotation.dur_ns >= 0
        AND annotation.kind IN ('push_pop', 'start_end')
        -- regexp_extract runs once per distinct name, regexp_matches once per row.
        AND regexp_extract(
            annotation.name,
            coalesce(
                pattern,
                '(?i)^(training[ _-]?)?'
                || '(iteration|iter|step|train_?step|batch|ProfilerStep)[ #:_=]*[0-9]+$'
            )
        ) <> ''
        AND annotation.run_id NOT IN (SELECT stated.run_id FROM stated)
),
found AS (
    SELECT
        stated.run_id, stated.pid, stated.device_id, stated.name, stated.source,
        stated.start_ns, stated.end_ns
    FROM stated
    UNION ALL
    SELECT
        annotated.run_id, annotated.pid, NULL, annotated.name, annotated.source,
        annotated.start_ns, annotated.end_ns
    FROM annotated
),
reached AS (
    SELECT
        found.run_id, found.pid, found.device_id, found.name, found.source,
        found.start_ns, found.end_ns,
        max(found.end_ns) OVER (
            PARTITION BY found.run_id, found.pid, found.device_id
            ORDER BY found.start_ns, found.end_ns DESC, found.name
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS earlier_end_ns
    FROM found
)
SELECT
    reached.run_id,
    reached.pid,
    reached.device_id,
    row_number() OVER (
        PARTITION BY reached.run_id, reached.pid, reached.device_id
        ORDER BY reached.start_ns, reached.end_ns DESC, reached.name
    ) - 1 AS iteration,
    reached.name,
    reached.source,
    reached.start_ns,
    reached.end_ns
FROM reached
WHERE reached.earlier_end_ns IS NULL OR reached.end_ns > reached.earlier_end_ns
ORDER BY reached.run_id, reached.pid, reached.device_id, iteration;
