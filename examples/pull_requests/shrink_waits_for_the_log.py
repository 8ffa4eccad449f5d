"""A candidate fix of raised-min-isr-learned-late: a leader takes a smaller ISR from the metadata log, and not from an answer."""

from __future__ import annotations

from kafka_spec.spec.error_codes import ErrorCode
from kafka_spec.spec.kraft.machines import SENT
from kafka_spec.spec.kraft.proposals import react as react_today
from kafka_spec.spec.kraft.replica import forget_request
from kafka_spec.spec.kraft.state import KRaft
from kafka_spec.spec.language.domain import pop_first
from kafka_spec.spec.vocabulary.table import Constants


def react(s: KRaft, k: Constants, broker: int) -> None:
    """React as today, but for an accepted proposal to shrink the ISR: it stays pending until an image has the change."""
    mine = s.brokers[broker].replica
    reply = s.brokers[broker].answers[0]
    accepted = reply.error == ErrorCode.NONE and reply.leader_epoch == mine.leader_epoch
    newer = reply.partition_epoch > mine.partition_epoch
    if mine.proposal == SENT and accepted and newer and mine.isr & ~reply.isr != 0:
        pop_first(s.brokers[broker].answers)
        forget_request(s, broker)
    else:
        react_today(s, k, broker)
