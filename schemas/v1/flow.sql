CREATE TABLE flow (
    run_id     VARCHAR NOT NULL,
    kind       VARCHAR NOT NULL,
    id         VARCHAR,
    from_pid   BIGINT,
    from_tid   BIGINT,
    from_ts_ns BIGINT,
    from_table VARCHAR,
    from_id    BIGINT,
    to_pid     BIGINT,
    to_tid     BIGINT,
    to_ts_ns   BIGINT,
    to_table   VARCHAR,
    to_id      BIGINT,
    extra      JSON
);

COMMENT ON TABLE flow IS
    'One arrow between two events.';
COMMENT ON COLUMN flow.run_id IS 'The run: run.run_id.';
COMMENT ON COLUMN flow.kind IS 'What it means, in the source''s words.';
COMMENT ON COLUMN flow.id IS 'Id that pairs its ends.';
COMMENT ON COLUMN flow.from_pid IS 'Process that it leaves.';
COMMENT ON COLUMN flow.from_tid IS 'Thread that it leaves.';
COMMENT ON COLUMN flow.from_ts_ns IS 'Time at which it leaves, ns since the run''s origin.';
COMMENT ON COLUMN flow.from_table IS 'Table of the row that it leaves.';
COMMENT ON COLUMN flow.from_id IS 'Id of the row that it leaves.';
COMMENT ON COLUMN flow.to_pid IS 'Process that it reaches.';
COMMENT ON COLUMN flow.to_tid IS 'Thread that it reaches.';
COMMENT ON COLUMN flow.to_ts_ns IS 'Time at which it arrives, ns since the run''s origin.';
COMMENT ON COLUMN flow.to_table IS 'Table of the row that it reaches.';
COMMENT ON COLUMN flow.to_id IS 'Id of the row that it reaches.';
COMMENT ON COLUMN flow.extra IS 'Source fields that no column holds.';
