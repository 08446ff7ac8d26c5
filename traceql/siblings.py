"""Which files of a folder are one capture.

A report and the exports of it are; so is what a TensorFlow or JAX profile has of a
host.

Invariant: of files that bear one name, the best to read stands for all, and says so;
what the user names himself is never left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from traceql import unpacking
from traceql.importers import HEAD_BYTES, Head, Importer, detect, read_head
from traceql.recognise import foreign_capture
from traceql.sources import Named

# An export needs no nsys, and SQLite is what nsys itself keeps beside its reports. An
# XSpace has all events, the trace viewer's JSON as many as a browser bears.
_RANKS = {
    **{"nsight-sqlite": 0, "nsight-parquet": 1, "nsight-report": 2},
    **{"xplane": 0, "tf2-trace": 1},
}
_FOREIGN = 3
# The endings that nsys gives: of files, and of the folders of an export.
_FILES = {
    *(".nsys-rep", ".qdrep", ".qdstrm", ".sqlite"),
    *(".h5", ".arrow", ".arrows", ".json", ".jsonl", ".txt"),
}
_FOLDERS = ("_pqtdir", "_arwdir")
# What a profile has of a host, after the host's name.
_PROFILE = (".xplane.pb", ".trace.json.gz", ".trace.json")
# JAX's copy for Perfetto, of one of the hosts beside it.
_COPY = "perfetto_trace.json"


def one_of_each(
    items: Iterable[Named], importers: Mapping[str, Importer]
) -> list[Named]:
    """The items without those that a better one of the same name stands for.

    Args:
        items: What there is to import, in order.
        importers: The importers to recognise it with.
    """
    items = list(items)
    groups: dict[Path, list[Named]] = {}
    for item in items:
        key = None if item.explicit else _capture(Path(item.uri))
        if key is not None:
            groups.setdefault(key, []).append(item)
    left_out: dict[Named, list[Named]] = {}
    for members in groups.values():
        if len(members) > 1:
            ranked = [(_rank(Path(m.uri), importers), m) for m in members]
            known = [(rank, member) for rank, member in ranked if rank is not None]
            best, kept = min(known, key=lambda pair: pair[0], default=(_FOREIGN, None))
            if kept is not None:
                left_out[kept] = [member for rank, member in known if rank > best]
    gone = {member for members in left_out.values() for member in members}
    return [_noted(item, left_out.get(item, [])) for item in items if item not in gone]


def _capture(path: Path) -> Path | None:
    """The path without its ending; None where no profiler gives such an ending."""
    if path.name.startswith(_COPY):
        hosts = (_of_host(inner) for inner in sorted(path.parent.iterdir()))
        return next((host for host in hosts if host), None)
    if (host := _of_host(path)) is not None:
        return host
    for ending in _FOLDERS:
        if path.name.endswith(ending):
            return path.with_name(path.name.removesuffix(ending))
    return path.with_suffix("") if path.suffix in _FILES else None


def _of_host(path: Path) -> Path | None:
    ending = next((e for e in _PROFILE if path.name.endswith(e)), None)
    return path.with_name(path.name.removesuffix(ending)) if ending else None


def _rank(path: Path, importers: Mapping[str, Importer]) -> int | None:
    try:
        head = read_head(path)
        if path.is_file():
            head = Head(path.name, unpacking.beginning(path, HEAD_BYTES), path)
    except OSError:
        return None  # its own import will say so
    importer = detect(head, importers)
    if importer is not None:
        rank = _RANKS.get(importer.name)
        return rank + 1 if rank is not None and path.name.startswith(_COPY) else rank
    return _FOREIGN if foreign_capture(head) else None


def _noted(kept: Named, left_out: list[Named]) -> Named:
    notes = list(kept.notes)
    for item in left_out:
        name = Path(item.uri).name
        note = (
            f"{name} is left out: by its name it is the same capture; to import it "
            "too, name it"
        )
        is_newer = Path(item.uri).stat().st_mtime > Path(kept.uri).stat().st_mtime + 1
        if is_newer and _of_host(Path(kept.uri)) is None:
            note += (
                f". {name} is the newer of the two: if it was recorded anew, export "
                "it again"
            )
        notes.append(note)
    return replace(kept, notes=tuple(notes)) if left_out else kept
