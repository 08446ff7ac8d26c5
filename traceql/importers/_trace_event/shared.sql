-- What every dialect of trace events has: threads, counters, asynchronous spans,
-- objects and samples, and a finding for each event that no table holds. Phase `rows`
-- runs after phase `nest`, which is the dialect's.

-- @prepare
-- Identity of an object or asynchronous span: id, or id2, which is local to a process.
CREATE MACRO id_of(id, id2) AS
    coalesce(nullif(id, ''), id2->>'$.global', id2->>'$.local');
CREATE MACRO id_pid_of(id, id2, pid) AS
    CASE WHEN nullif(id, '') IS NULL AND id2->>'$.global' IS NULL THEN pid END;

-- Unit of a counter, which a dialect may know.
CREATE MACRO counter_unit(name, cat) AS CAST(NULL AS VARCHAR);

-- Begins and ends of one identity match by their level, as a stack would: an end
-- without a beginning lowers the running sum below all before it. Names are part of the
-- identity unless one of its ends has none.
CREATE TABLE async_half AS
WITH keyed AS (
    SELECT
        event_id, ts_ns, ph IN ('b', 'S') AS begins, coalesce(name, '') AS name,
        hash(
            id_of(id, id2), id_pid_of(id, id2, pid), cat, scope, ph IN ('S', 'F')
        ) AS key,
        ph IN ('b', 'e') AND bool_or(ph = 'e' AND coalesce(name, '') = '') OVER (
            PARTITION BY id_of(id, id2), id_pid_of(id, id2, pid), cat, scope
        ) AS by_key
    FROM event
    WHERE ph IN ('b', 'e', 'S', 'F') AND ts_ns IS NOT NULL
        AND id_of(id, id2) IS NOT NULL
),
named AS (
    SELECT
        event_id, ts_ns, begins,
        CASE WHEN by_key THEN key ELSE hash(key, name) END AS key
    FROM keyed
),
summed AS (
    SELECT
        *,
        CAST(sum(CASE WHEN begins THEN 1 ELSE -1 END) OVER moments AS BIGINT) AS sum
    FROM named
    WINDOW moments AS (
        PARTITION BY key ORDER BY ts_ns, event_id ROWS UNBOUNDED PRECEDING
    )
),
levelled AS (
    SELECT
        *,
        sum + CASE WHEN begins THEN 0 ELSE 1 END - least(0, min(sum) OVER (
            PARTITION BY key ORDER BY ts_ns, event_id ROWS UNBOUNDED PRECEDING
        )) AS level
    FROM summed
)
SELECT
    event_id, begins,
    lag(begins) OVER levels AS after_begin,
    lead(begins) OVER levels AS next_begins,
    lead(event_id) OVER levels AS next_id, lead(ts_ns) OVER levels AS next_ns
FROM levelled
WINDOW levels AS (PARTITION BY key, level ORDER BY ts_ns, event_id);
CREATE TABLE async_pair AS
SELECT
    h.event_id AS begin_id, h.next_ns AS end_ns, a.args AS end_args
FROM async_half AS h
LEFT JOIN (
    SELECT event_id, CAST(args AS VARCHAR) AS args
    FROM event WHERE ph IN ('e', 'F') AND args <> '{}'
) AS a ON a.event_id = h.next_id
WHERE h.begins AND NOT h.next_begins

-- @phase nest

-- @phase rows

-- @beside thread
WITH facts AS (
    SELECT
        pid, tid,
        json_group_object(
            name,
            coalesce(args->'$.sort_index', args->'$.labels', args)
        ) AS extra
    FROM (
        SELECT
            pid,
            CASE WHEN starts_with(name, 'process_') THEN NULL ELSE tid END AS tid,
            name, arg_max(args, event_id) AS args
        FROM event
        WHERE ph = 'M' AND name NOT IN ('process_name', 'thread_name')
            AND args IS NOT NULL
        GROUP BY ALL
    )
    GROUP BY pid, tid
),
ids AS (
    SELECT pid, tid FROM thread_seen
    UNION
    SELECT pid, tid FROM thread_name_of
    UNION
    SELECT pid, NULL FROM (
        SELECT pid FROM process_name_of UNION SELECT pid FROM facts WHERE tid IS NULL
    )
    WHERE pid NOT IN (SELECT pid FROM thread_seen WHERE pid IS NOT NULL)
    UNION
    SELECT pid, tid FROM facts WHERE tid IS NOT NULL
)
SELECT
    ids.pid, ids.tid, p.name AS process_name, t.name AS thread_name,
    raw_pid.raw AS raw_pid, raw_tid.raw AS raw_tid,
    nullif(json_merge_patch(
        coalesce(of_process.extra, '{}'), coalesce(of_thread.extra, '{}')
    ), '{}') AS extra
