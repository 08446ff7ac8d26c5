CREATE TABLE sync (
    run_id         VARCHAR NOT NULL,
    ts_ns          BIGINT NOT NULL,
    dur_ns         BIGINT,
    sync_id        BIGINT NOT NULL,
    kind           VARCHAR NOT NULL,
    event_id       BIGINT,
    device_id      INTEGER,
    context_id     BIGINT,
    stream_id      BIGINT,
    pid            BIGINT,
    correlation_id BIGINT,
    api_call_id    BIGINT,
    extra          JSON
);

COMMENT ON TABLE sync IS
    'One synchronisation, or one record of a CUDA event.';
COMMENT ON COLUMN sync.run_id IS 'The run: run.run_id.';
COMMENT ON COLUMN sync.ts_ns IS 'Start, ns since the run''s origin (run.source_origin_ns).';
COMMENT ON COLUMN sync.dur_ns IS 'Duration, ns; NULL where the source has no end.';
COMMENT ON COLUMN sync.sync_id IS 'Id of the synchronisation, unique in the run.';
COMMENT ON COLUMN sync.kind IS
    'event_sync, stream_wait_event, stream_sync, context_sync, event_record or unknown.';
COMMENT ON COLUMN sync.event_id IS 'CUDA event.';
COMMENT ON COLUMN sync.device_id IS 'Device as the trace numbers it: device.device_id.';
COMMENT ON COLUMN sync.context_id IS 'CUDA or HIP context; with stream_id it names a stream.';
COMMENT ON COLUMN sync.stream_id IS 'Stream within the context.';
COMMENT ON COLUMN sync.pid IS 'Process.';
COMMENT ON COLUMN sync.correlation_id IS 'Number shared with the host call, per process.';
COMMENT ON COLUMN sync.api_call_id IS
    'The outermost host call that asked for it: api_call.api_call_id.';
COMMENT ON COLUMN sync.extra IS 'Source fields that no column holds.';
