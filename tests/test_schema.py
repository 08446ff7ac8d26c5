"""The schema's DDL against what the design asks of it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from traceql import resources, schema
from traceql.schema_docs import schema_markdown

CHECKOUT = Path(__file__).parents[1]
TABLES = [
    "run",
    "device",
    "thread",
    "kernel",
    "memcpy",
    "memset",
    "graph_launch",
    "sync",
    "overhead",
    "api_call",
    "annotation",
    "op",
    "slice",
    "async_slice",
    "object_event",
    "sample",
    "page_fault",
    "iteration",
    "collective",
    "memory_event",
    "counter",
    "flow",
    "context",
    "topology",
    "advice",
    "diagnostic",
    # What a tool computed itself: totals that must not pose as events.
    "report_row",
]
TIMELESS = {
    *("run", "device", "thread", "context", "topology", "advice", "diagnostic"),
    "report_row",
}


def test_every_table_of_the_design() -> None:
    """All of them, and one file each."""
    assert sorted(schema.load().tables) == sorted(TABLES)
    beside = [f"attached_{n}" for n in ("counter", "device", "run", "topology")]
    assert sorted(schema.load().views) == [*beside, "gpu_op", "stream"]
    files = {p.stem for p in resources.schemas_dir().glob("*.sql")}
    assert files == {*TABLES, "views"}


def test_everything_has_a_comment() -> None:
    """Tables, views and columns say what they mean, in a sentence."""
    loaded = schema.load()
    for table in (*loaded.tables.values(), *loaded.views.values()):
        assert table.comment.endswith("."), table.name
        for column in table.columns:
            assert column.comment.endswith("."), (table.name, column.name)


@pytest.mark.parametrize("table", TABLES)
def test_run_first_then_time(table: str) -> None:
    """Every table has run_id; those of events have a time in integer ns."""
    columns = {c.name: c for c in schema.load().tables[table].columns}
    assert next(iter(columns)) == "run_id"
    assert not columns["run_id"].nullable
    for name, column in columns.items():
        if name.endswith("_ns"):
            assert column.type == "BIGINT", name
        assert re.fullmatch(r"[a-z][a-z0-9_]*", name)
    # A flow has the times of both its ends.
    if table not in TIMELESS | {"flow"}:
        assert not columns["ts_ns"].nullable


def test_ids_and_flags_are_never_null() -> None:
    """What identifies a row, and yes-or-no facts that the importer itself decides."""
    for table in schema.load().tables.values():
        for column in table.columns:
            if column.name == f"{table.name}_id" or column.name in (
                "truncated",
                "crossing",
            ):
                assert not column.nullable or table.name in ("device",), column


def test_the_generated_page_is_fresh() -> None:
    """schemas/README.md is what the DDL gives: `make docs` renews it."""
    page = (CHECKOUT / "schemas" / "README.md").read_text()
    assert page == schema_markdown(schema.load())
