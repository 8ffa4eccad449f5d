"""Leaders ask the controller to change ISRs (KIP-497), where the inter.broker.protocol of their cluster is 2.7 or later.

Source: Kafka 3.9 KafkaController.scala (processAlterPartition, without leader recovery states).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from kafka_spec.impl.protocol.controller_requests import Leadership
from kafka_spec.impl.protocol.errors import ErrorCode
from kafka_spec.impl.protocol.topic_ids import id_of_nameless, names_found
from kafka_spec.impl.protocol.topic_partition import TopicPartition
from kafka_spec.impl.zookeeper.controller.core import ControllerCore, ControllerEvent, ControllerTask
from kafka_spec.impl.zookeeper.controller.reassignment import PartitionIsrChange
from kafka_spec.impl.zookeeper.controller.zk_client import StateZnodeChanged

Answers = dict[TopicPartition, ErrorCode | Leadership]


@dataclass(frozen=True)
class AlterIsr(ControllerEvent):
    """A leader proposes ISRs; `reply` receives an error, or for each partition an error or what is in ZooKeeper now.

    A proposal has the broker as the leader, and the leader epoch and the znode version that the broker knows. Topics may be named
    by their ids alone (AlterPartition 2).
    """

    broker: int
    broker_epoch: int
    proposals: Mapping[TopicPartition, Leadership]
    reply: Callable[[ErrorCode, Mapping[TopicPartition, ErrorCode | Leadership]], object]
    ineligible: ErrorCode = ErrorCode.OPERATION_NOT_ATTEMPTED
    """The answer to a proposal with a member that is not alive: INELIGIBLE_REPLICA from version 2 of the request on."""

    def handle(self, core: ControllerCore) -> Sequence[ControllerTask]:
        """Judge each proposal by the memory, and write what is new."""
        if any(id_of_nameless(partition.topic) is not None for partition in self.proposals):
            return self._named(core).handle(core)
        return self._judge(core, Answers())

    def _named(self, core: ControllerCore) -> AlterIsr:
        """Return the same proposals with the names of topics; the answer has their ids again, and says which are unknown."""
        names = names_found(self.proposals, core.context.topic_ids)
        asked = {name: p for p, name in names.items()}
        unknown = {p: ErrorCode.UNKNOWN_TOPIC_ID for p, name in names.items() if name == p}

        def reply(error: ErrorCode, answers: Mapping[TopicPartition, ErrorCode | Leadership]) -> None:
            known = {asked[p]: answer for p, answer in answers.items()}
            self.reply(error, known if error != ErrorCode.NONE else {**known, **unknown})

        named = {name: self.proposals[p] for p, name in names.items() if name != p}
        return AlterIsr(self.broker, self.broker_epoch, named, reply, ErrorCode.INELIGIBLE_REPLICA)

    def _judge(self, core: ControllerCore, answers: Answers) -> Sequence[ControllerTask]:
        context = core.context
        if context.broker_epochs.get(self.broker) != self.broker_epoch:
            self.reply(ErrorCode.STALE_BROKER_EPOCH, {})
            return []
        electable = [broker for broker in context.live if broker not in context.stopping]
        for partition, proposal in self.proposals.items():
            found = judged(proposal, context.leadership.get(partition), electable, self.ineligible)
            if found is not None:
                answers[partition] = found
        writes = [WriteIsr(self, answers, partition) for partition in self.proposals if partition not in answers]
        return [*writes, AnswerAlterIsr(self, answers)]

    def refuse(self) -> None:
        self.reply(ErrorCode.NOT_CONTROLLER, {})


def judged(
    proposal: Leadership, held: Leadership | None, electable: Iterable[int], ineligible: ErrorCode
) -> ErrorCode | Leadership | None:
    """Return the answer to a proposal that is not written, None if it is to be written; `held` is what the controller knows."""
    if held is None:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if proposal.leader_epoch > held.leader_epoch or proposal.version > held.version:
        return ErrorCode.NOT_CONTROLLER  # the leader has seen the writes of a later controller
    if proposal.leader_epoch < held.leader_epoch:
        return ErrorCode.FENCED_LEADER_EPOCH
    if (proposal.leader, proposal.isr) == (held.leader, held.isr):
        return held
    if proposal.version < held.version:
        return ErrorCode.INVALID_UPDATE_VERSION
    if not set(proposal.isr) <= set(electable):
        return ineligible
    return None


@dataclass(frozen=True)
class WriteIsr(ControllerTask):
    """Write an ISR under the same leader epoch, if the znode has the version that the leader knows."""

    event: AlterIsr
    answers: Answers
    partition: TopicPartition

    def run(self, core: ControllerCore) -> Sequence[ControllerTask]:
        """Write the ISR. The write may have been done before the connection was lost."""
        partition, proposal = self.partition, self.event.proposals[self.partition]
        try:
            self.answers[partition] = core.zk.write_isr(partition, proposal)
        except StateZnodeChanged:
            self.answers[partition] = ErrorCode.INVALID_UPDATE_VERSION
            if (held := core.zk.read_state(partition)) is not None:
                core.context.leadership[partition] = held
        return []


@dataclass(frozen=True)
class AnswerAlterIsr(ControllerTask):
    """Tell all brokers the partitions that were named, answer, and see whether reassignments are complete."""

    event: AlterIsr
    answers: Answers

    def run(self, core: ControllerCore) -> Sequence[ControllerTask]:
        context = core.context
        core.send_metadata(context.live, [partition for partition in self.answers if partition in context.leadership])
        self.event.reply(ErrorCode.NONE, self.answers)
        changed = [partition for partition, answer in self.answers.items() if isinstance(answer, Leadership)]
        core.events.extend(PartitionIsrChange(partition) for partition in changed if partition in context.targets)
        return []

    def refuse(self) -> None:
        self.event.refuse()
