"""What the source tool advised, in the report: quoted whole, and inert."""

from __future__ import annotations

import html
import re
from pathlib import Path

import traceql
from traceql.report import write_report

LONG = (
    "Consider using NVIDIA DALI, a library that is a high performance alternative to "
    "built-in data loaders and data iterators. Learn more here: <b>dali</b>"
)
REPORT = f'''\
Expert Systems Feedback
Problem,Recommendation
"No DALI ops detected","{LONG}"
"Only 0.0% of the time is on the GPU",""
'''


def test_advice_is_quoted_whole(tmp_path: Path) -> None:
    source = tmp_path / "dlprof_expert_systems.csv"
    source.write_text(REPORT)
    store = traceql.open_store(tmp_path / "store", create=True)
    (outcome,) = store.ingest(source)
    assert outcome.run is not None, outcome.error
    page = write_report(store, [outcome.run], tmp_path / "report.html").read_text()
    part = page.split('id="tool-advice">')[1]
    texts = re.findall(r'<span class="t prose">(.*?)</span>', part.split("</table>")[0])
    assert [html.unescape(text) for text in texts] == [
        *("No DALI ops detected", LONG, "–"),
        *("Only 0.0% of the time is on the GPU", "–", "–"),
    ]
    assert "<b>dali" not in page


def test_a_tool_that_gives_no_advice_lacks_none(pages: dict[str, Path]) -> None:
    text = pages["training"].read_text()
    assert 'id="diagnostics"' in text
    assert "tool-advice" not in text
    assert "#advice" not in text
