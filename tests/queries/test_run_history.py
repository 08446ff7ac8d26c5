from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import duckdb
import pytest
from query_database import Database, empty


def _runs(db: Database, *runs: tuple[str, int | None, int, list[int]]) -> None:
    """Id, when it was recorded (s), when imported (s), length of each iteration."""
    for run_id, recorded, ingested, iterations in runs:
        row: dict[str, Any] = {"run_id": run_id, "first_ts_ns": 5, "span_ns": 1000}
        row["ingested_at"] = datetime.fromtimestamp(ingested, UTC)
        if recorded is not None:
            row["origin_unix_ns"] = recorded * 10**9
        db.insert("run", row)
        for number, length in enumerate(iterations):
            db.insert(
                "iteration",
                {
                    "run_id": run_id,
                    "ts_ns": 100 * number,
                    "dur_ns": length,
                    "source": "profiler_step",
                },
            )


def test_runs_stand_in_the_order_of_recording() -> None:
    db = empty()
    _runs(
        db,
        ("rb", 300, 900, [40, 60, 50]),
        ("ra", 100, 950, [25]),
        ("rc", None, 200, [10, 30]),  # imported between the two
        ("rd", 400, 901, []),
        ("re", 500, 902, [75]),
    )
    rows = db.ask("run_history")
    assert [(r["run_id"], r["ordinal"]) for r in rows] == [
        ("ra", 0),
        ("rc", 1),
        ("rb", 2),
        ("rd", 3),
        ("re", 4),
    ]
    assert [r["value"] for r in rows] == [25, 20, 50, None, 75]
    assert [r["change_pct"] for r in rows] == [None, -20, 150, None, 50]
    assert [r["change_from_first_pct"] for r in rows] == [0, -20, 100, None, 200]
    assert [r["recorded_at"] and r["recorded_at"].timestamp() for r in rows][1] is None


def test_any_figure_of_the_summary_and_no_other() -> None:
    db = empty()
    _runs(db, ("ra", 1, 1, []), ("rb", 2, 2, []))
    db.insert("kernel", {"run_id": "rb", "ts_ns": 5, "dur_ns": 250, "device_id": 0})
    shares = db.ask("run_history", metric="gpu_busy_pct")
    assert [row["value"] for row in shares] == [None, 25.0]
    counts = db.ask("run_history", metric="kernel_count")
    assert [row["value"] for row in counts] == [0, 1]
    # A change from nothing has no percentage.
    assert counts[1]["change_pct"] is None
    with pytest.raises(duckdb.InvalidInputException, match="metric must be a figure"):
        db.ask("run_history", metric="speed")
