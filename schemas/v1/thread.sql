CREATE TABLE thread (
    run_id       VARCHAR NOT NULL,
    pid          BIGINT,
    tid          BIGINT,
    process_name VARCHAR,
    thread_name  VARCHAR,
    raw_pid      VARCHAR,
    raw_tid      VARCHAR,
    extra        JSON
);

COMMENT ON TABLE thread IS
    'One host thread that the trace has events of.';
COMMENT ON COLUMN thread.run_id IS 'The run: run.run_id.';
COMMENT ON COLUMN thread.pid IS 'Process.';
COMMENT ON COLUMN thread.tid IS 'Thread.';
COMMENT ON COLUMN thread.process_name IS 'Name of the process.';
COMMENT ON COLUMN thread.thread_name IS 'Name of the thread.';
COMMENT ON COLUMN thread.raw_pid IS 'The process as the source writes it, where that is no number.';
COMMENT ON COLUMN thread.raw_tid IS 'The thread as the source writes it, where that is no number.';
COMMENT ON COLUMN thread.extra IS 'Source fields that no column holds.';
