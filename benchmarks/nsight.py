"""Nsight import, queries and report on a generated capture: `make bench`.

python -m benchmarks.nsight [--kernels N] [--big] [--folder DIR] [--repeats N]

Inputs are made once and kept. Every ratio is of two figures of the same run. --big
adds a file ten times the size with interleaved processes.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time
from multiprocessing import get_context
from pathlib import Path

import traceql
from benchmarks.measure import Cost, in_turn, median, run
from fixtures.scale import write_big_nsight
from traceql import queries

_TARGET = {1: 2.0, 2: 2.5}
# Scans answer in one pass over a table; all others order intervals first.
_SCANS = frozenset({"kernel_totals", "api_summary", "annotation_summary"})


def _input(folder: Path, kernels: int, processes: int) -> Path:
    path = folder / f"nsight-{kernels}-{processes}.sqlite"
    if not path.exists():
        print(f"making {path} ...", file=sys.stderr)
        write_big_nsight(path, kernels=kernels, processes=processes)
    return path


def _ingest(path: Path, store: Path, threads: int) -> tuple[str, ...]:
    code = (
        "import sys, traceql; "
        "store = traceql.open_store(sys.argv[2], create=True); "
        "(o,) = store.ingest(sys.argv[1], threads=int(sys.argv[3]), force=True); "
        "sys.exit(str(o.error) if o.error else 0)"
    )
    return ("-c", code, str(path), str(store), str(threads))


def _row(*cells: object) -> None:
    print("| " + " | ".join(map(str, cells)) + " |", flush=True)


def _head(*cells: str) -> None:
    print()
    _row(*cells)
    _row(*("---" for _ in cells))


def _cells(cost: Cost) -> tuple[str, str, str]:
    return (f"{cost.wall_s:.2f}", f"{cost.cpu_s:.2f}", f"{cost.peak_mb:.0f}")


def bench_import(path: Path, store: Path, repeats: int) -> None:
    """Import against the bare scan, on one thread and on two."""
    _head("import", "wall s", "cpu s", "peak MiB", "x bare scan", "target")
    for threads in (1, 2):
        bare, whole = in_turn(
            repeats,
            ("-m", "benchmarks.bare_scan", str(path), str(threads)),
            _ingest(path, store, threads),
        )
        _row(f"bare scan, {threads} thread(s)", *_cells(bare), 1, "")
        ratio = f"{whole.wall_s / bare.wall_s:.2f}"
        target = f"{_TARGET[threads]}, 1024 MiB"
        _row(f"import, {threads} thread(s)", *_cells(whole), ratio, target)


def bench_queries(store: Path) -> None:
    """Each query of the pack, in one session under its stated memory limit."""
    session = traceql.open_store(store).session()
    _head("query", "seconds", "rows", "target")
    for name, query in queries.discover().items():
        if query.private or name.endswith("_trace"):
            continue
        began = time.perf_counter()
        result = session.query(name)
        seconds = f"{time.perf_counter() - began:.2f}"
        _row(name, seconds, len(result), 1 if name in _SCANS else 3)


def bench_command_line(store: Path, repeats: int) -> None:
    """The report, and how fast the command answers at all."""
    with tempfile.TemporaryDirectory() as folder:
        html = str(Path(folder) / "report.html")
        report = (
            "-m",
            "traceql",
            "report",
            "--html",
            "--store",
            str(store),
            "-o",
            html,
        )
        run(*report)
        cost = median([run(*report) for _ in range(repeats)])
    nothing, version = in_turn(10, ("-c", "pass"), ("-m", "traceql", "--version"))
    _head("command", "wall s", "cpu s", "peak MiB", "target")
    _row("report --html", *_cells(cost), "6 s")
    _row("python -c pass", *_cells(nothing), "")
    ratio = version.wall_s / nothing.wall_s
    _row(f"--version ({ratio:.1f} x pass)", *_cells(version), "3 x pass")


def main() -> None:
    """Makes the inputs, measures, prints the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kernels", type=int, default=2_000_000)
    parser.add_argument("--big", action="store_true")
    parser.add_argument("--repeats", type=int, default=3)
    default = Path(os.environ.get("TRACEQL_BENCH", tempfile.gettempdir())) / "bench"
    parser.add_argument("--folder", type=Path, default=default)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    path = _input(options.folder, options.kernels, 1)
    size = path.stat().st_size / 1e6
    print(f"{options.kernels:,} kernels, {size:.0f} MB, {os.cpu_count()} cores")
    store = options.folder / "store"
    shutil.rmtree(store, ignore_errors=True)
    bench_import(path, store, options.repeats)
    # Apart: the peak of a process counts for the children that it starts later.
    queries_apart = get_context("spawn").Process(target=bench_queries, args=(store,))
    queries_apart.start()
    queries_apart.join()
    bench_command_line(store, options.repeats)
    if options.big:
        path = _input(options.folder, 10 * options.kernels, 4)
        print(f"\n{path.stat().st_size / 1e6:.0f} MB, four interleaved processes")
        bench_import(path, options.folder / "store-big", 1)
    shutil.rmtree(options.folder / "store-big", ignore_errors=True)
    shutil.rmtree(store, ignore_errors=True)


if __name__ == "__main__":
    main()
