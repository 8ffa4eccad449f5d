"""Leader elections: what a controller puts before the strategies of spec/election.py, and what it makes of their answer.

Source: Kafka 2.8 PartitionStateMachine.scala (doElectLeaderForPartitions), Election.scala.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from kafka_spec.impl.controller.context import ControllerContext
from kafka_spec.impl.protocol.controller_requests import Leadership
from kafka_spec.impl.protocol.topic_partition import TopicPartition
from kafka_spec.spec.domain import BrokerSet
from kafka_spec.spec.election import Strategy
from kafka_spec.spec.election import elect as elect_from
from kafka_spec.spec.table import Constants


@dataclass(frozen=True)
class StateZnode:
    """What a step read of a partition's state znode before it asks a table: None if there is none, or nothing readable."""

    read: Leadership | None

    @property
    def held(self) -> Leadership:
        """What was read, where a guard has seen to it that there is something."""
        assert self.read is not None
        return self.read


@dataclass(frozen=True)
class ElectionInputs(StateZnode):
    """What an election looks at beside the context: the state znode, the strategy, and the topic's unclean election."""

    strategy: Strategy
    unclean: bool
    """Whether unclean election is enabled; only looked up where no member of the ISR can lead."""


class Elected(NamedTuple):
    """Who leads, NO_LEADER if nobody can, the ISR, and the recipients of LeaderAndIsr."""

    leader: int
    isr: BrokerSet
    recipients: BrokerSet


def elect(partition: TopicPartition, inputs: ElectionInputs, context: ControllerContext, k: Constants) -> Elected:
    """Elect a leader as the strategy has it."""
    return Elected(
        *elect_from(
            inputs.strategy,
            context.assignments[partition],
            context.online(partition),
            context.stopping,
            inputs.held.members,
            int(inputs.unclean),
            k.offline_recipients,
            k.shutdown_recipients,
        )
    )
