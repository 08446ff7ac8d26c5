-- Arrows between events. The old form has events of its own: s starts, t passes on, f
-- ends, matched by id, category and name. The new one marks slices with bind_id and
-- flow_out, flow_in. An arrow leaves the last event that could send it.
-- `flow_table(id)` names the table that holds a row; dialects with several replace it.

-- @prepare
CREATE MACRO flow_table(id) AS CASE WHEN id IS NOT NULL THEN 'slice' END;

-- @phase nest

-- @phase rows

-- @phase flows

-- @beside flow
WITH ends AS (
    SELECT
        e.event_id, e.ph, e.name, e.cat, e.pid, e.tid, e.ts_ns, e.bp,
        coalesce(e.id, CAST(e.id2 AS VARCHAR), e.bind_id) AS id,
        p.id AS point_id, extra_of(e.args, e.other) AS extra
    FROM event AS e
    JOIN flow_point AS p
        ON p.pid IS NOT DISTINCT FROM e.pid AND p.tid IS NOT DISTINCT FROM e.tid
        AND p.ts_ns = e.ts_ns
    WHERE e.ph IN ('s', 't', 'f')
),
counted AS (
    SELECT *, count(*) OVER (PARTITION BY id, cat, name) AS ends
    FROM ends
),
ordered AS (
    SELECT
        *,
        -- A lone pair needs no order in time: clocks of device and host may differ.
        CASE WHEN ends > 2 THEN ts_ns ELSE 0 END AS turn,
        CASE ph WHEN 's' THEN 0 WHEN 't' THEN 1 ELSE 2 END AS place
    FROM counted
),
arrow AS (
    SELECT
        *,
        lag(ph) OVER chain AS from_ph, lag(pid) OVER chain AS from_pid,
        lag(tid) OVER chain AS from_tid, lag(ts_ns) OVER chain AS from_ts_ns,
        lag(point_id) OVER chain AS from_point_id, lag(bp) OVER chain AS from_bp
    FROM ordered
    WINDOW chain AS (
        PARTITION BY id, cat, name ORDER BY turn, place, event_id
    )
    QUALIFY ph IN ('t', 'f') AND from_ph IN ('s', 't')
),
starts AS (
    SELECT pid, tid, ts_ns, min(event_key(event_id)) AS id
    FROM slice_event
    WHERE EXISTS (FROM arrow WHERE ph = 'f')
    GROUP BY ALL
),
reached AS (
    -- An f without bp ends at the next slice of its thread, all others where they are.
    SELECT
        a.*, source.parent_id AS from_id,
        CASE
            WHEN a.ph = 'f' AND a.bp IS DISTINCT FROM 'e' THEN next.id
            ELSE target.parent_id
        END AS to_id
    FROM arrow AS a
    LEFT JOIN nested AS source ON source.id = a.from_point_id
    LEFT JOIN nested AS target ON target.id = a.point_id
    ASOF LEFT JOIN starts AS next
        ON next.pid IS NOT DISTINCT FROM a.pid AND next.tid IS NOT DISTINCT FROM a.tid
        AND next.ts_ns >= a.ts_ns
),
bound AS (
    SELECT
        event_key(event_id) AS id, event_id, pid, tid, ts_ns, cat, bind_id,
        coalesce(flow_in, false) AS flow_in, coalesce(flow_out, false) AS flow_out
    FROM slice_event
    WHERE bind_id IS NOT NULL AND (flow_in OR flow_out)
),
sent AS (
    SELECT
        *,
        last_value(CASE WHEN flow_out THEN id END IGNORE NULLS) OVER (
            PARTITION BY bind_id ORDER BY ts_ns, event_id
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS from_id
    FROM bound
)
SELECT
    coalesce(nullif(name, ''), nullif(cat, ''), 'flow') AS kind, id,
    from_pid, from_tid, from_ts_ns, flow_table(from_id) AS from_table, from_id,
    pid AS to_pid, tid AS to_tid, ts_ns AS to_ts_ns,
    flow_table(to_id) AS to_table, to_id, extra
FROM reached
UNION ALL
SELECT
    coalesce(nullif(s.cat, ''), 'flow'), s.bind_id,
    b.pid, b.tid, b.ts_ns, flow_table(s.from_id), s.from_id,
    s.pid, s.tid, s.ts_ns, flow_table(s.id), s.id, NULL
FROM sent AS s
JOIN bound AS b ON b.id = s.from_id
WHERE s.flow_in
