"""Sessions: an in-memory DuckDB with the chosen runs as views, and every query.

Invariant: a session sees exactly the files that the chosen runs' manifests list, and
never downloads anything.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from secrets import token_hex
from tempfile import gettempdir
from typing import TYPE_CHECKING

import duckdb
import pyarrow as pa

from traceql import queries, schema
from traceql.attaching import ELSEWHERE
from traceql.errors import QueryError, UsageError
from traceql.interruptible import interruptible
from traceql.queries import Query
from traceql.result import Result
from traceql.utf8 import require_utf8

if TYPE_CHECKING:
    from traceql.store import Run, Store

MEMORY_LIMIT = "2GB"
_BESIDE = re.compile(r"\battached_(?:run|counter|device|topology)\b", re.IGNORECASE)
_VERIFY = (
    "If no one deleted a run meanwhile, traceql store verify tells which files of the "
    "store are amiss."
)


@dataclass(frozen=True, eq=False)
class Statement:
    """One statement of SQL, and whether it is a question and no change."""

    text: str
    answers: bool


@dataclass(frozen=True)
class Session:
    """A DuckDB connection over chosen runs.

    Attributes:
        runs: The runs, in the order of their choice.
        catalog: The queries by name.
    """

    runs: list[Run]
    catalog: Mapping[str, Query]
    _store: Store
    _con: duckdb.DuckDBPyConnection
    _script: str
    _to_make: dict[str, Query]

    @property
    def con(self) -> duckdb.DuckDBPyConnection:
        """The connection: tables and views in `main`, queries in `v1`."""
        self._make(self._to_make)
        return self._con

    def make(self, text: str) -> None:
        """Creates the macros that SQL names, and those that they call.

        DuckDB binds a macro when it is created, which for all of them takes longer
        than most queries run.
        """
        words = set(re.findall(r"\w+", text.lower()))
        if _BESIDE.search(text):
            _ = self.attached
        self._make([key for key, q in self._to_make.items() if q.name in words])

    def _make(self, wanted: Iterable[str]) -> None:
        needed = queries.with_callees(self.catalog, wanted)
        made = [key for key in self._to_make if key in needed]
        if any(_BESIDE.search(self._to_make[key].sql) for key in made):
            _ = self.attached
        with _query_errors(self._store):
            for key in made:
                self._con.execute(self._to_make[key].sql)
        for key in made:
            del self._to_make[key]

    @cached_property
    def attached(self) -> list[Run]:
        """The sample logs beside the runs: looked for when something asks for them."""
        logs = self._store.attached(self.runs)
        self._con.execute(_attached_sql(self._store, logs))
        return logs

    def interrupt(self) -> None:
        """Stops what runs on another thread; that call raises `QueryError`."""
        self._con.interrupt()

    def close(self) -> None:
        """Closes the connection."""
        self._con.close()

    def sql(self, text: str) -> Result:
        """Runs SQL; of several statements the last one's result.

        Raises:
            QueryError: DuckDB refuses it.
        """
        return Result(self._run(text), title="SQL", sql=text)

    def statements(self, text: str) -> list[Statement]:
        """The statements of SQL, in order.

        Raises:
            QueryError: It cannot be parsed.
        """
        require_utf8(text, "the SQL")
        try:
            found = self._con.extract_statements(text)
        except duckdb.Error as error:
            raise QueryError(str(error)) from error
        # A PIVOT is several statements to DuckDB.
        return [
            Statement(
                s.query,
                s.expected_result_type == [duckdb.ExpectedResultType.QUERY_RESULT]
                or s.type == duckdb.StatementType.MULTI,
            )
            for s in found
        ]

    def query(self, name: str, params: Mapping[str, object] | None = None) -> Result:
        """Runs a query of the catalogue.

        Args:
            name: `kernel_totals`, or pinned to a version: `v1.kernel_totals`.
            params: Values by parameter name; absent ones take their defaults.

        Raises:
            UsageError: No such query or parameter, or a value of the wrong type.
            QueryError: DuckDB refuses it.
        """
        query = queries.find(self.catalog, name)
        text = queries.call_sql(query, params)
        try:
            table = self._run(text)
        except QueryError as error:
            # What the macros' own error() raises, and DuckDB for a bad pattern.
            invalid = isinstance(error.__cause__, duckdb.InvalidInputException)
            if invalid and error.hint is None:
                what = str(error).removeprefix("Invalid Input Error: ")
                raise UsageError(
                    f"{name}: {what}", hint=f"traceql query show {name}"
                ) from error
            raise
        with _query_errors(self._store):
            note = queries.missing_input(self._con, query)
        if note is None and table.num_rows == 0 and _BESIDE.search(query.sql):
            note = self._elsewhere()
        return Result(table, title=query.title, docs=query.columns, note=note, sql=text)

    def _elsewhere(self) -> str | None:
        """Which logs beside the runs have no sample in the runs' time."""
        found = [
            f"{log.label or log.run_id}: {finding.message} ({finding.example})"
            for log in self.attached
            for finding in log.diagnostics
            if finding.code == ELSEWHERE
        ]
        return "\n".join(found) or None

    def script(self) -> str:
        """The session as SQL text: what another DuckDB needs to see the same."""
        return self._script + _attached_sql(self._store, self.attached)

    def _run(self, text: str) -> pa.Table:
        require_utf8(text, "the SQL")
        self.make(text)

        def table() -> pa.Table:
            relation = self._con.sql(text)
            return pa.table({}) if relation is None else relation.to_arrow_table()

        with _query_errors(self._store):
            return interruptible(self._con, table)


