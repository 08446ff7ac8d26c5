-- What the cells of nvidia-smi's logs mean. Facts: a time is local and bears no zone,
-- unless a wrapper wrote it (ISO 8601, seconds since 1970); a missing value is a word
-- that changed with the drivers ([Not Supported], [N/A], [Unknown Error], N/A, -);
-- nvidia-smi numbers GPUs in the order of their PCI addresses, CUDA need not; the
-- utilisation is the share of a sampling period with a kernel, of up to a second.

-- @prepare
CREATE MACRO inner_text(t) AS trim(regexp_replace(t, '^\[(.*)\]$', '\1'));
CREATE MACRO missing_reason(t) AS
    CASE
        WHEN t = '' THEN 'empty'
        WHEN t = '-' THEN 'not_reported'
        WHEN lower(inner_text(t)) IN ('n/a', 'na') THEN 'not_available'
        WHEN lower(inner_text(t)) = 'requested functionality has been deprecated'
            THEN 'deprecated'
        WHEN upper(t) IN ('ERR!', '[ERR!]') THEN 'error'
        WHEN t LIKE '[%]' OR lower(t) IN (
            'not supported', 'unknown error', 'function not found', 'not found',
            'insufficient permissions', 'gpu is lost', 'gpu requires reset', 'unknown'
        ) THEN trim(
            regexp_replace(lower(inner_text(t)), '[^a-z0-9]+', '_', 'g'), '_'
        )
    END;

CREATE TABLE column_of AS
WITH matched AS (
    SELECT c.column_id, min(r.ordinal) AS ordinal
    FROM source_column AS c
    JOIN column_rule AS r
        ON regexp_full_match(c.dialect, r.dialect)
        AND regexp_full_match(lower(c.name), r.pattern)
    GROUP BY c.column_id
)
SELECT
    c.column_id, c.name, c.dialect, coalesce(r.role, 'counter') AS role,
    coalesce(
        regexp_replace(lower(c.name), '^(?:' || r.pattern || ')$', r.counter), c.name
    ) AS counter,
    CASE
        -- dmon and pmon say MB and count units of 1,048,576 bytes.
        WHEN c.dialect IN ('dmon', 'pmon') AND r.unit IS NOT NULL THEN r.unit
        WHEN c.unit = '%' THEN 'pct'
        ELSE coalesce(c.unit, r.unit)
    END AS unit,
    c.unit AS stated_unit
FROM source_column AS c
LEFT JOIN matched AS m ON m.column_id = c.column_id
LEFT JOIN column_rule AS r ON r.ordinal = m.ordinal;

-- What a line says of itself.
CREATE TABLE line_fact AS
SELECT
    l.line,
    max(l.text) FILTER (c.role = 'time') AS time_text,
    max(l.text) FILTER (c.role = 'date') AS date_text,
    max(l.text) FILTER (c.role = 'clock') AS clock_text,
    max(l.text) FILTER (c.role = 'elapsed') AS elapsed_text,
    max(l.text) FILTER (c.role = 'field') AS field,
    TRY_CAST(max(l.text) FILTER (c.role = 'index') AS INTEGER) AS gpu_index,
    max(l.text) FILTER (
        c.role = 'uuid' AND regexp_replace(l.text, '^[A-Z]+-|[0-]', '', 'g') <> ''
    ) AS uuid,
    regexp_replace(
        lower(max(l.text) FILTER (c.role = 'bus')), '^0000([0-9a-f]{4}:)', '\1'
    ) AS bus,
    max(l.text) FILTER (c.role = 'model') AS model,
    max(l.text) FILTER (c.role = 'driver') AS driver,
    TRY_CAST(max(l.text) FILTER (c.role = 'pid') AS BIGINT) AS pid,
    TRY_CAST(max(l.text) FILTER (c.role = 'gpu_instance') AS INTEGER) AS gpu_instance,
    TRY_CAST(max(l.text) FILTER (c.role = 'compute_instance') AS INTEGER)
        AS compute_instance
FROM line_cell AS l
JOIN column_of AS c ON c.column_id = l.column_id
WHERE c.role NOT IN ('counter', 'property', 'private', 'skip', 'value')
    AND l.text IS NOT NULL AND NOT l.cut AND missing_reason(l.text) IS NULL
