"""Arrow columns as text: exact, and without a Python loop over plain values.

Invariant: the text of a value reads back as the same value. Nested values are
JSON in every text format; JSON has no NaN and no infinities, so there they are
null.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.compute as pc

BATCH_ROWS = 65_536
_UNSAFE_JSON = '["\\\\\\x00-\\x1f\\x7f-\\x9f]'


def batches(table: pa.Table) -> Iterator[list[pa.Array]]:
    """The columns of `table`, some ten thousand rows at a time."""
    for batch in table.to_batches(max_chunksize=BATCH_ROWS):
        if batch.num_rows:
            yield batch.columns


def join(cells: list[pa.Array | str], separator: str) -> pa.Array:
    """One text a row: its cells joined; a missing cell is empty."""
    return pc.binary_join_element_wise(
        *cells, separator, null_handling="replace", null_replacement=""
    )


def write_text(stream: BinaryIO, array: pa.Array) -> None:
    """Writes all strings of an array one after the other, without copying them."""
    plain = pc.binary_join_element_wise(array, "", "")
    size = pc.sum(pc.binary_length(plain)).as_py() or 0
    if size:
        stream.write(memoryview(plain.buffers()[2])[:size])


def text(array: pa.Array) -> pa.Array:
    """Each value as text, NULL as NULL; nested values as JSON."""
    kind = array.type
    if pa.types.is_dictionary(kind):
        return text(array.dictionary).take(array.indices)
    if isinstance(kind, pa.BaseExtensionType):
        return text(array.storage)
    if pa.types.is_nested(kind):
        return pc.if_else(array.is_null(), pa.scalar(None, pa.string()), _nested(array))
    for applies, convert in (
        (pa.types.is_floating, _float_text),
        (pa.types.is_timestamp, _timestamp_text),
        (pa.types.is_decimal, _decimal_text),
        (_is_opaque, _python_text),
    ):
        if applies(kind):
            return convert(array)
    return array.cast(pa.string())


def json_text(array: pa.Array) -> pa.Array:
    """Each value as JSON; NULL as null."""
    kind = array.type
    if pa.types.is_dictionary(kind):
        found = json_text(array.dictionary).take(array.indices)
    elif isinstance(kind, pa.BaseExtensionType):
        found = json_text(array.storage)
    elif pa.types.is_floating(kind):
        found = pc.if_else(pc.is_finite(array), _float_text(array), "null")
    elif pa.types.is_nested(kind):
        found = pc.if_else(array.is_null(), "null", _nested(array))
    elif (
        pa.types.is_integer(kind)
        or pa.types.is_boolean(kind)
        or pa.types.is_decimal(kind)
    ):
        found = text(array)
    else:
        found = quoted(text(array))
    return found.fill_null("null")


def quoted(strings: pa.Array) -> pa.Array:
    """Each string as a JSON string, control characters escaped; NULL stays NULL."""
    if not pc.any(pc.match_substring_regex(strings, _UNSAFE_JSON)).as_py():
        return pc.binary_join_element_wise('"', strings, '"', "")
    return pa.array([None if s is None else _quote(s) for s in strings.to_pylist()])


def storable(table: pa.Table) -> pa.Table:
    """`table` with what Parquet and Polars have no type for as text."""
    for at, field in enumerate(table.schema):
        kind = field.type
        if kind == pa.month_day_nano_interval() or pa.types.is_union(kind):
            parts = [text(part) for part in table.column(at).chunks]
            table = table.set_column(
                at, field.name, pa.chunked_array(parts, type=pa.string())
            )
    return table


def _is_opaque(kind: pa.DataType) -> bool:
    return bool(
        kind == pa.month_day_nano_interval()
        or pa.types.is_binary(kind)
        or pa.types.is_large_binary(kind)
        or pa.types.is_fixed_size_binary(kind)
        or pa.types.is_binary_view(kind)
    )


def _quote(value: str) -> str:
    quoted = json.dumps(value, ensure_ascii=False)
    if quoted.isascii() and "\x7f" not in quoted:
        return quoted
    # JSON lets DEL and C1 through as they are; a terminal may obey them.
    return "".join(f"\\u{ord(c):04x}" if "\x7f" <= c <= "\x9f" else c for c in quoted)


def _float_text(array: pa.Array) -> pa.Array:
    # Arrow writes the shortest digits that read back as the same number, and 1 for
    # 1.0: the point keeps it a float for whoever guesses types.
    if pa.types.is_float16(array.type):
        array = array.cast(pa.float32())
    plain = array.cast(pa.string())
    whole = pc.match_substring_regex(plain, r"^-?\d+$")
    return pc.if_else(whole, pc.binary_join_element_wise(plain, ".0", ""), plain)


def _timestamp_text(array: pa.Array) -> pa.Array:
    # A zoned timestamp holds UTC: dropping the zone leaves UTC's clock. The cast is
    # ten times as fast as strftime.
    clock = array.cast(pa.timestamp(array.type.unit)).cast(pa.string())
    iso = pc.replace_substring(clock, " ", "T", max_replacements=1)
    return pc.binary_join_element_wise(iso, "Z", "") if array.type.tz else iso


def _decimal_text(array: pa.Array) -> pa.Array:
    plain = array.cast(pa.string())
    if not pc.any(pc.match_substring(plain, "E")).as_py():
        return plain
    values = array.to_pylist()
    return pa.array([None if v is None else f"{v:f}" for v in values], pa.string())


def _python_text(array: pa.Array) -> pa.Array:
    def one(value: Any) -> str:
        if isinstance(value, bytes):
            return value.hex()
        months, days, ns = value
        sign = "-" if ns < 0 else ""
        whole, rest = divmod(abs(ns), 1_000_000_000)
        return f"P{months}M{days}DT{sign}{whole}.{rest:09d}S"

    values = array.to_pylist()
    return pa.array([None if v is None else one(v) for v in values], pa.string())


def _nested(array: pa.Array) -> pa.Array:
    """JSON of a struct, map, list or union; rows that are NULL give any text."""
    kind = array.type
    if pa.types.is_struct(kind):
        cells: list[pa.Array | str] = []
        for at, child in enumerate(array.flatten()):
            name = _quote(kind.field(at).name)
            cells += [f"{', ' if at else '{'}{name}: ", json_text(child)]
        return join([*cells, "}"], "")
    if pa.types.is_map(kind):
        low, offsets, length = _offsets(array)
        keys = array.keys.slice(low, length)
        names = json_text(keys) if pa.types.is_string(keys.type) else quoted(text(keys))
        items = json_text(array.items.slice(low, length))
        return _enclosed("{", offsets, join([names, items], ": "), "}")
    if pa.types.is_union(kind):
        return pa.array(
            [json.dumps(v, default=str, ensure_ascii=False) for v in array.to_pylist()],
            pa.string(),
        )
    if not pa.types.is_list(kind):
        array = array.cast(pa.list_(kind.value_type))
    low, offsets, length = _offsets(array)
    return _enclosed("[", offsets, json_text(array.values.slice(low, length)), "]")


def _offsets(array: pa.Array) -> tuple[int, pa.Array, int]:
    # A slice shares the values of the whole: take only its own part of them.
    low, high = array.offsets[0].as_py(), array.offsets[-1].as_py()
    return low, pc.subtract(array.offsets, low), high - low


def _enclosed(left: str, offsets: pa.Array, items: pa.Array, right: str) -> pa.Array:
    lists = pa.ListArray.from_arrays(offsets, items)
    return join([left, pc.binary_join(lists, ", "), right], "")
