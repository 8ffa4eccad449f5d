"""The row functions of PARTITION: its guards and effects on a controller.

The table, spec/machines/partition.py, chooses the row; spec/decisions/election.py elects the leader.

Source: Kafka 2.8 PartitionStateMachine.scala.
"""

from __future__ import annotations

from kafka_spec.impl.protocol.controller_requests import NO_LEADER
from kafka_spec.impl.protocol.topic_partition import TopicPartition
from kafka_spec.impl.row_functions import effect, guard
from kafka_spec.impl.zookeeper.controller.context import ControllerContext
from kafka_spec.impl.zookeeper.controller.elections import Elected, ElectionInputs, elect
from kafka_spec.impl.zookeeper.controller.leadership_guards import LeadershipGuards
from kafka_spec.impl.zookeeper.controller.request_batch import RequestBatch
from kafka_spec.impl.zookeeper.controller.zk_client import ControllerZkClient
from kafka_spec.spec.decisions.election import first_leader_and_isr
from kafka_spec.spec.vocabulary.table import Constants


class PartitionRows(LeadershipGuards):
    """Guards and effects on one controller's context, ZooKeeper and batch.

    `unclean_elections` are the partitions for which a leader was elected from outside the ISR (UncleanLeaderElectionsPerSec).
    """

    def __init__(self, context: ControllerContext, zk: ControllerZkClient, batch: RequestBatch, k: Constants) -> None:
        super().__init__(context)
        self.unclean_elections: list[TopicPartition] = []
        self._zk = zk
        self._batch = batch
        self._k = k

    @guard
    def cached_leader_is_live(self, partition: TopicPartition) -> bool:
        """The cached leader can lead."""
        return self._context.is_online(self._context.leadership[partition].leader, partition)

    @guard
    def an_assigned_replica_is_live(self, partition: TopicPartition) -> bool:
        """Some assigned replica can lead."""
        return self._context.assigned_online(partition) != 0

    @guard
    def state_znode_is_absent(self, inputs: ElectionInputs) -> bool:
        """There was no state znode when this step looked."""
        return inputs.read is None

    @guard
    def a_leader_can_be_elected(self, partition: TopicPartition, inputs: ElectionInputs) -> bool:
        """The strategy finds a leader."""
        return self._elect(partition, inputs).leader != NO_LEADER

    def _elect(self, partition: TopicPartition, inputs: ElectionInputs) -> Elected:
        return elect(partition, inputs, self._context, self._k)

    @effect
    def write_elected_leader_and_isr(self, partition: TopicPartition, inputs: ElectionInputs) -> None:
        """Write the elected leader and ISR with the next leader epoch, even if both stay."""
        leader, isr, _ = self._elect(partition, inputs)
        kept = [broker for broker in inputs.held.isr if broker in isr]
        kept += [broker for broker in isr if broker not in kept]
        self._zk.write_state(partition, inputs.held, leader, tuple(kept))
        if leader not in inputs.held.isr:
            self.unclean_elections.append(partition)

    @effect
    def send_leader_and_isr_to_recipients(self, partition: TopicPartition, inputs: ElectionInputs) -> None:
        """Send LeaderAndIsr to the recipients of the election; electing again from the same inputs gives the same result."""
        self._batch.add_leader_and_isr(self._elect(partition, inputs).recipients, partition, is_new=False)

    @effect
    def create_state_znode(self, partition: TopicPartition) -> None:
        """Create the state znode and its parents: the first live replica leads, all live replicas are in the ISR."""
        replicas = self._context.assignments[partition]
        leader, isr, _ = first_leader_and_isr(replicas, self._context.online(partition))
        self._zk.create_state(partition, leader, tuple(broker for broker in replicas if broker in isr))

    @effect
    def send_leader_and_isr_to_first_isr(self, partition: TopicPartition) -> None:
        """Send LeaderAndIsr to the members of the first ISR only."""
        self._batch.add_leader_and_isr(self._context.leadership[partition].isr, partition, is_new=True)
