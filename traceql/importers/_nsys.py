"""Nsight Systems' own command line, which alone reads its reports.

Invariant: nsys runs without input, in a process group of its own and in a temporary
folder that takes all it writes; whatever happens, both are gone afterwards.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NoReturn

from traceql.errors import ImportFailed, UsageError
from traceql.sources import scratch

VARIABLE = "TRACEQL_NSYS"
# Where the vendor's installers, CUDA, its HPC SDK and Debian put it.
_INSTALLED = (
    "/opt/nvidia/nsight-systems*/*/bin/nsys",
    "/opt/nvidia/nsight-systems*/*/target-linux-*/nsys",
    "/opt/nvidia/nsight-compute/*/host/target-linux-*/nsys",
    "/opt/nvidia/hpc_sdk/Linux_*/*/profilers/Nsight_Systems/bin/nsys",
    "/usr/local/cuda*/bin/nsys",
    "/usr/local/cuda*/nsight-systems*/bin/nsys",
    "/usr/lib/nsight-systems/bin/nsys",
)
_ASKING_S = 30.0
_POLL_S = 0.1
_VERSION = re.compile(r"version (\d+(?:\.\d+)+)")
_TOO_OLD = re.compile(
    r"newer than your current version|Version number is invalid", re.IGNORECASE
)
# What it says of a report that is newer: both versions, or the report's alone.
_WRITTEN_BY = re.compile(r"(?:\(|: )(20\d\d[.@]\d+[.@\d]*)")


@dataclass(frozen=True)
class Nsys:
    """One installed nsys.

    Attributes:
        path: The program.
        version: Its version, as `2025.5.1.121`.
    """

    path: Path
    version: str

    def reads(self, version: str | None) -> bool:
        """Whether it is new enough for reports of a version; None: not known."""
        return version is None or release(self.version) >= release(version)


class TooOld(Exception):
    """This nsys does not read the report.

    Attributes:
        version: What wrote the report, if nsys said so.
    """

    def __init__(self, version: str | None) -> None:
        super().__init__(version)
        self.version = version


def release(version: str) -> tuple[int, ...]:
    """The numbers of a version that tell releases apart; builds differ beyond."""
    return tuple(int(number) for number in version.split(".")[:3])


def installed(named: str | None = None) -> list[Nsys]:
    """The nsys to use, best first: the named one alone, else all that are found.

    Args:
        named: A path that the user gave; None: what TRACEQL_NSYS says, else PATH and
            the usual folders, newest first after the one on PATH.

    Raises:
        UsageError: What the user named is no nsys.
    """
    how = "--nsys" if named else VARIABLE
    named = named or os.environ.get(VARIABLE)
    if named:
        found = _asked(Path(shutil.which(named) or named).absolute())
        if found is None:
            raise UsageError(
                f"{how}: {named} is no nsys that runs",
                hint="Name the program itself, as "
                "/opt/nvidia/nsight-systems/2025.5.1/bin/nsys.",
            )
        return [found]
    on_path = shutil.which("nsys")
    first = _asked(Path(on_path)) if on_path else None
    others = [
        nsys
        for pattern in _INSTALLED
        for path in sorted(Path("/").glob(pattern.lstrip("/")))
        if (nsys := _asked(path)) is not None
    ]
    others.sort(key=lambda nsys: release(nsys.version), reverse=True)
    # One program may have several names: the first stands.
    each: dict[Path, Nsys] = {}
    for nsys in [*([first] if first else []), *others]:
        each.setdefault(nsys.path.resolve(), nsys)
    return list(each.values())


@cache
def _asked(path: Path) -> Nsys | None:
    """The nsys of a path; None where nothing there says its version."""
    said = _said(path, "--version")
    version = _VERSION.search(said)
    return Nsys(path, version[1]) if version else None


@cache
def _said(path: Path, *arguments: str) -> str:
    deadline = time.monotonic() + _ASKING_S
    with suppress(OSError, subprocess.SubprocessError), scratch() as folder:
        out = folder / "out"
        if _run([str(path), *arguments], folder, out, deadline) == 0:
            return out.read_text(errors="replace")
    return ""


@contextmanager
def exported(
    nsys: Nsys, report: Path, limit_s: float, progress: Callable[[float], None]
) -> Iterator[Path]:
    """The SQLite export of a report, for as long as the context lasts.

    SQLite, for it is the one type that every version writes with all that it knows.

    Args:
        nsys: What exports.
        report: The report.
        limit_s: Seconds that it may take.
        progress: Called with the share done, 0 to 1.

    Raises:
        TooOld: This nsys does not read the report.
        ImportFailed: It failed, or took too long.
    """
    with _signals(as_exit=True), scratch() as folder:
        database, out = folder / "report.sqlite", folder / "nsys.out"
        command = [str(nsys.path), "export", "--type", "sqlite"]
        if "--include-blobs" in _said(nsys.path, "export", "--help"):
            command += ["--include-blobs", "true"]  # NVTX payloads, NCCL's among them
        command += ["--output", str(database), str(report.absolute())]
        deadline = time.monotonic() + limit_s

        def poll() -> None:
            progress(_percent(out) / 100)

        try:
            code = _run(command, folder, out, deadline, poll)
        except subprocess.TimeoutExpired:
            raise ImportFailed(
                f"{report}: nsys {nsys.version} did not export it within "
                f"{limit_s:.0f} s and was ended",
                hint=f"Give it more with --nsys-timeout, or {by_hand(report)}",
            ) from None
        except OSError as error:
            raise ImportFailed(f"{nsys.path}: cannot be run: {error}") from error
        if code != 0 or not database.is_file():
            raise _failure(nsys, report, out, code)
        yield database


def by_hand(report: Path) -> str:
    """What to run instead, as the end of a hint."""
    name = report.name.removeprefix("unpacked-")
    return (
        f"export it yourself: nsys export --type sqlite --output "
        f"{Path(name).stem}.sqlite {name}; then import {Path(name).stem}.sqlite."
    )


def _run(
    command: list[str],
    folder: Path,
    out: Path,
    deadline: float,
    poll: Callable[[], None] = lambda: None,
) -> int:
    """Runs nsys; returns its exit code once no process of it is left.

    Raises:
        TimeoutExpired: It did not end in time.
        OSError: It cannot be run.
    """
    # A signal between the start and the `try` would leave nsys running.
    with _signals(as_exit=False) as arrived:
        with out.open("wb") as stream:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=subprocess.STDOUT,
                cwd=folder,
                env={**os.environ, "TMPDIR": str(folder)},
                # A group of its own: it ends with its children, and Ctrl-C is ours.
                start_new_session=True,
            )
        try:
            while not arrived:
                with suppress(subprocess.TimeoutExpired):
                    return process.wait(_POLL_S)
                poll()
                if time.monotonic() > deadline:
                    raise subprocess.TimeoutExpired(command, 0)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    return process.returncode


@contextmanager
def _signals(*, as_exit: bool) -> Iterator[list[int]]:
    """Signals that would end this process let it clean up first.

    Args:
        as_exit: They raise at once; else they are listed, and raise at the end.
    """
    arrived: list[int] = []

    def handle(number: int, _: object) -> None:
        if as_exit:
            _leave(number)
        arrived.append(number)

    # What the user or an application has set stays; only here are handlers run.
    ours = {}
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            handler = signal.getsignal(number)
            if handler in (signal.SIG_DFL, signal.default_int_handler) or (
                getattr(handler, "__module__", None) == __name__
            ):
                ours[number] = signal.signal(number, handle)
    try:
        yield arrived
    finally:
        for number, handler in ours.items():
            signal.signal(number, handler)
    if arrived:
        _leave(arrived[0])


def _leave(number: int) -> NoReturn:
    if number == signal.SIGINT:
        raise KeyboardInterrupt
    raise SystemExit(128 + number)


def _percent(out: Path) -> int:
    """How far nsys says that it is."""
    with out.open("rb") as stream:
        stream.seek(max(0, out.stat().st_size - 200))
        said = re.findall(rb"(\d{1,3})%", stream.read())
    return min(100, int(said[-1])) if said else 0


def _failure(nsys: Nsys, report: Path, out: Path, code: int) -> Exception:
    # Progress bars end in carriage returns; of a crash the last line says most.
    lines = re.split(r"[\r\n]+", out.read_text(errors="replace"))
    said = [line.strip() for line in lines if line.strip() and "%" not in line]
    text = " ".join(said)
    if _TOO_OLD.search(text):
        version = _WRITTEN_BY.search(text)
        return TooOld(version[1].replace("@", ".").rstrip(".") if version else None)
    last = said[-1] if said else f"exit code {code} without a word"
    full = "full" in last.lower() or "no space" in text.lower()
    hint = (
        "Set TMPDIR to a folder with free space."
        if full
        else f"Copy the report again, or {by_hand(report)}"
    )
    return ImportFailed(f"{report}: nsys {nsys.version} failed: {last}", hint=hint)
