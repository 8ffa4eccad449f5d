"""The commands of `kafka-spec admin`, as tasks: topics through ZooKeeper, elections and reassignments through the controller too.

A command yields calls to brokers, as other clients do, so the same code serves a simulation and a real cluster. Its words are near
to those of kafka-topics.sh, kafka-reassign-partitions.sh and kafka-leader-election.sh. A refusal is a `KafkaError`.

Source: Kafka 2.8 TopicCommand.scala, ReassignPartitionsCommand.scala, LeaderElectionCommand.scala.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from kafka_spec.impl.protocol.data_requests import (
    AlterPartitionReassignmentsRequest,
    ElectLeadersRequest,
    ListPartitionReassignmentsRequest,
    PartitionTarget,
)
from kafka_spec.impl.protocol.errors import ErrorCode, KafkaError
from kafka_spec.impl.protocol.topic_partition import TopicPartition
from kafka_spec.impl.run.tasks import RemoteCall
from kafka_spec.impl.zookeeper.coordination import znodes
from kafka_spec.impl.zookeeper.coordination.admin import Admin
from kafka_spec.impl.zookeeper.coordination.interface import NodeExists, NoNode, Session

PATIENCE = 10.0
"""The longest wait for the controller's answer, in seconds."""

Steps: TypeAlias = Generator[RemoteCall, Any, None]
Targets: TypeAlias = Mapping[TopicPartition, tuple[int, ...]]


