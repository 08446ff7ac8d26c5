"""`traceql runs`, `store` and `doctor` over a real store."""

from __future__ import annotations

import csv
import io
import json
import sys
from dataclasses import replace
from pathlib import Path

import pexpect
import pytest

from traceql.cli.listing import runs_result
from traceql.manifest import Run
from traceql.store import open_store

from .conftest import FIRST, HOSTILE, SECOND, Cli


def test_runs_lists_newest_first_in_every_format(cli: Cli, store: str) -> None:
    done = cli("runs", "--store", store)
    assert done.code == 0
    assert done.out.index(SECOND) < done.out.index(FIRST)
    assert "2.500" in done.out  # ms
    assert "\x1b" not in done.out
    assert "\x9b" not in done.out

    rows = json.loads(cli("runs", "list", "--store", store, "--format", "json").out)
    assert [row["run_id"] for row in rows] == [SECOND, FIRST]
    assert rows[1] | {"ingested_at": None, "bytes": 0} == {
        "run_id": FIRST,
        "label": "baseline",
        "ingested_at": None,
        "source": f"{HOSTILE}.sqlite",
        "tool": "nsys",
        "devices": "A100",
        "span_ns": 2_500_000,
        "kernels": 4,
        "bytes": 0,
        "tags": "model=m1",
        "warnings": 3,
    }
    assert rows[0]["label"] is None


def test_devices_of_one_name_are_counted(store: str) -> None:
    run = open_store(store).run(FIRST)
    names = ["NVIDIA H100"] * 8 + ["device 8"]
    facts = dict(run.facts) | {"devices": names}
    several = Run(replace(run.manifest, facts=facts))
    (row,) = runs_result([several]).rows()
    assert row["devices"] == "8 x NVIDIA H100, device 8"


def test_runs_takes_selectors_without_the_word_list(cli: Cli, store: str) -> None:
    done = cli("runs", "tag:model=m1", "--store", store, "--format", "csv")
    assert [r["run_id"] for r in csv.DictReader(io.StringIO(done.out))] == [FIRST]


def test_runs_writes_files_by_their_extension(
    cli: Cli, store: str, tmp_path: Path
) -> None:
    file = tmp_path / "runs.ndjson"
    file.write_text("old")
    done = cli("runs", "--store", store, "-o", str(file))
    assert (done.code, done.out, done.err) == (0, "", "")
    assert len(file.read_text().splitlines()) == 2
    assert [p.name for p in tmp_path.iterdir() if "runs" in p.name] == ["runs.ndjson"]

    assert cli("runs", "--store", store, "-o", str(tmp_path / "x.xls")).code == 2
    missing = cli("runs", "--store", store, "-o", str(tmp_path / "no" / "x.csv"))
    assert missing.code == 2
    assert "No such file" in missing.err


def test_runs_show_has_rows_diagnostics_and_files(cli: Cli, store: str) -> None:
    done = cli("runs", "show", "baseline", "--store", store, "--format", "csv")
    fields = {r["field"]: r["value"] for r in csv.DictReader(io.StringIO(done.out))}
    assert fields["run_id"] == FIRST
    assert fields["rows.kernel"] == "4"
    assert fields["tags.model"] == "m1"
    assert fields["source.sha256"] == "00"
    assert fields["diagnostics.cut.severity"] == "data_loss"
    assert fields["diagnostics.cut.count"] == "3"
    assert any(name.startswith("files.v1/kernel/") for name in fields)
    assert cli("runs", "show", "nothing", "--store", store).code == 3


def test_runs_tag(cli: Cli, store: str) -> None:
    done = cli(
        *("runs", "tag", FIRST, "gpu=h100", "--remove", "model", "--label", "best"),
        *("--store", store, "--format", "json"),
    )
    assert done.code == 0
    (row,) = json.loads(done.out)
    assert (row["tags"], row["label"]) == ("gpu=h100", "best")
    assert dict(open_store(store).run("best").tags) == {"gpu": "h100"}
    assert cli("runs", "tag", FIRST, "--store", store).code == 2
    assert cli("runs", "tag", FIRST, "novalue", "--store", store).code == 2
    assert cli("runs", "tag", FIRST, "--label", "", "--store", store).code == 0
    assert open_store(store).run(FIRST).label is None


