"""A DLProf database with its Nsight Systems capture: one run, or two and why.

The pair is a real one; what each file alone says of it is what one run must say.
"""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

import traceql
from traceql.importing import Outcome
from traceql.session import Session

_DATABASE, _EXPORT = "dlprof_dldb_7.sqlite", "nsys_profile.sqlite"


@pytest.fixture
def folder(corpus: Path, tmp_path: Path) -> Path:
    """A pair in a folder of its own, to be changed at will."""
    out = tmp_path / "dlprof_out"
    out.mkdir()
    pair = corpus / "dlprof" / "MohanadOdema_DLProf" / "w_Relu"
    for name in (_DATABASE, _EXPORT):
        shutil.copyfile(pair / name, out / name)
    return out


def _session(store: traceql.Store, outcome: Outcome) -> Session:
    assert outcome.run is not None, outcome.error
    return store.session([outcome.run.run_id])


def _change(path: Path, sql: str) -> None:
    with closing(sqlite3.connect(path)) as con:
        con.executescript(sql)


def _warning(store: traceql.Store, folder: Path) -> str:
    """The finding of a database that was not joined, after both came in alone."""
    outcomes = store.ingest(folder)
    made = {o.run.manifest.importer["name"]: o for o in outcomes if o.run is not None}
    assert "dlprof-sqlite" in made
    assert "dlprof-folder" not in made
    (found,) = (
        f for f in made["dlprof-sqlite"].findings if f.code == "capture_differs"
    )
    assert found.severity == "warning"
    assert found.example is not None
    session = _session(store, made["dlprof-sqlite"])
    streams = session.sql("SELECT count(*) AS n, count(stream_id) AS s FROM kernel")
    assert streams.rows() == [{"n": 59, "s": 0}]
    return found.example


def test_one_run(folder: Path, store: traceql.Store) -> None:
    """Operations of the database; streams, grids and correlations of the capture."""
    (outcome,) = store.ingest(folder)
    both = _session(store, outcome)
    (alone,) = store.ingest(folder / _DATABASE)
    (capture,) = store.ingest(folder / _EXPORT)
    ops = "SELECT op_id, name, op_type, ts_ns, dur_ns, parent_id FROM op ORDER BY op_id"
    assert both.sql(ops).rows() == _session(store, alone).sql(ops).rows()
    for table in ("kernel", "memcpy", "memset"):
        device = (
            f"SELECT * EXCLUDE (run_id, op_id) FROM {table} "
            "ORDER BY ts_ns, device_id, stream_id"
        )
        rows = both.sql(device).rows()
        assert rows == _session(store, capture).sql(device).rows()
        assert all(row["stream_id"] is not None for row in rows)
        owners = f"SELECT ts_ns, dur_ns, op_id FROM {table} ORDER BY ALL"
        listed = _session(store, alone).sql(owners).rows()
        # The database leaves out what no operation of its own called.
        owned = [row for row in both.sql(owners).rows() if row["op_id"] is not None]
        assert owned == [row for row in listed if row["op_id"] is not None] != []
    run = both.sql("SELECT tool, tool_version, framework, clock FROM run").rows()
    assert run == [
        {
            "tool": "DLProf",
            "tool_version": "1.8.0",
            "framework": "pytorch",
            "clock": "session_start",
        }
    ]
    calls = "SELECT count(*) AS n FROM api_call"
    assert both.sql(calls).rows() == _session(store, capture).sql(calls).rows()


def test_reports_beside_the_pair(
    folder: Path, corpus: Path, store: traceql.Store
) -> None:
    """DLProf's CSV reports say what the database says, and are named as left out."""
    csv = corpus / "dlprof/MohanadOdema_DLProf/w_Relu/dlprof_kernel.csv"
    shutil.copyfile(csv, folder / csv.name)
    (outcome,) = store.ingest(folder)
    (found,) = (f for f in outcome.findings if f.code == "reports_left_out")
    assert (found.count, found.example) == (1, "dlprof_kernel.csv")


def test_fewer_kernels(folder: Path, store: traceql.Store) -> None:
    """Another count is told with both."""
    _change(
        folder / _EXPORT,
        "DELETE FROM CUPTI_ACTIVITY_KIND_KERNEL WHERE rowid IN "
        "(SELECT rowid FROM CUPTI_ACTIVITY_KIND_KERNEL ORDER BY start LIMIT 2)",
    )
    said = _warning(store, folder)
    assert "59 kernels from " in said
    assert "57 kernels from " in said


def test_shifted_span(folder: Path, store: traceql.Store) -> None:
    """The same kernels a nanosecond later are others."""
    _change(
        folder / _EXPORT,
        'UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET start = start + 1, "end" = "end" + 1',
    )
    said = _warning(store, folder)
    assert said.count("59 kernels from ") == 2


def test_other_names(folder: Path, store: traceql.Store) -> None:
    """Kernels of the same times and another name are others."""
    _change(
        folder / _EXPORT,
        "UPDATE StringIds SET value = 'renamed' WHERE id = "
        "(SELECT shortName FROM CUPTI_ACTIVITY_KIND_KERNEL ORDER BY start LIMIT 1)",
    )
    said = _warning(store, folder)
    assert "of 59 kernels in dlprof_dldb_7.sqlite" in said
    assert "implicit_convolve_sgemm" in said


def test_cut_capture(folder: Path, store: traceql.Store) -> None:
    """A damaged capture fails alone; the database is imported, and says why alone."""
    path = folder / _EXPORT
    path.write_bytes(path.read_bytes()[:-100_000])
    assert "100000 bytes are missing" in _warning(store, folder)


def test_several_captures(folder: Path, store: traceql.Store) -> None:
    """Which of two captures is meant is not for the importer to say."""
    _change(folder / _EXPORT, "DELETE FROM CUPTI_ACTIVITY_KIND_KERNEL")
    shutil.copyfile(folder / _EXPORT, folder / "other.sqlite")
    assert "no kernel" in _warning(store, folder)


def test_unreadable_report(
    folder: Path, store: traceql.Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without an nsys the database comes in alone and names what is missing."""
    (folder / _EXPORT).unlink()
    magic = b"NVIDIA Tegra Profiler Report 2021.4.1.73v0"
    (folder / "nsys_profile.qdrep").write_bytes(magic + bytes(100))
    monkeypatch.setattr("traceql.importers._nsys.installed", lambda _: [])
    (outcome,) = store.ingest(folder)
    assert outcome.run is not None
    (found,) = (f for f in outcome.findings if f.code == "capture_differs")
    assert "no nsys was found" in (found.example or "")
    kernels = _session(store, outcome).sql("SELECT count(*) AS n FROM kernel").rows()
    assert kernels == [{"n": 59}]