def open_session(
    store: Store,
    runs: Sequence[Run],
    *,
    memory_limit: str | None = None,
    threads: int | None = None,
    query_dirs: Sequence[Path] = (),
    sandbox: bool = False,
) -> Session:
    """Opens a session over runs of a store.

    Args:
        store: The store.
        runs: What to see.
        memory_limit: DuckDB's memory limit, `MEMORY_LIMIT` by default; beyond it
            DuckDB spills to disk.
        threads: DuckDB's threads; None for all cores.
        query_dirs: Folders with queries of the user.
        sandbox: Allow no file but the store's, and no change of settings.

    Raises:
        QueryError: A query of a folder is malformed.
        UsageError: The memory limit is no size.
    """
    catalog = queries.discover(query_dirs)
    prelude = queries.prelude_sql(catalog)
    views = _tables_sql(store, runs) + schema.views_sql()
    con = _connect(memory_limit or MEMORY_LIMIT, threads)
    if not store.storage.local:
        import fsspec.core

        con.register_filesystem(fsspec.core.url_to_fs(store.path)[0])
    with _query_errors(store):
        con.execute(prelude + views)
    script = prelude + _macros_sql(catalog) + views
    session = Session(list(runs), catalog, store, con, script, dict(catalog))
    if sandbox:
        readable = (*runs, *session.attached)
        _close(con, [path for run in readable for path in store.paths(run)])
    return session


@contextmanager
def _query_errors(store: Store) -> Iterator[None]:
    """Turns what DuckDB raises into errors that say whether a file is to blame.

    Raises:
        QueryError: DuckDB raised something.
    """
    try:
        yield
    except duckdb.Error as error:
        text = str(error)
        # Of a damaged footer DuckDB tells neither the file nor a kind of its own.
        damaged = (
            isinstance(error, duckdb.IOException)
            or f"{store.path}/" in text
            or "TProtocolException" in text
        )
        raise QueryError(text, hint=_VERIFY if damaged else None) from error


def _connect(memory_limit: str, threads: int | None) -> duckdb.DuckDBPyConnection:
    settings: dict[str, str | bool | int | float | list[str]] = {
        "memory_limit": memory_limit,
        # Where queries spill to: DuckDB makes it when it must, and removes it. Its own
        # choice is a folder in the working directory.
        "temp_directory": f"{gettempdir()}/traceql-{token_hex(8)}",
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
    }
    if threads is not None:
        settings["threads"] = threads
    try:
        con = duckdb.connect(config=settings)
    except duckdb.Error as error:
        raise UsageError(
            f"memory limit {memory_limit}, threads {threads}: {error}",
            hint="Say --memory-limit as 4GB or 500MB, --threads as 1 or more.",
        ) from error
    # What a query gives back serves the next one: without, a report spends a quarter
    # of its time on pages that the system clears anew. Refused where the limit is
    # larger than the machine.
    with suppress(duckdb.InvalidInputException):
        con.execute(f"SET GLOBAL block_allocator_memory = {_text(memory_limit)}")
    return con


def _close(con: duckdb.DuckDBPyConnection, paths: list[str]) -> None:
    """From here on the connection reads the runs' files and no other."""
    con.execute(f"SET allowed_paths = [{', '.join(map(_text, paths))}]")
    con.execute("SET enable_external_access = false")
    con.execute("SET lock_configuration = true")


def _macros_sql(catalog: Mapping[str, Query]) -> str:
    """Every macro, made over empty tables that are gone again.

    DuckDB binds a macro when it is created, and anew wherever it is called. Bound to
    the views of the runs' files all macros take four times as long.
    """
    known = schema.load()
    tables = (*known.tables.values(), *known.views.values())
    made = "".join(
        f"CREATE TABLE {table.name} "
        f"({', '.join(f'{c.name} {c.type}' for c in table.columns)});\n"
        for table in tables
    )
    gone = "".join(f"DROP TABLE {table.name};\n" for table in tables)
    return f"{made}{queries.create_sql(catalog)}{gone}"