@dataclass(frozen=True)
class AdminTool:
    """The tool on a session; `tell` receives its lines. Each method is a command: a task to run to its end."""

    admin: Admin
    session: Session
    tell: Callable[[str], object]

    # Topics

    def create(
        self,
        topic: str,
        partitions: int,
        replication_factor: int,
        assignment: Mapping[int, Sequence[int]] | None,
        config: Mapping[str, str],
    ) -> Steps:
        """Create a topic, with an assignment or an automatic one."""
        if assignment is None:
            self.admin.create_topic(topic, partitions, replication_factor, config)
        else:
            self.admin.create_topic_with_assignment(topic, assignment, config)
        self.tell(f"Created topic {topic}.")
        yield from ()

    def delete(self, topic: str) -> Steps:
        """Mark a topic for deletion."""
        self.admin.delete_topic(topic)
        self.tell(f"Topic {topic} is marked for deletion.")
        yield from ()

    def list(self) -> Steps:
        """List the topics."""
        marked = set(self.session.children(znodes.DELETE_TOPICS))
        for topic in self.session.children(znodes.TOPICS):
            self.tell(f"{topic} - marked for deletion" if topic in marked else topic)
        yield from ()

    def describe(self, topics: Iterable[str]) -> Steps:
        """Describe topics, or all: each partition with leader, replicas, ISR, and what a reassignment adds and removes."""
        for name in [*topics] or self.session.children(znodes.TOPICS):
            topic, config = self._topic(name), self.admin.config(name)
            configs = ",".join(f"{key}={value}" for key, value in sorted(config.items()))
            factor = len(next(iter(topic.partitions.values()), ()))
            self.tell(
                f"Topic: {name}\tTopicId: {topic.topic_id or ''}\tPartitionCount: {len(topic.partitions)}\t"
                f"ReplicationFactor: {factor}\tConfigs: {configs}"
            )
            for number in sorted(topic.partitions):
                self.tell(self._line(name, number, topic))
        yield from ()

    def _line(self, name: str, number: int, topic: znodes.Topic) -> str:
        held = self._state(TopicPartition(name, number))
        leader = "none" if held is None or held.leader < 0 else str(held.leader)
        line = f"\tTopic: {name}\tPartition: {number}\tLeader: {leader}\tReplicas: {_list(topic.partitions[number])}"
        line += f"\tIsr: {_list(() if held is None else held.isr)}"
        for words, brokers in (("Adding Replicas", topic.adding.get(number)), ("Removing Replicas", topic.removing.get(number))):
            line += f"\t{words}: {_list(brokers)}" if brokers else ""
        return line

    def add_partitions(self, topic: str, total: int, assignment: Mapping[int, Sequence[int]] | None) -> Steps:
        """Increase the number of a topic's partitions; an assignment may name those that exist, too."""
        held = self._topic(topic).partitions
        added = None if assignment is None else {n: replicas for n, replicas in assignment.items() if n not in held}
        new = self.admin.add_partitions(topic, total, added)
        self.tell(f"Added partitions {_list(new)} to topic {topic}.")
        yield from ()

    def configure(self, topic: str, added: Mapping[str, str], deleted: Iterable[str]) -> Steps:
        """Change the configuration of a topic that exists."""
        self.admin.alter_config(topic, added, deleted)
        self.tell(f"Completed updating config for topic {topic}.")
        yield from ()

    # Elections

    def elect(self, unclean: bool, partitions: Sequence[TopicPartition]) -> Steps:
        """Elect preferred leaders, or unclean ones, of some partitions or of all."""
        answer = yield from self._controller(ElectLeadersRequest(tuple(partitions) or None, unclean))
        kind = "unclean" if unclean else "preferred"
        for partition, code in sorted(answer.partitions.items()):
            if code == ErrorCode.NONE:
                self.tell(f"Successfully completed leader election ({kind}) for partition {partition}")
            elif code == ErrorCode.ELECTION_NOT_NEEDED:
                self.tell(f"Valid replica already elected for partition {partition}")
            else:
                self.tell(f"Error completing leader election ({kind}) for partition {partition}: {code.name}")
        _raise(answer.partitions, "elections", (ErrorCode.ELECTION_NOT_NEEDED,))

    # Reassignments

    def generate(self, topics: Sequence[str], brokers: Sequence[int]) -> Steps:
        """Propose to spread the partitions of topics over brokers; print what is, and what would be."""
        current = {TopicPartition(name, n): held for name in topics for n, held in self._topic(name).partitions.items()}
        proposed: dict[TopicPartition, tuple[int, ...]] = {}
        for name in topics:
            held = self._topic(name).partitions
            lists = self.admin.propose(brokers, len(held), len(held[min(held)]))
            proposed.update({TopicPartition(name, n): lists[n] for n in sorted(held)})
        self.tell("Current partition replica assignment")
        self.tell(znodes.encode_reassignment(current).decode())
        self.tell("Proposed partition reassignment configuration")
        self.tell(znodes.encode_reassignment(proposed).decode())
        yield from ()

    def execute(self, targets: Targets, through_zookeeper: bool) -> Steps:
        """Begin reassignments, through the controller or through /admin/reassign_partitions; print what undoes them."""
        current = {
            p: self._topic(p.topic).partitions[p.partition] for p in targets if p.partition in self._topic(p.topic).partitions
        }
        self.tell("Current partition replica assignment")
        self.tell(znodes.encode_reassignment(current).decode())
        self.tell("Save this to use as the file of a reassignment that undoes this one")
        if through_zookeeper:
            try:
                self.session.create(znodes.REASSIGN_PARTITIONS, znodes.encode_reassignment(targets))
            except NodeExists:
                raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, "There is an existing assignment running.") from None
        else:
            yield from self._alter(targets)
        self.tell(f"Successfully started partition reassignments for {_list(sorted(targets))}")

    def cancel(self, partitions: Iterable[TopicPartition]) -> Steps:
        """Cancel the reassignments of partitions that are being reassigned."""
        asked = sorted(partitions)
        answer = yield from self._controller(ListPartitionReassignmentsRequest(tuple(asked)))
        running = sorted(answer.partitions)
        if not running:
            self.tell("None of the specified partition moves are active.")
            return
        yield from self._alter(dict.fromkeys(running))
        self.tell(f"Successfully cancelled partition reassignments for: {_list(running)}")

    def verify(self, targets: Targets) -> Steps:
        """Say of each partition whether its reassignment is complete; raise KafkaError if one is not."""
        asked = self._reassigning()
        left = 0
        for partition, target in sorted(targets.items()):
            topic = self._topic(partition.topic)
            held = topic.partitions.get(partition.partition)
            moving = partition.partition in topic.adding or partition.partition in topic.removing or partition in asked
            if moving:
                self.tell(f"Reassignment of partition {partition} is still in progress.")
            elif held == target:
                self.tell(f"Reassignment of partition {partition} is complete.")
            else:
                reported = "" if held is None else _list(held)
                instead = f"replica set is {reported} rather than {_list(target)}"
                self.tell(f"There is no active reassignment of partition {partition}, but {instead}.")
            left += moving or held != target
        if left:
            raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, f"{left} of {len(targets)} reassignments are not complete")
        yield from ()

    def _alter(self, targets: Mapping[TopicPartition, tuple[int, ...] | None]) -> Steps:
        request = AlterPartitionReassignmentsRequest(tuple(PartitionTarget(p, target) for p, target in targets.items()))
        answer = yield from self._controller(request)
        for partition, code in sorted(answer.partitions.items()):
            if code != ErrorCode.NONE:
                self.tell(f"Error reassigning partition {partition}: {code.name}")
        _raise(answer.partitions, "reassignments")

    def _controller(self, request: object) -> Generator[RemoteCall, Any, Any]:
        """Send a request to the controller; return its answer."""
        try:
            data, _ = self.session.get(znodes.CONTROLLER)
        except NoNode:
            raise KafkaError(ErrorCode.NOT_CONTROLLER, "There is no controller; try again later.") from None
        number = znodes.ControllerRegistration.decode(data).broker
        answer = yield RemoteCall(number, request, PATIENCE)
        if answer is None:
            raise KafkaError(ErrorCode.REQUEST_TIMED_OUT, f"The controller, broker {number}, does not answer; try again.")
        return answer

    # Reading

    def _topic(self, name: str) -> znodes.Topic:
        try:
            return znodes.Topic.decode(name, self.session.get(znodes.topic(name))[0])
        except NoNode:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"Topic '{name}' does not exist.") from None

    def _state(self, partition: TopicPartition) -> znodes.State | None:
        try:
            return znodes.State.decode(partition, self.session.get(znodes.state(partition))[0])
        except NoNode:
            return None

    def _reassigning(self) -> Targets:
        try:
            return znodes.decode_reassignment(self.session.get(znodes.REASSIGN_PARTITIONS)[0])
        except NoNode:
            return {}