GROUP BY l.line;

-- Times as texts of one form: 2026-07-03 22:11:09.916, and perhaps a zone.
CREATE TABLE time_text AS
WITH given AS (
    SELECT
        line, elapsed_text,
        trim(regexp_replace(
            CASE WHEN clock_text IS NOT NULL AND date_text IS NOT NULL
                THEN date_text || ' ' || clock_text
                ELSE coalesce(time_text, clock_text) END,
            '\s+', ' ', 'g'
        )) AS text
    FROM line_fact
)
SELECT
    line, elapsed_text, text,
    regexp_full_match(text, '\d\d[-/.]\d\d[-/.]\d{4} .*') AS is_year_last,
    regexp_full_match(text, '[A-Z][a-z]{2} [A-Z][a-z]{2} \d+ [0-9:]+ \d{4}')
        AS is_english,
    regexp_full_match(text, '\d{9,10}(\.\d+)?|\d{13}|\d{16}|\d{19}') AS is_epoch,
    regexp_full_match(text, '\d?\d:\d\d:\d\d(\.\d+)?') AS is_time_of_day
FROM given;

-- Times without a date (dmon -o T): a fall by more than half a day is midnight, a
-- smaller one a clock that was set back. A rise by more than half a day right after
-- midnight is back before it: samples jitter. GPUs sampled at one time are no step.
CREATE TABLE day_time AS
WITH read AS (
    SELECT
        line,
        epoch_ns(TRY_CAST(
            '1970-01-01 ' || regexp_replace(text, '^(\d):', '0\1:') AS TIMESTAMP_NS
        )) AS of_day_ns
    FROM time_text
    WHERE is_time_of_day
),
stepped AS (
    SELECT
        line, of_day_ns,
        nullif(of_day_ns - lag(of_day_ns) OVER (ORDER BY line), 0) AS step_ns
    FROM read
    WHERE of_day_ns IS NOT NULL
),
turned AS (
    SELECT
        line, of_day_ns,
        CASE
            WHEN step_ns < -43200000000000 THEN 1
            WHEN step_ns > 43200000000000
                AND lag(step_ns IGNORE NULLS) OVER (ORDER BY line) < -43200000000000
            THEN -1
            ELSE 0
        END AS day_step
    FROM stepped
)
SELECT
    line,
    of_day_ns + 86400000000000 * CAST(
        sum(day_step) OVER (ORDER BY line) AS BIGINT
    ) AS time_ns
FROM turned;

CREATE TABLE day_first AS
SELECT
    count(*) FILTER (CAST(substr(text, 1, 2) AS INTEGER) > 12) > 0 AS is_proven,
    count(*) FILTER (CAST(substr(text, 4, 2) AS INTEGER) > 12) > 0 AS is_refuted,
    count(*) AS line_count, any_value(text) AS example
FROM time_text
WHERE is_year_last;

