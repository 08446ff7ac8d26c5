CREATE TABLE async_slice (
    run_id    VARCHAR NOT NULL,
    ts_ns     BIGINT NOT NULL,
    dur_ns    BIGINT,
    name      VARCHAR,
    category  VARCHAR,
    id        VARCHAR,
    scope     VARCHAR,
    pid       BIGINT,
    tid       BIGINT,
    truncated BOOLEAN NOT NULL,
    extra     JSON
);

COMMENT ON TABLE async_slice IS
    'One asynchronous span, which may cross threads.';
COMMENT ON COLUMN async_slice.run_id IS 'The run: run.run_id.';
COMMENT ON COLUMN async_slice.ts_ns IS 'Start, ns since the run''s origin (run.source_origin_ns).';
COMMENT ON COLUMN async_slice.dur_ns IS 'Duration, ns; NULL where the source has no end.';
COMMENT ON COLUMN async_slice.name IS 'Name.';
COMMENT ON COLUMN async_slice.category IS 'Category; profiler for the profiler''s own marks, which are outside the capture window.';
COMMENT ON COLUMN async_slice.id IS 'Id that pairs its events.';
COMMENT ON COLUMN async_slice.scope IS 'Scope of that id.';
COMMENT ON COLUMN async_slice.pid IS 'Process.';
COMMENT ON COLUMN async_slice.tid IS 'Thread.';
COMMENT ON COLUMN async_slice.truncated IS 'True where no end was recorded.';
COMMENT ON COLUMN async_slice.extra IS 'Source fields that no column holds.';
