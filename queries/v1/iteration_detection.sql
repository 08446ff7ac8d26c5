-- @title Iterations detected without markers
-- Where a run marks no iteration: whether the launches of each process on each device
-- repeat, how, and how sure that is. One row per device and process, also where nothing
-- was detected. Launches are compared by kernel name and grid, or direction and bytes,
-- in the order of launch; the period is what most repetitions hold. Set-up, warm-up and
-- evaluation that do not resemble it are in no iteration. The confidence is a product:
-- repeat_share, times n / (n + 1) for n iterations, times 1 less twice the share of
-- other_launch_count in all from the first iteration on, times twice covered_share (at
-- most 1). Nothing is detected below 0.6, with fewer than three iterations, or where
-- fewer than three kinds of launch recur; a period has three launches at least, and at
-- most a third of the device's launches or 49,152, 16,384 beyond 147,456 launches.
-- An iteration begins with its first launch: what the host waits for before that, such
-- as input, counts in the iteration before.
-- @column run_id id key The run.
-- @column pid id key Process; NULL where the source does not say it.
-- @column device_id id key Device.
-- @column is_detected bool neutral Whether iterations were detected here.
-- @column confidence_share share higher How sure, from 0 to 1 (rule above).
-- @column abstained_because text neutral Why not, in words; NULL where detected.
-- @column iteration_count count neutral Repetitions found.
-- @column period_launch_count count neutral Launches of one iteration; NULL where
--     nothing recurs.
-- @column period_kind_count count neutral Kinds of launch among them.
-- @column repeat_share share higher How alike repetitions are: launches in common with
--     the period, with the three after each on its stream in the same order, over the
--     mean of the repetition's and the period's launches.
-- @column covered_share share higher Launches in iterations, over launch_count.
-- @column other_launch_count count lower Launches from the first iteration on of kinds
--     that the period lacks.
-- @column first_ns ns neutral Start of the first, ns since the run's origin.
-- @column last_ns ns neutral End of the last one's work, ns since the run's origin.
-- @column launch_count count neutral GPU operations whose launch is known.
-- @column unlaunched_count count lower GPU operations whose launch is not in the
--     capture, which no iteration can own.
-- @key run_id, pid, device_id
-- @requires kernel|memcpy|memset|graph_launch Record GPU work and its launches: nsys
--     profile -t cuda,nvtx
-- @since 0.2
CREATE MACRO iteration_detection() AS TABLE
SELECT
    run_id, pid, device_id, abstained_because IS NULL AS is_detected,
    confidence_share, abstained_because, iteration_count, period_launch_count,
    period_kind_count, repeat_share, covered_share, other_launch_count,
    start_ns AS first_ns, end_ns AS last_ns, launch_count,
    op_count - launch_count AS unlaunched_count
FROM v1._launch_periods()
WHERE iteration IS NULL
ORDER BY run_id, pid, device_id;
