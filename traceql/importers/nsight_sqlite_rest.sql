-- What the mapping leaves out, said once a table with its rows.

-- @prepare
CREATE TABLE event_left_out (what VARCHAR, row_count BIGINT)

-- @phase host

-- @stage FROM GENERIC_EVENTS
-- Events of other sources (ftrace, ETW, hypervisors) than the GPU's metrics.
INSERT INTO event_left_out
SELECT
    'GENERIC_EVENTS',
    count(*) FILTER (NOT coalesce(json_valid(g.data), false) OR NOT EXISTS (
        FROM GENERIC_EVENT_TYPES AS t
        JOIN GENERIC_EVENT_SOURCES AS s ON s.sourceId = t.sourceId
        WHERE t.typeId = g.typeId AND s.data LIKE '%GpuMetrics%'
    ))
FROM GENERIC_EVENTS AS g

-- @phase rest

-- @findings
-- Not events: descriptions of the target, the meaning of numbers, what the capture was
-- asked for, and the scratch tables of `nsys profile --stats=true`.
WITH left_out AS (
    SELECT table_name AS what, rows_of(table_name) AS row_count
    FROM source_table
    WHERE NOT option_only
        AND NOT regexp_matches(
            table_name,
            '^(ENUM_|TARGET_INFO_|META_DATA_|sqlite_|NVTX_PAYLOAD_|cuda\w+Stats$'
            || '|osrtAPIStats$|nvtx\w+Stats$|cudaMemoryOperation)'
        )
        AND table_name NOT IN (
            'ANALYSIS_DETAILS', 'DomainStrings', 'MemcpyOperationStrings',
            'NvtxPushPopRanges', 'UnwindMethodType', 'estEnd', 'me', 'ms',
            'PMU_EVENT_REQUESTS', 'GENERIC_EVENT_TYPE_FIELDS',
            'GENERIC_EVENT_TYPE_FIELD_MAP', 'UCP_WORKERS', 'NVTX_SCOPES'
        )
    UNION ALL
    SELECT what, CAST(sum(row_count) AS BIGINT) FROM event_left_out GROUP BY what
)
SELECT
    'table_not_read' AS code, 'info' AS severity, row_count AS count,
    'Rows of ' || what || ' have no place in the schema: they are left out.' AS message,
    NULL AS example
FROM left_out
WHERE row_count > 0
ORDER BY what

-- @diagnostic samples_not_read info CPU samples and thread switches are left out, and the call stacks of calls with them. Import with --with-samples to read them.
SELECT
    coalesce(sum(rows_of(table_name)), 0), NULL
FROM source_table
WHERE option_only AND table_name IN ('COMPOSITE_EVENTS', 'SCHED_EVENTS')

-- @diagnostic call_chains_not_read info Call stacks of CUDA and OS calls are left out. Import with --with-samples to read them.
SELECT
    coalesce(sum(rows_of(table_name)), 0), NULL
FROM source_table
WHERE option_only AND table_name IN ('CUDA_CALLCHAINS', 'OSRT_CALLCHAINS')

-- @diagnostic metrics_without_time data_loss Samples of GPU metrics have no time: left out.
SELECT count(*), min(name) FROM metric WHERE ts_ns IS NULL

-- @diagnostic partial_export warning The export was limited to some tables or times: what is missing here may be in the report. Export again without --tables and --times.
SELECT count(*), min(name)
FROM META_DATA_EXPORT
WHERE name IN ('EXPORT_PARAM_TABLES_TO_EXPORT', 'EXPORT_PARAM_TIMES_TO_EXPORT')
    AND value <> ''
