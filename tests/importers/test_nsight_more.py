"""The rarer tables of a Nsight Systems export against the generator's truth."""

from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import traceql
from fixtures.nsight_more import write_nsight_more
from traceql.session import Session

Row = dict[str, Any]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """The file and its truth."""
    path = tmp_path_factory.mktemp("more") / "more.sqlite"
    return path, write_nsight_more(path)


@pytest.fixture(scope="module")
def truth(made: tuple[Path, dict[str, Any]]) -> dict[str, Any]:
    """What the file's rows mean."""
    return made[1]


def _imported(path: Path, folder: Path, **options: object) -> Session:
    store = traceql.open_store(folder, create=True)
    (outcome,) = store.ingest(path, **options)
    assert outcome.error is None
    return store.session()


@pytest.fixture(scope="module")
def plain(
    made: tuple[Path, dict[str, Any]], tmp_path_factory: pytest.TempPathFactory
) -> Session:
    """The file imported as it comes."""
    return _imported(made[0], tmp_path_factory.mktemp("plain"))


@pytest.fixture(scope="module")
def sampled(
    made: tuple[Path, dict[str, Any]], tmp_path_factory: pytest.TempPathFactory
) -> Session:
    """The file imported with samples and call chains."""
    return _imported(made[0], tmp_path_factory.mktemp("sampled"), with_samples=True)


def _rows(session: Session, sql: str) -> list[tuple[Any, ...]]:
    return session.con.execute(sql).fetchall()


def _found(session: Session, table: str, columns: list[str], where: str) -> list[Row]:
    names = ", ".join(f'"{c}"' for c in columns)
    rows = _rows(session, f"SELECT {names} FROM {table} WHERE {where}")
    return [dict(zip(columns, row, strict=True)) for row in rows]


