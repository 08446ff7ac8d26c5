"""The importer of reports: which nsys, how it is run, and what a failure leaves.

A script stands in for nsys here, so that it can be old, slow, hung or broken;
test_nsys_captures.py runs the real one.
"""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import traceql
from traceql.errors import ExitCode, ImportFailed, UsageError
from traceql.importers import _nsys
from traceql.importers.nsight_report import version_of
from traceql.ingest import Outcome

CAPTURE = Path(__file__).parents[2] / "fixtures" / "nsight" / "nsight_2026.sqlite"
OLD_HEAD = b"NVIDIA Tegra Profiler Report 1.\n\x0bLocal (CLI)\x12"
NEW_HEAD = b"NVIDIA Tegra Profiler Report 2025@5@1@121-255136380782v0.\n\x0bLocal"

Fake = Callable[..., Path]


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """No nsys of this machine, and a temporary folder of the test's own."""
    monkeypatch.delenv(_nsys.VARIABLE, raising=False)
    monkeypatch.setattr(_nsys, "_INSTALLED", ())
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    monkeypatch.setattr(shutil, "which", _which(tmp_path / "bin"))
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setenv("TMPDIR", str(scratch))
    monkeypatch.setattr("tempfile.tempdir", None)
    return scratch


def _which(folder: Path) -> Callable[[str], str | None]:
    """Looks in one folder only: the real nsys may lie beside sh."""

    def which(name: str) -> str | None:
        path = folder / name
        return str(path) if path.is_file() else None

    return which


@pytest.fixture
def fake(tmp_path: Path) -> Fake:
    """Makes a script that says a version and exports by `export`, a shell command."""

    def make(
        version: str = "2025.6.1.190-256136",
        export: str = f'cp {shlex.quote(str(CAPTURE))} "$out"',
        path: str = "bin/nsys",
        help: str = "",
    ) -> Path:
        script = tmp_path / path
        script.parent.mkdir(parents=True, exist_ok=True)
        script.write_text(
            "#!/bin/sh\n"
            'case "$*" in\n'
            f'--version) echo "NVIDIA Nsight Systems version {version}"; exit;;\n'
            f'*--help) echo "{help}"; exit;;\n'
            "esac\n"
            'while [ "$1" != --output ]; do shift; done\n'
            "out=$2 report=$3\n"
            f"{export}\n"
        )
        script.chmod(0o755)
        return script

    return make


@pytest.fixture
def report(tmp_path: Path) -> Path:
    """A report by its first bytes."""
    path = tmp_path / "train.nsys-rep"
    path.write_bytes(NEW_HEAD)
    return path


def _one(store: traceql.Store, source: Path, **options: object) -> Outcome:
    (outcome,) = store.ingest(source, **options)
    return outcome


def _refused(store: traceql.Store, source: Path, **options: object) -> ImportFailed:
    error = _one(store, source, **options).error
    assert isinstance(error, ImportFailed)
    assert error.hint
    assert store.runs() == []
    return error


@pytest.mark.parametrize(
    ("head", "version"),
    [(OLD_HEAD, None), (NEW_HEAD, "2025.5.1.121"), (b"NVIDIA Tegra Pro", None)],
)
def test_version_of_a_report(tmp_path: Path, head: bytes, version: str | None) -> None:
    (tmp_path / "r").write_bytes(head)
    assert version_of(tmp_path / "r") == version


def test_import_equals_that_of_the_export(
    store: traceql.Store, fake: Fake, report: Path, alone: Path
) -> None:
    """The run is named by the report's bytes and holds what the export holds."""
    fake()
    before = report.read_bytes()
    export, through = _one(store, CAPTURE).run, _one(store, report).run
    assert export is not None and through is not None
    assert through.rows | {"diagnostic": 0} == export.rows | {"diagnostic": 0}
    digest = subprocess.check_output(["sha256sum", str(report)]).decode()
    assert through.run_id == "r" + digest[:15]
    facts = store.session(through.run_id).con.execute(
        "SELECT tool_version, importer, source_bytes FROM run"
    )
    assert facts.fetchall() == [("2025.5.1.121", "nsight-report", len(before))]
    assert report.read_bytes() == before
    assert list(alone.iterdir()) == []


def test_present_needs_no_nsys(store: traceql.Store, fake: Fake, report: Path) -> None:
    script = fake()
    _one(store, report)
    script.unlink()
    assert _one(store, report).status == "present"


def test_found_in_a_folder(store: traceql.Store, fake: Fake, report: Path) -> None:
    """Whatever the report is called; what is no capture is passed over."""
    fake()
    folder = report.parent / "archive" / "night"
    folder.mkdir(parents=True)
    (folder / "old.qdrep").write_bytes(OLD_HEAD)
    (folder / "renamed.bin").write_bytes(NEW_HEAD)
    (folder / "train.log").write_text("epoch 1")
    outcomes = store.ingest(report.parent / "archive")
    assert [Path(o.source).name for o in outcomes] == ["old.qdrep", "renamed.bin"]
    assert [o.status for o in outcomes] == ["imported"] * 2


