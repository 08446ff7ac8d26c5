-- @title Steps by what ran at once
-- Each step's time by the set of roles of which something ran, as a mask with bit i
-- for role i of _breakdown_work; nothing is no row. All that its process does counts
-- when it runs, on any thread or device; to a device's own step only that device's work
-- and the host's. A step of an unknown process takes what is
-- of processes without steps, and work of an unknown process belongs to the run's only
-- process with steps.
-- @param mode VARCHAR As in _breakdown_work.
-- @param pattern VARCHAR As in _iterations.
-- @since 0.2
CREATE MACRO _step_masks(
    mode VARCHAR := 'honest', pattern VARCHAR := NULL
) AS TABLE
WITH steps AS MATERIALIZED (
    SELECT run_id, pid, device_id, iteration, name, source, start_ns, end_ns
    FROM v1._breakdown_steps(mode := mode, pattern := pattern)
),
processes AS (
    SELECT
        run_id, pid, device_id,
        row_number() OVER (ORDER BY run_id, pid, device_id) AS process_no,
        count(DISTINCT coalesce(pid, -1)) OVER (PARTITION BY run_id) = 1 AS is_only
    FROM steps
    GROUP BY run_id, pid, device_id
),
owned AS (
    SELECT
        coalesce(own.process_no, other.process_no) AS process_no,
        work.role, work.start_ns, work.end_ns
    FROM v1._breakdown_work(mode := mode) AS work
    LEFT JOIN processes AS own
        ON work.run_id = own.run_id AND work.pid = own.pid
        AND (own.device_id IS NULL OR work.is_host OR work.device_id = own.device_id)
    LEFT JOIN processes AS other
        ON work.run_id = other.run_id
        AND (
            other.device_id IS NULL OR work.is_host
            OR work.device_id = other.device_id
        )
        AND (other.pid IS NULL OR (other.is_only AND work.pid IS NULL))
    WHERE coalesce(own.process_no, other.process_no) IS NOT NULL
),
-- Windows without an order stream over the sorted rows, in half the time. The lane, far
-- above any time, keeps what a process has reached in a role from the next lane's rows.
lanes AS (
    SELECT
        process_no, role, start_ns, end_ns,
        CAST(process_no * 16 + role AS HUGEINT) << 64 AS lane
    FROM owned
    ORDER BY process_no, role, start_ns
),
reached AS (
    SELECT
        process_no, role, start_ns, end_ns, lane,
        max(lane + end_ns) OVER (ROWS UNBOUNDED PRECEDING) AS end_so_far
    FROM lanes
),
-- Disjoint pieces of each role.
pieces AS (
    SELECT
        process_no, role, end_ns,
        CAST(greatest(start_ns, lag(end_so_far) OVER () - lane) AS BIGINT) AS from_ns
    FROM reached
    QUALIFY end_ns > from_ns
),
borders AS MATERIALIZED (
    SELECT
        process_no, at_ns,
        row_number() OVER (ORDER BY process_no, at_ns) AS border_no
    FROM (
        SELECT processes.process_no, steps.start_ns AS at_ns
        FROM steps
        JOIN processes
            ON steps.run_id = processes.run_id
            AND steps.pid IS NOT DISTINCT FROM processes.pid
            AND steps.device_id IS NOT DISTINCT FROM processes.device_id
        UNION
        SELECT processes.process_no, steps.end_ns
        FROM steps
        JOIN processes
            ON steps.run_id = processes.run_id
            AND steps.pid IS NOT DISTINCT FROM processes.pid
            AND steps.device_id IS NOT DISTINCT FROM processes.device_id
    )
),
-- A change of the roles in the low 16 bits, of the borders passed above them.
moments AS (
    SELECT process_no, at_ns, change
    FROM (
        SELECT
            process_no, unnest([from_ns, end_ns]) AS at_ns,
            unnest([1 << role, -(1 << role)]) AS change
        FROM pieces
        UNION ALL
        SELECT process_no, at_ns, 1 << 16 FROM borders
    )
    ORDER BY process_no, at_ns
),
-- A process ends without a role. Within a tie the running sums mean nothing, and have
-- no time.
swept AS (
    SELECT
        process_no,
        CAST(sum(change) OVER (ROWS UNBOUNDED PRECEDING) AS BIGINT) AS state,
        lead(at_ns) OVER () - at_ns AS time_ns
    FROM moments
),
totals AS (
    SELECT process_no, state, sum(time_ns) AS time_ns
    FROM swept
    WHERE time_ns > 0
    GROUP BY process_no, state
),
measured AS (
    SELECT
        process_no, state >> 16 AS border_no, CAST(state & 65535 AS INTEGER) AS mask,
        time_ns
    FROM totals
    WHERE state & 65535 > 0
),
-- One border after the other: joined at once, DuckDB may first pair all borders of a
-- process.
begun AS MATERIALIZED (
    SELECT
        steps.run_id, steps.pid, steps.device_id, steps.iteration, steps.end_ns,
        processes.process_no, borders.border_no
    FROM steps
    JOIN processes
        ON steps.run_id = processes.run_id
        AND steps.pid IS NOT DISTINCT FROM processes.pid
        AND steps.device_id IS NOT DISTINCT FROM processes.device_id
    JOIN borders
        ON processes.process_no = borders.process_no AND steps.start_ns = borders.at_ns
),
-- Most steps lie between two neighbouring borders; overlapping ones span more.
tiled AS (
    SELECT
        begun.run_id, begun.pid, begun.device_id, begun.iteration, begun.process_no,
        unnest(range(begun.border_no, borders.border_no)) AS border_no
    FROM begun
    JOIN borders
        ON begun.process_no = borders.process_no AND begun.end_ns = borders.at_ns
)
SELECT
    tiled.run_id, tiled.pid, tiled.device_id, tiled.iteration, measured.mask,
    CAST(sum(measured.time_ns) AS BIGINT) AS time_ns
FROM tiled
JOIN measured
    ON tiled.process_no = measured.process_no
    AND tiled.border_no = measured.border_no
GROUP BY
    tiled.run_id, tiled.pid, tiled.device_id, tiled.iteration, measured.mask;
