"""The store in one process: layout, commit, selectors, upkeep, failures."""

from __future__ import annotations

import errno
import json
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import traceql
from traceql.diagnostics import Finding
from traceql.errors import NoSuchRun, StoreError, UsageError
from traceql.storage import Storage
from traceql.storage_fsspec import RemoteStorage
from traceql.store import Run, Store, open_store

DAY_S = 86_400


def add(store: Store, run_id: str, *, rows: int = 3, **fields: Any) -> Run | None:
    """Commits a run of two tables, with one part too few rows to be kept."""
    with store.stage(run_id) as staging:
        for table in ("kernel", "kernel", "memcpy"):
            columns = {"ts_ns": list(range(rows)), "name": ["k"] * rows}
            pq.write_table(pa.table(columns), staging.part(table))
        empty = pa.table({"ts_ns": pa.array([], pa.int64())})
        pq.write_table(empty, staging.part("memset"))
        staging.part("never_written")
        return staging.commit(
            importer={"name": "test", "version": "1"},
            source={"uri": "x.json", "sha256": "00", "bytes": 1, "member": None},
            **fields,
        )


def must_add(store: Store, run_id: str, **fields: Any) -> Run:
    run = add(store, run_id, **fields)
    assert run is not None
    return run


def files_of(root: Path) -> list[str]:
    """All files but the store's marker."""
    return sorted(
        str(path.relative_to(root))
        for path in root.rglob("*")
        if path.is_file() and path.name != "traceql-store.json"
    )


def age(path: Path, seconds: float = 2 * DAY_S) -> None:
    then = time.time() - seconds
    os.utime(path, (then, then))


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return open_store(tmp_path / "s")


@pytest.fixture(params=["local", "memory", "fsspec with folders"])
def any_store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    if request.param == "local":
        yield open_store(tmp_path / "s")
        return
    if request.param == "fsspec with folders":
        yield Store(RemoteStorage(f"file://{tmp_path}/s"))
        return
    import fsspec

    memory = fsspec.filesystem("memory")
    yield open_store(f"memory://traceql{tmp_path}/s")
    memory.rm("/traceql", recursive=True)


# One run


def test_a_commit_lays_the_run_out_as_designed(store: Store) -> None:
    run = must_add(
        store,
        "rabc",
        label="base",
        tags={"model": "a"},
        options={"strict": True},
        facts={"kernels": 6},
        diagnostics=[Finding("cut", "data_loss", 2, "cut file", "at 7")],
    )
    root = Path(store.path)
    nonce = run.manifest.nonce
    assert files_of(root) == [
        "runs/rabc.json",
        f"v1/kernel/run_id=rabc/part-{nonce}-0.parquet",
        f"v1/kernel/run_id=rabc/part-{nonce}-1.parquet",
        f"v1/memcpy/run_id=rabc/part-{nonce}-0.parquet",
    ]
    assert json.loads((root / "traceql-store.json").read_text()) == {"format": 1}
    text = (root / "runs/rabc.json").read_text()
    assert list(json.loads(text)) == sorted(json.loads(text))
    assert run.rows == {"kernel": 6, "memcpy": 3}
    assert run.bytes == sum(Path(path).stat().st_size for path in store.paths(run))
    assert run.manifest.columns["kernel"] == ["ts_ns", "name"]
    assert run.manifest.traceql_version == traceql.__version__
    assert (run.label, run.tags, run.facts) == ("base", {"model": "a"}, {"kernels": 6})
    assert run.diagnostics == (Finding("cut", "data_loss", 2, "cut file", "at 7"),)
    assert store.run("rabc") == run


def test_the_store_works_from_end_to_end(any_store: Store) -> None:
    store = any_store
    assert not store.exists
    first = must_add(store, "rabc", label="base")
    second = must_add(store, "rdef", tags={"model": "b"})
    assert Store(store.storage).runs() == [second, first]
    assert store.run("@latest") == second
    assert store.run("@prev") == first
    assert store.find("rdef") == second
    assert store.find("r000") is None
    assert store.verify() == []

    tagged = store.tag("base", {"k": "v"}, label="new")
    assert tagged == [store.run("new")] == store.runs("tag:k=v")
    assert store.tag("new", {"k": None}, label="")[0].tags == {}
    assert store.run("rabc").label is None

    assert add(store, "rdef") is None
    again = must_add(store, "rdef", replace=True, rows=4)
    assert store.run("rdef") == again != second
    assert [p.kind for p in store.verify()] == ["stray"] * 3
    assert store.vacuum(older_than_s=-60) == sorted(p.path for p in second.files)
    assert store.verify() == []

    assert [run.run_id for run in store.delete("rdef")] == ["rdef"]
    assert [run.run_id for run in store.runs()] == ["rabc"]
    assert len(list(store.storage.walk("v1"))) == len(first.files)


