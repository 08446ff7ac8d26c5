-- @title Calls in which the host waits for the GPU
-- One row per call of a runtime or driver API that returns only when work of the GPU is
-- done, by its name: synchronisation of a device or context, a stream or an event, and
-- copies and fills that are not asynchronous. A call inside another of them (a driver
-- call under a runtime call) is left out, so that those of a thread do not overlap. A
-- call without a known duration, or with a negative one, takes no time.
-- @column run_id id key The run.
-- @column api_call_id id key The call.
-- @column sync_kind text neutral device, stream, event, copy or fill.
-- @column api text neutral cuda_runtime, cuda_driver, hip.
-- @column name text neutral Function.
-- @column pid id neutral Process.
-- @column tid id neutral Thread.
-- @column start_ns ns neutral Start, ns since the run's origin.
-- @column end_ns ns neutral End.
-- @key run_id, api_call_id
-- @since 0.2
CREATE MACRO _sync_calls() AS TABLE
WITH named AS (
    SELECT
        run_id, api_call_id, api, name, pid, tid, ts_ns AS start_ns,
        ts_ns + greatest(coalesce(dur_ns, 0), 0) AS end_ns,
        CASE regexp_extract(
            name,
            '^(cuda|hip|cu)(Device|Thread|Ctx|Stream|Event|Memcpy|Memset)'
            '([A-Za-z0-9_]*)',
            2
        )
            WHEN 'Device' THEN 'device'
            WHEN 'Thread' THEN 'device'
            WHEN 'Ctx' THEN 'device'
            WHEN 'Stream' THEN 'stream'
            WHEN 'Event' THEN 'event'
            WHEN 'Memcpy' THEN 'copy'
            WHEN 'Memset' THEN 'fill'
        END AS sync_kind
    FROM api_call
)
SELECT run_id, api_call_id, sync_kind, api, name, pid, tid, start_ns, end_ns
FROM named
WHERE CASE
    WHEN sync_kind IN ('copy', 'fill') THEN NOT contains(name, 'Async')
    ELSE sync_kind IS NOT NULL AND contains(name, 'Synchronize')
END
QUALIFY coalesce(end_ns > max(end_ns) OVER (
    PARTITION BY run_id, pid, tid
    ORDER BY start_ns, end_ns DESC, api_call_id DESC
    ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
), true);
