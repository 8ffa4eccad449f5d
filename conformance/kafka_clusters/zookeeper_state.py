"""What ZooKeeper says about a real cluster, and a watch over its epochs while the cluster runs."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

from kafka_spec.impl.protocol.controller_requests import Leadership
from kafka_spec.impl.protocol.topic_partition import TopicPartition
from kafka_spec.impl.run.verdict import Broken
from kafka_spec.impl.run.zookeeper.assignment_verdict import assignments_of
from kafka_spec.impl.zookeeper.coordination import znodes
from kafka_spec.impl.zookeeper.coordination.interface import CoordinationError, NoNode, Session


class ZooKeeperState:
    """The znodes of a cluster, read on a session of their own."""

    def __init__(self, session: Session) -> None:
        self.session = session

    def leadership(self, partition: TopicPartition) -> Leadership | None:
        """Return the content of a partition's state znode, None if it does not exist."""
        try:
            data, stat = self.session.get(znodes.state(partition))
        except NoNode:
            return None
        state = znodes.State.decode(partition, data)
        return Leadership(state.leader, state.leader_epoch, state.isr, stat.version, state.controller_epoch)

    def assignments(self) -> dict[TopicPartition, tuple[int, ...]]:
        """Return the replicas of all partitions."""
        return assignments_of(self.session)

    def controller(self) -> int | None:
        """Return who holds /controller, None if nobody does."""
        try:
            return int(json.loads(self.session.get(znodes.CONTROLLER)[0])["brokerid"])
        except NoNode:
            return None

    def controller_epoch(self) -> int:
        """Return the newest controller epoch."""
        return znodes.decode_controller_epoch(self.session.get(znodes.CONTROLLER_EPOCH)[0])

    def registered(self) -> set[int]:
        """Return the brokers that are registered."""
        return {int(name) for name in self.session.children(znodes.BROKER_IDS)}


@dataclass
class SeenEpochs:
    """Leader epochs and the controller epoch as they were seen, one look after the other; what went back violates a property."""

    broken: list[Broken] = field(default_factory=list)
    looks: int = 0
    elections: int = 0
    """Leader epochs that were seen to rise."""
    controllers: dict[int, int] = field(default_factory=dict)
    """The controller of each controller epoch."""
    _leader_epochs: dict[TopicPartition, int] = field(default_factory=dict)

    def look(self, state: ZooKeeperState) -> None:
        """Look once."""
        try:
            # the epoch is read before and after the controller: only one that stays is that controller's
            before, controller, after = state.controller_epoch(), state.controller(), state.controller_epoch()
            if controller is not None and before == after:
                self._controller(controller, after)
            assigned = state.assignments()
            for partition in assigned:
                if (held := state.leadership(partition)) is not None:
                    self._leader_epoch(partition, held.leader_epoch)
        except CoordinationError:
            return
        for partition in set(self._leader_epochs) - set(assigned):
            del self._leader_epochs[partition]  # its topic is deleted: the next one of that name begins anew
        self.looks += 1

    def _controller(self, controller: int, epoch: int) -> None:
        newest = max(self.controllers, default=0)
        if epoch < newest:
            self.broken.append(Broken("EpochsNeverGoBack", f"the controller epoch is {epoch}, and was {newest}"))
        other = self.controllers.setdefault(epoch, controller)
        if other != controller:
            reported = f"brokers {other} and {controller} were both controller under epoch {epoch}"
            self.broken.append(Broken("OneControllerInEachEpoch", reported))

    def _leader_epoch(self, partition: TopicPartition, epoch: int) -> None:
        before = self._leader_epochs.get(partition, -1)
        if epoch < before:
            reported = f"the leader epoch of {partition} is {epoch}, and was {before}"
            self.broken.append(Broken("EpochsNeverGoBack", reported))
        self.elections += epoch > before
        self._leader_epochs[partition] = epoch
