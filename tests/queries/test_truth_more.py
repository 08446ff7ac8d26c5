"""Launching threads, the tree of annotations and counters against the plan's truth."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import traceql
from traceql.session import Session

FIXTURES = Path(__file__).parents[2] / "fixtures" / "nsight"


@pytest.fixture(scope="module")
def answers(
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[Session, dict[str, Any]]:
    """A capture without graphs traced as a whole: the truth counts none."""
    store = traceql.open_store(tmp_path_factory.mktemp("store"), create=True)
    store.ingest(FIXTURES / "nsight_2022_4.sqlite")
    return store.session(), json.loads((FIXTURES / "truth.json").read_text())


def test_launch_threads(answers: tuple[Session, dict[str, Any]]) -> None:
    session, truth = answers
    rows = session.query("launch_threads", {}).rows()
    assert {
        (r["tid"], r["device_id"]): r["launch_count"]
        for r in rows
        if r["tid"] is not None
    } == {(t["thread"], t["device"]): t["launches"] for t in truth["launch_threads"]}
    orphans = sum(r["gpu_op_count"] for r in rows if r["tid"] is None)
    assert orphans == truth["launches"]["orphan_ops"]


def test_annotation_tree(answers: tuple[Session, dict[str, Any]]) -> None:
    """Depths by name: how many ranges stand at each."""
    session, truth = answers
    found: dict[str, Counter[str]] = {}
    for row in session.query("annotation_tree", {}).rows():
        name = row["name"].split(":", 1)[-1]
        found.setdefault(name, Counter())[str(row["depth"])] += 1
    wanted: dict[str, Counter[str]] = {}
    for t in truth["annotations"]:
        if t["kind"] == "push_pop":
            name = t["name"].split(":", 1)[-1]
            wanted.setdefault(name, Counter()).update(t["depths"])
    assert found == wanted


def test_counters(answers: tuple[Session, dict[str, Any]]) -> None:
    """All samples; some lie before the capture and after it."""
    session, truth = answers
    wide = {"from_ns": -(10**12), "to_ns": 10**12}
    rows = session.query("counter_summary", wide).rows()
    inside = session.query("counter_summary", {}).rows()
    every = sum(t["count"] for t in truth["metrics"])
    assert 0 < sum(r["sample_count"] for r in inside) < every
    origin = session.sql("SELECT source_origin_ns AS o FROM run").rows()[0]["o"]
    wanted = truth["metrics"]
    assert len(rows) == len(wanted)
    for row in rows:
        (t,) = (
            t
            for t in wanted
            if t["device"] == row["device_id"] and row["name"].startswith(t["name"])
        )
        assert (row["min_value"], row["max_value"]) == (t["min"], t["max"])
        assert row["mean_value"] * row["sample_count"] == pytest.approx(t["sum"])
        assert row["sample_count"] == t["count"]
        assert row["first_ns"] + origin == t["first_ns"]
