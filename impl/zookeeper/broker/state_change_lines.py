"""A broker's lines in state-change.log about the requests of controllers, word for word as in Kafka.

Source: Kafka 2.8 ReplicaManager.scala, Partition.scala; the words are those of 2.8 in every era.
"""

from __future__ import annotations

from kafka_spec.impl.broker.partition import HostedPartition
from kafka_spec.impl.protocol.controller_requests import (
    LeaderAndIsrRequest,
    LeaderAndIsrState,
    Request,
    StopReplicaRequest,
    StopReplicaState,
)
from kafka_spec.impl.protocol.state_change_log import LogLevel, StateChangeLog
from kafka_spec.impl.protocol.topic_partition import TopicPartition

OFFLINE = "as the local replica for the partition is in an offline log directory"


class BrokerLines:
    """The lines of one broker, about the request last `received`."""

    def __init__(self, broker: int, log: StateChangeLog) -> None:
        self._broker = broker
        self._log = log
        self._controller = self._correlation = self._epoch = 0

    def received(self, request: Request, correlation: int, controller_epoch: int) -> None:
        """Set the request of the following lines, and the broker's controller epoch after it."""
        self._controller, self._correlation, self._epoch = request.controller, correlation, controller_epoch

    @property
    def _about(self) -> str:
        return f"from controller {self._controller} with correlation id {self._correlation} epoch {self._epoch}"

    @property
    def _whence(self) -> str:
        return f"with correlation id {self._correlation} from controller {self._controller} epoch {self._epoch}"

    def old_controller(self, request: Request, correlation: int, latest: int) -> None:
        """A request of an older controller is refused as a whole."""
        number, epoch, about = request.controller, request.controller_epoch, f"with correlation id {correlation}"
        if isinstance(request, (LeaderAndIsrRequest, StopReplicaRequest)):
            name = "LeaderAndIsr" if isinstance(request, LeaderAndIsrRequest) else "StopReplica"
            text = f"Ignoring {name} request from controller {number} {about} since its controller epoch {epoch} is old"
        else:
            text = f"Received update metadata request {about} from an old controller {number} with epoch {epoch}"
        self._line(LogLevel.WARN, f"{text}. Latest known controller epoch is {latest}")

    def ignored_leader_and_isr(self, partition: TopicPartition, state: LeaderAndIsrState, current: int) -> None:
        """A partition of a LeaderAndIsr is ignored: its leader epoch is not newer, or the broker is not assigned."""
        ignoring = f"Ignoring LeaderAndIsr request {self._about} for partition {partition}"
        epoch = state.leadership.leader_epoch
        if epoch > current:
            self._line(LogLevel.WARN, f"{ignoring} as itself is not in assigned replica list {','.join(map(str, state.replicas))}")
        else:
            self._ignored(ignoring, epoch, current)

    def ignored_stop_replica(self, partition: TopicPartition, state: StopReplicaState, current: int) -> None:
        """A partition of a StopReplica is ignored: its leader epoch is too old."""
        self._ignored(self._ignoring_stop(partition, state), state.leader_epoch, current)

    def _ignoring_stop(self, partition: TopicPartition, state: StopReplicaState) -> str:
        return f"Ignoring StopReplica request (delete={str(state.delete).lower()}) {self._about} for partition {partition}"

    def _ignored(self, ignoring: str, epoch: int, current: int) -> None:
        ignoring = f"{ignoring} since its associated leader epoch {epoch}"
        if epoch < current:
            self._line(LogLevel.WARN, f"{ignoring} is smaller than the current leader epoch {current}")
        else:
            self._line(LogLevel.INFO, f"{ignoring} matches the current leader epoch")

    def offline_for_leader_and_isr(self, partition: TopicPartition) -> None:
        """A partition of a LeaderAndIsr is ignored: its log directory has failed."""
        self._line(LogLevel.WARN, f"Ignoring LeaderAndIsr request {self._about} for partition {partition} {OFFLINE}")

    def offline_for_stop_replica(self, partition: TopicPartition, state: StopReplicaState) -> None:
        """A partition of a StopReplica is ignored: its log directory has failed."""
        self._line(LogLevel.WARN, f"{self._ignoring_stop(partition, state)} {OFFLINE}")

    def uncached(self, partition: TopicPartition) -> None:
        """A partition leaves the metadata cache, since its topic is being deleted."""
        self._line(
            LogLevel.TRACE,
            f"Deleted partition {partition} from metadata cache in response to UpdateMetadata request sent by controller "
            f"{self._controller} epoch {self._epoch} with correlation id {self._correlation}",
        )

    def leads(self, partition: TopicPartition, hosted: HostedPartition, previous: int) -> None:
        """A leader starts."""
        isr, adding, removing = (",".join(map(str, one)) for one in (hosted.isr, hosted.adding, hosted.removing))
        self._line(
            LogLevel.INFO,
            f"Leader {partition} starts at leader epoch {hosted.leader_epoch} from offset {hosted.epoch_start} with high watermark "
            f"{hosted.high_watermark} ISR [{isr}] addingReplicas [{adding}] removingReplicas [{removing}]. "
            f"Previous leader epoch was {previous}.",
        )

    def leads_already(self, partition: TopicPartition, hosted: HostedPartition) -> None:
        """The new leader was the leader before."""
        self._line(
            LogLevel.INFO,
            f"Skipped the become-leader state change after marking its partition as leader {self._whence} for partition "
            f"{partition} (last update controller epoch {hosted.controller_epoch}) since it is already the leader for the "
            "partition.",
        )

    def follows(self, partition: TopicPartition, hosted: HostedPartition, previous: int) -> None:
        """A follower starts."""
        self._line(
            LogLevel.INFO,
            f"Follower {partition} starts at leader epoch {hosted.leader_epoch} from offset {hosted.opened.end_offset} with high "
            f"watermark {hosted.high_watermark}. Previous leader epoch was {previous}.",
        )

    def follows_already(self, partition: TopicPartition, hosted: HostedPartition) -> None:
        """A follower's leader is the same as before, and the era skips the change."""
        self._line(
            LogLevel.INFO,
            f"Skipped the become-follower state change after marking its partition as follower {self._whence} for partition "
            f"{partition} (last update controller epoch {hosted.controller_epoch}) since the new leader {hosted.leader} is the "
            "same as the old leader",
        )

    def leader_is_unavailable(self, partition: TopicPartition, state: LeaderAndIsrState) -> None:
        """The leader that a follower should follow is not alive."""
        reported = state.leadership
        self._line(
            LogLevel.ERROR,
            f"Received LeaderAndIsrRequest {self._whence} for partition {partition} (last update controller epoch "
            f"{reported.controller_epoch}) but cannot become follower since the new leader {reported.leader} is unavailable.",
        )

    def _line(self, level: LogLevel, message: str) -> None:
        self._log.line(level, f"[Broker id={self._broker}] {message}")
