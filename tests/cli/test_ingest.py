"""`traceql ingest` over the small captures of fixtures/, and the way to a report."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pexpect
import pytest

from traceql.diagnostics import Diagnostics, Finding
from traceql.errors import ExitCode
from traceql.store import open_store

from .conftest import Cli

CAPTURES = Path(__file__).parents[2] / "fixtures" / "nsight"
CAPTURE = CAPTURES / "nsight_2026.sqlite"


@pytest.fixture
def target(tmp_path: Path) -> str:
    return str(tmp_path / "store")


def test_a_line_of_data_for_each_source(cli: Cli, target: str) -> None:
    done = cli(
        "ingest", str(CAPTURE), "--store", target, "--label", "x", "--tag", "a=b"
    )
    assert done.code == 0, done.err
    (line,) = done.out.splitlines()
    run_id, status, rows, seconds, label, source = line.split("\t")
    run = open_store(target).run("x")
    assert run_id == run.run_id
    assert status == "imported"
    assert int(rows) == sum(run.rows.values())
    assert float(seconds) >= 0
    assert (label, source) == ("x", str(CAPTURE))
    assert dict(run.tags) == {"a": "b"}
    # The capture says that events were dropped.
    assert "dropped" in done.err

    again = cli("ingest", str(CAPTURE), "--store", target)
    assert again.code == 0
    assert again.out.split("\t")[:2] == [run_id, "present"]
    assert "already present" in again.err
    forced = cli("ingest", str(CAPTURE), "--store", target, "--force", "--quiet")
    assert forced.out.split("\t")[1] == "imported"
    assert forced.err == ""


def test_columns_of_a_log_without_a_header(
    cli: Cli, target: str, tmp_path: Path
) -> None:
    log = tmp_path / "gpu.csv"
    log.write_text("2024/01/02 03:04:05.000, 0, 12 %\n")
    options = ("ingest", str(log), "--store", target, "--columns")
    done = cli(*options, "timestamp, index, utilization.gpu")
    assert done.code == 0, done.err
    text = "SELECT device_id, name, value, unit FROM counter"
    (row,) = open_store(target).sql(text).rows()
    assert tuple(row.values()) == (0, "utilization.gpu", 12.0, "pct")
    refused = cli(*options, "timestamp,index", "--force")
    assert refused.code == ExitCode.USAGE
    assert "names 2 columns, but the lines of the log have 3" in refused.err
    assert cli(*options, "").code == ExitCode.USAGE


def test_one_bad_source_stops_no_other(cli: Cli, target: str, tmp_path: Path) -> None:
    bad = tmp_path / "notes\x1b[31m.txt"
    bad.write_text("no trace")
    done = cli("ingest", str(bad), str(CAPTURE), "/nowhere/at/all", "--store", target)
    assert done.code == ExitCode.NOT_FOUND
    assert len(done.out.splitlines()) == 1
    assert done.err.count("error: ") >= 2
    assert "\x1b" not in done.err


def test_a_quoted_glob_and_jobs(cli: Cli, target: str) -> None:
    done = cli("ingest", str(CAPTURES / "*.sqlite"), "--store", target, "--jobs", "2")
    assert done.code == 0, done.err
    assert len(done.out.splitlines()) == len(list(CAPTURES.glob("*.sqlite")))


def test_a_batch_goes_on_where_it_was_left(
    cli: Cli, target: str, tmp_path: Path
) -> None:
    archive = tmp_path / "archive"
    archive.mkdir()
    captures = sorted(CAPTURES.glob("*.sqlite"))
    for capture in captures[:2]:
        shutil.copy(capture, archive)
    (archive / "cut.sqlite").write_bytes(captures[2].read_bytes()[:20_000])
    first = cli("ingest", str(archive), "--store", target, "--resume")
    assert first.code == ExitCode.NOT_FOUND
    assert len(first.out.splitlines()) == 2
    assert "2 imported, 0 present, 1 failed" in first.err

    # One is mended, one is touched, one is as it was: only that one is not read.
    shutil.copy(captures[2], archive / "cut.sqlite")
    touched = archive / captures[0].name
    os.utime(touched, ns=(1, 1))
    again = cli("ingest", str(archive), "--store", target, "--resume")
    assert again.code == 0, again.err
    notes = dict(
        line.removeprefix("note: ").split(": ", 1)
        for line in again.err.splitlines()
        if line.startswith("note: ")
    )
    assert notes[str(archive / captures[1].name)].startswith("unchanged since")
    assert notes[str(touched)] == "already present"
    assert "1 imported, 2 present, 0 failed" in again.err

    # Other options, and --force, read everything.
    other = cli("ingest", str(archive), "--store", target, "--resume", "--redact")
    assert "unchanged since" not in other.err
    assert other.err.count("made with other options") == 3
    forced = cli("ingest", str(archive), "--store", target, "--resume", "--force")
    assert "3 imported, 0 present, 0 failed" in forced.err


def test_strict_is_exit_4_and_leaves_no_run(
    cli: Cli, target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    lost = [Finding("cut", "data_loss", 2, "The file is cut.", None)]
    monkeypatch.setattr(Diagnostics, "lost_data", lambda self: lost)
    done = cli("ingest", str(CAPTURE), "--store", target, "--strict")
    assert done.code == ExitCode.DATA_LOSS
    assert done.out == ""
    assert "cut x2" in done.err
    assert open_store(target).runs() == []


def test_a_wrong_importer_is_a_usage_error(cli: Cli, target: str) -> None:
    done = cli("ingest", str(CAPTURE), "--store", target, "--format", "nonsense")
    assert done.code == 2
    assert "nsight" in done.err


def test_standard_input(target: str) -> None:
    with CAPTURE.open("rb") as capture:
        done = subprocess.run(
            [sys.executable, "-m", "traceql", "ingest", "-", "--store", target],
            stdin=capture,
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    assert "\timported\t" in done.stdout


def test_the_progress_bar_is_for_terminals_only(target: str) -> None:
    command = [sys.executable, "-m", "traceql", "ingest", str(CAPTURE)]
    command += ["--store", target]
    piped = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "\x1b" not in piped.stdout + piped.stderr
    assert "Warning" not in piped.stderr
    child = pexpect.spawn(
        command[0],
        [*command[1:], "--force"],
        timeout=60,
        encoding="utf-8",
        env={**os.environ, "TERM": "xterm"},
    )
    child.expect("━")
    child.expect("imported")
    child.expect(pexpect.EOF)


def test_from_capture_to_answers(cli: Cli, target: str, tmp_path: Path) -> None:
    assert cli("ingest", str(CAPTURE), "--store", target, "--label", "demo").code == 0
    (run,) = json.loads(cli("runs", "--store", target, "--format", "json").out)
    assert run["label"] == "demo"
    assert run["kernels"] > 0
    assert run["span_ns"] > 0
    assert "Nsight Systems" in run["tool"]
    for query in json.loads(cli("query", "list", "--format", "json").out):
        file = tmp_path / f"{query['name']}.json"
        done = cli("query", query["name"], "--store", target, "-o", str(file))
        assert done.code == 0, (query["name"], done.err)
        assert isinstance(json.loads(file.read_text()), list)


def test_report(
    cli: Cli, target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert cli("ingest", str(CAPTURE), "--store", target).code == 0
    file = tmp_path / "r.html"
    done = cli("report", "--html", "-o", str(file), "--store", target)
    assert (done.code, done.out) == (0, f"{file}\n")
    assert file.read_text().lower().startswith("<!doctype html>")
    monkeypatch.chdir(tmp_path)
    named = cli("report", "--store", target).out.strip()
    assert named.endswith(".html")
    assert Path(named).read_bytes() == file.read_bytes()


def test_what_a_folder_leaves_out_is_a_warning(
    cli: Cli, target: str, tmp_path: Path
) -> None:
    folder = tmp_path / "runs"
    folder.mkdir()
    shutil.copyfile(CAPTURE, folder / "run.sqlite")
    (folder / "notes.txt").write_text("notes")
    done = cli("ingest", str(folder), "--store", target)
    assert done.code == 0
    assert len(done.out.splitlines()) == 1
    left = "one file is left out: notes.txt (nothing that TraceQL imports)"
    assert f"warning: {folder}: {left}" in done.err
    (folder / "run.sqlite").unlink()
    alone = cli("ingest", str(folder), "--store", target)
    assert alone.code == ExitCode.NOT_FOUND
    assert left in alone.err
    assert left not in cli("ingest", str(folder), "--store", target, "--quiet").err
