CREATE TABLE graph_launch (
    run_id           VARCHAR NOT NULL,
    ts_ns            BIGINT NOT NULL,
    dur_ns           BIGINT,
    graph_launch_id  BIGINT NOT NULL,
    graph_id         BIGINT,
    graph_exec_id    BIGINT,
    device_id        INTEGER,
    context_id       BIGINT,
    stream_id        BIGINT,
    green_context_id BIGINT,
    pid              BIGINT,
    correlation_id   BIGINT,
    api_call_id      BIGINT,
    launch_ts_ns     BIGINT,
    op_id            BIGINT,
    extra            JSON
);

COMMENT ON TABLE graph_launch IS
    'One launch of a CUDA graph that was traced as a whole: its kernels have no rows.';
COMMENT ON COLUMN graph_launch.run_id IS 'The run: run.run_id.';
COMMENT ON COLUMN graph_launch.ts_ns IS 'Start, ns since the run''s origin (run.source_origin_ns).';
COMMENT ON COLUMN graph_launch.dur_ns IS 'Duration, ns; NULL where the source has no end.';
COMMENT ON COLUMN graph_launch.graph_launch_id IS 'Id of the launch, unique in the run.';
COMMENT ON COLUMN graph_launch.graph_id IS 'Graph.';
COMMENT ON COLUMN graph_launch.graph_exec_id IS 'Executable graph.';
COMMENT ON COLUMN graph_launch.device_id IS 'Device as the trace numbers it: device.device_id.';
COMMENT ON COLUMN graph_launch.context_id IS
    'CUDA or HIP context; with stream_id it names a stream.';
COMMENT ON COLUMN graph_launch.stream_id IS 'Stream within the context.';
COMMENT ON COLUMN graph_launch.green_context_id IS 'Green context.';
COMMENT ON COLUMN graph_launch.pid IS 'Process that launched it.';
COMMENT ON COLUMN graph_launch.correlation_id IS
    'Number that the source gives to launch and execution, per process; NULL for none.';
COMMENT ON COLUMN graph_launch.api_call_id IS
    'The outermost host call that launched it: api_call.api_call_id; NULL for an orphan.';
COMMENT ON COLUMN graph_launch.launch_ts_ns IS
    'Start of that call, ns since the run''s origin; NULL for an orphan.';
COMMENT ON COLUMN graph_launch.op_id IS 'The framework operation that launched it: op.op_id.';
COMMENT ON COLUMN graph_launch.extra IS 'Source fields that no column holds.';
