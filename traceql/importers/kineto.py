"""PyTorch profiler (Kineto) traces, of every era and vendor.

The categories of the events are the surest sign: many files have lost their header.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from traceql.importers._trace_event import (
    FLOWS,
    SHARED,
    Dialect,
    Signs,
    TraceEventImporter,
)

if TYPE_CHECKING:
    import duckdb

    from traceql.importers import Context

_OWN_CATEGORIES = frozenset(
    [
        "ac2g",
        "async_cpu_to_gpu",
        "async_gpu",
        "cpu_instant_event",
        "cpu_op",
        "cuda_driver",
        "cuda_event",
        "cuda_profiler_range",
        "cuda_runtime",
        "cuda_sync",
        "fwdbwd",
        "gpu_memcpy",
        "gpu_memset",
        "gpu_user_annotation",
        "mtia_ccp_events",
        "mtia_runtime",
        "python_function",
        "user_annotation",
        "xpu_runtime",
    ]
)
# Words that other tools use as well: they count where an argument of Kineto's does.
_OLD_CATEGORIES = frozenset(
    ["Kernel", "Memcpy", "Memset", "Operator", "Runtime", "UserAnnotation", "kernel"]
)
_OWN_KEYS = frozenset({"schemaVersion", "deviceProperties", "distributedInfo"})
_OWN_ARGUMENTS = re.compile(
    r'"(?:[Ee]xternal id|Input [Dd]ims|blocks per SM|Ev Idx)"\s*:|"ProfilerStep#\d'
)
# As the rules of kernel_class say.
_COMMUNICATION = "(?i)(nccl|rccl|hccl|oneccl|nvshmem|mscclpp?)"
_BRACKETS = {"<": ">", "(": ")", "{": "}", "[": "]"}


def _sniff(signs: Signs) -> float:
    if "traceEvents" not in signs.keys and not signs.phases:
        return 0.0
    if signs.categories & _OWN_CATEGORIES:
        return 0.95
    if signs.categories & _OLD_CATEGORIES and (
        signs.keys & _OWN_KEYS or _OWN_ARGUMENTS.search(signs.text)
    ):
        return 0.9
    return 0.85 if len(signs.keys & _OWN_KEYS) > 1 else 0.0


def short_name(name: str) -> str:
    """The function of a demangled kernel name: no types, arguments or scopes.

    Args:
        name: As `void at::native::reduce_kernel<512, 1>(...)`.

    Returns:
        As `reduce_kernel`; the name itself where nothing is left.
    """
    kept: list[str] = []
    closing: list[str] = []
    for char in name.replace("operator()", "operator").replace("operator<", "operator"):
        if char in _BRACKETS:
            if char in "<(" and not closing and kept and kept[-1] != ":":
                kept.append(" " if char == "<" else "\n")
            closing.append(_BRACKETS[char])
        elif closing:
            if char == closing[-1]:
                closing.pop()
        else:
            kept.append(char)
    # A return type may have types of its own: the function is the last word before
    # its arguments.
    words = "".join(kept).partition("\n")[0].replace(" ::", "::").split()
    return (words[-1].rpartition("::")[2] if words else "") or name


def _prepare(con: duckdb.DuckDBPyConnection, ctx: Context) -> None:
    """Short names, worked out once for each name of a kernel."""
    del ctx
    names = con.execute(
        "SELECT DISTINCT name FROM event WHERE cat IN ('kernel', 'Kernel') "
        "AND ph = 'X' AND name IS NOT NULL"
    ).fetchall()
    rows = [{"name": n, "short_name": short_name(n)} for (n,) in names]
    schema = pa.schema([("name", pa.string()), ("short_name", pa.string())])
    con.register("kernel_names", pa.Table.from_pylist(rows, schema))
    con.execute(
        "CREATE TABLE kernel_name AS SELECT *, "
        f"regexp_matches(name, '{_COMMUNICATION}') AS is_communication "
        "FROM kernel_names"
    )
    con.unregister("kernel_names")


IMPORTER = TraceEventImporter(
    Dialect(
        name="kineto",
        version=2,
        title="PyTorch profiler (Kineto) trace",
        sniff=_sniff,
        mappings=(
            SHARED,
            FLOWS,
            Path(__file__).with_name("kineto.sql"),
            Path(__file__).with_name("kineto_host.sql"),
        ),
        prepare=_prepare,
    )
)
