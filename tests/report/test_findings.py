"""Findings: each rule has what the page needs, and says something where it should."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from jinja2 import Environment

import traceql
from traceql.report import findings, formats, page
from traceql.report.answers import Answers, Ask
from traceql.report.sections import sections
from traceql.session import open_session

SMI = Path(__file__).parents[2] / "fixtures" / "smi"


@pytest.fixture
def answers(reports: traceql.Store) -> Iterator[Answers]:
    """The answers about the training run."""
    run = reports.run("training")
    session = open_session(reports, [run])
    found = Answers(session)
    found.ask(page.questions().values())
    found.look_at(run)
    yield found
    session.con.close()


def _find(answers: Answers) -> dict[str, findings.Finding]:
    env = Environment(autoescape=True)
    env.filters.update(formats.FILTERS)
    found = findings.find(answers, page.questions(), env)
    return {finding.rule.name: finding for finding in found}


def test_every_rule_is_complete() -> None:
    names = {section.id for section in sections()}
    for rule in findings.rules():
        assert rule.kind in ("limit", "capture"), rule.name
        assert rule.section in names, rule.name
        assert rule.threshold, rule.name
        assert rule.says, rule.name
        assert set(rule.uses) <= set(page.questions()), rule.name
        assert rule.uses, rule.name


def test_the_training_run_is_host_bound(answers: Answers) -> None:
    found = _find(answers)
    idle = found["idle"]
    summary = answers.sql("FROM focus_summary").rows()[0]
    assert idle.saving_pct == pytest.approx(summary["idle_pct"])
    assert "(host-bound)" in idle.sentence
    assert "no_iterations" not in found
    assert "no_gpu_work" not in found


def test_the_slow_iteration_costs_what_it_took_beyond_the_median(
    answers: Answers,
) -> None:
    slow = _find(answers)["slow_iterations"]
    rows = answers.sql(
        "SELECT DISTINCT wall_ns - wall_ns / wall_to_median_ratio AS lost "
        "FROM iteration_timing WHERE is_outlier"
    ).rows()
    assert slow.saving_ns == pytest.approx(sum(row["lost"] for row in rows))
    assert slow.sentence.startswith("Iteration 4 took")


# What to change in the answers of the training run, and the rule that must notice.
CHANGES = {
    "no_gpu_work": (
        "UPDATE answer.run_summary SET kernel_count = 0, memcpy_count = 0, "
        "memset_count = 0, graph_launch_count = 0"
    ),
    "no_kernels": (
        "UPDATE answer.run_summary SET kernel_count = 0, graph_launch_count = 0"
    ),
    "no_iterations": "UPDATE answer.run_summary SET iteration_count = 0",
    "detected_iterations": (
        "INSERT INTO answer.iteration_detection BY NAME SELECT run_id, "
        "true AS is_detected, 0.9 AS confidence_share, 46 AS period_launch_count "
        "FROM answer.run_summary"
    ),
    "exposed_communication": (
        "UPDATE answer.focus_summary SET exposed_communication_pct = 12"
    ),
    "late_start": "UPDATE answer.stream_summary SET first_ns = first_ns + 20000000",
    "dominant_kernel": "UPDATE answer.kernel_totals SET sum_pct = 60",
    "imbalance": (
        "UPDATE answer.focus_utilization SET busy_union_ns = 5000000 "
        "WHERE device_id = 0"
    ),
    "memory_calls": (
        "UPDATE answer.focus_api SET name = 'cudaMalloc', total_ns = 9000000 "
        "WHERE api = 'cuda_runtime'"
    ),
    "nested_iterations": (
        "UPDATE answer.annotation_summary SET name = 'loop:iteration 1', "
        "annotation_count = 100"
    ),
    "outside_iterations": (
        "UPDATE answer.iteration_timing SET busy_union_ns = 10000000000 "
        "WHERE iteration IS NULL"
    ),
    "serial_streams": (
        "UPDATE answer.stream_concurrency SET time_ns = 0 WHERE busy_stream_count > 1; "
        "UPDATE answer.stream_summary SET kernel_count = 1"
    ),
    "sync_idle": (
        "UPDATE answer.sync_stalls SET gpu_idle_ns = 90000000 WHERE blocked_ns = "
        "(SELECT max(blocked_ns) FROM answer.sync_stalls)"
    ),
    "short_kernels": (
        "UPDATE answer.launch_latency SET kernel_median_ns = 1, api_median_ns = 1000000"
    ),
}


@pytest.mark.parametrize("rule", CHANGES)
def test_a_rule_speaks_when_its_threshold_is_passed(
    answers: Answers, rule: str
) -> None:
    for change in CHANGES[rule].split("; "):
        answers.sql(change)
    assert rule in _find(answers)


def test_what_is_detected_says_how_sure_it_is(answers: Answers) -> None:
    answers.sql(CHANGES["detected_iterations"])
    sentence = _find(answers)["detected_iterations"].sentence
    assert sentence.startswith("6 iterations are detected, confidence 0.90")
    assert "every 46." in sentence


def test_nothing_is_found_where_nothing_stands_out(answers: Answers) -> None:
    for table in page.questions():
        answers.sql(f"DELETE FROM answer.{table}")
    assert _find(answers) == {}


def test_foreign_names_in_sentences_are_escaped(answers: Answers) -> None:
    answers.sql("UPDATE answer.kernel_totals SET sum_pct = 60, short_name = '<b>&'")
    assert "<code>&lt;b&gt;&amp;</code>" in _find(answers)["dominant_kernel"].sentence


@pytest.mark.parametrize(
    ("ns", "text"),
    [
        (0, "0 ns"),
        (999, "999 ns"),
        (9_040_000, "9.04 ms"),
        (28_505_659, "28.5 ms"),
        (3.5e9, "3.5 s"),
        (-1500, "-1.5 µs"),
        (None, "unknown"),
    ],
)
def test_times_have_three_digits_and_a_unit(ns: float | None, text: str) -> None:
    assert formats.time(ns) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(38.2, "38 %"), (4.21, "4.2 %"), (0.01, "< 0.1 %"), (0, "0 %"), (99.96, "100 %")],
)
def test_percentages_have_two_digits(value: float, text: str) -> None:
    assert formats.percent(value) == text


def test_a_long_name_keeps_both_ends() -> None:
    name = "void at::native::" + "x" * 300 + "(int)"
    assert formats.cut(name).startswith("void at::native::")
    assert formats.cut(name).endswith("(int)")
    assert len(formats.cut(name)) < 70


def test_an_answer_is_asked_once(answers: Answers) -> None:
    tables = [ask.table for section in sections() for ask in section.asks]
    tables += [f.ask.table for section in sections() for f in section.figures]
    assert set(tables) == set(page.questions())
    for section in sections():
        for figure in section.figures:
            assert page.questions()[figure.ask.table] == figure.ask
    assert isinstance(page.questions()["run_summary"], Ask)


def test_a_log_of_samples_is_no_capture_without_work(tmp_path: Path) -> None:
    store = traceql.open_store(tmp_path / "store", create=True)
    (outcome,) = store.ingest(SMI / "query.csv")
    assert outcome.run is not None
    session = open_session(store, [outcome.run])
    log = Answers(session)
    log.ask(page.questions().values())
    log.look_at(outcome.run)
    found = _find(log)
    names = log.sql("SELECT count(DISTINCT name) AS names FROM counter").rows()
    session.con.close()
    assert "no_gpu_work" not in found
    assert f" {names[0]['names']} counters" in found["only_samples"].sentence
