"""The row functions of REPLICA: its guards and effects on a controller.

The table, spec/machines/replica.py, chooses the row; spec/decisions/election.py decides what a removal from the ISR leaves.

Source: Kafka 2.8 ReplicaStateMachine.scala.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from kafka_spec.impl.protocol.state_change_log import LogLevel
from kafka_spec.impl.protocol.topic_partition import TopicPartition
from kafka_spec.impl.row_functions import effect, guard
from kafka_spec.impl.zookeeper.controller.context import ControllerContext
from kafka_spec.impl.zookeeper.controller.elections import StateZnode
from kafka_spec.impl.zookeeper.controller.leadership_guards import LeadershipGuards
from kafka_spec.impl.zookeeper.controller.request_batch import RequestBatch
from kafka_spec.impl.zookeeper.controller.zk_client import ControllerZkClient
from kafka_spec.spec.decisions.deletion import replica_goes_offline
from kafka_spec.spec.decisions.election import leader_and_isr_without, recipients_of_removal
from kafka_spec.spec.vocabulary.table import Constants


class ReplicaRows(LeadershipGuards):
    """Guards and effects on one controller's context, ZooKeeper and batch."""

    def __init__(
        self,
        context: ControllerContext,
        zk: ControllerZkClient,
        batch: RequestBatch,
        k: Constants,
        note: Callable[[LogLevel, str], object],
    ) -> None:
        """`note` writes a line into the state-change log."""
        super().__init__(context)
        self._zk = zk
        self._batch = batch
        self._k = k
        self._note = note

    @guard
    def replica_is_live(self, partition: TopicPartition, replica: int) -> bool:
        """The replica's broker is live, and its log directory is not lost."""
        return self._context.is_online(replica, partition)

    @guard
    def replica_is_cached_leader(self, partition: TopicPartition, replica: int) -> bool:
        """The replica is the cached leader."""
        return self._context.leadership[partition].leader == replica

    @guard
    def replica_is_assigned(self, partition: TopicPartition, replica: int) -> bool:
        """The replica is part of the assignment."""
        return replica in self._context.assignments[partition]

    @guard
    def leaderless_replicas_go_offline(self, partition: TopicPartition) -> bool:
        """The era takes replicas offline whose leader and ISR are unknown (2.0, KAFKA-6650)."""
        return replica_goes_offline(int(partition in self._context.leadership), self._k.leaderless_replicas)

    @guard
    def isr_contains_replica(self, replica: int, inputs: StateZnode) -> bool:
        """The state znode's ISR contains the replica."""
        return inputs.read is not None and replica in inputs.read.isr

    @effect
    def send_leader_and_isr_to_replica(self, partition: TopicPartition, replica: int) -> None:
        """Send the replica's broker the cached leader and ISR, without a new leader epoch."""
        self._batch.add_leader_and_isr([replica], partition, is_new=False)

    @effect
    def send_leader_and_isr_to_new_replica(self, partition: TopicPartition, replica: int) -> None:
        """Send the broker of a replica that is being added the cached leader and ISR, without a new leader epoch."""
        self._batch.add_leader_and_isr([replica], partition, is_new=True)

    @effect
    def append_replica_to_assignment(self, partition: TopicPartition, replica: int) -> None:
        """Append the replica to the assignment in memory."""
        held = self._context.assignment(partition)
        self._context.assign(partition, replace(held, replicas=(*held.replicas, replica)))

    @effect
    def send_stop_replica_with_delete(self, partition: TopicPartition, replica: int) -> None:
        """Send the replica's broker a StopReplica that deletes the replica."""
        self._batch.add_stop_replica(replica, partition, delete=True)

    @effect
    def remove_replica_from_assignment(self, partition: TopicPartition, replica: int) -> None:
        """Remove the replica from the assignment in memory."""
        self._context.assign(partition, self._context.assignment(partition).without(replica))

    @effect
    def send_stop_replica(self, partition: TopicPartition, replica: int) -> None:
        """Send the replica's broker a StopReplica, with the leader epoch from before the ISR shrinks."""
        self._batch.add_stop_replica(replica, partition)

    @effect
    def send_update_metadata(self, partition: TopicPartition, replica: int) -> None:
        """Send all live brokers, and those that shut down, an UpdateMetadata; the partition is not in it: it has no leadership."""
        self._batch.add_update_metadata(self._context.live, [partition])

    @effect
    def write_isr_without_replica(self, partition: TopicPartition, replica: int, inputs: StateZnode) -> None:
        """Write the ISR without the replica, without a leader if it led, with the next leader epoch."""
        held = inputs.held
        clean, unclean = (
            leader_and_isr_without(held.leader, held.members, replica, self._k.last_isr_member, enabled) for enabled in (0, 1)
        )
        leader, isr = clean
        if unclean != clean and self._zk.unclean_is_enabled(partition):  # read only where it makes a difference
            leader, isr = unclean
        self._zk.write_state(partition, held, leader, tuple(broker for broker in held.isr if broker in isr))
        self._note_removal(partition, replica)

    @effect
    def refresh_leadership(self, partition: TopicPartition, replica: int, inputs: StateZnode) -> None:
        """Cache leader and ISR from the state znode, under the controller's own epoch."""
        self._context.leadership[partition] = replace(inputs.held, controller_epoch=self._context.epoch)
        self._note_removal(partition, replica)

    @effect
    def send_leader_and_isr_to_other_replicas(self, partition: TopicPartition, replica: int) -> None:
        """Send LeaderAndIsr to the recipients of a removal: all other assigned replicas, none of a topic to be deleted."""
        if self._context.is_queued_for_deletion(partition.topic):
            return
        assignment, leader = self._context.assignments[partition], self._context.leadership[partition].leader
        recipients = recipients_of_removal(assignment, leader, replica, self._k.shrink_recipients)
        self._batch.add_leader_and_isr(recipients, partition, is_new=False)

    def _note_removal(self, partition: TopicPartition, replica: int) -> None:
        held = self._context.leadership[partition]
        isr = ",".join(map(str, held.isr))
        self._note(
            LogLevel.INFO,
            f"Partition {partition} state changed to (Leader:{held.leader},ISR:{isr},LeaderEpoch:{held.leader_epoch},"
            f"ZkVersion:{held.version},ControllerEpoch:{held.controller_epoch}) after removing replica {replica} from the ISR "
            "as part of transition to OfflineReplica",
        )
