-- Waits in which the GPU had run out of work: of the thread with most, and what each of
-- them can cost at most is the time in which no device ran anything while it waited.
-- @kind limit
-- @section synchronisation
-- @uses sync_stalls, focus_summary
-- @threshold a thread waits in synchronising calls while no GPU runs for ≥ 5 % of the
--     window
-- @of {{ of_text }}
-- @says A host thread spends {{ idle_ns | ns }} of {{ of_text }} in
--     {{ call_count | counted("synchronising call") }} while no GPU runs anything, most of
--     it in <code>{{ name | cut }}</code>
--     {%- if annotation %} under <code>{{ annotation | cut }}</code>{% endif %}.
-- @do Wait for the one stream or event that the result needs, later, or not at all.
WITH threads AS (
    SELECT
        run_id, pid, tid, sum(gpu_idle_ns) AS idle_ns, sum(call_count) AS call_count,
        arg_max(name, gpu_idle_ns) AS name,
        arg_max({'text': annotation}, gpu_idle_ns).text AS annotation
    FROM sync_stalls
    GROUP BY run_id, pid, tid
)
SELECT
    threads.idle_ns, threads.call_count, threads.name, threads.annotation,
    threads.idle_ns AS saving_ns,
    focus_summary.window_end_ns - focus_summary.window_start_ns AS of_ns,
    CASE focus_summary.window_name WHEN 'steps' THEN 'the iterations'
        ELSE 'the GPU window' END AS of_text
FROM threads
JOIN focus_summary ON threads.run_id = focus_summary.run_id
WHERE threads.idle_ns
    >= 0.05 * (focus_summary.window_end_ns - focus_summary.window_start_ns)
ORDER BY threads.idle_ns DESC, threads.pid, threads.tid
LIMIT 1
