"""Measuring one piece of work: in a process of its own, with its peak memory."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass


@dataclass(frozen=True)
class Cost:
    """What a process cost.

    Attributes:
        wall_s: Seconds from start to end.
        cpu_s: Processor seconds, user and system.
        peak_mb: Largest resident memory, MiB.
    """

    wall_s: float
    cpu_s: float
    peak_mb: float


def run(*arguments: str, python: str = sys.executable) -> Cost:
    """Runs a command of a Python, this one if none is named, to its end.

    Raises:
        RuntimeError: It failed; the message has its error output.
    """
    began = time.perf_counter()
    process = subprocess.Popen(
        [python, *arguments],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    errors = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise RuntimeError(f"{' '.join(arguments)}: {errors.strip()}")
    wall = time.perf_counter() - began
    return Cost(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def median(costs: list[Cost]) -> Cost:
    """The cost with the median wall time."""
    wall = statistics.median_low(c.wall_s for c in costs)
    return next(c for c in costs if c.wall_s == wall)


def in_turn(repeats: int, *commands: tuple[str, ...]) -> list[Cost]:
    """Median costs of commands that run A B A B, so that a slow minute hits all."""
    costs: list[list[Cost]] = [[] for _ in commands]
    for _ in range(repeats):
        for list_, command in zip(costs, commands, strict=True):
            list_.append(run(*command))
    return [median(c) for c in costs]
