"""Known bugs that act on an event beside those that its predicted changes show: what they take or leave is not in one partition.

They are about settings, log directories, lists that the controller keeps, and the topic's partition 0.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kafka_spec.conformance.metadata import image as keys
from kafka_spec.conformance.metadata.batches import MetadataEntry
from kafka_spec.conformance.metadata.bugs import (
    CLEARED_ELR,
    CLEARED_WHILE_OFFLINE,
    ELECTED_ON_FAILED,
    EMPTIED_ELR,
    JOINS_OFFLINE,
    LEFT_IN_DIRECTORY,
    OWN_MINIMUM,
    STARTS_EMPTY,
)
from kafka_spec.conformance.metadata.explain import REPEATED, Explainer
from kafka_spec.conformance.metadata.image import Image
from kafka_spec.conformance.metadata.judge import LogJudge
from kafka_spec.conformance.metadata.predictions import Explained
from kafka_spec.conformance.metadata.shapes import FoldedPartition
from kafka_spec.spec.decisions.partition_change import effective_min_isr
from kafka_spec.spec.language.domain import BrokerSet


def acting_beside(
    judge: LogJudge, explainer: Explainer, found: Explained, entries: Sequence[MetadataEntry]
) -> dict[str, list[str]]:
    """Return the bugs that act on an event, whose records are not applied yet, each with the partitions that it has met."""
    image = judge.image
    acting = {OWN_MINIMUM: [image.name_of(one) for one in limited(judge, explainer, found)]}
    if found.name == "assign directories, which empties the ELR":
        acting[EMPTIED_ELR] = [found.subject]
    elif found.name.startswith("assign directories"):
        acting[STARTS_EMPTY] = [image.name_of(one) for one in starting_empty(image, explainer, entries)]
    elif found.name.startswith("unfence, and"):
        acting[ELECTED_ON_FAILED] = [image.name_of(one) for one in elected_on_failed(image, entries)]
    elif found.name.startswith("proposal"):
        acting[JOINS_OFFLINE] = [image.name_of(one) for one in joined_offline(image, explainer, entries)]
    if cleared := list(cleared_by(image, entries)):
        acting[CLEARED_ELR] = [image.name_of(one) for one in cleared]
        acting[CLEARED_WHILE_OFFLINE] = [image.name_of(one) for one in cleared if not one.shape.isr]
    elif found.name.endswith(REPEATED):
        acting[CLEARED_ELR] = [image.name_of(part) for part, _ in found.asked]
    acting[LEFT_IN_DIRECTORY] = [image.name_of(one) for one in left_in_directories(image, entries)]
    return {bug: subjects for bug, subjects in acting.items() if subjects}


def changed_by(image: Image, entries: Sequence[MetadataEntry]) -> Iterator[tuple[FoldedPartition, MetadataEntry]]:
    """Yield the changes of partitions among records."""
    for entry in entries:
        if entry.key == keys.PARTITION_CHANGE:
            partition = image.find(entry.record.topic_id, entry.record.partition_id)
            if partition is not None:
                yield partition, entry


def cleared_by(image: Image, entries: Sequence[MetadataEntry]) -> Iterator[FoldedPartition]:
    """Yield the partitions whose ELR records of an event clear, each with a member that the controller keeps listing."""
    names = [entry.record.topic_name for entry in entries if entry.key == keys.CLEAR_ELR]
    topics = list(image.topics) if "" in names else [image.ids[name] for name in names if name in image.ids]
    for topic in topics:
        yield from (one for one in image.topics[topic].values() if one.shape.elr)


def starting_empty(image: Image, explainer: Explainer, entries: Sequence[MetadataEntry]) -> Iterator[FoldedPartition]:
    """Yield the partitions of which a member of the ELR gets another directory, since its broker does not have the former."""
    for partition, (_, _, record) in changed_by(image, entries):
        if record.directories and len(partition.directories) == len(record.directories):
            eligible = BrokerSet.of(partition.shape.elr)
            lost = eligible & ~explainer.acceptable(partition, eligible)
            moves = zip(partition.shape.replicas, partition.directories, record.directories, strict=False)
            if any(broker in BrokerSet(lost) and old != new for broker, old, new in moves):
                yield partition


def elected_on_failed(image: Image, entries: Sequence[MetadataEntry]) -> Iterator[FoldedPartition]:
    """Yield the partitions that the unfenced broker is to lead from a directory that the same heartbeat reports as failed."""
    last = entries[-1].record
    failed = set(image.brokers[last.broker_id].directories) - set(last.log_dirs)
    for partition, entry in changed_by(image, entries):
        if entry.record.leader == last.broker_id and partition.directory_of(last.broker_id) in failed:
            yield partition


def joined_offline(image: Image, explainer: Explainer, entries: Sequence[MetadataEntry]) -> Iterator[FoldedPartition]:
    """Yield the partitions whose ISR a broker joins although its directory of them is offline."""
    for partition, entry in changed_by(image, entries):
        joins = BrokerSet.of(broker for broker in entry.record.isr or () if broker not in partition.shape.isr)
        if joins & ~explainer.acceptable(partition, joins) != 0:
            yield partition


def left_in_directories(image: Image, entries: Sequence[MetadataEntry]) -> Iterator[FoldedPartition]:
    """Yield the partitions of deleted topics without an ISR that a broker of several directories holds in one of them."""
    deleted = [entry.record.topic_id for entry in entries if entry.key == keys.REMOVE_TOPIC]
    if deleted:
        several = {directory for one in image.brokers.values() if len(one.directories) > 1 for directory in one.directories}
        for topic in deleted:
            for one in image.topics.get(topic, {}).values():
                if not one.shape.isr and several.intersection(one.directories):
                    yield one


def limited(judge: LogJudge, explainer: Explainer, found: Explained) -> Iterator[FoldedPartition]:
    """Yield the partitions on which the limit by partition 0 acts: with their own replicas the change would be another."""
    ruling, predict = explainer.ruling, explainer.predictions.predict
    for part, asked in found.asked:
        if part.number == 0 or not ruling.has_elr:
            continue
        own = effective_min_isr(judge.min_isr(part.topic_id), len(part.shape.replicas))
        if own != asked.least and asked.least:
            if predict(ruling, part.shape, asked._replace(least=own)) != predict(ruling, part.shape, asked):
                yield part
