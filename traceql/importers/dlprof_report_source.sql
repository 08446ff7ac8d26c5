-- What the importer reads of DLProf's CSV reports, by the names in their headers; a
-- column that a version lacks is NULL. The reader adds row_number and, as JSON, all
-- columns of the file (fields). Figures stay text until the mapping reads them.

CREATE TABLE detailed (
    row_number BIGINT, fields JSON, "Op ID" VARCHAR, "Op Name" VARCHAR,
    "Direction" VARCHAR, "Op Type" VARCHAR, "No. Calls" VARCHAR, "TC Eligible" VARCHAR,
    "Using TC" VARCHAR, "Total CPU Time (ns)" VARCHAR, "Total GPU Time (ns)" VARCHAR
);
CREATE TABLE iteration_report (
    row_number BIGINT, fields JSON, "Iteration" VARCHAR, "Op ID" VARCHAR,
    "Op Name" VARCHAR, "Direction" VARCHAR, "Op Type" VARCHAR, "Kernel Name" VARCHAR,
    "Device ID" VARCHAR, "GPU Start Time (ns)" VARCHAR, "GPU Duration (ns)" VARCHAR,
    "API Call Start (ns)" VARCHAR, "API Call Time (ns)" VARCHAR, "Uses TC" VARCHAR,
    "Grid X" VARCHAR, "Grid Y" VARCHAR, "Grid Z" VARCHAR, "Block X" VARCHAR,
    "Block Y" VARCHAR, "Block Z" VARCHAR, "Data Types" VARCHAR, "Input Shapes" VARCHAR,
    "Parameters" VARCHAR, "Output Shapes" VARCHAR, "Long Kernel Name" VARCHAR
);
CREATE TABLE kernel_report (
    row_number BIGINT, fields JSON, "Kernel Name" VARCHAR, "Op ID" VARCHAR,
    "Op Name" VARCHAR, "Direction" VARCHAR, "Uses TC" VARCHAR,
    "Total GPU Time (ns)" VARCHAR
);
CREATE TABLE tensor_core (
    row_number BIGINT, fields JSON, "Op ID" VARCHAR, "Op Name" VARCHAR,
    "Direction" VARCHAR, "Op Type" VARCHAR, "Uses TC" VARCHAR,
    "Total GPU Time (ns)" VARCHAR, "TC Utilization (%)" VARCHAR,
    "Total Kernel Count" VARCHAR
);
CREATE TABLE op_type_report (
    row_number BIGINT, fields JSON, "Op Type" VARCHAR, "# Ops" VARCHAR,
    "# Calls" VARCHAR, "Total CPU Time (ns)" VARCHAR, "Total GPU Time (ns)" VARCHAR
);
CREATE TABLE group_op (
    row_number BIGINT, fields JSON, "Name" VARCHAR, "Num Calls Aggregated" VARCHAR,
    "Num TC Eligible Ops" VARCHAR, "Num Ops Using TC" VARCHAR,
    "Total CPU Time (ns)" VARCHAR, "Total GPU Time (ns)" VARCHAR
);
CREATE TABLE expert_systems (
    row_number BIGINT, fields JSON, "Problem" VARCHAR, "Recommendation" VARCHAR
);
-- Sections of the summary: a name with a figure or text, or a row of a table.
CREATE TABLE summary (
    row_number BIGINT, fields JSON, section VARCHAR, name VARCHAR, "value" VARCHAR,
    "GPU Time (ns)" VARCHAR, "CPU Time (ns)" VARCHAR, "# Ops" VARCHAR,
    "# Kernels" VARCHAR
);
CREATE TABLE gpu_name (ordinal BIGINT, name VARCHAR);
