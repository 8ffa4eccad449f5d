"""The answer of KRaft's controller to a leader's proposal of an ISR: ours, with the decisions of spec/, beside Kafka's.

Each case is one request to a controller with one partition. What the request says of the sender, the topic, the epochs, the members
and the recovery state is mostly right; one or two things of it are anything.

Source: Kafka 3.9 to 4.4 ReplicationControlManager.alterPartition, validateAlterPartitionData.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from random import Random
from types import MappingProxyType
from typing import TYPE_CHECKING, Any
from uuid import UUID

from kafka_spec.conformance.kafka_classes.comparison import Comparison, Subject
from kafka_spec.conformance.kafka_classes.kraft_controller_classes import TOPIC, ControllerClasses
from kafka_spec.conformance.kafka_classes.kraft_ours import VERSIONS, executable
from kafka_spec.impl.kraft.image import ClusterImage, RegisteredBroker, RegisteredPartition
from kafka_spec.impl.kraft.proposals import answer_to_proposal, answer_to_request
from kafka_spec.impl.protocol.errors import ErrorCode
from kafka_spec.impl.protocol.kraft_requests import ProposalRequest, ProposedIsr
from kafka_spec.impl.protocol.topic_ids import text_of
from kafka_spec.impl.protocol.topic_partition import TopicPartition
from kafka_spec.spec.decisions.partition_change import RecoveryState
from kafka_spec.spec.kraft.machines import BrokerState

if TYPE_CHECKING:
    from kafka_spec.conformance.kafka_classes.java import Kafka

STATES = (BrokerState.UNFENCED,) * 3 + (BrokerState.FENCED, BrokerState.CONTROLLED_SHUTDOWN)
"""The state of each broker; another one is not registered."""
UNREGISTERED = len(STATES)
TOPIC_IDS = (UUID(int=1), UUID(int=2))
"""The topic's id, and one that no topic has."""


@dataclass(frozen=True)
class Proposal:
    """A partition, and a request to change its ISR. Epochs of brokers are places among those that the broker has had."""

    leader: int
    isr: tuple[int, ...]
    recovery: int
    sender: int
    broker_epoch: int
    topic: int
    number: int
    leader_epoch: int
    partition_epoch: int
    members: tuple[tuple[int, int], ...]
    wanted_recovery: int


REPLICAS = (1, 0, 3, 4)
LEADER_EPOCH, PARTITION_EPOCH = 4, 7


def at_random(random: Random) -> Proposal:
    """Return a proposal of which up to two things are anything."""
    odd = {random.randrange(12) for _ in range(random.choice((0, 1, 1, 2)))}
    leader = random.choice(REPLICAS)
    isr = tuple(broker for broker in REPLICAS if broker == leader or random.random() < 0.6)
    sender = random.randrange(UNREGISTERED + 1) if 0 in odd else leader
    wanted = {broker for broker in REPLICAS if broker == sender or random.random() < 0.5}
    if 1 in odd:
        wanted ^= {random.randrange(UNREGISTERED + 1)}
    if 2 in odd:
        wanted = {leader}
    epochs = {broker: random.choice((0, 0, -1, 1)) if 3 in odd else 0 for broker in wanted}
    members = [(broker, epochs[broker]) for broker in sorted(wanted, key=lambda broker: random.random())]
    if 4 in odd and members:
        members.append(random.choice(members))
    return Proposal(
        leader,
        isr,
        random.choice(tuple(RecoveryState)),
        sender,
        random.choice((-1, 1)) if 5 in odd or sender == UNREGISTERED else 0,
        int(6 in odd),
        int(7 in odd),
        LEADER_EPOCH + (random.choice((-1, 1)) if 8 in odd else 0),
        PARTITION_EPOCH + (random.choice((-1, 1)) if 9 in odd else 0),
        tuple(members),
        random.choice(tuple(RecoveryState)) if odd & {2, 10, 11} else RecoveryState.RECOVERED,
    )


def ours(k: Any, asked: Proposal) -> str:
    """Return the name of the error with which our controller answers."""
    partition = RegisteredPartition(
        TOPIC_IDS[0], REPLICAS, asked.isr, asked.leader, LEADER_EPOCH, PARTITION_EPOCH, recovery=asked.recovery
    )
    image = ClusterImage(
        brokers=REGISTERED,
        topics=MappingProxyType({TOPIC_IDS[0]: TOPIC}),
        partitions=MappingProxyType({TopicPartition(TOPIC, 0): partition}),
    )
    proposed = ProposedIsr(
        asked.leader_epoch, asked.partition_epoch, asked.members, text_of(TOPIC_IDS[asked.topic]), asked.wanted_recovery
    )
    where = TopicPartition(TOPIC, asked.number)
    request = ProposalRequest(asked.sender, asked.broker_epoch, {where: proposed})
    error = answer_to_request(image, request)
    return (error if error != ErrorCode.NONE else answer_to_proposal(image, asked.sender, where, proposed, k)).name


REGISTERED: Mapping[int, RegisteredBroker] = MappingProxyType(
    {
        broker: RegisteredBroker(broker, 0, UUID(int=broker), state == BrokerState.FENCED, state == BrokerState.CONTROLLED_SHUTDOWN)
        for broker, state in enumerate(STATES)
    }
)


class KafkasAnswers:
    """Kafka's controller with brokers in these states."""

    def __init__(self, kafka: Kafka) -> None:
        from kafka_spec.conformance.kafka_classes.kraft_kafkas import KafkasKRaft  # needs Java

        self.classes = ControllerClasses(kafka)
        self.controller = KafkasKRaft(self.classes, len(STATES), 1, unclean=False, elr=False)
        self.controller.topic_ids.append(kafka.named("org.apache.kafka.common.Uuid")(9, 9))
        for broker, state in enumerate(STATES):
            if state == BrokerState.FENCED:
                self.controller.fence(broker)
            elif state == BrokerState.CONTROLLED_SHUTDOWN:
                self.controller.heartbeat(broker, 0, stopping=True)

    def answer(self, asked: Proposal) -> str:
        """Return the name of the error with which Kafka answers."""
        kafka, controller = self.classes.kafka, self.controller
        record = self.classes.message("PartitionRecord").setTopicId(controller.topic_ids[0]).setPartitionId(0)
        record.setReplicas(kafka.java_list(REPLICAS)).setIsr(kafka.java_list(asked.isr)).setLeader(asked.leader)
        record.setLeaderEpoch(LEADER_EPOCH).setPartitionEpoch(PARTITION_EPOCH).setLeaderRecoveryState(asked.recovery)
        record.setDirectories(kafka.java_list([controller.directory(broker) for broker in REPLICAS]))
        controller.replay([record])
        answered = controller.alter_partition(
            asked.sender,
            asked.broker_epoch,
            asked.leader_epoch,
            asked.partition_epoch,
            asked.members,
            asked.wanted_recovery,
            asked.topic,
            asked.number,
        )
        return str(answered[0])


def compare(kafka: Kafka, comparison: Comparison, random: Random, cases: int) -> None:
    """Compare random proposals."""
    theirs, k = KafkasAnswers(kafka), executable(kafka.version, ()).k
    for _ in range(5 * cases):
        asked = at_random(random)
        answer = theirs.answer(asked)
        comparison.seen[answer] += 1
        comparison.compare(asked, ours(k, asked), answer)


SUBJECT = Subject(
    "kraft-proposals",
    "the controller's answer to AlterPartition: sender, topic, epochs, members, recovery state",
    compare,
    (),
    VERSIONS,
)
