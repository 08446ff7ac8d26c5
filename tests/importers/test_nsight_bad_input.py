"""Hard times of one Nsight SQLite file: what is taken, refused, and said."""

from __future__ import annotations

import hashlib
import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

import traceql
from traceql.errors import ImportFailed, UnrecognisedInput
from traceql.ingest import Outcome

FIXTURES = Path(__file__).parents[2] / "fixtures" / "nsight"
CAPTURE = FIXTURES / "nsight_2026.sqlite"


def _one(store: traceql.Store, path: Path, **options: object) -> Outcome:
    (outcome,) = store.ingest(path, **options)
    return outcome


def _rows(store: traceql.Store, sql: str) -> list[tuple[Any, ...]]:
    return store.session().con.execute(sql).fetchall()


def _lost(outcome: Outcome) -> dict[str, int]:
    return {f.code: f.count for f in outcome.findings if f.severity == "data_loss"}


def _copy(folder: Path, *statements: str, of: Path = CAPTURE) -> Path:
    """A fixture after some SQL, its NOT NULLs lifted first."""
    path = folder / "changed.sqlite"
    shutil.copyfile(of, path)
    with closing(sqlite3.connect(path)) as con:
        con.execute("PRAGMA writable_schema = ON")
        con.execute("UPDATE sqlite_master SET sql = replace(sql, ' NOT NULL', '')")
        con.commit()
    with closing(sqlite3.connect(path)) as con:
        for statement in statements:
            con.execute(statement)
        con.commit()
    return path


@contextmanager
def _untouched(folder: Path) -> Iterator[None]:
    """Fails if a file of the folder, or the list of its files, changes meanwhile."""

    def state() -> dict[str, tuple[str, int]]:
        return {
            p.name: (hashlib.sha256(p.read_bytes()).hexdigest(), p.stat().st_mtime_ns)
            for p in folder.iterdir()
        }

    before = state()
    yield
    assert state() == before


def _source_folder(tmp_path: Path) -> Path:
    folder = tmp_path / "source"
    folder.mkdir()
    return folder


