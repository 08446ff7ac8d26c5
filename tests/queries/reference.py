"""Interval arithmetic that is slow and obviously right.

Every function looks at the elementary segments: between two neighbours of all starts
and ends nothing changes, so that a segment lies in an interval wholly or not at all.
Intervals are half open, in ns; one of no length covers nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

Interval = tuple[int, int]
Set = Sequence[Interval]


def clip(intervals: Iterable[Interval], start: int, end: int) -> list[Interval]:
    """What of the intervals lies in [start, end)."""
    cut = [(max(a, start), min(b, end)) for a, b in intervals]
    return [(a, b) for a, b in cut if b > a]


def segments(*sets: Set) -> Iterator[Interval]:
    """The elementary segments, in order of time."""
    points = sorted({point for part in sets for pair in part for point in pair})
    yield from pairwise(points)


def covers(intervals: Set, segment: Interval) -> bool:
    """Whether one of the intervals covers an elementary segment."""
    return any(a <= segment[0] and segment[1] <= b for a, b in intervals)


def union_ns(*sets: Set) -> int:
    """Time that any interval of any set covers."""
    return sum(
        b - a for a, b in segments(*sets) if any(covers(s, (a, b)) for s in sets)
    )


def common_ns(*sets: Set) -> int:
    """Time that every set covers."""
    return sum(
        b - a for a, b in segments(*sets) if all(covers(s, (a, b)) for s in sets)
    )


def sum_ns(intervals: Set) -> int:
    """Sum of the lengths; overlaps add."""
    return sum(b - a for a, b in intervals)


def concurrency_ns(sets: Sequence[Set], start: int, end: int) -> dict[int, int]:
    """Time in [start, end) at which exactly k of the sets are busy, by k."""
    result = {0: 0}
    for segment in segments([(start, end)], *[clip(s, start, end) for s in sets]):
        k = sum(covers(s, segment) for s in sets)
        result[k] = result.get(k, 0) + segment[1] - segment[0]
    return result


def gaps(intervals: Set, start: int, end: int) -> list[Interval]:
    """Uncovered spans of [start, end); what has no length ends one, begins the next."""
    return [
        segment
        for segment in segments(intervals)
        if start <= segment[0] and segment[1] <= end and not covers(intervals, segment)
    ]


def bins(start: int, end: int, count: int) -> list[Interval]:
    """At most `count` spans that tile [start, end), none empty, widths within 1."""
    count = min(count, end - start)
    borders = [start + (end - start) * i // count for i in range(count + 1)]
    return list(pairwise(borders))
