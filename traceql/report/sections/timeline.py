"""Timeline: a lane per stream, in levels of detail that SQL has binned.

The page draws a canvas from `extra`; the figure is its table twin. The first level is
the whole capture, the second the focus (iterations, or all GPU work) in `RANGES` parts;
captures of more than `FINE_OPS` operations have the first alone.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from traceql.report.answers import Answers, Ask
from traceql.report.figures import Figure
from traceql.report.sections import Section

RANGES = 4
FINE_OPS = 500_000
"""Operations up to which the second level is made: each range is a further sweep."""
LANES = 32
STEPS = 2000
_CELL = (
    "device_id, pid, context_id, stream_id, bin_start_ns, bin_ns, busy_share, activity"
)
_BINS = Ask("timeline_bins", {"bins": 600})


def canvas(answers: Answers) -> dict[str, Any]:
    """What the timeline's canvas draws; `{"timeline": None}` without GPU work.

    Times are ns since the start of the capture window; a cell is lane, start, width,
    busy share in thousandths and ordinal of its activity.
    """
    lanes = answers.sql(f"""\
SELECT device_id, pid, context_id, stream_id, count(*) OVER () AS lane_count
FROM timeline_bins
GROUP BY device_id, pid, context_id, stream_id
QUALIFY row_number() OVER (ORDER BY sum(busy_ns) DESC, min(lane)) <= {LANES}
ORDER BY min(lane)""").rows()
    if not lanes:
        return {"timeline": None}
    bounds = answers.sql(
        "SELECT window_start_ns, window_end_ns FROM run_summary UNION ALL "
        "SELECT window_start_ns, window_end_ns FROM focus_summary"
    ).rows()
    origin, end = bounds[0]["window_start_ns"], bounds[0]["window_end_ns"]
    first, last = bounds[-1]["window_start_ns"], bounds[-1]["window_end_ns"]
    ordinals = {_key(lane): i for i, lane in enumerate(lanes)}
    activities: list[str] = []

    def cells(rows: list[dict[str, Any]]) -> list[list[int]]:
        activities.extend(
            sorted({row["activity"] or "" for row in rows} - {"", *activities})
        )
        return [
            [
                ordinals[_key(row)],
                row["bin_start_ns"] - origin,
                row["bin_ns"],
                max(round(1000 * row["busy_share"]), 1),
                activities.index(row["activity"]),
            ]
            for row in rows
            if row["activity"] is not None and _key(row) in ordinals
        ]

    edges = [first + (last - first) * i // RANGES for i in range(RANGES + 1)]
    ranges = [
        Ask("timeline_bins", {"bins": 600, "from_ns": start, "to_ns": stop})
        for start, stop in pairwise(edges)
        if stop > start and _op_count(answers) <= FINE_OPS
    ]
    coarse = cells(answers.sql(f"SELECT {_CELL} FROM timeline_bins").rows())
    fine = [cell for rows in answers.rows_of(ranges, _CELL) for cell in cells(rows)]
    levels = [{"start": 0, "end": end - origin, "cells": coarse}]
    focus = {"start": first - origin, "end": last - origin}
    if fine:
        levels.append({**focus, "cells": fine})
    # A source may state an iteration that is longer than the capture: DLProf counts
    # from the profile's start, where nothing is recorded yet.
    steps = answers.sql(f"""\
SELECT
    coalesce(any_value(name), 'iteration ' || iteration) AS name,
    greatest(start_ns, {origin}) - {origin} AS start,
    least(start_ns + wall_ns, {end}) - greatest(start_ns, {origin}) AS wall,
    bool_or(is_outlier) IS TRUE AS slow
FROM iteration_timing
WHERE iteration IS NOT NULL AND start_ns < {end} AND start_ns + wall_ns > {origin}
GROUP BY pid, iteration, start_ns, wall_ns
QUALIFY row_number() OVER (ORDER BY slow DESC, start, pid, wall) <= {STEPS}
ORDER BY pid, iteration, start_ns, wall_ns""").rows()
    return {
        "timeline": {
            "span": end - origin,
            "origin": origin,
            "lanes": _labels(lanes),
            "hidden": lanes[0]["lane_count"] - len(lanes),
            "activities": activities,
            "focus": focus,
            "levels": levels,
            "steps": [
                [s["name"], s["start"], s["wall"], int(s["slow"])] for s in steps
            ],
        }
    }


def _op_count(answers: Answers) -> int:
    rows = answers.run.rows
    tables = ("kernel", "memcpy", "memset", "graph_launch")
    return sum(rows.get(table, 0) for table in tables)


def _key(row: dict[str, Any]) -> tuple[Any, ...]:
    return (row["device_id"], row["pid"], row["context_id"], row["stream_id"])


def _labels(lanes: list[dict[str, Any]]) -> list[str]:
    """Device and stream; process and context only where they tell lanes apart.

    What a source does not say is left out: DLProf names no streams.
    """
    short = [(lane["device_id"], lane["stream_id"]) for lane in lanes]
    labels = []
    for lane, (device, stream) in zip(lanes, short, strict=True):
        parts = ["unknown GPU" if device is None else f"GPU {device}"]
        if stream is not None:
            parts.append(f"stream {stream}")
        inner = (lane["pid"], lane["context_id"])
        apart = "/".join(str(i) for i in inner if i is not None)
        if apart and short.count((device, stream)) > 1:
            parts[-1] += f" ({apart})"
        labels.append(" · ".join(parts))
    return labels


_TENTHS = ",\n    ".join(
    f"100 * sum(busy_ns) FILTER (tenth = {i})\n"
    f"        / sum(bin_ns) FILTER (tenth = {i}) AS t{i}"
    for i in range(10)
)

SECTION = Section(
    id="timeline",
    title="Timeline",
    order=15,
    how=(
        "A lane is a stream. The height of a bar is the busy share of its time slice, "
        "its colour what took most of that. Zoom with + and −, move with ← and →, 0 "
        "shows all; or use the wheel with Ctrl, drag, and pinch. Finer slices appear "
        "in the iterations (without any: in all GPU work) as you zoom in, unless the "
        "capture is very large. The table has the same lanes in tenths of the capture."
    ),
    figures=(
        Figure(
            id="timeline-lanes",
            title="Busy share of each stream, in tenths of the capture",
            ask=_BINS,
            columns={
                "device_id": "Device",
                "pid": "Process",
                "context_id": "Context",
                "stream_id": "Stream",
                "activity": "Mostly",
                "busy_ns": "Busy",
                **{f"t{i}": f"{10 * i}–{10 * i + 10}" for i in range(10)},
            },
            sql=f"""\
SELECT
    device_id, pid, context_id, stream_id,
    mode(activity ORDER BY activity) AS activity, sum(busy_ns) AS busy_ns,
    {_TENTHS}
FROM (
    SELECT *, 10 * bin // (max(bin) OVER () + 1) AS tenth
    FROM timeline_bins
)
GROUP BY lane, device_id, pid, context_id, stream_id
ORDER BY lane""",
            limit=LANES,
            units={f"t{i}": "pct" for i in range(10)},
            fold=True,
        ),
    ),
    template="timeline.html.j2",
    extra=canvas,
)
