-- @title What each annotation range launched
-- One row per range in which its thread launched GPU work, of any depth, crossing or
-- not: the launching call began from the range's start to before its end, on the thread
-- on which the range started and ended. These calls are the numbers after after_no up
-- to upto_no of _launches, so that two look-ups a range give all of it, however deep
-- ranges nest. A range of no length launches nothing.
-- @column run_id id key The run.
-- @column annotation_id id key The range.
-- @column thread_hash id neutral One number for run, process and thread.
-- @column start_ns ns neutral Start of the range, ns since the run's origin.
-- @column end_ns ns neutral End of the range.
-- @column after_no value neutral Calls of the thread before the range.
-- @column upto_no value neutral Calls of the thread before the range's end.
-- @column gpu_op_count count neutral Operations launched in it.
-- @column kernel_count count neutral Kernels and whole graph launches among them.
-- @column kernel_sum_ns ns neutral Sum of their durations.
-- @column copy_sum_ns ns neutral Sum of the durations of copies and fills.
-- @key run_id, annotation_id
-- @since 0.2
CREATE MACRO _annotation_launches() AS TABLE
WITH launches AS (
    SELECT
        thread_hash, launch_ns, upto_launch_count, upto_op_count, upto_kernel_count,
        upto_kernel_sum_ns, upto_copy_sum_ns
    FROM v1._launches()
),
ended AS (
    SELECT
        part.run_id, part.annotation_id, part.thread_hash, part.start_ns, part.end_ns,
        launches.upto_launch_count AS upto_no, launches.upto_op_count,
        launches.upto_kernel_count, launches.upto_kernel_sum_ns,
        launches.upto_copy_sum_ns
    FROM v1._annotation_ranges() AS part
    ASOF JOIN launches
        ON part.thread_hash = launches.thread_hash AND part.end_ns > launches.launch_ns
    WHERE part.is_one_thread AND part.end_ns > part.start_ns
        AND launches.launch_ns >= part.start_ns
)
SELECT
    ended.run_id, ended.annotation_id, ended.thread_hash, ended.start_ns, ended.end_ns,
    coalesce(launches.upto_launch_count, 0) AS after_no, ended.upto_no,
    ended.upto_op_count - coalesce(launches.upto_op_count, 0) AS gpu_op_count,
    ended.upto_kernel_count - coalesce(launches.upto_kernel_count, 0) AS kernel_count,
    ended.upto_kernel_sum_ns - coalesce(launches.upto_kernel_sum_ns, 0)
        AS kernel_sum_ns,
    ended.upto_copy_sum_ns - coalesce(launches.upto_copy_sum_ns, 0) AS copy_sum_ns
FROM ended
ASOF LEFT JOIN launches
    ON ended.thread_hash = launches.thread_hash AND ended.start_ns > launches.launch_ns;
