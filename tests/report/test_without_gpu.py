"""Reports of what holds no GPU work: no advice on recording what cannot be there."""

from __future__ import annotations

import json
import re
from pathlib import Path

import traceql

LOG = Path(__file__).parents[2] / "fixtures" / "smi" / "query.csv"


def _page(store: traceql.Store, source: Path, tmp_path: Path) -> str:
    (outcome,) = store.ingest(source)
    assert outcome.run is not None, outcome.error
    text = store.report(tmp_path / "report.html").read_text(encoding="utf-8")
    return text[text.index("<article") : text.index("</article>")]


def _headings(page: str) -> list[str]:
    return re.findall(r"<h2[^>]*>([^<]*)", page)


def test_a_log_of_samples(store: traceql.Store, tmp_path: Path) -> None:
    page = _page(store, LOG, tmp_path)
    headings = _headings(page)
    assert "Counters and unified memory" in headings
    assert not {"Kernels", "Timeline", "Iterations"} & set(headings)
    assert "Diagnostics" in headings
    assert "This capture holds no" not in page


def test_one_moment_of_samples(store: traceql.Store, tmp_path: Path) -> None:
    """A window that the schema gives 1 ns is no measured nanosecond."""
    lines = LOG.read_text().splitlines(keepends=True)
    one = tmp_path / "one.csv"
    one.write_text("".join(lines[:2]))
    page = _page(store, one, tmp_path)
    assert "<dt>Window</dt><dd>one moment</dd>" in page


def test_a_chrome_trace_with_stray_stamps(store: traceql.Store, tmp_path: Path) -> None:
    """Two events of a hundred lie two days off: the page says why it is so long."""
    trace = tmp_path / "trace.json"
    stamps = [*range(98), 2 * 86_400_000_000, 2 * 86_400_000_000 + 5]
    events = [
        {"ph": "X", "name": "work", "ts": at, "dur": 1, "pid": 1, "tid": 1}
        for at in stamps
    ]
    trace.write_text(json.dumps(events))
    page = _page(store, trace, tmp_path)
    assert "Kernels" not in _headings(page)
    assert "This capture holds no" not in page
    assert "A Chrome trace says nothing of GPUs" in page
    found = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", "", page))
    assert "Stamps of 2 events lie more than a day from most others" in found