def test_duckdb_reads_the_partitions_as_they_are(store: Store) -> None:
    import duckdb

    must_add(store, "r123")
    must_add(store, "r456", rows=1)
    with duckdb.connect() as con:
        rows = con.execute(
            f"SELECT run_id, count(*) FROM '{store.path}/v1/kernel/*/*.parquet'"
            " GROUP BY ALL ORDER BY ALL"
        ).fetchall()
    assert rows == [("r123", 6), ("r456", 2)]


def test_a_run_shows_itself_in_notebooks_and_escapes(store: Store) -> None:
    html = must_add(store, "rabc", label="<b>")._repr_html_()
    assert "&lt;b&gt;" in html
    assert "<b>" not in html


def test_the_same_content_again_leaves_the_first_import(store: Store) -> None:
    first = must_add(store, "rabc")
    before = files_of(Path(store.path))
    assert add(store, "rabc", label="other") is None
    assert files_of(Path(store.path)) == before
    assert store.runs() == [first]


def test_replacing_keeps_the_old_parts_and_what_the_user_wrote(store: Store) -> None:
    old = must_add(store, "rabc", label="mine", tags={"a": "1", "b": "1"})
    for path in store.paths(old):
        age(Path(path))
    new = must_add(store, "rabc", rows=5, replace=True, tags={"b": "2"})
    assert store.runs() == [new]
    assert new.label == "mine"
    assert new.tags == {"a": "1", "b": "2"}
    assert new.ingested_at > old.ingested_at
    assert store.vacuum() == []  # the old parts' age counts from their replacement
    assert [pq.read_metadata(p).num_rows for p in store.paths(old)] == [3, 3, 3]


def test_parts_may_come_from_many_threads(store: Store) -> None:
    from concurrent.futures import ThreadPoolExecutor

    with store.stage("rabc") as staging, ThreadPoolExecutor(8) as pool:
        paths = list(pool.map(lambda _: staging.part("kernel"), range(100)))
    assert len(set(paths)) == 100


def test_leaving_without_a_commit_leaves_nothing(store: Store) -> None:
    with pytest.raises(KeyboardInterrupt), store.stage("rabc") as staging:
        staging.part("kernel").write_bytes(b"half")
        raise KeyboardInterrupt
    assert files_of(Path(store.path)) == []
    assert store.runs() == []


def test_a_part_that_is_no_parquet_file_is_refused(store: Store) -> None:
    with (
        pytest.raises(StoreError, match="no Parquet file"),
        store.stage("rabc") as staging,
    ):
        staging.part("kernel").write_bytes(b"no parquet")
        staging.commit(importer={}, source={})
    assert files_of(Path(store.path)) == []


def test_parts_with_different_columns_are_refused(store: Store) -> None:
    with pytest.raises(StoreError, match="differ"), store.stage("rabc") as staging:
        pq.write_table(pa.table({"a": [1]}), staging.part("kernel"))
        pq.write_table(pa.table({"b": [1]}), staging.part("kernel"))
        staging.commit(importer={}, source={})


def test_ids_and_tables_that_would_leave_the_store_are_refused(store: Store) -> None:
    with pytest.raises(UsageError):
        store.stage("../r1")
    with pytest.raises(ValueError, match="table"), store.stage("rabc") as staging:
        staging.part("../kernel")


# Where the store is


def test_the_default_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a/b/.traceql").mkdir(parents=True)  # no store: has no marker
    monkeypatch.chdir(tmp_path / "a/b")
    monkeypatch.delenv("TRACEQL_STORE", raising=False)
    assert open_store().path == str(tmp_path / "a/b/.traceql")
    open_store(tmp_path / ".traceql", create=True)
    assert open_store().path == str(tmp_path / ".traceql")
    monkeypatch.setenv("TRACEQL_STORE", str(tmp_path / "named"))
    assert open_store().path == str(tmp_path / "named")


def test_reading_where_no_store_is_says_how_to_get_one(store: Store) -> None:
    for read in (store.runs, store.run, store.verify, store.vacuum):
        with pytest.raises(NoSuchRun, match="no store at") as caught:
            read()
        assert "traceql ingest" in str(caught.value.hint)
    assert not Path(store.path).exists()