CREATE TABLE moment AS
WITH formed AS (
    SELECT
        t.line, t.elapsed_text, t.text, t.is_english, t.is_epoch, t.is_time_of_day,
        regexp_replace(
            CASE
                WHEN t.is_year_last AND d.is_refuted THEN
                    regexp_replace(
                        t.text, '^(\d\d).(\d\d).(\d{4}) ', '\3-\1-\2 '
                    )
                WHEN t.is_year_last THEN
                    regexp_replace(
                        t.text, '^(\d\d).(\d\d).(\d{4}) ', '\3-\2-\1 '
                    )
                WHEN regexp_matches(t.text, '^\d{8} ') THEN
                    regexp_replace(t.text, '^(\d{4})(\d\d)(\d\d) ', '\1-\2-\3 ')
                ELSE replace(t.text, '/', '-')
            END,
            ' ?([+-]\d\d):?(\d\d)$', '\1:\2'
        ) AS form
    FROM time_text AS t
    CROSS JOIN day_first AS d
),
read AS (
    SELECT
        line, elapsed_text, text, is_epoch, is_time_of_day,
        is_epoch OR regexp_matches(form, '(Z|[+-]\d\d:\d\d)$') AS has_zone,
        CASE
            WHEN is_epoch THEN CAST(
                TRY_CAST(text AS DECIMAL(38, 9)) * CASE
                    WHEN length(split_part(text, '.', 1)) <= 10 THEN 1000000000
                    WHEN length(text) = 13 THEN 1000000
                    WHEN length(text) = 16 THEN 1000
                    ELSE 1
                END AS BIGINT
            )
            WHEN is_time_of_day THEN time_ns
            WHEN is_english THEN
                epoch_ns(try_strptime(text, '%a %b %d %H:%M:%S %Y'))
            WHEN regexp_full_match(
                form,
                '\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)?'
            -- The cast to a timestamp ignores a zone.
            ) THEN epoch_ns(TRY_CAST(form AS TIMESTAMP_NS))
                - 60000000000 * coalesce(
                    TRY_CAST(
                        regexp_extract(form, '([+-]\d\d):\d\d$', 1) AS INTEGER
                    ) * 60
                    + TRY_CAST(
                        regexp_extract(form, '([+-])\d\d:(\d\d)$', 1)
                        || regexp_extract(form, '[+-]\d\d:(\d\d)$', 1) AS INTEGER
                    ),
                    0
                )
        END AS stamp_ns,
        CAST(TRY_CAST(elapsed_text AS DECIMAL(28, 9)) * 1000000000 AS BIGINT)
            AS elapsed_ns
    FROM formed
    LEFT JOIN day_time USING (line)
)
SELECT
    line, coalesce(text, elapsed_text) AS text,
    coalesce(stamp_ns, elapsed_ns) AS source_ns,
    CASE
        WHEN stamp_ns IS NOT NULL AND is_time_of_day THEN 'time_of_day'
        WHEN stamp_ns IS NOT NULL AND has_zone THEN 'unix_time'
        WHEN stamp_ns IS NOT NULL THEN 'local_time'
        WHEN elapsed_ns IS NOT NULL THEN 'elapsed'
    END AS clock
FROM read
WHERE coalesce(text, elapsed_text) IS NOT NULL;

-- One log has one clock: the one of most of its lines.
CREATE TABLE log_clock AS
WITH counted AS (
    SELECT clock, count(*) AS line_count, min(source_ns) AS first_ns
    FROM moment
    WHERE clock IS NOT NULL
    GROUP BY clock
    ORDER BY line_count DESC, clock
    LIMIT 1
)
SELECT
    coalesce(max(clock), 'none') AS clock,
    CASE max(clock) WHEN 'elapsed' THEN 0 ELSE max(first_ns) END AS origin_ns,
    CAST(CASE WHEN max(clock) = 'unix_time' THEN max(first_ns) END AS BIGINT)
        AS origin_unix_ns
FROM counted;

-- A GPU is its PCI address, else its UUID, else its index.
CREATE TABLE line_gpu AS
SELECT
    line,
    coalesce(
        'bus ' || bus, 'uuid ' || uuid, 'index ' || lpad(CAST(gpu_index AS VARCHAR), 4, ' ')
    ) AS gpu_key,
    gpu_index, uuid, bus, model
FROM line_fact;

CREATE TABLE gpu AS
WITH seen AS (
    SELECT
        gpu_key, min(gpu_index) AS gpu_index,
        count(DISTINCT gpu_index) AS index_count,
        max(uuid) AS uuid, max(bus) AS bus, max(model) AS model
    FROM line_gpu
    WHERE gpu_key IS NOT NULL
    GROUP BY gpu_key
),
judged AS (
    SELECT
        *,
        count(DISTINCT gpu_index) OVER () = count(*) OVER ()
        AND max(index_count) OVER () = 1 AS is_index_good,
        max(index_count) OVER () > 0 AS has_index
    FROM seen
)
SELECT
    *,
    CASE
        WHEN is_index_good THEN gpu_index
        ELSE CAST(row_number() OVER (ORDER BY gpu_key) - 1 AS INTEGER)
    END AS device_id
FROM judged;

