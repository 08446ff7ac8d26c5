-- Names as in iteration_timing; of ranges within each other only the outermost counts.
-- @kind capture
-- @section iterations
-- @uses run_summary, annotation_summary
-- @threshold more ranges named like iterations than iterations
-- @says {{ range_count | count }} ranges are named like iterations, but only
--     {{ iteration_count | count }} count: the others lie within them.
-- @do Check that every push has its pop before the next iteration begins.
SELECT
    sum(annotation_summary.annotation_count) AS range_count,
    run_summary.iteration_count, NULL AS saving_ns, NULL AS of_ns
FROM annotation_summary
JOIN run_summary ON annotation_summary.run_id = run_summary.run_id
WHERE annotation_summary.kind <> 'mark' AND regexp_matches(
    annotation_summary.name,
    '(?i)^([^:]*:)?(training[ _-]?)?'
    || '(iteration|iter|step|train_?step|batch|ProfilerStep)[ #:_=]*[0-9]+$'
)
GROUP BY run_summary.iteration_count
HAVING sum(annotation_summary.annotation_count) > 1.5 * run_summary.iteration_count AND run_summary.iteration_count > 0
