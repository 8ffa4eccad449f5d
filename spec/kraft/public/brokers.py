"""The public model's brokers: start, metadata, proposals, writes, and the loss of a log.

Source: Vanlightly/kafka-tlaplus, kafka_data_replication/kraft/v3.5: kafka_replication_v3_5.tla, v3_5_functions.tla.
"""

from __future__ import annotations

from kafka_spec.spec.brokers import Broker
from kafka_spec.spec.decisions import Checked
from kafka_spec.spec.domain import (
    NO_BROKERS,
    NONE,
    BrokerSet,
    Range,
    add,
    append,
    contains,
    has,
    including,
    only,
    remove,
    reset,
    size,
    truncate,
)
from kafka_spec.spec.kraft.public.controller import (
    A_MESSAGE,
    CANDIDATE,
    CITES,
    answer_to,
    discard,
    fence,
    fenced_candidate_is_right,
    last,
)
from kafka_spec.spec.kraft.public.state import (
    BROKERS,
    LOSSES,
    METADATA,
    SHRINKS,
    VALUES,
    BrokerStatus,
    MessageKind,
    PublicError,
    PublicKRaft,
    PublicMessage,
    ReplicaStatus,
)
from kafka_spec.spec.table import Constants, Rule

A_BROKER = {"broker": Broker(BROKERS)}


def end_of(s: PublicKRaft, broker: int) -> int:
    """Return the log end offset of a broker."""
    return len(s.brokers[broker].log) + 1


# ---------------------------------------------------------------------------------------------------------------------
# The high watermark, and what clients are told


def commit_offset(s: PublicKRaft, k: Constants, broker: int, maximal_isr: BrokerSet, end: int) -> int:
    """Return the largest offset below `end` that the maximal ISR holds, as the leader knows it; 0 if its log is empty before."""
    if end_of(s, broker) == 1:
        return 0
    reached = end - 1
    for member in range(k.brokers):
        if contains(maximal_isr, member) == 1 and member != broker:
            reached = min(reached, max(s.brokers[broker].peers[member].end - 1, 0))
    return reached


def tell_clients(s: PublicKRaft, broker: int, low: int, high: int, acknowledged: int) -> None:
    """Acknowledge, or refuse, the writes of this leader at these offsets that were not answered yet."""
    for offset in range(low, high + 1):
        value = s.brokers[broker].log[offset - 1].value
        mine = s.brokers[broker].first_unacknowledged != 0 and offset >= s.brokers[broker].first_unacknowledged
        if mine and contains(s.sent & ~s.acknowledged & ~s.refused, value) == 1:
            if acknowledged == 1:
                s.acknowledged = including(s.acknowledged, value)
            else:
                s.refused = including(s.refused, value)


def raise_high_watermark(s: PublicKRaft, k: Constants, broker: int, isr: BrokerSet, maximal_isr: BrokerSet, enough: int) -> None:
    """Raise the high watermark to what is committed; acknowledge what it passes, or refuse all writes if `enough` is 0.

    With KIP-966 only while the ISR has MinISR members.
    """
    old = s.brokers[broker].high_watermark
    new = commit_offset(s, k, broker, maximal_isr, end_of(s, broker)) + 1
    if new > old and (k.commits_need_min_isr == Checked.NO or size(isr) >= k.min_isr):
        s.brokers[broker].high_watermark = new
        tell_clients(s, broker, old, new - 1 if enough == 1 else end_of(s, broker) - 1, enough)
        if new > s.true_high_watermark:
            for offset in range(s.true_high_watermark, new):
                read = s.brokers[broker].log[offset - 1]
                append(s.consumed, value=read.value, epoch=read.epoch)
            s.true_high_watermark = new


def apply_isr(s: PublicKRaft, k: Constants, broker: int, isr: BrokerSet) -> None:
    """Raise the high watermark after a change to this ISR."""
    raise_high_watermark(s, k, broker, isr, isr, 1 if size(isr) >= k.min_isr else 0)


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
    says="{broker} starts, and asks the controller to register it",
    cites=CITES,
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
    says="{m.broker} is registered, and runs",
    cites=CITES,
)

# ---------------------------------------------------------------------------------------------------------------------
# Metadata


def reads_metadata(s: PublicKRaft, broker: int) -> bool:
    """The broker is registered, and not offline."""
    return s.brokers[broker].status != BrokerStatus.OFFLINE and s.brokers[broker].registered == 1


