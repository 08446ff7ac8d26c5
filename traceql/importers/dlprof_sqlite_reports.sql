-- What a DLProf database has added up, as rows of reports: under the names that DLProf's
-- own CSV reports have, so that the two can be held against each other.

-- @prepare
CREATE MACRO yes_no(n) AS CASE n WHEN 0 THEN 'no' WHEN 1 THEN 'yes' END;
CREATE MACRO four(what, total, mean, least, most) AS concat_ws(
    ',', '"Total ' || what || ' (ns)":' || total, '"Avg. ' || what || ' (ns)":' || mean,
    '"Min ' || what || ' (ns)":' || least, '"Max ' || what || ' (ns)":' || most
);
CREATE TABLE node_time AS
SELECT
    n.id, c.sum AS cpu_sum, g.sum AS gpu_sum,
    concat_ws(
        ',', four('CPU Time', c.sum, c.avg, c.min, c.max),
        four('GPU Time', g.sum, g.avg, g.min, g.max),
        four('CPU Overhead', o.sum, o.avg, o.min, o.max),
        four('GPU Idle', i.sum, i.avg, i.min, i.max)
    ) AS text
FROM node_time_metrics AS n
LEFT JOIN metric AS c ON c.id = n.cpu_time_metric_id
LEFT JOIN metric AS g ON g.id = n.gpu_time_metric_id
LEFT JOIN metric AS o ON o.id = n.cpu_overhead_time_metric_id
LEFT JOIN metric AS i ON i.id = n.gpu_idle_time_metric_id;

-- @rows report_row
WITH figures AS (
    SELECT m.aggr_id, m.domain_id, f.section, f.name, f.value, f.ordinal
    FROM model_summary AS m,
        LATERAL (
            VALUES
                (1, 'Summary Report', 'Wall Clock Time (ns)', CAST(m.wall_time AS DOUBLE)),
                (2, 'Summary Report', 'Tensor Core Kernel Utilization %', m.tc_utilization),
                (3, 'Summary Report', 'GPU Utilization %', m.gpu_utilization),
                (4, 'Summary Report', 'Tensor Core Kernel Duration %', m.tc_duration_pct),
                (5, 'Summary Report', 'Non-Tensor Core Kernel Duration %', m.non_tc_duration_pct),
                (6, 'Summary Report', 'Memory Duration %', m.memory_duration_pct),
                (7, 'Summary Report', 'Dataloader Duration %', m.dataloader_duration_pct),
                (8, 'Summary Report', 'IO Duration %', m.io_duration_pct),
                (9, 'Summary Report', 'CPU Duration %', m.cpu_duration_pct),
                (10, 'Summary Report', 'Other Duration %', m.other_duration_pct),
                (1, 'Iterations', 'Total Iterations', m.iter_total),
                (2, 'Iterations', 'Aggregated Iterations', m.iter_aggregated),
                (3, 'Iterations', 'Start Iteration', m.iter_start),
                (4, 'Iterations', 'Stop Iteration', m.iter_stop),
                (5, 'Iterations', 'Average Iteration Time (ns)', m.avg_iteration_time),
                (6, 'Iterations', 'Iteration Time Standard Deviation', m.iteration_time_std_dev)
        ) AS f (ordinal, section, name, value)
)
SELECT
    'summary' AS report, f.section, f.ordinal AS row_number, f.aggr_id AS aggregation,
    d.name AS domain, f.name, f.value, to_json({'value': f.value}) AS fields
FROM figures AS f
LEFT JOIN domain AS d ON d.id = f.domain_id