-- A line's place in time and space. Where some lines have a time, the others have no
-- place; where none has, all stand at 0.
CREATE TABLE place AS
SELECT
    lines.line,
    CASE WHEN log.clock = 'none' THEN 0 ELSE moment.source_ns - log.origin_ns END
        AS ts_ns,
    gpu.device_id, fact.pid, fact.field, fact.gpu_instance, fact.compute_instance,
    log.clock = 'none' AS is_untimed
FROM (SELECT DISTINCT line FROM line_cell) AS lines
CROSS JOIN log_clock AS log
LEFT JOIN line_fact AS fact ON fact.line = lines.line
LEFT JOIN moment ON moment.line = lines.line AND moment.clock = log.clock
LEFT JOIN line_gpu ON line_gpu.line = lines.line
LEFT JOIN gpu ON gpu.gpu_key = line_gpu.gpu_key;

-- Every text once: the number in it, its unit, or why there is none.
CREATE TABLE text_value AS
WITH texts AS (
    SELECT DISTINCT l.text
    FROM line_cell AS l
    JOIN column_of AS c ON c.column_id = l.column_id
    WHERE c.role IN ('counter', 'value', 'property') AND l.text IS NOT NULL
),
parted AS (
    SELECT
        text, missing_reason(text) AS reason,
        regexp_extract(
            text,
            '^([-+]?[0-9]+(?:\.[0-9]*)?(?:[eE][-+]?[0-9]+)?) ?([A-Za-z%][A-Za-z/]*)?$',
            ['number', 'unit']
        ) AS part
    FROM texts
)
SELECT
    text, reason,
    CASE
        WHEN reason IS NOT NULL THEN NULL
        WHEN part.number <> '' THEN TRY_CAST(part.number AS DOUBLE)
        WHEN regexp_full_match(text, 'P\d+') THEN CAST(substr(text, 2) AS DOUBLE)
        WHEN regexp_full_match(text, '0x[0-9A-Fa-f]{1,16}')
            THEN TRY_CAST(TRY_CAST(text AS UBIGINT) AS DOUBLE)
        WHEN text IN ('Active', 'Enabled', 'Yes', 'True') THEN 1
        WHEN text IN ('Not Active', 'Disabled', 'No', 'False') THEN 0
    END AS value,
    CASE
        WHEN part.number <> '' THEN
            CASE part.unit WHEN '%' THEN 'pct' WHEN 'x' THEN NULL
                ELSE nullif(part.unit, '') END
        WHEN regexp_full_match(text, 'P\d+') THEN 'pstate'
        WHEN text LIKE '0x%' THEN 'bits'
        WHEN text IN (
            'Active', 'Enabled', 'Yes', 'True', 'Not Active', 'Disabled', 'No', 'False'
        ) THEN 'flag'
    END AS unit
FROM parted;

-- What a column holds: prose alone is a property, whatever else a counter.
CREATE TABLE column_kind AS
SELECT
    c.column_id,
    CASE
        WHEN c.role IN ('value', 'property') THEN c.role
        WHEN bool_or(v.value IS NULL AND v.reason IS NULL AND v.text IS NOT NULL)
            AND NOT bool_or(v.value IS NOT NULL) AND c.unit IS NULL THEN 'property'
        ELSE 'counter'
    END AS kind,
    bool_or(v.unit IS NOT NULL) AS has_units
FROM column_of AS c
JOIN line_cell AS l ON l.column_id = c.column_id
LEFT JOIN text_value AS v ON v.text = l.text
WHERE c.role IN ('counter', 'value', 'property')
GROUP BY c.column_id, c.role, c.unit;

-- A cell that may be cut has no value: half of a number is another number.
CREATE TABLE sample_cell AS
SELECT
    place.ts_ns, place.device_id, place.pid, place.line, place.is_untimed,
    place.gpu_instance, place.compute_instance,
    CASE WHEN k.kind = 'value' THEN place.field ELSE c.counter END AS counter,
    coalesce(v.unit, c.unit) AS unit, l.text,
    l.text IS NULL OR l.cut AND k.has_units AND v.unit IS NULL AS is_cut,
    v.value, v.reason
FROM line_cell AS l
JOIN column_of AS c ON c.column_id = l.column_id
JOIN column_kind AS k ON k.column_id = l.column_id AND k.kind <> 'property'
JOIN place ON place.line = l.line
LEFT JOIN text_value AS v ON v.text = l.text;

