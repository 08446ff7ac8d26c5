-- @title Annotation ranges with a start and an end
-- One row per range (no marks) whose start is known. A range that the capture cut ends,
-- as in nsys, at the last time of any annotation of its run; one of negative duration
-- ends where it starts. Ranges that end on another thread than they started on have
-- is_one_thread false: no call on either thread is theirs.
-- @column run_id id key The run.
-- @column annotation_id id key The range.
-- @column kind text neutral push_pop or start_end.
-- @column name text neutral Domain and text as "domain:text"; the text alone where no
--     domain is recorded.
-- @column pid id neutral Process.
-- @column tid id neutral Thread on which it started.
-- @column thread_hash id neutral One number for run, process and thread.
-- @column start_ns ns neutral Start, ns since the run's origin.
-- @column end_ns ns neutral End.
-- @column depth value neutral Enclosing ranges of its thread.
-- @column parent_id id neutral The tightest enclosing row.
-- @column crossing bool neutral Overlaps a neighbour without nesting.
-- @column is_unfinished bool neutral The capture cut it.
-- @column is_one_thread bool neutral It ended on the thread on which it started.
-- @key run_id, annotation_id
-- @since 0.2
CREATE MACRO _annotation_ranges() AS TABLE
WITH last_times AS (
    SELECT run_id, max(ts_ns + coalesce(dur_ns, 0)) AS last_ns
    FROM annotation
    GROUP BY run_id
)
SELECT
    annotation.run_id, annotation.annotation_id, annotation.kind,
    CASE
        WHEN annotation.domain IS NULL THEN annotation.name
        ELSE annotation.domain || ':' || coalesce(annotation.name, '')
    END AS name,
    annotation.pid, annotation.tid,
    hash(annotation.run_id, annotation.pid, annotation.tid) AS thread_hash,
    annotation.ts_ns AS start_ns,
    greatest(
        annotation.ts_ns,
        coalesce(annotation.ts_ns + annotation.dur_ns, last_times.last_ns)
    ) AS end_ns,
    annotation.depth, annotation.parent_id, annotation.crossing,
    annotation.truncated OR annotation.dur_ns IS NULL AS is_unfinished,
    annotation.end_tid IS NULL OR annotation.end_tid IS NOT DISTINCT FROM annotation.tid
        AS is_one_thread
FROM annotation
JOIN last_times ON annotation.run_id = last_times.run_id
WHERE annotation.kind <> 'mark';
