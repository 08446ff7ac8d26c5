"""The frame of the command line: discovery, errors, exit codes, imports."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import click
import pytest

import traceql.cli
from traceql import __version__
from traceql.cli.entry import root
from traceql.cli.lazy import LazyGroup

from .conftest import Cli

HEAVY = ("duckdb", "pyarrow", "polars", "rich", "jinja2", "fsspec", "pandas")


def commands(
    group: LazyGroup, path: tuple[str, ...] = ()
) -> list[tuple[tuple[str, ...], click.Command]]:
    found: list[tuple[tuple[str, ...], click.Command]] = []
    ctx = click.Context(group)
    for name in group.list_commands(ctx):
        command = group.get_command(ctx, name)
        assert command is not None
        found.append(((*path, name), command))
        if isinstance(command, LazyGroup):
            found += commands(command, (*path, name))
    return found


ALL = commands(root)


def test_version_is_printed_without_click_or_anything_heavy() -> None:
    code = (
        "import sys; sys.argv = ['traceql', '--version']\n"
        "from traceql.cli import main; main()\n"
        f"print([m for m in {('click', *HEAVY)!r} if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout == f"traceql {__version__}\n[]\n"


def test_all_help_loads_nothing_heavy() -> None:
    code = (
        "import sys\n"
        "from traceql.cli.entry import run\n"
        f"for path in {[list(path) for path, _ in ALL]!r}: run([*path, '--help'])\n"
        f"print([m for m in {HEAVY!r} if m in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stderr == "[]\n"


def test_the_commands_are_those_of_the_design() -> None:
    names = {" ".join(path) for path, _ in ALL}
    assert {
        *("ingest", "sql", "shell", "report", "doctor", "completion"),
        *("runs", "runs list", "runs show", "runs tag", "runs delete"),
        *("query", "query list", "query show", "query run"),
        *("store", "store verify", "store vacuum"),
    } <= names


@pytest.mark.parametrize(("path", "command"), ALL, ids=str)
def test_every_command_and_option_says_what_it_does(
    path: tuple[str, ...], command: click.Command
) -> None:
    assert command.help, path
    assert not command.get_short_help_str().endswith("..."), path
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            assert parameter.help, (path, parameter.name)


def test_command_files_stay_short() -> None:
    folder = Path(traceql.cli.__file__).parent
    for path, command in ALL:
        if isinstance(command, LazyGroup):
            continue
        source = folder.joinpath(*path).with_suffix(".py").read_text()
        body = source[source.index("\ndef command(") :].splitlines()
        assert len(body) <= 40, path


@pytest.mark.parametrize(
    ("args", "expected", "hint"),
    [
        (["querry"], 2, "query"),
        (["runs", "--no-such"], 2, "--help"),
        (["store", "verfy"], 2, "verify"),
        (["runs", "list", "--format", "xlsx"], 2, "csv"),
        (["sql"], 2, "stdin"),
        (["query", "kernel_totals", "-p", "top"], 2, "key=value"),
    ],
)
def test_misuse_is_told_in_a_line_and_a_hint(
    cli: Cli, args: list[str], expected: int, hint: str
) -> None:
    done = cli(*args)
    assert done.code == expected
    assert done.out == ""
    assert done.err.startswith("traceql: error: ")
    assert hint in done.err


def test_no_arguments_are_a_question_for_help(cli: Cli) -> None:
    done = cli()
    assert done.code == 0
    assert "Commands:" in done.out
    assert cli("store").out.startswith("Usage: traceql store")


def test_no_store_is_exit_3_with_advice(cli: Cli, tmp_path: Path) -> None:
    done = cli("runs", "--store", str(tmp_path / "none"))
    assert done.code == 3
    assert "traceql ingest" in done.err
    assert not (tmp_path / "none").exists()


def test_a_defect_is_not_dressed_up_as_a_users_mistake(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(path: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("traceql.store.open_store", broken)
    with pytest.raises(ZeroDivisionError):
        cli("runs")


def test_an_interrupt_is_130(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(path: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("traceql.store.open_store", interrupted)
    done = cli("runs")
    assert (done.code, done.out) == (130, "")


def test_messages_carry_no_control_characters(cli: Cli, tmp_path: Path) -> None:
    done = cli("runs", "\x1b[31mred", "--store", str(tmp_path))
    assert "\x1b" not in done.err


def test_a_reader_that_leaves_is_no_traceback(store: str) -> None:
    command = (
        f"{sys.executable} -m traceql runs show raaaa --store '{store}' --format json"
        " | (exec 0<&-; sleep 1)"
    )
    done = subprocess.run(
        ["bash", "-c", command], capture_output=True, text=True, check=False
    )
    assert done.stderr == ""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_a_full_disk_is_told_in_a_line(store: str) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "traceql", "runs", "--store", store],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr == "traceql: error: cannot write: No space left on device\n"


def test_a_poor_encoding_is_no_traceback() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "traceql", "query", "show", "kernel_totals"],
        capture_output=True,
        check=False,
        env={**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"},
    )
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts(cli: Cli, shell: str) -> None:
    done = cli("completion", shell)
    assert done.code == 0
    assert "_TRACEQL_COMPLETE" in done.out


def completions(words: str, cwd: str) -> list[str]:
    environment = {
        **os.environ,
        "_TRACEQL_COMPLETE": "bash_complete",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split(" ")) - 1),
    }
    code = "import sys; sys.argv = ['traceql']; from traceql.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
        cwd=cwd,
    )
    assert done.stderr == ""
    return [line.partition(",")[2] for line in done.stdout.splitlines()]


def test_runs_commands_and_queries_complete(store: str, tmp_path: Path) -> None:
    Path(store).rename(tmp_path / ".traceql")
    here = str(tmp_path)
    assert completions("traceql ru", here) == ["runs"]
    assert "list" in completions("traceql query l", here)
    assert completions("traceql runs show ra", here) == ["raaaa00000000001"]
    assert completions("traceql sql --run base", here) == ["baseline"]
    assert "kernel_totals" in completions("traceql query run kern", here)
    assert "kernel_totals" in completions("traceql query kern", here)
    assert completions("traceql runs show ", "/") == ["@latest", "@prev", "all"]
