"""Ctrl-C for statements: DuckDB does not look for it while it makes Arrow."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    import duckdb

T = TypeVar("T")


def interruptible(con: duckdb.DuckDBPyConnection, work: Callable[[], T]) -> T:
    """Does `work` on a connection so that Ctrl-C ends its statement.

    Raises:
        KeyboardInterrupt: The user ended it; the connection is usable.
    """
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(work)
        try:
            return future.result()
        except KeyboardInterrupt:
            # More than once: the statement may not have begun yet.
            while not future.done():
                con.interrupt()
                wait([future], timeout=0.1)
            raise
