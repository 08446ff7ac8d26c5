-- What the importer reads of a DLProf database, by table and column name. A table or
-- column that a version lacks is empty or NULL. All strings are ids of `dictionary`;
-- times are ns since the profile's start.

CREATE TABLE dictionary (id BIGINT, string VARCHAR);
CREATE TABLE read_only_system_config (
    row_id BIGINT, num_gpus VARCHAR, cpu_model VARCHAR, driver_version VARCHAR,
    framework VARCHAR, cuda_version VARCHAR, cudnn_version VARCHAR,
    nsys_version VARCHAR, dlprof_version VARCHAR, dlprof_build VARCHAR,
    profile_name VARCHAR, mode_string VARCHAR, original_command VARCHAR
);
CREATE TABLE read_only_model_config (
    row_id BIGINT, num_workers BIGINT, pin_memory BIGINT,
    cudnn_benchmark_disabled BIGINT, detect_anomaly BIGINT, gradcheck BIGINT,
    gradgradcheck BIGINT, autograd_profile BIGINT, autograd_set_detect_anomaly BIGINT,
    emit_nvtx BIGINT, amp_enabled BIGINT
);
CREATE TABLE db_version (
    row_id BIGINT, current_version VARCHAR, original_version VARCHAR
);
CREATE TABLE read_only_gpu_infos (
    id BIGINT, device_id INTEGER, gpu_name VARCHAR, compute_capability_major INTEGER,
    compute_capability_minor INTEGER, sm_count INTEGER
);
CREATE TABLE gpu_memories (id BIGINT, total BIGINT, used BIGINT);
CREATE TABLE read_only_domains (id BIGINT, domain_name_id BIGINT);
CREATE TABLE read_only_grid_block (id BIGINT, x BIGINT, y BIGINT, z BIGINT);
CREATE TABLE read_only_ops (
    id BIGINT, domain_id BIGINT, op_id VARCHAR, op_name VARCHAR, op_type_id BIGINT,
    device_id BIGINT, tc_support_status INTEGER, data_type_id BIGINT,
    data_format_id BIGINT, output_format_id BIGINT, parameters_format_id BIGINT,
    direction_id BIGINT, stack_trace VARCHAR
);
CREATE TABLE read_only_op_instances (
    id BIGINT, read_only_ops_id BIGINT, cpu_start BIGINT, cpu_stop BIGINT,
    process_id BIGINT, thread_id BIGINT, input_names_id BIGINT, input_shapes_id BIGINT,
    output_names_id BIGINT, output_shapes_id BIGINT, parameters_id BIGINT
);
CREATE TABLE read_only_kernels (
    id BIGINT, read_only_ops_id BIGINT, op_instance BIGINT, name_id BIGINT,
    long_name_id BIGINT, uses_tc BIGINT, api_start BIGINT, api_stop BIGINT,
    gpu_start BIGINT, gpu_stop BIGINT, grid_id BIGINT, block_id BIGINT,
    device_id INTEGER, process_id BIGINT, thread_id BIGINT
);
CREATE TABLE read_only_memcpys (
    id BIGINT, read_only_ops_id BIGINT, op_instance BIGINT, name_id BIGINT,
    api_start BIGINT, api_stop BIGINT, gpu_start BIGINT, gpu_stop BIGINT,
    num_bytes BIGINT, copy_kind INTEGER, device_id INTEGER, process_id BIGINT,
    thread_id BIGINT
);
CREATE TABLE read_only_memsets (
    id BIGINT, read_only_ops_id BIGINT, op_instance BIGINT, name_id BIGINT,
    api_start BIGINT, api_stop BIGINT, gpu_start BIGINT, gpu_stop BIGINT,
    num_bytes BIGINT, device_id INTEGER, process_id BIGINT, thread_id BIGINT
);
CREATE TABLE read_only_cuda_syncs (
    id BIGINT, read_only_ops_id BIGINT, op_instance BIGINT, name_id BIGINT,
    api_start BIGINT, api_stop BIGINT, gpu_start BIGINT, gpu_stop BIGINT,
    sync_type INTEGER, event_id BIGINT, device_id INTEGER, process_id BIGINT,
    thread_id BIGINT
);
CREATE TABLE read_only_cuda_calls (
    id BIGINT, read_only_ops_id BIGINT, op_instance BIGINT, name_id BIGINT,
    api_start BIGINT, api_stop BIGINT, process_id BIGINT, thread_id BIGINT
);
CREATE TABLE aggregations (
    id BIGINT, server_host_name VARCHAR, start_timestamp VARCHAR
);
CREATE TABLE iteration_key (aggr_id BIGINT, key_node_id BIGINT);
CREATE TABLE iteration_list (
    id BIGINT, aggr_id BIGINT, iter_value BIGINT, start_time BIGINT, stop_time BIGINT
);
CREATE TABLE iteration_aggregation_list (
    id BIGINT, aggr_id BIGINT, iter_value BIGINT, gpu_utilization DOUBLE,
    tc_duration BIGINT, non_tc_duration BIGINT, memory_duration BIGINT,
    dataloader_duration BIGINT, io_duration BIGINT, cpu_duration BIGINT,
    other_duration BIGINT
);
CREATE TABLE model_summary (
    id BIGINT, aggr_id BIGINT, domain_id BIGINT, wall_time BIGINT,
    nodes_total_id BIGINT, nodes_tc_eligible_id BIGINT, nodes_using_tc_id BIGINT,
    nodes_other_id BIGINT, gpu_utilization DOUBLE, tc_utilization DOUBLE,
    tc_duration_pct DOUBLE, non_tc_duration_pct DOUBLE, memory_duration_pct DOUBLE,
    dataloader_duration_pct DOUBLE, io_duration_pct DOUBLE, cpu_duration_pct DOUBLE,
    other_duration_pct DOUBLE, avg_iteration_time DOUBLE,
    iteration_time_std_dev DOUBLE, iter_total BIGINT, iter_aggregated BIGINT,
    iter_start BIGINT, iter_stop BIGINT, key_node_id BIGINT
);
CREATE TABLE category_summary (
    id BIGINT, cpu_time BIGINT, gpu_time BIGINT, count BIGINT
);
CREATE TABLE kernel_summary_metrics (
    aggr_id BIGINT, domain_id BIGINT, kernels_total_id BIGINT,
    kernels_using_tc_id BIGINT, kernels_non_tc_id BIGINT
);
CREATE TABLE memory_summary_metrics (
    aggr_id BIGINT, domain_id BIGINT, memory_time_id BIGINT
);
CREATE TABLE metric (
    id BIGINT, count BIGINT, max BIGINT, min BIGINT, sum BIGINT, avg DOUBLE
);
CREATE TABLE node_time_metrics (
    id BIGINT, cpu_time_metric_id BIGINT, gpu_time_metric_id BIGINT,
    cpu_overhead_time_metric_id BIGINT, gpu_idle_time_metric_id BIGINT
);
CREATE TABLE op_nodes (
    id BIGINT, aggr_id BIGINT, read_only_ops_id BIGINT, node_time_metrics_id BIGINT,
    num_calls BIGINT, kernel_calls BIGINT, tc_eligible BIGINT, using_tc BIGINT,
    is_bad_data_type BIGINT
);
CREATE TABLE op_type_metrics (
    id BIGINT, aggr_id BIGINT, domain_id BIGINT, op_node_type_id BIGINT,
    op_type_metrics_id BIGINT, num_nodes BIGINT, num_calls BIGINT
);
CREATE TABLE group_ops (
    id BIGINT, aggr_id BIGINT, domain_id BIGINT, row_type BIGINT,
    group_op_full_name_id BIGINT, level BIGINT, num_op_instances BIGINT,
    num_supported_leaf_ops BIGINT, num_tc_leaf_ops BIGINT,
    group_op_time_metrics_id BIGINT
);
CREATE TABLE kernel_summaries (
    id BIGINT, aggr_id BIGINT, domain_id BIGINT, read_only_ops_id BIGINT,
    kernel_name_id BIGINT, api_time_metric_id BIGINT, gpu_time_metric_id BIGINT,
    uses_tc BIGINT
);
CREATE TABLE device_gpu_utilizations (
    id BIGINT, aggr_id BIGINT, domain_id BIGINT, gpu_info_id BIGINT,
    gpu_utilization DOUBLE
);
CREATE TABLE expert_systems_feedback (
    id BIGINT, aggr_id BIGINT, exp_sys_id VARCHAR, problem VARCHAR,
    recommendation VARCHAR, javascript_function VARCHAR, javascript_args VARCHAR
);
