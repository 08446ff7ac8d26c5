"""A disk that fills up during an import: the store stays whole, the error says it."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import traceql

CHECKOUT = Path(__file__).parents[1]
CAPTURE = CHECKOUT / "fixtures" / "nsight" / "nsight_2026.sqlite"
SMALL = CHECKOUT / "fixtures" / "nsight" / "nsight_2020.sqlite"
IS_ROOT = os.geteuid() == 0


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 1 MiB in memory."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = (
        IS_ROOT
        and not subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(disk)],
            capture_output=True,
            check=False,
        ).returncode
    )
    if not mounted:
        pytest.skip("no file system can be mounted here")
    try:
        yield disk
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def _traceql(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "traceql", *arguments],
        cwd=CHECKOUT,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_store_whose_disk_is_full_keeps_its_runs(small_disk: Path) -> None:
    store = str(small_disk / "store")
    assert _traceql("ingest", str(SMALL), "--store", store).returncode == 0
    before = _traceql("runs", "--store", store, "--format", "csv").stdout
    filled = small_disk / "filler"
    tried = 0
    # Less and less is free, so that each of the import's steps meets the full disk.
    for free in (400_000, 250_000, 120_000, 60_000, 30_000, 12_000, 4_096, 0):
        left = os.statvfs(small_disk)
        filled.write_bytes(
            b"\0" * (left.f_bavail * left.f_frsize + _size(filled) - free - 4096)
        )
        done = _traceql("ingest", str(CAPTURE), "--store", store)
        tried += 1
        if done.returncode == 0:
            _traceql("runs", "delete", done.stdout.split("\t")[0], "--store", store)
            continue
        assert done.returncode == 1, done.stderr
        assert "Traceback" not in done.stderr
        assert "space" in done.stderr.lower(), done.stderr
        assert _traceql("runs", "--store", store, "--format", "csv").stdout == before
        kept = traceql.open_store(store)
        assert not kept.verify()
        staged = small_disk / "store" / ".staging"
        assert not staged.exists() or not any(staged.iterdir())
    print(f"imports onto a full disk: {tried}, runs lost: 0")
    filled.unlink()
    again = _traceql("ingest", str(CAPTURE), "--store", store)
    assert again.returncode == 0, again.stderr


def test_a_full_temporary_folder_is_named(small_disk: Path, tmp_path: Path) -> None:
    left = os.statvfs(small_disk)
    (small_disk / "filler").write_bytes(b"\0" * (left.f_bavail * left.f_frsize - 8192))
    packed = tmp_path / "packed.sqlite.gz"
    packed.write_bytes(gzip.compress(CAPTURE.read_bytes()))
    store = str(tmp_path / "store")
    done = _traceql("ingest", str(packed), "--store", store, TMPDIR=str(small_disk))
    assert done.returncode == 1, done.stderr
    assert "Traceback" not in done.stderr
    assert "TMPDIR" in done.stderr
    assert not list((tmp_path / "store" / "runs").glob("*.json"))
    assert [p.name for p in small_disk.iterdir()] == ["filler"]


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0
