CREATE TABLE page_fault (
    run_id    VARCHAR NOT NULL,
    ts_ns     BIGINT NOT NULL,
    dur_ns    BIGINT,
    device_id INTEGER,
    pid       BIGINT,
    address   UBIGINT,
    pages     BIGINT,
    access    VARCHAR,
    extra     JSON
);

COMMENT ON TABLE page_fault IS
    'One page fault of unified memory.';
COMMENT ON COLUMN page_fault.run_id IS 'The run: run.run_id.';
COMMENT ON COLUMN page_fault.ts_ns IS 'Start, ns since the run''s origin (run.source_origin_ns).';
COMMENT ON COLUMN page_fault.dur_ns IS 'Duration, ns; NULL where the source has no end.';
COMMENT ON COLUMN page_fault.device_id IS 'Device that faulted; NULL for the host.';
COMMENT ON COLUMN page_fault.pid IS 'Process.';
COMMENT ON COLUMN page_fault.address IS 'Faulting address.';
COMMENT ON COLUMN page_fault.pages IS 'Faults in this row.';
COMMENT ON COLUMN page_fault.access IS 'read, write, atomic, prefetch or unknown.';
COMMENT ON COLUMN page_fault.extra IS 'Source fields that no column holds.';
