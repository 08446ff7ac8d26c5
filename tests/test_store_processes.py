"""The store among processes: races, readers meanwhile, kill -9, read-only."""

from __future__ import annotations

import multiprocessing
import os
import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from multiprocessing.process import BaseProcess
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from traceql.errors import QueryError, StoreError, TraceQLError
from traceql.session import open_session
from traceql.store import Run, Store, open_store

# A clean server to fork from: children start in milliseconds, with no threads
# of this process in them.
PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload(["pyarrow.parquet", "pytest", "traceql.store"])
RUN_IDS = ("raaaa", "rbbbb")


def add(store: Store, run_id: str, *, replace: bool = False) -> Run | None:
    with store.stage(run_id) as staging:
        for table in ("kernel", "kernel", "memcpy"):
            pq.write_table(pa.table({"ts_ns": [1, 2]}), staging.part(table))
        return staging.commit(importer={}, source={}, replace=replace)


def start(target: Callable[..., None], *arguments: Any) -> BaseProcess:
    process = PROCESSES.Process(target=target, args=arguments, daemon=True)
    process.start()
    return process


def files_of(root: Path) -> set[str]:
    return {str(p.relative_to(root)) for p in root.rglob("*") if p.is_file()}


def expected_files(runs: list[Run]) -> set[str]:
    names = {part.path for run in runs for part in run.files}
    return {"traceql-store.json"} | names | {f"runs/{r.run_id}.json" for r in runs}


def missing_files(store: Store) -> list[str]:
    return [
        path
        for run in store.runs()
        for path in store.paths(run)
        if not Path(path).exists()
    ]


def ingest_both(path: str, barrier: Barrier, order: int) -> None:
    barrier.wait()
    store = open_store(path)
    for run_id in RUN_IDS[::order]:
        add(store, run_id)


def test_twelve_imports_of_the_same_two_runs_make_two_runs(tmp_path: Path) -> None:
    root = tmp_path / "s"
    barrier = PROCESSES.Barrier(13)
    workers = [
        start(ingest_both, str(root), barrier, 1 if n % 2 else -1) for n in range(12)
    ]
    store = open_store(root)
    barrier.wait()
    looks = 0
    while any(worker.is_alive() for worker in workers):
        if store.exists:
            assert missing_files(store) == []
            assert store.problems == []
            looks += 1
    assert looks > 5
    assert [worker.exitcode for worker in workers] == [0] * 12
    assert {run.run_id for run in store.runs()} == set(RUN_IDS)
    assert store.verify() == []
    assert files_of(root) == expected_files(store.runs())
    assert list((root / ".staging").iterdir()) == []


def churn(path: str, seed: int, until: float) -> None:
    store = open_store(path)
    run_id = RUN_IDS[seed % 2]
    turn = seed
    while time.time() < until:
        turn += 1
        try:
            if turn % 4 == 0:
                store.delete(run_id)
            elif turn % 4 == 1:
                store.tag(run_id, {f"k{seed}": str(turn)})
            elif turn % 4 == 2:
                add(store, run_id, replace=True)
            else:
                add(store, run_id)
            store.vacuum()
        except StoreError:
            raise
        except TraceQLError:
            continue  # somebody else has deleted the run: a user would read that


def look(path: str, until: float, looks: Any) -> None:
    """Reads whole runs, whatever is replaced meanwhile; a deleted one is an error."""
    store = open_store(path)
    text = "SELECT run_id, count(*) AS n FROM kernel GROUP BY run_id"
    while time.time() < until:
        runs = store.runs()
        try:
            with closing(open_session(store, runs, threads=1)) as session:
                found = {row["run_id"]: row["n"] for row in session.sql(text).rows()}
        except QueryError:
            left = {run.manifest.nonce for run in store.runs()}
            assert not {run.manifest.nonce for run in runs} <= left
            continue
        assert found == {run.run_id: run.rows["kernel"] for run in runs}
        assert store.problems == []
        with looks.get_lock():
            looks.value += 1