def record_concerns(s: PublicKRaft, broker: int, offset: int) -> bool:
    """The record is new to the broker, which leads, or is told a larger leader epoch, or does not host the partition yet."""
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


def last_epoch(s: PublicKRaft, broker: int) -> int:
    """Return the epoch of the last record, 0 if there is none."""
    end = len(s.brokers[broker].log)
    return s.brokers[broker].log[end - 1].epoch if end > 0 else 0


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
    says="{broker} takes the metadata log up to offset {offset}",
    cites=CITES,
)

# ---------------------------------------------------------------------------------------------------------------------
# Proposals


def may_propose(s: PublicKRaft, broker: int) -> bool:
    """The broker runs and leads, and nothing is pending."""
    node = s.brokers[broker]
    return (
        node.status == BrokerStatus.RUNNING and node.replica == ReplicaStatus.LEADS and node.pending_epoch <= node.partition_epoch
    )


def proposed_isr(s: PublicKRaft, k: Constants, broker: int, timed_out: int) -> BrokerSet:
    """Return the ISR that is proposed: the leader, members that did not time out, followers that are caught up."""
    node = s.brokers[broker]
    isr = only(broker)
    for other in range(k.brokers):
        end = node.peers[other].end
        if contains(node.isr, other) == 1 and contains(timed_out, other) == 0:
            isr = including(isr, other)
        if contains(node.isr, other) == 0 and end != 0 and end >= node.high_watermark and end >= node.epoch_start:
            isr = including(isr, other)
    return isr


def epochs_of(s: PublicKRaft, k: Constants, broker: int, isr: BrokerSet) -> int:
    """Return the broker epochs of a proposal: the leader's own, those of the last fetches of who joins, 0 of the others."""
    epochs = 0
    for member in range(k.brokers):
        if contains(isr, member) == 1:
            if member == broker:
                epochs = epochs | (s.brokers[broker].epoch << (4 * member))
            elif contains(s.brokers[broker].isr, member) == 0:
                epochs = epochs | (s.brokers[broker].peers[member].epoch << (4 * member))
    return epochs


def proposal_is_new(s: PublicKRaft, k: Constants, broker: int, isr: BrokerSet) -> bool:
    """The proposal differs from the ISR, and was not sent before, or would be accepted."""
    node = s.brokers[broker]
    if isr == node.isr:
        return False
    epochs = epochs_of(s, k, broker, isr)
    if answer_to(s, k, broker, node.epoch, node.partition_epoch, isr, epochs) == PublicError.NOTHING:
        return True
    sent = has(
        s.messages,
        kind=MessageKind.ALTER,
        broker=broker,
        isr=isr,
        epochs=epochs,
        leader_epoch=node.leader_epoch,
        partition_epoch=node.partition_epoch,
        broker_epoch=node.epoch,
    )
    before = has(
        s.processed,
        kind=MessageKind.ALTER,
        broker=broker,
        isr=isr,
        epochs=epochs,
        leader_epoch=node.leader_epoch,
        partition_epoch=node.partition_epoch,
        broker_epoch=node.epoch,
    )
    return not sent and not before


def expands(s: PublicKRaft, k: Constants, broker: int) -> bool:
    """A follower may join."""
    return proposal_is_new(s, k, broker, proposed_isr(s, k, broker, NO_BROKERS))


def send_proposal(s: PublicKRaft, broker: int, isr: BrokerSet, epochs: int) -> None:
    """Send the proposal; the maximal ISR has both."""
    node = s.brokers[broker]
    add(
        s.messages,
        kind=MessageKind.ALTER,
        broker=broker,
        isr=isr,
        epochs=epochs,
        leader_epoch=node.leader_epoch,
        partition_epoch=node.partition_epoch,
        broker_epoch=node.epoch,
    )
    node.maximal_isr = isr | node.isr
    node.pending_epoch = node.partition_epoch + 1
    node.pending.kind = MessageKind.ALTER
    node.pending.broker = broker
    node.pending.isr = isr
    node.pending.epochs = epochs
    node.pending.leader_epoch = node.leader_epoch
    node.pending.partition_epoch = node.partition_epoch
    node.pending.broker_epoch = node.epoch


def expand(s: PublicKRaft, k: Constants, broker: int) -> None:
    """Propose the ISR with who is caught up."""
    isr = proposed_isr(s, k, broker, NO_BROKERS)
    send_proposal(s, broker, isr, epochs_of(s, k, broker, isr))