def test_an_empty_store_is_no_error(tmp_path: Path) -> None:
    tmp_path.joinpath("s").mkdir()
    store = open_store(tmp_path / "s", create=True)
    assert store.runs() == []
    assert store.verify() == []
    with pytest.raises(NoSuchRun, match="holds none"):
        store.run()


def test_a_newer_store_is_refused_with_both_numbers(tmp_path: Path) -> None:
    (tmp_path / "traceql-store.json").write_text('{"format": 7}')
    with pytest.raises(StoreError, match=r"format 7.*up to 1"):
        open_store(tmp_path)


def test_a_damaged_marker_names_the_file(tmp_path: Path) -> None:
    (tmp_path / "traceql-store.json").write_text("")
    with pytest.raises(StoreError, match=r"damaged file .*traceql-store\.json"):
        open_store(tmp_path)


def test_a_folder_with_other_things_is_not_littered(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(StoreError, match=r"no store .*thesis\.tex"):
        open_store(tmp_path).stage("rabc")
    assert list(tmp_path.iterdir()) == [tmp_path / "thesis.tex"]


def test_a_file_is_no_store(tmp_path: Path) -> None:
    (tmp_path / "x.json").touch()
    with pytest.raises(StoreError, match="cannot read") as caught:
        open_store(tmp_path / "x.json")
    assert "folder" in str(caught.value.hint)


def test_an_unknown_protocol_is_a_users_mistake() -> None:
    with pytest.raises(StoreError, match="nope"):
        open_store("nope://bucket/x")


# Upkeep


def break_part(run: Run, store: Store, change: Callable[[Path], object]) -> str:
    change(Path(store.path) / run.files[0].path)
    return run.files[0].path


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[8] ^= 1
    path.write_bytes(data)


def truncate(path: Path) -> None:
    os.truncate(path, path.stat().st_size - 1)


@pytest.mark.parametrize(
    ("change", "kind"), [(flip, "hash"), (truncate, "size"), (Path.unlink, "missing")]
)
def test_verify_finds_damage(
    store: Store, change: Callable[[Path], object], kind: str
) -> None:
    must_add(store, "rabc")
    run = must_add(store, "rdef")
    path = break_part(run, store, change)
    assert [(p.kind, p.path, p.run_id) for p in store.verify()] == [
        (kind, path, "rdef")
    ]
    assert store.verify("rabc") == []


def test_verify_finds_false_row_counts_and_strays(store: Store) -> None:
    must_add(store, "rabc")
    path = Path(store.path) / "runs/rabc.json"
    path.write_text(path.read_text().replace('"rows": 3', '"rows": 4'))
    (Path(store.path) / "v1/kernel/run_id=rabc/other.parquet").touch()
    assert [p.kind for p in store.verify()] == ["rows"] * 3 + ["stray"]
    assert [p.kind for p in store.verify("rabc")] == ["rows"] * 3


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text[: len(text) // 2],
        lambda text: "",
        lambda text: "[]",
        lambda text: text.replace('"format": 1', '"format": 2'),
        lambda text: text.replace('"sha256"', '"sha"'),
        lambda text: text.replace("rabc", "rxyz"),
        lambda text: text.replace("v1/kernel/", "v1/../../"),
        lambda text: text.replace('"tags": {}', '"tags": null'),
    ],
)
def test_a_damaged_manifest_hurts_only_its_own_run(
    store: Store, change: Callable[[str], str]
) -> None:
    must_add(store, "rabcde")
    good = must_add(store, "rdef")
    path = Path(store.path) / "runs/rabcde.json"
    path.write_text(change(path.read_text()))

    assert store.runs() == [good]
    assert [(p.kind, p.path, p.run_id) for p in store.problems] == [
        ("manifest", "runs/rabcde.json", "rabcde")
    ]
    assert [p.kind for p in store.verify()] == ["manifest"]
    for selector in ("rabcde", "rabc"):
        with pytest.raises(StoreError, match=r"runs/rabcde\.json") as caught:
            store.run(selector)
        assert caught.value.hint
    for file in Path(store.path).rglob("*"):
        age(file)
    assert store.vacuum() == []  # what belongs to it is unknown: nothing goes

    assert [run.run_id for run in store.delete("rabcde")] == ["rabcde"]
    assert store.verify("rdef") == []
    assert len(store.vacuum(older_than_s=-60)) == 3
    assert store.verify() == []


def test_replacing_mends_a_damaged_run(store: Store) -> None:
    must_add(store, "rabc")
    (Path(store.path) / "runs/rabc.json").write_text("{")
    run = must_add(store, "rabc", replace=True)
    assert store.runs() == [run]


