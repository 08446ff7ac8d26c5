"""Depth and parents against a slow search over all pairs of ranges."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from traceql import nesting
from traceql.nesting import nest

# thread, start, length; None is a range that never ended.
Range = tuple[int, int, int | None]
_FOREVER = 2**63 - 1


@pytest.fixture(
    params=[2, 1_000_000], ids=["slabs", "whole"], autouse=True, scope="module"
)
def _slab(request: pytest.FixtureRequest) -> Iterator[None]:
    """Every test in slabs of two ranges, and in one sweep."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(nesting, "_SLAB", request.param)
        yield


def _nested(ranges: list[Range]) -> dict[int, tuple[int | None, int, bool]]:
    with duckdb.connect() as con:
        con.execute(
            "CREATE TABLE r (id BIGINT, pid BIGINT, tid BIGINT, ts_ns BIGINT, "
            "end_ns BIGINT)"
        )
        for number, (tid, start, length) in enumerate(ranges):
            end = None if length is None else start + length
            con.execute(
                "INSERT INTO r VALUES (?, 1, ?, ?, ?)", [number, tid, start, end]
            )
        nest(con, "r")
        rows = con.execute("SELECT id, parent_id, depth, crossing FROM nested")
        return {
            id_: (parent, depth, crossing)
            for id_, parent, depth, crossing in rows.fetchall()
        }


def _slow(ranges: list[Range]) -> dict[int, tuple[int | None, int, bool]]:
    """The definition: the parent is the tightest open range that holds the whole."""
    spans = [
        (tid, start, _FOREVER if length is None else start + length)
        for tid, start, length in ranges
    ]
    order = sorted(range(len(spans)), key=lambda i: (spans[i][1], -spans[i][2], i))
    found: dict[int, tuple[int | None, int, bool]] = {}
    crossing = dict.fromkeys(range(len(spans)), False)
    for at, i in enumerate(order):
        tid, start, end = spans[i]
        before = [j for j in order[:at] if spans[j][0] == tid]
        # Open when i starts: ends later, or has no length and starts at that moment.
        still = [
            j
            for j in before
            if spans[j][2] > start or (spans[j][1] == spans[j][2] == start)
        ]
        for j in still:
            if spans[j][2] < end:
                crossing[i] = crossing[j] = True
        holders = [j for j in still if spans[j][2] >= end]
        parent = holders[-1] if holders else None
        depth = 0 if parent is None else found[parent][1] + 1
        found[i] = (parent, depth, False)
    return {i: (p, d, crossing[i]) for i, (p, d, _) in found.items()}


_ranges = st.lists(
    st.tuples(st.integers(0, 1), st.integers(0, 12), st.none() | st.integers(0, 12)),
    max_size=14,
)


@settings(max_examples=150, deadline=None)
@given(_ranges)
def test_against_the_slow_search(ranges: list[Range]) -> None:
    """Nesting, crossing, ties and ranges without length or end."""
    assert _nested(ranges) == _slow(ranges)


def test_by_hand() -> None:
    """A holds B and D, B holds C; E crosses nothing on another thread."""
    ranges: list[Range] = [(0, 0, 10), (0, 1, 5), (0, 2, 2), (0, 7, 3), (1, 5, 20)]
    assert _nested(ranges) == {
        0: (None, 0, False),
        1: (0, 1, False),
        2: (1, 2, False),
        3: (0, 1, False),
        4: (None, 0, False),
    }


@pytest.mark.parametrize("depth", [1_000])
def test_a_thousand_deep(depth: int) -> None:
    """Depth grows by one a level, whatever the level."""
    with duckdb.connect() as con:
        con.execute(
            f"CREATE TABLE r AS SELECT i AS id, 1 AS pid, 1 AS tid, i AS ts_ns, "
            f"{2 * depth} - i AS end_ns FROM range({depth}) AS t (i)"
        )
        nest(con, "r")
        assert con.execute(
            "SELECT count(*) FROM nested WHERE depth = id "
            "AND parent_id IS NOT DISTINCT FROM nullif(id - 1, -1) AND NOT crossing"
        ).fetchall() == [(depth,)]


# Kind, thread, start, length: what seeks an operation has no kind of its own.
_KINDS = ("op", "slice", "annotation", None)


@settings(deadline=None, max_examples=60)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(_KINDS), st.integers(0, 1), st.integers(0, 12),
            st.integers(0, 8),
        ),
        max_size=9,
    )
)  # fmt: skip
def test_kinds_have_depths_of_their_own(
    rows: list[tuple[str | None, int, int, int]],
) -> None:
    """Against a climb over the parents: depth by kind, and the innermost operation."""
    parents = _nested([(tid, start, length) for _, tid, start, length in rows])
    with duckdb.connect() as con:
        con.execute(
            "CREATE TABLE r (id BIGINT, pid BIGINT, tid BIGINT, ts_ns BIGINT, "
            "end_ns BIGINT, kind VARCHAR, seeks BOOLEAN)"
        )
        for number, (kind, tid, start, length) in enumerate(rows):
            con.execute(
                "INSERT INTO r VALUES (?, 1, ?, ?, ?, ?, ?)",
                [number, tid, start, start + length, kind, kind is None],
            )
        nest(con, "r")
        found = {
            id_: (parent, depth, op)
            for id_, parent, depth, op in con.execute(
                "SELECT id, parent_id, depth, op_id FROM nested"
            ).fetchall()
        }
    for number, (kind, *_) in enumerate(rows):
        above = []
        at = parents[number][0]
        while at is not None:
            above.append(at)
            at = parents[at][0]
        parent, depth, op = found[number]
        assert parent == parents[number][0]
        if kind is not None:
            assert depth == sum(rows[a][0] == kind for a in above)
            assert op is None
        else:
            assert op == next((a for a in above if rows[a][0] == "op"), None)
