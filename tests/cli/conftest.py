"""A store of two runs with hostile names, and the command line in this process."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from traceql.cli.entry import run
from traceql.diagnostics import Finding
from traceql.schema import load
from traceql.store import open_store

HOSTILE = "\x1b]0;owned\x07<b>[red]gemm\x9b31m"
FIRST, SECOND = "raaaa00000000001", "rbbbb00000000002"

_ARROW = {
    "VARCHAR": pa.string(),
    "JSON": pa.string(),
    "BIGINT": pa.int64(),
    "INTEGER": pa.int32(),
    "DOUBLE": pa.float64(),
}


def kernels(count: int) -> pa.Table:
    """Kernels one after the other, every second one with a hostile name."""
    given = {
        "ts_ns": [1000 * n for n in range(count)],
        "dur_ns": [100 + n for n in range(count)],
        "kernel_id": list(range(count)),
        "name": [HOSTILE if n % 2 else "relu" for n in range(count)],
        "device_id": [0] * count,
    }
    columns = load().tables["kernel"].stored
    return pa.table(
        {
            c.name: pa.array(given.get(c.name, [None] * count), _ARROW[c.type])
            for c in columns
        }
    )


@pytest.fixture
def store(tmp_path: Path) -> str:
    """Path of a store: FIRST is labelled, SECOND is newer and has diagnostics."""
    made = open_store(tmp_path / "a store", create=True)
    for run_id, count, label in ((FIRST, 4, "baseline"), (SECOND, 6, None)):
        with made.stage(run_id) as staging:
            pq.write_table(kernels(count), staging.part("kernel"))
            staging.commit(
                importer={"name": "test", "version": "1"},
                source={"uri": f"/data/{HOSTILE}.sqlite", "sha256": "00", "bytes": 9},
                label=label,
                tags={"model": "m1"} if label else None,
                facts={"span_ns": 2_500_000, "devices": ["A100"], "tool": "nsys"},
                diagnostics=[
                    Finding("cut", "data_loss", 3, "The file is cut.", HOSTILE),
                    Finding("fine", "info", 9, "Nothing.", None),
                ],
            )
    return made.path


@dataclass(frozen=True)
class Done:
    """What a command line did."""

    code: int
    out: str
    err: str


Cli = Callable[..., Done]


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Cli:
    """Runs a command line in this process; `stdin` is its input."""

    def call(*args: str, stdin: str = "") -> Done:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
        code = run(list(args))
        captured = capsys.readouterr()
        return Done(int(code), captured.out, captured.err)

    return call
