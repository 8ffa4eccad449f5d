"""Batches of the metadata log, from bytes: their headers, their records, their control records; and how a log ends.

Independent of files: a log's segments, its snapshots and the answers to a Fetch hold the same bytes.

Source: Kafka 3.9 DefaultRecordBatch.java, ControlRecordType.java, RecordsBatchReader.java.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from kafka_spec.impl.kraft.control_records import CONTROL_KEY, VERSION
from kafka_spec.impl.kraft.record_decoders import UnreadableRecord, decode_content, decode_fields
from kafka_spec.impl.kraft.record_schemas import CONTROL
from kafka_spec.impl.log.batches import CHECKSUM_AT, HEADER, is_control, is_sound, look, unpacked


class MetadataEntry(NamedTuple):
    """A record of the log: its offset, its key and its fields, as its schema has them."""

    offset: int
    key: int
    record: Any


@dataclass(slots=True)
class LogBatch:
    """A batch: its offsets, the epoch of its leader, its time in milliseconds since 1970, where it begins in its file.

    `data` are its bytes; of kafka-dump-log's text, which has none, the entries are given instead.
    """

    place: int
    base: int
    last: int
    epoch: int
    timestamp: int
    is_control: bool
    data: bytes = b""
    given: tuple[MetadataEntry, ...] = ()

    @property
    def fingerprint(self) -> object:
        """What two copies of a batch have in common: the checksum of its records; of a text, the records."""
        return self.data[CHECKSUM_AT : CHECKSUM_AT + 4] if self.data else self.given

    def entries(self) -> tuple[MetadataEntry, ...] | list[MetadataEntry]:
        """Return the records; of a control batch, with the types of control records as keys.

        Raises:
            UnreadableRecord: a record is of an unknown kind or version, or broken.
        """
        if not self.data:
            return self.given
        try:
            if self.is_control:
                return [_control(one) for one in unpacked(self.data)]
            return [MetadataEntry(one.offset, *decode_fields(one.value or b"")) for one in unpacked(self.data)]
        except UnreadableRecord as error:
            raise UnreadableRecord(f"batch of offsets {self.base} to {self.last}: {error}") from None
        except Exception as error:  # aiokafka raises many kinds: of decompression, of varints that end too early
            raise UnreadableRecord(f"batch of offsets {self.base} to {self.last}: {type(error).__name__} {error}") from None


def _control(one: Any) -> MetadataEntry:
    _, kind = CONTROL_KEY.unpack_from(one.key)
    if kind not in CONTROL:
        return MetadataEntry(one.offset, kind, None)
    (version,) = VERSION.unpack_from(one.value)  # each content begins with its version
    return MetadataEntry(one.offset, kind, decode_content(CONTROL[kind], min(version, CONTROL[kind].newest), one.value))


@dataclass(frozen=True)
class TornTail:
    """Where a log's bytes stop to be batches, and why: `lost` bytes follow."""

    place: int
    lost: int
    why: str


def batches_of(data: Any, start: int = 0) -> Iterator[LogBatch | TornTail]:
    """Yield the batches of some bytes, or of a mapped file, and finally where they are torn, if they are."""
    place, end = start, len(data)
    while place < end:
        header = bytes(data[place : place + HEADER.size])
        found = look(header)
        if found is None:
            why = "zeros follow" if not any(header) else "what follows is not the header of a batch"
            yield TornTail(place, end - place, why)
            return
        if place + found.size > end:
            yield TornTail(place, end - place, f"a batch of {found.size} bytes is cut after {end - place}")
            return
        raw = bytes(data[place : place + found.size])
        if not is_sound(raw):
            yield TornTail(place, end - place, "the checksum of a batch is wrong")
            return
        yield LogBatch(place, found.base, found.last, found.epoch, found.timestamp, is_control(raw), raw)
        place += found.size