def _sorted(rows: list[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: json.dumps(row, sort_keys=True, default=str))


@pytest.mark.parametrize(
    ("table", "where"),
    [
        ("collective", "true"),
        ("memory_event", "true"),
        ("object_event", "true"),
        ("page_fault", "true"),
        ("counter", "true"),
        ("memcpy", "kind LIKE 'UVM%'"),
    ],
)
def test_rows(plain: Session, truth: dict[str, Any], table: str, where: str) -> None:
    """Each planned row is there with the planned values, and no other row."""
    wanted = truth[table]
    assert _sorted(_found(plain, table, list(wanted[0]), where)) == _sorted(wanted)


def test_samples_and_switches(sampled: Session, truth: dict[str, Any]) -> None:
    """Stacks innermost first; a thread is on a CPU from its switch in to the next out.

    What a bystander did is no part of it.
    """
    for table in ("sample", "slice"):
        wanted = truth[table]
        found = _found(sampled, table, list(wanted[0]), "true")
        assert _sorted(found) == _sorted(wanted), table
    assert _rows(
        sampled,
        "SELECT DISTINCT name, category, extra ->> 'cpu', parent_id FROM slice",
    ) == [("on CPU", "sched", "5", None)]


def test_calls(plain: Session, truth: dict[str, Any]) -> None:
    """Every call of every library, with what the source says beside its name."""
    wanted = truth["api_call"]
    found = _found(
        plain, "api_call", list(wanted[0]), "api NOT LIKE 'cuda%' AND api <> 'osrt'"
    )
    assert len(found) == len(wanted)
    by_key = {(r["api"], r["name"], r["ts_ns"]): r for r in found}
    for row in wanted:
        mine = by_key[row["api"], row["name"], row["ts_ns"]]
        said = json.loads(mine.pop("extra") or "{}")
        assert mine == {k: v for k, v in row.items() if k != "extra"}
        assert row["extra"].items() <= said.items(), row
    ids = "SELECT count(DISTINCT api_call_id), count(*) FROM api_call"
    ((distinct, count),) = _rows(plain, ids)
    assert distinct == count


def test_payloads_are_read_or_kept_whole(plain: Session, truth: dict[str, Any]) -> None:
    """A blob that fits its layout becomes its fields; any other stays as it is."""
    found = {
        ts: (name, payload and json.loads(payload), binary)
        for ts, name, payload, binary in _rows(
            plain,
            "SELECT ts_ns, name, payload::VARCHAR, "
            "hex(from_base64(extra ->> 'binaryData')) FROM annotation",
        )
    }
    assert found == {
        a["ts_ns"]: (a["name"], a["payload"], a["binary"]) for a in truth["annotation"]
    }


def test_rank_of_the_run(plain: Session, truth: dict[str, Any]) -> None:
    """MPI says which rank of how many this is."""
    assert _found(plain, "run", ["rank", "world_size"], "true") == [truth["run"]]


def test_call_chains(plain: Session, sampled: Session, truth: dict[str, Any]) -> None:
    """Stacks of calls come with the samples, and only then."""
    columns = ["api", "name", "callchain"]
    found = _found(sampled, "api_call", columns, "callchain IS NOT NULL")
    assert _sorted(found) == _sorted(truth["callchain"])
    for table in ("sample", "slice"):
        assert _rows(plain, f"SELECT count(*) FROM {table}") == [(0,)]
    assert _rows(plain, "SELECT count(callchain) FROM api_call") == [(0,)]


def test_what_is_left_out_is_named(
    plain: Session, sampled: Session, truth: dict[str, Any]
) -> None:
    """A table without a place in the schema is one line, with its rows."""
    for session, samples in ((plain, 12), (sampled, None)):
        left = dict(
            _rows(
                session,
                "SELECT regexp_extract(message, 'Rows of (\\w+)', 1), count "
                "FROM diagnostic WHERE code = 'table_not_read'",
            )
        )
        assert left == truth["left_out"]
        said = dict(_rows(session, "SELECT code, count FROM diagnostic"))
        # Five samples, seven switches; four rows of call chains.
        assert said.get("samples_not_read") == samples
        assert said.get("call_chains_not_read") == (4 if samples else None)


def test_samples_alone(
    made: tuple[Path, dict[str, Any]], tmp_path: Path, store: traceql.Store
) -> None:
    """A capture of nothing but samples keeps them all."""
    path = tmp_path / "samples.sqlite"
    shutil.copyfile(made[0], path)
    keep = {"COMPOSITE_EVENTS", "SAMPLING_CALLCHAINS", "StringIds", "SCHED_EVENTS"}
    with closing(sqlite3.connect(path)) as con:
        tables = con.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        for (table,) in tables.fetchall():
            if table not in keep:
                con.execute(f'DROP TABLE "{table}"')
        con.commit()
    session = _imported(path, Path(store.path), with_samples=True)
    assert _rows(session, "SELECT count(*) FROM sample") == [(5,)]
    assert _rows(session, "SELECT count(*) FROM slice") == [(4,)]


def test_with_samples_is_another_import(
    made: tuple[Path, dict[str, Any]], store: traceql.Store
) -> None:
    """What is present was read without them: the user hears it."""
    store.ingest(made[0])
    (again,) = store.ingest(made[0], with_samples=True)
    assert again.status == "present"
    assert "other options" in again.notes[0]


def test_samples_of_public_captures(store: traceql.Store, corpus: Path) -> None:
    """Counted with sqlite3: every sample, with the depth of its stack."""
    path = corpus / "nsys" / "gpu-metrics.sqlite"
    with closing(sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)) as con:
        wanted = con.execute(
            "SELECT c.start, count(s.id) FROM COMPOSITE_EVENTS AS c "
            "LEFT JOIN SAMPLING_CALLCHAINS AS s ON s.id = c.id GROUP BY c.id"
        ).fetchall()
        chains = con.execute(
            "SELECT count(*) FROM OSRT_API WHERE callchainId IN "
            "(SELECT id FROM OSRT_CALLCHAINS)"
        ).fetchall()
    store.ingest(path, with_samples=True)
    session = store.session()
    found = _rows(
        session,
        "SELECT ts_ns, coalesce(len(string_split(stack, chr(10))), 0) FROM sample",
    )
    assert sorted(found) == sorted(wanted)
    assert (
        _rows(session, "SELECT count(callchain) FROM api_call WHERE api = 'osrt'")
        == chains
    )


def test_rank_by_a_thread_s_name(store: traceql.Store, corpus: Path) -> None:
    """Before the MPI tables nsys called the main thread "MPI Rank 0"."""
    store.ingest(corpus / "nsys" / "pipit-saxpy-mpi.sqlite")
    ranks = _rows(store.session(), "SELECT rank, world_size FROM run")
    assert ranks == [(0, None)]
