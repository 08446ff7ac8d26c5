"""A report and its exports in one folder: one capture, one run."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

import traceql
from traceql.ingest import Outcome

FIXTURES = Path(__file__).parents[1] / "fixtures" / "nsight"
REPORT = b"NVIDIA Tegra Profiler Report 1.\n\x0bLocal (CLI)\x12"
STREAM = b"U3w[END]NVIDIA Nsight Systems Stream 2023.4.4.54-234433681190v0!"
DUMP = b'{"data":["[Unknown]","[kernel.kallsyms]"]}'


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A report x with all that nsys leaves beside it; nsys itself never works."""
    monkeypatch.setenv("TRACEQL_NSYS", "/bin/false")
    made = tmp_path / "captures"
    made.mkdir()
    for name, content in (
        ("x.nsys-rep", REPORT),
        ("x.qdstrm", STREAM),
        ("x.json", DUMP),
        ("x.txt", b"notes of x"),
    ):
        (made / name).write_bytes(content)
    shutil.copyfile(FIXTURES / "nsight_2026.sqlite", made / "x.sqlite")
    return made


def _ingest(store: traceql.Store, *names: Path) -> dict[str, Outcome]:
    return {Path(o.source).name: o for o in store.ingest(*names)}


def test_the_sqlite_export_stands_for_all(store: traceql.Store, folder: Path) -> None:
    """It says what it left out, and how to have that too."""
    outcomes = _ingest(store, folder)
    assert list(outcomes) == ["x.sqlite"]
    assert outcomes["x.sqlite"].status == "imported"
    notes = outcomes["x.sqlite"].notes
    for name in ("x.nsys-rep", "x.qdstrm", "x.json"):
        assert any(note.startswith(f"{name} is left out") for note in notes)
    assert len(notes) == 3


def test_an_export_older_than_its_report(store: traceql.Store, folder: Path) -> None:
    """It may be of an earlier capture: said, for nothing proves it."""
    os.utime(folder / "x.sqlite", (1_700_000_000, 1_700_000_000))
    (note, *_) = [
        note
        for note in _ingest(store, folder)["x.sqlite"].notes
        if note.startswith("x.nsys-rep")
    ]
    assert "newer" in note


def test_the_folder_of_an_export_too(store: traceql.Store, folder: Path) -> None:
    """SQLite before Parquet, Parquet before the report."""
    (folder / "x_pqtdir").mkdir()
    for name in ("StringIds", "NVTX_EVENTS"):
        (folder / "x_pqtdir" / f"{name}.parquet").write_bytes(b"PAR1")
    (folder / "x_arwdir").mkdir()
    (folder / "x_arwdir" / "StringIds.arrow").write_bytes(b"")
    assert list(_ingest(store, folder)) == ["x.sqlite"]
    (folder / "x.sqlite").unlink()
    assert list(_ingest(store, folder)) == ["x_pqtdir"]


def test_a_file_that_is_no_export_stands_for_nothing(
    store: traceql.Store, folder: Path
) -> None:
    """An empty file of the same name hides no report, and is a failure of its own."""
    (folder / "x.sqlite").write_bytes(b"")
    outcomes = _ingest(store, folder)
    assert outcomes.keys() == {"x.nsys-rep", "x.sqlite"}
    assert all(outcome.error is not None for outcome in outcomes.values())


def test_what_is_named_is_tried(store: traceql.Store, folder: Path) -> None:
    outcomes = _ingest(store, folder / "x.nsys-rep", folder / "x.sqlite")
    assert {name: o.status for name, o in outcomes.items()} == {
        "x.nsys-rep": "failed",
        "x.sqlite": "imported",
    }


def test_other_names_and_folders_are_other_captures(
    store: traceql.Store, folder: Path
) -> None:
    (folder / "y.nsys-rep").write_bytes(REPORT)
    (folder / "deeper").mkdir()
    (folder / "deeper" / "x.qdrep").write_bytes(REPORT)
    assert set(_ingest(store, folder)) == {"x.sqlite", "y.nsys-rep", "x.qdrep"}


def test_two_reports_of_one_name_are_both_read(
    store: traceql.Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither is an export of the other."""
    monkeypatch.setenv("TRACEQL_NSYS", "/bin/false")
    (tmp_path / "c").mkdir()
    for name in ("x.qdrep", "x.nsys-rep"):
        (tmp_path / "c" / name).write_bytes(REPORT)
    assert set(_ingest(store, tmp_path / "c")) == {"x.qdrep", "x.nsys-rep"}


def test_a_capture_that_nobody_reads_is_no_silence(
    store: traceql.Store, tmp_path: Path
) -> None:
    """Alone in a folder it is refused by name; what is no capture is passed over."""
    alone = tmp_path / "alone"
    (alone / "y_arwdir").mkdir(parents=True)
    (alone / "y_arwdir" / "StringIds.arrow").write_bytes(b"")
    (alone / "x.qdstrm").write_bytes(STREAM)
    (alone / "x.txt").write_text("notes")
    outcomes = _ingest(store, alone)
    assert set(outcomes) == {"x.qdstrm", "y_arwdir"}
    for outcome in outcomes.values():
        assert outcome.error is not None and outcome.error.hint
    stream = outcomes["x.qdstrm"].error
    assert stream is not None and "2023.4.4.54" in str(stream.hint)
