-- How a DLProf database maps to the schema: what DLProf alone knows. Facts: times are ns
-- since the profile's start, those of the Nsight Systems capture unchanged; an instance
-- of an operation is one execution of it on a host thread; tc_support_status is 0 for
-- operations that could use tensor cores, 2 for stray API calls that DLProf makes
-- operations of, 3 for all others. Where operations were collected for several NVTX
-- domains, one execution stands under each: the first domain's counts.

-- @prepare
CREATE MACRO row_key(ordinal, id) AS (CAST(ordinal AS BIGINT) << 40) | id;
-- Empty lists are the word null, and every list ends in a line feed.
CREATE MACRO known_json(t) AS
    CASE WHEN json_valid(trim(t, E' \n')) THEN nullif(trim(t, E' \n'), 'null') END;
CREATE MACRO json_text(t) AS CAST(to_json(nullif(t, '')) AS VARCHAR);
CREATE MACRO json_bool(n) AS CASE n WHEN 0 THEN 'false' WHEN 1 THEN 'true' END;
CREATE MACRO shows_eligible(status) AS
    CASE status WHEN 0 THEN true WHEN 3 THEN false END;

CREATE TABLE domain AS
SELECT d.id, n.string AS name
FROM read_only_domains AS d
LEFT JOIN dictionary AS n ON n.id = d.domain_name_id;

CREATE TABLE op_node AS
SELECT
    o.id, coalesce(o.domain_id, 0) AS domain_id, m.name AS domain, o.op_id AS op_key,
    o.op_name AS name, t.string AS op_type, v.string AS device, o.tc_support_status,
    d.string AS data_type, f.string AS data_format, u.string AS output_format,
    p.string AS parameters_format, r.string AS direction, o.stack_trace
FROM read_only_ops AS o
LEFT JOIN domain AS m ON m.id = o.domain_id
LEFT JOIN dictionary AS t ON t.id = o.op_type_id
LEFT JOIN dictionary AS v ON v.id = o.device_id
LEFT JOIN dictionary AS d ON d.id = o.data_type_id
LEFT JOIN dictionary AS f ON f.id = o.data_format_id
LEFT JOIN dictionary AS u ON u.id = o.output_format_id
LEFT JOIN dictionary AS p ON p.id = o.parameters_format_id
LEFT JOIN dictionary AS r ON r.id = o.direction_id;

-- Executions, with the one that counts where domains repeat it.
CREATE TABLE op_execution AS
SELECT
    i.id, i.read_only_ops_id, n.domain_id, i.cpu_start AS ts_ns, i.cpu_stop AS end_ns,
    i.process_id AS pid, i.thread_id AS tid, i.input_names_id, i.input_shapes_id,
    i.output_names_id, i.output_shapes_id, i.parameters_id,
    row_number() OVER (PARTITION BY i.read_only_ops_id ORDER BY i.id) - 1 AS ordinal,
    first_value(i.id) OVER (
        PARTITION BY
            i.process_id, i.thread_id, i.cpu_start, i.cpu_stop, n.name, n.op_type,
            -- Rows of one domain are executions of their own, however alike.
            i.ordinal_in_domain
        ORDER BY n.domain_id, i.id
    ) AS counted_id
FROM (
    SELECT
        i.*,
        row_number() OVER (
            PARTITION BY
                n.domain_id, i.process_id, i.thread_id, i.cpu_start, i.cpu_stop, n.name,
                n.op_type
            ORDER BY i.id
        ) AS ordinal_in_domain
    FROM read_only_op_instances AS i
    LEFT JOIN op_node AS n ON n.id = i.read_only_ops_id
    WHERE i.cpu_start IS NOT NULL
) AS i
LEFT JOIN op_node AS n ON n.id = i.read_only_ops_id;

-- What ran on a device or was called: one table, with the execution of an operation
-- that it belongs to. The database names the operation and the number of its execution;
-- the one of them around the call, on its thread, is sure where there is one.
CREATE TABLE event_row AS
SELECT 1 AS kind, id, read_only_ops_id, op_instance, coalesce(long_name_id, name_id) AS name_id,
    api_start, api_stop, gpu_start, gpu_stop, device_id, process_id AS pid,
    thread_id AS tid
FROM read_only_kernels
UNION ALL
SELECT 2, id, read_only_ops_id, op_instance, name_id, api_start, api_stop, gpu_start,
    gpu_stop, device_id, process_id, thread_id
FROM read_only_memcpys
UNION ALL
SELECT 3, id, read_only_ops_id, op_instance, name_id, api_start, api_stop, gpu_start,
    gpu_stop, device_id, process_id, thread_id
FROM read_only_memsets
UNION ALL
SELECT 4, id, read_only_ops_id, op_instance, name_id, api_start, api_stop,
    nullif(gpu_start, 0), nullif(gpu_stop, 0), device_id, process_id, thread_id
FROM read_only_cuda_syncs
UNION ALL
SELECT 5, id, read_only_ops_id, op_instance, name_id, api_start, api_stop,
    NULL, NULL, NULL, process_id, thread_id
