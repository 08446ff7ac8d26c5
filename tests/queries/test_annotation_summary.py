from __future__ import annotations

from typing import Any

import duckdb
import pytest
from query_database import empty


def note(ts: int, dur: int | None, name: str | None, **more: Any) -> dict[str, Any]:
    return {"ts_ns": ts, "dur_ns": dur, "name": name, "kind": "push_pop"} | more


def test_domains_kinds_marks_and_unfinished_ranges() -> None:
    db = empty()
    db.window(0, 100)
    db.insert(
        "annotation",
        note(0, 50, "a", domain="lib"),
        note(10, 10, "a"),
        note(20, None, "a", truncated=True),
        note(30, 20, "s", kind="start_end"),
        note(90, None, "m", kind="mark"),
        note(91, None, None, kind="mark", domain="lib"),
    )
    rows = db.ask("annotation_summary")
    assert [
        (r["kind"], r["name"], r["annotation_count"], r["total_ns"]) for r in rows
    ] == [
        ("push_pop", "a", 2, 10 + 91 - 20),
        ("push_pop", "lib:a", 1, 50),
        ("start_end", "s", 1, 20),
        ("mark", "lib:", 1, None),
        ("mark", "m", 1, None),
    ]
    assert [r["unfinished_count"] for r in rows] == [1, 0, 0, 0, 0]
    assert rows[0]["sum_pct"] == pytest.approx(100 * 81 / 151)
    (only,) = db.ask("annotation_summary", only_kind="start_end")
    assert (only["name"], only["sum_pct"]) == ("s", 100)
    with pytest.raises(duckdb.Error, match="only_kind must be"):
        db.ask("annotation_summary", only_kind="pushpop")
