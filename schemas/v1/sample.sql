CREATE TABLE sample (
    run_id VARCHAR NOT NULL,
    ts_ns  BIGINT NOT NULL,
    pid    BIGINT,
    tid    BIGINT,
    cpu    INTEGER,
    stack  VARCHAR,
    extra  JSON
);

COMMENT ON TABLE sample IS
    'One CPU sample; only with --with-samples.';
COMMENT ON COLUMN sample.run_id IS 'The run: run.run_id.';
COMMENT ON COLUMN sample.ts_ns IS 'Start, ns since the run''s origin (run.source_origin_ns).';
COMMENT ON COLUMN sample.pid IS 'Process.';
COMMENT ON COLUMN sample.tid IS 'Thread.';
COMMENT ON COLUMN sample.cpu IS 'Processor.';
COMMENT ON COLUMN sample.stack IS 'Call stack, one frame a line, innermost first.';
COMMENT ON COLUMN sample.extra IS 'Source fields that no column holds.';
