"""Captures that the real nsys makes here, against what the traced script did.

A report holds the environment, the host's name and the process list of its machine:
these are made with almost no environment, in a temporary folder, and go with it.
"""

from __future__ import annotations

import html
import json
import platform
import re
import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import traceql
from traceql import schema
from traceql.importers import _nsys
from traceql.report import write_report
from traceql.session import Session

# Two children beside the parent; each says what it did and how long it took.
_SCRIPT = """
import json, os, subprocess, sys, threading, time
import nvtx

role, count, log = sys.argv[1], int(sys.argv[2]), sys.argv[3]
children = [
    subprocess.Popen([sys.executable, __file__, "child", str(n), log])
    for n in (2, 3)
    if role == "parent"
]
rounds = []
for i in range(count):
    before = time.monotonic_ns()
    with nvtx.annotate("round", domain="training"):
        begun = time.monotonic_ns()
        with nvtx.annotate(f"inner {i}"):
            time.sleep(0.004)
        ended = time.monotonic_ns()
    rounds.append([ended - begun, time.monotonic_ns() - before])
nvtx.mark("marked", domain="training")
for child in children:
    child.wait()
did = {"role": role, "pid": os.getpid(), "tid": threading.get_native_id()}
with open(f"{log}/{os.getpid()}.json", "w") as file:
    json.dump(did | {"rounds": rounds}, file)
if role == "parent":
    nvtx.push_range("never popped")
    nvtx.start_range("never ended")
    nvtx.end_range(nvtx.start_range("ended"))
"""
_SECRETS = {"TOKEN": "s3cr3t-of-the-environment", "LOGNAME": "the-user-himself"}
_ARGUMENT = "--password=s3cr3t-of-the-command"


@dataclass(frozen=True)
class Captured:
    """A capture, what its processes say they did, and its import."""

    report: Path
    did: list[dict[str, Any]]
    store: traceql.Store
    session: Session

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        return self.session.con.execute(sql).fetchall()


