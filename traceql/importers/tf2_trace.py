"""TensorFlow 2 and JAX profiles as their trace viewer has them: HOST.trace.json.gz.

The same profile's xplane.pb holds more; see `traceql.siblings` for which one counts.
"""

from __future__ import annotations

import re
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

import pyarrow as pa

from traceql.importers._trace_event import (
    FLOWS,
    SHARED,
    Dialect,
    Signs,
    TraceEventImporter,
)
from traceql.importers.kineto import short_name

if TYPE_CHECKING:
    import duckdb

    from traceql.importers import Context

_PLANE = re.compile(
    r"(?:\S+ )?/(?:device:(?:GPU|TPU|CUSTOM|XPU|CPU):\S+(?: .*)?|host:\S+)"
)
_HIGH_RESOLUTION = re.compile(r'"highres-ticks"\s*:')


def _sniff(signs: Signs) -> float:
    if any(
        _PLANE.fullmatch(name) and not name.endswith((" Compute", " Tensors"))
        for name in signs.process_names
    ):
        return 0.9
    # A profile of nothing, or a cut one.
    return 0.8 if _HIGH_RESOLUTION.search(signs.text) else 0.0


def job_of(source: str) -> str | None:
    """The profile run that a file is of: .../plugins/profile/RUN/HOST.trace.json.gz.

    All hosts of a job write into the folder of one run.
    """
    parts = PurePath(source).parts
    if len(parts) > 3 and parts[-4:-2] == ("plugins", "profile"):
        return parts[-2]
    return None


def _prepare(con: duckdb.DuckDBPyConnection, ctx: Context) -> None:
    """The job, and short names worked out once for each name of a kernel."""
    job = job_of(ctx.source)
    text = (
        "CAST(NULL AS VARCHAR)" if job is None else "'" + job.replace("'", "''") + "'"
    )
    con.execute(f"CREATE MACRO job_name() AS {text}")
    names = con.execute(
        "SELECT DISTINCT e.name FROM event AS e JOIN thread_name_of AS t "
        "ON t.pid = e.pid AND t.tid = e.tid WHERE e.ph = 'X' "
        "AND e.name IS NOT NULL AND starts_with(t.name, 'Stream #')"
    ).fetchall()
    rows = [{"name": n, "short_name": short_name(n)} for (n,) in names]
    schema = pa.schema([("name", pa.string()), ("short_name", pa.string())])
    con.register("kernel_names", pa.Table.from_pylist(rows, schema))
    con.execute("CREATE TABLE kernel_name AS SELECT * FROM kernel_names")
    con.unregister("kernel_names")


IMPORTER = TraceEventImporter(
    Dialect(
        name="tf2-trace",
        version=3,
        title="TensorFlow 2 or JAX profile, trace viewer JSON",
        sniff=_sniff,
        mappings=(
            SHARED,
            FLOWS,
            Path(__file__).with_name("tf2_trace.sql"),
            Path(__file__).with_name("tf2_trace_host.sql"),
        ),
        prepare=_prepare,
    )
)
