"""The model's values as those of the implementation: images, records, requests, disks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from types import MappingProxyType
from uuid import UUID

from kafka_spec.impl.kraft.directories import DIRECTORIES_FROM, METADATA_VERSION, two_directories
from kafka_spec.impl.kraft.image import ClusterImage, RegisteredBroker, RegisteredPartition
from kafka_spec.impl.kraft.metadata_log import MetadataLog
from kafka_spec.impl.kraft.records import (
    FENCED,
    NO_LEADER_CHANGE,
    NO_RECOVERY_CHANGE,
    TOPIC_CONFIG,
    UNCHANGED,
    UNFENCED,
    BrokerRegistrationChangeRecord,
    ConfigRecord,
    MetadataRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RegisterBrokerRecord,
    RemoveTopicRecord,
    TopicRecord,
    UnregisterBrokerRecord,
)
from kafka_spec.impl.protocol.errors import ErrorCode
from kafka_spec.impl.protocol.kraft_requests import ProposalAnswer, ProposalRequest, ProposedIsr
from kafka_spec.impl.protocol.responses import AlteredPartition
from kafka_spec.impl.protocol.settings import MIN_ISR, UNCLEAN
from kafka_spec.impl.protocol.topic_ids import text_of, uuid_of
from kafka_spec.impl.protocol.topic_partition import TopicPartition
from kafka_spec.spec.kraft import state
from kafka_spec.spec.kraft.machines import CONTROLLED_SHUTDOWN, UNREGISTERED
from kafka_spec.spec.kraft.machines import FENCED as IS_FENCED
from kafka_spec.spec.kraft.state import UNKNOWN
from kafka_spec.spec.language.domain import NONE, BrokerSet

PARTITION = TopicPartition("orders", 0)
BEGINNING = 1_000
"""The offset at which the metadata log of a loaded state begins: beyond all numbers of broker epochs."""


def incarnation(broker: int, epoch: int) -> UUID:
    """Return the incarnation id of the process that registered under a broker epoch of the model."""
    return UUID(int=(broker << 32) + epoch)


def replica_directory(broker: int) -> UUID:
    """Return the log directory of a broker's replica."""
    return two_directories(broker)[0]


def online_directories(broker: int, offline: int) -> tuple[UUID, ...]:
    """Return the log directories that a broker has online, if that of its replica is offline, or not."""
    return two_directories(broker)[offline:]


def topic_numbered(number: int) -> UUID | None:
    """Return the id of a topic of the model, None for no topic."""
    return None if number == UNKNOWN else UUID(int=number + 1)


def topic_of(topic_id: str) -> int:
    """Return the model's number of a topic id."""
    return uuid_of(topic_id).int - 1


def image_of(
    image: state.MetadataImage, other_min_isr: int, named: bool, moved: frozenset[int], settings: Mapping[str, str]
) -> ClusterImage:
    """Return an image at the beginning of the metadata log; log directories are `named`, or not.

    The replicas of brokers in `moved` lie in the second directory of their broker. `settings` are further ones of the topic.
    """
    changed = {MIN_ISR: str(other_min_isr)} if image.partition.min_isr_changed else {}
    configs = {(PARTITION.topic, name): value for name, value in {**changed, **settings}.items()}
    held, topic_id = image.partition, topic_numbered(image.partition.topic_id)
    topics, partitions = {}, {}
    if topic_id is not None:
        topics[topic_id], partitions[PARTITION] = PARTITION.topic, registered(held, topic_id, named, moved)
    brokers = {
        number: RegisteredBroker(
            number,
            known.epoch,
            incarnation(number, known.epoch),
            known.state == IS_FENCED,
            known.state == CONTROLLED_SHUTDOWN,
            online_directories(number, known.directory_offline) if named else (),
        )
        for number, known in enumerate(image.brokers)
        if known.state != UNREGISTERED
    }
    known = MappingProxyType(brokers), MappingProxyType(topics), MappingProxyType(partitions)
    features = MappingProxyType({METADATA_VERSION: DIRECTORIES_FROM} if named else {})
    return ClusterImage(BEGINNING, *known, configs=MappingProxyType(configs), features=features)


def log_of(
    images: Sequence[state.MetadataImage], other_min_isr: int, unclean: str | None, named: bool, moved: frozenset[int]
) -> MetadataLog:
    """Return the metadata log that begins with the first image, and has a batch for each further one.

    The topic's unclean.leader.election.enable is `unclean` at the end. No image says it: it changes where nothing else does.
    """
    batches = [records_between(*neighbours, other_min_isr, named) for neighbours in pairwise(images)]
    settings = {} if unclean is None or batches else {UNCLEAN: unclean}
    log = MetadataLog(beginning=image_of(images[0], other_min_isr, named, moved, settings))
    change = ConfigRecord(TOPIC_CONFIG, PARTITION.topic, UNCLEAN, unclean)
    for number, batch in enumerate(batches, 1):
        log.commit([*batch, change] if batch == [] or (unclean is not None and number == len(batches)) else batch)
    return log


