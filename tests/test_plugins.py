"""What other packages and the environment add."""

from __future__ import annotations

from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from traceql import importers, plugins, queries
from traceql.errors import UsageError

_QUERY = """\
-- @title Runs
-- One row a run.
-- @column run_id id key The run.
-- @key run_id
-- @since 0.1
CREATE MACRO own_runs() AS TABLE
SELECT run_id FROM run ORDER BY run_id;
"""


def _entry(name: str, value: str, group: str) -> EntryPoint:
    return EntryPoint(name, value, group)


def test_queries_of_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """TRACEQL_QUERIES names folders as PATH does."""
    (tmp_path / "own_runs.sql").write_text(_QUERY)
    monkeypatch.setenv("TRACEQL_QUERIES", f":{tmp_path}:")
    assert queries.discover()["own_runs"].version == queries.USER


def test_queries_of_a_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A package that is a folder of queries joins the pack."""
    package = tmp_path / "house_queries"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "own_runs.sql").write_text(_QUERY)
    monkeypatch.syspath_prepend(tmp_path)
    entry = _entry("house", "house_queries", plugins.QUERIES)
    monkeypatch.setattr(
        plugins, "listed", lambda group: [entry] if group == plugins.QUERIES else []
    )
    assert "own_runs" in queries.discover()


def test_a_broken_plug_in_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that cannot be imported is the user's to mend, not a traceback."""
    entry = _entry("broken", "no_such_package:IMPORTER", plugins.IMPORTERS)
    monkeypatch.setattr(plugins, "listed", lambda group: [entry])
    with pytest.raises(UsageError, match="broken"):
        importers.registry()
