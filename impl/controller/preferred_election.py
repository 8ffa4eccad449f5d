"""Preferred replica elections, requested by a client or in /admin/preferred_replica_election.

Source: Kafka 2.8 KafkaController.scala (processReplicaLeaderElection).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from kafka_spec.impl.controller.core import ControllerCore, ControllerEvent, ControllerTask
from kafka_spec.impl.controller.state_changes import ChangePartitions
from kafka_spec.impl.coordination import znodes
from kafka_spec.impl.protocol.errors import ErrorCode
from kafka_spec.impl.protocol.topic_partition import TopicPartition
from kafka_spec.spec.election import Strategy, preferred_leader_leads


@dataclass(frozen=True)
class PreferredElection(ControllerEvent):
    """Elect preferred leaders, of all partitions if none is named; `reply` receives the result for each partition."""

    partitions: tuple[TopicPartition, ...] | None
    reply: Callable[[Mapping[TopicPartition, ErrorCode]], object]

    def handle(self, core: ControllerCore) -> Sequence[ControllerTask]:
        """Elect preferred leaders where they do not lead; other partitions answer ELECTION_NOT_NEEDED."""
        context = core.context
        asked = list(context.assignments) if self.partitions is None else list(dict.fromkeys(self.partitions))
        answers = {p: ErrorCode.INVALID_TOPIC_EXCEPTION for p in asked if p.topic in context.queued_for_deletion}
        answers |= {p: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION for p in asked if p not in context.assignments}
        needed = []
        for partition in [p for p in asked if p not in answers]:
            held, replicas = context.leadership.get(partition), context.assignments[partition]
            if held is not None and replicas and preferred_leader_leads(replicas, held.leader):
                answers[partition] = ErrorCode.ELECTION_NOT_NEEDED
            else:
                needed.append(partition)
        event = PreferredElection(tuple(asked), self.reply)
        if not needed:
            return [AnswerElection(event, answers)]
        change = ChangePartitions("online_partition", deque(needed), Strategy.PREFERRED)
        return [change, AnswerElection(event, answers, change)]

    def refuse(self) -> None:
        """See `ControllerEvent.refuse`."""
        self.reply(dict.fromkeys(self.partitions or (), ErrorCode.NOT_CONTROLLER))


@dataclass(frozen=True)
class AnswerElection(ControllerTask):
    """Answer the result for each partition: `answers` are known already, the others depend on the change."""

    event: PreferredElection
    answers: Mapping[TopicPartition, ErrorCode]
    change: ChangePartitions | None = None

    def run(self, core: ControllerCore) -> Sequence[ControllerTask]:
        """See the class."""
        answers = dict(self.answers)
        for partition in self.event.partitions or ():
            failed = self.change is not None and partition in self.change.failed
            answers.setdefault(partition, ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE if failed else ErrorCode.NONE)
        self.event.reply(answers)
        return []

    def refuse(self) -> None:
        """See `ControllerTask.refuse`."""
        self.event.refuse()


@dataclass(frozen=True)
class PreferredElectionZnodeChange(ControllerEvent):
    """/admin/preferred_replica_election may exist: elect for the partitions that it names, and delete it."""

    def handle(self, core: ControllerCore) -> Sequence[ControllerTask]:
        """See the class."""
        named = core.zk.read_preferred_election()
        if named is None:
            return []
        return [*PreferredElection(named, lambda _: None).handle(core), EndPreferredElection()]


@dataclass(frozen=True)
class EndPreferredElection(ControllerTask):
    """Delete the znode, and check whether it has been written again meanwhile."""

    def run(self, core: ControllerCore) -> Sequence[ControllerTask]:
        """See the class."""
        core.zk.delete_all([znodes.PREFERRED_REPLICA_ELECTION])
        core.events.append(PreferredElectionZnodeChange())
        return []
