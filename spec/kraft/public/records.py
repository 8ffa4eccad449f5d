"""The public model's records: a leader's log, its high watermark, and what clients see.

Source: Vanlightly/kafka-tlaplus, kafka_data_replication/kraft/v3.5: kafka_replication_v3_5.tla, v3_5_functions.tla.
"""

from __future__ import annotations

from kafka_spec.spec.brokers import Broker
from kafka_spec.spec.decisions.variants import Checked
from kafka_spec.spec.kraft.public.controller import (
    REFERENCE,
)
from kafka_spec.spec.kraft.public.state import (
    BROKERS,
    VALUES,
    BrokerStatus,
    PublicKRaft,
    ReplicaStatus,
)
from kafka_spec.spec.language.domain import BrokerSet, Range, append, contains, including, size
from kafka_spec.spec.vocabulary.table import Constants, Rule

A_BROKER = {"broker": Broker(BROKERS)}


def end_of(s: PublicKRaft, broker: int) -> int:
    """Return the log end offset of a broker."""
    return len(s.brokers[broker].log) + 1


def last_epoch(s: PublicKRaft, broker: int) -> int:
    """Return the epoch of the last record, 0 if there is none."""
    end = len(s.brokers[broker].log)
    return s.brokers[broker].log[end - 1].epoch if end > 0 else 0


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
    summary="a client writes value {value} to {broker}",
    reference=REFERENCE,
)

RULES = (WRITE,)