def test_no_nsys(store: traceql.Store, report: Path) -> None:
    """Says what to run, word for word, and with which version."""
    error = _refused(store, report)
    assert "2025.5.1.121" in str(error) and "no nsys was found" in str(error)
    assert error.exit_code == ExitCode.FAILURE
    assert error.hint is not None
    assert "Install Nsight Systems 2025.5.1 or newer" in error.hint
    assert (
        "nsys export --type sqlite --output train.sqlite train.nsys-rep" in error.hint
    )


def test_too_old_by_the_header(
    store: traceql.Store, fake: Fake, report: Path, tmp_path: Path
) -> None:
    """Refused with both versions, and nsys is not started."""
    fake("2024.6.2.225-246", export=f"touch {tmp_path}/started")
    error = _refused(store, report)
    assert "2025.5.1.121" in str(error) and "2024.6.2.225" in str(error)
    assert not (tmp_path / "started").exists()


def test_a_younger_build_of_the_release_may_try(
    store: traceql.Store, fake: Fake, report: Path
) -> None:
    fake("2025.5.1.100")
    assert _one(store, report).status == "imported"


def test_too_old_by_its_own_word(
    store: traceql.Store, fake: Fake, tmp_path: Path, alone: Path
) -> None:
    """Reports until 2023.3.1 do not say who wrote them; nsys does."""
    path = tmp_path / "old.qdrep"
    path.write_bytes(OLD_HEAD)
    fake(
        "2021.3.2.4",
        export='echo "Exportation error: Report was created in Nsight Systems version '
        "(2023.2.3.1004-33186433v0), newer than your current version "
        '(2021.3.2.4-027534f)." >&2; exit 1',
    )
    error = _refused(store, path)
    assert "2023.2.3.1004" in str(error) and "2021.3.2.4" in str(error)
    assert list(alone.iterdir()) == []


