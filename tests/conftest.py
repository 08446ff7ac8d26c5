"""Shared fixtures: the corpus of real captures, and stores."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from typing import NoReturn

import pytest

import traceql
from traceql.importers import _nsys

CHECKOUT = Path(__file__).parents[1]


@pytest.fixture(scope="session")
def corpus() -> Path:
    """The shared corpus; its absence skips a test, and fails it in CI."""
    named = os.environ.get("TRACEQL_CORPUS")
    path = Path(named) if named else CHECKOUT.parent / "shared" / "corpus"
    if not path.is_dir():
        absent(f"no corpus at {path}; set TRACEQL_CORPUS")
    return path


@pytest.fixture(scope="session")
def nsys() -> str:
    """The real nsys; its absence skips a test, and fails it in CI."""
    found = _nsys.installed()
    if not found:
        absent("no nsys; .ci/nsys installs it")
    return str(found[0].path)


@pytest.fixture(scope="session")
def nvtx() -> None:
    """Python's nvtx, for scripts that are traced; as `nsys`."""
    if importlib.util.find_spec("nvtx") is None:
        absent("no nvtx package; the extra dev has it")


def absent(what: str) -> NoReturn:
    """Ends a test that needs what this machine lacks: skipped, but failed in CI."""
    if os.environ.get("CI"):
        pytest.fail(what)
    pytest.skip(what)


@pytest.fixture
def store(tmp_path: Path) -> traceql.Store:
    """An empty store."""
    return traceql.open_store(tmp_path / "store", create=True)
