CREATE TABLE iteration (
    run_id       VARCHAR NOT NULL,
    ts_ns        BIGINT NOT NULL,
    dur_ns       BIGINT,
    iteration_id BIGINT NOT NULL,
    number       BIGINT,
    name         VARCHAR,
    source       VARCHAR NOT NULL,
    pid          BIGINT,
    device_id    INTEGER,
    rank         INTEGER,
    extra        JSON
);

COMMENT ON TABLE iteration IS
    'One iteration (training step) that the source itself states.';
COMMENT ON COLUMN iteration.run_id IS 'The run: run.run_id.';
COMMENT ON COLUMN iteration.ts_ns IS 'Start, ns since the run''s origin (run.source_origin_ns).';
COMMENT ON COLUMN iteration.dur_ns IS 'Duration, ns; NULL where the source has no end.';
COMMENT ON COLUMN iteration.iteration_id IS 'Id of the iteration, unique in the run.';
COMMENT ON COLUMN iteration.number IS 'Number that the source gives it.';
COMMENT ON COLUMN iteration.name IS 'Name.';
COMMENT ON COLUMN iteration.source IS 'profiler_step, tf_step, dlprof, session_run, ...';
COMMENT ON COLUMN iteration.pid IS 'Process.';
COMMENT ON COLUMN iteration.device_id IS
    'Device whose own step this is: it owns what ran there in it, and nothing of other devices. NULL: a step of the host, which owns what its process launched in it on any device.';
COMMENT ON COLUMN iteration.rank IS 'Rank.';
COMMENT ON COLUMN iteration.extra IS 'Source fields that no column holds.';
