"""Many importers at once, and importers that are killed."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import traceql

CHECKOUT = Path(__file__).parents[1]
FIXTURES = CHECKOUT / "fixtures" / "nsight"
_INGEST = (
    "import sys, traceql\n"
    "store = traceql.open_store(sys.argv[1], create=True)\n"
    "print('ready', flush=True)\n"
    "outcomes = store.ingest(*sys.argv[2:])\n"
    "sys.exit(any(o.error for o in outcomes))\n"
)
# Dies before or after the n-th part is written, whatever the machine's speed.
_DYING = (
    "import itertools, os, signal, sys, traceql\n"
    "from traceql.writer import Writer\n"
    "moments, write = itertools.count(), Writer.write\n"
    "def moment():\n"
    "    if next(moments) == int(sys.argv[3]):\n"
    "        os.kill(os.getpid(), signal.SIGKILL)\n"
    "def dying(*arguments, **options):\n"
    "    moment()\n"
    "    write(*arguments, **options)\n"
    "    moment()\n"
    "Writer.write = dying\n"
    "traceql.open_store(sys.argv[1], create=True).ingest(sys.argv[2])\n"
)
_KILLS = 20


def _importer(store: Path, *files: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", _INGEST, str(store), *map(str, files)],
        cwd=CHECKOUT,
        stdout=subprocess.PIPE,
        text=True,
    )


def _left(store: Path) -> list[str]:
    """Files that a reader of the store could take for data."""
    return sorted(
        str(p.relative_to(store))
        for folder in ("v1", "runs")
        for p in (store / folder).rglob("*")
        if p.is_file()
    )


def test_twelve_processes_two_files(tmp_path: Path) -> None:
    """Two runs, and nothing that they do not name."""
    files = [FIXTURES / "nsight_2022_4.sqlite", FIXTURES / "nsight_2026.sqlite"]
    processes = [
        _importer(tmp_path / "store", *(files if n % 2 else reversed(files)))
        for n in range(12)
    ]
    assert [p.wait(timeout=300) for p in processes] == [0] * 12
    store = traceql.open_store(tmp_path / "store")
    runs = store.runs()
    assert len(runs) == 2
    named = {f"runs/{r.run_id}.json" for r in runs}
    named |= {part.path for run in runs for part in run.files}
    assert set(_left(tmp_path / "store")) == named
    assert store.verify() == []
    assert list((tmp_path / "store" / ".staging").glob("*")) == []
    print("12 processes, 2 files: 2 runs, files beside them: 0")


def test_killed_at_twenty_moments(tmp_path: Path) -> None:
    """Dead before or after any step: no run, no file that a reader sees."""
    capture = FIXTURES / "nsight_2026.sqlite"
    store = tmp_path / "store"
    for moment in range(_KILLS):
        dead = subprocess.run(
            [sys.executable, "-c", _DYING, str(store), str(capture), str(moment)],
            cwd=CHECKOUT,
            check=False,
        )
        assert dead.returncode == -signal.SIGKILL, moment
        assert traceql.open_store(store).runs() == []
        assert _left(store) == []
    (outcome,) = traceql.open_store(store).ingest(capture)
    assert outcome.status == "imported"
    assert traceql.open_store(store).verify() == []
    print(f"imports killed: {_KILLS}, runs or files left: 0")
