"""Events of a piece as Arrow columns: numbers by numpy, texts by dictionaries.

Stats that the mapping names are columns; all but those whose column says all of them
are also in `rest`, a JSON object, in their order in the file.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from traceql.importers._xplane.index import Line, Piece, Plane, event_frames, text
from traceql.importers._xplane.wire import (
    EIGHT,
    LENGTH,
    VARINT,
    Bytes,
    Damaged,
    Ints,
    Many,
    Unsigned,
    many,
)

_BATCH = 16_384
# Fields of an event and of a stat.
_TYPE, _OFFSET, _DURATION, _STATS, _OCCURRENCES = 1, 2, 3, 4, 5
_DOUBLE, _UNSIGNED, _SIGNED, _TEXT, _DATA, _REFERENCE = 2, 3, 4, 5, 6, 7
_WIRE = {_DOUBLE: EIGHT, _UNSIGNED: VARINT, _SIGNED: VARINT, _TEXT: LENGTH,
         _DATA: LENGTH, _REFERENCE: VARINT}  # fmt: skip
_NUMBERS = {
    "correlation_id": "correlation_id",
    "group_id": "group_id",
    "step_num": "step_num",
    "device_id": "stated_device_id",
    "addr": "address",
    "address": "address",
    "allocation_bytes": "allocation_bytes",
    "bytes_allocated": "bytes_allocated",
    "bytes_reserved": "bytes_reserved",
    "model_flops": "model_flops",
    "flops": "flops",
    "cuda_graph_id": "graph_id",
    "cuda_graph_node_id": "graph_node_id",
    "is_eager": "is_eager",
}
_TEXTS = {
    "context_id": "context_id",
    "kernel_details": "kernel_details",
    "memcpy_details": "memcpy_details",
    "memset_details": "memset_details",
    "step_name": "step_name",
    "annotation": "annotation",
    "tf_op": "tf_op",
    "hlo_op": "hlo_op",
    "allocator_name": "allocator_name",
}
# A column of the schema says all of these.
_ONLY_COLUMNS = frozenset({"correlation_id", "context_id"})
_MAX_SIGNED = np.uint64(1 << 63)

SCHEMA = pa.schema(
    [
        ("event_id", pa.int64()),
        ("plane_id", pa.int64()),
        ("line_id", pa.int64()),
        ("type_id", pa.int64()),
        ("ts_ns", pa.int64()),
        ("dur_ns", pa.int64()),
        ("occurrences", pa.int64()),
        *((name, pa.int64()) for name in dict.fromkeys(_NUMBERS.values())),
        *((name, pa.string()) for name in _TEXTS.values()),
        ("rest", pa.string()),
    ]
)


@dataclass(frozen=True)
class _Stats:
    """Stats of some events: which event, which stat, how it is written, its value."""

    event: Ints
    name: Ints
    kind: Ints
    value: Unsigned
    begin: Ints


class Decoder:
    """Decodes the events of one plane.

    Attributes:
        unknown: Stats that refer to a name that the plane does not have.
    """

    def __init__(self, plane: Plane, origin_ns: int) -> None:
        self._plane = plane
        self._origin_ns = origin_ns
        ids = sorted(plane.stat_names)
        self._ids = np.array(ids, np.int64)
        self._names = [plane.stat_names[i] for i in ids]
        self._keys = [
            json.dumps(name, ensure_ascii=False) + ":" for name in self._names
        ]
        self._number = self._by_name(_NUMBERS)
        self._text = self._by_name(_TEXTS)
        self._kept = np.array([n not in _ONLY_COLUMNS for n in self._names], np.bool_)

    def _by_name(self, wanted: dict[str, str]) -> dict[str, list[int]]:
        """For each column the numbers of the stats that fill it."""
        found: dict[str, list[int]] = {column: [] for column in wanted.values()}
        for number, name in enumerate(self._names):
            if name in wanted:
                found[wanted[name]].append(number)
        return found

    def batches(
        self, line: Line, piece: Piece, data: Bytes, *, with_rest: bool
    ) -> Iterator[pa.RecordBatch]:
        """The events of a piece, in the file's order.

        Args:
            line: Their line.
            piece: Where they are.
            data: The piece's bytes, as `index.read_piece` gives them.
            with_rest: Whether `rest` is wanted.

        Raises:
            Damaged: An event is no message.
        """
        size = piece.end - piece.start
        begins, ends = event_frames(data.tobytes(), size, piece.start)
        for low in range(0, begins.size, _BATCH):
            begin, end = begins[low : low + _BATCH], ends[low : low + _BATCH]
            found = many(data, begin, end, piece.start)
            columns = self._columns(found, line, begin.size)
            columns["event_id"] = pa.array(
                np.arange(begin.size, dtype=np.int64) + (piece.first_event + low)
            )
            stats = self._stats(found, data, piece.start)
            columns |= self._stat_columns(stats, data, begin.size, with_rest)
            yield pa.RecordBatch.from_arrays(
                [
                    columns[field.name]
                    if field.name in columns
                    else pa.nulls(begin.size, field.type)
                    for field in SCHEMA
                ],
                schema=SCHEMA,
            )

    def _columns(self, found: Many, line: Line, events: int) -> dict[str, Any]:
        def last(number: int) -> tuple[Ints, npt.NDArray[np.bool_]]:
            """The value of a field of each event: of several the last counts."""
            of = (found.number == number) & (found.kind == VARINT)
            value = np.zeros(events, np.int64)
            value[found.message[of]] = found.value[of].view(np.int64)
            known = np.zeros(events, np.bool_)
            known[found.message[of]] = True
            return value, known

        type_id, _ = last(_TYPE)
        offset_ps, _ = last(_OFFSET)
        duration_ps, _ = last(_DURATION)
        occurrences, aggregated = last(_OCCURRENCES)
        start_ns = line.head.timestamp_ns - self._origin_ns
        return {
            "plane_id": pa.repeat(pa.scalar(self._plane.number, pa.int64()), events),
            "line_id": pa.repeat(pa.scalar(line.number, pa.int64()), events),
            "type_id": pa.array(type_id),
            "ts_ns": pa.array(start_ns + to_ns(offset_ps)),
            "dur_ns": pa.array(to_ns(duration_ps)),
            "occurrences": pa.array(occurrences, mask=~aggregated),
        }

    def _stats(self, found: Many, data: Bytes, base: int) -> _Stats:
        of = np.flatnonzero((found.number == _STATS) & (found.kind == LENGTH))
        begin = found.begin[of]
        # The stats of an event in their order, events in theirs.
        order = np.argsort(found.message[of], kind="stable")
        of, begin = of[order], begin[order]
        inner = many(data, begin, begin + found.value[of].astype(np.int64), base)
        ids = np.zeros(of.size, np.int64)
        is_id = (inner.number == 1) & (inner.kind == VARINT)
        ids[inner.message[is_id]] = inner.value[is_id].view(np.int64)
        kind = np.zeros(of.size, np.int64)
        value = np.zeros(of.size, np.uint64)
        start = np.zeros(of.size, np.int64)
        for number, wire in _WIRE.items():
            one = (inner.number == number) & (inner.kind == wire)
            which = inner.message[one]
            kind[which], value[which] = number, inner.value[one]
            start[which] = inner.begin[one]
        place = np.searchsorted(self._ids, ids) if self._ids.size else ids
        place = np.minimum(place, max(0, self._ids.size - 1))
        known = self._ids[place] == ids if self._ids.size else np.zeros(0, np.bool_)
        if not self._ids.size and ids.size:
            known = np.zeros(ids.size, np.bool_)
        good = known & (kind > 0)
        return _Stats(
            found.message[of][good], place[good], kind[good], value[good], start[good]
        )

    def _stat_columns(
        self, stats: _Stats, data: Bytes, events: int, with_rest: bool
    ) -> dict[str, Any]:
        columns: dict[str, Any] = {}
        present = np.bincount(stats.name, minlength=len(self._names)) > 0
        rest = self._kept[stats.name] if stats.name.size else np.zeros(0, np.bool_)
        for column, numbers in self._number.items():
            if not present[numbers].any():
                continue
            of = np.isin(stats.name, numbers)
            whole = of & (
                (stats.kind == _SIGNED)
                | ((stats.kind == _UNSIGNED) & (stats.value < _MAX_SIGNED))
            )
            rest |= of & ~whole
            value = np.zeros(events, np.int64)
            value[stats.event[whole]] = stats.value[whole].view(np.int64)
            unknown = np.ones(events, np.bool_)
            unknown[stats.event[whole]] = False
            columns[column] = pa.array(value, mask=unknown)
        code, dictionary = self._texts(stats, data)
        for column, numbers in self._text.items():
            if not present[numbers].any():
                continue
            of = np.isin(stats.name, numbers) & (code >= 0)
            codes = np.full(events, -1, np.int32)
            codes[stats.event[of]] = code[of]
            taken = pa.array(codes, mask=codes < 0)
            columns[column] = dictionary.take(taken)
        if with_rest and rest.any():
            columns["rest"] = self._rest(stats, rest, code, dictionary, events)
        return columns

    def _texts(self, stats: _Stats, data: Bytes) -> tuple[Any, pa.StringArray]:
        """A code for each stat that is a text, and the texts by code."""
        code = np.full(stats.name.size, -1, np.int32)
        known: dict[str, int] = {}
        refers = np.flatnonzero(stats.kind == _REFERENCE)
        if refers.size:
            ids, place = np.unique(stats.value[refers], return_inverse=True)
            names = [self._plane.stat_names.get(int(i)) for i in ids]
            codes = [
                -1 if n is None else known.setdefault(n, len(known)) for n in names
            ]
            code[refers] = np.array(codes, np.int32)[place.ravel()]
        inline = np.flatnonzero(stats.kind == _TEXT)
        if inline.size:
            encoded = _slices(
                data, stats.begin[inline], stats.value[inline].astype(np.int64)
            ).dictionary_encode()
            found = [text(v) for v in encoded.dictionary.to_pylist()]
            codes = [known.setdefault(t, len(known)) for t in found]
            indices = encoded.indices.to_numpy(zero_copy_only=False)
            code[inline] = np.array(codes, np.int32)[indices]
        return code, pa.array(list(known), pa.string())

    def _rest(
        self,
        stats: _Stats,
        wanted: npt.NDArray[np.bool_],
        code: Any,
        dictionary: pa.StringArray,
        events: int,
    ) -> pa.StringArray:
        """A JSON object for each event that has such stats."""
        of = np.flatnonzero(wanted)
        kind, value = stats.kind[of], stats.value[of]
        quoted = [json.dumps(t, ensure_ascii=False) for t in dictionary.to_pylist()]
        parts: list[pa.Array] = []
        order: list[Ints] = []
        writers: list[tuple[Any, Callable[[Any, Any], pa.Array]]] = [
            (kind == _SIGNED, lambda v, _: _written(pa.array(v.view(np.int64)))),
            (kind == _UNSIGNED, lambda v, _: _written(pa.array(v))),
            (kind == _DOUBLE, lambda v, _: _written_double(v.view(np.float64))),
            (kind == _DATA, lambda v, _: _written(pa.array(v))),
            (
                (kind == _TEXT) | (kind == _REFERENCE),
                lambda v, c: pa.array([*quoted, "null"], pa.string()).take(pa.array(c)),
            ),
        ]
        for is_kind, written in writers:
            rows = np.flatnonzero(is_kind)
            if rows.size:
                codes = code[of[rows]]
                codes = np.where(codes < 0, len(quoted), codes)
                parts.append(written(value[rows], codes))
                order.append(rows)
        places = np.empty(of.size, np.int64)
        places[np.concatenate(order)] = np.arange(of.size)
        values = pa.concat_arrays(parts).take(pa.array(places))
        keys = pa.array(self._keys, pa.string()).take(pa.array(stats.name[of]))
        pairs = pc.binary_join_element_wise(keys, values, "")
        counts = np.bincount(stats.event[of], minlength=events)
        offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
        joined = pc.binary_join(pa.ListArray.from_arrays(pa.array(offsets), pairs), ",")
        objects = pc.binary_join_element_wise("{", joined, "}", "")
        return pc.if_else(pa.array(counts > 0), objects, None)


def to_ns(picoseconds: Ints) -> Ints:
    """Nanoseconds, exactly: halves go up, which is away from zero after the start."""
    return (picoseconds + 500) // 1000


def _written(numbers: pa.Array) -> pa.StringArray:
    return numbers.cast(pa.string())


def _written_double(numbers: npt.NDArray[np.float64]) -> pa.StringArray:
    """JSON has no infinity, and no number that is none."""
    written = pa.array(numbers).cast(pa.string())
    return pc.if_else(pa.array(np.isfinite(numbers)), written, "null")


def _slices(data: Bytes, begin: Ints, size: Ints) -> pa.BinaryArray:
    """Parts of a buffer as an array."""
    offsets = np.concatenate([[0], np.cumsum(size)])
    if int(offsets[-1]) >= 1 << 31:
        raise Damaged(0, "texts of two gigabytes in one piece")
    gather = np.repeat(begin - offsets[:-1], size) + np.arange(int(offsets[-1]))
    buffers = [
        None,
        pa.py_buffer(offsets.astype(np.int32).tobytes()),
        pa.py_buffer(data[gather].tobytes()),
    ]
    return pa.Array.from_buffers(pa.binary(), begin.size, buffers)
