"""Arguments, file names and store paths whose bytes are not UTF-8."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from .conftest import Cli

CAPTURE = Path(__file__).parents[2] / "fixtures" / "nsight" / "nsight_2026.sqlite"
BAD = os.fsdecode(b"a\xff")


@pytest.mark.parametrize(
    "args",
    [
        ("ingest", str(CAPTURE), "--label", BAD),
        ("ingest", str(CAPTURE), "--tag", f"k={BAD}"),
        ("ingest", str(CAPTURE), "--tag", f"{BAD}=v"),
        ("ingest", str(CAPTURE), "--job", BAD),
        ("ingest", str(CAPTURE), "--attach", BAD),
        ("runs", "list", BAD),
        ("runs", "tag", "@latest", f"k={BAD}"),
        ("runs", "tag", "@latest", "--label", BAD),
        ("sql", f"SELECT '{BAD}'"),
        ("query", BAD),
        ("query", "kernel_totals", "--run", BAD),
        ("query", "kernel_totals", "-p", f"top={BAD}"),
        ("query", "kernel_totals", "-p", f"group_by={BAD}"),
    ],
)
def test_arguments_are_a_usage_error(
    cli: Cli, store: str, args: tuple[str, ...]
) -> None:
    done = cli(*args, "--store", store)
    assert (done.code, done.out) == (2, "")
    assert r"a\udcff" in done.err
    assert "Traceback" not in done.err
    assert cli("runs", "--store", store).code == 0


def test_files_are_named_and_stop_no_other(cli: Cli, tmp_path: Path) -> None:
    folder = tmp_path / "captures"
    (folder / BAD).mkdir(parents=True)
    for path in (folder / "fine.sqlite", folder / f"{BAD}.sqlite", folder / BAD / "x"):
        shutil.copyfile(CAPTURE, path)
    (folder / f"{BAD}.txt").write_text("notes")
    target = str(tmp_path / "store")
    done = cli("ingest", str(folder), "--store", target)
    assert done.code == 3
    assert [line.split("\t")[1] for line in done.out.splitlines()] == ["imported"]
    assert done.err.count("is not UTF-8") == 2
    one = cli("ingest", str(folder / f"{BAD}.sqlite"), "--store", target)
    assert one.code == 3
    assert "hint: Rename" in one.err


def test_a_store_is_refused(cli: Cli, tmp_path: Path) -> None:
    for args in (("ingest", str(CAPTURE)), ("runs",), ("query", "kernel_totals")):
        done = cli(*args, "--store", str(tmp_path / BAD))
        assert done.code == 1
        assert "the store's path is not UTF-8" in done.err
        assert "hint: Name another one" in done.err
    assert cli("doctor", "--store", str(tmp_path / BAD)).code in (0, 1)
    assert not (tmp_path / BAD).exists()
