"""Begins and ends paired in SQL and by the stack pass, against the rule spelled out."""

from __future__ import annotations

import duckdb
from hypothesis import given, settings
from hypothesis import strategies as st

from traceql.importers._trace_event import pairing

# Phase, name, time; the position is the event's place in the file.
Half = tuple[str, str, int]


def _by_rule(events: list[Half]) -> set[tuple[int, int | None]]:
    """Each begin and its end: the nearest open range of the name; what is above ends.

    An end closes what is above its range without an end, unless one of its own comes
    at the same moment.
    """
    pairs: dict[int, int | None] = {}
    open_: list[int] = []
    closed: dict[int, int] = {}  # begin closed by another's end: when
    order = sorted(range(len(events)), key=lambda i: (events[i][2], i))
    for place in order:
        ph, name, ts = events[place]
        if ph == "B":
            open_.append(place)
            pairs[place] = None
            continue
        mine = [b for b in open_ if name in ("", events[b][1])]
        late = [b for b, at in closed.items() if at == ts and events[b][1] == name]
        if late and (not mine or mine[-1] != open_[-1]):
            latest = max(late, key=order.index)
            pairs[latest] = place
            del closed[latest]
        elif mine:
            pairs[mine[-1]] = place
            above = open_[open_.index(mine[-1]) + 1 :]
            closed |= dict.fromkeys(above, ts)
            open_ = open_[: open_.index(mine[-1])]
    return set(pairs.items())


@settings(max_examples=150, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from("BBE"), st.sampled_from(["a", "b"]), st.integers(0, 12)
        ),
        max_size=14,
    ),
    st.booleans(),
)
def test_pairs(events: list[Half], nameless: bool) -> None:
    """Any events of one thread; with nameless ends nothing is ever out of order."""
    if nameless:
        events = [(ph, "" if ph == "E" else name, ts) for ph, name, ts in events]
    with duckdb.connect(config={"threads": 1}) as con:
        con.execute(
            "CREATE TABLE event (event_id BIGINT, ph VARCHAR, name VARCHAR, "
            "pid BIGINT, tid BIGINT, ts_ns BIGINT, args VARCHAR)"
        )
        for place, (ph, name, ts) in enumerate(events):
            row = [place, ph, name or None, 1, 1, ts, None]
            con.execute("INSERT INTO event VALUES (?, ?, ?, ?, ?, ?, ?)", row)
        pairing.pair(con)
        found = con.execute("SELECT begin_id, end_id FROM begin_end").fetchall()
        assert len(found) == len(set(found))
        assert set(found) == _by_rule(events)
        ((unmatched,),) = con.execute("SELECT count(*) FROM unmatched_end").fetchall()
        ends = sum(ph == "E" for ph, _, _ in events)
        assert ends == unmatched + sum(end is not None for _, end in found)
