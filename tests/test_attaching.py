"""Sample logs beside a trace: what may be attached, and with which clock."""

from __future__ import annotations

from pathlib import Path

import pytest

import traceql
from traceql.attaching import offset_ns
from traceql.errors import ExitCode, NoSuchRun, UsageError
from traceql.ingest import Outcome

FIXTURES = Path(__file__).parents[1] / "fixtures"
# Its session began at 2026-01-05 08:00:00.123456789 UTC.
TRACE = FIXTURES / "nsight" / "nsight_2026.sqlite"
# The same run without its wall clock.
CLOCKLESS = FIXTURES / "nsight" / "nsight_2020.sqlite"
LOG = FIXTURES / "smi" / "query.csv"
LINKS = FIXTURES / "smi" / "topo.txt"


@pytest.fixture
def traced(store: traceql.Store) -> traceql.Store:
    """A store with a trace of a known wall clock, labelled trace."""
    store.ingest(TRACE, label="trace")
    return store


def _attach(store: traceql.Store, source: Path, **options: object) -> Outcome:
    (outcome,) = store.ingest(source, **{"attach": "trace", **options})
    return outcome


def _refused(outcome: Outcome) -> str:
    """The message and hint of a refusal, after which nothing of the log is there."""
    assert isinstance(outcome.error, UsageError)
    assert outcome.run is None
    return f"{outcome.error} | {outcome.error.hint}"


def _zoned(tmp_path: Path) -> Path:
    """A wrapper's log with a zone, one sample a second from 08:00:01 UTC."""
    path = tmp_path / "zoned.csv"
    path.write_text(
        "timestamp,gpu_index,gpu_util_pct,mem_used_mb,power_w\n"
        + "".join(
            f"2026-01-05T16:00:0{n}+08:00,0,{10 * n},500,70\n" for n in range(1, 4)
        )
    )
    return path


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        (0, 0),
        ("0", 0),
        ("-250", -250),
        ("+1.5s", 1_500_000_000),
        ("-250ms", -250_000_000),
        ("3us", 3_000),
        ("0.5 min", 30_000_000_000),
        ("-5.5h", -19_800_000_000_000),
    ],
)
def test_offsets(given: str | int, wanted: int) -> None:
    """Durations as people write them, to the nanosecond."""
    assert offset_ns(given) == wanted


@pytest.mark.parametrize("given", ["", "soon", "1.5", "1 day", "0.1ns", "9999999h"])
def test_what_is_no_offset(given: str) -> None:
    """Fractions of a nanosecond, unknown units, beyond 64 bits."""
    with pytest.raises(UsageError, match="no duration"):
        offset_ns(given)


def test_stated_offset_is_stored_and_times_stay(traced: traceql.Store) -> None:
    """The run has trace and offset; the samples are those of a plain import."""
    plain = traceql.open_store(Path(traced.path).parent / "plain", create=True)
    plain.ingest(LOG)
    outcome = _attach(traced, LOG, clock_offset="-1h")
    assert outcome.run is not None, outcome.error
    (row,) = traced.sql(
        "SELECT attached_to, clock_offset_ns FROM run", run=outcome.run.run_id
    ).rows()
    assert row == {
        "attached_to": traced.run("trace").run_id,
        "clock_offset_ns": -3_600_000_000_000,
    }
    text = "SELECT * EXCLUDE run_id FROM counter ORDER BY ALL"
    own = traced.sql(text, run=outcome.run.run_id).rows()
    assert own == plain.sql(text).rows()


def test_local_time_proves_nothing(traced: traceql.Store) -> None:
    """Without a zone the user has to say it; the refusal names the option."""
    said = _refused(_attach(traced, LOG))
    assert "no zone" in said
    assert "--clock-offset" in said
    assert len(traced.runs()) == 1


def test_two_wall_clocks_prove_it(traced: traceql.Store, tmp_path: Path) -> None:
    """A log with a zone beside a trace that says when it was needs no offset."""
    outcome = _attach(traced, _zoned(tmp_path))
    assert outcome.run is not None, outcome.error
    (row,) = traced.sql(
        "SELECT clock_offset_ns FROM run", run=outcome.run.run_id
    ).rows()
    assert row["clock_offset_ns"] == 0
    rows = traced.query(
        "smi_over_trace", run="trace", from_ns=0, to_ns=2_000_000_000
    ).rows()
    # 08:00:01 is 876,543,211 ns after the session began; the others are later than 2 s
    # or just at 1.876 s.
    assert {r["name"]: (r["first_ns"], r["last_ns"]) for r in rows}["gpu_util_pct"] == (
        876_543_211,
        1_876_543_211,
    )


def test_times_without_a_date(traced: traceql.Store, tmp_path: Path) -> None:
    """The day is not known: the offset is the place of the first sample."""
    log = tmp_path / "dmon.txt"
    log.write_text(
        "#Time        gpu   pwr\n#HH:MM:SS    Idx     W\n"
        " 08:00:01      0    40\n 08:00:02      0    41\n"
    )
    said = _refused(_attach(traced, log))
    assert "first sample" in said
    outcome = _attach(traced, log, clock_offset="-250ms")
    assert outcome.run is not None, outcome.error
    rows = traced.query(
        "smi_over_trace", run="trace", from_ns=-(10**9), to_ns=2 * 10**9
    ).rows()
    assert [(r["first_ns"], r["last_ns"]) for r in rows] == [
        (-250_000_000, 750_000_000)
    ]