def _tables_sql(store: Store, runs: Sequence[Run]) -> str:
    """One view a schema table over the runs' files; a missing table is empty."""
    tables = schema.load().tables.values()
    ids = [_text(run.run_id) for run in runs]
    run_type = "run_key" if ids else "VARCHAR"
    statements = [f"CREATE TYPE run_key AS ENUM ({', '.join(ids)});\n"] if ids else []
    for table in tables:
        view = "run_stored" if table.name == "run" else table.name
        statements.append(
            f"CREATE VIEW {view} AS\n{_table_sql(table, store, runs, run_type)};\n"
        )
    statements.append(f"CREATE VIEW run AS\n{_run_sql(runs, run_type)};\n")
    return "".join(statements)


def _attached_sql(store: Store, logs: Sequence[Run]) -> str:
    """The views of the logs beside the runs, anew, over those logs' files."""
    known = schema.load()
    statements = []
    for name, view in known.views.items():
        if _BESIDE.match(name):
            table = known.tables[name.removeprefix("attached_")]
            columns = ", ".join(column.name for column in view.columns)
            statements.append(
                f"CREATE OR REPLACE VIEW {name} AS SELECT {columns} FROM "
                f"({_table_sql(table, store, logs, 'VARCHAR')});\n"
            )
    return "".join(statements)


def _table_sql(
    table: schema.Table, store: Store, runs: Sequence[Run], run_type: str
) -> str:
    typed = [f'CAST(NULL AS {run_type}) AS "run_id"']
    typed += [f'CAST(NULL AS {c.type}) AS "{c.name}"' for c in table.stored]
    arms = [f"SELECT {', '.join(typed)} LIMIT 0"]
    # Files of one set of columns go in one scan: no footer is opened to find out.
    by_columns: dict[tuple[str, ...], list[str]] = {}
    for run in runs:
        columns = tuple(run.manifest.columns.get(table.name, ()))
        by_columns.setdefault(columns, []).extend(store.paths(run, table.name))
    for columns, files in by_columns.items():
        json = [c.name for c in table.columns if c.type == "JSON" and c.name in columns]
        casts = ", ".join(f'CAST("{name}" AS JSON) AS "{name}"' for name in json)
        stored = f"*{f' REPLACE ({casts})' if casts else ''}"
        arms += _scans(stored, files, run_type) if files else []
    return "\nUNION ALL BY NAME\n".join(f"({arm})" for arm in arms)


def _scans(stored: str, files: list[str], run_type: str) -> list[str]:
    """SELECTs over Parquet files with run_id from their partition.

    DuckDB takes every `key=value` folder of a path for a partition, those above the
    store too, and lets it win over a column of the file. Below such a folder each run
    has a scan of its own.
    """
    by_run: dict[str, list[str]] = {}
    foreign = False
    for file in files:
        *above, partition, _ = file.split("/")
        by_run.setdefault(partition.removeprefix("run_id="), []).append(file)
        foreign |= any("=" in folder for folder in above)
    if not foreign:
        return [
            f"SELECT {stored} FROM read_parquet([{', '.join(map(_text, files))}], "
            f"hive_partitioning = true, hive_types = {{'run_id': {run_type}}})"
        ]
    return [
        f"SELECT CAST({_text(run_id)} AS {run_type}) AS run_id, {stored} "
        f"FROM read_parquet([{', '.join(map(_text, own))}], hive_partitioning = false)"
        for run_id, own in by_run.items()
    ]


def _run_sql(runs: Sequence[Run], run_type: str) -> str:
    """The run table; label and tags may have changed since: manifests have them."""
    rows = ", ".join(
        f"({_text(run.run_id)}, {_text(run.label)}, MAP {{{_pairs(run.tags)}}})"
        for run in runs
    )
    if not rows:
        return "SELECT * FROM run_stored"
    return (
        "SELECT stored.* REPLACE (named.label AS label, "
        "CAST(named.tags AS MAP(VARCHAR, VARCHAR)) AS tags)\n"
        "FROM run_stored AS stored\n"
        f"JOIN (VALUES {rows}) AS named (run_id, label, tags)\n"
        f"    ON stored.run_id = CAST(named.run_id AS {run_type})"
    )


def _pairs(tags: Mapping[str, str]) -> str:
    return ", ".join(f"{_text(key)}: {_text(value)}" for key, value in tags.items())


def _text(value: str | None) -> str:
    return "NULL" if value is None else "'" + value.replace("'", "''") + "'"