EXPAND = Rule(
    "SendAlterPartitionRequest",
    actor="{broker}",
    params=A_BROKER,
    guards=(may_propose, expands),
    effects=(expand,),
    says="{broker} proposes an ISR with who is caught up",
    cites=CITES,
)


def members_time_out(s: PublicKRaft, k: Constants, broker: int, timed_out: int) -> bool:
    """These members of the ISR time out, and the proposal without them is new."""
    if timed_out == 0 or contains(timed_out, broker) == 1 or timed_out & ~s.brokers[broker].isr != 0:
        return False
    return proposal_is_new(s, k, broker, proposed_isr(s, k, broker, timed_out))


def shrink(s: PublicKRaft, k: Constants, broker: int, timed_out: int) -> None:
    """Propose the ISR without who timed out."""
    isr = proposed_isr(s, k, broker, NO_BROKERS | timed_out)
    send_proposal(s, broker, isr, epochs_of(s, k, broker, isr))


SHRINK_ISR = Rule(
    "SendAlterPartitionRequestWithout",
    actor="{broker}",
    kind="fault",
    params={**A_BROKER, "timed_out": Range(1, 7)},
    guards=(may_propose, members_time_out),
    at_most=SHRINKS,
    effects=(shrink,),
    says="{broker} proposes an ISR without who timed out",
    cites=CITES,
)


def answers_my_proposal(s: PublicKRaft, m: PublicMessage) -> bool:
    """It answers the pending proposal of a leader that runs."""
    node = s.brokers[m.broker]
    if m.kind != MessageKind.ALTERED or node.status != BrokerStatus.RUNNING or node.replica != ReplicaStatus.LEADS:
        return False
    mine = node.pending
    if node.pending_epoch <= node.partition_epoch or m.isr != mine.isr or m.epochs != mine.epochs:
        return False
    if m.leader_epoch != mine.leader_epoch or m.partition_epoch != mine.partition_epoch or m.broker_epoch != mine.broker_epoch:
        return False
    return m.accepted == 0 or (m.partition_epoch + 1 > node.partition_epoch and m.leader_epoch == node.leader_epoch)


def take_answer(s: PublicKRaft, k: Constants, m: PublicMessage) -> None:
    """Adopt the proposed ISR, or go back to the committed one."""
    if m.accepted == 1:
        s.brokers[m.broker].isr = m.isr
        s.brokers[m.broker].partition_epoch = m.partition_epoch + 1
    s.brokers[m.broker].maximal_isr = s.brokers[m.broker].isr
    apply_isr(s, k, m.broker, s.brokers[m.broker].maximal_isr)
    forget_proposal(s, m.broker)
    discard(s, m)


TAKE_ANSWER = Rule(
    "ReceiveAlterPartitionResponse",
    actor="{m.broker}",
    params=A_MESSAGE,
    guards=(answers_my_proposal,),
    effects=(take_answer,),
    says="{m.broker} receives the answer to its proposal",
    cites=CITES,
)

# ---------------------------------------------------------------------------------------------------------------------
# Writes, and the loss of a log


def accepts_writes(s: PublicKRaft, k: Constants, broker: int) -> bool:
    """The broker runs and leads, and its maximal ISR is large enough."""
    node = s.brokers[broker]
    if node.status != BrokerStatus.RUNNING or node.replica != ReplicaStatus.LEADS:
        return False
    return size(node.maximal_isr) >= k.min_isr


def is_not_sent(s: PublicKRaft, value: int) -> bool:
    """The value was not written yet."""
    return contains(s.sent, value) == 0


def write(s: PublicKRaft, k: Constants, broker: int, value: int) -> None:
    """Append the value. The high watermark is tried by the log as it was: it does not pass a first record."""
    node = s.brokers[broker]
    if node.first_unacknowledged == 0:
        node.first_unacknowledged = end_of(s, broker)
    s.sent = including(s.sent, value)
    append(s.brokers[broker].log, value=value, epoch=node.leader_epoch)


WRITE = Rule(
    "WriteRecordToLeader",
    actor="client",
    params={**A_BROKER, "value": Range(0, VALUES - 1)},
    guards=(accepts_writes, is_not_sent),
    effects=(write,),
    says="a client writes value {value} to {broker}",
    cites=CITES,
)


def is_not_offline(s: PublicKRaft, broker: int) -> bool:
    """The broker is not offline."""
    return s.brokers[broker].status != BrokerStatus.OFFLINE


