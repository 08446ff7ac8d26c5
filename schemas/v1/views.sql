-- Views over the tables of v1. They need the scalar macro kernel_class(name), which
-- the rules in queries/v1/rules/kernel_class.csv define.

CREATE VIEW gpu_op AS
SELECT
    run_id, ts_ns, dur_ns, kernel_id AS gpu_op_id, 'kernel' AS op_kind, name,
    short_name,
    CASE kernel_class(name)
        WHEN 'communication' THEN 'communication' ELSE 'compute'
    END AS activity,
    kernel_class(name) AS kernel_class,
    device_id, context_id, stream_id, pid, CAST(NULL AS BIGINT) AS bytes,
    correlation_id, api_call_id, launch_ts_ns, op_id, graph_node_id
FROM kernel
UNION ALL
SELECT
    run_id, ts_ns, dur_ns, memcpy_id, 'memcpy', 'memcpy ' || kind, 'memcpy ' || kind,
    'copy_' || lower(kind), NULL,
    device_id, context_id, stream_id, pid, bytes,
    correlation_id, api_call_id, launch_ts_ns, op_id, graph_node_id
FROM memcpy
UNION ALL
SELECT
    run_id, ts_ns, dur_ns, memset_id, 'memset', 'memset', 'memset', 'memset', NULL,
    device_id, context_id, stream_id, pid, bytes,
    correlation_id, api_call_id, launch_ts_ns, op_id, graph_node_id
FROM memset
UNION ALL
SELECT
    run_id, ts_ns, dur_ns, graph_launch_id, 'graph', 'CUDA graph ' || graph_exec_id,
    'CUDA graph', 'graph', NULL,
    device_id, context_id, stream_id, pid, NULL,
    correlation_id, api_call_id, launch_ts_ns, op_id, NULL
FROM graph_launch;

COMMENT ON VIEW gpu_op IS
    'Everything that occupied a device: kernels, copies, fills, whole graph launches.';
COMMENT ON COLUMN gpu_op.run_id IS 'The run: run.run_id.';
COMMENT ON COLUMN gpu_op.ts_ns IS 'Start, ns since the run''s origin.';
COMMENT ON COLUMN gpu_op.dur_ns IS 'Duration, ns.';
COMMENT ON COLUMN gpu_op.gpu_op_id IS
    'kernel_id, memcpy_id, memset_id or graph_launch_id: unique in the run.';
COMMENT ON COLUMN gpu_op.op_kind IS 'kernel, memcpy, memset or graph.';
COMMENT ON COLUMN gpu_op.name IS 'Demangled kernel name; memcpy and its direction; memset.';
COMMENT ON COLUMN gpu_op.short_name IS 'Kernel name without types; else as name.';
COMMENT ON COLUMN gpu_op.activity IS
    'compute, communication, copy_h2d, copy_d2h, copy_d2d, ..., memset or graph (a graph traced as a whole may hold any of them).';
COMMENT ON COLUMN gpu_op.kernel_class IS
    'gemm, convolution, communication, ..., unknown, by the rules; NULL for what is no kernel.';
COMMENT ON COLUMN gpu_op.device_id IS 'Device: device.device_id.';
COMMENT ON COLUMN gpu_op.context_id IS 'Context; with stream_id it names a stream.';
COMMENT ON COLUMN gpu_op.stream_id IS 'Stream within the context.';
COMMENT ON COLUMN gpu_op.pid IS 'Process that launched it.';
COMMENT ON COLUMN gpu_op.bytes IS 'Bytes copied or filled; NULL for kernels.';
COMMENT ON COLUMN gpu_op.correlation_id IS 'Number shared with the host call, per process.';
COMMENT ON COLUMN gpu_op.api_call_id IS 'Host call that launched it; NULL for an orphan.';
COMMENT ON COLUMN gpu_op.launch_ts_ns IS 'Start of that call, ns since the run''s origin.';
COMMENT ON COLUMN gpu_op.op_id IS 'Framework operation that launched it.';
COMMENT ON COLUMN gpu_op.graph_node_id IS 'Node of a CUDA graph.';

CREATE VIEW stream AS
WITH used AS (
    SELECT
        run_id, pid, device_id, context_id, stream_id,
        min(ts_ns) AS first_ts_ns, max(ts_ns + dur_ns) AS last_end_ns,
        count(*) AS gpu_op_count
    FROM gpu_op
    GROUP BY run_id, pid, device_id, context_id, stream_id
),
declared AS (
    SELECT
        run_id, pid, context_id, stream_id,
        any_value(name) AS name, min(priority) AS priority, min(flags) AS flags
    FROM context
    WHERE kind = 'stream'
    GROUP BY run_id, pid, context_id, stream_id
)
SELECT
    used.run_id, used.device_id, used.pid, used.context_id, used.stream_id,
    declared.name, declared.priority, declared.flags,
    used.gpu_op_count, used.first_ts_ns, used.last_end_ns
