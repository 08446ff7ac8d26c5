-- @title Launched operations and annotation ranges on one line
-- Thread after thread, in the order of time, a row per GPU operation at the start of
-- its launching call, and a row per start and end of each range that may hold calls.
-- One sort serves every look-up: what a range launched is the difference of its two
-- rows, however deep ranges nest. A piece is what lies between two neighbouring
-- borders: every range is whole pieces. Numbers and sums run on from thread to thread.
-- Threads without a range are left out.
-- @column run_id id key The run.
-- @column thread_hash id key One number for run, process and thread.
-- @column what value neutral 0 start of a range, 1 end of a range, 2 operation. Calls
--     that begin at a border come after it.
-- @column annotation_id id neutral The range; NULL for an operation.
-- @column start_ns ns neutral Start of the operation on its device.
-- @column dur_ns ns neutral Its duration; NULL where it is not known, or negative.
-- @column piece_no value key Borders up to here.
-- @column launch_no value neutral Launching calls up to here: for an operation, the
--     number of its call.
-- @column upto_op_count count key Operations launched up to here.
-- @column upto_kernel_count count neutral Kernels and whole graph launches among them.
-- @column upto_kernel_sum_ns ns neutral Sum of the durations of these.
-- @column upto_copy_sum_ns ns neutral Sum of the durations of copies and fills.
-- @key run_id, thread_hash, piece_no, upto_op_count
-- @since 0.2
CREATE MACRO _annotation_line() AS TABLE
WITH ranges AS (
    SELECT run_id, annotation_id, thread_hash, start_ns, end_ns
    FROM v1._annotation_ranges()
    WHERE is_one_thread AND end_ns > start_ns
),
threads AS MATERIALIZED (
    SELECT
        run_id, thread_hash, CAST(row_number() OVER () AS INTEGER) AS thread_no
    FROM (SELECT DISTINCT run_id, thread_hash FROM ranges)
),
-- Before the sort begins: a join beside it would take the memory that it needs.
launched AS MATERIALIZED (
    SELECT
        hash(api_call.run_id, api_call.pid, api_call.tid) AS thread_hash,
        api_call.ts_ns AS at_ns, 2::TINYINT AS what, NULL AS annotation_id,
        api_call.api_call_id,
        gpu_op.op_kind IN ('kernel', 'graph') AS is_kernel,
        gpu_op.ts_ns AS start_ns,
        CASE WHEN gpu_op.dur_ns >= 0 THEN gpu_op.dur_ns END AS dur_ns
    FROM gpu_op
    JOIN api_call
        ON gpu_op.run_id = api_call.run_id AND gpu_op.api_call_id = api_call.api_call_id
),
line AS (
    SELECT
        thread_hash, at_ns, what, annotation_id, api_call_id, is_kernel, start_ns,
        dur_ns
    FROM launched
    UNION ALL
    SELECT thread_hash, start_ns, 0, annotation_id, NULL, false, NULL, NULL
    FROM ranges
    UNION ALL
    SELECT thread_hash, end_ns, 1, annotation_id, NULL, false, NULL, NULL
    FROM ranges
),
-- A sort spills while its key has 24 bytes at most and its rows are narrow, so threads
-- go by a short number; and windows without an order of their own run over sorted rows
-- as they come.
sorted AS (
    SELECT
        threads.thread_no, line.at_ns, line.what, line.annotation_id, line.api_call_id,
        line.is_kernel, line.start_ns, line.dur_ns
    FROM line
    JOIN threads ON line.thread_hash = threads.thread_hash
    ORDER BY threads.thread_no, line.at_ns, line.api_call_id NULLS FIRST
),
numbered AS (
    SELECT
        thread_no, what, annotation_id, is_kernel, start_ns, dur_ns,
        what = 2 AND (
            api_call_id IS DISTINCT FROM lag(api_call_id) OVER ()
            OR thread_no IS DISTINCT FROM lag(thread_no) OVER ()
        ) AS is_first_op
    FROM sorted
),
summed AS (
    SELECT
        thread_no, what, annotation_id, start_ns, dur_ns,
        count(*) FILTER (what < 2) OVER so_far AS piece_no,
        count(*) FILTER (is_first_op) OVER so_far AS launch_no,
        count(*) FILTER (what = 2) OVER so_far AS upto_op_count,
        count(*) FILTER (is_kernel) OVER so_far AS upto_kernel_count,
        CAST(sum(CASE WHEN is_kernel THEN coalesce(dur_ns, 0) ELSE 0 END) OVER so_far
            AS BIGINT) AS upto_kernel_sum_ns,
        CAST(sum(CASE WHEN is_kernel THEN 0 ELSE coalesce(dur_ns, 0) END) OVER so_far
            AS BIGINT) AS upto_copy_sum_ns
    FROM numbered
    WINDOW so_far AS (ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
)
SELECT
    threads.run_id, threads.thread_hash, summed.what, summed.annotation_id,
    summed.start_ns, summed.dur_ns, summed.piece_no, summed.launch_no,
    summed.upto_op_count, summed.upto_kernel_count, summed.upto_kernel_sum_ns,
    summed.upto_copy_sum_ns
FROM summed
JOIN threads ON summed.thread_no = threads.thread_no;
