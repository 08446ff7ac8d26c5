-- Which operation of a DLProf database a call in the Nsight Systems capture belongs to.
-- Facts: DLProf keeps process, thread, start and end of a call unchanged.

-- @phase device

-- @prepare
INSERT INTO op_of_call
SELECT c.api_call_id, min(e.op_id)
FROM written.api_call AS c
JOIN dlprof.event_of_op AS e
    ON e.pid = c.pid AND e.tid = c.tid AND e.api_start = c.ts_ns
    AND e.api_stop = c.ts_ns + c.dur_ns
WHERE e.op_id IS NOT NULL
GROUP BY c.api_call_id

-- @phase rest

-- @diagnostic unjoined_events warning Kernels, copies and fills of the DLProf database have no call of the same times in the capture: no operation owns them.
SELECT count(*), NULL
FROM dlprof.event_of_op AS e
WHERE e.kind <= 3 AND e.op_id IS NOT NULL AND NOT EXISTS (
    FROM written.api_call AS c
    WHERE e.pid = c.pid AND e.tid = c.tid AND e.api_start = c.ts_ns
        AND e.api_stop = c.ts_ns + c.dur_ns
)
