"""The requests of one change of states, merged before they are sent.

Source: Kafka 2.8 ControllerChannelManager.scala, AbstractControllerBrokerRequestBatch.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from kafka_spec.impl.protocol.controller_requests import (
    NO_EPOCH,
    LeaderAndIsrRequest,
    LeaderAndIsrState,
    StopReplicaRequest,
    StopReplicaState,
    UpdateMetadataRequest,
    UpdateMetadataState,
)
from kafka_spec.impl.protocol.state_change_log import LogLevel, StateChangeLog
from kafka_spec.impl.protocol.topic_partition import TopicPartition
from kafka_spec.impl.zookeeper.controller.channels import Channels
from kafka_spec.impl.zookeeper.controller.context import ControllerContext
from kafka_spec.spec.decisions.fencing import LEADER_DURING_DELETE, leader_epoch_in_stop_replica


class RequestBatch:
    """Gathers the requests of one change of states, merges them, and sends them in Kafka's order.

    The last LeaderAndIsr of a partition wins, but `is_new` stays true once set; the last leader epoch of a StopReplica wins, but
    `delete` stays true. A LeaderAndIsr implies an UpdateMetadata of the partition to all brokers, with the leadership cached then.
    """

    def __init__(self, number: int, context: ControllerContext, channels: Channels, log: StateChangeLog) -> None:
        """`number` is the controller's broker id."""
        self._number = number
        self._context = context
        self._channels = channels
        self._log = log
        self.clear()

    def clear(self) -> None:
        """Drop what was gathered."""
        self.leader_and_isr: dict[int, dict[TopicPartition, LeaderAndIsrState]] = {}
        self.stop_replica: dict[int, dict[TopicPartition, StopReplicaState]] = {}
        self._metadata_to: set[int] = set()
        self._metadata: dict[TopicPartition, UpdateMetadataState] = {}
        self._reassigned: list[str] = []

    def begin(self) -> None:
        """Begin a batch.

        Raises:
            RuntimeError: an earlier batch has not been sent.
        """
        if self.leader_and_isr or self.stop_replica or self._metadata_to:
            raise RuntimeError("requests of an earlier batch were never sent; send or clear it before another is begun")

    def add_leader_and_isr(self, brokers: Iterable[int], partition: TopicPartition, is_new: bool) -> None:
        """Add a LeaderAndIsr with the cached leadership of a partition."""
        held, replicas = self._context.leadership[partition], self._context.assignments[partition]
        for broker in brokers:
            reported = self.leader_and_isr.setdefault(broker, {})
            was_new = partition in reported and reported[partition].is_new
            adding, removing = self._context.adding.get(partition, ()), self._context.removing.get(partition, ())
            reported[partition] = LeaderAndIsrState(held, replicas, is_new or was_new, adding, removing)
        self.add_update_metadata(self._context.live, [partition])

    def note_reassignment(self, partition: TopicPartition) -> None:
        """Say in the log, once the batch is sent, that a reassignment has informed a partition's replicas of each other."""
        held, context = self._context.leadership[partition], self._context
        isr, replicas, adding, removing = (
            ",".join(map(str, one))
            for one in (
                held.isr,
                context.assignments[partition],
                context.adding.get(partition, ()),
                context.removing.get(partition, ()),
            )
        )
        self._reassigned.append(
            f"Sent LeaderAndIsr request (Leader:{held.leader},ISR:{isr},LeaderEpoch:{held.leader_epoch},ZkVersion:{held.version},"
            f"ControllerEpoch:{held.controller_epoch}) with new replica assignment ReplicaAssignment(replicas={replicas}, "
            f"addingReplicas={adding}, removingReplicas={removing}) to leader {held.leader} for partition being reassigned "
            f"{partition}"
        )

    def add_stop_replica(self, broker: int, partition: TopicPartition, delete: bool = False) -> None:
        """Add a StopReplica with the cached leader epoch, or with the mark of a topic that is queued for deletion."""
        held = self._context.leadership.get(partition)
        reported = self.stop_replica.setdefault(broker, {})
        deletes = delete or (partition in reported and reported[partition].delete)
        queued = int(self._context.is_queued_for_deletion(partition.topic))
        epoch = leader_epoch_in_stop_replica(NO_EPOCH if held is None else held.leader_epoch, queued)
        reported[partition] = StopReplicaState(epoch, deletes)

    def add_stop_unassigned(self, broker: int, partition: TopicPartition) -> None:
        """Add a StopReplica with delete and the cached leader epoch: without the mark, no deletion counts its answer."""
        epoch = self._context.leadership[partition].leader_epoch
        self.stop_replica.setdefault(broker, {})[partition] = StopReplicaState(epoch, True)

    def add_update_metadata(self, brokers: Iterable[int], partitions: Iterable[TopicPartition]) -> None:
        """Add an UpdateMetadata: the live brokers, and the cached leadership of those partitions that have one.

        A partition of a topic that is queued for deletion has the mark of deletion in place of its leader.
        """
        self._metadata_to.update(brokers)
        for partition in partitions:
            held = self._context.leadership.get(partition)
            if held is not None:
                replicas = self._context.assignments[partition]
                offline = tuple(broker for broker in replicas if not self._context.is_online(broker, partition))
                if self._context.is_queued_for_deletion(partition.topic):
                    held = replace(held, leader=LEADER_DURING_DELETE, leader_epoch=0, version=0)
                self._metadata[partition] = UpdateMetadataState(held, replicas, offline)

    def send(self) -> None:
        """Send everything to the registered brokers in this order: LeaderAndIsr, UpdateMetadata, StopReplica."""
        context = self._context
        for broker, states in sorted(self.leader_and_isr.items()):
            if broker in context.live:
                self._trace_leader_and_isr(broker, states)
                leading = sum(state.leadership.leader == broker for state in states.values())
                self._note(
                    f"Sending LeaderAndIsr request to broker {broker} with {leading} become-leader and "
                    f"{len(states) - leading} become-follower partitions"
                )
                leaders = {state.leadership.leader for state in states.values()}
                live = tuple(context.live[leader] for leader in sorted(leaders) if leader in context.live)
                self._channels.send(broker, LeaderAndIsrRequest(*self._header(broker), states, live, self._ids(states)))
        receivers = sorted(self._metadata_to & set(context.live))
        if self._metadata_to:
            named = ", ".join(map(str, receivers))
            self._note(f"Sending UpdateMetadata request to brokers Set({named}) for {len(self._metadata)} partitions")
        live = tuple(context.live[number] for number in sorted(context.live))
        for broker in receivers:
            reported = UpdateMetadataRequest(*self._header(broker), dict(self._metadata), live, self._ids(self._metadata))
            self._channels.send(broker, reported)
        for broker, stops in sorted(self.stop_replica.items()):
            if broker in context.live:
                self._trace_stop_replica(broker, stops)
                self._note(f"Sending StopReplica request for {len(stops)} replicas to broker {broker}")
                self._channels.send(broker, StopReplicaRequest(*self._header(broker), stops))
        for message in self._reassigned:
            self._note(message)
        self.clear()

    def _ids(self, partitions: Iterable[TopicPartition]) -> dict[str, str]:
        """Return the ids of the topics of partitions, where the controller uses them."""
        known = self._context.topic_ids
        return {topic: known[topic] for topic in dict.fromkeys(p.topic for p in partitions) if topic in known}

    def _header(self, broker: int) -> tuple[int, int, int]:
        return self._number, self._context.epoch, self._context.broker_epochs[broker]

    def _trace_leader_and_isr(self, broker: int, states: Mapping[TopicPartition, LeaderAndIsrState]) -> None:
        """Write what a broker is sent about each partition, as Kafka's LeaderAndIsrPartitionState shows it."""
        if not self._log.writes(LogLevel.TRACE):
            return
        for partition, state in states.items():
            held = state.leadership
            isr, replicas, adding, removing = map(list, (held.isr, state.replicas, state.adding, state.removing))
            self._note(
                f"Sending become-{'leader' if held.leader == broker else 'follower'} LeaderAndIsr request "
                f"LeaderAndIsrPartitionState(topicName='{partition.topic}', partitionIndex={partition.partition}, "
                f"controllerEpoch={held.controller_epoch}, leader={held.leader}, leaderEpoch={held.leader_epoch}, isr={isr}, "
                f"zkVersion={held.version}, replicas={replicas}, addingReplicas={adding}, removingReplicas={removing}, "
                f"isNew={str(state.is_new).lower()}) to broker {broker} for partition {partition}",
                LogLevel.TRACE,
            )

    def _trace_stop_replica(self, broker: int, states: Mapping[TopicPartition, StopReplicaState]) -> None:
        """Write what a broker is to stop, as Kafka's StopReplicaPartitionState shows it."""
        if not self._log.writes(LogLevel.TRACE):
            return
        for partition, state in states.items():
            self._note(
                f"Sending StopReplica request StopReplicaPartitionState(partitionIndex={partition.partition}, "
                f"leaderEpoch={state.leader_epoch}, deletePartition={str(state.delete).lower()}) to broker {broker} for partition "
                f"{partition}",
                LogLevel.TRACE,
            )

    def _note(self, message: str, level: LogLevel = LogLevel.INFO) -> None:
        self._log.line(level, f"[Controller id={self._number} epoch={self._context.epoch}] {message}")