FROM ids
LEFT JOIN process_name_of AS p ON p.pid IS NOT DISTINCT FROM ids.pid
LEFT JOIN thread_name_of AS t
    ON t.pid IS NOT DISTINCT FROM ids.pid AND t.tid IS NOT DISTINCT FROM ids.tid
LEFT JOIN facts AS of_process
    ON of_process.pid IS NOT DISTINCT FROM ids.pid AND of_process.tid IS NULL
LEFT JOIN facts AS of_thread
    ON of_thread.pid IS NOT DISTINCT FROM ids.pid AND of_thread.tid = ids.tid
LEFT JOIN text_id AS raw_pid ON raw_pid.number = ids.pid
LEFT JOIN text_id AS raw_tid ON raw_tid.number = ids.tid
WHERE ids.pid IS NOT NULL OR ids.tid IS NOT NULL

-- @rows counter FROM event
-- Every number among the arguments is a series; text that is a number counts as one.
SELECT
    ts_ns, pid, value,
    concat_ws(
        ' ', nullif(name, ''), 'id:' || id_of(id, id2),
        nullif(CASE WHEN series IS DISTINCT FROM name THEN series END, '')
    ) AS name,
    counter_unit(name, cat) AS unit,
    CASE WHEN value IS NULL THEN 'not_a_number' END AS null_reason,
    CASE
        WHEN tid IS NOT NULL OR cat <> ''
            THEN to_json({'tid': tid, 'category': nullif(cat, '')})
    END AS extra
FROM (
    SELECT
        e.ts_ns, e.pid, e.tid, e.cat, e.name, e.id, e.id2, j.key AS series,
        CASE
            WHEN isfinite(TRY_CAST(j.value->>'$' AS DOUBLE))
                THEN TRY_CAST(j.value->>'$' AS DOUBLE)
        END AS value
    FROM event AS e, json_each(e.args) AS j
    WHERE e.ph = 'C' AND e.ts_ns IS NOT NULL AND json_type(e.args) = 'OBJECT'
        AND j.type <> 'OBJECT' AND j.type <> 'ARRAY'
)
WHERE coalesce(name, series) IS NOT NULL

-- @rows async_slice FROM event
SELECT
    e.ts_ns,
    CASE
        WHEN p.begin_id IS NOT NULL THEN p.end_ns - e.ts_ns
        WHEN e.ph NOT IN ('b', 'S') THEN greatest(coalesce(e.dur_ns, 0), 0)
    END AS dur_ns,
    e.name, nullif(e.cat, '') AS category, id_of(e.id, e.id2) AS id,
    coalesce(
        nullif(e.scope, ''), CASE WHEN e.id2->>'$.local' IS NOT NULL THEN 'local' END
    ) AS scope,
    e.pid, e.tid, e.ph IN ('b', 'S') AND p.end_ns IS NULL AS truncated,
    CASE
        WHEN e.ph NOT IN ('b', 'S') OR p.end_args IS NOT NULL
            THEN json_merge_patch(
                coalesce(extra_of(e.args, e.other), '{}'),
                CASE WHEN p.end_args IS NOT NULL
                    THEN '{"end_args":' || p.end_args || '}'
                    ELSE to_json({'ph': e.ph})
                END
            )
        ELSE extra_of(e.args, e.other)
    END AS extra
FROM event AS e
LEFT JOIN async_pair AS p ON p.begin_id = e.event_id
-- n, T and p are steps and instants within a span.
WHERE e.ts_ns IS NOT NULL AND e.ph IN ('b', 'S', 'n', 'T', 'p')

-- @rows object_event FROM event
SELECT
    ts_ns, name, id_of(id, id2) AS id,
    CASE ph WHEN 'N' THEN 'create' WHEN 'D' THEN 'delete' ELSE 'snapshot' END AS kind,
    CASE
        WHEN ph IN ('v', 'V') THEN args
        ELSE coalesce(args->'$.snapshot', nullif(args, '{}'))
    END AS snapshot,
    pid, tid,
    CASE
        WHEN cat <> '' OR scope <> '' OR ph IN ('v', 'V')
            THEN to_json({'ph': ph, 'category': cat, 'scope': scope})
    END AS extra
