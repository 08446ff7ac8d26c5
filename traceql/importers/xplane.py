"""XPlane files (xplane.pb), which TensorFlow, JAX and PyTorch/XLA write.

The trace viewer's JSON beside such a file is made of it, and may be capped; this is the
whole of it.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from traceql.errors import ImportFailed
from traceql.importers import Context, Head
from traceql.importers.tf2_trace import job_of

if TYPE_CHECKING:
    import duckdb

    from traceql.importers._xplane.wire import Damaged

_HERE = Path(__file__).parent
_MAPPING = ("xplane.sql", "xplane_host.sql")
# A plane's name stands near its beginning, also where bytes before it are damaged.
_PLANE = re.compile(
    rb"/(device:[A-Za-z_]+:\d|host:[A-Za-z])|Task Environment|#Chip |/device:CUSTOM"
)
_NAME_WITHIN = 256
_LOST_BYTES = b"\xef\xbf\xbd"
_LOST_SHARE = 0.02


class XPlane:
    """Importer of XSpace protobufs."""

    name = "xplane"
    version = 3
    title = "XPlane profile of TensorFlow, JAX or PyTorch/XLA"

    def sniff(self, head: Head) -> float:
        """Sure by the frame of the first plane, less by the name of a plane alone."""
        return _sniff(head.data)

    def read(
        self, path: Path, con: duckdb.DuckDBPyConnection, ctx: Context
    ) -> dict[str, Any]:
        """Imports one file; see `Importer.read`.

        Raises:
            ImportFailed: The protobuf is cut or damaged; the message says where.
        """
        from traceql.importers._xplane.index import Walk
        from traceql.importers._xplane.running import MappingRun
        from traceql.importers._xplane.wire import Damaged

        try:
            space = Walk(path).space()
            mapping = [_HERE / name for name in _MAPPING]
            facts = MappingRun(con, ctx, space, mapping).run()
        except Damaged as error:
            raise _refused(path, error) from error
        return facts | {"job": job_of(ctx.source)}


IMPORTER = XPlane()


def _sniff(data: bytes) -> float:
    from traceql.importers._xplane import wire

    if not data or (b"\x00" not in data[:4096] and data[:1] in b"{[<"):
        return 0.0
    named = _PLANE.search(data[:_NAME_WITHIN]) is not None
    try:
        first = wire.field_at(data, 0)
        if first.number != 1 or first.kind != wire.LENGTH:
            # Host names, errors and warnings may come before the planes.
            return 0.6 if named and first.number in (2, 3, 4) else 0.0
        at = first.begin
        for _ in range(8):
            field = wire.field_at(data, at)
            if field.number == 2 and field.kind == wire.LENGTH:
                name = data[field.begin : field.end]
                return 0.95 if _PLANE.match(name) else (0.6 if named else 0.0)
            if field.number not in (1, 3, 4, 5, 6):
                break
            at = field.end
    except (IndexError, wire.Damaged):
        pass
    return 0.6 if named and data[:1] == b"\x0a" else 0.0


def _refused(path: Path, error: Damaged) -> ImportFailed:
    from traceql.importers._xplane.wire import CutShort

    with path.open("rb") as file:
        head = file.read(1 << 20)
    if head.count(_LOST_BYTES) * len(_LOST_BYTES) > len(head) * _LOST_SHARE:
        hint = (
            "It was copied as text: bytes that are no UTF-8 are lost, for ever. Copy "
            "the original again, as binary."
        )
    elif isinstance(error, CutShort):
        hint = "Copy the file again, whole; or import the trace.json.gz beside it."
    else:
        hint = "Copy the file again; or import the trace.json.gz beside it."
    kind = "cut" if isinstance(error, CutShort) else "damaged"
    return ImportFailed(
        f"{path}: the XPlane protobuf is {kind} at byte {error.position} of "
        f"{path.stat().st_size}: {error.what}",
        hint=hint,
    )
