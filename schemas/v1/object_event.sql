CREATE TABLE object_event (
    run_id   VARCHAR NOT NULL,
    ts_ns    BIGINT NOT NULL,
    name     VARCHAR,
    id       VARCHAR,
    kind     VARCHAR NOT NULL,
    snapshot JSON,
    pid      BIGINT,
    tid      BIGINT,
    extra    JSON
);

COMMENT ON TABLE object_event IS
    'One object created, seen or deleted.';
COMMENT ON COLUMN object_event.run_id IS 'The run: run.run_id.';
COMMENT ON COLUMN object_event.ts_ns IS 'Start, ns since the run''s origin (run.source_origin_ns).';
COMMENT ON COLUMN object_event.name IS 'Type of the object.';
COMMENT ON COLUMN object_event.id IS 'Id of the object.';
COMMENT ON COLUMN object_event.kind IS 'create, snapshot or delete.';
COMMENT ON COLUMN object_event.snapshot IS 'State of the object.';
COMMENT ON COLUMN object_event.pid IS 'Process.';
COMMENT ON COLUMN object_event.tid IS 'Thread.';
COMMENT ON COLUMN object_event.extra IS 'Source fields that no column holds.';
