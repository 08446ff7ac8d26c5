CREATE TABLE report_row (
    run_id       VARCHAR NOT NULL,
    report       VARCHAR NOT NULL,
    section      VARCHAR,
    row_number   BIGINT NOT NULL,
    source_file  VARCHAR,
    aggregation  BIGINT,
    domain       VARCHAR,
    name         VARCHAR,
    op_key       VARCHAR,
    op_name      VARCHAR,
    op_type      VARCHAR,
    direction    VARCHAR,
    item_count   BIGINT,
    tc_eligible  BOOLEAN,
    uses_tc      BOOLEAN,
    gpu_time_ns  BIGINT,
    cpu_time_ns  BIGINT,
    value        DOUBLE,
    fields       JSON NOT NULL
);

COMMENT ON TABLE report_row IS
    'One row of a report that the source tool computed itself: totals and lists without time stamps, which are no events and enter no event table.';
COMMENT ON COLUMN report_row.run_id IS 'The run: run.run_id.';
COMMENT ON COLUMN report_row.report IS
    'Report: DLProf''s summary, detailed, iteration, kernel, tensor_core, op_type, group_op, device; PyProf''s pyprof_dict (a kernel execution a row) and pyprof_prof.';
COMMENT ON COLUMN report_row.section IS 'Part of the report, where it has several.';
COMMENT ON COLUMN report_row.row_number IS 'Place in the report and section, from 1.';
COMMENT ON COLUMN report_row.source_file IS
    'File of the run that it stands in, where the run is a folder.';
COMMENT ON COLUMN report_row.aggregation IS
    'Number of the aggregation that computed it: the tool may aggregate one capture again.';
COMMENT ON COLUMN report_row.domain IS 'NVTX domain that it is restricted to.';
COMMENT ON COLUMN report_row.name IS
    'What the row is about: an operation, a kernel, a type, a figure of the summary.';
COMMENT ON COLUMN report_row.op_key IS 'The tool''s own name for the operation, as CONV2D_1.';
COMMENT ON COLUMN report_row.op_name IS 'Name of the operation.';
COMMENT ON COLUMN report_row.op_type IS 'Type of the operation.';
COMMENT ON COLUMN report_row.direction IS 'Forward or backward, in the tool''s words: fprop, bprop.';
COMMENT ON COLUMN report_row.item_count IS
    'Calls or things that it sums up; what is counted the report says.';
COMMENT ON COLUMN report_row.tc_eligible IS
    'Whether the tool holds the operation able to use tensor cores; NULL where it does not say.';
COMMENT ON COLUMN report_row.uses_tc IS
    'Whether the tool saw tensor cores used; NULL where it does not say.';
COMMENT ON COLUMN report_row.gpu_time_ns IS
    'Total time on devices, ns, as the report states it: a union for operations, a sum for kernels.';
COMMENT ON COLUMN report_row.cpu_time_ns IS 'Total time on the host, ns, as the report states it.';
COMMENT ON COLUMN report_row.value IS 'The figure, where the row is but a name and a number.';
COMMENT ON COLUMN report_row.fields IS 'All columns of the row by their names in the report.';
