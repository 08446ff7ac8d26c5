"""The messages of an XSpace as far as they are read, for the protobuf runtime.

Numbers of fields are the wire's; names are what this package calls them. Planes, lines
and events are absent: their fields are walked (see `wire`), since a plane may be larger
than memory.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

_PACKAGE = "traceql.xplane"
_Field = descriptor_pb2.FieldDescriptorProto
_TYPES = {
    "int64": _Field.TYPE_INT64,
    "uint64": _Field.TYPE_UINT64,
    "double": _Field.TYPE_DOUBLE,
    "bytes": _Field.TYPE_BYTES,
}
# Text is declared as bytes: names of symbols need not be UTF-8.
_MESSAGES = {
    "Stat": {
        1: ("stat_id", "int64"),
        2: ("double", "double"),
        3: ("unsigned", "uint64"),
        4: ("signed", "int64"),
        5: ("text", "bytes"),
        6: ("data", "bytes"),
        7: ("reference", "uint64"),
    },
    "EventType": {
        1: ("id", "int64"),
        2: ("name", "bytes"),
        4: ("display_name", "bytes"),
        5: ("stats", "[Stat]"),
    },
    "EventTypeEntry": {1: ("key", "int64"), 2: ("value", "EventType")},
    "StatType": {1: ("id", "int64"), 2: ("name", "bytes")},
    "StatTypeEntry": {1: ("key", "int64"), 2: ("value", "StatType")},
    "LineHead": {
        1: ("id", "int64"),
        2: ("name", "bytes"),
        3: ("timestamp_ns", "int64"),
        9: ("duration_ps", "int64"),
        10: ("display_id", "int64"),
        11: ("display_name", "bytes"),
    },
    "PlaneHead": {
        1: ("id", "int64"),
        2: ("name", "bytes"),
        6: ("stats", "[Stat]"),
    },
    "SpaceHead": {
        2: ("errors", "[bytes]"),
        3: ("warnings", "[bytes]"),
        4: ("hostnames", "[bytes]"),
    },
}
# Of these a message has one, and zero is a value: the wire says which.
_ONE_OF = {"Stat": range(2, 8)}


@cache
def message(name: str) -> Any:
    """The class of a message, as the runtime makes it."""
    return _classes()[name]


@cache
def _classes() -> dict[str, Any]:
    file = descriptor_pb2.FileDescriptorProto(
        name="traceql/xplane.proto", package=_PACKAGE, syntax="proto3"
    )
    for name, fields in _MESSAGES.items():
        made = file.message_type.add(name=name)
        if name in _ONE_OF:
            made.oneof_decl.add(name="value")
        for number, (field_name, written) in fields.items():
            field = made.field.add(name=field_name, number=number)
            repeated = written.startswith("[")
            field.label = _Field.LABEL_REPEATED if repeated else _Field.LABEL_OPTIONAL
            kind = written.strip("[]")
            if kind in _TYPES:
                field.type = _TYPES[kind]
            else:
                field.type = _Field.TYPE_MESSAGE
                field.type_name = f".{_PACKAGE}.{kind}"
            if number in _ONE_OF.get(name, ()):
                field.oneof_index = 0
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return {
        name: message_factory.GetMessageClass(
            pool.FindMessageTypeByName(f"{_PACKAGE}.{name}")
        )
        for name in _MESSAGES
    }
