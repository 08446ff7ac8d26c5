CREATE TABLE memset (
    run_id           VARCHAR NOT NULL,
    ts_ns            BIGINT NOT NULL,
    dur_ns           BIGINT,
    memset_id        BIGINT NOT NULL,
    device_id        INTEGER,
    context_id       BIGINT,
    stream_id        BIGINT,
    green_context_id BIGINT,
    value            BIGINT,
    bytes            BIGINT,
    memory_kind      VARCHAR,
    pid              BIGINT,
    correlation_id   BIGINT,
    api_call_id      BIGINT,
    launch_ts_ns     BIGINT,
    op_id            BIGINT,
    graph_node_id    BIGINT,
    extra            JSON
);

COMMENT ON TABLE memset IS
    'One fill of device memory.';
COMMENT ON COLUMN memset.run_id IS 'The run: run.run_id.';
COMMENT ON COLUMN memset.ts_ns IS 'Start, ns since the run''s origin (run.source_origin_ns).';
COMMENT ON COLUMN memset.dur_ns IS 'Duration, ns; NULL where the source has no end.';
COMMENT ON COLUMN memset.memset_id IS 'Id of the fill, unique in the run.';
COMMENT ON COLUMN memset.device_id IS 'Device as the trace numbers it: device.device_id.';
COMMENT ON COLUMN memset.context_id IS 'CUDA or HIP context; with stream_id it names a stream.';
COMMENT ON COLUMN memset.stream_id IS 'Stream within the context.';
COMMENT ON COLUMN memset.green_context_id IS 'Green context.';
COMMENT ON COLUMN memset.value IS 'Value written.';
COMMENT ON COLUMN memset.bytes IS 'Bytes written.';
COMMENT ON COLUMN memset.memory_kind IS 'Memory filled; values as memcpy.src_memory.';
COMMENT ON COLUMN memset.pid IS 'Process that launched it.';
COMMENT ON COLUMN memset.correlation_id IS
    'Number that the source gives to launch and execution, per process; NULL for none.';
COMMENT ON COLUMN memset.api_call_id IS
    'The outermost host call that launched it: api_call.api_call_id; NULL for an orphan.';
COMMENT ON COLUMN memset.launch_ts_ns IS
    'Start of that call, ns since the run''s origin; NULL for an orphan.';
COMMENT ON COLUMN memset.op_id IS 'The framework operation that launched it: op.op_id.';
COMMENT ON COLUMN memset.graph_node_id IS 'Node of the CUDA graph that it ran in.';
COMMENT ON COLUMN memset.extra IS 'Source fields that no column holds.';
