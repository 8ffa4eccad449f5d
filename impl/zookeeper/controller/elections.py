"""Leader elections: the inputs and results of the strategies of spec/decisions/election.py on a controller.

Source: Kafka 2.8 PartitionStateMachine.scala (doElectLeaderForPartitions), Election.scala.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from kafka_spec.impl.protocol.controller_requests import Leadership
from kafka_spec.impl.protocol.topic_partition import TopicPartition
from kafka_spec.impl.zookeeper.controller.context import ControllerContext
from kafka_spec.spec.decisions.election import Strategy
from kafka_spec.spec.decisions.election import elect as elect_from
from kafka_spec.spec.language.domain import BrokerSet
from kafka_spec.spec.vocabulary.table import Constants


@dataclass(frozen=True)
class StateZnode:
    """A partition's state znode as the step read it before it fires a row: None if it is missing or unreadable."""

    read: Leadership | None

    @property
    def held(self) -> Leadership:
        """What was read; for row functions whose guards require a state znode."""
        assert self.read is not None
        return self.read


@dataclass(frozen=True)
class ElectionInputs(StateZnode):
    """The inputs of an election beside the context: the state znode, the strategy, and the topic's unclean election."""

    strategy: Strategy
    unclean: bool
    """Whether unclean election is enabled; read only where no member of the ISR can lead."""


class Elected(NamedTuple):
    """The leader, NO_LEADER if no replica can lead; the ISR; and the recipients of LeaderAndIsr."""

    leader: int
    isr: BrokerSet
    recipients: BrokerSet


def elect(partition: TopicPartition, inputs: ElectionInputs, context: ControllerContext, k: Constants) -> Elected:
    """Elect a leader by the strategy.

    For a reassignment the replicas that it removes do not count (Election.leaderForReassign). In place of a broker that shuts down,
    no replica is informed whose log directory is lost (leaderForControlledShutdown).
    """
    assignment = context.assignment(partition)
    leader, isr, recipients = elect_from(
        inputs.strategy,
        context.targets.get(partition, assignment.target) if inputs.strategy == Strategy.REASSIGNMENT else assignment.replicas,
        context.online(partition),
        context.stopping,
        inputs.held.members,
        int(inputs.unclean),
        k.offline_recipients,
        k.shutdown_recipients,
    )
    if inputs.strategy == Strategy.CONTROLLED_SHUTDOWN:
        recipients &= ~BrokerSet.of(broker for broker, lost in context.offline_dirs.items() if partition in lost)
    return Elected(leader, isr, recipients)
