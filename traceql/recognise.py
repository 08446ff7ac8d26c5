"""What a refused file is, and what its owner should do instead."""

from __future__ import annotations

import re
from pathlib import Path

from traceql.errors import UnrecognisedInput
from traceql.foreign_json import foreign_json
from traceql.importers import Head
from traceql.importers._smi import text as texts
from traceql.unpacking import GZIP, ZSTD

_EXPORT = "Import the report itself, or export it so: nsys export --type sqlite REPORT"
_SQLITE = b"SQLite format 3\x00"
_ENDINGS = (".sqlite", ".nsys-rep", ".qdrep")
_STREAM = b"U3w[END]NVIDIA Nsight Systems Stream "
_ARROW = b"\xff\xff\xff\xff"
_HDF = b"\x89HDF\r\n\x1a\n"
# How nsys's dumps of a report begin: its string table.
_JSON_DUMP = b'{"data":["[Unknown]","'
_TEXT_DUMP = b'data: "[Unknown]"'

_KINDS: tuple[tuple[bytes, str, str], ...] = (
    (
        b"version https://git-lfs",
        "a git-LFS pointer, not the file itself",
        "Fetch the file: git lfs pull",
    ),
    (b"<!DOCTYPE", "an HTML page", "Download the file itself, not its page."),
    (b"<html", "an HTML page", "Download the file itself, not its page."),
    (
        GZIP,
        "a compressed file inside a compressed file inside another",
        "Unpack it: gunzip.",
    ),
    (
        ZSTD,
        "a compressed file inside a compressed file inside another",
        "Unpack it: unzstd.",
    ),
    (
        b"PK\x03\x04",
        "a zip archive inside another archive",
        "Unpack it, then import the folder.",
    ),
    (
        _HDF,
        "an HDF5 file",
        "TraceQL reads none; if it is an export of nsys: " + _EXPORT,
    ),
)


# Tables that TensorFlow's profiler made of a profile: HOST.kernel_stats.pb.
_TABLE = re.compile(
    r"\.(?:input_pipeline|kernel_stats|memory_profile|op_profile|overview_page|pod_viewer"
    r"|tensorflow_stats|tf_data_bottleneck)(?:\.pb|\.json(?:\.gz)?)$"
)

_SMI_TABLE = re.compile(r"^\| NVIDIA-SMI [\d.]+ ", re.MULTILINE)
_SMI_GPU = re.compile(r"GPU \d+: .* \(UUID: GPU-[^)]*\)\s*(?:\n|$)")
_SMI_LINK = re.compile(r"^\s+Link \d+: |Nvlink", re.MULTILINE)


def foreign_capture(head: Head) -> tuple[str, str] | None:
    """What a capture is that TraceQL does not read, and what to do; else None."""
    data = head.data
    if data.startswith(_STREAM) or head.name.endswith(".qdstrm"):
        version = re.match(rb"[\d.]+", data.removeprefix(_STREAM))
        nsys = f"nsys {version[0].decode()}" if version else "the nsys that wrote it"
        return (
            "a raw Nsight Systems stream, not yet a report",
            f"Make the report with {nsys}, QdstrmImporter --input-file {head.name}, "
            "and import that.",
        )
    if "StringIds.arrow" in head.entries:
        return "a Nsight Systems export as Arrow files, which TraceQL does not read", (
            _EXPORT
        )
    for name, found in (
        ("as Arrow", data.startswith(_ARROW) and b"table_name" in data[:4096]),
        ("as HDF5, which loses NULLs", data.startswith(_HDF) and b"StringIds" in data),
        ("as JSON, a dump without documentation", data.startswith(_JSON_DUMP)),
        ("as text, a dump without documentation", data.startswith(_TEXT_DUMP)),
    ):
        if found:
            return f"a Nsight Systems export {name}: TraceQL does not read it", _EXPORT
    return None


def is_damaged(head: Head) -> bool:
    """Whether it was to be a capture: a database cut short, an export that is empty."""
    if not head.data:
        return head.path.is_file() and head.path.suffix in _ENDINGS
    return head.data.startswith(_SQLITE) and not head.sqlite_tables


