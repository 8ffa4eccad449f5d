"""A large metadata log, made by the decisions of the model, to measure `kafka-spec validate`.

Run as `python -m benchmarks.metadata_log FOLDER RECORDS [FAULTS [BYTES]]`. A cluster of 12 brokers and 20,000 partitions of three
replicas: brokers are fenced and come back again and again, leaders take them into their ISRs; in between no-ops. With FAULTS
about so many changes are wrong, each restored by the next batch: their offsets are in FOLDER/faults.json. With BYTES the lists
of throttled replicas that kafka-reassign-partitions writes fill the log up to about so many bytes. Prints what it wrote.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from random import Random
from typing import Any, BinaryIO

from kafka_spec.conformance.metadata import image as keys
from kafka_spec.conformance.metadata.explain import Explainer
from kafka_spec.conformance.metadata.image import Image
from kafka_spec.conformance.metadata.predictions import AskedShape
from kafka_spec.conformance.metadata.rulings import RELEASES, Ruling
from kafka_spec.conformance.metadata.shapes import FoldedPartition, ShapeChange
from kafka_spec.impl.kraft.record_decoders import encode_fields
from kafka_spec.impl.kraft.record_schemas import SCHEMAS
from kafka_spec.impl.log.batches import build, stamp
from kafka_spec.spec.decisions.partition_change import ElectionKind, RecoveryState
from kafka_spec.spec.language.domain import including

BROKERS, TOPICS, PARTITIONS = 12, 200, 100
LARGEST_BATCH = 10_000
START = 1_700_000_000_000


class Writer:
    """Writes batches, and folds them."""

    def __init__(self, file: BinaryIO) -> None:
        self.file, self.image, self.offset, self.now = file, Image(), 0, START

    def write(self, *records: tuple[int, Any]) -> None:
        """Write records as batches of one epoch."""
        for at in range(0, len(records), LARGEST_BATCH):
            part = records[at : at + LARGEST_BATCH]
            batch = build((self.now, None, encode_fields(key, record)) for key, record in part)
            stamp(batch, self.offset, 1)
            self.file.write(batch)
            for key, record in part:
                assert self.image.apply(key, record) is None
            self.offset += len(part)
            self.now += 250

    def record(self, key: int, **fields: Any) -> tuple[int, Any]:
        """Return a record in its newest version."""
        return key, SCHEMAS[key].plain(**fields)

    def change(self, partition: FoldedPartition, change: ShapeChange) -> tuple[int, Any]:
        """Return a change of a partition as a record."""
        return self.record(
            keys.PARTITION_CHANGE,
            partition_id=partition.number,
            topic_id=partition.topic_id,
            isr=change.isr,
            leader=change.leader,
            leader_recovery_state=change.recovery,
            eligible_leader_replicas=change.elr,
            last_known_elr=change.last_known,
        )


def directory_of(broker: int) -> bytes:
    """Return the id of a broker's only log directory."""
    return bytes([128 + broker] * 16)


def begin(log: Writer, topics: int) -> None:
    """Write features, registrations and topics."""
    log.write(
        log.record(keys.FEATURE, name=keys.METADATA_VERSION, feature_level=27),
        log.record(keys.FEATURE, name=keys.ELR_FEATURE, feature_level=1),
    )
    for broker in range(BROKERS):
        identity, directory = bytes([broker] * 16), directory_of(broker)
        log.write(
            log.record(0, broker_id=broker, incarnation_id=identity, broker_epoch=log.offset, fenced=True, log_dirs=(directory,))
        )
        log.write(log.record(17, broker_id=broker, broker_epoch=log.image.brokers[broker].epoch, fenced=-1))
    for topic in range(topics):
        topic_id = topic.to_bytes(16, "big")
        records = [log.record(keys.TOPIC, name=f"t{topic}", topic_id=topic_id)]
        records.append(log.record(keys.CONFIG, resource_type=2, resource_name=f"t{topic}", name="min.insync.replicas", value="2"))
        records.append(log.record(keys.CLEAR_ELR, topic_name=f"t{topic}"))
        for number in range(PARTITIONS):
            replicas = tuple((topic + number + place) % BROKERS for place in range(3))
            records.append(
                log.record(
                    keys.PARTITION,
                    partition_id=number,
                    topic_id=topic_id,
                    replicas=replicas,
                    isr=replicas,
                    leader=replicas[0],
                    leader_epoch=0,
                    partition_epoch=0,
                    removing_replicas=(),
                    adding_replicas=(),
                    directories=tuple(map(directory_of, replicas)),
                )
            )
        log.write(*records)


