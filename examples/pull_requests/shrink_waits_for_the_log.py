"""A candidate fix of raised-min-isr-learned-late: a leader takes a smaller ISR from the metadata log, and not from an answer."""

from __future__ import annotations

from kafka_spec.spec.decisions.alter_partition import Reaction, reaction
from kafka_spec.spec.decisions.variants import Checked
from kafka_spec.spec.kraft.machines import PROPOSAL, SENT
from kafka_spec.spec.kraft.replica import forget_request, raise_high_watermark
from kafka_spec.spec.kraft.state import KRaft
from kafka_spec.spec.language.domain import NO_BROKERS, pop_first
from kafka_spec.spec.vocabulary.table import Constants, fire


def react(s: KRaft, k: Constants, broker: int) -> None:
    """React to the answer; an accepted proposal to shrink the ISR stays pending until an image has it."""
    again = 0
    mine = s.brokers[broker].replica
    reply = s.brokers[broker].answers[0]
    if mine.proposal == SENT:
        wanted = reaction(reply.error, reply.leader_epoch, mine.leader_epoch, reply.partition_epoch, mine.partition_epoch)
        if wanted == Reaction.ADOPT and mine.isr & ~reply.isr != 0 and reply.partition_epoch > mine.partition_epoch:
            again = 0  # the image of the change settles the proposal
        elif wanted == Reaction.ADOPT:
            mine.isr = reply.isr
            mine.partition_epoch = reply.partition_epoch
            mine.proposed = NO_BROKERS
            fire(s, k, PROPOSAL, (broker,), "adopt")
            if k.high_watermark_after_alter == Checked.YES:
                raise_high_watermark(s, k, broker)
        elif wanted == Reaction.ROLL_BACK:
            mine.proposed = NO_BROKERS
            fire(s, k, PROPOSAL, (broker,), "roll_back")
            if k.high_watermark_after_rollback == Checked.YES:
                raise_high_watermark(s, k, broker)
        elif wanted == Reaction.RETRY and k.cleared_before_retry == Checked.YES:
            again = 1
        else:
            fire(s, k, PROPOSAL, (broker,), "strand")
    pop_first(s.brokers[broker].answers)
    if again == 1:
        s.brokers[broker].requests[0].broker_epoch = s.brokers[broker].epoch
    else:
        forget_request(s, broker)
