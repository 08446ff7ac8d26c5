CREATE TABLE op (
    run_id          VARCHAR NOT NULL,
    ts_ns           BIGINT NOT NULL,
    dur_ns          BIGINT,
    op_id           BIGINT NOT NULL,
    name            VARCHAR,
    op_type         VARCHAR,
    placement       VARCHAR,
    pid             BIGINT,
    tid             BIGINT,
    parent_id       BIGINT,
    depth           INTEGER,
    input_shapes    JSON,
    input_strides   JSON,
    input_types     JSON,
    concrete_inputs JSON,
    sequence_number BIGINT,
    forward_tid     BIGINT,
    forward_op_id   BIGINT,
    is_backward     BOOLEAN,
    stack           VARCHAR,
    module          VARCHAR,
    flops           BIGINT,
    truncated       BOOLEAN NOT NULL,
    crossing        BOOLEAN NOT NULL,
    extra           JSON
);

COMMENT ON TABLE op IS
    'One operation of a framework.';
COMMENT ON COLUMN op.run_id IS 'The run: run.run_id.';
COMMENT ON COLUMN op.ts_ns IS 'Start, ns since the run''s origin (run.source_origin_ns).';
COMMENT ON COLUMN op.dur_ns IS 'Duration, ns; NULL where the source has no end.';
COMMENT ON COLUMN op.op_id IS 'Id of the operation, unique in the run.';
COMMENT ON COLUMN op.name IS 'Name.';
COMMENT ON COLUMN op.op_type IS 'Type, where it differs from the name.';
COMMENT ON COLUMN op.placement IS 'host or device.';
COMMENT ON COLUMN op.pid IS 'Process.';
COMMENT ON COLUMN op.tid IS 'Thread.';
COMMENT ON COLUMN op.parent_id IS
    'Enclosing row of the same thread: annotation, op, slice or api_call id; NULL at the top.';
COMMENT ON COLUMN op.depth IS 'Enclosing rows of its kind on the thread; 0 at the top.';
COMMENT ON COLUMN op.input_shapes IS 'Shapes of the inputs.';
COMMENT ON COLUMN op.input_strides IS 'Strides of the inputs.';
COMMENT ON COLUMN op.input_types IS 'Types of the inputs.';
COMMENT ON COLUMN op.concrete_inputs IS 'Values of scalar inputs.';
COMMENT ON COLUMN op.sequence_number IS 'Autograd sequence number: pairs forward and backward.';
COMMENT ON COLUMN op.forward_tid IS 'Thread of the forward operation.';
COMMENT ON COLUMN op.forward_op_id IS 'The forward operation, for a backward one.';
COMMENT ON COLUMN op.is_backward IS 'True for the backward pass; NULL where unknown.';
COMMENT ON COLUMN op.stack IS 'Call stack, one frame a line.';
COMMENT ON COLUMN op.module IS 'Module hierarchy.';
COMMENT ON COLUMN op.flops IS 'Floating-point operations, as the source states them.';
COMMENT ON COLUMN op.truncated IS 'True where the capture ended before it did (dur_ns is NULL).';
COMMENT ON COLUMN op.crossing IS
    'True where it overlaps a neighbour without nesting; parent_id is then the tightest range that holds it whole.';
COMMENT ON COLUMN op.extra IS 'Source fields that no column holds.';
