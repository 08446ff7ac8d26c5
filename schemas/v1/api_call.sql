CREATE TABLE api_call (
    run_id         VARCHAR NOT NULL,
    ts_ns          BIGINT NOT NULL,
    dur_ns         BIGINT,
    api_call_id    BIGINT NOT NULL,
    api            VARCHAR NOT NULL,
    name           VARCHAR NOT NULL,
    pid            BIGINT,
    tid            BIGINT,
    correlation_id BIGINT,
    result         BIGINT,
    nesting_level  INTEGER,
    callchain      VARCHAR,
    extra          JSON
);

COMMENT ON TABLE api_call IS
    'One host API call.';
COMMENT ON COLUMN api_call.run_id IS 'The run: run.run_id.';
COMMENT ON COLUMN api_call.ts_ns IS 'Start, ns since the run''s origin (run.source_origin_ns).';
COMMENT ON COLUMN api_call.dur_ns IS 'Duration, ns; NULL where the source has no end.';
COMMENT ON COLUMN api_call.api_call_id IS
    'Id, unique in the run; one id space with op, annotation and slice.';
COMMENT ON COLUMN api_call.api IS
    'cuda_runtime, cuda_driver, hip, osrt, cudnn, cublas, nccl, mpi, ...';
COMMENT ON COLUMN api_call.name IS
    'Function, without the ABI version suffix (_v and four or more digits).';
COMMENT ON COLUMN api_call.pid IS 'Process.';
COMMENT ON COLUMN api_call.tid IS 'Thread.';
COMMENT ON COLUMN api_call.correlation_id IS
    'Number shared with the GPU work that it launched, per process; NULL for none.';

COMMENT ON COLUMN api_call.result IS 'Return value; 0 is success for CUDA.';
COMMENT ON COLUMN api_call.nesting_level IS
    'Depth among calls of its API, as the source states it.';
COMMENT ON COLUMN api_call.callchain IS 'Call stack, one frame a line; only with --with-samples.';
COMMENT ON COLUMN api_call.extra IS 'Source fields that no column holds.';