def go_on(log: Writer, explainer: Explainer, random: Random) -> None:
    """Let one broker be fenced and come back."""
    broker = random.randrange(BROKERS)
    epoch = log.image.brokers[broker].epoch
    predicted = explainer.removal(broker)
    changes = [log.change(part, found) for part, asked in predicted.items() if (found := explainer.predict(part, asked))]
    touched = list(predicted)
    log.write(*changes, log.record(17, broker_id=broker, broker_epoch=epoch, fenced=1))
    for _ in range(random.randrange(20)):
        log.write(log.record(keys.NO_OP))
    back = explainer.concerned(log.image.leaderless, including(log.image.active, broker))
    log.write(
        log.record(17, broker_id=broker, broker_epoch=epoch, fenced=-1),
        *(log.change(part, found) for part, asked in back.items() if (found := explainer.predict(part, asked))),
    )
    for at in range(0, len(touched), 100):
        proposals = []
        for part in touched[at : at + 100]:
            if broker in part.shape.replicas and broker not in part.shape.isr and part.shape.leader >= 0:
                isr = (*part.shape.isr, broker)
                asked = AskedShape(isr, log.image.active, explainer.least(part), ElectionKind.ONLINE, RecoveryState.RECOVERED)
                found = explainer.predict(part, asked)
                if found is not None:
                    proposals.append(log.change(part, found._replace(isr=isr)))
        log.write(*proposals) if proposals else None
        log.write(log.record(keys.NO_OP))


def throttle(log: Writer, topics: int) -> None:
    """Name the throttled replicas of each topic, as a reassignment with a throttle does."""
    sides = [f"{side}.replication.throttled.replicas" for side in ("leader", "follower")]
    lists = [
        ",".join(f"{number}:{(topic + number + place) % BROKERS}" for number in range(PARTITIONS) for place in range(3))
        for topic in range(topics)
    ]
    log.write(*(
        log.record(keys.CONFIG, resource_type=2, resource_name=f"t{topic}", name=side, value=replicas)
        for topic, replicas in enumerate(lists) for side in sides
    ))  # fmt: skip


def go_wrong(log: Writer, random: Random) -> int:
    """Write a change that no controller writes, and restore the partition; return the offset of the change."""
    partition = random.choice([one for one in log.image.all_partitions() if one.shape.leader >= 0 and len(one.shape.isr) > 1])
    shape = partition.shape
    stranger = next(broker for broker in range(BROKERS) if broker not in shape.replicas)
    wrong = random.choice(
        (ShapeChange(isr=(*shape.isr, stranger)), ShapeChange(leader=stranger), ShapeChange(isr=shape.isr[1:], leader=shape.isr[0]))
    )
    offset = log.offset
    log.write(log.change(partition, wrong))
    log.write(log.change(partition, ShapeChange(isr=shape.isr, leader=shape.leader)))
    return offset


def main(folder: Path, records: int, topics: int = TOPICS, faults: int = 0, size: int = 0) -> None:
    """Write a log."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / f"{0:020}.log").open("wb") as file:
        log = Writer(file)
        begin(log, topics)
        explainer = Explainer(log.image, lambda _: 2, lambda _: False)
        explainer.ruling = Ruling(next(one for one in RELEASES if one.newest == 27), True, False)
        random = Random(1)
        wrong: list[int] = []
        while log.offset < records:
            go_on(log, explainer, random)
            if log.offset * faults > records * (len(wrong) + 1):
                wrong.append(go_wrong(log, random))
            while file.tell() * records < size * log.offset:
                throttle(log, topics)
    if faults:
        (folder / "faults.json").write_text(json.dumps(wrong))
    written = (folder / f"{0:020}.log").stat().st_size
    sys.stdout.write(f"{log.offset:,} records, {written:,} bytes, {log.image.partitions:,} partitions\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), TOPICS, *map(int, sys.argv[3:]))
