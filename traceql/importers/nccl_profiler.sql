-- What NCCL's example profiler plug-in says beyond any trace: its collectives and its
-- sends and receives are asynchronous spans (also in async_slice) with their size, type
-- and ranks. Their end is when the host was done with them, not the GPU.

-- @prepare
CREATE MACRO nccl_dtype(word) AS
    CASE replace(lower(word), 'nccl', '')
        WHEN 'float' THEN 'float32' WHEN 'double' THEN 'float64'
        WHEN 'half' THEN 'float16' WHEN 'char' THEN 'int8' WHEN 'int' THEN 'int32'
        ELSE nullif(replace(lower(word), 'nccl', ''), '')
    END;
CREATE MACRO nccl_name(word) AS
    CASE lower(word)
        WHEN 'allreduce' THEN 'all_reduce' WHEN 'allgather' THEN 'all_gather'
        WHEN 'reducescatter' THEN 'reduce_scatter' WHEN 'alltoall' THEN 'all_to_all'
        ELSE lower(word)
    END

-- @phase nest

-- @phase rows

-- @rows collective FROM event
SELECT
    e.ts_ns, p.end_ns - e.ts_ns AS dur_ns, nccl_name(e.name) AS name,
    TRY_CAST(e.args->>'$.Count' AS BIGINT) AS in_elements,
    nccl_dtype(e.args->>'$.Datatype') AS dtype,
    in_elements * CASE
        WHEN dtype IN ('float64', 'int64', 'uint64') THEN 8
        WHEN dtype IN ('float32', 'int32', 'uint32') THEN 4
        WHEN dtype IN ('float16', 'bfloat16') THEN 2
        WHEN dtype IN ('int8', 'uint8') OR starts_with(dtype, 'float8') THEN 1
    END AS bytes,
    e.args->>'$.CommHash' AS group_name, TRY_CAST(e.args->>'$.Rank' AS INTEGER) AS rank,
    nullif(
        CAST(json_merge_patch(
            e.args, '{"Count":null,"Datatype":null,"CommHash":null,"Rank":null}'
        ) AS VARCHAR), '{}'
    ) AS extra
FROM event AS e
LEFT JOIN async_pair AS p ON p.begin_id = e.event_id
WHERE e.ph = 'b' AND e.cat IN ('COLL', 'P2P') AND e.ts_ns IS NOT NULL

-- @run
SELECT 'NCCL profiler plug-in' AS tool, NULL AS host, NULL AS environment
