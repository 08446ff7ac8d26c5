"""nvidia-smi topo -m: how each pair of GPUs and network cards is linked.

A matrix with tabs, whose header newer drivers underline; legends follow it. Rows may
have more cells than the header: columns are counted from the left, up to affinities.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from traceql.importers import Context, Head
from traceql.importers._smi import text as texts

if TYPE_CHECKING:
    import duckdb

_AFFINITY = "CPU Affinity"
_SELF = "X"
_LEGEND = re.compile(r"\s*(NIC\d+): (\S+)\s*")


class NvidiaSmiTopology:
    """Importer of a matrix of links."""

    name = "nvidia-smi-topology"
    version = 1
    title = "nvidia-smi topo -m"

    def sniff(self, head: Head) -> float:
        """Sure by the header: devices, then affinities."""
        first = texts.beginning(head.data).lstrip("\n").partition("\n")[0]
        cells = [cell.strip() for cell in first.split("\t")]
        return 0.9 if cells[:2] == ["", "GPU0"] and _AFFINITY in cells else 0.0

    def read(
        self, path: Path, con: duckdb.DuckDBPyConnection, ctx: Context
    ) -> dict[str, Any]:
        """Imports one matrix; see `Importer.read`."""
        lines = texts.beginning(path.read_bytes()).split("\n")
        rows = [[cell.strip() for cell in line.split("\t")] for line in lines]
        header = next(row for row in rows if any(row))
        devices = header[1 : header.index(_AFFINITY)]
        matrix = {row[0]: row[1:] for row in rows if row[0] in devices}
        known = {
            (one, other): kind
            for one, kinds in matrix.items()
            for other, kind in zip(devices, kinds, strict=False)
            if kind not in ("", _SELF) and one != other
        }
        links = [
            (one, other, kind)
            for (one, other), kind in known.items()
            # A link stands in the matrix twice; where the two differ both count.
            if devices.index(one) < devices.index(other)
            or known.get((other, one)) != kind
        ]
        legend = [m for line in lines if (m := _LEGEND.fullmatch(line))]
        names = {str(m[1]): str(m[2]) for m in legend}
        con.execute(
            "CREATE TABLE link (from_device VARCHAR, to_device VARCHAR, kind VARCHAR, "
            "extra VARCHAR);"
            "CREATE TABLE gpu (device_id INTEGER, cpus VARCHAR, numa VARCHAR)"
        )
        if links:
            con.executemany(
                "INSERT INTO link VALUES (?, ?, ?, ?)",
                [(a, b, kind, _names(names, a, b)) for a, b, kind in links],
            )
        gpus = [
            (int(name[3:]), *(c or None for c in _affinities(kinds, len(devices))))
            for name, kinds in matrix.items()
            if re.fullmatch(r"GPU\d+", name)
        ]
        if gpus:
            con.executemany("INSERT INTO gpu VALUES (?, ?, ?)", gpus)
        ctx.writer.write(con, "topology", "SELECT * FROM link")
        ctx.writer.write(
            con,
            "device",
            "SELECT device_id, 'gpu' AS kind, 'nvidia' AS vendor, "
            "json_object('cpu_affinity', cpus, 'numa_affinity', numa) AS extra "
            "FROM gpu ORDER BY device_id",
        )
        ctx.diagnostics.add(
            "cut_matrix",
            "data_loss",
            "Rows of the matrix are missing or short: so are their links.",
            count=sum(len(matrix.get(name, [])) < len(devices) for name in devices),
        )
        ctx.diagnostics.add(
            "one_way_links",
            "warning",
            "Links that the matrix states differently in its two directions.",
            count=len(links) - len({frozenset(link[:2]) for link in links}),
        )
        return {"tool": "nvidia-smi", "clock": "none"}


IMPORTER = NvidiaSmiTopology()


def _affinities(kinds: list[str], width: int) -> list[str]:
    return [*kinds[width : width + 2], "", ""][:2]


def _names(names: dict[str, str], one: str, other: str) -> str | None:
    """What the legend calls the network cards among two devices, as JSON."""
    known = {device: names[device] for device in (one, other) if device in names}
    return json.dumps({"names": known}) if known else None