def refusal(uri: str, head: Head) -> UnrecognisedInput:
    """The error for a file that no importer takes, naming its kind where known."""
    # A byte order mark and space are no content, nor are zeros that nothing filled.
    if head.path.is_file() and not head.data.strip(b"\xef\xbb\xbf \t\r\n\0"):
        return UnrecognisedInput(f"{uri}: an empty file", hint="Record it again.")
    kind, advice = (
        foreign_capture(head)
        or _parquet(head)
        or _database(head)
        or _known_by_magic(head)
        or _smi_page(head)
        or _event_file(head)
        or _profiler_table(head)
        or foreign_json(head)
        or (
            "nothing that TraceQL imports",
            "traceql doctor lists the formats; --format forces one.",
        )
    )
    return UnrecognisedInput(f"{uri}: {kind}", hint=advice)


def _parquet(head: Head) -> tuple[str, str] | None:
    if not head.data.startswith(b"PAR1"):
        return None
    return "a Parquet file", _parquet_hint(head)


def _database(head: Head) -> tuple[str, str] | None:
    if not head.data.startswith(_SQLITE):
        return None
    if "CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL" in head.sqlite_tables:
        return (
            "an nvprof database, which TraceQL does not read",
            "Record with Nsight Systems; PyProf's .dict of it can be imported.",
        )
    tables = ", ".join(sorted(head.sqlite_tables)[:6])
    return (
        f"a SQLite database that is no capture (tables: {tables})"
        if tables
        else "a SQLite database that cannot be read: empty, cut or encrypted",
        "Export a report: nsys export --type sqlite REPORT",
    )


def _known_by_magic(head: Head) -> tuple[str, str] | None:
    for magic, kind, advice in _KINDS:
        if head.data.lstrip()[: len(magic)].lower() == magic.lower():
            return kind, advice
    if head.data[257:262] == b"ustar":
        return "a tar archive", "Unpack it: tar xf FILE; then import the folder."
    return None


def _smi_page(head: Head) -> tuple[str, str] | None:
    """What nvidia-smi prints for people, and no importer takes for a log."""
    text = texts.beginning(head.data[:4096])
    if _SMI_TABLE.search(text):
        return (
            "the table that nvidia-smi prints for people: its columns are cut to fit",
            "Log figures: nvidia-smi --query-gpu=timestamp,index,uuid,utilization.gpu,"
            "memory.used,power.draw --format=csv -l 1 -f LOG; or nvidia-smi -q.",
        )
    if not _SMI_GPU.match(text):
        return None
    if _SMI_LINK.search(text):
        return (
            "nvidia-smi nvlink -s, the speed of links: it does not say between whom",
            "Export the matrix of links: nvidia-smi topo -m > FILE.",
        )
    return (
        "nvidia-smi -L, a list of GPUs",
        "Export all that is known of them: nvidia-smi -q -x > FILE.",
    )


def _event_file(head: Head) -> tuple[str, str] | None:
    """What TensorBoard reads: DLProf before 1.0 wrote such too, into event_files/."""
    if ".tfevents." not in head.name and head.path.parent.name != "event_files":
        return None
    return (
        "a TensorBoard event file, which TraceQL does not read",
        "Of a DLProf run, import dlprof_dldb.sqlite, nsys_profile.sqlite or the CSV "
        "reports; of TensorFlow's profiler, the xplane.pb.",
    )


def _profiler_table(head: Head) -> tuple[str, str] | None:
    if not _TABLE.search(head.name):
        return None
    return (
        "a table that TensorFlow's profiler made of a profile",
        "Import the profile: the xplane.pb or trace.json.gz beside it.",
    )


def _parquet_hint(head: Head) -> str:
    folder: Path = head.path.parent
    if (folder / "StringIds.parquet").is_file():
        return f"It is a table of a Nsight Systems export: import the folder, {folder}."
    return "TraceQL imports captures; query Parquet in DuckDB."
