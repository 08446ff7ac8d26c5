-- Arrows between events. The old form has events of its own: s starts, t passes on, f
-- ends, matched by id, category and name. The new one marks slices with bind_id and
-- flow_out, flow_in. An arrow leaves the last event that could send it.
-- `flow_table(id)` names the table that holds a row; dialects with several replace it.

-- @prepare
CREATE MACRO flow_table(id) AS CASE WHEN id IS NOT NULL THEN 'slice' END;
-- Whether an arrow's id names a range: of several that begin with it, this one it is.
CREATE MACRO is_named_by(range_id, arrow_id, cat) AS false;

-- @phase nest

-- @prepare
-- Nearly every end of an arrow stands where a range begins: then the innermost that
-- begins there holds it. The others are looked for among all ranges of their thread.
CREATE TABLE flow_end AS
WITH ends AS (
    SELECT
        event_id, ph, name, cat, pid, tid, ts_ns, bp,
        coalesce(id, CAST(id2 AS VARCHAR), bind_id) AS id,
        extra_of(args, other) AS extra
    FROM event
    WHERE ph IN ('s', 't', 'f') AND ts_ns IS NOT NULL
),
begun AS (
    SELECT
        pid, tid, ts_ns,
        arg_min(id, CAST(end_ns AS HUGEINT) * row_key(2, 0) - id) AS id,
        arg_min(held_in, CAST(end_ns AS HUGEINT) * row_key(2, 0) - id) AS held_in,
        count(*) AS choices
    FROM thread_range
    WHERE EXISTS (FROM ends)
    GROUP BY ALL
)
SELECT e.*, b.id AS within_id, b.held_in, b.choices
FROM ends AS e
LEFT JOIN begun AS b
    ON b.pid IS NOT DISTINCT FROM e.pid AND b.tid IS NOT DISTINCT FROM e.tid
    AND b.ts_ns = e.ts_ns;
UPDATE flow_end SET within_id = named.id, held_in = named.held_in
FROM (
    SELECT e.event_id, min(r.id) AS id, any_value(r.held_in) AS held_in
    FROM flow_end AS e
    JOIN thread_range AS r
        ON r.pid IS NOT DISTINCT FROM e.pid AND r.tid IS NOT DISTINCT FROM e.tid
        AND r.ts_ns = e.ts_ns
    WHERE e.choices > 1 AND is_named_by(r.id, e.id, e.cat)
    GROUP BY e.event_id
) AS named
WHERE named.event_id = flow_end.event_id;
CREATE TABLE flow_point AS
SELECT row_key(2, min(event_id)) AS id, pid, tid, ts_ns, ts_ns AS end_ns
FROM flow_end
WHERE within_id IS NULL
GROUP BY ALL

-- @phase rows

-- @phase flows

-- @prepare
CREATE VIEW held_flow_end AS
SELECT
    e.* EXCLUDE (within_id, held_in, choices),
    coalesce(e.within_id, n.parent_id) AS within_id,
    coalesce(e.held_in, n.held_in) AS held_in
FROM flow_end AS e
LEFT JOIN (
    SELECT
        p.pid, p.tid, p.ts_ns, n.parent_id, flow_table(n.parent_id) AS held_in
    FROM flow_point AS p JOIN nested AS n USING (id)
) AS n
    ON n.pid IS NOT DISTINCT FROM e.pid AND n.tid IS NOT DISTINCT FROM e.tid
    AND n.ts_ns = e.ts_ns;
-- Nearly every chain is a start and one more end: such a pair needs no window.
CREATE TABLE flow_chain AS
SELECT
    id, cat, name, count(*) AS ends, count(*) FILTER (ph = 's') AS starts,
    any_value(struct_pack(pid, tid, ts_ns, within_id, held_in))
        FILTER (ph = 's') AS source,
    any_value(struct_pack(ph, bp, pid, tid, ts_ns, within_id, held_in, extra))
        FILTER (ph <> 's') AS target
FROM held_flow_end
GROUP BY id, cat, name;
CREATE VIEW chained_flow_end AS
SELECT *, lag(ph) OVER chain AS ph_before, lead(ph) OVER chain AS ph_after
FROM (
    SELECT
        e.*,
        -- A lone pair needs no order in time: clocks of device and host may differ.
        CASE WHEN c.ends > 2 THEN e.ts_ns ELSE 0 END AS turn,
        CASE e.ph WHEN 's' THEN 0 WHEN 't' THEN 1 ELSE 2 END AS place
    FROM held_flow_end AS e
    JOIN flow_chain AS c
        ON c.id IS NOT DISTINCT FROM e.id AND c.cat IS NOT DISTINCT FROM e.cat
        AND c.name IS NOT DISTINCT FROM e.name
    WHERE c.ends <> 2 OR c.starts <> 1
)
WINDOW chain AS (PARTITION BY id, cat, name ORDER BY turn, place, event_id)

-- @diagnostic unmatched_flow_end info Ends of arrows have no other end: they are left out.
SELECT count(*), min(concat_ws(' ', ph, name))
FROM chained_flow_end
WHERE CASE
    WHEN ph = 's' THEN coalesce(ph_after = 's', true)
    ELSE coalesce(ph_before = 'f', true)
END

-- @beside flow
WITH arrow AS (
    SELECT id, cat, name, source, target
    FROM flow_chain
    WHERE ends = 2 AND starts = 1
    UNION ALL
    SELECT
        id, cat, name, lag(struct_pack(pid, tid, ts_ns, within_id, held_in)) OVER chain,
        struct_pack(ph, bp, pid, tid, ts_ns, within_id, held_in, extra)
    FROM chained_flow_end
    WINDOW chain AS (PARTITION BY id, cat, name ORDER BY turn, place, event_id)
    QUALIFY ph IN ('t', 'f') AND ph_before IN ('s', 't')
),
starts AS (
    SELECT pid, tid, ts_ns, min(event_key(event_id)) AS id
    FROM slice_event
    WHERE EXISTS (FROM flow_end WHERE ph = 'f' AND bp IS DISTINCT FROM 'e')
    GROUP BY ALL
),
reached AS (
    -- An f without bp ends at the next slice of its thread, all others where they are.
    SELECT *, target.within_id AS to_id, target.held_in AS to_table
    FROM arrow
    WHERE target.ph <> 'f' OR target.bp = 'e'
    UNION ALL
    SELECT a.*, next.id, flow_table(next.id)
    FROM (
        SELECT * FROM arrow WHERE target.ph = 'f' AND target.bp IS DISTINCT FROM 'e'
    ) AS a
    ASOF LEFT JOIN starts AS next
        ON next.pid IS NOT DISTINCT FROM a.target.pid
        AND next.tid IS NOT DISTINCT FROM a.target.tid
        AND next.ts_ns >= a.target.ts_ns
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
    source.pid AS from_pid, source.tid AS from_tid, source.ts_ns AS from_ts_ns,
    source.held_in AS from_table, source.within_id AS from_id,
    target.pid AS to_pid, target.tid AS to_tid, target.ts_ns AS to_ts_ns,
    to_table, to_id, target.extra
FROM reached
UNION ALL
SELECT
    coalesce(nullif(s.cat, ''), 'flow'), s.bind_id,
    b.pid, b.tid, b.ts_ns, flow_table(s.from_id), s.from_id,
    s.pid, s.tid, s.ts_ns, flow_table(s.id), s.id, NULL
FROM sent AS s
JOIN bound AS b ON b.id = s.from_id
WHERE s.flow_in
