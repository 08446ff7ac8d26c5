"""A result with every type and every text that a format can stumble over."""

import datetime as dt
from decimal import Decimal

import pyarrow as pa

from traceql.query_file import ColumnDoc
from traceql.result import Result

_TEXT = 'a,"b"\t\\ |<b>&\x1b[31mé\u4e2d\u202e\x9b\r\nend'
_POINT = pa.struct([("x", pa.int32()), ("tags", pa.list_(pa.string()))])

# Column: (type, its value in the plain row, the extreme row, the odd row); a fourth
# row is NULL throughout.
_COLUMNS: dict[str, tuple[pa.DataType, object, object, object]] = {
    "device_id": (pa.int64(), 1, 123456789, -1),
    "total_ns": (pa.int64(), 1_500_000, 9_007_199_254_740_993, 1),
    "unsigned": (pa.uint64(), 0, 2**64 - 1, 1),
    "huge": (pa.decimal128(38, 0), Decimal(7), Decimal(10**37), Decimal(-1)),
    "share": (pa.float64(), 0.5, 1e300, float("nan")),
    "ratio": (pa.float64(), 2.0, float("inf"), float("-inf")),
    "single": (pa.float32(), 0.1, -0.0, 1e-7),
    "money": (pa.decimal128(20, 8), Decimal("1.5"), Decimal("1E-8"), Decimal(-2)),
    "at": (
        pa.timestamp("us"),
        dt.datetime(2024, 2, 29, 12, 34, 56, 789000),
        dt.datetime(1, 1, 1),
        dt.datetime(9999, 12, 31, 23, 59, 59, 999999),
    ),
    "zoned_ns": (pa.timestamp("ns", "Europe/Berlin"), 0, 1_709_210_096_789_000_001, -1),
    "day": (pa.date32(), dt.date(2024, 2, 29), dt.date(1, 1, 1), dt.date(9999, 12, 31)),
    "pause": (
        pa.month_day_nano_interval(),
        pa.MonthDayNano([1, 2, 3_500_000_000]),
        pa.MonthDayNano([0, 0, -1]),
        pa.MonthDayNano([0, 0, 0]),
    ),
    "flag": (pa.bool_(), True, False, None),
    "text": (pa.string(), "plain", _TEXT, ""),
    "kind": (pa.dictionary(pa.int8(), pa.string()), "gemm", 'q"', "gemm"),
    "raw": (pa.binary(), b"\xde\xad", b"\x00", b""),
    "list": (pa.list_(pa.float64()), [1.5, None], [float("nan")], []),
    "point": (_POINT, {"x": 1, "tags": ["a"]}, {"x": None, "tags": [_TEXT]}, {}),
    "map": (pa.map_(pa.string(), pa.int64()), [("k", 1)], [('q"', 2**63 - 1)], []),
    "by_number": (
        pa.map_(pa.int32(), pa.list_(pa.int8())),
        [(1, [2])],
        [(-1, [None]), (2, [])],
        None,
    ),
}

_DOCS = (
    ColumnDoc("device_id", "id", "key", "The GPU."),
    ColumnDoc("total_ns", "ns", "lower", "Sum of durations."),
    ColumnDoc("share", "share", "neutral", "Of <busy> time."),
)


def hard_result() -> Result:
    """Four rows: plain, extreme, odd, all NULL."""
    columns = {}
    for name, (kind, *values) in _COLUMNS.items():
        if name == "zoned_ns":
            columns[name] = pa.array([*values, None], pa.int64()).cast(kind)
        else:
            columns[name] = pa.array([*values, None], kind)
    note = "No <memcpy> rows."
    return Result(pa.table(columns), "Hard <types>", _DOCS, note, "SELECT 1")
