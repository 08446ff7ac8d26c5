"""Import as a whole: what is taken, what is refused, and what a refusal leaves."""

from __future__ import annotations

import gzip
import json
import shutil
import sqlite3
import tarfile
import zipfile
from contextlib import closing
from pathlib import Path

import pyarrow as pa
import pytest

import traceql
from traceql.errors import (
    DataLoss,
    ExitCode,
    ImportFailed,
    NoSuchRun,
    StoreError,
    UnrecognisedInput,
    UsageError,
)
from traceql.ingest import Outcome

FIXTURES = Path(__file__).parents[1] / "fixtures" / "nsight"
CAPTURE = FIXTURES / "nsight_2022_4.sqlite"


def _one(store: traceql.Store, *names: str | Path, **options: object) -> Outcome:
    (outcome,) = store.ingest(*names, **options)
    return outcome


def _files(store: traceql.Store) -> list[Path]:
    """Everything in the store but its marker."""
    return [
        p
        for p in Path(store.path).rglob("*")
        if p.is_file() and p.name != "traceql-store.json"
    ]


def test_run_id_is_the_content(store: traceql.Store, tmp_path: Path) -> None:
    """The name of a file matters to nothing but its run's source."""
    copy = tmp_path / "unknown"
    shutil.copyfile(CAPTURE, copy)
    first, second = _one(store, CAPTURE), _one(store, copy)
    assert (first.status, second.status) == ("imported", "present")
    assert first.run is not None and second.run is not None
    assert first.run.run_id == second.run.run_id
    assert second.notes == ["already present"]


def test_again_with_other_options(store: traceql.Store) -> None:
    """What is present stays, and the user hears that his options did nothing."""
    _one(store, CAPTURE)
    again = _one(store, CAPTURE, redact=True, label="other", tags={"k": "v"})
    assert again.status == "present"
    assert "other options" in again.notes[0] and "--force" in again.notes[0]
    assert "traceql runs tag" in again.notes[0]


def test_force_replaces(store: traceql.Store) -> None:
    """--force gives one run, whole, with the new options."""
    first = _one(store, CAPTURE, label="mine")
    forced = _one(store, CAPTURE, force=True, redact=True)
    assert forced.status == "imported"
    (run,) = store.runs()
    assert run.manifest.options["redact"] is True
    assert run.label == "mine"
    assert first.run is not None
    assert run.manifest.nonce != first.run.manifest.nonce
    kernels = store.sql("SELECT count(*) AS n FROM kernel").rows()
    assert kernels == [{"n": 196}]