-- @rows device
WITH property AS (
    SELECT
        line_gpu.gpu_key, c.counter AS name, arg_min(l.text, l.line) AS text
    FROM line_cell AS l
    JOIN column_of AS c ON c.column_id = l.column_id
    JOIN column_kind AS k ON k.column_id = l.column_id AND k.kind = 'property'
    JOIN line_gpu ON line_gpu.line = l.line
    WHERE l.text IS NOT NULL AND NOT l.cut AND missing_reason(l.text) IS NULL
    GROUP BY line_gpu.gpu_key, c.counter
),
listed AS (
    SELECT
        gpu_key,
        to_json(map_from_entries(array_agg((name, text) ORDER BY name))) AS extra,
        max(text) FILTER (name = 'compute_cap') AS compute_cap
    FROM property
    GROUP BY gpu_key
),
memory AS (
    SELECT device_id, max(value) AS mib
    FROM sample_cell
    WHERE counter = 'memory.total' AND unit = 'MiB' AND NOT is_cut
    GROUP BY device_id
)
SELECT
    gpu.device_id, 'gpu' AS kind, 'nvidia' AS vendor, gpu.model AS name, gpu.uuid,
    gpu.bus, CAST(memory.mib * 1048576 AS BIGINT) AS memory_bytes,
    TRY_CAST(split_part(listed.compute_cap, '.', 1) AS INTEGER) AS compute_major,
    TRY_CAST(nullif(split_part(listed.compute_cap, '.', 2), '') AS INTEGER)
        AS compute_minor,
    CASE
        WHEN gpu.gpu_index IS NULL OR NOT gpu.is_index_good THEN listed.extra
        ELSE json_merge_patch(
            coalesce(listed.extra, '{}'), json_object('index', gpu.gpu_index)
        )
    END AS extra
FROM gpu
LEFT JOIN listed ON listed.gpu_key = gpu.gpu_key
LEFT JOIN memory ON memory.device_id = gpu.device_id
ORDER BY gpu.device_id;

-- @rows counter
SELECT
    ts_ns, device_id, pid, counter AS name,
    CASE WHEN NOT is_cut THEN value END AS value, unit,
    CASE
        WHEN is_cut THEN 'cut'
        WHEN value IS NULL THEN coalesce(reason, 'not_a_number')
    END AS null_reason,
    CASE
        WHEN is_untimed OR gpu_instance IS NOT NULL
            OR NOT is_cut AND value IS NULL AND reason IS NULL
        THEN json_merge_patch('{}', json_object(
            'line', CASE WHEN is_untimed THEN line END,
            'gpu_instance', gpu_instance,
            'compute_instance', compute_instance,
            'text', CASE WHEN NOT is_cut AND value IS NULL AND reason IS NULL
                THEN text END
        ))
    END AS extra
FROM sample_cell
WHERE ts_ns IS NOT NULL;

-- @rows thread
SELECT DISTINCT fact.pid, l.text AS process_name
FROM line_cell AS l
JOIN column_of AS c
    ON c.column_id = l.column_id AND c.role = 'private'
    AND (c.dialect IN ('apps', 'pmon') AND lower(c.name) IN (
        'name', 'process_name', 'command'
    ) OR c.name IN ('processes.process_name', 'processes.name'))
JOIN line_fact AS fact ON fact.line = l.line
JOIN import_option ON import_option.keep_environment
WHERE fact.pid IS NOT NULL AND missing_reason(l.text) IS NULL;

-- @run
SELECT
    CASE
        WHEN (SELECT bool_or(role = 'field') FROM column_of) THEN 'dcgmi'
        WHEN (
            SELECT bool_or(
                dialect <> 'csv' OR role = 'bus' OR name LIKE '%.%'
                OR stated_unit IS NOT NULL
            )
            FROM column_of
        ) THEN 'nvidia-smi'
    END AS tool,
    (SELECT max(driver) FROM line_fact) AS tool_version,
    log.origin_ns AS source_origin_ns, log.origin_unix_ns, log.clock
FROM log_clock AS log;