@pytest.mark.parametrize(
    ("offset", "advice", "seconds"),
    [
        # The log is from 09:00:01 to 09:00:08, the trace 28.5 ms from 08:00:01.123.
        ("0", "check --clock-offset", ["3,600.877", "3,607.877", "1.000", "1.029"]),
        ("-1h", "log more often", ["0.877", "7.877", "1.000", "1.029"]),
    ],
)
def test_a_log_without_samples_in_the_trace(
    traced: traceql.Store, offset: str, advice: str, seconds: list[str]
) -> None:
    """Told when it is attached, with both windows, and by the empty answer."""
    outcome = _attach(traced, LOG, clock_offset=offset)
    (found,) = [f for f in outcome.findings if f.code == "attached_elsewhere"]
    assert (found.severity, advice in found.message) == ("warning", True)
    assert found.example is not None
    answer = traced.query("smi_over_trace", run="trace")
    assert answer.rows() == []
    for second in seconds:
        assert f" {second} s" in found.example
    assert found.example in (answer.note or "")
    assert found.message in (answer.note or "")


def test_a_log_with_samples_in_the_trace(traced: traceql.Store) -> None:
    """The first one does."""
    outcome = _attach(traced, LOG, clock_offset="-3599.85s")
    assert "attached_elsewhere" not in [f.code for f in outcome.findings]
    answer = traced.query("smi_over_trace", run="trace")
    assert {row["first_ns"] for row in answer.rows()} == {1_026_543_211}
    assert answer.note is None


def test_a_trace_without_wall_clock(store: traceql.Store, tmp_path: Path) -> None:
    """Then the offset is from the trace's origin to the log's first sample."""
    store.ingest(CLOCKLESS, label="trace")
    said = _refused(_attach(store, _zoned(tmp_path)))
    assert "--clock-offset" in said
    assert "first sample" in said
    outcome = _attach(store, _zoned(tmp_path), clock_offset="-250ms")
    assert outcome.run is not None, outcome.error
    rows = store.query("smi_over_trace", run="trace", from_ns=-(10**9), to_ns=10**9)
    assert {r["first_ns"] for r in rows.rows()} == {-250_000_000}


def test_what_cannot_be_attached(traced: traceql.Store, tmp_path: Path) -> None:
    """A trace, the trace itself, a log without times: refused, and nothing stays."""
    other = FIXTURES / "nsight" / "nsight_2022_4.sqlite"
    assert "a trace cannot be attached" in _refused(
        _attach(traced, other, clock_offset=0)
    )
    itself = _attach(traced, TRACE, clock_offset=0, force=True)
    assert "to itself" in _refused(itself)
    untimed = tmp_path / "dmon.txt"
    untimed.write_text(
        "# gpu   pwr    sm\n# Idx     W     %\n    0    40    50\n    0    41    51\n"
    )
    said = _refused(_attach(traced, untimed, clock_offset=0))
    assert "says no times" in said
    assert "-o DT" in said
    assert len(traced.runs()) == 1


def test_wrong_runs(traced: traceql.Store) -> None:
    """None, several, one that is itself attached; an offset that leads nowhere."""
    with pytest.raises(NoSuchRun):
        _attach(traced, LOG, attach="nobody", clock_offset=0)
    traced.ingest(CLOCKLESS)
    with pytest.raises(UsageError, match="names 2 runs"):
        _attach(traced, LOG, attach="all", clock_offset=0)
    with pytest.raises(UsageError, match="needs the run"):
        traced.ingest(LOG, clock_offset=0)
    first = _attach(traced, LOG, clock_offset=0)
    assert first.run is not None
    with pytest.raises(UsageError, match="itself attached"):
        _attach(traced, LINKS, attach=first.run.run_id)


def test_again_elsewhere(traced: traceql.Store) -> None:
    """What is present stays as it is, and says so; --force attaches it anew."""
    traced.ingest(CLOCKLESS, label="other")
    first = _attach(traced, LOG, clock_offset="-1h")
    same = _attach(traced, LOG, clock_offset="-3600s")
    assert (same.status, same.notes) == ("present", ["already present"])
    assert first.run is not None
    again = _attach(traced, LOG, attach="other", clock_offset=0)
    assert again.status == "present"
    assert "other options" in again.notes[0]
    assert traced.attached([traced.run("other")]) == []
    forced = _attach(traced, LOG, attach="other", clock_offset=0, force=True)
    assert forced.status == "imported"
    assert traced.attached([traced.run("trace")]) == []
    (log,) = traced.attached([traced.run("other")])
    assert log.run_id == first.run.run_id


def test_links_need_no_clock(traced: traceql.Store) -> None:
    """A matrix of links has no times."""
    outcome = _attach(traced, LINKS)
    assert outcome.run is not None, outcome.error
    (row,) = traced.sql(
        "SELECT attached_to, clock_offset_ns FROM run", run=outcome.run.run_id
    ).rows()
    assert row["attached_to"] == traced.run("trace").run_id
    assert row["clock_offset_ns"] is None


def test_the_command_line(
    traced: traceql.Store, capsys: pytest.CaptureFixture[str]
) -> None:
    """Offsets that begin with a minus, exit codes, and the trace brings its log."""
    from traceql.cli.entry import run

    where = ["--store", traced.path]
    assert run(["ingest", str(LOG), *where, "--attach", "no"]) == ExitCode.NOT_FOUND
    assert run(["ingest", str(LOG), *where, "--attach", "trace"]) == ExitCode.USAGE
    assert "--clock-offset" in capsys.readouterr().err
    said = ["--attach", "trace", "--clock-offset", "-1h"]
    assert run(["ingest", str(LOG), *where, *said]) == 0
    capsys.readouterr()
    query = ["query", "smi_over_trace", "--run", "trace", "-p", "to_ns=3000000000"]
    assert run([*query, *where, "--format", "csv"]) == 0
    assert "memory.used" in capsys.readouterr().out
