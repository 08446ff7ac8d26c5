"""Shared fixtures: the corpus of real captures, and stores."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import traceql

CHECKOUT = Path(__file__).parents[1]


@pytest.fixture(scope="session")
def corpus() -> Path:
    """The shared corpus; its absence skips a test, and fails it in CI."""
    named = os.environ.get("TRACEQL_CORPUS")
    path = Path(named) if named else CHECKOUT.parent / "shared" / "corpus"
    if not path.is_dir():
        message = f"no corpus at {path}; set TRACEQL_CORPUS"
        if os.environ.get("CI"):
            pytest.fail(message)
        pytest.skip(message)
    return path


@pytest.fixture
def store(tmp_path: Path) -> traceql.Store:
    """An empty store."""
    return traceql.open_store(tmp_path / "store", create=True)