-- @rows report_row
WITH part AS (
    SELECT 1 AS ordinal, 'All Ops' AS section, 'All ops' AS name, aggr_id, domain_id,
        nodes_total_id AS category_id
    FROM model_summary
    UNION ALL
    SELECT 2, 'All Ops', 'Ops using TC', aggr_id, domain_id, nodes_using_tc_id
    FROM model_summary
    UNION ALL
    SELECT 3, 'All Ops', 'Ops eligible for TC but not using', aggr_id, domain_id,
        nodes_tc_eligible_id
    FROM model_summary
    UNION ALL
    SELECT 4, 'All Ops', 'All other ops', aggr_id, domain_id, nodes_other_id
    FROM model_summary
    UNION ALL
    SELECT 2, 'All Kernels', 'Kernels using TC', aggr_id, domain_id, kernels_using_tc_id
    FROM kernel_summary_metrics
    UNION ALL
    SELECT 3, 'All Kernels', 'Memory', aggr_id, domain_id, memory_time_id
    FROM memory_summary_metrics
    UNION ALL
    SELECT 4, 'All Kernels', 'All other kernels', aggr_id, domain_id, kernels_non_tc_id
    FROM kernel_summary_metrics
),
measured AS (
    SELECT p.*, c.gpu_time, c.cpu_time, c.count
    FROM part AS p
    LEFT JOIN category_summary AS c ON c.id = p.category_id
    UNION ALL
    -- DLProf's view adds the copies to its kernels.
    SELECT 1, 'All Kernels', 'All kernels', k.aggr_id, k.domain_id, NULL,
        c.gpu_time + m.gpu_time, c.cpu_time + m.cpu_time, c.count + m.count
    FROM kernel_summary_metrics AS k
    JOIN memory_summary_metrics AS y
        ON y.aggr_id = k.aggr_id AND y.domain_id = k.domain_id
    JOIN category_summary AS c ON c.id = k.kernels_total_id
    JOIN category_summary AS m ON m.id = y.memory_time_id
)
SELECT
    'summary' AS report, m.section, m.ordinal AS row_number,
    m.aggr_id AS aggregation, d.name AS domain, m.name,
    m.count AS item_count, m.gpu_time AS gpu_time_ns, m.cpu_time AS cpu_time_ns,
    '{' || concat_ws(
        ',', '"GPU Time (ns)":' || m.gpu_time, '"CPU Time (ns)":' || m.cpu_time,
        CASE m.section WHEN 'All Ops' THEN '"# Ops":' ELSE '"# Kernels":' END || m.count
    ) || '}' AS fields
FROM measured AS m
LEFT JOIN domain AS d ON d.id = m.domain_id

-- @rows report_row
SELECT
    'detailed' AS report,
    row_number() OVER (PARTITION BY p.aggr_id, n.domain_id ORDER BY p.id) AS row_number,
    p.aggr_id AS aggregation, n.domain, n.name, n.op_key, n.name AS op_name, n.op_type,
    nullif(n.direction, '') AS direction, p.num_calls AS item_count,
    CAST(p.tc_eligible AS BOOLEAN) AS tc_eligible, CAST(p.using_tc AS BOOLEAN) AS uses_tc,
    t.gpu_sum AS gpu_time_ns, t.cpu_sum AS cpu_time_ns,
    '{' || concat_ws(
        ',', '"Op ID":' || json_text(n.op_key), '"Op Name":' || json_text(n.name),
        '"Direction":' || json_text(n.direction), '"Op Type":' || json_text(n.op_type),
        '"No. Calls":' || p.num_calls,
        '"TC Eligible":"' || yes_no(p.tc_eligible) || '"',
        '"Using TC":"' || yes_no(p.using_tc) || '"', t.text,
        '"Data Type":' || json_text(n.data_type),
        '"Stack Trace":' || json_text(n.stack_trace),
        '"kernel_calls":' || p.kernel_calls,
        '"is_bad_data_type":' || json_bool(p.is_bad_data_type)
    ) || '}' AS fields
FROM op_nodes AS p
LEFT JOIN op_node AS n ON n.id = p.read_only_ops_id
LEFT JOIN node_time AS t ON t.id = p.node_time_metrics_id

-- @rows report_row
SELECT
    'op_type' AS report,
    row_number() OVER (PARTITION BY o.aggr_id, o.domain_id ORDER BY o.id) AS row_number,
    o.aggr_id AS aggregation, d.name AS domain, y.string AS name, y.string AS op_type,
    o.num_calls AS item_count, t.gpu_sum AS gpu_time_ns, t.cpu_sum AS cpu_time_ns,
    '{' || concat_ws(
        ',', '"Op Type":' || json_text(y.string), '"# Ops":' || o.num_nodes,
        '"# Calls":' || o.num_calls, t.text
    ) || '}' AS fields