def test_runs_delete_asks_or_needs_yes(cli: Cli, store: str) -> None:
    refused = cli("runs", "delete", "baseline", "--store", store)
    assert refused.code == 2
    assert "--yes" in refused.err
    assert len(open_store(store).runs()) == 2
    done = cli("runs", "delete", "baseline", "--yes", "--store", store)
    assert done.code == 0
    assert FIRST in done.out
    assert [run.run_id for run in open_store(store).runs()] == [SECOND]


@pytest.mark.parametrize(("answer", "left"), [("y", 1), ("n", 2)])
def test_runs_delete_on_a_terminal(store: str, answer: str, left: int) -> None:
    child = pexpect.spawn(
        sys.executable,
        ["-m", "traceql", "runs", "delete", FIRST, "--store", store],
        timeout=20,
        encoding="utf-8",
    )
    child.expect("Delete baseline")
    child.sendline(answer)
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == (0 if answer == "y" else 130)
    assert len(open_store(store).runs()) == left


def test_a_damaged_manifest_is_told_and_can_be_deleted(cli: Cli, store: str) -> None:
    Path(store, "runs", f"{SECOND}.json").write_text("{")
    done = cli("runs", "--store", store)
    assert done.code == 0
    assert FIRST in done.out
    assert SECOND in done.err
    assert cli("runs", "delete", SECOND, "--yes", "--store", store).code == 0
    assert cli("runs", "--store", store).err == ""


def test_store_verify_and_vacuum(cli: Cli, store: str) -> None:
    clean = cli("store", "verify", "--store", store)
    assert (clean.code, clean.out, clean.err) == (0, "", "0 problems, 0 strays\n")
    assert cli("store", "verify", "--store", store, "--format", "json").out == "[\n]\n"

    stray = Path(store, "v1", "kernel", "stray.parquet")
    stray.write_bytes(b"x")
    found = cli("store", "verify", "--store", store, "--format", "json")
    assert found.code == 0
    assert [row["kind"] for row in json.loads(found.out)] == ["stray"]

    age = ("store", "vacuum", "--older-than", "0", "--store", store)
    listed = cli(*age, "--dry-run")
    assert "stray.parquet" in listed.out
    assert stray.exists()
    assert "1 files removed" in cli(*age).err
    assert not stray.exists()

    (part,) = Path(store).glob(f"v1/kernel/run_id={FIRST}/*.parquet")
    part.write_bytes(b"cut")
    broken = cli("store", "verify", "baseline", "--store", store)
    assert broken.code == 1
    assert "1 problems" in broken.err


def test_doctor(
    cli: Cli, store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = cli("doctor", "--store", store, "--format", "json")
    found = {row["check"]: row for row in json.loads(done.out)}
    assert done.code == (0 if all(row["ok"] for row in found.values()) else 1)
    for package in ("python", "duckdb", "pyarrow", "adbc-driver-sqlite"):
        assert found[package]["found"][0].isdigit()
    assert "by --store" in found["store"]["found"]
    assert "2 runs" in found["store"]["found"]
    assert found["store writable"]["ok"]
    assert found["schema"]["found"].startswith("v1: ")

    monkeypatch.setenv("TRACEQL_STORE", str(tmp_path / "none"))
    done = cli("doctor", "--format", "json")
    (row,) = (r for r in json.loads(done.out) if r["check"] == "store")
    assert "by TRACEQL_STORE" in row["found"]
    assert "not there yet" in row["found"]


def test_a_pipe_has_no_width(
    cli: Cli, store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    done = cli("runs", "--store", store)
    assert max(map(len, done.out.splitlines())) > 100
    assert done.err == ""


def test_a_terminal_gets_width_colour_and_no_escapes_from_names(store: str) -> None:
    def screen(**environment: str) -> str:
        child = pexpect.spawn(
            sys.executable,
            ["-m", "traceql", "runs", "--store", store],
            timeout=20,
            encoding="utf-8",
            dimensions=(40, 70),
            env={"PATH": "/usr/bin:/bin", "TERM": "xterm", **environment},
        )
        child.expect(pexpect.EOF)
        child.close()
        assert child.exitstatus == 0
        return str(child.before)

    coloured = screen()
    assert "\x1b[1m" in coloured  # the header
    assert "\x1b]" not in coloured
    assert "\x9b" not in coloured
    plain = screen(NO_COLOR="1")
    assert "\x1b" not in plain
    assert all(len(line) <= 70 for line in plain.splitlines()[:4])
    assert "in every row shown" in plain