-- @findings
SELECT
    'no_samples' AS code, 'warning' AS severity,
    CASE WHEN EXISTS (FROM line_cell) THEN 0 ELSE 1 END AS count,
    'The log is a header alone: no process ran, or no GPU was seen.' AS message,
    CAST(NULL AS VARCHAR) AS example
UNION ALL
SELECT
    'local_time' AS code, 'info' AS severity, 1 AS count,
    'Times are local and bear no zone: what time that is elsewhere is not known.'
        AS message,
    CAST(NULL AS VARCHAR) AS example
FROM log_clock
WHERE clock = 'local_time'
UNION ALL
SELECT
    'no_date' AS code, 'info' AS severity, 1 AS count,
    'Times bear no date: the day is not known, nor whether days passed between two '
    || 'samples. Log it: --query-gpu=timestamp,..., or dmon -o DT.',
    NULL
FROM log_clock
WHERE clock = 'time_of_day'
UNION ALL
SELECT
    'no_time', 'warning', count(*),
    'The log says no times: all samples stand at 0, with their line. Log timestamp '
    || '(--query-gpu=timestamp,...), or the date and time of dmon and pmon (-o DT).',
    NULL
FROM place
WHERE is_untimed
UNION ALL
SELECT
    'unreadable_time', 'data_loss', count(*),
    'Lines without a time that can be read, or of another clock than the rest: their '
    || 'samples are left out.',
    min(coalesce(moment.text, 'line ' || place.line))
FROM place
LEFT JOIN moment ON moment.line = place.line
WHERE place.ts_ns IS NULL
UNION ALL
SELECT
    'ambiguous_date', 'warning', line_count,
    'Dates may have the day or the month first: they are read as day, month, year.',
    example
FROM day_first
WHERE line_count > 0 AND NOT is_proven AND NOT is_refuted
UNION ALL
SELECT
    'time_goes_back', 'warning', count(*),
    'Samples are earlier than the line before them: the clock was set back, or logs '
    || 'were joined.',
    min('line ' || line)
FROM (
    SELECT line, ts_ns - lag(ts_ns) OVER (ORDER BY line) AS step_ns
    FROM place
    WHERE ts_ns IS NOT NULL
)
WHERE step_ns < 0
UNION ALL
SELECT
    'devices_numbered', 'info', count(*),
    'The log has no index of its GPUs: they are numbered by PCI address or UUID.', NULL
FROM gpu
WHERE NOT has_index
UNION ALL
SELECT
    'index_not_unique', 'warning', count(*),
    'GPUs share an index, or one has several: they are numbered by PCI address or '
    || 'UUID.',
    min(gpu_key)
FROM gpu
WHERE has_index AND NOT is_index_good
UNION ALL
SELECT
    'no_device', 'warning', count(*),
    'Lines that do not say their GPU: their samples have no device. Log index and '
    || 'uuid as well.',
    NULL
FROM place
WHERE device_id IS NULL
UNION ALL
SELECT
    'not_a_number', 'data_loss', count(*),
    'Values that are no numbers in columns of numbers: they are NULL, and extra has '
    || 'their text.',
    min(counter || ': ' || text)
FROM sample_cell
WHERE NOT is_cut AND value IS NULL AND reason IS NULL AND ts_ns IS NOT NULL
UNION ALL
SELECT
    'cut_lines', 'data_loss', count(DISTINCT line),
    'Lines that end before their last column: what is missing is NULL.',
    min('line ' || line)
FROM sample_cell
WHERE is_cut
UNION ALL
SELECT
    'unnamed_columns', 'warning', count(*),
    'The log has no header: its columns bear their positions as names. Say what they '
    || 'are: --columns timestamp,index,utilization.gpu,... (with --force where the '
    || 'log is imported already).',
    min(name)
FROM column_of
WHERE regexp_full_match(name, 'column \d+')
UNION ALL
SELECT
    'process_names_left_out', 'info', count(*),
    'Names and command lines of processes, serial numbers and host names are left '
    || 'out; --keep-environment keeps the names of processes.',
    NULL
FROM column_of
WHERE role = 'private' AND NOT (SELECT keep_environment FROM import_option);