FROM event
WHERE ph IN ('N', 'O', 'D', 'v', 'V') AND ts_ns IS NOT NULL

-- @rows sample FROM event IF with_samples
SELECT
    ts_ns, pid, tid, TRY_CAST(args->>'$.cpu' AS INTEGER) AS cpu,
    extra_of(args, other) AS extra
FROM event
WHERE ph = 'P' AND ts_ns IS NOT NULL

-- @findings
SELECT code, severity, count(*), message, any_value(example)
FROM (
    SELECT
        CASE
            WHEN ph IS NULL THEN 'events_without_phase'
            WHEN ph NOT IN (
                'B', 'E', 'X', 'b', 'n', 'e', 'S', 'T', 'p', 'F', 's', 't', 'f', 'i',
                'I', 'R', 'C', 'M', 'N', 'O', 'D', 'P', 'v', 'V'
            ) THEN 'phase_without_table'
            WHEN ts_ns IS NULL AND ph <> 'M' THEN 'events_without_time'
            WHEN ph = 'X' AND dur_ns IS NULL THEN 'complete_without_duration'
            WHEN ph = 'X' AND dur_ns < 0 THEN 'negative_duration'
            WHEN ph = 'P' THEN 'samples_left_out'
            WHEN ph IN ('b', 'e', 'S', 'F') AND id_of(id, id2) IS NULL
                THEN 'async_without_id'
        END AS code,
        CASE code
            WHEN 'events_without_phase' THEN 'data_loss'
            WHEN 'events_without_time' THEN 'data_loss'
            WHEN 'phase_without_table' THEN 'info'
            WHEN 'samples_left_out' THEN 'info'
            ELSE 'warning'
        END AS severity,
        CASE code
            WHEN 'events_without_phase'
                THEN 'Events say no phase (ph): what they mean is unknown.'
            WHEN 'phase_without_table'
                THEN 'Events of phases that no table holds are left out: '
                    || 'clock synchronisation, contexts, unknown ones.'
            WHEN 'events_without_time'
                THEN 'Events have no start (ts), or one that is no number or lies beyond 64 '
                    || 'bits of nanoseconds: they are left out.'
            WHEN 'complete_without_duration'
                THEN 'Complete events (X) have no duration, or one that is no number or '
                    || 'lies beyond 64 bits of nanoseconds: it is NULL.'
            WHEN 'negative_duration'
                THEN 'Complete events (X) end before they start: '
                    || 'their duration is NULL.'
            WHEN 'samples_left_out'
                THEN 'CPU samples are left out: --with-samples imports them.'
            WHEN 'async_without_id'
                THEN 'Asynchronous begins and ends have no id: '
                    || 'the ends are left out, the begins have no end.'
        END AS message,
        concat_ws(' ', ph, name) AS example
    FROM event
    WHERE ph IS NULL OR ph IN ('b', 'e', 'S', 'F', 'P') OR ph NOT IN ('M', 'X')
        OR (ph = 'X' AND (dur_ns IS NULL OR dur_ns < 0)) OR ts_ns IS NULL
)
WHERE code IS NOT NULL
    AND NOT (code = 'samples_left_out' AND with_samples())
    AND NOT (code = 'events_without_phase' AND example = '')
GROUP BY code, severity, message
ORDER BY code

-- @diagnostic unmatched_end warning End events (E) fit no open range: they are left out.
SELECT count(*), any_value(name) FROM unmatched_end

-- @diagnostic unmatched_async_end warning Asynchronous ends (e, F) fit no open span: they are left out.
SELECT count(*), NULL FROM async_half
WHERE NOT begins AND NOT coalesce(after_begin, false)

-- @diagnostic unclosed_async info Asynchronous spans have no end: their duration is NULL.
SELECT count(*), NULL FROM async_half WHERE begins AND coalesce(next_begins, true)

-- @diagnostic unclosed_slice warning Ranges have a begin (B) but no end: their duration is NULL.
SELECT count(*), NULL FROM begin_end WHERE end_id IS NULL

-- @diagnostic time_outliers warning Stamps lie more than a day from most others: they stretch the time range.
SELECT count(*), min(concat_ws(' ', ph, name))
FROM event
WHERE ph <> 'M' AND abs(ts_ns - middle_ns()) > 86400000000000