def may_lose_its_log(s: PublicKRaft, k: Constants, broker: int) -> bool:
    """The last member of the ISR is spared, if the version does so (AvoidLastReplicaStanding)."""
    return k.last_replica_spared == Checked.NO or s.metadata[last(s)].isr != only(broker)


def drop_fetches(s: PublicKRaft, k: Constants, broker: int) -> None:
    """End the broker's fetch sessions: messages of fetches from it and to it are lost."""
    for other in range(k.brokers):
        reset(s.brokers[broker].fetchers[other])
        fetcher = s.brokers[other].fetchers[broker]
        if other != broker and fetcher.pending == 1:
            fetcher.pending = 0
            fetcher.delayed = fetcher.added


def first_fetch(s: PublicKRaft, broker: int) -> tuple[int, int, int, int, int, int, int, int, int, int, int, int, int, int, int]:
    """Return the fields of a message of a fetch from the broker or to it; the first is 0 if there is none."""
    for m in s.messages:
        if (m.kind == MessageKind.FETCH or m.kind == MessageKind.FETCHED) and (m.broker == broker or m.leader == broker):
            return (
                m.kind,
                m.broker,
                m.leader,
                m.broker_epoch,
                m.leader_epoch,
                m.fetch_offset,
                m.last_epoch,
                m.error,
                m.answered_epoch,
                m.diverges,
                m.diverging_epoch,
                m.diverging_end,
                m.high_watermark,
                m.value,
                m.value_epoch,
            )
    return 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0


def drop_messages(s: PublicKRaft, k: Constants, broker: int) -> None:
    """Take the messages of fetches from the broker and to it."""
    for _ in range(k.in_flight):
        (
            kind,
            sender,
            leader,
            broker_epoch,
            leader_epoch,
            fetch_offset,
            last_epoch,
            error,
            answered_epoch,
            diverges,
            diverging_epoch,
            diverging_end,
            high_watermark,
            value,
            value_epoch,
        ) = first_fetch(s, broker)
        if kind != 0:
            add(
                s.processed,
                kind=kind,
                broker=sender,
                leader=leader,
                broker_epoch=broker_epoch,
                leader_epoch=leader_epoch,
                fetch_offset=fetch_offset,
                last_epoch=last_epoch,
                error=error,
                answered_epoch=answered_epoch,
                diverges=diverges,
                diverging_epoch=diverging_epoch,
                diverging_end=diverging_end,
                high_watermark=high_watermark,
                value=value,
                value_epoch=value_epoch,
            )
            remove(
                s.messages,
                kind=kind,
                broker=sender,
                leader=leader,
                broker_epoch=broker_epoch,
                leader_epoch=leader_epoch,
                fetch_offset=fetch_offset,
                last_epoch=last_epoch,
                error=error,
                answered_epoch=answered_epoch,
                diverges=diverges,
                diverging_epoch=diverging_epoch,
                diverging_end=diverging_end,
                high_watermark=high_watermark,
                value=value,
                value_epoch=value_epoch,
            )


def lose_log(s: PublicKRaft, k: Constants, broker: int, candidate: int) -> None:
    """Stop without order: the log is lost, and the controller fences the broker at once."""
    drop_fetches(s, k, broker)
    drop_messages(s, k, broker)
    node = s.brokers[broker]
    if node.replica == ReplicaStatus.LEADS and node.high_watermark < end_of(s, broker):
        tell_clients(s, broker, node.high_watermark, end_of(s, broker) - 1, 0)
    node.status = BrokerStatus.OFFLINE
    node.epoch = 0
    node.incarnation = 0
    node.registered = 0
    node.replica = ReplicaStatus.NOTHING
    node.high_watermark = 1
    node.epoch_start = 0
    node.first_unacknowledged = 0
    truncate(s.brokers[broker].log, 0)
    forget_peers(s, k, broker, NO_BROKERS)
    forget_proposal(s, broker)
    fence(s, k, broker, candidate)


LOSE_LOG = Rule(
    "UncleanShutdown",
    actor="{broker}",
    kind="fault",
    params={**A_BROKER, **CANDIDATE},
    guards=(is_not_offline, may_lose_its_log, fenced_candidate_is_right),
    at_most=LOSSES,
    effects=(lose_log,),
    says="{broker} stops without order and loses its log; the controller fences it",
    cites=CITES,
)

RULES = (START_BROKER, RUN, TAKE_RECORD, EXPAND, SHRINK_ISR, TAKE_ANSWER, WRITE, LOSE_LOG)
