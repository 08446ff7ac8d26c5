from __future__ import annotations

from query_database import Database, empty


def fill(db: Database) -> None:
    db.window(0, 100)
    db.insert("device", {"device_id": 0, "name": "A100"})
    db.insert(
        "kernel",
        {"ts_ns": 30, "dur_ns": 10, "name": "b", "device_id": 0, "kernel_id": 1},
        {"ts_ns": 10, "dur_ns": None, "name": "a", "device_id": 0, "kernel_id": 2},
        {"ts_ns": 50, "dur_ns": 5, "name": "c", "launch_ts_ns": 51, "kernel_id": 3},
    )
    copy = {"kind": "H2D", "bytes": 9, "src_memory": "pinned", "dst_memory": "device"}
    db.insert("memcpy", copy | {"ts_ns": 20, "dur_ns": 2, "memcpy_id": 11})
    db.insert("memcpy", copy | {"ts_ns": 21, "dur_ns": 0, "memcpy_id": 12})
    memset = {"ts_ns": 60, "dur_ns": 4, "bytes": 8, "memory_kind": "device"}
    db.insert("memset", memset | {"memset_id": 21})
    db.insert("graph_launch", {"ts_ns": 70, "dur_ns": 20, "graph_launch_id": 31})


def test_gpu_trace_lists_every_kind_in_time_order() -> None:
    db = empty()
    fill(db)
    rows = db.ask("gpu_trace")
    assert [(r["gpu_op_id"], r["op_kind"], r["name"]) for r in rows] == [
        (2, "kernel", "a"),
        (11, "memcpy", "memcpy H2D"),
        (12, "memcpy", "memcpy H2D"),
        (1, "kernel", "b"),
        (3, "kernel", "c"),
        (21, "memset", "memset"),
        (31, "graph", "CUDA graph "),
    ]
    assert [r["throughput_gb_per_s"] for r in rows] == [
        *(None, 4.5, None, None, None, 2, None),
    ]
    assert (rows[5]["src_memory"], rows[5]["dst_memory"]) == (None, "device")
    assert (rows[0]["device_name"], rows[4]["device_name"]) == ("A100", None)


def test_top_keeps_the_longest_in_time_order() -> None:
    db = empty()
    fill(db)
    assert [r["gpu_op_id"] for r in db.ask("gpu_trace", top=2)] == [1, 31]
    assert [r["kernel_id"] for r in db.ask("kernel_trace", top=2)] == [1, 3]


def test_a_range_and_a_pattern_choose() -> None:
    db = empty()
    fill(db)
    found = db.ask("gpu_trace", from_ns=20, to_ns=50)
    assert [r["gpu_op_id"] for r in found] == [11, 12, 1]
    found = db.ask("kernel_trace", from_ns=20, to_ns=51, name_pattern="[ac]")
    assert [(r["kernel_id"], r["launch_delay_ns"]) for r in found] == [(3, -1)]
