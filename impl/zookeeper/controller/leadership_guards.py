"""The guards that rows of several tables name: whether leadership is cached, and which controller wrote the state znode."""

from __future__ import annotations

from kafka_spec.impl.protocol.topic_partition import TopicPartition
from kafka_spec.impl.row_functions import guard
from kafka_spec.impl.zookeeper.controller.context import ControllerContext
from kafka_spec.impl.zookeeper.controller.elections import StateZnode
from kafka_spec.spec.decisions.fencing import state_may_be_replaced


class WriterGuards:
    """The guard that all three tables share."""

    def __init__(self, context: ControllerContext) -> None:
        self._context = context

    @guard
    def no_newer_controller_wrote(self, inputs: StateZnode) -> bool:
        """There is a state znode, and no newer controller has written it."""
        return inputs.read is not None and state_may_be_replaced(inputs.read.controller_epoch, self._context.epoch)


class LeadershipGuards(WriterGuards):
    """The guards that PARTITION and REPLICA share."""

    @guard
    def leadership_is_known(self, partition: TopicPartition) -> bool:
        """Leader and ISR are cached."""
        return partition in self._context.leadership
