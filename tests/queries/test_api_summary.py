from __future__ import annotations

from typing import Any

from query_database import empty


def call(api: str, name: str, dur: int, result: int | None = 0) -> dict[str, Any]:
    return {"ts_ns": 0, "dur_ns": dur, "api": api, "name": name, "result": result}


def test_runtime_and_driver_share_a_sum_and_osrt_has_its_own() -> None:
    db = empty()
    db.window(0, 100)
    db.insert(
        "api_call",
        call("cuda_runtime", "cudaMalloc", 60),
        call("cuda_runtime", "cudaMalloc", 20, 2),
        call("cuda_driver", "cuMemAlloc_v2", 20),
        call("osrt", "poll", 500, -1),
        call("osrt", "read", 500, -1),
        call("cudnn", "cudnnCreate", 7, None),
    )
    rows = db.ask("api_summary")
    assert [(r["api_group"], r["api"], r["name"], r["sum_pct"]) for r in rows] == [
        ("cuda", "cuda_runtime", "cudaMalloc", 80),
        ("cuda", "cuda_driver", "cuMemAlloc_v2", 20),
        ("cudnn", "cudnn", "cudnnCreate", 100),
        ("osrt", "osrt", "poll", 50),
        ("osrt", "osrt", "read", 50),
    ]
    assert [r["failed_count"] for r in rows] == [1, 0, None, None, None]
    names = [r["name"] for r in db.ask("api_summary", only_api="cuda_driver")]
    assert names == ["cuMemAlloc_v2"]
    (driver,) = db.ask("api_summary", only_api="cuda_driver")
    assert driver["sum_pct"] == 20
    assert [r["name"] for r in db.ask("api_summary", only_api="osrt", top=1)] == [
        "poll"
    ]
