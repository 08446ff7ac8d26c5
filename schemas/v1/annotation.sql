CREATE TABLE annotation (
    run_id        VARCHAR NOT NULL,
    ts_ns         BIGINT NOT NULL,
    dur_ns        BIGINT,
    annotation_id BIGINT NOT NULL,
    kind          VARCHAR NOT NULL,
    name          VARCHAR,
    domain        VARCHAR,
    category      VARCHAR,
    pid           BIGINT,
    tid           BIGINT,
    end_tid       BIGINT,
    parent_id     BIGINT,
    depth         INTEGER,
    payload       JSON,
    truncated     BOOLEAN NOT NULL,
    crossing      BOOLEAN NOT NULL,
    extra         JSON
);

COMMENT ON TABLE annotation IS
    'One host range or mark that the user or a framework drew: NVTX, record_function, name scopes, instants.';
COMMENT ON COLUMN annotation.run_id IS 'The run: run.run_id.';
COMMENT ON COLUMN annotation.ts_ns IS 'Start, ns since the run''s origin (run.source_origin_ns).';
COMMENT ON COLUMN annotation.dur_ns IS 'Duration, ns; NULL where the source has no end.';
COMMENT ON COLUMN annotation.annotation_id IS 'Id of the annotation, unique in the run.';
COMMENT ON COLUMN annotation.kind IS 'push_pop, start_end or mark.';
COMMENT ON COLUMN annotation.name IS 'Text.';
COMMENT ON COLUMN annotation.domain IS 'Domain; NULL where none is recorded.';
COMMENT ON COLUMN annotation.category IS 'Category; its number where it has no name.';
COMMENT ON COLUMN annotation.pid IS 'Process.';
COMMENT ON COLUMN annotation.tid IS 'Thread.';
COMMENT ON COLUMN annotation.end_tid IS 'Thread on which it ended, where that is stated.';
COMMENT ON COLUMN annotation.parent_id IS
    'Enclosing row of the same thread: annotation, op, slice or api_call id; NULL at the top.';
COMMENT ON COLUMN annotation.depth IS 'Enclosing rows of its kind on the thread; 0 at the top.';
COMMENT ON COLUMN annotation.payload IS 'Payload that the user attached.';
COMMENT ON COLUMN annotation.truncated IS
    'True where the capture ended before it did: dur_ns is NULL, or lasts until that end.';
COMMENT ON COLUMN annotation.crossing IS
    'True where it overlaps a neighbour without nesting; parent_id is then the tightest range that holds it whole.';
COMMENT ON COLUMN annotation.extra IS 'Source fields that no column holds.';
