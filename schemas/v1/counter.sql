CREATE TABLE counter (
    run_id      VARCHAR NOT NULL,
    ts_ns       BIGINT NOT NULL,
    device_id   INTEGER,
    pid         BIGINT,
    name        VARCHAR NOT NULL,
    value       DOUBLE,
    unit        VARCHAR,
    null_reason VARCHAR,
    extra       JSON
);

COMMENT ON TABLE counter IS
    'One sample of a counter.';
COMMENT ON COLUMN counter.run_id IS 'The run: run.run_id.';
COMMENT ON COLUMN counter.ts_ns IS 'Start, ns since the run''s origin (run.source_origin_ns).';
COMMENT ON COLUMN counter.device_id IS 'Device; NULL for the host or none.';
COMMENT ON COLUMN counter.pid IS 'Process, where the counter is a process''s.';
COMMENT ON COLUMN counter.name IS 'Counter.';
COMMENT ON COLUMN counter.value IS 'Value in the unit; NULL where the source has none.';
COMMENT ON COLUMN counter.unit IS 'Unit; pct means per cent of peak.';
COMMENT ON COLUMN counter.null_reason IS 'Why value is NULL: not_supported, unknown, ...';
COMMENT ON COLUMN counter.extra IS 'Source fields that no column holds.';
