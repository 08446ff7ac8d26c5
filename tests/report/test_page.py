"""The report as text: what it says, what it refuses, and that it is reproducible."""

from __future__ import annotations

import html
import json
import re
import sqlite3
import stat
from html.parser import HTMLParser
from pathlib import Path

import pytest

import traceql
from fixtures.dlprof_database import write_dlprof_database
from fixtures.make_fixtures import SINGLE
from fixtures.training_run import make_run
from traceql.errors import StoreError, UsageError
from traceql.report import findings, write_report
from traceql.report.sections import sections

PACK = (
    *("run_summary", "kernel_totals", "gpu_utilization", "stream_summary"),
    *("stream_overlap", "stream_concurrency", "memcpy_summary", "gpu_gaps"),
    *("memcpy_per_iteration", "iteration_timing", "api_summary", "launch_latency"),
    *("annotation_summary", "timeline_bins"),
)


class _Outline(HTMLParser):
    """Ids, link targets, and the text outside of scripts and styles."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.targets: list[str] = []
        self.tags: list[str] = []
        self.words: list[str] = []
        self._hidden = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self._hidden = tag in ("script", "style")
        for name, value in attrs:
            if name == "id":
                self.ids.append(str(value))
            elif name == "href":
                self.targets.append(str(value))
            assert not name.startswith("on"), (tag, name)
            assert name != "style", (tag, value)

    def handle_endtag(self, tag: str) -> None:
        self._hidden = False

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


def test_the_first_screen_says_what_limits_the_run(pages: dict[str, Path]) -> None:
    text = _Outline(pages["training"].read_text()).text
    top = text[: text.index("How these are found")]
    assert "NVIDIA H100 80GB HBM3" in top
    assert re.search(r"The GPUs are idle \d+ % of the iterations", top)
    assert "(host-bound)" in top
    assert re.search(r"Iteration 4 took \d\.\d× the median", top)
    assert "lost data" in top


def test_findings_stand_in_the_order_of_what_they_could_save(
    pages: dict[str, Path],
) -> None:
    text = pages["training"].read_text()
    savings = [float(ns) for ns in re.findall(r'<strong title="([\d.]+) ns">', text)]
    assert len(savings) >= 3
    assert savings == sorted(savings, reverse=True)


def test_every_query_of_the_pack_is_asked_and_its_sql_is_shown(
    pages: dict[str, Path],
) -> None:
    text = html.unescape(pages["training"].read_text())
    for name in PACK:
        assert f"FROM v1.{name}(" in text, name


def test_the_sql_of_every_figure_and_finding_runs_as_it_is_shown(
    reports: traceql.Store, pages: dict[str, Path]
) -> None:
    text = pages["training"].read_text()
    shown = [
        html.unescape(sql)
        for sql in re.findall(
            r"<pre tabindex=\"0\"><code>(.*?)</code></pre>", text, re.S
        )
    ]
    assert len(shown) > len(PACK)
    for sql in shown:
        assert reports.sql(sql, run="training").columns


def test_links_lead_somewhere_and_ids_are_unique(pages: dict[str, Path]) -> None:
    for page in pages.values():
        outline = _Outline(page.read_text())
        assert len(outline.ids) == len(set(outline.ids))
        for target in outline.targets:
            assert target.startswith("#"), target
            assert target[1:] in outline.ids, target


def test_every_section_says_how_to_read_it(pages: dict[str, Path]) -> None:
    outline = _Outline(pages["training"].read_text())
    for section in sections():
        if section.optional:
            continue
        assert section.id in outline.ids
        assert section.how in outline.text
    for rule in findings.rules():
        assert rule.section in outline.ids
        assert rule.threshold in outline.text


def test_a_run_without_gpu_work_says_so_and_how_to_record(
    pages: dict[str, Path],
) -> None:
    text = _Outline(pages["no-gpu"].read_text()).text
    assert "The capture holds no GPU work" in text
    assert "This capture holds no kernel" in text
    assert "nsys profile -t cuda,nvtx" in text


def test_several_runs_follow_one_another_under_a_comparison(
    pages: dict[str, Path],
) -> None:
    text = _Outline(pages["both"].read_text()).text
    assert "The runs side by side (2 rows)" in text
    assert "Iterations from run to run (2 rows)" in text
    first = text.index("What limits this run")
    assert first < text.rindex("What limits this run")
    # The run with GPU work has its own figures, and the other one its own note.
    assert "Iteration 4 took" in text
    assert "The capture holds no GPU work" in text


def test_hostile_names_stay_text(pages: dict[str, Path]) -> None:
    source = pages["hostile"].read_text()
    outline = _Outline(source)
    assert "window.owned=1" in outline.text
    assert "{{7*7}}" in outline.text
    assert "img" not in outline.tags
    assert outline.tags.count("b") == 0
    assert "\u2028" not in source
    assert "\u202e" not in source
    assert "\x1b" not in source


def test_data_in_scripts_is_json_without_html(pages: dict[str, Path]) -> None:
    source = pages["hostile"].read_text()
    blocks = re.findall(r'<script type="application/json"[^>]*>(.*?)</script>', source)
    assert blocks
    assert any("window.owned=1" in block for block in blocks)
    for block in blocks:
        assert not set("<>&\u2028\u2029") & set(block)
        json.loads(block)


def test_a_timeline_leaves_out_what_the_source_does_not_say(
    store: traceql.Store, tmp_path: Path
) -> None:
    """DLProf names no stream; without a key node no iteration, which begins at 0."""
    path = tmp_path / "dlprof_dldb.sqlite"
    write_dlprof_database(make_run(SINGLE), path)
    with sqlite3.connect(path) as con:
        con.execute("UPDATE iteration_list SET start_time = 0 WHERE iter_value = 0")
        con.execute("DELETE FROM iteration_list WHERE iter_value > 0")
        con.execute("DELETE FROM iteration_key")
    con.close()
    (outcome,) = store.ingest(path)
    assert outcome.run is not None, outcome.error
    [row] = store.sql("SELECT first_ts_ns, ts_ns FROM run, iteration").rows()
    assert row["ts_ns"] == 0 < row["first_ts_ns"]
    page = write_report(store, [outcome.run], tmp_path / "report.html").read_text()
    blocks = re.findall(r'<script type="application/json"[^>]*>(.*?)</script>', page)
    (drawn,) = [d for d in map(json.loads, blocks) if "lanes" in d]
    assert drawn["lanes"] == ["GPU 0", "GPU 1"]
    ((name, start, wall, _),) = drawn["steps"]
    assert (name, start) == ("iteration 0", 0)
    assert 0 < wall <= drawn["span"]
    assert drawn["focus"]["start"] >= 0


def test_the_same_store_gives_the_same_bytes(
    reports: traceql.Store, pages: dict[str, Path], tmp_path: Path
) -> None:
    again = write_report(reports, [reports.run("training")], tmp_path / "again.html")
    assert again.read_bytes() == pages["training"].read_bytes()


def test_the_report_is_small_and_asks_for_nothing(pages: dict[str, Path]) -> None:
    text = pages["training"].read_text()
    assert len(text) < 2_500_000
    assert "default-src 'none'" in text.replace("&#39;", "'")
    assert "unsafe" not in re.findall(r'content="(default-src[^"]*)"', text)[0]


def test_without_a_runtime_there_are_tables_and_no_charts(
    reports: traceql.Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("traceql.report.runtime.script", lambda: None)
    page = write_report(reports, [reports.run("training")], tmp_path / "plain.html")
    outline = _Outline(page.read_text())
    assert "vegaEmbed" not in page.read_text()
    assert outline.tags.count("table") > 8


def test_the_default_file_is_named_after_the_label(
    reports: traceql.Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run = next(r for r in reports.runs() if str(r.label).startswith("hostile"))
    path = write_report(reports, [run])
    assert path == Path("traceql-report-hostile-b-label-b.html")
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("where", ["missing/report.html", "."])
def test_a_path_that_cannot_be_written_is_refused(
    reports: traceql.Store, tmp_path: Path, where: str
) -> None:
    with pytest.raises(StoreError) as error:
        write_report(reports, [reports.run("training")], tmp_path / where)
    assert error.value.hint


def test_a_failure_leaves_the_old_report_and_no_draft(
    reports: traceql.Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "report.html"
    target.write_text("old")

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pathlib.Path.replace", fail)
    with pytest.raises(StoreError, match="No space left"):
        write_report(reports, [reports.run("training")], target)
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_a_report_has_the_rights_of_a_usual_file(
    reports: traceql.Store, tmp_path: Path
) -> None:
    usual = tmp_path / "usual"
    usual.touch()
    path = write_report(reports, [reports.run("no-gpu")], tmp_path / "report.html")
    assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE(usual.stat().st_mode)


def test_no_run_is_a_usage_error(reports: traceql.Store) -> None:
    with pytest.raises(UsageError):
        write_report(reports, [])