def test_twelve_writers_and_readers_never_break_a_run(tmp_path: Path) -> None:
    store = open_store(tmp_path / "s", create=True)
    until = time.time() + 6
    looks = PROCESSES.Value("i", 0)
    workers = [start(churn, store.path, seed, until) for seed in range(6)]
    workers += [start(look, store.path, until, looks) for _ in range(6)]
    while any(worker.is_alive() for worker in workers):
        store.runs()
        assert store.problems == []
    assert [worker.exitcode for worker in workers] == [0] * 12
    assert looks.value > 6
    assert {problem.kind for problem in store.verify()} <= {"stray"}
    store.vacuum(older_than_s=-60)
    assert files_of(tmp_path / "s") == expected_files(store.runs())
    print(f"6 writers, 6 readers, {looks.value} whole looks, runs broken: 0")


def die_at(path: str, call: str, count: int, replace: bool) -> None:
    real = getattr(os, call)
    left = count

    def die(*args: Any, **kwargs: Any) -> Any:
        nonlocal left
        if not left:
            os.kill(os.getpid(), signal.SIGKILL)
        left -= 1
        return real(*args, **kwargs)

    store = open_store(path, create=True)
    setattr(os, call, die)
    add(store, "raaaa", replace=replace)


@pytest.mark.parametrize("replace", [False, True])
@pytest.mark.parametrize(
    ("call", "count"),
    [
        ("mkdir", 1),
        ("utime", 0),
        ("rename", 0),
        ("rename", 1),
        ("fsync", 2),
        ("fsync", 5),
        ("commit mark", 0),
        ("unlink", 0),
    ],
)
def test_kill_9_at_any_moment_leaves_a_whole_run_or_waste_for_vacuum(
    tmp_path: Path, call: str, count: int, replace: bool
) -> None:
    store = open_store(tmp_path / "s", create=True)
    old = add(store, "raaaa") if replace else None
    if call == "commit mark":
        call = "replace" if replace else "link"
    killed = start(die_at, store.path, call, count, replace)
    killed.join(20)
    assert killed.exitcode == -signal.SIGKILL

    committed = call == "unlink"  # of the temporary manifest, after the mark
    runs = store.runs()
    if committed:
        assert [run.run_id for run in runs] == ["raaaa"]
        assert runs != [old]
    else:
        assert runs == ([old] if old else [])
    assert missing_files(store) == []
    assert store.vacuum() == []  # young: it may be an import under way
    store.vacuum(older_than_s=-60)
    assert files_of(tmp_path / "s") == expected_files(runs)
    assert store.verify() == []
    assert (add(store, "raaaa") is None) == bool(runs)


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that another user may enter, unlike pytest's own."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


def use_read_only(path: str) -> None:
    if os.geteuid() == 0:
        os.setuid(65534)  # to root, nothing is read-only
    store = open_store(path)
    assert store.run("raaaa").rows == {"kernel": 4, "memcpy": 2}
    assert store.verify() == []
    refused: list[Callable[[], object]] = [
        lambda: add(store, "rbbbb"),
        lambda: store.tag("raaaa", {"a": "b"}),
        lambda: store.delete("raaaa"),
        lambda: open_store(f"{path}/deeper/s", create=True),
    ]
    for write in refused:
        with pytest.raises(StoreError, match="Permission denied") as caught:
            write()
        assert "--store" in str(caught.value.hint)


def test_a_read_only_store_is_read_and_refuses_writing(open_folder: Path) -> None:
    root = open_folder / "s"
    store = open_store(root)
    add(store, "raaaa")
    before = files_of(root)
    folders = [root, *(path for path in root.rglob("*") if path.is_dir())]
    for folder in folders:
        folder.chmod(0o555)
    try:
        reader = start(use_read_only, str(root))
        reader.join(20)
        assert reader.exitcode == 0
        assert files_of(root) == before
    finally:
        for folder in folders:
            folder.chmod(0o755)