FROM used
LEFT JOIN declared
    ON used.run_id = declared.run_id
    AND used.pid IS NOT DISTINCT FROM declared.pid
    AND used.context_id IS NOT DISTINCT FROM declared.context_id
    AND used.stream_id = declared.stream_id;

COMMENT ON VIEW stream IS 'One stream that ran something: process, context and stream.';
COMMENT ON COLUMN stream.run_id IS 'The run: run.run_id.';
COMMENT ON COLUMN stream.device_id IS 'Device: device.device_id.';
COMMENT ON COLUMN stream.pid IS 'Process.';
COMMENT ON COLUMN stream.context_id IS 'Context.';
COMMENT ON COLUMN stream.stream_id IS 'Stream within the context.';
COMMENT ON COLUMN stream.name IS 'Name that the user gave it.';
COMMENT ON COLUMN stream.priority IS 'Priority; lower runs first in CUDA.';
COMMENT ON COLUMN stream.flags IS 'default, non_blocking or null.';
COMMENT ON COLUMN stream.gpu_op_count IS 'Operations that ran on it.';
COMMENT ON COLUMN stream.first_ts_ns IS 'Start of the first, ns since the run''s origin.';
COMMENT ON COLUMN stream.last_end_ns IS 'End of the last, ns since the run''s origin.';

-- Sample logs beside the chosen runs. A session defines these four over the logs that
-- are attached to its runs, chosen or not; here they see what the tables hold.
CREATE VIEW attached_run AS
SELECT run_id, attached_to, clock_offset_ns, source_origin_ns, origin_unix_ns, clock
FROM run
WHERE attached_to IS NOT NULL;

COMMENT ON VIEW attached_run IS 'One sample log that lies beside a chosen trace.';
COMMENT ON COLUMN attached_run.run_id IS 'The log: run.run_id.';
COMMENT ON COLUMN attached_run.attached_to IS 'The trace: its run_id.';
COMMENT ON COLUMN attached_run.clock_offset_ns IS 'As in run.';
COMMENT ON COLUMN attached_run.source_origin_ns IS 'As in run.';
COMMENT ON COLUMN attached_run.origin_unix_ns IS 'As in run.';
COMMENT ON COLUMN attached_run.clock IS 'As in run.';

CREATE VIEW attached_counter AS
SELECT run_id, ts_ns, device_id, pid, name, value, unit
FROM counter
WHERE run_id IN (SELECT run_id FROM attached_run);

COMMENT ON VIEW attached_counter IS 'One sample of an attached log.';
COMMENT ON COLUMN attached_counter.run_id IS 'The log.';
COMMENT ON COLUMN attached_counter.ts_ns IS 'Time, ns since the origin of the log.';
COMMENT ON COLUMN attached_counter.device_id IS 'Device as the log numbers it.';
COMMENT ON COLUMN attached_counter.pid IS 'Process, where the counter is a process''s.';
COMMENT ON COLUMN attached_counter.name IS 'Counter.';
COMMENT ON COLUMN attached_counter.value IS 'Value in the unit; NULL where the log has none.';
COMMENT ON COLUMN attached_counter.unit IS 'Unit.';

CREATE VIEW attached_device AS
SELECT run_id, device_id, kind, name, uuid, bus, extra
FROM device
WHERE run_id IN (SELECT run_id FROM attached_run);

COMMENT ON VIEW attached_device IS 'One device of an attached log.';
COMMENT ON COLUMN attached_device.run_id IS 'The log.';
COMMENT ON COLUMN attached_device.device_id IS 'Number of the device in the log.';
COMMENT ON COLUMN attached_device.kind IS 'gpu or other.';
COMMENT ON COLUMN attached_device.name IS 'Product name.';
COMMENT ON COLUMN attached_device.uuid IS 'UUID, as the driver gives it.';
COMMENT ON COLUMN attached_device.bus IS 'PCI address.';
COMMENT ON COLUMN attached_device.extra IS 'Source fields that no column holds.';

CREATE VIEW attached_topology AS
SELECT run_id, from_device, to_device, kind
FROM topology
WHERE run_id IN (SELECT run_id FROM attached_run);

COMMENT ON VIEW attached_topology IS 'One link of an attached matrix of links.';
COMMENT ON COLUMN attached_topology.run_id IS 'The log.';
COMMENT ON COLUMN attached_topology.from_device IS 'Device or NIC.';
COMMENT ON COLUMN attached_topology.to_device IS 'Device or NIC.';
COMMENT ON COLUMN attached_topology.kind IS 'As in topology.';
