CREATE TABLE diagnostic (
    run_id   VARCHAR NOT NULL,
    code     VARCHAR NOT NULL,
    severity VARCHAR NOT NULL,
    count    BIGINT NOT NULL,
    message  VARCHAR NOT NULL,
    example  VARCHAR
);

COMMENT ON TABLE diagnostic IS
    'One kind of finding of the import, counted.';
COMMENT ON COLUMN diagnostic.run_id IS 'The run: run.run_id.';
COMMENT ON COLUMN diagnostic.code IS 'Stable name of the kind.';
COMMENT ON COLUMN diagnostic.severity IS 'info, warning, data_loss or error.';
COMMENT ON COLUMN diagnostic.count IS 'How often.';
COMMENT ON COLUMN diagnostic.message IS 'What it means and what to do.';
COMMENT ON COLUMN diagnostic.example IS 'The first case.';
