"""A store of two runs with hostile names, and the command line in this process."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pytest

from traceql.cli.entry import run
from traceql.diagnostics import Finding
from traceql.schema import load
from traceql.store import open_store

HOSTILE = "\x1b]0;owned\x07<b>[red]gemm\x9b31m"
FIRST, SECOND = "raaaa00000000001", "rbbbb00000000002"

_ROWS = {
    # Kernels one after the other, every second one with a hostile name.
    "kernel": """
        SELECT '' AS run_id, 1000 * n AS ts_ns, 100 + n AS dur_ns, n AS kernel_id,
            if(n % 2 = 1, $hostile, 'relu') AS name, 0 AS device_id
        FROM range($count) AS kernel (n)""",
    "run": """
        SELECT '' AS run_id, 0 AS first_ts_ns, 1000 * $count AS span_ns
        WHERE $hostile <> ''""",
}


def write_rows(table: str, count: int, path: Path) -> None:
    """Writes a part of `table` as the schema wants it."""
    with duckdb.connect() as con:
        load().create(con)
        rows = {"count": count, "hostile": HOSTILE}
        con.execute(f"INSERT INTO {table} BY NAME {_ROWS[table]}", rows)
        con.execute(f"COPY (SELECT * EXCLUDE run_id FROM {table}) TO '{path}'")


@pytest.fixture
def store(tmp_path: Path) -> str:
    """Path of a store: FIRST is labelled, SECOND is newer and has diagnostics."""
    made = open_store(tmp_path / "a store", create=True)
    for run_id, count, label in ((FIRST, 4, "baseline"), (SECOND, 6, None)):
        with made.stage(run_id) as staging:
            for table in _ROWS:
                write_rows(table, count, staging.part(table))
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
