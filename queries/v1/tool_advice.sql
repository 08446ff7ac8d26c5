-- @title Advice of the source tool
-- What the tool that made the profile advised of itself: DLProf's expert system. It is
-- quoted, not checked; figures in it are the tool's, rounded as it rounds them. Advice
-- that the tool gave for several aggregations of a profile is one row.
-- @column run_id id key The run.
-- @column detector text key Rule of the tool that fired; NULL where the source names
--     none.
-- @column problem text key What it found.
-- @column recommendation text key What it advises; NULL for nothing.
-- @column advice_count count neutral How often the source says it.
-- @key run_id, detector, problem, recommendation
-- @requires advice DLProf gives advice: import dlprof_dldb.sqlite, or its report
--     expert_systems (dlprof --reports=expert_systems).
-- @since 0.2
CREATE MACRO tool_advice() AS TABLE
SELECT
    run_id, detector, problem, recommendation, count(*) AS advice_count
FROM advice
GROUP BY run_id, detector, problem, recommendation
ORDER BY run_id, detector, problem, recommendation;