FROM op_type_metrics AS o
LEFT JOIN domain AS d ON d.id = o.domain_id
LEFT JOIN dictionary AS y ON y.id = o.op_node_type_id
LEFT JOIN node_time AS t ON t.id = o.op_type_metrics_id

-- @rows report_row
SELECT
    'group_op' AS report,
    row_number() OVER (PARTITION BY g.aggr_id, g.domain_id ORDER BY g.id) AS row_number,
    g.aggr_id AS aggregation, d.name AS domain, y.string AS name,
    g.num_op_instances AS item_count, t.gpu_sum AS gpu_time_ns,
    t.cpu_sum AS cpu_time_ns,
    '{' || concat_ws(
        ',', '"Name":' || json_text(y.string),
        '"Num Calls Aggregated":' || g.num_op_instances,
        '"Num TC Eligible Ops":' || g.num_supported_leaf_ops,
        '"Num Ops Using TC":' || g.num_tc_leaf_ops, t.text,
        '"row_type":' || CASE g.row_type WHEN 1 THEN '"group"' WHEN 2 THEN '"leaf"' END,
        '"level":' || g.level
    ) || '}' AS fields
FROM group_ops AS g
LEFT JOIN domain AS d ON d.id = g.domain_id
LEFT JOIN dictionary AS y ON y.id = g.group_op_full_name_id
LEFT JOIN node_time AS t ON t.id = g.group_op_time_metrics_id

-- @rows report_row
SELECT
    'kernel' AS report,
    row_number() OVER (PARTITION BY k.aggr_id, k.domain_id ORDER BY k.id) AS row_number,
    k.aggr_id AS aggregation, n.domain, y.string AS name, n.op_key, n.name AS op_name,
    n.op_type, nullif(n.direction, '') AS direction, g.count AS item_count,
    CAST(k.uses_tc AS BOOLEAN) AS uses_tc, g.sum AS gpu_time_ns,
    '{' || concat_ws(
        ',', '"Kernel Name":' || json_text(y.string), '"Op ID":' || json_text(n.op_key),
        '"Op Name":' || json_text(n.name), '"Direction":' || json_text(n.direction),
        '"Uses TC":"' || yes_no(k.uses_tc) || '"',
        '"Total GPU Time (ns)":' || g.sum, '"Avg GPU Time (ns)":' || g.avg,
        '"Min GPU Time (ns)":' || g.min, '"Max GPU Time (ns)":' || g.max,
        '"Total API Time (ns)":' || a.sum, '"Avg API Time (ns)":' || a.avg,
        '"Min API Time (ns)":' || a.min, '"Max API Time (ns)":' || a.max
    ) || '}' AS fields
FROM kernel_summaries AS k
LEFT JOIN op_node AS n ON n.id = k.read_only_ops_id
LEFT JOIN dictionary AS y ON y.id = k.kernel_name_id
LEFT JOIN metric AS g ON g.id = k.gpu_time_metric_id
LEFT JOIN metric AS a ON a.id = k.api_time_metric_id

-- @rows report_row
SELECT
    'device' AS report,
    row_number() OVER (PARTITION BY u.aggr_id, u.domain_id ORDER BY u.id) AS row_number,
    u.aggr_id AS aggregation, d.name AS domain,
    coalesce(CAST(g.device_id AS VARCHAR), CAST(u.gpu_info_id AS VARCHAR)) AS name,
    u.gpu_utilization AS value,
    '{' || concat_ws(
        ',', '"device_id":' || g.device_id, '"gpu_name":' || json_text(g.gpu_name),
        '"gpu_utilization_pct":' || u.gpu_utilization
    ) || '}' AS fields
FROM device_gpu_utilizations AS u
LEFT JOIN domain AS d ON d.id = u.domain_id
LEFT JOIN read_only_gpu_infos AS g ON g.id = u.gpu_info_id
