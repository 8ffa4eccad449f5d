"""The metadata log: our records and batches beside Kafka's serde, its reader of batches and its builder of them, both ways.

Our record goes through Kafka as JSON, so that the names of fields meet too; in newer versions of a record Kafka writes fields
that are unknown here and have to be skipped. A whole log of our controller is read by Kafka's RecordsBatchReader; the same records,
batched by Kafka's BatchBuilder, are read by ours.

Source: Kafka 3.9 to 4.4 MetadataRecordSerde.java, RecordsBatchReader.java, BatchBuilder.java.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from random import Random
from typing import Any
from uuid import UUID

from kafka_spec.conformance.kafka_classes.comparison import Comparison, Subject
from kafka_spec.conformance.kafka_classes.java import EXCEPTION, Kafka
from kafka_spec.conformance.kafka_classes.kraft_ours import VERSIONS
from kafka_spec.conformance.kafka_classes.some_records import some_record
from kafka_spec.impl.kraft.controller import KRaftController
from kafka_spec.impl.kraft.image import ClusterImage, InconsistentLog
from kafka_spec.impl.kraft.metadata_log import FIRST_EPOCH, MetadataLog
from kafka_spec.impl.kraft.record_codec import decode, encode, fields_of
from kafka_spec.impl.kraft.record_decoders import UnreadableRecord
from kafka_spec.impl.kraft.record_schemas import SCHEMAS, SchemaField
from kafka_spec.impl.kraft.records import (
    RECORDS,
    ControllerEndpoint,
    ControllerFeature,
    LogEntry,
    MetadataRecord,
    RegisterBrokerRecord,
)
from kafka_spec.impl.protocol.errors import KafkaError
from kafka_spec.impl.protocol.kraft_requests import BrokerEndpoint, BrokerFeature, BrokerHeartbeatRequest, BrokerRegistrationRequest
from kafka_spec.impl.protocol.quorum_requests import TOPIC
from kafka_spec.impl.protocol.topic_ids import text_of
from kafka_spec.impl.protocol.topic_partition import TopicPartition
from kafka_spec.spec.kraft.fixed import FIXED

COMMON = "org.apache.kafka.common"
RAFT = "org.apache.kafka.raft.internals"
LARGEST_BATCH = 1 << 20
STEPS = 40
"""The events of a controller in one log."""
LOG_EVERY = 50
"""One log for so many records."""

# ---------------------------------------------------------------------------------------------------------------------
# Records


def camel(name: str) -> str:
    """Return a name as Kafka's JSON has it."""
    first, *others = name.split("_")
    return first + "".join(other.capitalize() for other in others)


def plain(value: Any) -> Any:
    """Return a value of a field as JSON has it."""
    if isinstance(value, UUID):
        return text_of(value)
    if isinstance(value, tuple):
        return [plain(one) for one in value]
    if isinstance(value, BrokerEndpoint | BrokerFeature | ControllerEndpoint | ControllerFeature):
        return {camel(name): plain(one) for name, one in vars(value).items()}
    return value


def as_written(field: SchemaField, value: Any) -> Any:
    """Return the value of a field as it is written: without directories a field has its usual value."""
    return field.usual if field.item == "uuid" and field.is_array and not value else value


def told_fields(record: MetadataRecord, version: int) -> dict[str, Any]:
    """Return a record's fields in a version, as JSON; a field with a tag is left out at its usual value."""
    values = [(field, as_written(field, getattr(record, field.name))) for field in fields_of(type(record), version)]
    return {field.json_name: plain(value) for field, value in values if version < field.tagged_since or value != field.usual}


def unknown_fields(record: MetadataRecord, version: int, random: Random) -> dict[str, Any]:
    """Return fields of a newer version that the implementation does not have."""
    if isinstance(record, RegisterBrokerRecord) and version >= 2:
        return {"isMigratingZkBroker": random.random() < 0.5}
    return {}


