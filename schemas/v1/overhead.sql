CREATE TABLE overhead (
    run_id         VARCHAR NOT NULL,
    ts_ns          BIGINT NOT NULL,
    dur_ns         BIGINT,
    kind           VARCHAR NOT NULL,
    pid            BIGINT,
    tid            BIGINT,
    correlation_id BIGINT,
    extra          JSON
);

COMMENT ON TABLE overhead IS
    'Time that the profiler itself took.';
COMMENT ON COLUMN overhead.run_id IS 'The run: run.run_id.';
COMMENT ON COLUMN overhead.ts_ns IS 'Start, ns since the run''s origin (run.source_origin_ns).';
COMMENT ON COLUMN overhead.dur_ns IS 'Duration, ns; NULL where the source has no end.';
COMMENT ON COLUMN overhead.kind IS 'What the profiler did, in its own words.';
COMMENT ON COLUMN overhead.pid IS 'Process.';
COMMENT ON COLUMN overhead.tid IS 'Thread.';
COMMENT ON COLUMN overhead.correlation_id IS 'Host call that it belongs to, per process.';
COMMENT ON COLUMN overhead.extra IS 'Source fields that no column holds.';
