-- @kind capture
-- @section counters
-- @uses run_summary, counter_summary
-- @threshold a log of nvidia-smi
-- @says A log of nvidia-smi: {{ name_count | count }} counters, no GPU work to measure.
-- @do To lay it beside a trace: <code>traceql ingest LOG --attach RUN --clock-offset
--     0</code>, with what to add to its clock.
SELECT
    NULL AS saving_ns, NULL AS of_ns,
    (SELECT count(DISTINCT name) FROM counter_summary) AS name_count
FROM run_summary
WHERE tool = 'nvidia-smi'
