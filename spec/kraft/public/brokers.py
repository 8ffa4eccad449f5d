"""The public model's brokers: they start, read the metadata log, and lead or follow as it says.

Source: Vanlightly/kafka-tlaplus, kafka_data_replication/kraft/v3.5: kafka_replication_v3_5.tla, v3_5_functions.tla.
"""

from __future__ import annotations

from kafka_spec.spec.decisions.variants import Checked
from kafka_spec.spec.kraft.public.controller import (
    A_MESSAGE,
    REFERENCE,
    discard,
)
from kafka_spec.spec.kraft.public.records import A_BROKER, apply_isr, end_of, last_epoch, tell_clients
from kafka_spec.spec.kraft.public.state import (
    METADATA,
    BrokerStatus,
    MessageKind,
    PublicKRaft,
    PublicMessage,
    ReplicaStatus,
)
from kafka_spec.spec.language.domain import NO_BROKERS, NONE, BrokerSet, Range, add, contains, reset, size
from kafka_spec.spec.vocabulary.table import Constants, Rule

# ---------------------------------------------------------------------------------------------------------------------
# Start


def is_offline(s: PublicKRaft, broker: int) -> bool:
    """The broker is offline."""
    return s.brokers[broker].status == BrokerStatus.OFFLINE


def start(s: PublicKRaft, k: Constants, broker: int) -> None:
    """Start under the next incarnation, and send a registration."""
    node = s.brokers[broker]
    former = node.epoch if k.elr == Checked.YES else 0
    node.status = BrokerStatus.STARTING
    node.epoch = former
    node.incarnation = s.incarnations
    node.registered = 0
    node.replica = ReplicaStatus.NOTHING
    add(s.messages, kind=MessageKind.REGISTER, broker=broker, broker_epoch=former, incarnation=s.incarnations)
    s.incarnations += 1


START_BROKER = Rule(
    "BrokerStart",
    actor="{broker}",
    params=A_BROKER,
    guards=(is_offline,),
    effects=(start,),
    summary="{broker} starts, and asks the controller to register it",
    reference=REFERENCE,
)


def is_my_registration(s: PublicKRaft, m: PublicMessage) -> bool:
    """It answers the registration of the broker's process."""
    node = s.brokers[m.broker]
    if m.kind != MessageKind.REGISTERED or node.status != BrokerStatus.STARTING or node.registered == 1:
        return False
    return node.incarnation == m.incarnation


def run(s: PublicKRaft, m: PublicMessage) -> None:
    """Run; the metadata log is read up to the record before the registration, and the partition's metadata is blank."""
    node = s.brokers[m.broker]
    node.status = BrokerStatus.RUNNING
    node.epoch = m.broker_epoch
    node.registered = 1
    node.known = max(m.metadata_offset - 1, 0)
    node.hosted = 0
    node.isr = NO_BROKERS
    node.maximal_isr = NO_BROKERS
    node.leader = NONE
    node.leader_epoch = 0
    node.partition_epoch = 0
    discard(s, m)


RUN = Rule(
    "ReceiveBrokerRegResponse",
    actor="{m.broker}",
    params=A_MESSAGE,
    guards=(is_my_registration,),
    effects=(run,),
    summary="{m.broker} is registered, and runs",
    reference=REFERENCE,
)

# ---------------------------------------------------------------------------------------------------------------------
# Metadata


def reads_metadata(s: PublicKRaft, broker: int) -> bool:
    """The broker is registered, and not offline."""
    return s.brokers[broker].status != BrokerStatus.OFFLINE and s.brokers[broker].registered == 1


def record_concerns(s: PublicKRaft, broker: int, offset: int) -> bool:
    """The record is new to the broker, which leads, or receives a larger leader epoch, or does not host the partition yet."""
    node = s.brokers[broker]
    if offset <= node.known or offset > len(s.metadata):
        return False
    if node.replica == ReplicaStatus.LEADS or node.hosted == 0:
        return True
    return s.metadata[offset - 1].leader_epoch > node.leader_epoch


def forget_peers(s: PublicKRaft, k: Constants, broker: int, kept: BrokerSet) -> None:
    """Forget what fetches said, except of some brokers."""
    for other in range(k.brokers):
        if contains(kept, other) == 0:
            s.brokers[broker].peers[other].end = 0
            s.brokers[broker].peers[other].epoch = 0


