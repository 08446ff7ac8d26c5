"""Answers: what the report asked the query pack, each asked once for all runs.

An answer becomes a table of the session; for the run at hand it is a view of the
query's name, so that findings and figures are small SQL over answers and a reader can
run the same text.

Invariant: no query of the pack runs twice with the same parameters, and no figure has
another source than an answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from traceql import queries
from traceql.result import Result

if TYPE_CHECKING:
    from traceql.manifest import Run
    from traceql.queries import Param, Query
    from traceql.session import Session

VERSION = "v1"
FOCUS = "focus"
"""As time_window: the iterations of a run that has some, else all its GPU work."""


@dataclass(frozen=True)
class Ask:
    """One question to the query pack.

    Attributes:
        query: Name of the query.
        params: Its parameters; `time_window` may be `FOCUS`.
        name: What the answer is called; as the query if empty.
        columns: What it has to hold; all if empty. DuckDB does not compute the others.
    """

    query: str
    params: Mapping[str, object] = field(default_factory=dict)
    name: str = ""
    columns: tuple[str, ...] = ()

    @property
    def table(self) -> str:
        """Name of the answer in SQL."""
        return self.name or self.query


_SWEEP = (
    *("run_id", "device_id", "context_id", "stream_id", "pid", "activity"),
    *("is_kernel", "api_call_id", "launch_ts_ns", "start_ns", "end_ns"),
    *("device_end_before_ns", "busy_from_ns", "kernel_from_ns"),
    *("compute_from_ns", "communication_from_ns", "copy_from_ns", "stream_from_ns"),
    "stream_end_before_ns",
)
# Devices' own steps may have no time in common, or too little of it to speak for them.
_WITH_STEPS = f"""
SELECT run_id
FROM {VERSION}._windows(time_window := 'steps') AS steps
JOIN (
    SELECT run_id, device_id, max(end_ns) - min(start_ns) AS own_ns
    FROM {VERSION}._iterations()
    GROUP BY run_id, device_id
) AS own USING (run_id)
GROUP BY run_id
HAVING bool_and(
    own.device_id IS NULL
    OR 2 * (steps.window_end_ns - steps.window_start_ns) >= own.own_ns
)
"""
GROUND = (
    Ask("_gpu_sweep", columns=_SWEEP),
    Ask("_stream_sets", {"time_window": FOCUS}),
    Ask("_step_ops"),
    Ask("_host_moments"),
    Ask("_op_costs"),
    Ask("_tensor_core_work"),
)
"""The sweeps that several answers stand on: each runs once for the whole report."""


class Answers:
    """The answers of a session, and the view of one run at a time on them."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._asked: dict[str, Ask] = {}
        self._run: Run | None = None
        self.sql("CREATE SCHEMA answer")
        self._with_steps: set[str] = set()
        # Finding iterations takes a while, and most windows need them.
        self._pin(Ask("_launch_periods"))
        self._pin(Ask("_iterations"))
        found = session.sql(_WITH_STEPS)
        self._with_steps = {str(row["run_id"]) for row in found.rows()}
        for ask in GROUND:
            self._pin(ask)

    def look_at(self, run: Run) -> None:
        """Makes `run` the one that every further SQL is about."""
        self._run = run
        for ask in self._asked.values():
            self._view(ask, run)

    @property
    def run(self) -> Run:
        """The run at hand."""
        if self._run is None:
            raise LookupError("no run is looked at")
        return self._run

    def query_of(self, ask: Ask) -> Query:
        """The query that an answer comes from, our own of that name."""
        name = f"{VERSION}.{ask.query}"
        return next(q for q in self._session.catalog.values() if q.qualified == name)

    def call(self, ask: Ask) -> str:
        """The SQL that gives the answer for the run at hand."""
        return self._call(ask, self._window(self.run))

    def tables(self, asks: Iterable[Ask]) -> str:
        """The SQL that makes tables of answers about the run at hand."""
        return "".join(
            f"CREATE TEMP TABLE {ask.table} AS {self.call(ask)};\n" for ask in asks
        )

    def ask(self, asks: Iterable[Ask]) -> None:
        """Makes the answers tables of the session.

        One after another: each keeps all cores busy, and several at once take longer.

        Raises:
            QueryError: A query fails.
        """
        for ask in asks:
            self._asked[ask.table] = ask
            self.sql(f"CREATE TABLE answer.{ask.table} AS {self._create(ask)}")

    def rows_of(self, asks: Sequence[Ask], columns: str) -> list[list[dict[str, Any]]]:
        """Rows of further answers about the run at hand, which no table keeps."""
        run = f"run_id = '{self.run.run_id}'"
        return [
            self.sql(f"SELECT {columns} FROM ({self.call(ask)}) WHERE {run}").rows()
            for ask in asks
        ]

    def sql(self, text: str) -> Result:
        """Runs SQL over the answers for the run at hand."""
        return self._session.sql(text)

    def note(self, ask: Ask) -> str | None:
        """What the run at hand lacks for a query and how to record it."""
        return self._lack(ask, self.run)

    def _lack(self, ask: Ask, run: Run) -> str | None:
        for tables, advice in self.query_of(ask).requires:
            names = tables.split("|")
            if not any(self._holds(run, name) for name in names):
                return f"This capture holds no {' or '.join(names)} rows. {advice}"
        return None

    def _holds(self, run: Run, table: str) -> bool:
        """Whether a run has rows of a table, or the logs beside it have."""
        own = table.removeprefix("attached_")
        if own == table:
            return bool(run.rows.get(table))
        return any(
            log.rows.get(own)
            for log in self._session.attached
            if log.manifest.options.get("attached_to") == run.run_id
        )

    def _window(self, run: Run) -> str:
        return "steps" if run.run_id in self._with_steps else "gpu"

    def _call(self, ask: Ask, window: str) -> str:
        params = dict(ask.params)
        if params.get("time_window") == FOCUS:
            params["time_window"] = window
        text = queries.call_sql(self.query_of(ask), params)
        return f"SELECT {', '.join(ask.columns)} {text}" if ask.columns else text

    def _create(self, ask: Ask) -> str:
        by_window: dict[str, list[str]] = {}
        for run in self._session.runs:
            by_window.setdefault(self._window(run), []).append(f"'{run.run_id}'")
        if ask.params.get("time_window") != FOCUS or len(by_window) < 2:
            arms = [self._call(ask, next(iter(by_window)))]
        else:
            arms = [
                f"({self._call(ask, window)} WHERE run_id IN ({', '.join(ids)}))"
                for window, ids in by_window.items()
            ]
        answer = " UNION ALL ".join(arms)
        if all(self._lack(ask, run) for run in self._session.runs):
            # The note says it; nothing is computed.
            return f"{answer} WITH NO DATA"
        return answer

    def _pin(self, ask: Ask) -> None:
        """Runs a private query once; every further call of it reads the answer."""
        self.sql(f"CREATE TABLE answer.{ask.table} AS {self._create(ask)}")
        params = self.query_of(ask).params
        declared = ", ".join(f"{p.name} {p.type} := {p.default}" for p in params)
        text = f"FROM answer.{ask.table}"
        if params:
            text += f" WHERE {_same(ask, params)}"
        self.sql(
            f"CREATE OR REPLACE MACRO {VERSION}.{ask.table}({declared}) AS TABLE {text}"
        )

    def _view(self, ask: Ask, run: Run) -> None:
        self.sql(
            f"CREATE OR REPLACE TEMP VIEW {ask.table} AS "
            f"FROM answer.{ask.table} WHERE run_id = '{run.run_id}'"
        )


def _same(ask: Ask, params: Iterable[Param]) -> str:
    """SQL that fails for other parameters than an answer was made with."""
    conditions = []
    for param in params:
        value = ask.params.get(param.name, param.default)
        conditions.append(
            f"{param.name} IN ('steps', 'gpu')"
            if value == FOCUS
            else f"{param.name} IS NOT DISTINCT FROM {value}"
        )
    return (
        f"CASE WHEN {' AND '.join(conditions)} THEN true "
        f"ELSE error('{ask.table} was not pinned for these parameters') END"
    )