def test_newer_of_several(
    store: traceql.Store,
    fake: Fake,
    report: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The one on PATH is too old: the newest installed one reads the report."""
    fake("2022.4.2.1", export="exit 1")
    fake("2025.3.2.4", export="exit 1", path="opt/2025.3.2/bin/nsys")
    fake("2025.10.1.9", path="opt/2025.10.1/bin/nsys")
    fake("2025.5.1.9", export="exit 1", path="opt/2025.5.1/bin/nsys")
    monkeypatch.setattr(_nsys, "_INSTALLED", (f"{tmp_path}/opt/*/bin/nsys",))
    outcome = _one(store, report)
    assert outcome.status == "imported"
    assert [f.example for f in outcome.findings if f.code == "read_through_nsys"] == [
        "nsys 2025.10.1.9"
    ]


def test_named_by_option_before_variable(
    store: traceql.Store,
    fake: Fake,
    report: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """--nsys, then TRACEQL_NSYS, then PATH."""
    fake(export="exit 7")
    variable = fake(export="exit 8", path="v/nsys")
    option = fake(path="o/nsys")
    assert "exit code 7" in str(_refused(store, report))
    monkeypatch.setenv(_nsys.VARIABLE, str(variable))
    assert "exit code 8" in str(_refused(store, report))
    assert _one(store, report, nsys=str(option)).status == "imported"


def test_named_is_no_nsys(store: traceql.Store, fake: Fake, report: Path) -> None:
    """What the user named is used or refused, never replaced in silence."""
    fake()
    for wrong in ("/no/such/nsys", "/bin/true", str(report)):
        error = _one(store, report, nsys=wrong).error
        assert isinstance(error, UsageError) and wrong in str(error)
    assert store.runs() == []


def test_failure_tells_the_last_words(
    store: traceql.Store, fake: Fake, report: Path, alone: Path
) -> None:
    fake(
        export='printf "Exporting: [=1%%  ]\\rExporting: [==2%% ]\\r" >&2; '
        'echo "Exportation error: Section Table Reference is absent." >&2; '
        'head -c 1000 /dev/zero > "$out"; exit 1'
    )
    error = _refused(store, report)
    assert str(error).endswith("Exportation error: Section Table Reference is absent.")
    assert list(alone.iterdir()) == []


def test_full_disk(store: traceql.Store, fake: Fake, report: Path) -> None:
    fake(export='echo "Exportation error: database or disk is full" >&2; exit 1')
    assert "TMPDIR" in str(_refused(store, report).hint)


@pytest.mark.parametrize("export", ["exit 0", 'echo song > "$out"'])
def test_success_without_an_export(
    store: traceql.Store, fake: Fake, report: Path, export: str
) -> None:
    """Exit code 0 proves nothing."""
    fake(export=export)
    _refused(store, report)


def test_blobs_are_asked_for_where_nsys_knows_them(
    store: traceql.Store, fake: Fake, report: Path, tmp_path: Path
) -> None:
    told = tmp_path / "told"
    copy = f'cp {shlex.quote(str(CAPTURE))} "$out"'
    script = fake(export=copy, help="--include-blobs=")
    text = script.read_text()
    script.write_text(text.replace("case", f'echo "$*" >> {told}\ncase', 1))
    _one(store, report)
    assert "--include-blobs true" in told.read_text()


def test_no_input_and_its_own_temporary_folder(
    store: traceql.Store, fake: Fake, report: Path, tmp_path: Path, alone: Path
) -> None:
    """nsys reads no terminal, and what it writes to TMPDIR goes with it."""
    told = tmp_path / "told"
    fake(
        export=f'cat > {told}; echo "$TMPDIR" >> {told}; mkdir "$TMPDIR/nvidia"; '
        f'cp {shlex.quote(str(CAPTURE))} "$out"'
    )
    assert _one(store, report).status == "imported"
    (folder,) = told.read_text().split()
    assert Path(folder).parent == alone and not Path(folder).exists()
    assert list(alone.iterdir()) == []


# A child that outlives its parent unless the whole group is ended.
_HANG = 'sleep 600 & echo $! $$ > {pids}; head -c 9 /dev/zero > "$out"; wait'


def _all_gone(pids: Path) -> bool:
    """Whether the processes have ended; a short time is theirs to do so."""
    for _ in range(100):
        states = [_state(int(pid)) for pid in pids.read_text().split()]
        if set(states) <= {"gone", "Z"}:
            return True
        time.sleep(0.05)
    return False


def _state(pid: int) -> str:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return "gone"
    return stat.rpartition(")")[2].split()[0]


def test_hung_nsys_is_ended(
    store: traceql.Store, fake: Fake, report: Path, tmp_path: Path, alone: Path
) -> None:
    """With its children, in time, and nothing is left."""
    pids = tmp_path / "pids"
    fake(export=_HANG.format(pids=pids))
    began = time.monotonic()
    error = _refused(store, report, nsys_timeout_s=0.5)
    assert time.monotonic() - began < 20
    assert "0 s" in str(error) or "1 s" in str(error)
    assert error.hint is not None and "--nsys-timeout" in error.hint
    assert _all_gone(pids)
    assert list(alone.iterdir()) == []


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 128 + 15)]
)
def test_interrupted(
    fake: Fake, report: Path, tmp_path: Path, alone: Path, number: int, code: int
) -> None:
    """Ctrl-C or a batch system's signal: nsys ends, no file stays, no run."""
    pids = tmp_path / "pids"
    script = fake(export=_HANG.format(pids=pids))
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "traceql", "ingest", str(report)),
            *("--store", str(tmp_path / "store"), "--nsys", str(script)),
        ],
        stderr=subprocess.PIPE,
        env={**os.environ, "PATH": "/usr/bin:/bin"},
        cwd=Path(__file__).parents[2],
    )
    deadline = time.monotonic() + 60
    while not (pids.exists() and pids.read_text().strip()):
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.05)
    process.send_signal(number)
    _, err = process.communicate(timeout=30)
    assert process.returncode == code
    assert b"Traceback" not in err
    assert _all_gone(pids)
    assert list(alone.iterdir()) == []
    assert traceql.open_store(tmp_path / "store").runs() == []


def test_other_reports_go_on(store: traceql.Store, fake: Fake, tmp_path: Path) -> None:
    """One that nsys chokes on stops nothing, in several processes too."""
    fake(
        export=f'grep -q bad "$report" && exit 3; cp {shlex.quote(str(CAPTURE))} "$out"'
    )
    folder = tmp_path / "night"
    folder.mkdir()
    for name in ("a", "bad", "c"):
        (folder / f"{name}.nsys-rep").write_bytes(NEW_HEAD + name.encode())
    outcomes = store.ingest(folder, jobs=2, nsys=str(tmp_path / "bin" / "nsys"))
    assert [o.status for o in outcomes] == ["imported", "failed", "imported"]


@pytest.mark.corpus
def test_newer_report_of_the_corpus(
    store: traceql.Store, corpus: Path, fake: Fake
) -> None:
    """Both versions in one sentence."""
    fake("2022.4.2.1-df9881f")
    error = _refused(store, corpus / "nsys" / "NVIDIA-pdl_2p2c.nsys-rep")
    assert "2025.5.1.121" in str(error) and "2022.4.2.1" in str(error)
