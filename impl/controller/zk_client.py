"""ZooKeeper, as a controller reads and writes it: state znodes, registrations, topics, notifications.

Writes are fenced by the version of /controller_epoch, in the eras that do so. Nothing is decided here.

Source: Kafka 2.8 KafkaZkClient.scala (retryRequestsUntilConnected with a ZkVersionCheck).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import TypeVar

from kafka_spec.impl.controller.context import ControllerContext, following, written
from kafka_spec.impl.coordination import znodes
from kafka_spec.impl.coordination.interface import (
    BadVersion,
    Check,
    Create,
    Delete,
    MultiRefused,
    NoNode,
    Operation,
    Result,
    Session,
    Set,
    Stat,
)
from kafka_spec.impl.protocol.controller_requests import Leadership
from kafka_spec.impl.protocol.registration import BrokerRegistration
from kafka_spec.impl.protocol.topic_partition import TopicPartition

Content = TypeVar("Content")


class ControllerMoved(Exception):  # noqa: N818 - Kafka's name
    """A write was refused since /controller_epoch has moved: there is a newer controller."""


class StateZnodeChanged(Exception):  # noqa: N818 - says what happened
    """The state znode was written between the read and the write: read again."""


class ControllerZkClient:
    """A session with ZooKeeper, and what a controller does with it; what it has written is cached in the context."""

    def __init__(self, session: Session, context: ControllerContext, is_fenced: bool, unclean_by_default: bool) -> None:
        """`is_fenced` says whether writes check /controller_epoch.

        `unclean_by_default` is the broker's unclean.leader.election.enable, for topics that do not say.
        """
        self.session = session
        self._context = context
        self._is_fenced = is_fenced
        self._unclean_by_default = unclean_by_default

    # Writes

    def write(self, *operations: Operation) -> list[Result]:
        """Write as the controller of this epoch; without operations only see that it still is.

        Raises:
            ControllerMoved: /controller_epoch has moved.
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
        """Create the state znode of a partition under leader epoch 0, and what is above it."""
        state = znodes.State(leader, 0, isr, self._context.epoch)
        for parent in znodes.partition_parents(partition):
            if self.session.exists(parent) is None:
                self.write(Create(parent))
        self.write(Create(znodes.state(partition), state.encode()))
        self._context.leadership[partition] = written(state, 0)

    def write_state(self, partition: TopicPartition, read: Leadership, leader: int, isr: tuple[int, ...]) -> None:
        """Write leader and ISR under the next leader epoch, in place of what was read.

        Raises:
            StateZnodeChanged: something else stands there by now.
        """
        new = following(read, leader, isr)
        state = znodes.State(new.leader, new.leader_epoch, new.isr, self._context.epoch)
        try:
            (stat,) = self.write(Set(znodes.state(partition), state.encode(), read.version))
        except BadVersion:
            raise StateZnodeChanged from None
        assert isinstance(stat, Stat)
        self._context.leadership[partition] = written(state, stat.version)

    def delete_all(self, paths: Iterable[str]) -> None:
        """Delete znodes one by one; those that are gone already are passed over."""
        for path in paths:
            with suppress(NoNode):
                self.write(Delete(path))

    # Reads

    def read_state(self, partition: TopicPartition) -> Leadership | None:
        """Return what the state znode of a partition holds; None if there is none, or nothing that can be read."""
        try:
            data, stat = self.session.get(znodes.state(partition))
            return written(znodes.State.decode(partition, data), stat.version)
        except (NoNode, znodes.Undecodable):
            return None

    def read_brokers(self) -> dict[int, tuple[BrokerRegistration, int]]:
        """Return the registered brokers, each with its epoch; watch for others."""
        brokers = {}
        for number in sorted(map(int, self.session.children(znodes.BROKER_IDS, watch=True))):
            try:
                data, stat = self.session.get(znodes.broker(number))
            except NoNode:
                continue
            brokers[number] = (znodes.decode_broker(number, data), stat.czxid)
        return brokers

    def read_topic(self, topic: str) -> dict[TopicPartition, tuple[int, ...]]:
        """Return the assignment of a topic, and watch it."""
        try:
            data, _ = self.session.get(znodes.topic(topic), watch=True)
        except NoNode:
            return {}
        return {TopicPartition(topic, number): replicas for number, replicas in znodes.Topic.decode(topic, data).partitions.items()}

    def read_notifications(self, folder: str, decode: Callable[[str, bytes], Content]) -> dict[str, Content | None]:
        """Return the paths of notifications with what they say, None where that cannot be read; watch for more."""
        found: dict[str, Content | None] = {}
        for name in self.session.children(folder, watch=True):
            path = f"{folder}/{name}"
            try:
                found[path] = decode(path, self.session.get(path)[0])
            except (NoNode, znodes.Undecodable):
                found[path] = None
        return found

    def unclean_is_enabled(self, partition: TopicPartition) -> bool:
        """Whether the topic, or else the broker, lets a replica outside the ISR lead."""
        path = znodes.topic_config(partition.topic)
        try:
            config = znodes.decode_config(path, self.session.get(path)[0])
        except NoNode:
            config = {}
        return config.get("unclean.leader.election.enable", str(self._unclean_by_default).lower()) == "true"