class KafkasRecords:
    """Kafka's serde, reader and builder."""

    def __init__(self, kafka: Kafka) -> None:
        self._kafka = kafka
        self._serde = kafka.named("org.apache.kafka.metadata.MetadataRecordSerde").INSTANCE
        self._json = kafka.named("com.fasterxml.jackson.databind.ObjectMapper")()
        self._message = kafka.named("org.apache.kafka.server.common.ApiMessageAndVersion")
        self._buffers = kafka.named("java.nio.ByteBuffer")
        self._accessor = kafka.named(f"{COMMON}.protocol.ByteBufferAccessor")
        utils = f"{COMMON}.utils"
        self._supplier = kafka.first_of(f"{utils}.internals.BufferSupplier", f"{utils}.BufferSupplier").NO_CACHING
        self._log_context = kafka.first_of(f"{utils}.internals.LogContext", f"{utils}.LogContext")

    @cached_property
    def kinds(self) -> list[type[MetadataRecord]]:
        """The kinds of our records that this Kafka knows; 3.9 has no ClearElrRecord."""
        return [kind for kind in RECORDS if self._kafka.has(f"{COMMON}.metadata.{kind.__name__}")]

    def newest(self, name: str) -> int:
        """Return the newest version of a kind of record that this Kafka knows."""
        return int(self._kafka.named(f"{COMMON}.metadata.{name}").HIGHEST_SUPPORTED_VERSION)

    def made(self, name: str, fields: dict[str, Any], version: int) -> Any:
        """Return a record of Kafka from its JSON."""
        converter = self._kafka.named(f"{COMMON}.metadata.{name}JsonConverter")
        return self._message(converter.read(self._json.readTree(json.dumps(fields)), version), version)

    def like(self, record: MetadataRecord) -> Any:
        """Return our record as Kafka's, in the version that we write."""
        version = record.version
        unknown = {"isMigratingZkBroker": False} if isinstance(record, RegisterBrokerRecord) and version >= 2 else {}
        return self.made(type(record).__name__, {**told_fields(record, version), **unknown}, version)

    def reported(self, record: Any) -> tuple[str, int, dict[str, Any]]:
        """Return a record's name, version and JSON."""
        name = str(record.message().getClass().getSimpleName())
        converter = self._kafka.named(f"{COMMON}.metadata.{name}JsonConverter")
        written = converter.write(record.message(), record.version()).toString()
        return name, int(record.version()), json.loads(str(written))

    def _cache(self) -> Any:
        return self._kafka.named(f"{COMMON}.protocol.ObjectSerializationCache")()

    def encoded(self, record: Any) -> bytes:
        """Return a record's bytes."""
        cache = self._cache()
        buffer = self._buffers.allocate(self._serde.recordSize(record, cache))
        self._serde.write(record, cache, self._accessor(buffer))
        return bytes(b & 0xFF for b in buffer.array())

    def decoded(self, data: bytes) -> Any:
        """Return the record of some bytes."""
        buffer = self._buffers.wrap(self._kafka.bytes(data))
        return self._serde.read(self._accessor(buffer), len(data))

    def batches(self, file: Path) -> list[list[tuple[str, int, dict[str, Any]]]]:
        """Return the records of each batch of a log's file, as RecordsBatchReader reads them; checksums are checked."""
        kafka = self._kafka
        opened = kafka.first_of(f"{COMMON}.record.internal.FileRecords", f"{COMMON}.record.FileRecords").open(
            kafka.named("java.io.File")(str(file)), False
        )
        listener = kafka.implementing(f"{RAFT}.CloseListener", {"onClose": lambda _: None})
        arguments = [0, opened, self._serde, self._supplier, LARGEST_BATCH, listener, True]
        if not kafka.version.startswith("3."):
            arguments.append(self._log_context())
        reader = kafka.named(f"{RAFT}.RecordsBatchReader").of(*arguments)
        found = []
        while reader.hasNext():
            found.append([self.reported(record) for record in kafka.listed(reader.next().records())])
        opened.channel().close()
        return found

    def built(self, records: Sequence[Any], offset: int) -> bytes:
        """Return a batch of records from this offset on, as BatchBuilder builds it."""
        kafka = self._kafka
        compression = kafka.named(f"{COMMON}.compress.Compression").NONE
        builder = kafka.named(f"{RAFT}.BatchBuilder")(
            self._buffers.allocate(LARGEST_BATCH), self._serde, compression, offset, 0, FIRST_EPOCH, LARGEST_BATCH
        )
        for record in records:
            builder.appendRecord(record, self._cache())
        buffer = builder.build().buffer()
        return bytes(buffer.get(place) & 0xFF for place in range(buffer.limit()))


def outcome(read: Callable[[], object]) -> object:
    """Return what is read, or the error."""
    try:
        return read()
    except (UnreadableRecord, InconsistentLog, EXCEPTION) as error:
        return f"{type(error).__name__}: {error}"


