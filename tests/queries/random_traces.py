"""Small random traces: nesting, ties, zero and unknown durations, several of all."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from query_database import Database, empty
from reference import Interval, clip

FAST = settings(
    max_examples=50,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)

Row = tuple[Any, ...]
"""One row of a result, or of a table."""

NAMES = {"compute": "gemm", "communication": "ncclDevKernel_AllReduce", "memset": ""}
NAMES |= {"graph": "", "copy_h2d": "H2D", "copy_d2h": "D2H"}
KERNELS = ("compute", "communication", "graph")
COPIES = ("copy_h2d", "copy_d2h", "memset")


@dataclass(frozen=True)
class Op:
    """One GPU operation."""

    run: str
    activity: str
    device: int | None
    stream: tuple[int | None, int | None, int | None]
    """pid, context, stream."""
    start: int
    dur: int | None
    launch: int | None = None
    api_call: int | None = None
    bytes: int | None = None
    number: int = 0

    @property
    def span(self) -> Interval:
        """From start to end; no length where the duration is unknown or negative."""
        return self.start, self.start + max(self.dur or 0, 0)

    @property
    def is_timed(self) -> bool:
        return self.dur is not None and self.dur >= 0

    @property
    def label(self) -> str:
        """The name that gpu_op gives it."""
        if self.activity == "graph":
            return "CUDA graph 3"
        if self.activity == "memset":
            return "memset"
        prefix = "memcpy " if self.activity in COPIES else ""
        return prefix + NAMES[self.activity]

    def meets(self, start: int, end: int) -> bool:
        """Whether a query of the window [start, end] counts it."""
        a, b = self.span
        return (a < end and b > start) or (a == b and start <= a <= end)


@dataclass(frozen=True)
class Step:
    """One iteration."""

    run: str
    pid: int | None
    number: int
    start: int
    end: int


DEVICE_SETS: list[list[int | None]] = [[0], [0], [None], [0, 1], [0, 0, 1, None]]
"""Devices that the operations of a trace run on."""
PROCESSES: list[list[int | None]] = [[10], [None], [10, 11], [10, None], []]
"""Processes that may have iterations in a run."""
WINDOWS = {"r1": (0, 60), "r2": (10, 47)}
DEVICES = {"r1": (0, 1, 5), "r2": (0,)}
"""Listed devices; 5 runs nothing, and is in no answer."""


@st.composite
def ops(draw: st.DrawFn, max_size: int = 16) -> list[Op]:
    """Operations of one run or two on a few devices and streams, so that they meet."""
    stream = st.tuples(
        st.sampled_from([10, 11, None]),
        st.sampled_from([1, 2, None]),
        st.sampled_from([7, 8, None]),
    )
    streams = draw(st.lists(stream, min_size=1, max_size=3, unique=True))
    devices = draw(st.sampled_from(DEVICE_SETS))
    maybe = st.integers(0, 60) | st.none()
    op = st.builds(
        Op,
        run=st.sampled_from(["r1", "r1", "r1", "r2"]),
        activity=st.sampled_from(sorted(NAMES)),
        device=st.sampled_from(devices),
        stream=st.sampled_from(streams),
        start=st.integers(-5, 60),
        dur=st.integers(0, 25) | st.sampled_from([None, -3, 0, 1]),
        launch=maybe,
        api_call=st.integers(0, 4) | st.none(),
        bytes=st.integers(0, 9) | st.none(),
    )
    found = draw(st.lists(op, max_size=max_size))
    return [replace(one, number=number) for number, one in enumerate(found)]


@st.composite
def steps(draw: st.DrawFn) -> list[Step]:
    """Iterations of up to two processes; some overlap the next, some have no length."""
    found = []
    for run in sorted(WINDOWS):
        for pid in draw(st.sampled_from(PROCESSES)):
            start, end = draw(st.integers(0, 20)), -1
            for number in range(draw(st.integers(0, 6))):
                end = max(start + draw(st.integers(0, 14)), end + 1)
                found.append(Step(run, pid, number, start, end))
                start = max(start + 1, end + draw(st.integers(-2, 4)))
    return found


@contextmanager
def loaded(trace: Iterable[Op], iterations: Iterable[Step] = ()) -> Iterator[Database]:
    """A database that holds the trace, until the block ends."""
    database = empty()
    database.con.begin()
    try:
        _insert(
            database,
            "run",
            [(run, a, b - a, 0) for run, (a, b) in WINDOWS.items()],
            "run_id, first_ts_ns, span_ns, source_origin_ns",
        )
        known = [(run, device) for run, all_ in DEVICES.items() for device in all_]
        _insert(database, "device", known, "run_id, device_id")
        batches: dict[tuple[str, str], list[Row]] = {}
        for op in trace:
            table, row = _place(op)
            batches.setdefault((table, ", ".join(row)), []).append(tuple(row.values()))
        for (table, columns), rows in batches.items():
            _insert(database, table, rows, columns)
        _insert(
            database,
            "iteration",
            [
                (s.run, s.pid, s.start, s.end - s.start, n, f"it{s.number}", "tf_step")
                for n, s in enumerate(iterations)
            ],
            "run_id, pid, ts_ns, dur_ns, iteration_id, name, source",
        )
        yield database
    finally:
        database.con.rollback()


def _place(op: Op) -> tuple[str, dict[str, Any]]:
    """Table and row of an operation."""
    pid, context, stream = op.stream
    row: dict[str, Any] = {"run_id": op.run, "ts_ns": op.start, "dur_ns": op.dur}
    row |= {"device_id": op.device, "context_id": context, "stream_id": stream}
    row |= {"pid": pid, "launch_ts_ns": op.launch, "api_call_id": op.api_call}
    own: dict[str, Any]
    if op.activity == "graph":
        table, own = "graph_launch", {"graph_exec_id": 3}
    elif op.activity == "memset":
        table, own = "memset", {"bytes": op.bytes}
    elif op.activity in COPIES:
        table, own = "memcpy", {"bytes": op.bytes, "kind": NAMES[op.activity]}
    else:
        table, own = "kernel", {"name": NAMES[op.activity]}
    return table, row | own | {f"{table}_id": op.number}


def _insert(database: Database, table: str, rows: list[Row], columns: str) -> None:
    if rows:
        row = "(" + ", ".join("?" for _ in rows[0]) + ")"
        database.con.execute(
            f"INSERT INTO {table} ({columns}) VALUES {', '.join([row] * len(rows))}",
            [value for one in rows for value in one],
        )


@st.composite
def windows(draw: st.DrawFn) -> dict[str, int]:
    """Parameters of a query with a window: none, or a range."""
    if draw(st.booleans()):
        return {}
    start = draw(st.integers(-3, 50))
    return {"from_ns": start, "to_ns": start + draw(st.integers(1, 30))}


def window(run: str, params: dict[str, int]) -> Interval:
    """The window that `windows` means for a run."""
    return (params["from_ns"], params["to_ns"]) if params else WINDOWS[run]


def spans(trace: Iterable[Op], within: Interval | None = None) -> list[Interval]:
    """The operations' intervals, clipped to a window if one is given."""
    found = [op.span for op in trace]
    return clip(found, *within) if within else found


def sort_key(*values: int | str | None) -> tuple[tuple[bool, Any], ...]:
    """For sorting as SQL does: NULL last."""
    return tuple((value is None, value) for value in values)
