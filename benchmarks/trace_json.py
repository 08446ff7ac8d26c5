"""Import of trace-event JSON: `python -m benchmarks.trace_json`.

python -m benchmarks.trace_json [--events N] [--big] [--folder DIR] [--repeats N]
    [--hta PYTHON]

Inputs look like the PyTorch profiler's, are made once and kept. Every ratio is of two
figures of the same run: against DuckDB's bare parse of the same events, of damaged
files against the clean one, and of HolisticTraceAnalysis, where it is installed (in
this Python or the one that --hta names), against the import of the same file. --big
adds a file of 18 M events, 4.5 GB.
"""

from __future__ import annotations

import argparse
import gzip
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from multiprocessing import get_context
from pathlib import Path

from benchmarks.measure import Cost, in_turn, run

_HEADER = (
    '{"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "NVIDIA H100"}], '
    '"displayTimeUnit": "ms", "baseTimeNanoseconds": 1719853884000000000,\n'
    '"traceEvents": [\n'
)
_TRAILER = '\n],\n"traceName": "bench.json"}\n'
_BIG = 18_000_000


def _events(count: int) -> Iterator[str]:
    """Operators, launches, kernels and their arrows, five events a launch."""
    chance = random.Random(1)
    now_ns = 1_000_000_000
    for number in range(1, count // 5 + 1):
        now_ns += chance.randint(5_000, 50_999)
        host = '"pid": 1234, "tid": 1234'
        op, kernel = chance.randint(0, 200), chance.randint(0, 60)
        yield (
            f'  {{"ph": "X", "cat": "cpu_op", "name": "aten::op_{op}", {host},\n'
            f'    "ts": {_us(now_ns)}, "dur": 4.500, "args": {{\n'
            f'      "External id": {number}, "Sequence number": {number}, '
            '"Input Dims": [[64, 3, 224, 224], [64, 3, 7, 7]], '
            f'"Input type": ["float", "float"], "Ev Idx": {number}\n    }}\n  }}'
        )
        yield (
            f'  {{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", {host},'
            f'\n    "ts": {_us(now_ns + 500)}, "dur": 3.000, "args": {{\n      '
            f'"External id": {number}, "cbid": 211, '
            f'"correlation": {number}\n    }}\n  }}'
        )
        yield (
            f'  {{"ph": "s", "id": {number}, {host}, "ts": {_us(now_ns + 500)},\n'
            '    "cat": "ac2g", "name": "ac2g"\n  }'
        )
        yield (
            '  {"ph": "X", "cat": "kernel", "name": "void at::native::'
            f"vectorized_elementwise_kernel<4, at::native::op_{kernel}<float>, "
            'at::detail::Array<char*, 3> >(int, float)", "pid": 0, "tid": 7,\n'
            f'    "ts": {_us(now_ns + 9_000)}, "dur": 4.100, "args": {{\n      '
            f'"External id": {number}, "queued": 0, "device": 0, "context": 1, '
            f'"stream": 7, "correlation": {number}, "registers per thread": 32, '
            '"shared memory": 0, "blocks per SM": 1.5, "warps per SM": 6.0, '
            '"grid": [256, 1, 1], "block": [128, 1, 1], '
            '"est. achieved occupancy %": 75\n    }\n  }'
        )
        yield (
            f'  {{"ph": "f", "id": {number}, "pid": 0, "tid": 7, '
            f'"ts": {_us(now_ns + 9_000)},\n'
            '    "cat": "ac2g", "name": "ac2g", "bp": "e"\n  }'
        )


def _us(ns: int) -> str:
    return f"{ns // 1000}.{ns % 1000:03d}"


def _input(folder: Path, events: int) -> Path:
    path = folder / f"trace-{events}.json"
    if not path.exists():
        print(f"making {path} ...", file=sys.stderr)
        with path.open("w") as file:
            file.write(_HEADER)
            for number, event in enumerate(_events(events)):
                file.write(event if number == 0 else ",\n" + event)
            file.write(_TRAILER)
    return path


def _variant(path: Path, name: str) -> Path:
    target = path.with_name(f"{path.stem}-{name}")
    if not target.exists():
        # Apart: the peak of a process counts for the children that it starts later.
        apart = get_context("spawn").Process(target=_make, args=(path, target, name))
        apart.start()
        apart.join()
    return target


def _make(path: Path, target: Path, name: str) -> None:
    target.write_bytes(_DAMAGE[name][0](path.read_bytes()))


def _one_hole(data: bytes) -> bytes:
    place = data.index(b'"ph": "X"', len(data) // 2)
    return data[:place] + b'"ph" "X' + data[place + 9 :]


_DAMAGE: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "cut.json": (lambda data: data[:-1000], "2"),
    "hole.json": (_one_hole, ""),
    "backslashes.json": (
        lambda data: data.replace(b'"name": "', b'"name": "C:\\q'),
        "10",
    ),
    "words.json": (
        lambda data: data.replace(b'"External id": ', b'"q": N/A, "External id": '),
        "10",
    ),
    "packed.json.gz": (lambda data: gzip.compress(data, 1), ""),
}


def _ingest(path: Path, store: Path) -> tuple[str, ...]:
    code = (
        "import sys, traceql; "
        "store = traceql.open_store(sys.argv[2], create=True); "
        "(o,) = store.ingest(sys.argv[1], threads=2, force=True); "
        "sys.exit(str(o.error) if o.error else 0)"
    )
    return ("-c", code, str(path), str(store))


_HTA = (
    "import sys; from hta.common.trace import Trace; "
    "trace = Trace(trace_files={0: sys.argv[1]}, trace_dir=''); "
    "trace.parse_traces(use_multiprocessing=False); "
    "trace.decode_symbol_ids(use_shorten_name=False); trace.get_trace(0)"
)


def _peer(path: Path, whole: Cost, python: str) -> None:
    """What the peer takes to load the same file, if that Python has it."""
    probe = [python, "-c", "import hta"]
    if subprocess.run(probe, capture_output=True, check=False).returncode != 0:
        return
    peer = run("-c", _HTA, str(path), python=python)
    ratio = f"{peer.wall_s / whole.wall_s:.2f} x import"
    _row(
        "HolisticTraceAnalysis",
        peer,
        f"{ratio}, cpu {peer.cpu_s / whole.cpu_s:.2f}",
        "4",
    )


def _row(name: str, cost: Cost, ratio: str, target: str) -> None:
    wall, cpu = f"{cost.wall_s:.2f}", f"{cost.cpu_s:.2f}"
    print(f"| {name} | {wall} | {cpu} | {cost.peak_mb:.0f} | {ratio} | {target} |")


def bench(path: Path, store: Path, repeats: int, target: str) -> Cost:
    """Import against the bare parse."""
    bare, whole = in_turn(
        repeats, ("-m", "benchmarks.bare_json", str(path), "2"), _ingest(path, store)
    )
    size = f"{path.stat().st_size / 1e6:.0f} MB"
    _row(f"bare parse, {size}", bare, "1", "")
    ratio = (
        f"{whole.wall_s / bare.wall_s:.2f} x bare, cpu {whole.cpu_s / bare.cpu_s:.2f}"
    )
    _row(f"import, {size}", whole, ratio, f"{target}, 1024 MiB")
    return whole


def main() -> None:
    """Makes the inputs, measures, prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=1_500_000)
    parser.add_argument("--big", action="store_true")
    parser.add_argument("--repeats", type=int, default=3)
    default = Path(os.environ.get("TRACEQL_BENCH", tempfile.gettempdir())) / "bench"
    parser.add_argument("--folder", type=Path, default=default)
    parser.add_argument("--hta", default=sys.executable)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    store = options.folder / "store-json"
    path = _input(options.folder, options.events)
    print(f"{options.events:,} events, {os.cpu_count()} cores\n")
    print("| import | wall s | cpu s | peak MiB | ratio | target |")
    print("|---|---|---|---|---|---|")
    clean = bench(path, store, options.repeats, "4")
    _peer(path, clean, options.hta)
    for name, (_, target) in _DAMAGE.items():
        (cost,) = in_turn(1, _ingest(_variant(path, name), store))
        ratio = f"{cost.wall_s / clean.wall_s:.2f} x clean"
        _row(name, cost, f"{ratio}, cpu {cost.cpu_s / clean.cpu_s:.2f}", target)
    if options.big:
        bench(_input(options.folder, _BIG), store, 1, "7")
    shutil.rmtree(store, ignore_errors=True)


if __name__ == "__main__":
    main()
