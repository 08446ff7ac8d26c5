CREATE TABLE memcpy (
    run_id           VARCHAR NOT NULL,
    ts_ns            BIGINT NOT NULL,
    dur_ns           BIGINT,
    memcpy_id        BIGINT NOT NULL,
    device_id        INTEGER,
    context_id       BIGINT,
    stream_id        BIGINT,
    green_context_id BIGINT,
    kind             VARCHAR NOT NULL,
    bytes            BIGINT,
    src_memory       VARCHAR,
    dst_memory       VARCHAR,
    src_device_id    INTEGER,
    dst_device_id    INTEGER,
    copy_count       BIGINT,
    pid              BIGINT,
    correlation_id   BIGINT,
    api_call_id      BIGINT,
    launch_ts_ns     BIGINT,
    op_id            BIGINT,
    graph_node_id    BIGINT,
    extra            JSON
);

COMMENT ON TABLE memcpy IS
    'One memory copy on a device.';
COMMENT ON COLUMN memcpy.run_id IS 'The run: run.run_id.';
COMMENT ON COLUMN memcpy.ts_ns IS 'Start, ns since the run''s origin (run.source_origin_ns).';
COMMENT ON COLUMN memcpy.dur_ns IS 'Duration, ns; NULL where the source has no end.';
COMMENT ON COLUMN memcpy.memcpy_id IS 'Id of the copy, unique in the run.';
COMMENT ON COLUMN memcpy.device_id IS 'Device as the trace numbers it: device.device_id.';
COMMENT ON COLUMN memcpy.context_id IS 'CUDA or HIP context; with stream_id it names a stream.';
COMMENT ON COLUMN memcpy.stream_id IS 'Stream within the context.';
COMMENT ON COLUMN memcpy.green_context_id IS 'Green context.';
COMMENT ON COLUMN memcpy.kind IS
    'Direction: H2D, D2H, D2D, P2P, H2H, H2A, A2H, A2A, A2D, D2A, UVM_H2D, UVM_D2H, UVM_D2D or unknown (A: array).';
COMMENT ON COLUMN memcpy.bytes IS 'Bytes copied.';
COMMENT ON COLUMN memcpy.src_memory IS
    'Memory copied from: pageable, pinned, device, array, managed, device_static, managed_static, unknown.';
COMMENT ON COLUMN memcpy.dst_memory IS 'Memory copied to; values as src_memory.';
COMMENT ON COLUMN memcpy.src_device_id IS 'Device copied from, where the source says it.';
COMMENT ON COLUMN memcpy.dst_device_id IS 'Device copied to, where the source says it.';
COMMENT ON COLUMN memcpy.copy_count IS
    'Copies that this row stands for, where the source batches them.';
COMMENT ON COLUMN memcpy.pid IS 'Process that launched it.';
COMMENT ON COLUMN memcpy.correlation_id IS
    'Number that the source gives to launch and execution, per process; NULL for none.';
COMMENT ON COLUMN memcpy.api_call_id IS
    'The outermost host call that launched it: api_call.api_call_id; NULL for an orphan.';
COMMENT ON COLUMN memcpy.launch_ts_ns IS
    'Start of that call, ns since the run''s origin; NULL for an orphan.';
COMMENT ON COLUMN memcpy.op_id IS 'The framework operation that launched it: op.op_id.';
COMMENT ON COLUMN memcpy.graph_node_id IS 'Node of the CUDA graph that it ran in.';
COMMENT ON COLUMN memcpy.extra IS 'Source fields that no column holds.';
