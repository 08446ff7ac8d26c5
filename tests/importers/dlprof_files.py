"""DLProf's and PyProf's files of the generated run, for the tests that read them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import traceql
from fixtures.dlprof_database import (
    captured,
    write_dlprof_database,
    write_dlprof_folder,
)
from fixtures.dlprof_reports import write_dlprof_reports
from fixtures.make_fixtures import SINGLE
from fixtures.model import Kernel, Memcpy, Memset, Op, TrainingRun
from fixtures.pyprof import write_pyprof_csv, write_pyprof_dict
from fixtures.training_run import make_run
from traceql.session import Session

Imported = Callable[[str], Session]
TYPES = {
    "aten::linear": "linear",
    "aten::relu": "relu",
    "autograd::engine::evaluate_function: LinearBackward0": "linear",
    "Optimizer.step#AdamW.step": "step",
}
"""The run's operations as DLProf names their types."""
SOURCES = ("database", "reports")


def plan() -> TrainingRun:
    """The run, without the two kernels that no call launched."""
    whole = make_run(SINGLE)
    kept = captured(whole)
    assert len(whole.kernels) - len(kept.kernels) == 2
    return kept


def write_all(folder: Path) -> None:
    """Writes all files of the whole run."""
    whole = make_run(SINGLE)
    (folder / "alone").mkdir()
    write_dlprof_database(whole, folder / "alone" / "dlprof_dldb.sqlite")
    write_dlprof_folder(whole, folder / "pair")
    write_dlprof_reports(whole, folder / "reports")
    write_pyprof_dict(whole, folder / "net.dict")
    write_pyprof_csv(whole, folder / "net.csv")


def importer(folder: Path, store: traceql.Store) -> Imported:
    """What imports one of the files alone."""

    def of(name: str) -> Session:
        (outcome,) = store.ingest(folder / name)
        assert outcome.run is not None, outcome.error
        assert {f.severity for f in outcome.findings} <= {"info"}
        return store.session([outcome.run.run_id])

    return of


def report_rows(session: Session, report: str) -> list[dict[str, Any]]:
    """The rows of a report, in its order."""
    return session.sql(
        f"SELECT * FROM report_row WHERE report = '{report}' ORDER BY row_number"
    ).rows()


def of_source(imported: Imported, source: str, report: str) -> Session:
    """The database, or one of the reports."""
    alone = "alone/dlprof_dldb.sqlite"
    return imported(alone if source == "database" else f"reports/dlprof_{report}.csv")


def length(row: Kernel | Memcpy | Memset | Op) -> int:
    """How long it took, ns."""
    return row.end_ns - row.start_ns
