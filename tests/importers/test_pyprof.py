"""PyProf's outputs: literals that are read and never run, and the CSV made of them."""

from __future__ import annotations

import ast
import csv
import json
from pathlib import Path
from typing import Any

import pytest

import traceql
from traceql.session import Session

_FOLDERS = {
    "derived_pyprof/pyprof_root": (46, 346_684),
    "derived_pyprof/pyprof_wrelu": (59, 589_147),
}


def _import(store: traceql.Store, path: Path) -> Session:
    (outcome,) = store.ingest(path)
    assert outcome.run is not None, outcome.error
    assert outcome.run.manifest.importer["name"] == "pyprof"
    return store.session([outcome.run.run_id])


def _rows(session: Session) -> list[dict[str, Any]]:
    return [
        dict(r)
        for r in session.sql(
            "SELECT name, op_name, direction, gpu_time_ns, uses_tc, fields "
            "FROM report_row ORDER BY row_number"
        ).rows()
    ]


@pytest.mark.parametrize("name", list(_FOLDERS))
@pytest.mark.parametrize("ending", [".dict", ".csv"])
def test_totals(corpus: Path, store: traceql.Store, name: str, ending: str) -> None:
    """As many kernels, and as long, as the capture that PyProf read has."""
    session = _import(store, corpus / "dlprof" / (name + ending))
    rows = _rows(session)
    assert (len(rows), sum(r["gpu_time_ns"] for r in rows)) == _FOLDERS[name]
    assert session.sql("SELECT * FROM kernel").rows() == []  # no times: no events
    assert session.sql("SELECT device_id FROM device").rows() == [{"device_id": 0}]


def test_the_dict_row_by_row(corpus: Path, store: traceql.Store) -> None:
    """Every key of every line is there, and the operation that PyProf's CSV names."""
    folder = corpus / "dlprof" / "josiahdavis_profiling-lm"
    rows = _rows(_import(store, folder / "net.dict"))
    lines = (folder / "net.dict").read_text().splitlines()
    assert len(rows) == len(lines) == 160
    for row, line in zip(rows, lines, strict=True):
        value = ast.literal_eval(line)
        assert json.loads(row["fields"]) == json.loads(json.dumps(value))
        assert row["name"] == value["kShortName"]
        assert row["gpu_time_ns"] == value["kDuration"]
        assert row["direction"] == value["dir"]
    with (folder / "lm.csv").open(newline="") as file:
        printed = list(csv.DictReader(file))
    # The CSV's second look gives backward kernels the name of the forward operation,
    # and calls the addition in a linear layer bias.
    for row, cells in zip(rows, printed, strict=True):
        if row["direction"] == "fprop" and cells["Op"] != "bias":
            assert row["op_name"] == cells["Op"]


def test_the_csv_row_by_row(corpus: Path, store: traceql.Store) -> None:
    """Chosen columns, quoted figures, and a dash that is neither yes nor no."""
    path = corpus / "dlprof" / "josiahdavis_profiling-lm" / "lm.csv"
    rows = _rows(_import(store, path))
    with path.open(newline="") as file:
        printed = list(csv.DictReader(file))
    assert [json.loads(r["fields"]) for r in rows] == printed
    assert [r["gpu_time_ns"] for r in rows] == [int(p["Sil(ns)"]) for p in printed]
    said = {"1": True, "0": False}
    assert [r["uses_tc"] for r in rows] == [said.get(p["TC"]) for p in printed]


def test_nothing_is_run_and_one_bad_line_stops_nothing(
    store: traceql.Store, tmp_path: Path
) -> None:
    """Calls, names, error texts and deep nests are lines left out and counted."""
    trap = tmp_path / "run"
    good = "{'kShortName': 'k', 'kDuration': 5, 'op': ['add'], 'dir': 'fprop'}"
    bad = [
        f"{{'kShortName': __import__('pathlib').Path({str(trap)!r}).touch()}}",
        "Error: no such table: CUPTI_ACTIVITY_KIND_KERNEL",
        "{'kShortName': 'cut', 'kDur",
        "[" * 5000,
        "{'other': 1}",
        "{'kShortName': 'nan', 'kDuration': nan}",
    ]
    path = tmp_path / "net.dict"
    path.write_text("\n".join([good, *bad, good]) + "\n")
    session = _import(store, path)
    assert [(r["op_name"], r["gpu_time_ns"]) for r in _rows(session)] == [
        ("add", 5),
        ("add", 5),
    ]
    found = session.sql("SELECT code, severity, count FROM diagnostic").rows()
    assert {"code": "damaged_lines", "severity": "data_loss", "count": 6} in found
    assert not trap.exists()


def test_what_nvprof_wrote_is_named(corpus: Path, store: traceql.Store) -> None:
    """The database that PyProf read is refused as what it is."""
    folder = corpus / "dlprof" / "josiahdavis_profiling-lm"
    (outcome,) = store.ingest(folder / "net.sql")
    assert outcome.error is not None
    assert "nvprof" in str(outcome.error)
    assert ".dict" in str(outcome.error.hint)
