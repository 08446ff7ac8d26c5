CREATE TABLE run (
    run_id                VARCHAR NOT NULL,
    label                 VARCHAR,
    source_uri            VARCHAR,
    source_sha256         VARCHAR,
    source_bytes          BIGINT,
    format                VARCHAR,
    importer              VARCHAR,
    importer_version      INTEGER,
    tool                  VARCHAR,
    tool_version          VARCHAR,
    source_schema_version VARCHAR,
    schema_version        VARCHAR,
    source_origin_ns      BIGINT,
    origin_unix_ns        BIGINT,
    clock                 VARCHAR,
    first_ts_ns           BIGINT,
    span_ns               BIGINT,
    host                  VARCHAR,
    job                   VARCHAR,
    attached_to           VARCHAR,
    clock_offset_ns       BIGINT,
    rank                  INTEGER,
    world_size            INTEGER,
    framework             VARCHAR,
    tags                  MAP(VARCHAR, VARCHAR),
    ingested_at           TIMESTAMP WITH TIME ZONE,
    extra                 JSON
);

COMMENT ON TABLE run IS
    'One import: a capture, or one rank of a job.';
COMMENT ON COLUMN run.run_id IS 'The run: run.run_id.';
COMMENT ON COLUMN run.label IS 'Name that the user gave it; unique names are selectors.';
COMMENT ON COLUMN run.source_uri IS 'Where it was read from: a path or URL, as given.';
COMMENT ON COLUMN run.source_sha256 IS 'SHA-256 of the source''s bytes, hexadecimal.';
COMMENT ON COLUMN run.source_bytes IS 'Size of the source, bytes.';
COMMENT ON COLUMN run.format IS 'Format of the source, as the importer names it.';
COMMENT ON COLUMN run.importer IS 'Importer that read it.';
COMMENT ON COLUMN run.importer_version IS
    'Version of that importer; it grows when its answers change.';
COMMENT ON COLUMN run.tool IS 'Profiler that made the source.';
COMMENT ON COLUMN run.tool_version IS 'Version of that profiler.';
COMMENT ON COLUMN run.source_schema_version IS 'Version of the source''s own schema.';
COMMENT ON COLUMN run.schema_version IS 'Version of this schema when it was written.';
COMMENT ON COLUMN run.source_origin_ns IS
    'Source time of ts_ns = 0: source time = ts_ns + source_origin_ns.';
COMMENT ON COLUMN run.origin_unix_ns IS
    'Wall-clock time of ts_ns = 0, ns since 1970-01-01 UTC; NULL where unknown.';
COMMENT ON COLUMN run.clock IS
    'Where origin_unix_ns comes from and how sure it is: session_start, trace_start, file_name, none; of sample logs unix_time, local_time (no zone), time_of_day (no date), elapsed.';
COMMENT ON COLUMN run.first_ts_ns IS
    'Start of the capture window: the first GPU operation, API call, annotation, op or slice, else the first sample, ns since the origin.';
COMMENT ON COLUMN run.span_ns IS
    'Length of the capture window: from first_ts_ns to the last end of those events, ns.';
COMMENT ON COLUMN run.host IS 'Host name; only with --keep-environment.';
COMMENT ON COLUMN run.job IS 'Groups the ranks of one job.';
COMMENT ON COLUMN run.attached_to IS 'run_id of the trace that this sample log lies beside.';
COMMENT ON COLUMN run.clock_offset_ns IS
    'What to add to this run''s wall clock (a time without a zone is read as UTC) to get that of attached_to, ns; where either has none, what to add to ts_ns.';
COMMENT ON COLUMN run.rank IS 'Rank of the process in its job.';
COMMENT ON COLUMN run.world_size IS 'Ranks in the job.';
COMMENT ON COLUMN run.framework IS 'Framework that ran: pytorch, tensorflow, jax.';
COMMENT ON COLUMN run.tags IS 'The user''s tags.';
COMMENT ON COLUMN run.ingested_at IS 'When it was imported.';
COMMENT ON COLUMN run.extra IS 'Source fields that no column holds.';
