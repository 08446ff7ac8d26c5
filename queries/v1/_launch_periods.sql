-- @title Period of the launch sequence
-- Iterations without markers: where the launches of a process on a device repeat. One
-- row per iteration found, and per device and process one row with a NULL iteration
-- that says what was found, or why nothing was. Only runs that mark no iteration are
-- looked at.
--
-- A launch becomes a token: kernel name and grid, or direction and bytes; name or
-- direction alone where that occurs fewer than three times. Tokens are ordered by
-- launch; what has no known launch is left out. A gram is a token and those after it on
-- its stream (1, 2, 4, 8 or 16), so that streams may mix differently each time.
-- 1. Anchors: grams that recur at regular distances. Up to six distances, those that
--    explain most launches, are tried; up to 147,456 launches of a device all count,
--    beyond that its first, middle and last 49,152. The largest period is a third of
--    that: 49,152 launches, 16,384 in longer captures.
-- 2. A trial cuts at its anchor. What most pieces of usual length hold is the template;
--    a trial explains the launches that its pieces share with it, as grams of four.
--    A longer period beats a shorter one when most of what it adds are tokens that the
--    shorter lacks (layers within a step); else that is evaluation between iterations,
--    and the shorter wins.
-- 3. Landmarks are grams that occur once a period. The iteration begins before or right
--    after one: where a few starts leave nothing but whole periods, at that of the
--    longest pause; else (the capture begins and ends anywhere, or launches slip in)
--    at a pause twice as long as any other; else where most whole periods remain, the
--    first in order.
-- 4. The whole capture is cut there. A piece is an iteration when its first launches
--    (1.25 times the template and four) hold 75 % of the template; it ends with the
--    last of those. What follows in the piece, and what comes before, is in none.
-- @since 0.2
CREATE MACRO _launch_periods() AS TABLE
WITH unmarked AS MATERIALIZED (
    SELECT run.run_id
    FROM run
    ANTI JOIN v1._marked_iterations() AS marked ON run.run_id = marked.run_id
),
launches AS MATERIALIZED (
    SELECT
        hash(run_id, pid, device_id) AS seq, run_id, pid, device_id,
        hash(context_id, stream_id) AS stream, launch_ts_ns, ts_ns,
        ts_ns + CASE WHEN dur_ns > 0 THEN dur_ns ELSE 0 END AS end_ns,
        hash(0, coalesce(short_name, name), grid_x, grid_y, grid_z) AS fine,
        hash(0, coalesce(short_name, name)) AS coarse
    FROM kernel
    SEMI JOIN unmarked USING (run_id)
    UNION ALL
    SELECT
        hash(run_id, pid, device_id), run_id, pid, device_id,
        hash(context_id, stream_id), launch_ts_ns, ts_ns,
        ts_ns + CASE WHEN dur_ns > 0 THEN dur_ns ELSE 0 END,
        hash(1, kind, bytes), hash(1, kind)
    FROM memcpy
    SEMI JOIN unmarked USING (run_id)
    UNION ALL
    SELECT
        hash(run_id, pid, device_id), run_id, pid, device_id,
        hash(context_id, stream_id), launch_ts_ns, ts_ns,
        ts_ns + CASE WHEN dur_ns > 0 THEN dur_ns ELSE 0 END,
        hash(2, bytes), hash(2)
    FROM memset
    SEMI JOIN unmarked USING (run_id)
    UNION ALL
    SELECT
        hash(run_id, pid, device_id), run_id, pid, device_id,
        hash(context_id, stream_id), launch_ts_ns, ts_ns,
        ts_ns + CASE WHEN dur_ns > 0 THEN dur_ns ELSE 0 END,
        hash(3, graph_id, graph_exec_id), hash(3)
    FROM graph_launch
    SEMI JOIN unmarked USING (run_id)
),
seqs AS MATERIALIZED (
    SELECT
        seq, any_value(run_id) AS run_id, any_value(pid) AS pid,
        any_value(device_id) AS device_id, count(launch_ts_ns) AS launch_count,
        count(*) AS op_count
    FROM launches
    GROUP BY seq
),
rare AS (
    SELECT seq, fine
    FROM launches
    WHERE launch_ts_ns IS NOT NULL
    GROUP BY seq, fine
    HAVING count(*) < 3
),
tokens AS MATERIALIZED (
    SELECT
        launches.seq, launches.stream, launches.launch_ts_ns, launches.end_ns,
        CASE WHEN rare.fine IS NULL THEN launches.fine ELSE launches.coarse END
            AS token,
        row_number() OVER in_order AS pos,
        launches.launch_ts_ns - lag(launches.launch_ts_ns) OVER in_order AS pause_ns,
        lead(launches.launch_ts_ns) OVER in_order - launches.launch_ts_ns
            AS next_pause_ns
    FROM launches
    LEFT JOIN rare ON launches.seq = rare.seq AND launches.fine = rare.fine
    WHERE launches.launch_ts_ns IS NOT NULL
    WINDOW in_order AS (
        PARTITION BY launches.seq
        ORDER BY launches.launch_ts_ns, launches.ts_ns, launches.fine
    )
),
sizes AS MATERIALIZED (
    SELECT seq, max(pos) AS launch_count
    FROM tokens
    GROUP BY seq
),
-- 1. Anchors.
sampled AS MATERIALIZED (
    SELECT
        seq, stream, pos, token, pause_ns, next_pause_ns, part, sampled_count
    FROM (
        SELECT
            tokens.seq, tokens.stream, tokens.pos, tokens.token, tokens.pause_ns,
            tokens.next_pause_ns,
            CASE
                WHEN sizes.launch_count <= 147456 THEN 0
                WHEN tokens.pos <= 49152 THEN 0
                WHEN tokens.pos > sizes.launch_count - 49152 THEN 2
                WHEN tokens.pos BETWEEN sizes.launch_count // 2 - 24575
                AND sizes.launch_count // 2 + 24576 THEN 1
            END AS part,
            least(sizes.launch_count, 147456) AS sampled_count
        FROM tokens
        JOIN sizes ON tokens.seq = sizes.seq
    )
    WHERE part IS NOT NULL
),
grams_2 AS (
    SELECT
        seq, stream, part, pos, pause_ns, next_pause_ns, sampled_count,
        token AS gram_1,
        hash(token, lead(token) OVER (
            PARTITION BY seq, part, stream ORDER BY pos
        )) AS gram_2
    FROM sampled
),
grams_4 AS (
    SELECT
        grams_2.*,
        hash(gram_2, lead(gram_2, 2) OVER (
            PARTITION BY seq, part, stream ORDER BY pos
        )) AS gram_4
    FROM grams_2
),
grams_8 AS (
    SELECT
        grams_4.*,
        hash(gram_4, lead(gram_4, 4) OVER (
            PARTITION BY seq, part, stream ORDER BY pos
        )) AS gram_8
    FROM grams_4
),
grams AS MATERIALIZED (
    SELECT
        grams_8.*,
        hash(gram_8, lead(gram_8, 8) OVER (
            PARTITION BY seq, part, stream ORDER BY pos
        )) AS gram_16
    FROM grams_8
),
occurrences AS MATERIALIZED (
    SELECT
        seq, part, size, gram, pos, pause_ns, next_pause_ns, sampled_count,
        pos - lag(pos) OVER (
            PARTITION BY seq, part, size, gram ORDER BY pos
        ) AS gap
    FROM (
        SELECT
            seq, part, pos, pause_ns, next_pause_ns, sampled_count,
            unnest([1, 2, 4, 8, 16]) AS size,
            unnest([gram_1, gram_2, gram_4, gram_8, gram_16]) AS gram
        FROM grams
    )
),
recurring AS (
    SELECT
        seq, size, gram, median(gap) AS median_gap, min(pos) AS first_pos
    FROM occurrences
    GROUP BY seq, size, gram
    HAVING count(gap) >= 2
        AND median(gap) BETWEEN 3 AND CASE WHEN any_value(sampled_count) < 147456
            THEN any_value(sampled_count) / 3 ELSE 16384
        END
),
anchors AS (
    SELECT
        recurring.seq, recurring.size, recurring.gram, recurring.first_pos,
        recurring.median_gap,
        sum(occurrences.gap) FILTER (
            abs(occurrences.gap - recurring.median_gap)
            <= greatest(1, 0.1 * recurring.median_gap)
        ) / any_value(occurrences.sampled_count) AS regular_share
    FROM recurring
    JOIN occurrences
        ON recurring.seq = occurrences.seq AND recurring.size = occurrences.size
        AND recurring.gram = occurrences.gram
    GROUP BY ALL
    HAVING regular_share >= 0.25
),
distances AS (
    SELECT seq, size, gram, median_gap, regular_share
    FROM anchors
    QUALIFY row_number() OVER (
        PARTITION BY seq, round(ln(median_gap) / 0.04)
        ORDER BY round(regular_share, 2) DESC, size, first_pos, gram
    ) = 1
),
trials AS MATERIALIZED (
    SELECT
        seq, size, gram, median_gap,
        row_number() OVER (
            PARTITION BY seq ORDER BY regular_share DESC, median_gap, size, gram
        ) AS trial
    FROM distances
    QUALIFY trial <= 6
),
-- 2. Trials.
cut AS MATERIALIZED (
    SELECT
        grams.seq, trials.trial, grams.part, grams.pos, grams.gram_1, grams.gram_4,
        -- Not count(*) FILTER (...) OVER: that takes a hundred times as long.
        CAST(sum(CASE WHEN trials.gram = CASE trials.size
            WHEN 1 THEN grams.gram_1 WHEN 2 THEN grams.gram_2 WHEN 4 THEN grams.gram_4
            WHEN 8 THEN grams.gram_8 ELSE grams.gram_16
        END THEN 1 ELSE 0 END) OVER (
            PARTITION BY grams.seq, trials.trial, grams.part ORDER BY grams.pos
            ROWS UNBOUNDED PRECEDING
        ) AS BIGINT) AS piece
    FROM grams
    JOIN trials ON grams.seq = trials.seq
),
pieces AS (
    SELECT
        seq, trial, part, piece, count(*) AS length,
        piece > 0 AND piece < max(piece) OVER (PARTITION BY seq, trial, part)
            AS is_whole
    FROM cut
    GROUP BY seq, trial, part, piece
),
usual_lengths AS (
    SELECT seq, trial, median(length) AS median_length
    FROM pieces
    WHERE is_whole
    GROUP BY seq, trial
),
judged AS MATERIALIZED (
    SELECT
        pieces.seq, pieces.trial, pieces.part, pieces.piece, pieces.length,
        pieces.is_whole,
        pieces.is_whole AND abs(pieces.length - usual_lengths.median_length)
            <= 1 + 0.05 * usual_lengths.median_length AS is_usual
    FROM pieces
    JOIN usual_lengths
        ON pieces.seq = usual_lengths.seq AND pieces.trial = usual_lengths.trial
),
usual_counts AS (
    SELECT seq, trial, count(*) AS usual_count
    FROM judged
    WHERE is_usual
    GROUP BY seq, trial
),
held AS MATERIALIZED (
    SELECT
        cut.seq, cut.trial, cut.part, cut.piece, 1 AS size, cut.gram_1 AS gram,
        count(*) AS held_count
    FROM cut
    GROUP BY cut.seq, cut.trial, cut.part, cut.piece, cut.gram_1
    UNION ALL
    SELECT
        cut.seq, cut.trial, cut.part, cut.piece, 4, cut.gram_4, count(*)
    FROM cut
    GROUP BY cut.seq, cut.trial, cut.part, cut.piece, cut.gram_4
),
templates AS MATERIALIZED (
    SELECT
        held.seq, held.trial, held.size, held.gram,
        quantile_disc(held.held_count, 0.5) AS template_count
    FROM held
    JOIN judged
        ON held.seq = judged.seq AND held.trial = judged.trial
        AND held.part = judged.part AND held.piece = judged.piece
        AND judged.is_usual
    JOIN usual_counts
        ON held.seq = usual_counts.seq AND held.trial = usual_counts.trial
    GROUP BY held.seq, held.trial, held.size, held.gram, usual_counts.usual_count
    HAVING count(*) > 0.5 * usual_counts.usual_count
),
template_sizes AS (
    SELECT
        seq, trial, sum(template_count) FILTER (size = 1) AS template_launches,
        sum(template_count) FILTER (size = 4) AS template_grams,
        count(*) FILTER (size = 1) AS template_tokens
    FROM templates
    GROUP BY seq, trial
),
shared AS (
    SELECT
        held.seq, held.trial, held.part, held.piece,
        sum(least(held.held_count, templates.template_count)) AS shared_count
    FROM held
    JOIN templates
        ON held.seq = templates.seq AND held.trial = templates.trial
        AND held.size = templates.size AND held.gram = templates.gram
    WHERE held.size = 4
    GROUP BY held.seq, held.trial, held.part, held.piece
),
likeness AS (
    SELECT
        judged.seq, judged.trial, judged.is_whole, shared.shared_count,
        2 * shared.shared_count / (judged.length + template_sizes.template_grams)
            AS alike_share
    FROM judged
    JOIN shared
        ON judged.seq = shared.seq AND judged.trial = shared.trial
        AND judged.part = shared.part AND judged.piece = shared.piece
    JOIN template_sizes
        ON judged.seq = template_sizes.seq AND judged.trial = template_sizes.trial
),
explained AS MATERIALIZED (
    SELECT
        likeness.seq, likeness.trial,
        any_value(template_sizes.template_launches) AS template_launches,
        any_value(template_sizes.template_tokens) AS template_tokens,
        sum(likeness.shared_count) FILTER (
            NOT likeness.is_whole OR likeness.alike_share >= 0.5
        ) / any_value(least(sizes.launch_count, 147456)) AS explained_share,
        avg(likeness.alike_share) FILTER (
            likeness.is_whole AND likeness.alike_share >= 0.5
        ) AS repeat_share
    FROM likeness
    JOIN template_sizes
        ON likeness.seq = template_sizes.seq AND likeness.trial = template_sizes.trial
    JOIN sizes ON likeness.seq = sizes.seq
    GROUP BY likeness.seq, likeness.trial
    HAVING template_launches >= 3 AND template_tokens >= 3
        AND explained_share >= 0.2
        AND count(*) FILTER (
            likeness.is_whole AND likeness.alike_share >= 0.5
        ) >= 2
),
-- What a longer period (outer) adds to a shorter one (inner).
nested AS (
    SELECT
        inside.seq, inside.trial AS inner_trial, outside.trial AS outer_trial,
        inside.explained_share AS inner_share, outside.explained_share AS outer_share,
        outside.template_launches / inside.template_launches AS times
    FROM explained AS inside
    JOIN explained AS outside
        ON inside.seq = outside.seq
        AND outside.template_launches > 1.4 * inside.template_launches
),
folds AS (
    SELECT
        nested.seq, nested.inner_trial, nested.outer_trial,
        median(big.template_count / small.template_count) AS fold
    FROM nested
    JOIN templates AS big
        ON nested.seq = big.seq AND nested.outer_trial = big.trial AND big.size = 1
    JOIN templates AS small
        ON nested.seq = small.seq AND nested.inner_trial = small.trial
        AND small.size = 1 AND big.gram = small.gram
    GROUP BY nested.seq, nested.inner_trial, nested.outer_trial
),
added AS (
    SELECT
        nested.seq, nested.inner_trial, nested.outer_trial,
        any_value(nested.inner_share) AS inner_share,
        any_value(nested.outer_share) AS outer_share, any_value(nested.times) AS times,
        coalesce(sum(big.template_count) FILTER (small.gram IS NULL), 0) AS new_count,
        sum(greatest(0, big.template_count
            - coalesce(folds.fold, 0) * coalesce(small.template_count, 0)))
            AS added_count
    FROM nested
    JOIN templates AS big
        ON nested.seq = big.seq AND nested.outer_trial = big.trial AND big.size = 1
    LEFT JOIN templates AS small
        ON nested.seq = small.seq AND nested.inner_trial = small.trial
        AND small.size = 1 AND big.gram = small.gram
    LEFT JOIN folds
        ON nested.seq = folds.seq AND nested.inner_trial = folds.inner_trial
        AND nested.outer_trial = folds.outer_trial
    GROUP BY nested.seq, nested.inner_trial, nested.outer_trial
),
beaten AS (
    SELECT
        seq,
        CASE WHEN new_count >= 0.5 * greatest(added_count, 1)
            THEN inner_trial ELSE outer_trial
        END AS trial
    FROM added
    WHERE CASE WHEN new_count >= 0.5 * greatest(added_count, 1)
        THEN outer_share >= 0.85 * inner_share
        ELSE times >= 1.9 AND inner_share >= 0.6 * outer_share
    END
),
periods AS MATERIALIZED (
    SELECT
        explained.seq, explained.trial, explained.template_launches,
        explained.template_tokens, explained.repeat_share, explained.explained_share
    FROM explained
    ANTI JOIN beaten
        ON explained.seq = beaten.seq AND explained.trial = beaten.trial
    QUALIFY row_number() OVER (
        PARTITION BY explained.seq
        ORDER BY
            explained.explained_share DESC, explained.template_launches, explained.trial
    ) = 1
),
-- 3. Landmarks.
placed AS (
    SELECT
        cut.seq, cut.part, cut.piece, cut.pos,
        cut.pos - min(cut.pos) OVER (PARTITION BY cut.seq, cut.part, cut.piece)
            AS offset_count
    FROM cut
    JOIN periods ON cut.seq = periods.seq AND cut.trial = periods.trial
),
once AS (
    SELECT
        occurrences.seq, occurrences.size, occurrences.gram,
        median(placed.offset_count) AS offset_count,
        median(occurrences.pause_ns) AS pause_ns,
        median(occurrences.next_pause_ns) AS next_pause_ns,
        min(placed.pos) AS first_pos
    FROM occurrences
    JOIN placed
        ON occurrences.seq = placed.seq AND occurrences.pos = placed.pos
    JOIN periods ON placed.seq = periods.seq
    JOIN judged
        ON placed.seq = judged.seq AND periods.trial = judged.trial
        AND placed.part = judged.part AND placed.piece = judged.piece
        AND judged.is_usual
    JOIN usual_counts
        ON placed.seq = usual_counts.seq AND periods.trial = usual_counts.trial
    GROUP BY
        occurrences.seq, occurrences.size, occurrences.gram, usual_counts.usual_count
    HAVING count(*) BETWEEN 0.9 * usual_counts.usual_count
        AND 1.02 * usual_counts.usual_count
        AND count(DISTINCT (placed.part, placed.piece)) >= 0.98 * count(*)
),
landmarks AS MATERIALIZED (
    SELECT
        seq, size, gram, offset_count, pause_ns, next_pause_ns, first_pos,
        count(*) OVER (PARTITION BY seq) AS total
    FROM (
        SELECT
            seq, size, gram, offset_count, pause_ns, next_pause_ns, first_pos,
            row_number() OVER (
                PARTITION BY seq
                ORDER BY greatest(pause_ns, next_pause_ns) DESC, offset_count
            ) AS by_pause,
            row_number() OVER (PARTITION BY seq ORDER BY offset_count) AS by_offset,
            count(*) OVER (PARTITION BY seq) AS landmark_count
        FROM (
            SELECT seq, size, gram, offset_count, pause_ns, next_pause_ns, first_pos
            FROM once
            QUALIFY row_number() OVER (
                PARTITION BY seq, round(offset_count) ORDER BY size, gram
            ) = 1
        )
    )
    WHERE by_pause <= 32 OR by_offset % (1 + landmark_count // 64) = 0
),
-- A start is before a landmark (shift 0) or right after it.
shifts AS MATERIALIZED (
    SELECT
        seq, size, gram, shift, landmark_offset + shift AS offset_count, total,
        CASE WHEN shift = 0 THEN pause_ns ELSE next_pause_ns END AS pause_ns,
        first_pos + shift AS first_pos
    FROM (
        SELECT
            seq, size, gram, offset_count AS landmark_offset, total, pause_ns,
            next_pause_ns, first_pos, unnest([0, 1]) AS shift
        FROM landmarks
    )
    QUALIFY row_number() OVER (
        PARTITION BY seq, round(landmark_offset + shift) ORDER BY shift, size, gram
    ) = 1
),
-- Of a period that begins at a landmark, the landmarks whose gram ends within it: at
-- the last period, and before evaluation, the others are not there.
within AS (
    SELECT
        first.seq, first.size, first.gram, first.shift,
        count(*) FILTER (
            (other.offset_count - first.offset_count + periods.template_launches)
            % periods.template_launches + other.size <= periods.template_launches
        ) AS within_count
    FROM shifts AS first
    JOIN landmarks AS other ON first.seq = other.seq
    JOIN periods ON first.seq = periods.seq
    GROUP BY first.seq, first.size, first.gram, first.shift
),
events AS (
    SELECT
        occurrences.seq, occurrences.part, landmarks.size, landmarks.gram,
        occurrences.pos
    FROM occurrences
    JOIN landmarks
        ON occurrences.seq = landmarks.seq AND occurrences.size = landmarks.size
        AND occurrences.gram = landmarks.gram
),
reached AS (
    SELECT
        events.seq, events.size, events.gram, within.shift,
        lead(events.pos, CAST(
            greatest(0, ceil(0.85 * within.within_count) - 1) + within.shift AS BIGINT
        )) OVER (
            PARTITION BY events.seq, events.part, within.shift ORDER BY events.pos
        ) - events.pos AS span,
        lead(events.pos) OVER (
            PARTITION BY
                events.seq, events.part, events.size, events.gram, within.shift
            ORDER BY events.pos
        ) - events.pos AS next_span
    FROM events
    JOIN (
        SELECT
            landmarks.seq, landmarks.size, landmarks.gram, sides.shift,
            coalesce(within.within_count, landmarks.total) AS within_count
        FROM landmarks
        CROSS JOIN (VALUES (0), (1)) AS sides (shift)
        LEFT JOIN within
            ON landmarks.seq = within.seq AND landmarks.size = within.size
            AND landmarks.gram = within.gram AND sides.shift = within.shift
    ) AS within
        ON events.seq = within.seq AND events.size = within.size
        AND events.gram = within.gram
),
whole AS (
    SELECT
        reached.seq, reached.size, reached.gram, reached.shift,
        count(*) FILTER (
            reached.span <= 1.05 * periods.template_launches + 2
            AND (
                reached.next_span IS NULL
                OR reached.next_span + reached.shift > reached.span
            )
        ) AS whole_count,
        count(*) AS start_count
    FROM reached
    JOIN periods ON reached.seq = periods.seq
    GROUP BY reached.seq, reached.size, reached.gram, reached.shift
),
-- The longest pause before any other start; within a few launches it is the same one.
elsewhere AS (
    SELECT
        one.seq, one.size, one.gram, one.shift, max(other.pause_ns) AS other_pause_ns
    FROM shifts AS one
    JOIN periods ON one.seq = periods.seq
    JOIN shifts AS other
        ON one.seq = other.seq
        AND abs(one.offset_count - other.offset_count)
            BETWEEN 3 + 0.02 * periods.template_launches
            AND 0.98 * periods.template_launches - 3
    GROUP BY one.seq, one.size, one.gram, one.shift
),
starts AS (
    SELECT
        shifts.seq, shifts.size, shifts.gram, shifts.shift, shifts.pause_ns,
        shifts.first_pos, whole.whole_count,
        shifts.pause_ns > 2 * elsewhere.other_pause_ns AS is_clear,
        max(whole.whole_count) OVER (PARTITION BY shifts.seq) AS most_whole,
        max(whole.start_count) OVER (PARTITION BY shifts.seq) AS most_starts,
        count(*) OVER (PARTITION BY shifts.seq) AS total,
        count(*) OVER (PARTITION BY shifts.seq, whole.whole_count) AS as_good
    FROM shifts
    JOIN whole
        ON shifts.seq = whole.seq AND shifts.size = whole.size
        AND shifts.gram = whole.gram AND shifts.shift = whole.shift
    LEFT JOIN elsewhere
        ON shifts.seq = elsewhere.seq AND shifts.size = elsewhere.size
        AND shifts.gram = elsewhere.gram AND shifts.shift = elsewhere.shift
),
chosen AS MATERIALIZED (
    SELECT seq, size, gram, shift
    FROM (
        SELECT
            seq, size, gram, shift, pause_ns, first_pos, whole_count, is_clear,
            whole_count = most_starts AS is_sound,
            bool_or(whole_count = most_starts AND as_good <= 0.25 * total)
                OVER (PARTITION BY seq) AS is_uncut
        FROM starts
        WHERE whole_count >= 0.9 * most_whole - 1
    )
    QUALIFY row_number() OVER (
        PARTITION BY seq
        ORDER BY
            CASE WHEN is_uncut THEN is_sound ELSE coalesce(is_clear, false) END DESC,
            CASE WHEN is_uncut THEN pause_ns END DESC NULLS LAST,
            whole_count DESC,
            shift,
            first_pos, size, gram
    ) = 1
),
-- 4. The whole capture.
all_2 AS (
    SELECT
        tokens.seq, tokens.stream, tokens.pos, chosen.size, chosen.gram AS wanted_gram,
        hash(tokens.token, lead(tokens.token) OVER (
            PARTITION BY tokens.seq, tokens.stream ORDER BY tokens.pos
        )) AS gram
    FROM tokens
    JOIN chosen ON tokens.seq = chosen.seq AND chosen.size >= 2
),
all_4 AS (
    SELECT
        seq, stream, pos, size, wanted_gram,
        hash(gram, lead(gram, 2) OVER (
            PARTITION BY seq, stream ORDER BY pos
        )) AS gram
    FROM all_2
    WHERE size >= 4
),
all_8 AS (
    SELECT
        seq, stream, pos, size, wanted_gram,
        hash(gram, lead(gram, 4) OVER (
            PARTITION BY seq, stream ORDER BY pos
        )) AS gram
    FROM all_4
    WHERE size >= 8
),
all_16 AS (
    SELECT
        seq, pos, wanted_gram,
        hash(gram, lead(gram, 8) OVER (
            PARTITION BY seq, stream ORDER BY pos
        )) AS gram
    FROM all_8
    WHERE size = 16
),
matched AS (
    SELECT tokens.seq, tokens.pos
    FROM tokens
    JOIN chosen
        ON tokens.seq = chosen.seq AND chosen.size = 1 AND tokens.token = chosen.gram
    UNION ALL
    SELECT seq, pos FROM all_2 WHERE size = 2 AND gram = wanted_gram
    UNION ALL
    SELECT seq, pos FROM all_4 WHERE size = 4 AND gram = wanted_gram
    UNION ALL
    SELECT seq, pos FROM all_8 WHERE size = 8 AND gram = wanted_gram
    UNION ALL
    SELECT seq, pos FROM all_16 WHERE gram = wanted_gram
),
-- After a landmark the first iteration has no border: it may begin a period earlier.
borders AS (
    SELECT matched.seq, matched.pos + chosen.shift AS pos
    FROM matched
    JOIN chosen ON matched.seq = chosen.seq
    UNION ALL
    SELECT
        matched.seq,
        min(matched.pos) + 1 - CAST(any_value(periods.template_launches) AS BIGINT)
    FROM matched
    JOIN chosen ON matched.seq = chosen.seq AND chosen.shift = 1
    JOIN periods ON matched.seq = periods.seq
    GROUP BY matched.seq
),
bordered AS MATERIALIZED (
    SELECT
        tokens.seq, tokens.pos, tokens.token, tokens.launch_ts_ns, tokens.end_ns,
        count(borders.pos) OVER (
            PARTITION BY tokens.seq ORDER BY tokens.pos ROWS UNBOUNDED PRECEDING
        ) AS piece,
        tokens.pos - max(borders.pos) OVER (
            PARTITION BY tokens.seq ORDER BY tokens.pos ROWS UNBOUNDED PRECEDING
        ) AS offset_count
    FROM tokens
    SEMI JOIN chosen ON tokens.seq = chosen.seq
    LEFT JOIN borders ON tokens.seq = borders.seq AND tokens.pos = borders.pos
),
lengths AS (
    SELECT
        seq, piece, count(*) AS length,
        median(count(*)) OVER (PARTITION BY seq) AS median_length
    FROM bordered
    WHERE piece > 0
    GROUP BY seq, piece
),
counts AS MATERIALIZED (
    SELECT
        bordered.seq, bordered.piece, bordered.token, count(*) AS held_count,
        any_value(lengths.length) AS length,
        any_value(abs(lengths.length - lengths.median_length)
            <= 1 + 0.05 * lengths.median_length) AS is_usual
    FROM bordered
    JOIN lengths ON bordered.seq = lengths.seq AND bordered.piece = lengths.piece
    GROUP BY bordered.seq, bordered.piece, bordered.token
),
template AS MATERIALIZED (
    SELECT counts.seq, counts.token,
        quantile_disc(counts.held_count, 0.5) AS template_count
    FROM counts
    JOIN (
        SELECT seq, count(DISTINCT piece) AS usual_count
        FROM counts
        WHERE is_usual
        GROUP BY seq
    ) AS usual ON counts.seq = usual.seq
    WHERE counts.is_usual
    GROUP BY counts.seq, counts.token, usual.usual_count
    HAVING count(*) > 0.5 * usual.usual_count
),
template_length AS (
    SELECT
        seq, CAST(sum(template_count) AS BIGINT) AS period_count,
        count(*) AS token_count
    FROM template
    GROUP BY seq
),
-- Pieces as long as the template end where they end; longer ones with their last
-- launch that the template holds.
ranked AS (
    SELECT
        bordered.seq, bordered.piece, bordered.pos, bordered.token,
        bordered.offset_count,
        row_number() OVER (
            PARTITION BY bordered.seq, bordered.piece, bordered.token
            ORDER BY bordered.pos
        ) AS nth
    FROM bordered
    JOIN lengths ON bordered.seq = lengths.seq AND bordered.piece = lengths.piece
    JOIN template_length ON bordered.seq = template_length.seq
    WHERE lengths.length > template_length.period_count
),
filled AS (
    SELECT
        counts.seq, counts.piece, any_value(counts.length) AS length,
        sum(least(counts.held_count, template.template_count)) AS shared_count
    FROM counts
    JOIN template ON counts.seq = template.seq AND counts.token = template.token
    JOIN template_length ON counts.seq = template_length.seq
    WHERE counts.length <= template_length.period_count
    GROUP BY counts.seq, counts.piece
    UNION ALL
    SELECT
        ranked.seq, ranked.piece, max(ranked.offset_count) + 1 AS length,
        count(*) AS shared_count
    FROM ranked
    JOIN template
        ON ranked.seq = template.seq AND ranked.token = template.token
        AND ranked.nth <= template.template_count
    JOIN template_length ON ranked.seq = template_length.seq
    WHERE ranked.offset_count <= 1.25 * template_length.period_count + 4
    GROUP BY ranked.seq, ranked.piece
),
accepted AS MATERIALIZED (
    SELECT
        filled.seq, filled.piece, filled.length,
        filled.shared_count / template_length.period_count AS shared_share
    FROM filled
    JOIN template_length ON filled.seq = template_length.seq
    WHERE filled.shared_count >= 0.75 * template_length.period_count
),
found AS MATERIALIZED (
    SELECT
        bordered.seq, bordered.piece, any_value(accepted.length) AS length,
        min(bordered.pos) AS first_pos,
        min(bordered.launch_ts_ns) AS start_ns,
        max(bordered.launch_ts_ns) FILTER (bordered.offset_count < accepted.length)
            AS last_launch_ns,
        max(bordered.end_ns) FILTER (bordered.offset_count < accepted.length)
            AS gpu_end_ns,
        min(bordered.launch_ts_ns) FILTER (bordered.offset_count >= accepted.length)
            AS other_launch_ns
    FROM bordered
    JOIN accepted ON bordered.seq = accepted.seq AND bordered.piece = accepted.piece
    GROUP BY bordered.seq, bordered.piece
),
timed AS (
    SELECT
        found.seq, found.length, found.start_ns, found.last_launch_ns,
        found.gpu_end_ns,
        coalesce(found.other_launch_ns, after.next_ns) AS next_launch_ns,
        found.other_launch_ns IS NULL AND after.next_ns IS NOT NULL
            AND following.piece IS NOT NULL AS is_followed,
        row_number() OVER (PARTITION BY found.seq ORDER BY found.first_pos) - 1
            AS iteration
    FROM found
    LEFT JOIN (
        SELECT seq, piece - 1 AS piece, min(launch_ts_ns) AS next_ns
        FROM bordered
        WHERE offset_count = 0
        GROUP BY seq, piece
    ) AS after ON found.seq = after.seq AND found.piece = after.piece
    LEFT JOIN accepted AS following
        ON found.seq = following.seq AND found.piece + 1 = following.piece
),
known AS (
    SELECT
        bordered.seq,
        count(template.token) / count(*) AS known_share,
        count(*) - count(template.token) AS other_launch_count
    FROM bordered
    JOIN (
        SELECT seq, min(first_pos) AS first_pos FROM found GROUP BY seq
    ) AS first ON bordered.seq = first.seq AND bordered.pos >= first.first_pos
    LEFT JOIN template
        ON bordered.seq = template.seq AND bordered.token = template.token
    GROUP BY bordered.seq
),
measured AS (
    SELECT
        seq, count(*) AS iteration_count, sum(length) AS covered_count,
        min(start_ns) AS first_ns, max(greatest(last_launch_ns, gpu_end_ns)) AS last_ns
    FROM timed
    GROUP BY seq
),
summary AS MATERIALIZED (
    SELECT
        seqs.seq, seqs.run_id, seqs.pid, seqs.device_id, seqs.launch_count,
        seqs.op_count, template_length.period_count AS period_launch_count,
        template_length.token_count AS period_kind_count,
        coalesce(measured.iteration_count, 0) AS iteration_count,
        measured.first_ns, measured.last_ns,
        round(periods.repeat_share, 6) AS repeat_share, known.other_launch_count,
        coalesce(measured.covered_count, 0) / nullif(seqs.launch_count, 0)
            AS covered_share,
        round(coalesce(periods.repeat_share, 0)
            * coalesce(measured.iteration_count / (measured.iteration_count + 1), 0)
            * coalesce(greatest(0, 2 * known.known_share - 1), 0)
            * coalesce(least(1, 2 * covered_share), 0), 6) AS confidence_share
    FROM seqs
    LEFT JOIN known ON seqs.seq = known.seq
    LEFT JOIN periods ON seqs.seq = periods.seq
    LEFT JOIN template_length ON seqs.seq = template_length.seq
    LEFT JOIN measured ON seqs.seq = measured.seq
),
verdicts AS (
    SELECT
        seq, run_id, pid, device_id, launch_count, op_count, period_launch_count,
        period_kind_count, iteration_count, first_ns, last_ns, repeat_share,
        other_launch_count, covered_share, confidence_share,
        CASE
            WHEN launch_count = 0 THEN 'no launch is known'
            WHEN period_launch_count IS NULL THEN 'nothing recurs regularly'
            WHEN period_kind_count < 3 OR period_launch_count < 3
            THEN 'fewer than three kinds of launch recur'
            WHEN iteration_count < 3 THEN 'fewer than three iterations'
            WHEN confidence_share < 0.6 THEN 'confidence below 0.6'
        END AS abstained_because
    FROM summary
)
SELECT
    run_id, pid, device_id, CAST(NULL AS BIGINT) AS iteration, first_ns AS start_ns,
    last_ns AS end_ns, false AS is_followed, launch_count, op_count,
    period_launch_count, period_kind_count, iteration_count, repeat_share,
    other_launch_count, covered_share, confidence_share, abstained_because
FROM verdicts
UNION ALL
SELECT
    verdicts.run_id, verdicts.pid, verdicts.device_id, timed.iteration, timed.start_ns,
    greatest(
        timed.start_ns + 1,
        CASE WHEN timed.is_followed THEN timed.next_launch_ns
            ELSE least(
                timed.next_launch_ns,
                greatest(timed.gpu_end_ns, timed.last_launch_ns + 1)
            )
        END
    ) AS end_ns,
    timed.is_followed, timed.length, NULL, verdicts.period_launch_count,
    verdicts.period_kind_count, verdicts.iteration_count, verdicts.repeat_share,
    NULL, verdicts.covered_share, verdicts.confidence_share, NULL
FROM timed
JOIN verdicts ON timed.seq = verdicts.seq
WHERE verdicts.abstained_because IS NULL;
