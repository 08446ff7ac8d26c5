"""What the README says of the command line, and what it tells others to run."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import click
import duckdb
import pytest

import traceql
from traceql.cli.entry import root
from traceql.errors import ExitCode

from .conftest import FIRST, SECOND, Cli

CHECKOUT = Path(__file__).parents[2]
README = (CHECKOUT / "README.md").read_text()


def test_every_command_is_in_the_readme() -> None:
    table = README[README.index("| command |") : README.index("stdout carries")]
    names = set(root.list_commands(click.Context(root))) - {"completion"}
    assert set(re.findall(r"^\| `(\w+)", table, re.MULTILINE)) == names
    assert "traceql completion" in README


def test_every_exit_code_that_can_occur_is_in_the_readme() -> None:
    codes = set(map(int, re.findall(r"^\| (\d+) \|", README, re.MULTILINE)))
    assert codes == {int(code) for code in ExitCode} - {ExitCode.REGRESSION}


def test_the_readmes_duckdb_example_reads_a_store(
    store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path(store).rename(tmp_path / ".traceql")
    monkeypatch.chdir(tmp_path)
    (sql,) = re.findall(r"```sql\n(.*?)```", README, re.DOTALL)
    with duckdb.connect() as con:
        assert dict(con.execute(sql).fetchall()) == {FIRST: 4, SECOND: 6}


def test_the_readmes_python_works_as_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cli: Cli
) -> None:
    code = next(c for c in re.findall(r"```python\n(.*?)```", README, re.DOTALL))
    capture = CHECKOUT / "fixtures" / "nsight" / "nsight_2026.sqlite"
    (tmp_path / "train.sqlite").write_bytes(capture.read_bytes())
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TRACEQL_STORE", raising=False)
    names: dict[str, object] = {}
    exec(code, names)
    result = names["result"]
    assert isinstance(result, traceql.Result)
    assert 0 < len(result) <= 10


@pytest.mark.parametrize(
    ("module", "file"),
    [("traceql.schema", "schemas/README.md"), ("traceql.queries", "queries/README.md")],
)
def test_generated_documentation_is_fresh(module: str, file: str) -> None:
    made = subprocess.run(
        [sys.executable, "-m", module], capture_output=True, text=True, check=True
    )
    assert made.stderr == ""
    assert made.stdout
    written = (CHECKOUT / file).read_text()
    assert written == made.stdout, f"{file} is stale: make docs"
