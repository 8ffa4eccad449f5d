"""A broker's handling of controllers' requests: gates, roles, partitions with their logs, failed log directories.

spec/decisions/fencing.py accepts or refuses a request by partition, with Kafka's error codes. data_plane.py handles the requests of
clients and followers, and fetcher.py fetches: `fetchers` holds leader, leader epoch and offset of each partition that follows.

Source: Kafka 2.8 ReplicaManager.scala:350-492, 1298-1726, KafkaApis.scala:241-365.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from kafka_spec.impl.broker.group_coordinator import GroupCoordinator, tell_coordinator
from kafka_spec.impl.broker.hosted_replicas import HostedReplicas
from kafka_spec.impl.broker.partition import FetchState, HostedPartition, Phase
from kafka_spec.impl.fire_log import OnlyTheTable
from kafka_spec.impl.log.log_config import LogConfig
from kafka_spec.impl.machine import build
from kafka_spec.impl.protocol.controller_requests import (
    LeaderAndIsrRequest,
    LeaderAndIsrState,
    Request,
    StopReplicaRequest,
    StopReplicaState,
    UpdateMetadataRequest,
    UpdateMetadataState,
)
from kafka_spec.impl.protocol.errors import ErrorCode, KafkaError
from kafka_spec.impl.protocol.responses import ControllerResponse
from kafka_spec.impl.protocol.settings import Settings
from kafka_spec.impl.protocol.state_change_log import StateChangeLog
from kafka_spec.impl.protocol.topic_partition import TopicPartition
from kafka_spec.impl.zookeeper.broker.state_change_lines import BrokerLines
from kafka_spec.spec.decisions.election import is_isr_candidate
from kafka_spec.spec.decisions.fencing import (
    LEADER_DURING_DELETE,
    answer_to_leader_and_isr,
    answer_to_request,
    answer_to_stop_replica,
    leader_is_available,
)
from kafka_spec.spec.decisions.log import first_truncation, follower_goes_on, log_ends_are_forgotten
from kafka_spec.spec.language.domain import NO_BROKERS, BrokerSet
from kafka_spec.spec.vocabulary.table import Spec
from kafka_spec.spec.zookeeper.machines import Role


class ReplicaManager(HostedReplicas[HostedPartition]):
    """All partitions of one broker, in one data folder. What is not on disk is lost with the process.

    `changed` is called with a partition whenever its role or its high watermark changes, so that delayed operations are checked.
    """

    def __init__(
        self,
        number: int,
        era: Spec,
        folder: Path,
        log: StateChangeLog,
        config: LogConfig | None = None,
        settings: Settings | None = None,
    ) -> None:
        """`number` is the broker id; `era` one of spec/zookeeper/eras.py; `config` that of the broker's logs.

        Raises:
            CheckpointError: a checkpoint in the folder is unreadable.
        """
        super().__init__(number, folder, config, settings)
        self.k = era.constants({})
        self.broker_epoch = -1
        """The creation id of the registration, -1 until it is known."""
        self.controller_epoch = 0
        """The largest controller epoch of any request; a broker that has just started accepts the first one."""
        self.alive = NO_BROKERS
        self.metadata: dict[TopicPartition, UpdateMetadataState] = {}
        self.topic_ids: dict[str, str] = {}
        """The ids of the topics in `metadata`, of those that have one."""
        self.coordinator: GroupCoordinator | None = None
        self.topic_config: Callable[[str], Mapping[str, str]] = lambda _: {}
        """Returns what is configured for a topic; `Settings` hold for the rest."""
        self._log = BrokerLines(number, log)
        (role,) = (machine for machine in era.machines if machine.name == "Role")
        self.roles = build(self, {role: ("partition",)}, OnlyTheTable(), ahead=("log_directory_fails", "delete_replica"))["Role"]

    def role_of(self, partition: TopicPartition) -> Role:
        """Return the role of the broker's replica."""
        return Role(self.roles.state_of(partition))

    def min_insync_replicas(self, partition: TopicPartition) -> int:
        """Return min.insync.replicas: the topic's, or else the broker's. Raises what `TopicConfigs.of` raises."""
        configured = self.topic_config(partition.topic).get("min.insync.replicas", "")
        return int(configured) if configured.isdecimal() else self.settings.min_insync_replicas

    # Requests

    def handle(self, request: Request, now: int, correlation: int = 0) -> ControllerResponse:
        """Handle a request of a controller; `now` is the time in milliseconds.

        A new leader advances its high watermark if its ISR has its log (the last step of makeLeader).
        """
        answer = self.apply(request, now, correlation)
        if isinstance(request, LeaderAndIsrRequest):
            for partition, code in answer.partitions.items():
                if code == ErrorCode.NONE and self.role_of(partition) == Role.LEADER:
                    self.advance_high_watermark(partition, now)
        return answer

    def apply(self, request: Request, now: int, correlation: int = 0) -> ControllerResponse:
        """Handle a request of a controller without advancing high watermarks."""
        refusal = ErrorCode(
            answer_to_request(
                request.controller_epoch,
                self.controller_epoch,
                int(self.k.controller_epoch_checked),
                request.broker_epoch,
                self.broker_epoch,
                int(self.k.broker_epoch_checked),
            )
        )
        if refusal == ErrorCode.STALE_CONTROLLER_EPOCH:
            self._log.old_controller(request, correlation, self.controller_epoch)
        if refusal != ErrorCode.NONE:
            return ControllerResponse(refusal)
        self.controller_epoch = max(self.controller_epoch, request.controller_epoch)
        self._log.received(request, correlation, self.controller_epoch)
        if isinstance(request, LeaderAndIsrRequest):
            return ControllerResponse(ErrorCode.NONE, self._lead_or_follow(request, now))
        if isinstance(request, StopReplicaRequest):
            return ControllerResponse(ErrorCode.NONE, self._stop_all(request.partitions))
        self._cache(request)
        return ControllerResponse(ErrorCode.NONE)

    def _cache(self, request: UpdateMetadataRequest) -> None:
        """Put what an UpdateMetadata says into the metadata cache."""
        self.alive = BrokerSet.of(broker.number for broker in request.live_brokers)
        self.topic_ids.update(request.topic_ids)
        for partition, state in request.partitions.items():
            if state.leadership.leader == LEADER_DURING_DELETE:
                self.metadata.pop(partition, None)
                self._log.uncached(partition)
            else:
                self.metadata[partition] = state
        gone = {p.topic for p in request.partitions} & set(self.topic_ids) - {p.topic for p in self.metadata}
        for topic in gone:
            del self.topic_ids[topic]

    def _lead_or_follow(self, request: LeaderAndIsrRequest, now: int) -> dict[TopicPartition, ErrorCode]:
        """Change the role of each accepted partition, leaders first; then call the coordinator (becomeLeaderOrFollower)."""
        states, topic_ids = request.partitions, request.topic_ids
        codes = {p: self._answer(p, state, topic_ids.get(p.topic)) for p, state in states.items()}
        taken = [p for p in states if codes[p] == ErrorCode.NONE]
        leading = [p for p in taken if states[p].leadership.leader == self.number]
        following = [p for p in taken if p not in leading]
        changed: dict[TopicPartition, bool] = {}
        for partition in (*leading, *following):
            make = self._make_leader if partition in leading else self._make_follower
            try:
                self._remember_topic(partition, topic_ids.get(partition.topic))
                changed[partition] = make(partition, states[partition], now)
            except KafkaError as error:
                codes[partition] = error.code
        tell_coordinator(
            self.coordinator, self.partitions, [p for p in leading if changed.get(p)], [p for p in following if changed.get(p)]
        )
        return codes

    def _answer(self, partition: TopicPartition, state: LeaderAndIsrState, topic_id: str | None) -> ErrorCode:
        """Return the error code for one partition of a LeaderAndIsr; the partition is hosted from now on in any case."""
        hosted = self.partitions.setdefault(partition, HostedPartition())
        if self.role_of(partition) == Role.OFFLINE:
            self._log.offline_for_leader_and_isr(partition)
            return ErrorCode.KAFKA_STORAGE_ERROR
        try:
            if not self.is_of_topic(partition, topic_id):
                return ErrorCode.INCONSISTENT_TOPIC_ID
        except KafkaError as error:
            return error.code
        assigned = int(self.number in state.replicas)
        code = ErrorCode(answer_to_leader_and_isr(state.leadership.leader_epoch, hosted.leader_epoch, assigned))
        if code != ErrorCode.NONE:
            self._log.ignored_leader_and_isr(partition, state, hosted.leader_epoch)
        return code

    def is_of_topic(self, partition: TopicPartition, topic_id: str | None) -> bool:
        """Whether a hosted partition may be of the topic with this id: not if its log is of another one (hasConsistentTopicId).

        Raises:
            KafkaError: KAFKA_STORAGE_ERROR.
        """
        if topic_id is None:
            return True
        with self.storage(partition) as hosted:
            if hosted.topic_id is None:
                hosted.topic_id = self.logs.topic_id(partition)
        return hosted.topic_id in (None, topic_id)

    def _remember_topic(self, partition: TopicPartition, topic_id: str | None) -> None:
        """Write the id of a topic beside its log, if it is not there yet (assignTopicId).

        Raises:
            KafkaError: KAFKA_STORAGE_ERROR.
        """
        with self.storage(partition) as hosted:
            if topic_id is not None and hosted.topic_id is None:
                self._open(partition, hosted)
                self.logs.write_topic_id(partition, topic_id)
                hosted.topic_id = topic_id

    def _make_leader(self, partition: TopicPartition, state: LeaderAndIsrState, now: int) -> bool:
        """Lead; return whether this did not lead before."""
        self.fetchers.pop(partition, None)
        led_before = self.role_of(partition) == Role.LEADER
        with self.storage(partition) as hosted:
            previous = hosted.leader_epoch
            self._open(partition, hosted)
            hosted.start_to_lead(state, log_ends_are_forgotten(int(led_before), self.k.follower_ends), now)
        self.roles.fire("become_leader", partition)
        self._log.leads(partition, hosted, previous)
        self.changed(partition)
        if led_before:
            self._log.leads_already(partition, hosted)
        return not led_before

    def _make_follower(self, partition: TopicPartition, state: LeaderAndIsrState, _: int) -> bool:
        """Follow a live leader; return whether that changes anything.

        If the leader is not alive, only the log is opened, and the leader epoch stays.
        """
        leader = state.leadership.leader
        with self.storage(partition) as hosted:
            self._open(partition, hosted)
        if not leader_is_available(leader, self.alive):
            self._log.leader_is_unavailable(partition, state)
            return False
        previous, follows = hosted.leader_epoch, int(self.role_of(partition) == Role.FOLLOWER)
        goes_on = follower_goes_on(follows, hosted.leader, leader, self.k.follower_skip)
        hosted.start_to_follow(state)
        self.roles.fire("become_follower", partition)
        if goes_on:
            self._log.follows_already(partition, hosted)
            return False
        self.fetchers.pop(partition, None)
        self._begin_to_fetch(partition)
        self.changed(partition)
        self._log.follows(partition, hosted, previous)
        return True

    def _begin_to_fetch(self, partition: TopicPartition) -> None:
        """Start the fetcher: truncate at once, or ask the leader first, starting from the high watermark."""
        with self.storage(partition) as hosted:
            cut, asks = first_truncation(hosted.opened.end_offset, hosted.high_watermark, self.k.truncation)
            if not asks:
                hosted.truncate_to(cut)
            offset = hosted.high_watermark if asks else hosted.opened.end_offset
        phase = Phase.TRUNCATING if asks else Phase.FETCHING
        self.fetchers[partition] = FetchState(hosted.leader, hosted.leader_epoch, offset, phase)

    def _stop_all(self, states: Mapping[TopicPartition, StopReplicaState]) -> dict[TopicPartition, ErrorCode]:
        """Stop replicas, and delete those that the request says; return a code for each (stopReplicas).

        A log that was left without its partition is deleted too. A replica whose log cannot be deleted goes offline.
        """
        codes = {p: self._stop(p, state) for p, state in states.items()}
        deleted = [p for p, state in states.items() if state.delete and codes[p] == ErrorCode.NONE]
        for partition in deleted:
            if self.roles.allows("delete_replica", partition):
                self.roles.fire("delete_replica", partition)
            self.partitions.pop(partition, None)
        failed = self.logs.delete(deleted) if deleted else {}
        for partition, error in failed.items():
            self.partitions[partition] = HostedPartition()
            self._fail(partition, error)
            codes[partition] = ErrorCode.KAFKA_STORAGE_ERROR
        for partition in states:
            self.changed(partition)
        tell_coordinator(self.coordinator, self.partitions, [], [p for p in deleted if p not in failed])
        return codes

    def _stop(self, partition: TopicPartition, state: StopReplicaState) -> ErrorCode:
        """Stop fetching, unless the era's gate refuses the leader epoch as too old."""
        hosted = self.partitions.get(partition)
        if hosted is None:
            return ErrorCode.NONE
        if self.role_of(partition) == Role.OFFLINE:
            self._log.offline_for_stop_replica(partition, state)
            return ErrorCode.KAFKA_STORAGE_ERROR
        code = ErrorCode(answer_to_stop_replica(state.leader_epoch, hosted.leader_epoch, int(self.k.stop_replica_epoch)))
        if code != ErrorCode.NONE:
            self._log.ignored_stop_replica(partition, state, hosted.leader_epoch)
            return code
        self.fetchers.pop(partition, None)
        return code

    # High watermarks

    def advance_high_watermark(self, partition: TopicPartition, now: int, at_most: int | None = None) -> bool:
        """Advance a leader's high watermark to the smallest log end in the ISR, at most to `at_most`; return whether it rose."""
        hosted = self.partitions[partition]
        eligible = [broker for broker in hosted.replicas if is_isr_candidate(broker, self.alive, self.k.isr_candidates_alive)]
        held = hosted.high_watermark_candidate(now, self.settings.replica_lag_time_max_ms, eligible, int(self.k.counted_members))
        moved = hosted.raise_high_watermark(held if at_most is None else min(held, at_most))
        if moved:
            self.changed(partition)
        return moved

    def checkpoint_high_watermarks(self) -> None:
        """Write replication-offset-checkpoint; if that fails, the log directory of all replicas has failed."""
        opened = self._opened_partitions()
        try:
            super().checkpoint_high_watermarks()
        except OSError as error:
            for partition in opened:
                self._fail(partition, error)

    # Logs

    def _open(self, partition: TopicPartition, hosted: HostedPartition) -> None:
        if hosted.log is None:
            hosted.log, hosted.high_watermark = self.logs.open(partition)

    def _fail(self, partition: TopicPartition, error: OSError) -> None:
        hosted = self.partitions[partition]
        self.logs.abandon(partition)
        self.fetchers.pop(partition, None)
        hosted.log, hosted.isr, hosted.pending_isr, hosted.isr_write_refused, hosted.followers = None, (), None, False, {}
        self.roles.fire("log_directory_fails", partition)
        self.failures[partition] = error
        self.changed(partition)
