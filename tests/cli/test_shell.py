"""`traceql shell` at a terminal: the DuckDB CLI and the built-in prompt."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pexpect
import pytest

from .conftest import FIRST

HERE = Path(sys.executable).parent
DUCKDB = shutil.which("duckdb", path=f"{HERE}{os.pathsep}{os.environ['PATH']}")
Spawn = Callable[..., "pexpect.spawn[str]"]


@pytest.fixture
def shell(store: str, tmp_path: Path) -> Iterator[Spawn]:
    """Starts `traceql shell` on a terminal; `cli` says whether duckdb is on PATH."""
    children: list[pexpect.spawn[str]] = []

    def start(*args: str, cli: bool = False) -> pexpect.spawn[str]:
        folders = [str(Path(DUCKDB or "").parent)] if cli else []
        child = pexpect.spawn(
            sys.executable,
            ["-m", "traceql", "shell", "--store", store, "--run", FIRST, *args],
            timeout=30,
            encoding="utf-8",
            dimensions=(50, 150),
            env={
                "PATH": os.pathsep.join([*folders, "/nowhere"]),
                "HOME": str(tmp_path),
                "TERM": "dumb",
                "NO_COLOR": "1",
            },
        )
        children.append(child)
        return child

    yield start
    for child in children:
        child.close(force=True)


def leave(child: pexpect.spawn[str]) -> int | None:
    child.expect(pexpect.EOF)
    child.close()
    status: int | None = child.exitstatus
    return status


def test_statements_dot_commands_and_errors(shell: Spawn) -> None:
    child = shell()
    child.expect("traceql> ")
    child.sendline("SELECT count(*)")
    child.expect(r"   \.\.\. ")
    child.sendline("AS kernels FROM kernel;")
    child.expect(r"kernels\s+─+\s+4\s")
    child.expect("traceql> ")
    child.sendline("SELECT nonsense;")
    child.expect("error: .*nonsense")
    child.expect("traceql> ")
    child.sendline("SELECT sum(kernel_count) AS n FROM kernel_totals();")
    child.expect(r"n\s+─+\s+4\s")
    child.sendline(".tables")
    child.expect("kernel ")
    child.expect("traceql> ")
    child.sendline(".queries")
    child.expect("kernel_totals")
    child.expect("traceql> ")
    child.sendline(".schema kernel")
    child.expect("dur_ns +BIGINT")
    child.expect("traceql> ")
    child.sendline(".schema kernel_totals")
    child.expect(r"total_ns \[ns\]")
    child.expect("traceql> ")
    child.sendline(".schema nothing")
    child.expect("error: ")
    child.expect("traceql> ")
    child.sendline(".nonsense")
    child.expect("unknown command")
    child.sendline(".help")
    child.expect(r"\.queries")
    child.sendline(".quit")
    assert leave(child) == 0


def test_ctrl_c_cancels_the_line_and_ctrl_d_leaves(shell: Spawn) -> None:
    child = shell()
    child.expect("traceql> ")
    child.sendline("SELECT wrong")
    child.expect(r"   \.\.\. ")
    child.sendintr()
    child.expect("traceql> ")
    child.sendline("SELECT 40 + 2 AS answer;")
    child.expect(r"answer\s+─+\s+42\s")
    child.expect("traceql> ")
    child.sendeof()
    assert leave(child) == 0


def test_a_running_statement_is_interrupted_and_the_prompt_goes_on(
    shell: Spawn,
) -> None:
    child = shell()
    child.expect("traceql> ")
    child.sendline(
        "SELECT sum(a.range * b.range) FROM range(10000000) a, range(1000000) b;"
    )
    child.expect("b;")
    with pytest.raises(pexpect.TIMEOUT):
        child.expect("traceql> ", timeout=1)
    child.sendintr()
    child.expect("traceql> ", timeout=20)
    child.sendline(".quit")
    assert leave(child) == 0


def test_a_semicolon_in_a_string_does_not_end_a_statement(shell: Spawn) -> None:
    child = shell()
    child.expect("traceql> ")
    child.sendline("SELECT 'a;")
    child.expect(r"   \.\.\. ")
    child.sendline("b' AS x;")
    child.expect(r"a;\\nb")
    child.sendline(".quit")
    assert leave(child) == 0


def test_history_lasts(shell: Spawn) -> None:
    pytest.importorskip("readline")
    child = shell()
    child.expect("traceql> ")
    child.sendline("SELECT 11 * 11 AS remembered;")
    child.expect("121")
    child.sendline(".quit")
    assert leave(child) == 0
    child = shell()
    child.expect("traceql> ")
    child.send("\x10\x10\n")  # Ctrl-P: the line before .quit
    child.expect("121")
    child.sendline(".quit")
    assert leave(child) == 0


def test_input_from_a_pipe_needs_no_terminal(store: str) -> None:
    done = subprocess.run(
        [
            *(sys.executable, "-m", "traceql", "shell", "--no-cli"),
            *("--store", store, "--run", FIRST),
        ],
        input="SELECT 6 * 7 AS answer;\nSELECT wrong;\nSELECT 5 AS last",
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0
    assert [w for w in done.stdout.split() if w.isalnum()] == [
        *("answer", "42", "last", "5")
    ]
    assert "traceql>" not in done.stdout + done.stderr
    assert "wrong" in done.stderr


needs_cli = pytest.mark.skipif(DUCKDB is None, reason="no duckdb CLI")


@needs_cli
def test_the_duckdb_cli_sees_tables_and_queries(shell: Spawn, tmp_path: Path) -> None:
    (tmp_path / ".duckdbrc").write_text("CREATE TABLE own AS SELECT 'mine' AS x;\n")
    child = shell("--threads", "1", cli=True)
    child.expect("D ")
    child.sendline(".mode csv")
    child.sendline("SELECT 'rows', count(*) FROM kernel;")
    child.expect("rows,4")
    child.sendline("SELECT 'sum', sum(kernel_count) FROM kernel_totals(top := 1);")
    child.expect("sum,2")
    child.sendline("SELECT 'pinned', count(*) FROM v1.kernel_totals();")
    child.expect("pinned,2")
    child.sendline("SELECT 'from rc', x FROM own;")
    child.expect("from rc,mine")
    child.sendline("SELECT 'threads', current_setting('threads');")
    child.expect("threads,1")
    child.sendline("SELECT 'auto', current_setting('autoinstall_known_extensions');")
    child.expect("auto,false")
    child.sendline(".exit 3")
    assert leave(child) == 3


@needs_cli
def test_the_duckdb_cli_gets_stdin_and_leaves_no_file(
    store: str, tmp_path: Path
) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    done = subprocess.run(
        [sys.executable, "-m", "traceql", "shell", "--store", store, "--run", FIRST],
        input=".mode csv\nSELECT count(*) AS n FROM kernel;\n",
        capture_output=True,
        text=True,
        check=False,
        env={
            "PATH": str(Path(DUCKDB or "").parent),
            "HOME": str(tmp_path),
            "TMPDIR": str(scratch),
        },
    )
    assert done.returncode == 0, done.stderr
    assert "4" in done.stdout.split()
    assert list(scratch.iterdir()) == []