def profile(nsys: str, folder: Path, *script: str) -> Path:
    """Runs a Python script under nsys, with the secrets as its environment."""
    scratch = folder / "nsys"
    scratch.mkdir()
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(scratch)} | _SECRETS
    subprocess.run(
        [
            *(nsys, "profile", "--trace=nvtx,osrt", "--sample=none"),
            *("--cpuctxsw=none", "--output", str(folder / "report")),
            *(sys.executable, *script),
        ],
        env=environment | {"TMPDIR": str(scratch)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=300,
        check=True,
    )
    (report,) = folder.glob("report.*rep")
    return report


@pytest.fixture(scope="module")
def captured(
    nsys: str, nvtx: None, tmp_path_factory: pytest.TempPathFactory
) -> Captured:
    folder = tmp_path_factory.mktemp("captured")
    script, log = folder / "traced.py", folder / "log"
    script.write_text(_SCRIPT)
    log.mkdir()
    report = profile(nsys, folder, str(script), "parent", "4", str(log), _ARGUMENT)
    store = traceql.open_store(folder / "store", create=True)
    (outcome,) = store.ingest(report)
    assert outcome.error is None
    did = [json.loads(path.read_text()) for path in log.iterdir()]
    assert sorted(len(process["rounds"]) for process in did) == [2, 3, 4]
    return Captured(report, did, store, store.session())


def test_ranges_of_each_process(captured: Captured) -> None:
    """Each range is there, under its process and thread, and took what it took."""
    for process in captured.did:
        own = f"pid = {process['pid']} AND tid = {process['tid']}"
        rounds = captured.rows(
            "SELECT dur_ns, depth, parent_id, crossing, truncated FROM annotation "
            f"WHERE {own} AND name = 'round' AND domain = 'training' ORDER BY ts_ns"
        )
        assert len(rounds) == len(process["rounds"])
        for (dur_ns, *rest), (within, around) in zip(
            rounds, process["rounds"], strict=True
        ):
            # The two clocks are one, read a moment apart.
            assert within - 1000 <= dur_ns <= around + 1000
            assert rest == [0, None, False, False]
        inner = captured.rows(
            "SELECT i.name, i.depth, i.domain, r.name FROM annotation AS i "
            "JOIN annotation AS r ON r.annotation_id = i.parent_id "
            f"WHERE i.{own.replace('AND ', 'AND i.')} ORDER BY i.ts_ns"
        )
        assert inner == [
            (f"inner {i}", 1, None, "round") for i in range(len(process["rounds"]))
        ]
        marks = f"FROM annotation WHERE {own} AND kind = 'mark'"
        assert captured.rows(f"SELECT name, domain, dur_ns {marks}") == [
            ("marked", "training", None)
        ]


def test_nothing_beside_what_was_drawn(captured: Captured) -> None:
    drawn = sum(2 * len(process["rounds"]) + 1 for process in captured.did) + 3
    assert captured.rows("SELECT count(*) FROM annotation") == [(drawn,)]


def test_unfinished_ranges(captured: Captured) -> None:
    """They last until the capture's end, and say that this is not their own."""
    found = captured.rows(
        "SELECT name, kind, ts_ns + dur_ns, truncated FROM annotation "
        "WHERE name LIKE 'never %' OR name = 'ended' ORDER BY name"
    )
    assert [(name, kind, cut) for name, kind, _, cut in found] == [
        ("ended", "start_end", False),
        ("never ended", "start_end", True),
        ("never popped", "push_pop", True),
    ]
    ((last,),) = captured.rows("SELECT max(ts_ns + coalesce(dur_ns, 0)) FROM api_call")
    ends = {end for name, _, end, _ in found if name != "ended"}
    assert len(ends) == 1 and ends.pop() >= last
    assert captured.rows("SELECT count(*) FROM annotation WHERE truncated") == [(2,)]


def test_calls_of_the_system(captured: Captured) -> None:
    """One sleep a round, in its process, for no less than it was asked to sleep."""
    for process in captured.did:
        slept = captured.rows(
            "SELECT dur_ns FROM api_call WHERE api = 'osrt' AND name LIKE '%nanosleep' "
            f"AND pid = {process['pid']} AND tid = {process['tid']}"
        )
        assert len(slept) == len(process["rounds"])
        assert min(dur_ns for (dur_ns,) in slept) >= 3_900_000


def test_annotation_summary(captured: Captured) -> None:
    """The answer is the sum of what the processes did."""
    rows = captured.store.query("annotation_summary", only_kind="push_pop").rows()
    (rounds,) = [row for row in rows if row["name"].endswith("round")]
    did = [each for process in captured.did for each in process["rounds"]]
    assert rounds["annotation_count"] == len(did) == 9
    assert sum(d[0] for d in did) - 9000 <= rounds["total_ns"]
    assert rounds["total_ns"] <= sum(d[1] for d in did) + 9000


def test_the_run_is_that_of_the_export(
    captured: Captured, nsys: str, tmp_path: Path
) -> None:
    """What a user exports himself gives the same rows."""
    export = tmp_path / "own.sqlite"
    subprocess.run(
        [
            *(nsys, "export", "--type", "sqlite"),
            *("--output", str(export), str(captured.report)),
        ],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=True,
        timeout=300,
    )
    own = traceql.open_store(tmp_path / "store", create=True)
    (outcome,) = own.ingest(export)
    assert outcome.run is not None
    session = own.session()
    for table in ("annotation", "api_call", "thread", "overhead"):
        query = f"SELECT * EXCLUDE run_id FROM {table} ORDER BY ALL"
        theirs = session.con.execute(query).fetchall()
        assert captured.rows(query) == theirs, table


# Where the exports of two nsys differ, a generation apart: that of 2020 says what the
# GPUs are; that of 2022 where they are, who launched, and when the session began.
_ONE_SIDED = {
    ("device", column)
    for column in (
        *("bus", "sm_count", "memory_bytes", "compute_major", "compute_minor"),
        *("max_warps_per_sm", "max_threads_per_sm", "threads_per_warp"),
        "core_clock_hz",
    )
} | {
    ("thread", "process_name"),
    ("run", "source_schema_version"),
    ("run", "origin_unix_ns"),
}
# What names the source, and what says where a fact comes from.
_OWN = {"run_id", "extra", "clock", "format", "importer", "ingested_at"}


@pytest.mark.corpus
def test_report_equals_its_sqlite_sibling(
    corpus: Path, nsys: str, store: traceql.Store
) -> None:
    """Table by table; a value may differ only where one export does not know it."""
    names = ("quasiben-cudf.sqlite", "quasiben-cudf.qdrep")
    outcomes = store.ingest(*(corpus / "nsys" / name for name in names))
    runs = [outcome.run for outcome in outcomes if outcome.run]
    counted = 0
    for table in sorted(schema.load().tables.keys() - {"diagnostic"}):
        columns = [c.name for c in schema.load().tables[table].columns]
        kept = [c for c in columns if c not in _OWN and not c.startswith("source_by")]
        kept = [c for c in kept if c not in ("source_uri", "source_sha256")]
        keys = [c for c in kept if (table, c) not in _ONE_SIDED]
        select = f"SELECT {', '.join(kept)} FROM {table} ORDER BY {', '.join(keys)}"
        sibling, report = (
            store.session(run.run_id).con.execute(select).fetchall() for run in runs
        )
        assert len(report) == len(sibling), table
        for ours, theirs in zip(report, sibling, strict=True):
            for column, one, other in zip(kept, ours, theirs, strict=True):
                if (table, column) not in _ONE_SIDED or None not in (one, other):
                    assert one == other, (table, column)
        counted += len(report)
    assert counted > 7000


@pytest.mark.corpus
def test_report_that_is_newer_than_this_nsys(
    corpus: Path, nsys: str, store: traceql.Store
) -> None:
    """Both versions in one sentence."""
    (here,) = {n.version for n in _nsys.installed() if str(n.path) == nsys}
    (outcome,) = store.ingest(corpus / "nsys" / "NVIDIA-pdl_2p2c.nsys-rep", nsys=nsys)
    if _nsys.release(here) >= (2025, 5, 1):
        assert outcome.error is None
        return
    assert "2025.5.1.121" in str(outcome.error) and here in str(outcome.error)
    assert store.runs() == []


def test_no_environment_of_the_capture(captured: Captured, tmp_path: Path) -> None:
    """Neither what the traced process was given nor what it was called with."""
    shown = _everything(captured.store, tmp_path)
    assert "never popped" in shown
    for secret in (*_SECRETS.values(), _ARGUMENT, "s3cr3t"):
        assert secret not in shown


@pytest.mark.corpus
@pytest.mark.parametrize(
    ("name", "host"),
    [("quasiben-cudf.qdrep", "DirtyHorseZ"), (None, platform.node())],
)
def test_no_environment_in_store_or_report(
    corpus: Path,
    nsys: str,
    name: str | None,
    host: str,
    tmp_path: Path,
    request: pytest.FixtureRequest,
) -> None:
    """Host, environment and process list, as nsys itself finds them in the report."""
    if name is None:
        report = request.getfixturevalue("captured").report
    else:
        report = corpus / "nsys" / name
    environment, processes = _told(nsys, report, tmp_path)
    assert environment and processes
    store = traceql.open_store(tmp_path / "store", create=True)
    (outcome,) = store.ingest(report)
    assert outcome.error is None
    shown = _everything(store, tmp_path)
    words = set(re.findall(r"[\w./:@+-]+", shown))
    if len(host) > 4:  # a short one is a word of the report's own scripts
        assert host.encode() in report.read_bytes()
        assert host not in shown
    assert [text for text in environment if text in shown] == []
    # A thread may still bear the name of the launcher that became the process.
    traced = _column(
        store, "SELECT process_name FROM thread UNION SELECT thread_name FROM thread"
    )
    assert [p for p in processes - traced if p in words] == []


def _told(nsys: str, report: Path, folder: Path) -> tuple[set[str], set[str]]:
    """`KEY=VALUE` texts and names of processes of a report's machine."""
    export = folder / "told.sqlite"
    command = [nsys, "export", "--type", "sqlite", "--output", str(export), str(report)]
    subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, check=True, timeout=300
    )
    with closing(sqlite3.connect(export)) as con:
        told = dict(con.execute("SELECT name, value FROM TARGET_INFO_SYSTEM_ENV"))
        names = {str(n) for (n,) in con.execute("SELECT name FROM PROCESSES")}
    pairs = [pair for pair in told["DeviceEnvironment"].split("\0") if "=" in pair]
    # Short values, as LANG=C or SHLVL=1, would be found anywhere.
    values = {value for _, _, value in (pair.partition("=") for pair in pairs)}
    environment = {pair for pair in pairs if len(pair) > 8}
    environment |= {value for value in values if len(value) > 15}
    # Nor can names that are words, as python or nvidia.
    return environment, {n for n in names if re.search(r"[^a-z]", n) and len(n) > 5}


def _everything(store: traceql.Store, folder: Path) -> str:
    """All that a reader of the store or of a report can see, as text."""
    report = write_report(store, store.runs(), folder / "report.html")
    con = store.session().con
    tables = [
        str(con.execute(f'SELECT * FROM "{table}"').fetchall())
        for table in schema.load().tables
    ]
    manifests = [path.read_text() for path in Path(store.path).rglob("*.json")]
    return "\n".join([*tables, *manifests, html.unescape(report.read_text())])


def _column(store: traceql.Store, sql: str) -> set[str]:
    rows = store.session().con.execute(sql).fetchall()
    return {str(value) for (value,) in rows}
