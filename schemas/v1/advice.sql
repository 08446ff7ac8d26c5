CREATE TABLE advice (
    run_id         VARCHAR NOT NULL,
    detector       VARCHAR,
    problem        VARCHAR,
    recommendation VARCHAR,
    extra          JSON
);

COMMENT ON TABLE advice IS
    'One recommendation that the source tool made.';
COMMENT ON COLUMN advice.run_id IS 'The run: run.run_id.';
COMMENT ON COLUMN advice.detector IS 'Rule that fired.';
COMMENT ON COLUMN advice.problem IS 'What it found.';
COMMENT ON COLUMN advice.recommendation IS 'What it advises.';
COMMENT ON COLUMN advice.extra IS 'Source fields that no column holds.';