def registered(
    held: state.PartitionRegistration, topic_id: UUID, named: bool, moved: frozenset[int] = frozenset()
) -> RegisteredPartition:
    """Return the partition of an image."""
    return RegisteredPartition(
        topic_id,
        tuple(held.replicas),
        tuple(BrokerSet(held.isr)),
        held.leader,
        held.leader_epoch,
        held.partition_epoch,
        tuple(BrokerSet(held.elr)),
        held.last_known_leader,
        held.recovery,
        tuple(BrokerSet(held.adding)),
        tuple(BrokerSet(held.removing)),
        tuple(two_directories(broker)[broker in moved] for broker in held.replicas) if named else (),
    )


def records_between(
    before: state.MetadataImage, after: state.MetadataImage, other_min_isr: int, named: bool
) -> list[MetadataRecord]:
    """Return the batch that leads from an image to the next."""
    records: list[MetadataRecord] = []
    for number, (old, new) in enumerate(zip(before.brokers, after.brokers, strict=True)):
        fenced, stops = new.state == IS_FENCED, new.state == CONTROLLED_SHUTDOWN
        if new.state == UNREGISTERED:
            if old.state != UNREGISTERED:
                records.append(UnregisterBrokerRecord(number, old.epoch))
        elif new.epoch != old.epoch:
            process = incarnation(number, new.epoch)
            dirs = online_directories(number, new.directory_offline) if named else ()
            records.append(
                RegisterBrokerRecord(number, process, new.epoch, fenced=fenced, in_controlled_shutdown=stops, log_dirs=dirs)
            )
        elif (new.state, new.directory_offline) != (old.state, old.directory_offline):
            changed = UNCHANGED
            if fenced != (old.state == IS_FENCED):
                changed = FENCED if fenced else UNFENCED
            dirs = online_directories(number, new.directory_offline) if new.directory_offline != old.directory_offline else ()
            records.append(BrokerRegistrationChangeRecord(number, new.epoch, changed, int(stops), dirs))
    was, held = before.partition, after.partition
    if held.topic_id != UNKNOWN and held.topic_id == was.topic_id and held.min_isr_changed != was.min_isr_changed:
        value = str(other_min_isr) if held.min_isr_changed else None
        records.append(ConfigRecord(TOPIC_CONFIG, PARTITION.topic, MIN_ISR, value))
    return [*records, *changes_between(was, held, named)]


def changes_between(was: state.PartitionRegistration, held: state.PartitionRegistration, named: bool) -> list[MetadataRecord]:
    """Return the records that lead from a partition to the next: it is changed, deleted or created."""
    topic_id, known = topic_numbered(held.topic_id), held.last_known_leader
    gone = topic_numbered(was.topic_id)
    if topic_id is None:
        return [] if gone is None else [RemoveTopicRecord(gone)]
    replicas, isr, number = tuple(held.replicas), tuple(BrokerSet(held.isr)), PARTITION.partition
    if gone is None:
        directories = tuple(replica_directory(broker) for broker in replicas) if named else ()
        epochs = held.leader_epoch, held.partition_epoch
        first = PartitionRecord(number, topic_id, replicas, isr, held.leader, *epochs, directories=directories)
        return [TopicRecord(PARTITION.topic, topic_id), first]
    if held.partition_epoch == was.partition_epoch:
        return []
    return [
        PartitionChangeRecord(
            number,
            topic_id,
            isr=isr,
            leader=held.leader if held.leader_epoch != was.leader_epoch else NO_LEADER_CHANGE,
            replicas=replicas,
            removing_replicas=tuple(BrokerSet(held.removing)),
            adding_replicas=tuple(BrokerSet(held.adding)),
            leader_recovery_state=held.recovery if held.recovery != was.recovery else NO_RECOVERY_CHANGE,
            eligible_leader_replicas=tuple(BrokerSet(held.elr)),
            last_known_elr=() if known == NONE else (known,),
        )
    ]


def request_of(broker: int, request: state.AlterPartitionRequest, min_isr: int) -> ProposalRequest:
    """Return a proposal on its way; `min_isr` is its leader's min.insync.replicas."""
    members = tuple((member, request.epochs[member]) for member in BrokerSet(request.isr))
    topic_id = text_of(UUID(int=request.topic_id + 1))
    proposed = ProposedIsr(request.leader_epoch, request.partition_epoch, members, topic_id, min_isr=min_isr)
    return ProposalRequest(broker, request.broker_epoch, {PARTITION: proposed})


def answer_of(answer: state.AlterPartitionAnswer) -> ProposalAnswer:
    """Return an answer on its way."""
    altered = AlteredPartition(ErrorCode(answer.error), answer.leader_epoch, answer.partition_epoch, tuple(BrokerSet(answer.isr)))
    return ProposalAnswer(ErrorCode.NONE, {PARTITION: altered})
