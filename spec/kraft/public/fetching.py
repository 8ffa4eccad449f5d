"""The public model's fetches: a request, its answer, and what the follower does with it.

Source: Vanlightly/kafka-tlaplus, kafka_data_replication/kraft/v3.5: kafka_replication_v3_5.tla, v3_5_functions.tla.
"""

from __future__ import annotations

from kafka_spec.spec.brokers import Broker
from kafka_spec.spec.kraft.public.controller import A_MESSAGE, REFERENCE, discard
from kafka_spec.spec.kraft.public.records import end_of, last_epoch, raise_high_watermark
from kafka_spec.spec.kraft.public.state import (
    BROKERS,
    BrokerStatus,
    MessageKind,
    PublicError,
    PublicKRaft,
    PublicMessage,
    ReplicaStatus,
)
from kafka_spec.spec.language.domain import add, append, truncate
from kafka_spec.spec.vocabulary.table import Constants, Rule


def end_for_epoch(s: PublicKRaft, broker: int, epoch: int, leads: int) -> tuple[int, int]:
    """Return the largest epoch of the log up to this one, and where it ends; an offset of 0 is unknown."""
    length = len(s.brokers[broker].log)
    current = s.brokers[broker].leader_epoch
    if length == 0 or last_epoch(s, broker) == epoch or (leads == 1 and current == epoch):
        return epoch, length + 1
    floor = epoch
    higher = length + 1 if leads == 1 and current > epoch else 0
    found = 0
    for offset in range(length):
        if s.brokers[broker].log[offset].epoch <= epoch:
            floor = s.brokers[broker].log[offset].epoch
        elif found == 0:
            found = offset + 1
    return floor, found if found != 0 else higher


def can_fetch(s: PublicKRaft, broker: int, leader: int) -> bool:
    """The broker's fetcher towards its leader waits for nothing, and there is something to learn or to tell."""
    node = s.brokers[broker]
    fetcher = node.fetchers[leader]
    if (
        broker == leader
        or node.status != BrokerStatus.RUNNING
        or fetcher.added == 0
        or fetcher.pending == 1
        or node.leader != leader
    ):
        return False
    known = s.brokers[leader].peers[broker]
    if end_of(s, leader) != end_of(s, broker) or s.brokers[leader].high_watermark != node.high_watermark:
        return True
    return known.end != end_of(s, broker) or known.epoch != node.epoch


def send_fetch(s: PublicKRaft, broker: int, leader: int) -> None:
    """Send a fetch."""
    fetcher = s.brokers[broker].fetchers[leader]
    add(
        s.messages,
        kind=MessageKind.FETCH,
        broker=broker,
        leader=leader,
        broker_epoch=s.brokers[broker].epoch,
        leader_epoch=s.brokers[broker].leader_epoch,
        fetch_offset=fetcher.fetch_offset,
        last_epoch=fetcher.last_epoch,
    )
    fetcher.pending = 1
    fetcher.delayed = 0


SEND_FETCH = Rule(
    "SendFetchRequest",
    actor="{broker}",
    params={"broker": Broker(BROKERS), "leader": Broker(BROKERS)},
    guards=(can_fetch,),
    effects=(send_fetch,),
    summary="{broker} sends a fetch to {leader}",
    reference=REFERENCE,
)


def is_fetch(s: PublicKRaft, m: PublicMessage) -> bool:
    """It is a fetch, and its receiver runs."""
    return m.kind == MessageKind.FETCH and s.brokers[max(m.leader, 0)].status == BrokerStatus.RUNNING