def test_vacuum_removes_what_is_old_and_nobodys(store: Store) -> None:
    run = must_add(store, "rabc")
    root = Path(store.path)
    waste = [
        ".staging/0123/kernel/part-0123-0.parquet",
        ".staging/89ab.tmp",
        "runs/rabc.json.tmp",
        "v1/kernel/run_id=rabc/part-0123-0.parquet",
        "v1/kernel/run_id=rold/part-0123-0.parquet",
    ]
    for name in waste:
        for parent, is_old in (("", True), ("young-", False)):
            path = root / name
            path = path.with_name(parent + path.name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()
            if is_old:
                age(path)
    young_staging = root / ".staging/0123/kernel/young-part-0123-0.parquet"
    for file in store.paths(run):
        age(Path(file))
    (root / "v1/kernel/run_id=rempty").mkdir()
    age(root / "v1/kernel/run_id=rempty")

    # The import that still writes keeps its oldest part too.
    assert store.vacuum(dry_run=True) == waste[1:]
    assert store.vacuum() == waste[1:]
    assert not (root / "v1/kernel/run_id=rempty").exists()
    assert (root / "v1/kernel/run_id=rold").exists()
    age(young_staging)
    assert len(store.vacuum()) == 2
    assert not (root / ".staging/0123").exists()
    assert len(store.vacuum(older_than_s=-60)) == 4
    assert not (root / "v1/kernel/run_id=rold").exists()
    assert store.verify() == []
    assert store.runs() == [run]


def test_vacuum_spares_an_import_between_its_parts_and_its_manifest(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = os.link
    vacuumed: list[list[str]] = []

    def vacuum_first(source: Any, target: Any) -> None:
        vacuumed.append(open_store(store.path).vacuum())
        link(source, target)

    store.create()
    with store.stage("rabc") as staging:
        path = staging.part("kernel")
        pq.write_table(pa.table({"a": [1]}), path)
        age(path)  # the first part of a very long import
        monkeypatch.setattr(os, "link", vacuum_first)
        staging.commit(importer={}, source={})
    assert vacuumed == [[]]
    assert store.verify() == []


def test_a_run_committed_while_strays_are_looked_for_is_none(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    from traceql import upkeep

    must_add(store, "rabc")
    read_runs = upkeep.read_runs
    late = iter(["rlate1", "rlate2"])

    def read_and_commit(storage: Storage) -> tuple[list[Run], list[upkeep.Problem]]:
        found = read_runs(storage)
        must_add(store, next(late))
        return found

    monkeypatch.setattr(upkeep, "read_runs", read_and_commit)
    assert store.vacuum(older_than_s=-60) == []


def test_a_partition_folder_pruned_under_a_commit_is_made_again(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    rename = os.rename
    pruned: list[Any] = []

    def prune_first(source: Any, target: Any) -> None:
        if len(pruned) < 3:
            Path(target).parent.rmdir()
            pruned.append(target)
        rename(source, target)

    monkeypatch.setattr(os, "rename", prune_first)
    must_add(store, "rabc")
    assert len(pruned) == 3
    assert store.verify() == []


def test_deleting_removes_partitions_and_all_traces(store: Store) -> None:
    must_add(store, "rabc")
    kept = must_add(store, "rdef")
    with pytest.raises(NoSuchRun):
        store.delete(["rabc", "nothing"])
    assert len(store.runs()) == 2
    store.delete(["rabc"])
    root = Path(store.path)
    assert not any("rabc" in str(path) for path in root.rglob("*"))
    assert store.runs() == [kept]


def test_a_manifest_that_vanishes_while_listing_is_no_run(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = must_add(store, "rabc")
    names = type(store.storage).names
    monkeypatch.setattr(
        type(store.storage),
        "names",
        lambda self, folder: [*names(self, folder), "rgone.json"],
    )
    assert store.runs() == [run]
    assert store.problems == []


def test_a_tag_does_not_bring_a_deleted_run_back(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    must_add(store, "rabc")
    replace = os.replace

    def delete_first(source: Any, target: Any) -> None:
        open_store(store.path).delete("all")
        replace(source, target)

    monkeypatch.setattr(os, "replace", delete_first)
    with pytest.raises(NoSuchRun, match="deleted"):
        store.tag("rabc", {"a": "b"})
    assert files_of(Path(store.path)) == []


def test_deleting_beats_a_tag_that_writes_meanwhile(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    must_add(store, "rabc")
    path = Path(store.path) / "runs/rabc.json"
    manifest = path.read_text()
    unlink = os.unlink

    def write_again(target: Any) -> None:
        unlink(target)
        if str(target).endswith(".parquet"):
            path.write_text(manifest)

    monkeypatch.setattr(os, "unlink", write_again)
    store.delete("rabc")
    assert files_of(Path(store.path)) == []


def test_two_tags_at_once_both_stay(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    from traceql import manifest

    must_add(store, "rabc")
    encode = manifest.encode
    other = iter([{"other": "1"}])

    def tag_first(fields: Any) -> bytes:
        for tags in other:
            store.tag("rabc", tags)
        return encode(fields)

    monkeypatch.setattr(manifest, "encode", tag_first)
    store.tag("rabc", {"mine": "1"})
    assert store.run("rabc").tags == {"mine": "1", "other": "1"}


def test_a_tag_keeps_what_a_later_version_wrote(store: Store) -> None:
    must_add(store, "rabc")
    path = Path(store.path) / "runs/rabc.json"
    path.write_text(path.read_text().replace("{", '{"later": [1],', 1))
    store.tag("rabc", {"a": "b"})
    assert json.loads(path.read_text())["later"] == [1]


# Failures


class Faults:
    """Makes the n-th call into the system fail, before or after it acts."""

    calls = ("utime", "fsync", "rename", "mkdir", "link", "replace", "open", "unlink")

    def __init__(
        self, patch: pytest.MonkeyPatch, error: BaseException, when: str
    ) -> None:
        self.left: int | None = None
        self.fired = ""
        for name in self.calls:
            patch.setattr(os, name, self._wrap(name, getattr(os, name), error, when))

    def _wrap(
        self, name: str, real: Callable[..., Any], error: BaseException, when: str
    ) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            if self.left is None:
                return real(*args, **kwargs)
            self.left -= 1
            if self.left >= 0:
                return real(*args, **kwargs)
            self.left, self.fired = None, name
            if when == "after":
                real(*args, **kwargs)
            raise error

        return call


@pytest.mark.parametrize("replace", [False, True])
@pytest.mark.parametrize(
    ("error", "when"),
    [
        (OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)), "before"),
        (KeyboardInterrupt(), "before"),
        (KeyboardInterrupt(), "after"),
    ],
)
def test_a_commit_that_fails_at_any_step_leaves_a_whole_run_or_nothing(
    store: Store,
    monkeypatch: pytest.MonkeyPatch,
    error: BaseException,
    when: str,
    replace: bool,
) -> None:
    faults = Faults(monkeypatch, error, when)
    fired = set()
    old = must_add(store, "rabc", rows=2) if replace else None
    for step in range(200):
        faults.fired = ""
        with store.stage("rabc") as staging:
            pq.write_table(pa.table({"a": [1]}), staging.part("kernel"))
            pq.write_table(pa.table({"a": [1]}), staging.part("memcpy"))
            faults.left = step
            caught: BaseException | None = None
            try:
                staging.commit(importer={}, source={}, replace=replace)
            except (StoreError, KeyboardInterrupt) as raised:
                caught = raised
            faults.left = None
        fired.add(faults.fired)
        runs = store.runs()
        strays = [p.path for p in store.verify() if p.kind == "stray"]
        assert {p.kind for p in store.verify()} <= {"stray"}
        ours = [run for run in runs if run.manifest.nonce == staging.nonce]
        if caught is None:
            assert ours
        elif not ours:
            assert not any(staging.nonce in stray for stray in strays)
            assert runs == ([old] if old else [])
        temporary = [name for name in files_of(Path(store.path)) if ".staging" in name]
        # Only a temporary file whose own removal failed may stay, for vacuum.
        assert not temporary or faults.fired == "unlink"
        assert len(temporary) <= 1
        if isinstance(caught, StoreError) and error.args[0] == errno.ENOSPC:
            assert "No space left" in str(caught)
            assert "space" in str(caught.hint)
        if not faults.fired:
            break
        store.delete("all") if ours else None
        store.vacuum(older_than_s=-60)
        old = must_add(store, "rabc", rows=2) if replace and ours else old
    else:
        pytest.fail("the commit never got through")
    assert fired >= {
        "utime",
        "fsync",
        "rename",
        "mkdir",
        "replace" if replace else "link",
    }


def test_a_disk_without_hard_links_still_lets_one_import_win(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*args: Any) -> None:
        raise OSError(errno.EPERM, "no hard links here")

    monkeypatch.setattr(os, "link", refuse)
    run = must_add(store, "rabc")
    name = "runs/rabc.json"
    assert store.storage.create(name, b"second") is False
    assert store.runs() == [run]
    assert [n for n in files_of(Path(store.path)) if ".staging" in n] == []