FROM read_only_cuda_calls;

CREATE TABLE event_of_op AS
WITH ranked AS (
    SELECT
        e.*, coalesce(n.domain_id, 0) AS domain_id,
        row_number() OVER (
            PARTITION BY
                e.kind, n.domain_id, e.device_id, e.pid, e.tid, e.api_start, e.api_stop,
                e.gpu_start, e.gpu_stop, e.name_id
            ORDER BY e.id
        ) AS ordinal_in_domain
    FROM event_row AS e
    LEFT JOIN op_node AS n ON n.id = e.read_only_ops_id
),
counted AS (
    SELECT *
    FROM ranked
    QUALIFY row_number() OVER (
        PARTITION BY
            kind, device_id, pid, tid, api_start, api_stop, gpu_start, gpu_stop,
            name_id, ordinal_in_domain
        ORDER BY domain_id, id
    ) = 1
)
SELECT
    c.kind, c.id, c.name_id, c.api_start, c.api_stop, c.gpu_start, c.gpu_stop,
    c.device_id, c.pid, c.tid,
    row_key(101, coalesce(around.counted_id, numbered.counted_id)) AS op_id
FROM counted AS c
ASOF LEFT JOIN op_execution AS around
    ON around.read_only_ops_id = c.read_only_ops_id AND around.pid = c.pid
    AND around.tid = c.tid AND around.ts_ns <= c.api_start
LEFT JOIN op_execution AS numbered
    ON numbered.read_only_ops_id = c.read_only_ops_id
    AND numbered.ordinal = c.op_instance AND coalesce(around.end_ns < c.api_start, true);

-- @nest
SELECT row_key(101, id) AS id, pid, tid, ts_ns, end_ns
FROM op_execution WHERE id = counted_id

-- @rows op
SELECT
    i.ts_ns, i.end_ns - i.ts_ns AS dur_ns, row_key(101, i.id) AS op_id, n.name,
    nullif(n.op_type, n.name) AS op_type, 'host' AS placement, i.pid, i.tid,
    t.parent_id, t.depth, known_json(s.string) AS input_shapes,
    CASE WHEN n.data_type <> '' THEN to_json([n.data_type]) END AS input_types,
    known_json(p.string) AS concrete_inputs,
    CASE n.direction WHEN 'fprop' THEN false WHEN 'bprop' THEN true END AS is_backward,
    nullif(n.stack_trace, '') AS stack,
    nullif(regexp_extract(n.name, '^(/.*)/[^/]*$', 1), '') AS module,
    false AS truncated, coalesce(t.crossing, false) AS crossing,
    '{' || concat_ws(
        ',', '"op_key":' || json_text(n.op_key),
        '"direction":' || json_text(n.direction),
        '"tc_eligible":' || CAST(shows_eligible(n.tc_support_status) AS VARCHAR),
        '"tc_support_status":' || n.tc_support_status,
        '"data_type":' || json_text(n.data_type),
        '"data_format":' || json_text(n.data_format),
        '"output_format":' || json_text(n.output_format),
        '"parameters_format":' || json_text(n.parameters_format),
        '"output_shapes":' || known_json(o.string),
        '"device":' || json_text(n.device), '"domain":' || json_text(n.domain)
    ) || '}' AS extra
FROM op_execution AS i
LEFT JOIN op_node AS n ON n.id = i.read_only_ops_id
LEFT JOIN nested AS t ON t.id = row_key(101, i.id)
LEFT JOIN dictionary AS s ON s.id = i.input_shapes_id
LEFT JOIN dictionary AS o ON o.id = i.output_shapes_id
LEFT JOIN dictionary AS p ON p.id = i.parameters_id
WHERE i.id = i.counted_id

-- @rows iteration
-- Of several aggregations the last: each may have split the profile at another key node.
SELECT
    l.start_time AS ts_ns, l.stop_time - l.start_time AS dur_ns,
    row_key(107, l.id) AS iteration_id, l.iter_value AS number,
    nullif(k.string, '') AS name, 'dlprof' AS source,
    '{' || concat_ws(
        ',', '"aggregation":' || l.aggr_id,
        '"key_node":' || coalesce(json_text(k.string), 'null'),
        '"aggregated":' || CAST(a.id IS NOT NULL AS VARCHAR),
        '"gpu_utilization_pct":' || a.gpu_utilization,
        '"tc_duration_ns":' || a.tc_duration,
        '"non_tc_duration_ns":' || a.non_tc_duration,
        '"memory_duration_ns":' || a.memory_duration,
        '"dataloader_duration_ns":' || a.dataloader_duration,
        '"io_duration_ns":' || a.io_duration, '"cpu_duration_ns":' || a.cpu_duration,
        '"other_duration_ns":' || a.other_duration
    ) || '}' AS extra
