-- @kind capture
-- @section iterations
-- @uses iteration_timing
-- @threshold ≥ 20 % of busy GPU time in no iteration
-- @says {{ outside_pct | pct }} of the GPU's busy time belongs to no iteration
--     ({{ outside_ns | ns }}): set-up, evaluation, or iterations that are not marked.
-- @do
SELECT
    outside_ns, 100 * outside_ns / busy_ns AS outside_pct, NULL AS saving_ns,
    NULL AS of_ns
FROM (
    SELECT
        sum(busy_union_ns) FILTER (iteration IS NULL) AS outside_ns,
        sum(busy_union_ns) AS busy_ns, count(iteration) AS iteration_rows
    FROM iteration_timing
)
WHERE iteration_rows > 0 AND outside_ns >= 0.2 * busy_ns
