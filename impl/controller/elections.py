"""Leader elections: what a controller puts before the strategies of spec/election.py, and what it makes of their answer.

Source: Kafka 2.8 PartitionStateMachine.scala (doElectLeaderForPartitions), Election.scala.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from kafka_spec.impl.controller.context import ControllerContext, mask
from kafka_spec.impl.protocol.controller_requests import Leadership
from kafka_spec.impl.protocol.topic_partition import TopicPartition
from kafka_spec.spec.control.decisions import OfflineRecipients, ShutdownRecipients
from kafka_spec.spec.control.state import Strategy
from kafka_spec.spec.election import elect_controlled_shutdown, elect_offline, elect_preferred, unclean_election_is_permitted
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
    """Who leads, NO_LEADER if nobody can, and as sets the ISR and those to whom LeaderAndIsr is sent."""

    leader: int
    isr: int
    recipients: int


def elect(partition: TopicPartition, inputs: ElectionInputs, context: ControllerContext, k: Constants) -> Elected:
    """Elect a leader as the strategy has it."""
    replicas, isr = context.assignments[partition], mask(inputs.held.isr)
    live, stopping = context.online(partition), mask(context.stopping)
    if inputs.strategy == Strategy.PREFERRED:
        return Elected(*elect_preferred(replicas, live, isr))
    if inputs.strategy == Strategy.CONTROLLED_SHUTDOWN:
        leader, left, recipients = elect_controlled_shutdown(replicas, live, stopping, isr)
        return Elected(leader, left, recipients & ~stopping if k.shutdown_recipients == ShutdownRecipients.LIVE else recipients)
    unclean = unclean_election_is_permitted(isr, live, 0, int(inputs.unclean))
    leader, left, recipients = elect_offline(replicas, live, isr, unclean)
    if k.offline_recipients == OfflineRecipients.LIVE_OR_STOPPING:
        recipients |= mask(replicas) & stopping
    return Elected(leader, left, recipients)
