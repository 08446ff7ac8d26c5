"""Small random host work: nested operations, API calls, annotations."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import strategies as st
from query_database import Database


@dataclass(frozen=True)
class Range:
    """One interval of a host thread, in one of the schema's tables."""

    run: str
    table: str
    name: str
    pid: int | None
    tid: int
    start: int
    dur: int | None
    number: int = 0

    @property
    def end(self) -> int:
        """Its end; its start where the duration is unknown or negative."""
        return self.start + max(self.dur or 0, 0)

    @property
    def thread(self) -> tuple[str, int | None, int]:
        return self.run, self.pid, self.tid

    def holds(self, other: Range) -> bool:
        """Whether the other begins in it, on the same thread."""
        return self.thread == other.thread and self.start <= other.start < self.end


NAMES = {
    "op": ["aten::mm", "aten::to", "nccl:all_reduce", "IteratorGetNext", "Optimizer"],
    "annotation": ["forward", "enumerate(DataLoader)#x.__next__", "gloo:broadcast"],
    "slice": ["Iterator::Map::TFRecord", "Iterator::Map", "frame"],
    "api_call": ["cuda_runtime", "cuda_driver", "mpi", "osrt", "cudnn"],
}
"""Names; of API calls the API."""


@st.composite
def ranges(draw: st.DrawFn, tables: tuple[str, ...] = tuple(NAMES)) -> list[Range]:
    """Ranges that may cross each other."""
    count = draw(st.integers(0, 12))
    found = []
    for number in range(count):
        table = draw(st.sampled_from(tables))
        found.append(
            Range(
                run=draw(st.sampled_from(["r1", "r1", "r2"])),
                table=table,
                name=draw(st.sampled_from(NAMES[table])),
                pid=draw(st.sampled_from([10, 10, 11, None])),
                tid=draw(st.integers(1, 2)),
                start=draw(st.integers(-5, 60)),
                dur=draw(st.integers(0, 30) | st.sampled_from([None, -2, 0])),
                number=number,
            )
        )
    return found


@st.composite
def trees(draw: st.DrawFn) -> list[Range]:
    """Operations that nest within each other on each thread, and API calls."""
    kept: list[Range] = []
    for one in sorted(draw(ranges(("op", "op", "api_call"))), key=_in_order):
        around = [other for other in kept if other.table == "op" and other.holds(one)]
        if one.table == "api_call" or all(one.end <= other.end for other in around):
            kept.append(one)
    return kept


def _in_order(one: Range) -> tuple[int, int]:
    return one.start, -one.end


def insert(database: Database, found: list[Range]) -> None:
    """Adds the ranges to a database; ids are their numbers."""
    for one in found:
        row: dict[str, object] = {"run_id": one.run, "ts_ns": one.start}
        row |= {"dur_ns": one.dur, "pid": one.pid, "tid": one.tid, "name": one.name}
        if one.table == "annotation":
            row["kind"] = "push_pop"
        if one.table == "api_call":
            row["api"] = one.name
        database.insert(one.table, row | {f"{one.table}_id": one.number})
