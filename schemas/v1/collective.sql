CREATE TABLE collective (
    run_id            VARCHAR NOT NULL,
    ts_ns             BIGINT NOT NULL,
    dur_ns            BIGINT,
    kernel_id         BIGINT,
    op_id             BIGINT,
    name              VARCHAR,
    in_elements       BIGINT,
    out_elements      BIGINT,
    in_splits         JSON,
    out_splits        JSON,
    bytes             BIGINT,
    dtype             VARCHAR,
    group_name        VARCHAR,
    group_description VARCHAR,
    group_ranks       JSON,
    group_size        INTEGER,
    rank              INTEGER,
    extra             JSON
);

COMMENT ON TABLE collective IS
    'One communication operation.';
COMMENT ON COLUMN collective.run_id IS 'The run: run.run_id.';
COMMENT ON COLUMN collective.ts_ns IS 'Start, ns since the run''s origin (run.source_origin_ns).';
COMMENT ON COLUMN collective.dur_ns IS 'Duration, ns; NULL where the source has no end.';
COMMENT ON COLUMN collective.kernel_id IS 'Its kernel: kernel.kernel_id.';
COMMENT ON COLUMN collective.op_id IS 'Its operation: op.op_id.';
COMMENT ON COLUMN collective.name IS
    'all_reduce, all_gather, reduce_scatter, broadcast, send, recv, ...';
COMMENT ON COLUMN collective.in_elements IS 'Elements sent in.';
COMMENT ON COLUMN collective.out_elements IS 'Elements received.';
COMMENT ON COLUMN collective.in_splits IS 'Split sizes of the input.';
COMMENT ON COLUMN collective.out_splits IS 'Split sizes of the output.';
COMMENT ON COLUMN collective.bytes IS 'Bytes of one rank''s payload.';
COMMENT ON COLUMN collective.dtype IS 'Element type.';
COMMENT ON COLUMN collective.group_name IS 'Process group.';
COMMENT ON COLUMN collective.group_description IS 'What the group is for.';
COMMENT ON COLUMN collective.group_ranks IS 'Ranks of the group.';
COMMENT ON COLUMN collective.group_size IS 'Ranks in the group.';
COMMENT ON COLUMN collective.rank IS 'This rank.';
COMMENT ON COLUMN collective.extra IS 'Source fields that no column holds.';
