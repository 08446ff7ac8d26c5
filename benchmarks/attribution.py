"""Attribution of launches to nested ranges, at scale and within a memory limit.

python -m benchmarks.attribution [--ranges N] [--launches N] [--nesting N]
    [--memory 2GiB] [--threads N] [--database FILE]

Makes the tables in DuckDB: one thread in four processes, stacks of ranges as deep as
told, one launch and one kernel for every few ranges, on four streams whose kernels
overlap. Then it times the private macros and the queries that stand on them, each in a
process of its own, with its peak memory.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

import duckdb

from benchmarks.measure import run
from traceql import queries, query_lint

# A stack of `nesting` ranges opens, 1 ns apart, launches in its innermost range and on
# the way back, and closes; a thread runs one stack after the other.
_TABLES = """
CREATE TEMP TABLE shape AS SELECT
    CAST({nesting} AS BIGINT) AS nesting,
    CAST(greatest({launches} * {nesting} // {ranges}, 1) AS BIGINT) AS per_stack,
    CAST({ranges} // {nesting} AS BIGINT) AS stacks;
INSERT INTO run BY NAME SELECT
    'r1' AS run_id, 0 AS first_ts_ns,
    (SELECT stacks * (2 * nesting + 20 * per_stack + 10) FROM shape) AS span_ns;
INSERT INTO annotation BY NAME SELECT
    'r1' AS run_id, stack * nesting + level AS annotation_id, 'push_pop' AS kind,
    'level ' || (level % 64) AS name, stack % 4 AS pid, stack % 4 AS tid,
    stack * (2 * nesting + 20 * per_stack + 10) + level AS ts_ns,
    2 * (nesting - level) + 20 * per_stack AS dur_ns, level::INTEGER AS depth,
    CASE WHEN level > 0 THEN stack * nesting + level - 1 END AS parent_id,
    false AS crossing, false AS truncated
FROM shape, range(stacks) AS s(stack), range(nesting) AS l(level);
INSERT INTO api_call BY NAME SELECT
    'r1' AS run_id, 1000000000000 + stack * per_stack + launch AS api_call_id,
    stack * (2 * nesting + 20 * per_stack + 10) + nesting + 20 * launch
        + CASE WHEN launch * 2 > per_stack THEN least(nesting - 1, launch) ELSE 0 END
        AS ts_ns,
    5 AS dur_ns, 'cuda_runtime' AS api, 'cudaLaunchKernel' AS name, stack % 4 AS pid,
    stack % 4 AS tid
FROM shape, range(stacks) AS s(stack), range(per_stack) AS l(launch);
INSERT INTO kernel BY NAME SELECT
    'r1' AS run_id, api_call_id AS kernel_id, ts_ns + 100 AS ts_ns,
    CASE WHEN api_call_id % 3 = 0 THEN 30 ELSE 8 END AS dur_ns,
    'kernel ' || (api_call_id % 60) AS name, 0 AS device_id, 1 AS context_id,
    api_call_id % 4 AS stream_id, pid, api_call_id, ts_ns AS launch_ts_ns
FROM api_call;
"""
_WORK = {
    "innermost range of each launch": "v1._call_annotations()",
    "launches of each range": "v1._annotation_launches()",
    "projection of each range": "v1._annotation_projection(busy_limit := {limit})",
    "kernels_by_annotation": "v1.kernels_by_annotation(count_limit := {limit})",
}


def make(path: Path, ranges: int, launches: int, nesting: int) -> None:
    """Writes the tables and macros of the benchmark into a database file."""
    with duckdb.connect(str(path)) as con:
        query_lint.empty_database(queries.discover(), con)
        sql = _TABLES.format(ranges=ranges, launches=launches, nesting=nesting)
        con.execute(sql)


def work(path: Path, source: str, memory: str, threads: int) -> None:
    """Reads every row of a macro once and keeps none."""
    with duckdb.connect(str(path), read_only=True) as con:
        con.execute(f"SET memory_limit = '{memory}'; SET threads = {threads}")
        con.execute(f"SET temp_directory = '{path}.tmp'")
        con.execute(f"SET search_path = '{queries.search_path(queries.discover())}'")
        con.execute(f"SELECT count(*), sum(hash(t)) FROM {source} AS t").fetchall()


def main() -> None:
    """Makes the input if it is not there, measures, prints a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ranges", type=int, default=16_000_000)
    parser.add_argument("--launches", type=int, default=4_000_000)
    parser.add_argument("--nesting", type=int, default=20)
    parser.add_argument("--memory", default="1500MiB")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--busy-limit", type=int, default=20_000_000)
    parser.add_argument("--database", type=Path)
    parser.add_argument("--work", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        work(options.database, options.work, options.memory, options.threads)
        return
    with tempfile.TemporaryDirectory() as folder:
        path = options.database or Path(folder) / "attribution.duckdb"
        if not path.exists():
            print(f"making {path} ...", file=sys.stderr)
            make(path, options.ranges, options.launches, options.nesting)
        print(
            f"{options.ranges:,} ranges {options.nesting} deep, "
            f"{options.launches:,} launches, {options.threads} thread(s)"
        )
        print("\n| work | wall s | cpu s | peak MiB | target |")
        print("|---|---|---|---|---|")
        for title, source in _WORK.items():
            cost = run(
                *("-m", "benchmarks.attribution", "--database", str(path)),
                *("--memory", options.memory, "--threads", str(options.threads)),
                *("--work", source.format(limit=options.busy_limit)),
            )
            cells = f"{cost.wall_s:.1f} | {cost.cpu_s:.1f} | {cost.peak_mb:.0f}"
            print(f"| {title} | {cells} | 25 s, 2048 MiB |", flush=True)


if __name__ == "__main__":
    main()
