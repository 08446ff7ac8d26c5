"""Reports of the generated training run, of an empty one, and of a hostile one."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

import traceql
from traceql.report import write_report

from .devtools import browser

NSIGHT = Path(__file__).parents[2] / "fixtures" / "nsight"

# Ends a script element, an attribute, a JSON text; runs where it is taken as HTML; and
# is what charts take for a colour or an expression.
HOSTILE = (
    "</script><script>window.owned=1</script>\"'><img src=x onerror=window.owned=2>"
    "<!--{{7*7}}{% raw %}\u2028\u202e&lt;\x1b[31m var(--compute)"
)


@pytest.fixture(scope="session")
def reports(tmp_path_factory: pytest.TempPathFactory) -> traceql.Store:
    """A store with the runs `training`, `hostile` and `no-gpu`."""
    folder = tmp_path_factory.mktemp("reports")
    training = NSIGHT / "nsight_2026.sqlite"
    hostile = _changed(
        training,
        folder / "hostile.sqlite",
        "UPDATE StringIds SET value = ?1 || id WHERE id IN ("
        "SELECT demangledName FROM CUPTI_ACTIVITY_KIND_KERNEL UNION "
        "SELECT shortName FROM CUPTI_ACTIVITY_KIND_KERNEL)",
        "UPDATE NVTX_EVENTS SET text = ?1 || text WHERE text IS NOT NULL",
    )
    no_gpu = _changed(
        training,
        folder / "no_gpu.sqlite",
        "DELETE FROM CUPTI_ACTIVITY_KIND_KERNEL WHERE ?1 <> ''",
        "DELETE FROM CUPTI_ACTIVITY_KIND_MEMCPY WHERE ?1 <> ''",
        "DELETE FROM CUPTI_ACTIVITY_KIND_MEMSET WHERE ?1 <> ''",
        "DROP TABLE IF EXISTS CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
    )
    store = traceql.open_store(folder / "store", create=True)
    for source, label in (
        (training, "training"),
        (hostile, "hostile <b>label</b>"),
        (no_gpu, "no-gpu"),
    ):
        (outcome,) = store.ingest(source, label=label)
        assert outcome.error is None, outcome.error
    return store


def _changed(source: Path, target: Path, *statements: str) -> Path:
    target.write_bytes(source.read_bytes())
    with sqlite3.connect(target) as con:
        for statement in statements:
            con.execute(statement, (HOSTILE,) if "?1" in statement else ())
    con.close()
    return target


@pytest.fixture(scope="session")
def pages(
    reports: traceql.Store, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Path]:
    """Written reports by label; `both` has two runs."""
    folder = tmp_path_factory.mktemp("pages")
    runs = {str(run.label).partition(" ")[0]: run for run in reports.runs()}
    found = {
        label: write_report(reports, [run], folder / f"{label}.html")
        for label, run in runs.items()
    }
    both = [runs["training"], runs["no-gpu"]]
    found["both"] = write_report(reports, both, folder / "both.html")
    return found


@pytest.fixture(scope="session")
def chrome() -> Iterator[str]:
    """The address of a browser."""
    with browser() as address:
        yield address
