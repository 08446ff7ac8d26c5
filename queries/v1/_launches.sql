-- @title Host calls that launched GPU work
-- One row per call that launched at least one GPU operation of known launch, numbered
-- by time on its thread from 1. The sums run over the calls of the thread up to this
-- one and those that began together with it, so that what a range of the thread
-- launched is the difference of two rows. Operations without a known duration, or with
-- a negative one, take no time.
-- @column run_id id key The run.
-- @column api_call_id id key The call.
-- @column pid id neutral Process of the call.
-- @column tid id neutral Thread of the call.
-- @column thread_hash id neutral One number for run, process and thread.
-- @column launch_ns ns neutral Start of the call, ns since the run's origin.
-- @column launch_no value neutral Number of the call on its thread, from 1.
-- @column gpu_op_count count neutral Operations that it launched.
-- @column first_start_ns ns neutral First start of them on a device.
-- @column last_end_ns ns neutral Last end of them.
-- @column upto_launch_count count neutral Calls of the thread up to here.
-- @column upto_op_count count neutral Operations launched up to here.
-- @column upto_kernel_count count neutral Kernels and whole graph launches among them.
-- @column upto_kernel_sum_ns ns neutral Sum of the durations of these.
-- @column upto_copy_sum_ns ns neutral Sum of the durations of copies and fills.
-- @key run_id, api_call_id
-- @since 0.2
CREATE MACRO _launches() AS TABLE
WITH called AS (
    SELECT
        run_id, api_call_id,
        count(*) AS gpu_op_count,
        count(*) FILTER (op_kind IN ('kernel', 'graph')) AS kernel_count,
        CAST(sum(greatest(dur_ns, 0)) AS BIGINT) AS op_sum_ns,
        CAST(sum(CASE WHEN op_kind IN ('kernel', 'graph') THEN greatest(dur_ns, 0) END)
            AS BIGINT) AS kernel_sum_ns,
        min(ts_ns) AS first_start_ns,
        max(ts_ns + greatest(coalesce(dur_ns, 0), 0)) AS last_end_ns
    FROM gpu_op
    WHERE api_call_id IS NOT NULL
    GROUP BY run_id, api_call_id
),
placed AS (
    SELECT
        called.run_id, called.api_call_id, api_call.pid, api_call.tid,
        hash(api_call.run_id, api_call.pid, api_call.tid) AS thread_hash,
        api_call.ts_ns AS launch_ns,
        called.gpu_op_count, called.kernel_count,
        coalesce(called.op_sum_ns, 0) AS op_sum_ns,
        coalesce(called.kernel_sum_ns, 0) AS kernel_sum_ns,
        called.first_start_ns, called.last_end_ns
    FROM called
    JOIN api_call
        ON called.run_id = api_call.run_id
        AND called.api_call_id = api_call.api_call_id
)
SELECT
    run_id, api_call_id, pid, tid, thread_hash, launch_ns,
    row_number() OVER (PARTITION BY thread_hash ORDER BY launch_ns, api_call_id)
        AS launch_no,
    gpu_op_count, first_start_ns, last_end_ns,
    count(*) OVER so_far AS upto_launch_count,
    CAST(sum(gpu_op_count) OVER so_far AS BIGINT) AS upto_op_count,
    CAST(sum(kernel_count) OVER so_far AS BIGINT) AS upto_kernel_count,
    CAST(sum(kernel_sum_ns) OVER so_far AS BIGINT) AS upto_kernel_sum_ns,
    CAST(sum(op_sum_ns - kernel_sum_ns) OVER so_far AS BIGINT) AS upto_copy_sum_ns
FROM placed
WINDOW so_far AS (
    PARTITION BY thread_hash ORDER BY launch_ns
    RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
);