def compare_record(kafkas: KafkasRecords, comparison: Comparison, random: Random) -> None:
    """Compare one record, in the version that we write or in a newer one."""
    record = some_record(random, kafkas.kinds)
    name = type(record).__name__
    version = random.randint(record.version, min(SCHEMAS[record.key].newest, kafkas.newest(name)))
    reported = {**told_fields(record, version), **unknown_fields(record, version, random)}
    theirs = kafkas.made(name, reported, version)
    written = kafkas.encoded(theirs)
    comparison.seen[f"{name} {version}"] += 1
    comparison.compare(f"we read {reported} in version {version}", outcome(lambda: decode(written)), record)
    same = kafkas.like(record)
    comparison.compare(f"bytes of {record}", encode(record), kafkas.encoded(same))
    comparison.compare(
        f"Kafka reads {record}", outcome(lambda: kafkas.reported(kafkas.decoded(encode(record)))), kafkas.reported(same)
    )


# ---------------------------------------------------------------------------------------------------------------------
# Whole logs


def some_history(folder: Path, random: Random) -> MetadataLog:
    """Return the log of a controller after random events: registrations, elections, reassignments, deletions."""
    log = MetadataLog(folder)
    controller = KRaftController(FIXED, log)
    names = ("orders", "payments")
    stopping: set[int] = set()
    for now in range(STEPS):
        broker = random.randrange(4)
        partition = TopicPartition(random.choice(names), random.randrange(2))
        target = tuple(random.sample(range(4), random.randint(1, 3)))
        try:
            match random.randrange(8):
                case 0 | 1:
                    controller.heartbeats.of(broker).contact = -(1 << 62)
                    stopping.discard(broker)
                    controller.register(BrokerRegistrationRequest(broker, UUID(int=random.getrandbits(128))), now)
                case 2 | 3:
                    epoch = controller.image.epoch_of(broker)
                    if random.random() < 0.1:
                        stopping.add(broker)
                    controller.heartbeat(BrokerHeartbeatRequest(broker, epoch, log.end, False, broker in stopping), now)
                case 4:
                    settings = random.choice(({}, {"min.insync.replicas": "2"}))
                    controller.create_topic(partition.topic, UUID(int=random.getrandbits(128)), {0: target, 1: target}, settings)
                case 5:
                    controller.reassign(partition, random.choice((target, None)))
                case 6:
                    controller.delete_topic(partition.topic)
                case 7 if broker in controller.image.brokers:
                    controller.fence(broker)
        except KafkaError:
            continue
    return log


def content(folder: Path) -> tuple[list[tuple[LogEntry, ...]], ClusterImage]:
    """Return the batches of a log that we read, and the image after them."""
    log = MetadataLog(folder)
    log.close()
    return log.batches, log.newest


def compare_log(kafkas: KafkasRecords, comparison: Comparison, random: Random, case: int) -> None:
    """Compare a whole log: Kafka reads ours, and we read what Kafka builds of the same records."""
    with tempfile.TemporaryDirectory() as name:
        ours, theirs = Path(name) / "ours", Path(name) / "theirs"
        log = some_history(ours, random)
        log.close()
        made = [[kafkas.like(one) for one in batch if isinstance(one, MetadataRecord)] for batch in log.batches]
        (file,) = (ours / str(TOPIC)).glob("*.log")
        wanted = [[kafkas.reported(record) for record in batch] for batch in made]
        comparison.compare(f"Kafka reads log {case}", wanted, outcome(lambda: kafkas.batches(file)))
        folder = theirs / str(TOPIC)
        folder.mkdir(parents=True)
        offset, data = 0, b""
        for batch in made:
            data += kafkas.built(batch, offset)
            offset += len(batch)
        (folder / file.name).write_bytes(data)
        comparison.compare(f"we read log {case}", outcome(lambda: content(theirs)), (log.batches, log.newest))
        comparison.seen["logs"] += 1


def compare(kafka: Kafka, comparison: Comparison, random: Random, cases: int) -> None:
    """Compare random records, and now and then a whole log."""
    kafkas = KafkasRecords(kafka)
    for case in range(cases):
        compare_record(kafkas, comparison, random)
        if case % LOG_EVERY == 0:
            compare_log(kafkas, comparison, random, case)


SUBJECT = Subject("kraft-records", "records and batches of the metadata log", compare, (), VERSIONS)