def answer_fetch(s: PublicKRaft, k: Constants, m: PublicMessage) -> None:
    """Refuse the fetch, or tell where the logs diverge, or learn from it and send the next record."""
    leader = m.leader
    current = s.brokers[leader].leader_epoch
    epoch, end = end_for_epoch(s, leader, m.last_epoch, 1)
    error = PublicError.NOTHING
    diverges = 0
    value = 0
    value_epoch = 0
    if s.brokers[leader].replica != ReplicaStatus.LEADS or current != m.leader_epoch:
        error = PublicError.NOT_LEADER
        if current < m.leader_epoch:
            error = PublicError.UNKNOWN_EPOCH
        if current > m.leader_epoch:
            error = PublicError.FENCED_EPOCH
    elif epoch < m.last_epoch or end < m.fetch_offset:
        diverges = 1
    else:
        s.brokers[leader].peers[m.broker].end = m.fetch_offset
        s.brokers[leader].peers[m.broker].epoch = m.broker_epoch
        raise_high_watermark(s, k, leader, s.brokers[leader].isr, s.brokers[leader].maximal_isr, 1)
        if m.fetch_offset < end_of(s, leader):
            value = s.brokers[leader].log[m.fetch_offset - 1].value + 1
            value_epoch = s.brokers[leader].log[m.fetch_offset - 1].epoch
    discard(s, m)
    add(
        s.messages,
        kind=MessageKind.FETCHED,
        broker=m.broker,
        leader=leader,
        error=error,
        answered_epoch=current,
        fetch_offset=m.fetch_offset,
        diverges=diverges,
        diverging_epoch=epoch if diverges == 1 else 0,
        diverging_end=end if diverges == 1 else 0,
        high_watermark=s.brokers[leader].high_watermark,
        value=value,
        value_epoch=value_epoch,
    )


ANSWER_FETCH = Rule(
    "ReceiveFetchRequest",
    actor="{m.leader}",
    params=A_MESSAGE,
    guards=(is_fetch,),
    effects=(answer_fetch,),
    summary="{m.leader} answers the fetch of {m.broker}",
    reference=REFERENCE,
)


def is_awaited(s: PublicKRaft, m: PublicMessage) -> bool:
    """It is an answer to a fetch for which the broker waits."""
    if m.kind != MessageKind.FETCHED or s.brokers[m.broker].status != BrokerStatus.RUNNING:
        return False
    return s.brokers[m.broker].fetchers[max(m.leader, 0)].pending == 1


def truncation(s: PublicKRaft, broker: int, epoch: int, end: int) -> int:
    """Return where a follower truncates after an answer."""
    own, own_end = end_for_epoch(s, broker, epoch, 0)
    return own_end if own != epoch else min(own_end, end)


def take_records(s: PublicKRaft, m: PublicMessage) -> None:
    """Ignore an outdated answer; wait after an error; truncate where the logs diverge; or append the record."""
    node = s.brokers[m.broker]
    fetcher = node.fetchers[m.leader]
    fetcher.pending = 0
    if fetcher.added == 1 and fetcher.fetch_offset == m.fetch_offset and node.leader_epoch == m.answered_epoch:
        if m.error != PublicError.NOTHING:
            fetcher.delayed = 1
        else:
            if m.diverges == 1:
                offset = truncation(s, m.broker, m.diverging_epoch, m.diverging_end)
                truncate(s.brokers[m.broker].log, max(offset - 1, 0))
            else:
                if m.value != 0:
                    append(s.brokers[m.broker].log, value=m.value - 1, epoch=m.value_epoch)
                if m.high_watermark <= end_of(s, m.broker):
                    s.brokers[m.broker].high_watermark = m.high_watermark
            now = s.brokers[m.broker].fetchers[m.leader]
            now.fetch_offset = end_of(s, m.broker)
            if m.diverges == 1 or m.value != 0:
                now.last_epoch = last_epoch(s, m.broker)
            now.delayed = 0
    discard(s, m)


TAKE_RECORDS = Rule(
    "ReceiveFetchResponse",
    actor="{m.broker}",
    params=A_MESSAGE,
    guards=(is_awaited,),
    effects=(take_records,),
    summary="{m.broker} receives the answer of {m.leader}",
    reference=REFERENCE,
)

RULES = (SEND_FETCH, ANSWER_FETCH, TAKE_RECORDS)
