"""Elections on request: preferred ones, by a client, a timer or /admin/preferred_replica_election, and unclean ones (KIP-460).

Source: Kafka 2.8 KafkaController.scala (processReplicaLeaderElection).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from kafka_spec.impl.protocol.errors import ErrorCode
from kafka_spec.impl.protocol.topic_partition import TopicPartition
from kafka_spec.impl.zookeeper.controller.core import ControllerCore, ControllerEvent, ControllerTask
from kafka_spec.impl.zookeeper.controller.state_changes import ChangePartitions
from kafka_spec.impl.zookeeper.coordination import znodes
from kafka_spec.spec.decisions.election import Strategy, leader_is_lost, preferred_leader_leads
from kafka_spec.spec.decisions.reassignment import leader_is_imbalanced
from kafka_spec.spec.decisions.variants import OfflineLeaders


@dataclass(frozen=True)
class PreferredElection(ControllerEvent):
    """Elect preferred leaders, of all partitions if none is named; `reply` receives the result for each partition."""

    partitions: tuple[TopicPartition, ...] | None
    reply: Callable[[Mapping[TopicPartition, ErrorCode]], object]
    not_available = ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE
    """The answer for a partition for which nobody can be elected."""

    def is_needed(self, core: ControllerCore, partition: TopicPartition, leader: int) -> bool:
        """Whether a partition with this leader needs the election."""
        replicas = core.context.assignments[partition]
        return not (replicas and preferred_leader_leads(replicas, leader))

    def change(self, partitions: Iterable[TopicPartition]) -> ChangePartitions:
        """Return the task that elects."""
        return ChangePartitions("online_partition", deque(partitions), Strategy.PREFERRED)

    def handle(self, core: ControllerCore) -> Sequence[ControllerTask]:
        """Elect where it is needed; other partitions answer ELECTION_NOT_NEEDED."""
        context = core.context
        asked = list(context.assignments) if self.partitions is None else list(dict.fromkeys(self.partitions))
        answers = {p: ErrorCode.INVALID_TOPIC_EXCEPTION for p in asked if context.is_queued_for_deletion(p.topic)}
        answers |= {p: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION for p in asked if p not in context.assignments}
        needed = []
        for partition in [p for p in asked if p not in answers]:
            held = context.leadership.get(partition)
            if held is not None and not self.is_needed(core, partition, held.leader):
                answers[partition] = ErrorCode.ELECTION_NOT_NEEDED
            else:
                needed.append(partition)
        event = type(self)(tuple(asked), self.reply)
        if not needed:
            return [AnswerElection(event, answers)]
        change = self.change(needed)
        return [change, AnswerElection(event, answers, change)]

    def refuse(self) -> None:
        self.reply(dict.fromkeys(self.partitions or (), ErrorCode.NOT_CONTROLLER))


@dataclass(frozen=True)
class UncleanElection(PreferredElection):
    """Elect a leader, from outside the ISR if no member of it is live, for partitions that have none (KIP-460)."""

    not_available = ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE

    def is_needed(self, core: ControllerCore, partition: TopicPartition, leader: int) -> bool:
        """Whether the partition has no leader, or none that is live."""
        context = core.context
        return leader_is_lost(leader, context.online(partition), context.stopping, OfflineLeaders.NOT_ONLINE)

    def change(self, partitions: Iterable[TopicPartition]) -> ChangePartitions:
        """Return the task that elects."""
        return ChangePartitions("online_partition", deque(partitions), Strategy.OFFLINE, unclean=True)


@dataclass(frozen=True)
class AutoRebalance(ControllerEvent):
    """The time has come to elect the preferred leaders of brokers that lead too few of the partitions that prefer them.

    While any partition is reassigned, nothing is elected. Each broker's election is a change of states of its own, as in Kafka 2.8:
    checkAndTriggerAutoLeaderRebalance (with KAFKA-9866).
    """

    def handle(self, core: ControllerCore) -> Sequence[ControllerTask]:
        context = core.context
        preferring: dict[int, list[TopicPartition]] = {}
        for partition, replicas in context.assignments.items():
            if replicas and not context.is_queued_for_deletion(partition.topic):
                preferring.setdefault(replicas[0], []).append(partition)
        elected: list[list[TopicPartition]] = []
        for broker, partitions in preferring.items():
            elsewhere = [p for p in partitions if p in context.leadership and context.leadership[p].leader != broker]
            if leader_is_imbalanced(len(partitions), len(elsewhere), core.settings.leader_imbalance_per_broker_percentage):
                elected.append([p for p in elsewhere if context.is_online(broker, p) and broker in context.leadership[p].isr])
        if context.targets:
            return []
        return [task for found in elected if found for task in PreferredElection(tuple(found), lambda _: None).handle(core)]


@dataclass(frozen=True)
class AnswerElection(ControllerTask):
    """Answer the result for each partition: `answers` are known already, the others depend on the change."""

    event: PreferredElection
    answers: Mapping[TopicPartition, ErrorCode]
    change: ChangePartitions | None = None

    def run(self, core: ControllerCore) -> Sequence[ControllerTask]:
        answers = dict(self.answers)
        for partition in self.event.partitions or ():
            failed = self.change is not None and partition in self.change.failed
            answers.setdefault(partition, self.event.not_available if failed else ErrorCode.NONE)
        self.event.reply(answers)
        return []

    def refuse(self) -> None:
        self.event.refuse()


@dataclass(frozen=True)
class PreferredElectionZnodeChange(ControllerEvent):
    """/admin/preferred_replica_election may exist: elect for the partitions that it names, and delete it."""

    def handle(self, core: ControllerCore) -> Sequence[ControllerTask]:
        named = core.zk.read_preferred_election()
        if named is None:
            return []
        return [*PreferredElection(named, lambda _: None).handle(core), EndPreferredElection()]


@dataclass(frozen=True)
class EndPreferredElection(ControllerTask):
    """Delete the znode, and check whether it has been written again meanwhile."""

    def run(self, core: ControllerCore) -> Sequence[ControllerTask]:
        core.zk.delete_all([znodes.PREFERRED_REPLICA_ELECTION])
        core.events.append(PreferredElectionZnodeChange())
        return []