def read_targets(text: str) -> dict[TopicPartition, tuple[int, ...]]:
    """Return the targets in a file of kafka-reassign-partitions.sh: {"version":1,"partitions":[{"topic","partition","replicas"}]}.

    Raises:
        KafkaError: the text is not such a file, names a partition twice, or a broker twice for one partition.
    """
    try:
        targets = znodes.decode_reassignment(text.encode())
        named = len(json.loads(text)["partitions"])
    except (znodes.Undecodable, ValueError, KeyError, TypeError) as error:
        raise KafkaError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, f"not a reassignment file: {error}") from None
    if named != len(targets):
        raise KafkaError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, "Partition reassignment contains duplicate topic partitions")
    for partition, target in targets.items():
        if not target or len(set(target)) < len(target):
            raise KafkaError(
                ErrorCode.INVALID_REPLICA_ASSIGNMENT, f"Partition replica lists may not be empty or contain duplicates: {partition}"
            )
    return targets


def _raise(codes: Mapping[TopicPartition, ErrorCode], what: str, fine: Iterable[ErrorCode] = ()) -> None:
    """Raise KafkaError if a partition was refused."""
    refused = {partition: code for partition, code in codes.items() if code not in (ErrorCode.NONE, *fine)}
    if refused:
        code = next(iter(refused.values()))
        raise KafkaError(code, f"{len(refused)} of {len(codes)} {what} were refused")


def _list(values: Iterable[object]) -> str:
    return ",".join(map(str, values))
