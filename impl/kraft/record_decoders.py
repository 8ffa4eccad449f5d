"""Readers and writers of metadata records, compiled to Python from the schemas: one function for each kind and version.

Numbers are big-endian; lengths, keys and versions are unsigned varints. Fields with a tag come last, each only if its value is not
the usual one; the values of such a part are remembered by its bytes, since the records of a log repeat few of them.

Source: Kafka 3.9 MetadataRecordSerde.java (AbstractApiMessageSerde); KIP-482.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from kafka_spec.impl.kraft.record_schemas import SCHEMAS, Schema, SchemaField

FRAME_VERSION = 1
MOST_REMEMBERED = 1 << 16
"""The number of tagged parts that are remembered for each kind and version."""
NUMBERS = {"int8": "b", "int16": "h", "uint16": "H", "int32": "i", "int64": "q", "bool": "?", "float64": "d", "uuid": "16s"}
LARGEST_VARINT = 28
"""The shift of the fifth and last byte of a varint."""

Read: TypeAlias = Callable[[bytes, int], Any]


class UnreadableRecord(ValueError):  # noqa: N818 - the name is the message
    """Bytes are not a record that is known here."""


# ---------------------------------------------------------------------------------------------------------------------
# Pieces


def read_varint(data: bytes, place: int) -> tuple[int, int]:
    """Return an unsigned varint, and the place after it.

    Raises:
        UnreadableRecord: it has more than five bytes.
    """
    value = shift = 0
    while True:
        byte = data[place]
        place += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, place
        shift += 7
        if shift > LARGEST_VARINT:
            raise UnreadableRecord("a varint has more than five bytes")


def varint(value: int) -> bytes:
    """Return an unsigned varint."""
    data = bytearray()
    while value >= 0x80:
        data.append(value & 0x7F | 0x80)
        value >>= 7
    data.append(value)
    return bytes(data)


def read_numbers(data: bytes, place: int, letter: str, size: int) -> tuple[tuple[Any, ...] | None, int]:
    """Return an array of numbers or ids, None for a null one, and the place after it."""
    count, place = read_varint(data, place)
    if count == 0:
        return None, place
    end = place + (count - 1) * size
    if end > len(data):
        raise UnreadableRecord(f"an array of {count - 1} items in {len(data) - place} bytes")
    if letter == "16s":
        return tuple(data[at : at + size] for at in range(place, end, size)), end
    return struct.unpack_from(f">{count - 1}{letter}", data, place), end


def read_items(data: bytes, place: int, read: Read) -> tuple[tuple[Any, ...] | None, int]:
    """Return an array, None for a null one, and the place after it; `read` returns an item and the place after it."""
    count, place = read_varint(data, place)
    if count == 0:
        return None, place
    if count - 1 > len(data) - place:
        raise UnreadableRecord(f"an array of {count - 1} items in {len(data) - place} bytes")
    found = []
    for _ in range(count - 1):
        item, place = read(data, place)
        found.append(item)
    return tuple(found), place


def read_text(data: bytes, place: int) -> tuple[str | None, int]:
    """Return a text, None for a null one, and the place after it."""
    raw, place = read_bytes(data, place)
    return None if raw is None else raw.decode(), place


def read_bytes(data: bytes, place: int) -> tuple[bytes | None, int]:
    """Return bytes, None for null, and the place after them."""
    size, place = read_varint(data, place)
    if size == 0:
        return None, place
    end = place + size - 1
    if end > len(data):
        raise UnreadableRecord(f"{size - 1} bytes are wanted at {place} of {len(data)}")
    return data[place:end], end


def read_tags(data: bytes, place: int, readers: dict[int, tuple[int, Read]], usual: list[Any]) -> tuple[list[Any], int]:
    """Return the values of the fields with tags, those of unknown tags as the last of them, and the place after them."""
    values, unknown = list(usual), []
    count, place = read_varint(data, place)
    for _ in range(count):
        tag, place = read_varint(data, place)
        raw, place = _sized(data, place)
        if tag in readers:
            number, read = readers[tag]
            values[number], end = read(raw, 0)
            if end != len(raw):
                raise UnreadableRecord(f"the field of tag {tag} has {len(raw)} bytes and ends after {end}")
        else:
            unknown.append((tag, raw))
    values[-1] = tuple(unknown)
    return values, place


def _sized(data: bytes, place: int) -> tuple[bytes, int]:
    size, place = read_varint(data, place)
    if place + size > len(data):
        raise UnreadableRecord(f"{size} bytes are wanted at {place} of {len(data)}")
    return data[place : place + size], place + size


# ---------------------------------------------------------------------------------------------------------------------
# Compiled readers


def _call(field: SchemaField, version: int) -> tuple[str, Any]:
    """Return the call that reads a field at `place`, with its reader as `read_NAME`, and that reader."""
    if field.is_array and field.item in NUMBERS:
        letter = NUMBERS[field.item]
        return f"read_numbers(data, place, {letter!r}, {struct.calcsize('>' + letter)})", None
    if field.is_array:
        return f"read_items(data, place, read_{field.name})", _reader(field.item, field.fields, version)
    return f"read_{field.name}(data, place)", _reader(field.item, field.fields, version)


def _reader(type_: str, fields: Sequence[SchemaField], version: int) -> Read:
    """Return a function that reads one value of a type."""
    if type_ == "string":
        return read_text
    if type_ == "bytes":
        return read_bytes
    if type_ in NUMBERS:
        packed = struct.Struct(">" + NUMBERS[type_])
        return lambda data, place: (packed.unpack_from(data, place)[0], place + packed.size)
    return compiled(Schema(type_, -1, version, tuple(fields)), version)


def compiled(schema: Schema, version: int) -> Read:
    """Return a function that reads a record of this version, and returns it with the place after it."""
    plain = [field for field in schema.fields if field.since <= version < field.tagged_since]
    tagged = [field for field in schema.fields if field.since <= version and version >= field.tagged_since]
    names: dict[str, Any] = {
        "read_numbers": read_numbers, "read_items": read_items, "record": schema.record, "new": tuple.__new__,
        "read_varint": read_varint, "read_tags": read_tags, "known": {}, "usual": [*(one.usual for one in tagged), ()],
    }  # fmt: skip
    lines = ["def read(data, place):"]
    run: list[SchemaField] = []

    def flush() -> None:
        if run:
            packed = struct.Struct(">" + "".join(NUMBERS[one.type] for one in run))
            names[f"unpack_{run[0].name}"] = packed.unpack_from
            lines.append(f" {', '.join(one.name for one in run)}, = unpack_{run[0].name}(data, place); place += {packed.size}")
            run.clear()

    for field in plain:
        if field.type in NUMBERS:
            run.append(field)
            continue
        flush()
        call, names[f"read_{field.name}"] = _call(field, version)
        lines.append(f" {field.name}, place = {call}")
    flush()
    readers = {}
    for number, field in enumerate(tagged):
        call, read = _call(field, version)
        readers[field.tag] = (number, eval(f"lambda data, place: {call}", {**names, f"read_{field.name}": read}))
    names["readers"] = readers
    lines += _tags([one.name for one in tagged], schema.key >= 0)
    for field in schema.fields:
        if field not in plain and field not in tagged:
            names[f"usual_{field.name}"] = field.usual
            lines.append(f" {field.name} = usual_{field.name}")
    lines.append(f" return new(record, ({version}, {', '.join([*(one.name for one in schema.fields), 'unknown_tags'])})), place")
    exec("\n".join(lines), names)  # the text is made of the schemas alone
    made: Read = names["read"]
    return made


def _tags(tagged: Sequence[str], whole: bool) -> list[str]:
    """Return the lines that read the fields with tags; those of a whole record, which end it, are remembered by their bytes."""
    values = ", ".join([*tagged, "unknown_tags"])
    if not whole:
        return [f" ({values},), place = read_tags(data, place, readers, usual)"]
    return [
        " part = data[place:]",
        " found = known.get(part)",
        " if found is None:",
        "  found = read_tags(data, place, readers, usual)",
        f"  if len(known) >= {MOST_REMEMBERED}: known.clear()",
        "  known[part] = found = (*found[0], found[1] - place)",
        f" {values}, size = found; place += size",
    ]


_readers: dict[bytes, tuple[int, Read]] = {}
"""The reader of each beginning of a record: frame version, key and version."""


def _begin(data: bytes) -> tuple[int, Read, int]:
    """Return the key, the reader and the place after the beginning of a record."""
    frame, place = read_varint(data, 0)
    key, place = read_varint(data, place)
    version, place = read_varint(data, place)
    if frame != FRAME_VERSION or key not in SCHEMAS or version > SCHEMAS[key].newest:
        raise UnreadableRecord(f"frame version {frame}, record {key}, version {version}")
    known = _readers.get(data[:place])
    if known is None:
        known = _readers[data[:place]] = (key, compiled(SCHEMAS[key], version))
    return key, known[1], place


def decode_fields(data: bytes) -> tuple[int, Any]:
    """Return a record's key, and the record as its schema's tuple.

    Raises:
        UnreadableRecord: the bytes are not one record of a known kind and version.
    """
    try:
        known = _readers.get(data[:3])
        if known is None:
            key, read, place = _begin(data)
        else:
            (key, read), place = known, 3
        record, end = read(data, place)
    except (IndexError, struct.error, UnicodeDecodeError, TypeError) as error:
        raise UnreadableRecord(f"the record ends too early, or is broken: {error}") from None
    if end != len(data):
        raise UnreadableRecord(f"{len(data) - end} bytes follow record {key}")
    return key, record


def decode_content(schema: Schema, version: int, data: bytes) -> Any:
    """Return the content of a control record.

    Raises:
        UnreadableRecord: the bytes are not one in this version.
    """
    try:
        return compiled(schema, version)(data, 0)[0]
    except (IndexError, struct.error, UnicodeDecodeError, TypeError) as error:
        raise UnreadableRecord(f"{schema.name} version {version}: {error}") from None


# ---------------------------------------------------------------------------------------------------------------------
# Writing


def _value(type_: str, fields: Sequence[SchemaField], version: int, value: Any) -> bytes:
    if type_ == "string":
        return varint(0) if value is None else varint(len(value.encode()) + 1) + value.encode()
    if type_ == "bytes":
        return varint(0) if value is None else varint(len(value) + 1) + value
    if type_ in NUMBERS:
        return struct.pack(">" + NUMBERS[type_], value)
    return encode_parts(fields, version, value)


def _field(field: SchemaField, version: int, value: Any) -> bytes:
    if not field.is_array:
        return _value(field.type, field.fields, version, value)
    if value is None:
        return varint(0)
    return varint(len(value) + 1) + b"".join(_value(field.item, field.fields, version, one) for one in value)


def encode_parts(fields: Sequence[SchemaField], version: int, record: Any) -> bytes:
    """Return the bytes of a record's fields, or of a part's, in a version."""
    plain, tagged = b"", []
    for field in fields:
        if version < field.since:
            continue
        value = getattr(record, field.name)
        if version < field.tagged_since:
            plain += _field(field, version, value)
        elif value != field.usual:
            tagged.append((field.tag, _field(field, version, value)))
    tagged = sorted([*tagged, *getattr(record, "unknown_tags", ())])
    return plain + varint(len(tagged)) + b"".join(varint(tag) + varint(len(raw)) + raw for tag, raw in tagged)


def encode_fields(key: int, record: Any) -> bytes:
    """Return the bytes of a record, in its version."""
    beginning = varint(FRAME_VERSION) + varint(key) + varint(record.schema_version)
    return beginning + encode_parts(SCHEMAS[key].fields, record.schema_version, record)
