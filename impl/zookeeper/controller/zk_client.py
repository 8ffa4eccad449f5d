"""A controller's reads and writes of ZooKeeper: state znodes, registrations, topics, notifications.

In eras with fencing, every write checks the version of /controller_epoch. No decision is made here.

Unreadable content is logged and counts as empty: a topic without partitions or configuration, as in Kafka; a broker that is not
registered; a partition without a state. So it affects nothing else. Content that names a broker beyond `LARGEST_BROKER` counts as
unreadable.

Source: Kafka 2.8 KafkaZkClient.scala (retryRequestsUntilConnected with a ZkVersionCheck).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import TypeVar
from uuid import uuid4

from kafka_spec.impl.protocol.controller_requests import Leadership
from kafka_spec.impl.protocol.registration import BrokerRegistration
from kafka_spec.impl.protocol.state_change_log import LogLevel
from kafka_spec.impl.protocol.topic_ids import text_of
from kafka_spec.impl.protocol.topic_partition import TopicPartition
from kafka_spec.impl.zookeeper.controller.context import ControllerContext, following, written
from kafka_spec.impl.zookeeper.coordination import znodes
from kafka_spec.impl.zookeeper.coordination.broker_znode import decode_broker
from kafka_spec.impl.zookeeper.coordination.interface import (
    BadVersion,
    Check,
    Create,
    Delete,
    MultiRefused,
    NodeExists,
    NoNode,
    NotEmpty,
    Operation,
    Result,
    Session,
    Set,
    Stat,
)
from kafka_spec.spec.decisions.reassignment import PartitionAssignment

Content = TypeVar("Content")
LARGEST_BROKER = 1_000_000
"""The largest broker id. Kafka permits larger ones; here sets of brokers are bits of an integer, which must fit into memory."""


class ControllerMoved(Exception):  # noqa: N818 - Kafka's name
    """A write was refused since /controller_epoch has changed: there is a newer controller."""


class StateZnodeChanged(Exception):  # noqa: N818 - the name is the message
    """The state znode was written between the read and the write: read again."""


class ControllerZkClient:
    """A session with ZooKeeper and a controller's operations on it; what it writes is cached in the context."""

    def __init__(
        self,
        session: Session,
        context: ControllerContext,
        is_fenced: bool,
        unclean_by_default: bool,
        note: Callable[[LogLevel, str], object],
        topic_ids: bool = False,
    ) -> None:
        """`is_fenced` says whether writes check /controller_epoch; `note` writes a line into the state-change log.

        `unclean_by_default` is the broker's unclean.leader.election.enable, for topics without this setting.
        With `topic_ids` the context learns them, and a topic without one gets one.
        """
        self.session = session
        self._context = context
        self._is_fenced = is_fenced
        self._unclean_by_default = unclean_by_default
        self._note = note
        self._topic_ids = topic_ids

    # Writes

    def write(self, *operations: Operation) -> list[Result]:
        """Write as the controller of this epoch; without operations, only check that it still is the controller.

        Raises:
            ControllerMoved: /controller_epoch has changed.
            NoNode, NodeExists, BadVersion: an operation was refused, for its own reason.
        """
        fence = [Check(znodes.CONTROLLER_EPOCH, self._context.epoch_version)] if self._is_fenced else []
        if not fence and not operations:
            return []
        try:
            return self.session.multi([*fence, *operations])[len(fence) :]
        except MultiRefused as refused:
            if fence and refused.index == 0:
                raise ControllerMoved(str(refused)) from None
            raise refused.reason from None

    def create_state(self, partition: TopicPartition, leader: int, isr: tuple[int, ...]) -> None:
        """Create the state znode of a partition under leader epoch 0, and its parents.

        If it exists already, and this controller has written it, the reply to its creation was lost. Kafka up to 3.9 leaves such a
        partition without a leader until there is another controller.
        """
        state = znodes.State(leader, 0, isr, self._context.epoch)
        for parent in znodes.partition_parents(partition):
            if self.session.exists(parent) is None:
                self.write(Create(parent))
        try:
            self.write(Create(znodes.state(partition), state.encode()))
            held = written(state, 0)
        except NodeExists:
            found = self.read_state(partition)
            if found is None or (found.version, found.controller_epoch) != (0, self._context.epoch):
                raise
            held = found
        self._context.leadership[partition] = held

    def write_state(self, partition: TopicPartition, read: Leadership, leader: int, isr: tuple[int, ...]) -> None:
        """Write leader and ISR under the next leader epoch, in place of what was read.

        Raises:
            StateZnodeChanged: the znode has another version by now.
        """
        new = following(read, leader, isr)
        state = znodes.State(new.leader, new.leader_epoch, new.isr, self._context.epoch)
        try:
            (stat,) = self.write(Set(znodes.state(partition), state.encode(), read.version))
        except BadVersion:
            raise StateZnodeChanged from None
        assert isinstance(stat, Stat)
        self._context.leadership[partition] = written(state, stat.version)

    def write_isr(self, partition: TopicPartition, proposed: Leadership) -> Leadership:
        """Write leader and ISR as proposed, under the same leader epoch, in place of the version that the proposal names.

        Raises:
            StateZnodeChanged: the znode has another version by now, and other content.
        """
        state = znodes.State(proposed.leader, proposed.leader_epoch, proposed.isr, self._context.epoch)
        try:
            (stat,) = self.write(Set(znodes.state(partition), state.encode(), proposed.version))
            assert isinstance(stat, Stat)
            held = written(state, stat.version)
        except (BadVersion, NoNode):
            found = self.read_state(partition)
            if found is None or found != written(state, proposed.version + 1):
                raise StateZnodeChanged from None
            held = found  # the answer to this very write was lost
        self._context.leadership[partition] = held
        return held

    def write_assignments(self, topic: str, assignments: Mapping[int, PartitionAssignment], *, others: bool = True) -> None:
        """Write the assignments of some partitions into the topic's znode; `others` keeps those of its other partitions.

        The znode keeps its topic id. A version that cannot say what a reassignment adds is replaced by one that can.

        Raises:
            NoNode: the topic does not exist.
        """
        while True:
            data, stat = self.session.get(znodes.topic(topic))
            held = znodes.Topic.decode(topic, data)
            partitions = {n: held.assignment(n) for n in held.partitions} if others else {}
            try:
                self.write(Set(znodes.topic(topic), held.holding({**partitions, **assignments}).encode(), stat.version))
            except BadVersion:
                continue  # it was written since it was read
            return

    def write_reassignments(self, targets: Mapping[TopicPartition, Sequence[int]]) -> None:
        """Write /admin/reassign_partitions, or delete it if no target is left; what is taken out may be asked for again."""
        if targets:
            self.write(Set(znodes.REASSIGN_PARTITIONS, znodes.encode_reassignment(targets)))
        else:
            self.delete_all([znodes.REASSIGN_PARTITIONS])
        self._context.planned.intersection_update(targets)

    def delete_all(self, paths: Iterable[str]) -> None:
        """Delete znodes one by one; missing ones and those with children are skipped."""
        for path in paths:
            with suppress(NoNode, NotEmpty):
                self.write(Delete(path))

    # Reads

    def read_state(self, partition: TopicPartition) -> Leadership | None:
        """Return the content of a partition's state znode; None if it is missing or unreadable."""
        try:
            data, stat = self.session.get(znodes.state(partition))
        except NoNode:
            return None
        path = znodes.state(partition)
        state = self._decoded(lambda: znodes.State.decode(partition, data), lambda one: _bounded(path, (one.leader, *one.isr)))
        return None if state is None else written(state, stat.version)

    def read_brokers(self) -> dict[int, tuple[BrokerRegistration, int]]:
        """Return the registered brokers, each with its epoch; watch for changes."""
        brokers = {}
        names = self.session.children(znodes.BROKER_IDS, watch=True)
        for number in sorted(
            number for name in names if (number := self._decoded(partial(znodes.broker_number, name))) is not None
        ):
            try:
                data, stat = self.session.get(znodes.broker(number))
            except NoNode:
                continue
            registration = self._decoded(partial(decode_broker, number, data))
            if registration is not None:
                brokers[number] = (registration, stat.czxid)
        return brokers

    def read_topic(self, topic: str) -> dict[TopicPartition, PartitionAssignment]:
        """Return the assignment of a topic, and watch it; an empty one if it is unreadable (TopicZNode.decode)."""
        try:
            data, stat = self.session.get(znodes.topic(topic), watch=True)
        except NoNode:
            return {}
        found = self._decoded(
            lambda: znodes.Topic.decode(topic, data),
            lambda one: _bounded(znodes.topic(topic), chain.from_iterable(one.partitions.values())),
        )
        if found is None:
            return {}
        if self._topic_ids and topic not in self._context.topic_ids:
            try:
                self._context.topic_ids[topic] = found.topic_id or self._give_id(topic, found, stat.version)
            except (BadVersion, NoNode):
                return self.read_topic(topic)  # it was written, or deleted, since it was read
        return {TopicPartition(topic, n): found.assignment(n) for n in found.partitions}

    def _give_id(self, topic: str, held: znodes.Topic, version: int) -> str:
        """Write a new id into a topic's znode of this version, and return it (KafkaZkClient.setTopicIds).

        Raises:
            BadVersion, NoNode: the znode is another one by now.
        """
        topic_id = text_of(uuid4())
        self.write(Set(znodes.topic(topic), replace(held, topic_id=topic_id, version=3).encode(), version))
        return topic_id

    def read_deletions(self) -> list[str]:
        """Return the topics that /admin/delete_topics names, and watch it."""
        return self.session.children(znodes.DELETE_TOPICS, watch=True)

    def read_reassignments(self) -> dict[TopicPartition, tuple[int, ...]] | None:
        """Return the targets in /admin/reassign_partitions, none if it is unreadable; None if it does not exist. Watch it."""
        self.session.exists(znodes.REASSIGN_PARTITIONS, watch=True)
        try:
            data, _ = self.session.get(znodes.REASSIGN_PARTITIONS)
        except NoNode:
            return None
        return self._decoded(lambda: znodes.decode_reassignment(data)) or {}

    def tree(self, path: str) -> list[str]:
        """Return the paths below a path and itself, children before their parents; none if it does not exist."""
        try:
            children = self.session.children(path)
        except NoNode:
            return []
        return [*(below for child in children for below in self.tree(f"{path}/{child}")), path]

    def read_notifications(self, folder: str, decode: Callable[[str, bytes], Content]) -> dict[str, Content | None]:
        """Return the paths of notifications with their contents, None where unreadable; watch for more."""
        found: dict[str, Content | None] = {}
        for name in self.session.children(folder, watch=True):
            path = f"{folder}/{name}"
            try:
                data, _ = self.session.get(path)
            except NoNode:
                found[path] = None
            else:
                found[path] = self._decoded(partial(decode, path, data))
        return found

    def read_preferred_election(self) -> tuple[TopicPartition, ...] | None:
        """Return the partitions in /admin/preferred_replica_election, none if it is unreadable; None if it does not exist."""
        path = znodes.PREFERRED_REPLICA_ELECTION
        self.session.exists(path, watch=True)
        try:
            data, _ = self.session.get(path)
        except NoNode:
            return None
        return self._decoded(lambda: znodes.decode_partitions(path, data)) or ()

    def unclean_is_enabled(self, partition: TopicPartition) -> bool:
        """Whether the topic, or else the broker, permits a leader from outside the ISR.

        An unreadable configuration counts as empty (ConfigEntityZNode.decode).
        """
        path = znodes.topic_config(partition.topic)
        try:
            data, _ = self.session.get(path)
        except NoNode:
            config = {}
        else:
            config = self._decoded(lambda: znodes.decode_config(path, data)) or {}
        return config.get("unclean.leader.election.enable", str(self._unclean_by_default).lower()) == "true"

    def _decoded(self, decode: Callable[[], Content], check: Callable[[Content], object] = lambda _: None) -> Content | None:
        """Return a content; None if decoding or the check raises `Undecodable`, which is logged."""
        try:
            content = decode()
            check(content)
        except znodes.Undecodable as error:
            self._note(LogLevel.ERROR, f"{error}")
            return None
        return content


def _bounded(path: str, brokers: Iterable[int]) -> None:
    """Raise `Undecodable` for a content that names a broker beyond the largest."""
    if (largest := max(brokers, default=0)) > LARGEST_BROKER:
        raise znodes.Undecodable(f"{path} names broker {largest:,}; the largest possible is {LARGEST_BROKER:,}")
