"""The list of nsys reports: what it names is there, and no report is missing."""

from __future__ import annotations

import re
import subprocess

import pytest

from traceql import queries, query_docs, schema

GRAPHICS = re.compile(r"vulkan|khr|opengl|dx1[12]|wddm")
CATALOG = queries.discover()
REPORTS = query_docs.nsys_reports()


def test_every_query_that_it_names_is_there() -> None:
    public = {query.name for query in CATALOG.values() if not query.private}
    tables = schema.load().tables
    assert len({(row["tool"], row["report"]) for row in REPORTS}) == len(REPORTS)
    for row in REPORTS:
        assert row["tool"] in ("stats", "analyze")
        assert row["how"] in ("same", "better", "different"), row
        assert row["ours"].split(), row
        assert row["why"].endswith("."), row
        for name in row["ours"].split():
            assert name in public or name in tables, name


def test_the_catalogue_shows_it() -> None:
    text = query_docs.catalogue_markdown(CATALOG)
    for row in REPORTS:
        assert f"| {row['tool']} | `{row['report']}` |" in text


@pytest.mark.parametrize(
    ("tool", "option"), [("stats", "--help-reports"), ("analyze", "--help-rules")]
)
def test_the_installed_nsys_has_no_other(nsys: str, tool: str, option: str) -> None:
    """Whatever its version calls them."""
    done = subprocess.run(
        [nsys, tool, option],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    names = set(
        re.findall(r"^  ([a-z0-9_-]+)(?:\[.*\])? -- ", done.stdout, re.MULTILINE)
    )
    assert len(names) > 4
    known = {
        name
        for row in REPORTS
        if row["tool"] == tool
        for name in (row["report"], row["formerly"])
    }
    assert {name for name in names if not GRAPHICS.search(name)} <= known