FROM iteration_list AS l
LEFT JOIN (
    SELECT aggr_id, any_value(key_node_id) AS key_node_id
    FROM iteration_key GROUP BY aggr_id
) AS y ON y.aggr_id = l.aggr_id
LEFT JOIN dictionary AS k ON k.id = y.key_node_id
LEFT JOIN iteration_aggregation_list AS a
    ON a.aggr_id = l.aggr_id AND a.iter_value = l.iter_value
WHERE l.aggr_id = (SELECT max(aggr_id) FROM iteration_list)

-- @rows advice
SELECT
    exp_sys_id AS detector, problem, nullif(recommendation, '') AS recommendation,
    '{' || concat_ws(
        ',', '"aggregation":' || aggr_id,
        '"javascript_function":' || json_text(javascript_function),
        '"javascript_args":' || json_text(javascript_args)
    ) || '}' AS extra
FROM expert_systems_feedback
ORDER BY id

-- @run
SELECT
    'DLProf' AS tool,
    nullif(ltrim(s.dlprof_version, 'v'), '') AS tool_version,
    (SELECT nullif(min(current_version), '') FROM db_version) AS source_schema_version,
    0 AS source_origin_ns, 'none' AS clock,
    nullif(lower(regexp_extract(s.framework, '^[A-Za-z]+')), '') AS framework,
    '{' || concat_ws(
        ',', '"framework":' || json_text(s.framework),
        '"gpu_count":' || nullif(regexp_extract(s.num_gpus, '^[0-9]+$'), ''),
        '"cpu_model":' || json_text(s.cpu_model),
        '"driver_version":' || json_text(s.driver_version),
        '"cuda_version":' || json_text(s.cuda_version),
        '"cudnn_version":' || json_text(s.cudnn_version),
        '"nsys_version":' || json_text(s.nsys_version),
        '"dlprof_build":' || json_text(s.dlprof_build),
        '"profile_name":' || json_text(s.profile_name),
        '"mode":' || json_text(s.mode_string),
        '"model_config":{' || (
            SELECT concat_ws(
                ',', '"num_workers":' || num_workers,
                '"pin_memory":' || json_bool(pin_memory),
                '"cudnn_benchmark_disabled":' || json_bool(cudnn_benchmark_disabled),
                '"detect_anomaly":' || json_bool(detect_anomaly),
                '"gradcheck":' || json_bool(gradcheck),
                '"gradgradcheck":' || json_bool(gradgradcheck),
                '"autograd_profile":' || json_bool(autograd_profile),
                '"autograd_set_detect_anomaly":'
                    || json_bool(autograd_set_detect_anomaly),
                '"emit_nvtx":' || json_bool(emit_nvtx),
                '"amp_enabled":' || json_bool(amp_enabled)
            )
            FROM read_only_model_config ORDER BY row_id LIMIT 1
        ) || '}'
    ) || '}' AS extra,
    '{' || concat_ws(
        ',', '"original_command":' || json_text(s.original_command),
        '"aggregated_at":' || json_text(a.start_timestamp)
    ) || '}' AS environment,
    nullif(a.server_host_name, '') AS host
FROM (SELECT 1)
LEFT JOIN (SELECT * FROM read_only_system_config ORDER BY row_id LIMIT 1) AS s ON true
LEFT JOIN (SELECT * FROM aggregations ORDER BY id DESC LIMIT 1) AS a ON true

-- @diagnostic repeated_in_domains info Executions that DLProf lists under several NVTX domains: they count once, in the first.
SELECT count(*), min(n.name)
FROM op_execution AS i JOIN op_node AS n ON n.id = i.read_only_ops_id
WHERE i.id <> i.counted_id

-- @diagnostic several_aggregations info The database holds several aggregations of one profile: iterations are those of the last, reports name theirs.
SELECT CASE WHEN count(*) > 1 THEN count(*) ELSE 0 END, NULL FROM aggregations

-- @diagnostic no_key_node info DLProf found no key operation, so its only iteration is the whole profile.
SELECT count(*), NULL
FROM iteration_key AS y
LEFT JOIN dictionary AS k ON k.id = y.key_node_id
WHERE coalesce(k.string, '') = ''
    AND y.aggr_id = (SELECT max(aggr_id) FROM iteration_list)

-- @diagnostic negative_duration data_loss Rows end before they start: they count as operations, not as time.
SELECT count(*), min(name)
FROM (
    SELECT 'op' AS name FROM op_execution WHERE end_ns < ts_ns
    UNION ALL SELECT 'gpu' FROM event_of_op WHERE gpu_stop < gpu_start
    UNION ALL SELECT 'call' FROM event_of_op WHERE api_stop < api_start
)

-- @diagnostic no_ops info The database holds no operation: record with --mode of the framework and its NVTX ranges on.
SELECT CASE WHEN EXISTS (FROM op_execution) THEN 0 ELSE 1 END, NULL

-- @diagnostic home_paths info Names hold paths of home directories; import with --redact to replace them.
SELECT count(*), NULL
FROM read_only_ops
WHERE contains(stack_trace, '/home/') OR contains(stack_trace, '/Users/')
    OR contains(stack_trace, '/root/')