def forget_proposal(s: PublicKRaft, broker: int) -> None:
    """Forget the pending proposal."""
    s.brokers[broker].pending_epoch = 0
    reset(s.brokers[broker].pending)


def stop_fetchers(s: PublicKRaft, k: Constants, broker: int) -> None:
    """Take the partition out of all fetchers; what they wait for stays."""
    for other in range(k.brokers):
        fetcher = s.brokers[broker].fetchers[other]
        fetcher.added = 0
        fetcher.fetch_offset = 0
        fetcher.last_epoch = 0
        fetcher.delayed = 0


def follow(s: PublicKRaft, k: Constants, broker: int, leader: int, leader_epoch: int) -> None:
    """Fetch from the leader, from the end of the log on."""
    if leader_epoch > s.brokers[broker].leader_epoch or s.brokers[broker].fetchers[leader].added == 0:
        stop_fetchers(s, k, broker)
        fetcher = s.brokers[broker].fetchers[leader]
        fetcher.added = 1
        fetcher.fetch_offset = end_of(s, broker)
        fetcher.last_epoch = last_epoch(s, broker)


def renounce(s: PublicKRaft, k: Constants, broker: int, leader: int, isr: BrokerSet) -> None:
    """Refuse pending writes, and forget all that only a leader needs."""
    high_watermark = s.brokers[broker].high_watermark
    if high_watermark < end_of(s, broker) and (size(isr) < k.min_isr or broker != leader):
        tell_clients(s, broker, high_watermark, end_of(s, broker) - 1, 0)
    forget_peers(s, k, broker, NO_BROKERS)
    forget_proposal(s, broker)
    s.brokers[broker].first_unacknowledged = 0
    s.brokers[broker].epoch_start = 0


def take_record(s: PublicKRaft, k: Constants, broker: int, offset: int) -> None:
    """Take the metadata log up to a record, and become what its partition says, unless the partition epoch is known."""
    s.brokers[broker].known = offset
    if s.metadata[offset - 1].partition_epoch > s.brokers[broker].partition_epoch:
        leader = s.metadata[offset - 1].leader
        leader_epoch = s.metadata[offset - 1].leader_epoch
        partition_epoch = s.metadata[offset - 1].partition_epoch
        isr = s.metadata[offset - 1].isr
        led = 1 if s.brokers[broker].replica == ReplicaStatus.LEADS else 0
        if leader == broker and s.brokers[broker].leader == broker and s.brokers[broker].leader_epoch == leader_epoch:
            apply_isr(s, k, broker, isr)
            if partition_epoch >= s.brokers[broker].pending_epoch:
                forget_proposal(s, broker)
        elif leader == broker:
            apply_isr(s, k, broker, isr)
            s.brokers[broker].epoch_start = end_of(s, broker)
            forget_peers(s, k, broker, isr if led == 1 else NO_BROKERS)
            s.brokers[broker].replica = ReplicaStatus.LEADS
            forget_proposal(s, broker)
            stop_fetchers(s, k, broker)
        elif leader != NONE:
            s.brokers[broker].replica = ReplicaStatus.FOLLOWS
            follow(s, k, broker, leader, leader_epoch)
            renounce(s, k, broker, leader, isr)
        else:
            s.brokers[broker].replica = ReplicaStatus.NOTHING
            stop_fetchers(s, k, broker)
            renounce(s, k, broker, NONE, isr)
        s.brokers[broker].hosted = 1
        s.brokers[broker].isr = isr
        s.brokers[broker].maximal_isr = isr
        s.brokers[broker].leader = leader
        s.brokers[broker].leader_epoch = leader_epoch
        s.brokers[broker].partition_epoch = partition_epoch


TAKE_RECORD = Rule(
    "ReceiveMetadataUpdate",
    actor="{broker}",
    params={**A_BROKER, "offset": Range(1, METADATA)},
    guards=(reads_metadata, record_concerns),
    effects=(take_record,),
    summary="{broker} takes the metadata log up to offset {offset}",
    reference=REFERENCE,
)

RULES = (START_BROKER, RUN, TAKE_RECORD)
