CREATE TABLE memory_event (
    run_id                VARCHAR NOT NULL,
    ts_ns                 BIGINT NOT NULL,
    device_id             INTEGER,
    pid                   BIGINT,
    address               UBIGINT,
    bytes                 BIGINT,
    kind                  VARCHAR,
    name                  VARCHAR,
    total_allocated_bytes BIGINT,
    total_reserved_bytes  BIGINT,
    op_id                 BIGINT,
    correlation_id        BIGINT,
    extra                 JSON
);

COMMENT ON TABLE memory_event IS
    'One allocation or free.';
COMMENT ON COLUMN memory_event.run_id IS 'The run: run.run_id.';
COMMENT ON COLUMN memory_event.ts_ns IS 'Start, ns since the run''s origin (run.source_origin_ns).';
COMMENT ON COLUMN memory_event.device_id IS 'Device; NULL for host memory.';
COMMENT ON COLUMN memory_event.pid IS 'Process.';
COMMENT ON COLUMN memory_event.address IS 'Address.';
COMMENT ON COLUMN memory_event.bytes IS 'Bytes: positive allocates, negative frees.';
COMMENT ON COLUMN memory_event.kind IS 'Kind of memory; values as memcpy.src_memory.';
COMMENT ON COLUMN memory_event.name IS 'Allocator or function.';
COMMENT ON COLUMN memory_event.total_allocated_bytes IS 'Allocated after it, bytes.';
COMMENT ON COLUMN memory_event.total_reserved_bytes IS 'Reserved after it, bytes.';
COMMENT ON COLUMN memory_event.op_id IS 'Operation that caused it.';
COMMENT ON COLUMN memory_event.correlation_id IS 'Host call that caused it, per process.';
COMMENT ON COLUMN memory_event.extra IS 'Source fields that no column holds.';