@pytest.mark.parametrize("percent", [1, 10, 35, 50, 75, 90, 99])
def test_cut_anywhere(store: traceql.Store, tmp_path: Path, percent: int) -> None:
    """A part of a file is no capture: refused by name, nothing left or touched."""
    folder = _source_folder(tmp_path)
    path = folder / "cut.sqlite"
    data = CAPTURE.read_bytes()
    path.write_bytes(data[: len(data) * percent // 100])
    with _untouched(folder):
        outcome = _one(store, path)
    assert isinstance(outcome.error, ImportFailed | UnrecognisedInput)
    assert str(path) in str(outcome.error) and outcome.error.hint
    assert store.runs() == []


def test_garbage_inside(store: traceql.Store, tmp_path: Path) -> None:
    """Overwritten pages: a run or an error that names the file, never a traceback."""
    data = CAPTURE.read_bytes()
    for number, place in enumerate(range(1_024, len(data) - 2_048, len(data) // 12)):
        path = tmp_path / f"garbage-{number}.sqlite"
        path.write_bytes(data[:place] + b"\xa5" * 1_500 + data[place + 1_500 :])
        outcome = _one(store, path)
        if outcome.error is not None:
            assert isinstance(outcome.error, ImportFailed | UnrecognisedInput)
            assert str(path) in str(outcome.error)


def test_locked_by_a_writer(store: traceql.Store, tmp_path: Path) -> None:
    """Another process holds the file exclusively: what is committed is imported."""
    folder = _source_folder(tmp_path)
    path = folder / "locked.sqlite"
    shutil.copyfile(CAPTURE, path)
    with closing(sqlite3.connect(path, isolation_level=None)) as con:
        con.execute("PRAGMA locking_mode = EXCLUSIVE").fetchall()
        con.execute("BEGIN EXCLUSIVE")
        with _untouched(folder):
            outcome = _one(store, path)
        con.execute("ROLLBACK")
    assert outcome.error is None and outcome.run is not None
    assert outcome.run.rows["kernel"] == 196


def _interrupted(folder: Path, name: str) -> Path:
    """A file whose writer died in a transaction: half-written, a hot journal beside."""
    live = folder.parent / "live.sqlite"
    shutil.copyfile(CAPTURE, live)
    path = folder / name
    with closing(sqlite3.connect(live, isolation_level=None)) as con:
        con.execute("PRAGMA cache_size = 1")
        con.execute("PRAGMA synchronous = FULL")
        con.execute("BEGIN")
        con.execute("DELETE FROM CUPTI_ACTIVITY_KIND_KERNEL WHERE rowid > 10")
        con.execute("UPDATE StringIds SET value = 'half-written'")
        shutil.copyfile(live, path)
        shutil.copyfile(f"{live}-journal", f"{path}-journal")
        con.execute("ROLLBACK")
    assert path.read_bytes() != CAPTURE.read_bytes(), "nothing was spilled"
    return path


def test_hot_journal(store: traceql.Store, tmp_path: Path) -> None:
    """The journal undoes the dead writer's half: in a copy, never in the source."""
    folder = _source_folder(tmp_path)
    path = _interrupted(folder, "hot.sqlite")
    with _untouched(folder):
        outcome = _one(store, path)
    assert outcome.error is None and outcome.run is not None
    assert outcome.run.rows["kernel"] == 196
    names = "SELECT count(*) FROM kernel WHERE name = 'half-written'"
    assert _rows(store, names) == [(0,)]


def test_live_log(store: traceql.Store, tmp_path: Path) -> None:
    """Rows that stand in the write-ahead log only; log and index stay as they are."""
    folder = _source_folder(tmp_path)
    path = folder / "live.sqlite"
    shutil.copyfile(CAPTURE, path)
    with closing(sqlite3.connect(path)) as con:
        con.execute("PRAGMA journal_mode = WAL").fetchall()
        con.execute("PRAGMA wal_autocheckpoint = 0").fetchall()
        con.execute("DELETE FROM CUPTI_ACTIVITY_KIND_KERNEL WHERE rowid > 100")
        con.commit()
        assert {p.suffix for p in folder.iterdir()} >= {".sqlite-wal", ".sqlite-shm"}
        with _untouched(folder):
            outcome = _one(store, path)
    assert outcome.run is not None
    assert outcome.run.rows["kernel"] == 100


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_read_only_folder(store: traceql.Store, tmp_path: Path) -> None:
    """A source where nothing may be written is a source like any other."""
    folder = _source_folder(tmp_path)
    shutil.copy(CAPTURE, folder)
    folder.chmod(0o555)
    try:
        assert _one(store, folder / CAPTURE.name).error is None
    finally:
        folder.chmod(0o755)


def test_no_kernels(tmp_path: Path) -> None:
    """A capture without GPU work: exit 0 all the way, and the report says it."""
    from traceql.cli.entry import run

    gone = ("KERNEL", "MEMCPY", "MEMSET", "GRAPH_TRACE")
    path = _copy(tmp_path, *(f"DROP TABLE CUPTI_ACTIVITY_KIND_{t}" for t in gone))
    page = tmp_path / "page.html"
    for words in (["ingest", str(path)], ["report", "--html", "-o", str(page)]):
        assert run([*words, "--store", str(tmp_path / "s")]) == 0
    text = page.read_text()
    assert "no kernel, copy, fill or graph launch" in text
    assert "nsys profile -t cuda,nvtx" in text


def test_every_row_twice(store: traceql.Store, tmp_path: Path) -> None:
    """Calls that repeat with their correlation launch each kernel once."""
    calls = "CUPTI_ACTIVITY_KIND_RUNTIME"
    path = _copy(tmp_path, f"INSERT INTO {calls} SELECT * FROM {calls}")
    plain, twice = _one(store, CAPTURE), _one(store, path)
    assert plain.run is not None and twice.run is not None
    counts = _rows(
        store,
        "SELECT count(*), count(api_call_id), count(DISTINCT kernel_id) FROM kernel",
    )
    assert counts == [(196, 194, 196)]
    launched = "SELECT count(*) FROM kernel JOIN api_call USING (run_id, api_call_id)"
    assert _rows(store, launched) == [(194,)]


_ENDED = (
    "CUPTI_ACTIVITY_KIND_KERNEL",
    "CUPTI_ACTIVITY_KIND_MEMCPY",
    "CUPTI_ACTIVITY_KIND_MEMSET",
    "CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
    "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
    "CUPTI_ACTIVITY_KIND_RUNTIME",
    "CUPTI_ACTIVITY_KIND_OVERHEAD",
    "PROFILER_OVERHEAD",
    "OSRT_API",
)


def _everything_answers(store: traceql.Store, folder: Path) -> str:
    """Report and queries over a run; the page."""
    for query in ("kernel_totals", "memcpy_summary", "api_summary", "gpu_gaps"):
        for row in store.query(query).rows():
            for name, value in row.items():
                if name.endswith(("_sum_ns", "_union_ns", "busy_ns")) and value:
                    assert value >= 0, (query, name, row)
    return store.report(folder / "page.html").read_text()


def test_ends_before_starts(store: traceql.Store, tmp_path: Path) -> None:
    """Counted, kept as operations, and no query's time goes below zero for them."""
    path = _copy(
        tmp_path,
        *(f'UPDATE {t} SET "end" = "start" - 5 WHERE rowid = 1' for t in _ENDED),
        'UPDATE NVTX_EVENTS SET "end" = "start" - 5 WHERE rowid = '
        "(SELECT min(rowid) FROM NVTX_EVENTS WHERE eventType = 59)",
    )
    outcome = _one(store, path)
    assert outcome.run is not None
    assert _lost(outcome) == {"negative_duration": len(_ENDED) + 1}
    assert outcome.run.rows["kernel"] == 196
    assert _rows(store, "SELECT count(*) FROM kernel WHERE dur_ns < 0") == [(1,)]
    _everything_answers(store, tmp_path)


def test_no_end_at_all(store: traceql.Store, tmp_path: Path) -> None:
    """Rows without an end are operations without a time."""
    path = _copy(tmp_path, *(f'UPDATE {t} SET "end" = NULL' for t in _ENDED))
    outcome = _one(store, path)
    assert outcome.run is not None
    assert outcome.run.rows["kernel"] == 196
    assert _lost(outcome)["no_duration"] >= 196 + 85 + 14
    assert _rows(store, "SELECT count(dur_ns) FROM kernel") == [(0,)]
    _everything_answers(store, tmp_path)


def test_ids_at_the_edge(store: traceql.Store, tmp_path: Path) -> None:
    """Ids of 2^63 and their negatives: no overflow, no guess, no hang."""
    top, bottom = 2**63 - 1, -(2**63)
    kernel = "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET"
    path = _copy(
        tmp_path,
        f"{kernel} correlationId = {top} WHERE rowid = 1",
        f"{kernel} correlationId = {bottom} WHERE rowid = 2",
        f"{kernel} globalPid = {bottom}, contextId = {top} WHERE rowid = 3",
        f"{kernel} streamId = {top}, graphNodeId = {bottom} WHERE rowid = 4",
        f"{kernel} demangledName = {top} WHERE rowid = 5",
        f"{kernel} rowid = {top} WHERE rowid = 6",
        f"UPDATE CUPTI_ACTIVITY_KIND_MEMCPY SET bytes = {top} WHERE rowid < 3",
        f"UPDATE NVTX_EVENTS SET globalTid = {top}, domainId = {bottom}, "
        f"rangeId = {top}, category = {top} WHERE rowid = 5",
        f"UPDATE OSRT_API SET globalTid = {bottom} WHERE rowid = 1",
        f"UPDATE StringIds SET id = {top} WHERE id = (SELECT max(id) FROM StringIds)",
    )
    outcome = _one(store, path)
    assert outcome.error is None and outcome.run is not None
    assert outcome.run.rows["kernel"] == 196
    ((ids, low),) = _rows(
        store, "SELECT count(DISTINCT kernel_id), min(kernel_id >> 40) FROM kernel"
    )
    assert (ids, low) == (196, 5)
    assert _lost(outcome)["implausible_bytes"] == 2
    extremes = "SELECT min(correlation_id), max(correlation_id) FROM kernel"
    assert _rows(store, extremes) == [(bottom, top)]
    _everything_answers(store, tmp_path)


def test_row_ids_far_apart(store: traceql.Store, tmp_path: Path) -> None:
    """A table with a row at the end of all numbers is read in as many steps as rows."""
    path = _copy(
        tmp_path,
        f"UPDATE CUPTI_ACTIVITY_KIND_RUNTIME SET rowid = {2**63 - 1} WHERE rowid = 1",
        "UPDATE NVTX_EVENTS SET rowid = -rowid * 1000000000",
    )
    plain, far = _one(store, CAPTURE), _one(store, path)
    assert plain.run is not None and far.run is not None
    assert far.run.rows == plain.run.rows
    parents = "SELECT count(parent_id), max(depth) FROM annotation"
    found = [
        store.session(run.run_id).con.execute(parents).fetchall()
        for run in (plain.run, far.run)
    ]
    assert found[0] == found[1]


_HTML = "</script><img src=x onerror=alert(1)>\"'&amp;"


def test_names_of_html(store: traceql.Store, tmp_path: Path) -> None:
    """Names are text: stored as they are, and never markup in the report."""
    path = tmp_path / "html.sqlite"
    shutil.copyfile(CAPTURE, path)
    with closing(sqlite3.connect(path)) as con:
        con.execute("UPDATE StringIds SET value = ? || value", [_HTML])
        con.execute("UPDATE NVTX_EVENTS SET text = ? || text", [_HTML])
        con.execute("UPDATE TARGET_INFO_GPU SET name = ? || name", [_HTML])
        con.execute("UPDATE PROCESSES SET name = ? || name", [_HTML])
        con.execute("UPDATE DIAGNOSTIC_EVENT SET text = ? || text", [_HTML])
        con.commit()
    outcome = _one(store, path)
    assert outcome.error is None
    named = "SELECT count(*) FROM kernel WHERE NOT starts_with(name, ?)"
    assert store.session().con.execute(named, [_HTML]).fetchall() == [(0,)]
    page = _everything_answers(store, tmp_path)
    assert "onerror=alert(1)" in page
    assert "<img src=x" not in page
