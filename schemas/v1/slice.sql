CREATE TABLE slice (
    run_id    VARCHAR NOT NULL,
    ts_ns     BIGINT NOT NULL,
    dur_ns    BIGINT,
    slice_id  BIGINT NOT NULL,
    name      VARCHAR,
    category  VARCHAR,
    pid       BIGINT,
    tid       BIGINT,
    parent_id BIGINT,
    depth     INTEGER,
    truncated BOOLEAN NOT NULL,
    crossing  BOOLEAN NOT NULL,
    extra     JSON
);

COMMENT ON TABLE slice IS
    'Any other host slice: Python frames, generic trace events.';
COMMENT ON COLUMN slice.run_id IS 'The run: run.run_id.';
COMMENT ON COLUMN slice.ts_ns IS 'Start, ns since the run''s origin (run.source_origin_ns).';
COMMENT ON COLUMN slice.dur_ns IS 'Duration, ns; NULL where the source has no end.';
COMMENT ON COLUMN slice.slice_id IS 'Id of the slice, unique in the run.';
COMMENT ON COLUMN slice.name IS 'Name.';
COMMENT ON COLUMN slice.category IS 'Category.';
COMMENT ON COLUMN slice.pid IS 'Process.';
COMMENT ON COLUMN slice.tid IS 'Thread.';
COMMENT ON COLUMN slice.parent_id IS
    'Enclosing row of the same thread: annotation, op, slice or api_call id; NULL at the top.';
COMMENT ON COLUMN slice.depth IS 'Enclosing rows of its kind on the thread; 0 at the top.';
COMMENT ON COLUMN slice.truncated IS 'True where the capture ended before it did (dur_ns is NULL).';
COMMENT ON COLUMN slice.crossing IS
    'True where it overlaps a neighbour without nesting; parent_id is then the tightest range that holds it whole.';
COMMENT ON COLUMN slice.extra IS 'Source fields that no column holds.';
