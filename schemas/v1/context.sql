CREATE TABLE context (
    run_id            VARCHAR NOT NULL,
    kind              VARCHAR NOT NULL,
    device_id         INTEGER,
    context_id        BIGINT NOT NULL,
    stream_id         BIGINT,
    parent_context_id BIGINT,
    pid               BIGINT,
    name              VARCHAR,
    priority          INTEGER,
    flags             VARCHAR,
    extra             JSON
);

COMMENT ON TABLE context IS
    'One context, or one stream, of a device.';
COMMENT ON COLUMN context.run_id IS 'The run: run.run_id.';
COMMENT ON COLUMN context.kind IS 'context or stream.';
COMMENT ON COLUMN context.device_id IS 'Device; NULL where the source does not say it.';
COMMENT ON COLUMN context.context_id IS 'Context.';
COMMENT ON COLUMN context.stream_id IS 'Stream; NULL for a context.';
COMMENT ON COLUMN context.parent_context_id IS 'Context that a green context is a share of.';
COMMENT ON COLUMN context.pid IS 'Process.';
COMMENT ON COLUMN context.name IS 'Name that the user gave it.';
COMMENT ON COLUMN context.priority IS 'Priority of the stream; lower runs first in CUDA.';
COMMENT ON COLUMN context.flags IS
    'default, non_blocking, null (the context''s null stream) or green.';
COMMENT ON COLUMN context.extra IS 'Source fields that no column holds.';