def test_older_importer_is_named(
    store: traceql.Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run made by another version of the importer is kept, and said."""
    from traceql.importers.nsight_sqlite import NsightSqlite

    _one(store, CAPTURE)
    monkeypatch.setattr(NsightSqlite, "version", NsightSqlite.version + 1)
    again = _one(store, CAPTURE)
    assert again.status == "present"
    assert "--force imports it again" in again.notes[0]


def test_folder_and_glob(store: traceql.Store, tmp_path: Path) -> None:
    """A folder gives its captures; other files in it are passed over."""
    nested = tmp_path / "archive" / "may"
    nested.mkdir(parents=True)
    for path in FIXTURES.glob("*.sqlite"):
        shutil.copy(path, nested)
    (nested / "notes.txt").write_text("no capture")
    (nested / ".hidden.sqlite").write_bytes(CAPTURE.read_bytes())
    outcomes = store.ingest(tmp_path / "archive")
    assert [o.status for o in outcomes] == ["imported"] * 4
    again = store.ingest(str(tmp_path / "archive" / "**" / "nsight_20*.sqlite"))
    assert [o.status for o in again] == ["present"] * 3


def test_several_processes(store: traceql.Store) -> None:
    """--jobs imports the same as one process."""
    outcomes = store.ingest(FIXTURES, jobs=2)
    assert [o.status for o in outcomes] == ["imported"] * 4
    assert len(store.runs()) == 4


def test_one_bad_file_stops_nothing(store: traceql.Store, tmp_path: Path) -> None:
    """Each name has its outcome, in order."""
    bad = tmp_path / "bad.sqlite"
    bad.write_bytes(b"")
    outcomes = store.ingest(bad, CAPTURE, tmp_path / "absent")
    assert [o.status for o in outcomes] == ["failed", "imported", "failed"]
    assert len(store.runs()) == 1


def _empty_database(path: Path) -> None:
    with closing(sqlite3.connect(path)) as con:
        con.execute("CREATE TABLE song (title TEXT)")
        con.commit()


def _cut(path: Path) -> None:
    path.write_bytes(CAPTURE.read_bytes()[:30_000])


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("empty.sqlite", b"", "an empty file"),
        ("page.html", b"<!DOCTYPE html><html></html>", "an HTML page"),
        ("x.json", b"version https://git-lfs.github.com/spec/v1\n", "git-LFS"),
        ("r.qdstrm", b"\x00\x01", "raw Nsight Systems stream"),
        (
            "renamed",
            b"U3w[END]NVIDIA Nsight Systems Stream 2023.4.4.54-234433681190v0!",
            "raw Nsight Systems stream",
        ),
        ("x.json", b'{"data":["[Unknown]","[kernel.kallsyms]"', "export as JSON"),
        ("x.txt", b'data: "[Unknown]"\ndata: "[kernel', "export as text"),
        ("x.h5", b"\x89HDF\r\n\x1a\n\x00\x00StringIds", "export as HDF5"),
        ("y.h5", b"\x89HDF\r\n\x1a\n\x00\x00", "an HDF5 file"),
        (
            "x.arrows",
            b"\xff\xff\xff\xff\xc0\x01\x00\x00table_name\x00\x00\t\x00\x00\x00StringIds",
            "export as Arrow",
        ),
        ("any.bin", b"\x00\x01\x02", "nothing that TraceQL imports"),
        ("e.sqlite", b"SQLite format 3\x00" + b"\xaa" * 4096, "cannot be read"),
    ],
)
def test_refused_by_kind(
    store: traceql.Store, tmp_path: Path, name: str, content: bytes, says: str
) -> None:
    """What is no capture is named, with what to do; nothing is left behind."""
    path = tmp_path / name
    path.write_bytes(content)
    outcome = _one(store, path)
    assert isinstance(outcome.error, UnrecognisedInput)
    assert outcome.error.exit_code == ExitCode.NOT_FOUND
    assert says in str(outcome.error) and str(path) in str(outcome.error)
    assert outcome.error.hint
    assert _files(store) == []


def test_foreign_database(store: traceql.Store, tmp_path: Path) -> None:
    """A SQLite file that is no capture is refused with its tables."""
    path = tmp_path / "songs.sqlite"
    _empty_database(path)
    outcome = _one(store, path)
    assert isinstance(outcome.error, UnrecognisedInput)
    assert "song" in str(outcome.error)


def test_cut_database(store: traceql.Store, tmp_path: Path) -> None:
    """A file that ends early is an error that names it, and leaves no run."""
    path = tmp_path / "cut.sqlite"
    _cut(path)
    outcome = _one(store, path)
    assert isinstance(outcome.error, ImportFailed | UnrecognisedInput)
    assert str(path) in str(outcome.error)
    assert _files(store) == []


@pytest.mark.parametrize("missing", ["absent.sqlite", "nothing-*.sqlite", "folder"])
def test_nothing_there(store: traceql.Store, tmp_path: Path, missing: str) -> None:
    """No file, no match, or a folder without captures."""
    (tmp_path / "folder").mkdir()
    outcome = _one(store, tmp_path / missing)
    assert outcome.status == "failed"
    assert isinstance(outcome.error, UnrecognisedInput)
    assert outcome.error.hint


def test_gzip_zip_and_url(store: traceql.Store, tmp_path: Path) -> None:
    """Packed captures are captures; each is a source of its own."""
    packed = tmp_path / "run.sqlite.gz"
    packed.write_bytes(gzip.compress(CAPTURE.read_bytes()))
    assert _one(store, packed).status == "imported"
    archive = tmp_path / "runs.zip"
    with zipfile.ZipFile(archive, "w") as file:
        file.write(CAPTURE, "a/run.sqlite")
        file.write(FIXTURES / "truth.json", "a/truth.json")
        file.write(FIXTURES / "nsight_2020.sqlite", "b/run.sqlite")
    outcomes = store.ingest(archive)
    assert [o.status for o in outcomes] == ["imported", "imported"]
    assert [o.run.source["member"] for o in outcomes if o.run] == [
        "a/run.sqlite",
        "b/run.sqlite",
    ]
    assert _one(store, FIXTURES.joinpath("nsight_2026.sqlite").as_uri()).run
    assert len(store.runs()) == 4


def test_damaged_gzip(store: traceql.Store, tmp_path: Path) -> None:
    """A cut archive is an error, not a traceback."""
    path = tmp_path / "cut.gz"
    path.write_bytes(gzip.compress(CAPTURE.read_bytes())[:-2_000])
    outcome = _one(store, path)
    assert isinstance(outcome.error, ImportFailed)
    assert "damaged" in str(outcome.error)


def _with_bad_text(path: Path) -> None:
    shutil.copyfile(CAPTURE, path)
    with closing(sqlite3.connect(path)) as con:
        con.execute(
            "UPDATE StringIds SET value = CAST(x'ff' || CAST(value AS BLOB) AS TEXT) "
            "WHERE id = (SELECT min(demangledName) FROM CUPTI_ACTIVITY_KIND_KERNEL)"
        )
        con.commit()


def test_invalid_text_is_counted(store: traceql.Store, tmp_path: Path) -> None:
    """Bytes that are no UTF-8 read as U+FFFD and are said to be lost."""
    path = tmp_path / "bad-text.sqlite"
    _with_bad_text(path)
    outcome = _one(store, path)
    assert [f.code for f in outcome.findings if f.severity == "data_loss"] == [
        "invalid_utf8"
    ]
    names = store.sql(
        "SELECT DISTINCT name FROM kernel WHERE name LIKE chr(65533)||'%'"
    )
    assert len(names) == 1


def test_strict_refuses_loss(store: traceql.Store, tmp_path: Path) -> None:
    """--strict: exit 4, and no run."""
    path = tmp_path / "bad-text.sqlite"
    _with_bad_text(path)
    outcome = _one(store, path, strict=True)
    assert isinstance(outcome.error, DataLoss)
    assert outcome.error.exit_code == ExitCode.DATA_LOSS
    assert _files(store) == []


def test_redact(store: traceql.Store, tmp_path: Path) -> None:
    """Home directories in names go, on request; without it they are pointed out."""
    path = tmp_path / "home.sqlite"
    shutil.copyfile(CAPTURE, path)
    with closing(sqlite3.connect(path)) as con:
        con.execute(
            "UPDATE NVTX_EVENTS SET text = 'load /home/alice/data.py' "
            "WHERE eventType = 34"
        )
        con.commit()
    plain = _one(store, path)
    assert "home_paths" in {f.code for f in plain.findings}
    _one(store, path, force=True, redact=True)
    names = store.sql("SELECT DISTINCT name FROM annotation WHERE kind = 'mark'").rows()
    assert names == [{"name": "load ~/data.py"}]


def test_redaction_leaves_json_and_no_finding(
    store: traceql.Store, tmp_path: Path
) -> None:
    """A path at the end of a JSON text goes without the quote and brace after it."""
    path = tmp_path / "home.sqlite"
    shutil.copyfile(FIXTURES / "nsight_2026.sqlite", path)
    with closing(sqlite3.connect(path)) as con:
        con.execute(
            "UPDATE NVTX_EVENTS SET text = NULL, textId = NULL, jsonText = ? "
            "WHERE eventType = 34",
            [r'{"a": ["/home/alice"], "b": "C:\\Users\\alice\\x", "c": "/root/y"}'],
        )
        con.commit()
    assert "home_paths" in {f.code for f in _one(store, path).findings}
    redacted = _one(store, path, force=True, redact=True)
    assert "home_paths" not in {f.code for f in redacted.findings}
    rows = store.sql(
        "SELECT DISTINCT payload::VARCHAR AS p FROM annotation WHERE kind = 'mark'"
    ).rows()
    assert [json.loads(row["p"]) for row in rows] == [
        {"a": ["~"], "b": "~\\x", "c": "~/y"}
    ]


def test_store_in_an_odd_folder(tmp_path: Path) -> None:
    """A quote in the store's path is no end of a string."""
    store = traceql.open_store(tmp_path / "it's", create=True)
    assert _one(store, CAPTURE).error is None
    assert store.sql("SELECT count(*) AS n FROM kernel").rows() == [{"n": 196}]


def _flag_as_encrypted(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[data.find(b"PK\x03\x04") + 6] |= 1
    data[data.find(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(data)


def test_encrypted_archive(store: traceql.Store, tmp_path: Path) -> None:
    """A password that nobody has is an error with its way out."""
    path = tmp_path / "secret.zip"
    with zipfile.ZipFile(path, "w") as file:
        file.write(CAPTURE, "run.sqlite")
    _flag_as_encrypted(path)
    outcome = _one(store, path)
    assert isinstance(outcome.error, ImportFailed)
    assert "run.sqlite" in str(outcome.error) and outcome.error.hint


def test_name_that_the_system_refuses(store: traceql.Store) -> None:
    """Too long, or behind a folder without rights: an outcome like any other."""
    outcome = _one(store, "a" * 5_000)
    assert isinstance(outcome.error, UnrecognisedInput)
    assert "cannot be read" in str(outcome.error)


def test_write_ahead_log_is_read_and_left(store: traceql.Store, tmp_path: Path) -> None:
    """Rows that stand in the log only are rows; neither file is written to."""
    path = tmp_path / "live.sqlite"
    shutil.copyfile(CAPTURE, path)
    with closing(sqlite3.connect(path)) as con:
        con.execute("PRAGMA journal_mode = WAL").fetchall()
        con.execute("PRAGMA wal_autocheckpoint = 0").fetchall()
        con.execute("DELETE FROM CUPTI_ACTIVITY_KIND_KERNEL WHERE rowid > 100")
        con.commit()
        log = path.with_name("live.sqlite-wal")
        before = path.read_bytes(), log.read_bytes()
        assert len(before[1]) > 0
        outcome = _one(store, path)
        assert outcome.run is not None
        assert outcome.run.rows["kernel"] == 100
        assert (path.read_bytes(), log.read_bytes()) == before


@pytest.mark.parametrize(
    "table",
    [
        "CUPTI_ACTIVITY_KIND_KERNEL",
        "CUPTI_ACTIVITY_KIND_MEMCPY",
        "CUPTI_ACTIVITY_KIND_RUNTIME",
        "NVTX_EVENTS",
        "TARGET_INFO_GPU",
        "TARGET_INFO_CUDA_STREAM",
        "ThreadNames",
        "PROCESSES",
        "EXPORT_META_DATA",
    ],
)
def test_without_a_table(store: traceql.Store, tmp_path: Path, table: str) -> None:
    """Exports are lazy: any table may be absent."""
    path = tmp_path / "lazy.sqlite"
    shutil.copyfile(CAPTURE, path)
    with closing(sqlite3.connect(path)) as con:
        con.execute(f"DROP TABLE {table}")
        con.commit()
    outcome = _one(store, path)
    assert outcome.error is None
    assert outcome.run is not None
    gone = {
        "CUPTI_ACTIVITY_KIND_KERNEL": "kernel",
        "CUPTI_ACTIVITY_KIND_MEMCPY": "memcpy",
        "NVTX_EVENTS": "annotation",
    }.get(table)
    assert gone is None or gone not in outcome.run.rows


def _columns(table: str) -> list[str]:
    with closing(sqlite3.connect(CAPTURE)) as con:
        return [row[1] for row in con.execute(f"PRAGMA table_info({table})")]


@pytest.mark.parametrize(
    ("table", "ours"),
    [
        ("CUPTI_ACTIVITY_KIND_KERNEL", "kernel"),
        ("CUPTI_ACTIVITY_KIND_MEMCPY", "memcpy"),
        ("CUPTI_ACTIVITY_KIND_RUNTIME", "api_call"),
        ("NVTX_EVENTS", "annotation"),
    ],
)
def test_without_any_one_column(
    store: traceql.Store, tmp_path: Path, table: str, ours: str
) -> None:
    """Columns come and go with the version; the rows stay as far as time is there."""
    for column in _columns(table):
        if column in ("start", "end", "eventType"):
            continue
        path = tmp_path / f"without-{column}.sqlite"
        shutil.copyfile(CAPTURE, path)
        with closing(sqlite3.connect(path)) as con:
            names = ", ".join(f'"{c}"' for c in _columns(table) if c != column)
            con.execute(f"CREATE TABLE cut AS SELECT {names} FROM {table}")
            con.execute(f"DROP TABLE {table}")
            con.execute(f"ALTER TABLE cut RENAME TO {table}")
            con.commit()
        outcome = _one(store, path)
        assert outcome.error is None, column
        assert outcome.run is not None
        assert outcome.run.rows[ours] > 0, column


def test_unknown_options(store: traceql.Store) -> None:
    """A wrong option or importer is the caller's mistake."""
    with pytest.raises(UsageError, match="no importer"):
        store.ingest(CAPTURE, format="none-such")
    with pytest.raises(UsageError):
        store.ingest(CAPTURE, no_such_option=1)


def test_memory_limit_too_small(store: traceql.Store) -> None:
    """Out of memory says how to give more, and leaves nothing."""
    outcome = _one(store, CAPTURE, memory_limit="1MB")
    assert isinstance(outcome.error, ImportFailed)
    assert outcome.error.hint and "--memory-limit" in outcome.error.hint
    assert _files(store) == []
    with pytest.raises(NoSuchRun):
        store.run("@latest")


def test_redact_reaches_the_manifest(store: traceql.Store, tmp_path: Path) -> None:
    """What nsys complained of, and where the file lay, name no user either."""
    home = tmp_path / "home" / "alice"
    home.mkdir(parents=True)
    path = home / "run.sqlite"
    shutil.copyfile(FIXTURES / "nsight_2026.sqlite", path)
    with closing(sqlite3.connect(path)) as con:
        con.execute(
            "UPDATE DIAGNOSTIC_EVENT SET text = 'cannot read /home/alice/x' "
            "WHERE severity = 2"
        )
        con.commit()
    outcome = _one(store, path, redact=True)
    assert outcome.run is not None
    (manifest,) = (Path(store.path) / "runs").glob("*.json")
    assert "alice" not in manifest.read_text()
    assert "cannot read ~/x" in manifest.read_text()
    rows = store.sql(
        "SELECT source_uri, to_json(d)::VARCHAR AS d FROM run, diagnostic d"
    )
    assert "alice" not in str(rows.rows())


def test_secrets_of_a_url_stay_out(
    store: traceql.Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """User, password and signed query of a URL enter neither store nor message."""
    import fsspec

    memory = fsspec.filesystem("memory")
    memory.pipe_file("/secret-test.sqlite", CAPTURE.read_bytes())
    opened = fsspec.open

    def plain(url: str, mode: str) -> object:
        assert "hunter2" in url
        return opened("memory://secret-test.sqlite", mode)

    monkeypatch.setattr(fsspec, "open", plain)
    url = "https://user:hunter2@host.example/secret-test.sqlite?X-Signature=hunter2"
    outcome = _one(store, url)
    assert outcome.run is not None
    assert outcome.source == "https://host.example/secret-test.sqlite"
    assert "hunter2" not in str(store.sql("FROM run").rows())
    assert "hunter2" not in str(outcome.run.manifest)


def test_another_log_is_another_run(store: traceql.Store, tmp_path: Path) -> None:
    """The write-ahead log is content: what it adds makes another run."""
    path = tmp_path / "live.sqlite"
    shutil.copyfile(CAPTURE, path)
    with closing(sqlite3.connect(path)) as con:
        con.execute("PRAGMA journal_mode = WAL").fetchall()
        con.execute("PRAGMA wal_autocheckpoint = 0").fetchall()
        kernels = []
        for keep in (100, 50):
            con.execute(f"DELETE FROM CUPTI_ACTIVITY_KIND_KERNEL WHERE rowid > {keep}")
            con.commit()
            outcome = _one(store, path)
            assert outcome.status == "imported"
            assert outcome.run is not None
            kernels.append(outcome.run.rows["kernel"])
    assert kernels == [100, 50]


@pytest.mark.parametrize("wrong", [{"memory_limit": "lots"}, {"threads": 0}])
def test_wrong_limits(store: traceql.Store, wrong: dict[str, object]) -> None:
    """A limit that is none is the caller's mistake."""
    outcome = _one(store, CAPTURE, **wrong)
    assert isinstance(outcome.error, UsageError)
    assert outcome.error.hint


def test_no_temporary_folder(
    store: traceql.Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a place for temporary files, TMPDIR is named."""
    import tempfile

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "absent"))
    outcome = _one(store, CAPTURE)
    assert isinstance(outcome.error, StoreError)
    assert outcome.error.hint and "TMPDIR" in outcome.error.hint


def test_rows_without_a_process(store: traceql.Store, tmp_path: Path) -> None:
    """One host process stands in; of several none is guessed, and that is said."""
    for name, launched in (("nsight_2022_4", True), ("nsight_ranks_2026", False)):
        path = tmp_path / f"{name}.sqlite"
        shutil.copyfile(FIXTURES / f"{name}.sqlite", path)
        with closing(sqlite3.connect(path)) as con:
            con.execute("ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL DROP COLUMN globalPid")
            con.commit()
        outcome = _one(store, path)
        assert "no_process" in {f.code for f in outcome.findings}
        ((known,),) = (
            store.session()
            .con.execute("SELECT count(api_call_id) FROM kernel")
            .fetchall()
        )
        assert (known > 0) == launched


@pytest.mark.parametrize("cut", [1, 200, 1_000])
def test_a_capture_cut_at_its_end(
    store: traceql.Store, tmp_path: Path, cut: int
) -> None:
    """SQLite reads a file with a cut last page in silence: we do not."""
    path = tmp_path / "cut.sqlite"
    path.write_bytes(CAPTURE.read_bytes()[:-cut])
    outcome = _one(store, path)
    assert isinstance(outcome.error, ImportFailed)
    assert f"{cut} bytes are missing" in str(outcome.error)
    assert _files(store) == []


def test_rows_without_time(store: traceql.Store, tmp_path: Path) -> None:
    """No start, or no time at all: counted as lost. No end: an operation, no time."""
    path = tmp_path / "times.sqlite"
    shutil.copyfile(CAPTURE, path)
    with closing(sqlite3.connect(path)) as con:
        con.execute("PRAGMA writable_schema = ON")
        con.execute(
            "UPDATE sqlite_master SET sql = replace(sql, 'NOT NULL', '') "
            "WHERE name = 'CUPTI_ACTIVITY_KIND_KERNEL'"
        )
        con.commit()
    kernel = "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET"
    with closing(sqlite3.connect(path)) as con:
        con.execute(f'{kernel} "start" = NULL WHERE rowid <= 3')
        con.execute(f'{kernel} "start" = 9223372036854775807 WHERE rowid = 4')
        con.execute(f'{kernel} "end" = NULL WHERE rowid IN (5, 6)')
        con.execute(f"{kernel} demangledName = -1 WHERE rowid = 7")
        con.commit()
    outcome = _one(store, path)
    lost = {f.code: f.count for f in outcome.findings if f.severity == "data_loss"}
    assert lost == {"rows_without_time": 4, "no_duration": 2, "unnamed_kernels": 1}
    rows = store.sql("SELECT count(*) AS n, count(dur_ns) AS timed FROM kernel").rows()
    assert rows == [{"n": 192, "timed": 190}]
    assert len(store.query("iteration_timing")) > 0
    assert store.report(tmp_path / "report.html").exists()
    assert isinstance(_one(store, path, force=True, strict=True).error, DataLoss)


@pytest.mark.parametrize("ending", ["gz", "zst"])
def test_compressed_twice(store: traceql.Store, tmp_path: Path, ending: str) -> None:
    """One more layer around a compressed file hides nothing; a third is told."""
    plain = _one(store, CAPTURE).run
    assert plain is not None
    data = CAPTURE.read_bytes()
    for times in (1, 2, 3):
        data = (
            gzip.compress(data)
            if ending == "gz"
            else pa.compress(data, codec="zstd", asbytes=True)
        )
        path = tmp_path / f"run{times}.sqlite{f'.{ending}' * times}"
        path.write_bytes(data)
        outcome = _one(store, path)
        if times < 3:
            assert outcome.run is not None, outcome.error
            assert outcome.run.rows == plain.rows
    assert isinstance(outcome.error, UnrecognisedInput)
    assert "compressed file inside" in str(outcome.error)


def test_other_archives_are_named(store: traceql.Store, tmp_path: Path) -> None:
    """What cannot be looked into says what to do."""
    with tarfile.open(tmp_path / "runs.tar.gz", "w:gz") as file:
        file.add(CAPTURE, "run.sqlite")
    with zipfile.ZipFile(tmp_path / "inner.zip", "w") as archive:
        archive.write(CAPTURE, "run.sqlite")
    packed = tmp_path / "inner.zip.gz"
    packed.write_bytes(gzip.compress((tmp_path / "inner.zip").read_bytes()))
    for path, kind in ((tmp_path / "runs.tar.gz", "tar archive"), (packed, "zip")):
        error = _one(store, path).error
        assert isinstance(error, UnrecognisedInput)
        assert kind in str(error)
        assert (error.hint or "").startswith("Unpack it")


@pytest.mark.parametrize("jobs", [1, 2])
def test_what_a_folder_leaves_out_is_named(
    store: traceql.Store, tmp_path: Path, jobs: int
) -> None:
    """The first files by name, the rest counted; the captures are imported."""
    folder = tmp_path / "runs"
    folder.mkdir()
    shutil.copyfile(CAPTURE, folder / "run.sqlite")
    (folder / "a.json").write_bytes(b"")
    (folder / "b.json").write_text('{"a": 1}')
    for name in ("c.txt", "d.txt", "e.txt"):
        (folder / name).write_text("notes")
    (folder / "run.sqlite-shm").write_bytes(b"\0" * 9)
    (folder / ".hidden").write_text("no one looks")
    told: list[Outcome] = []
    (imported,) = store.ingest(folder, jobs=jobs, tell=told.append)
    first, left = told
    assert (first, imported.status) == (imported, "imported")
    assert (left.source, left.status, left.error) == (str(folder), "left_out", None)
    (note,) = left.notes
    assert note == (
        "5 files are left out: a.json (an empty file), b.json (JSON without trace "
        "events), c.txt (nothing that TraceQL imports), 2 more"
    )


@pytest.mark.parametrize("named", ["d1", "./d1/", "{folder}/d1", "."])
def test_files_left_out_are_named_inside_their_folder(
    store: traceql.Store,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    named: str,
) -> None:
    """However the folder is written; a `!` at a name's beginning is its own."""
    home = tmp_path / "home"
    inner = home / "d1"
    inner.mkdir(parents=True)
    (inner / "!x.txt").write_text("notes")
    with zipfile.ZipFile(inner / "z.zip", "w") as archive:
        archive.writestr("!y.txt", "notes")
    monkeypatch.chdir(home)
    told: list[Outcome] = []
    store.ingest(named.format(folder=home), tell=told.append)
    (left,) = (outcome for outcome in told if outcome.status == "left_out")
    why = "(nothing that TraceQL imports)"
    within = "d1/" if named == "." else ""
    assert left.notes == [
        f"2 files are left out: {within}!x.txt {why}, {within}z.zip!!y.txt {why}"
    ]


def test_files_left_out_are_named_inside_their_archive(
    store: traceql.Store, tmp_path: Path
) -> None:
    path = tmp_path / "z.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.write(CAPTURE, "run.sqlite")
        archive.writestr("!y.txt", "notes")
        archive.writestr("in/y.txt", "notes")
    told: list[Outcome] = []
    store.ingest(path, tell=told.append)
    assert [outcome.status for outcome in told] == ["imported", "left_out"]
    why = "(nothing that TraceQL imports)"
    assert told[1].notes == [f"2 files are left out: !y.txt {why}, in/y.txt {why}"]
