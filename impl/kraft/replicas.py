"""All replicas of a broker of KRaft: images of the metadata log make them lead and follow; leaders propose ISRs.

Source: Kafka 3.9 ReplicaManager.applyDelta, BrokerMetadataPublisher.scala, Partition.scala.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from uuid import UUID

from kafka_spec.impl.broker.hosted_replicas import HostedReplicas
from kafka_spec.impl.broker.partition import UNKNOWN_END, FetchState
from kafka_spec.impl.fire_log import OnlyTheTable
from kafka_spec.impl.kraft.future_logs import FutureLogs
from kafka_spec.impl.kraft.image import ClusterImage, RegisteredPartition
from kafka_spec.impl.kraft.partition import HostedKRaftPartition
from kafka_spec.impl.log.log_config import LogConfig
from kafka_spec.impl.machine import build
from kafka_spec.impl.protocol.controller_requests import NO_EPOCH
from kafka_spec.impl.protocol.settings import MIN_ISR, Settings
from kafka_spec.impl.protocol.topic_ids import text_of
from kafka_spec.impl.protocol.topic_partition import TopicPartition
from kafka_spec.spec.decisions.alter_partition import is_candidate
from kafka_spec.spec.decisions.fencing import image_is_applied, image_settles_proposal
from kafka_spec.spec.decisions.kraft_variants import AppliedSettings, StrayReplicas
from kafka_spec.spec.decisions.log import log_ends_are_forgotten
from kafka_spec.spec.decisions.partition_change import effective_min_isr
from kafka_spec.spec.decisions.variants import Checked, FetchAnswers
from kafka_spec.spec.kraft.machines import LEADER, NO_ROLE, SETTLED, ProposalState, ReplicaRole
from kafka_spec.spec.language.domain import NONE
from kafka_spec.spec.vocabulary.table import Spec


class KRaftReplicas(HostedReplicas[HostedKRaftPartition]):
    """The replicas of one broker in one data folder. What is not on disk is lost with the process.

    `changed` is called with a partition whenever its role or its high watermark changes.
    """

    def __init__(
        self, number: int, era: Spec, folder: Path, config: LogConfig | None = None, settings: Settings | None = None
    ) -> None:
        """`number` is the broker id; `era` one of spec/kraft/eras.py; `config` that of the broker's logs.

        Raises:
            CheckpointError: a checkpoint in the folder is unreadable.
        """
        super().__init__(number, folder, config, settings)
        self.k = era.constants({"fetches_fenced": int(Checked.YES), "fetch_answers_taken": int(FetchAnswers.OF_EPOCH)})
        self.broker_epoch = NO_EPOCH
        self.is_stopping = False
        """Whether the broker asks for a controlled shutdown."""
        self.image = ClusterImage()
        """The metadata cache."""
        self.to_apply: dict[TopicPartition, RegisteredPartition | None] = {}
        """The partitions that have changed in the metadata cache, and whose replicas do not follow yet; None if it is gone."""
        self.directory_failed = False
        """Whether the log directory has failed: no replica leads or follows until the next process."""
        self.future_logs = FutureLogs(self.logs, folder, config)
        self.begun = False
        """Whether an image was applied: with the first one the logs on disk are looked at."""
        machines = {machine.name: machine for machine in era.machines}
        wanted = {machines["ReplicaRole"]: ("partition",), machines["Proposal"]: ("partition",)}
        running = build(self, wanted, OnlyTheTable())
        self.roles, self.proposals = running["ReplicaRole"], running["Proposal"]

    def role_of(self, partition: TopicPartition) -> ReplicaRole:
        """Return the role of the broker's replica."""
        return ReplicaRole(self.roles.state_of(partition))

    def proposal_of(self, partition: TopicPartition) -> ProposalState:
        """Return the state of a leader's proposal."""
        return ProposalState(self.proposals.state_of(partition))

    @property
    def metadata(self) -> Mapping[TopicPartition, RegisteredPartition]:
        """The partitions in the metadata cache."""
        return self.image.partitions

    def is_of_topic(self, partition: TopicPartition, topic_id: str | None) -> bool:
        """Whether a hosted partition may be of the topic with this id; the era may not ask (before 3.1, KIP-516)."""
        return topic_id is None or self.k.fetch_topic_ids == Checked.NO or self.partitions[partition].topic_id == topic_id

    def min_insync_replicas(self, partition: TopicPartition) -> int:
        """Return min.insync.replicas as the log of a hosted partition has it: the topic's setting, or else the broker's."""
        own = self.partitions[partition].min_isr
        return self.settings.min_insync_replicas if own is None else own

    # Applying the metadata log

    def publish(self, image: ClusterImage, now: int) -> None:
        """Take an image: the metadata cache first, then the replicas, then the settings of their logs."""
        self.take_image(image)
        self.apply_image(now)
        self.apply_settings(now)

    def take_image(self, image: ClusterImage) -> None:
        """Replace the metadata cache; note which partitions have changed, been created or deleted (onMetadataUpdate)."""
        old, new = self.image.partitions, image.partitions
        for partition in dict.fromkeys((*old, *new)):
            if differ(old.get(partition), new.get(partition)):
                self.to_apply[partition] = new.get(partition)
        self.image = image

    def apply_image(self, now: int) -> None:
        """Let the replicas follow the metadata cache: first who is deleted, then leaders, then followers (applyDelta).

        The same partition epoch is applied again where the era does so, since an answer may have reported it (KAFKA-13790).
        """
        reported, self.to_apply = self.to_apply, {}
        if self.directory_failed:
            return
        blocked = self._begin() if not self.begun else ()
        for partition, one in reported.items():
            if self._is_stray(partition, one):
                self._delete(partition)
        mine = {p: one for p, one in reported.items() if one is not None and self.number in one.replicas and p not in blocked}
        for leads in (True, False):
            for partition, one in mine.items():
                if leads == (one.leader == self.number):
                    self._follow_image(partition, one, now)

    def _follow_image(self, partition: TopicPartition, reported: RegisteredPartition, now: int) -> None:
        current = self.partitions[partition].partition_epoch if partition in self.partitions else NO_EPOCH
        if self.k.settings_applied == AppliedSettings.WITH_REPLICA and partition in self.partitions:
            self._take_settings(partition)
        if image_is_applied(reported.partition_epoch, current, self.k.equal_partition_epoch_applied):
            hosted = self._opened(partition, text_of(reported.topic_id))
            if self.role_of(partition) == NO_ROLE:
                self._take_settings(partition)
            if reported.leader == self.number:
                self._make_leader(partition, hosted, reported, now)
            else:
                self._make_follower(partition, hosted, reported)

    # Settings of topics

    def _configured(self, partition: TopicPartition) -> int | None:
        """Return min.insync.replicas of a topic in the metadata cache, None if it has none of its own."""
        own = self.image.configs.get((partition.topic, MIN_ISR))
        return None if own is None else int(own)

    def _take_settings(self, partition: TopicPartition) -> None:
        self.partitions[partition].min_isr = self._configured(partition)

    def outdated_settings(self) -> list[TopicPartition]:
        """Return the replicas that follow the metadata cache, and whose logs do not have the settings of their topics there."""
        return [
            partition
            for partition, hosted in self.partitions.items()
            if partition not in self.to_apply
            and partition in self.image.partitions
            and self.number in self.image.partitions[partition].replicas
            and self.role_of(partition) != NO_ROLE
            and hosted.min_isr != self._configured(partition)
        ]

    def apply_settings(self, now: int) -> None:
        """Give logs the settings of their topics (DynamicConfigPublisher, which comes after the replicas)."""
        for partition in self.outdated_settings():
            self._take_settings(partition)
            if self.role_of(partition) == LEADER and self.k.high_watermark_after_settings == Checked.YES:
                self.advance_high_watermark(partition, now)

    # Replicas that are not assigned

    def _is_stray(self, partition: TopicPartition, reported: RegisteredPartition | None) -> bool:
        """Whether a replica is of a topic that is gone, or is not assigned to this broker (3.0, KAFKA-13198)."""
        hosted = self.partitions.get(partition)
        topic_id = self.logs.topic_id(partition) if hosted is None else hosted.topic_id
        if topic_id is None:
            return False
        if reported is None or text_of(reported.topic_id) != topic_id:
            return True
        return self.k.removed_replica_deleted == Checked.YES and self.number not in reported.replicas

    def _begin(self) -> list[TopicPartition]:
        """Delete the stray logs on disk; return the partitions whose replica cannot be created for that (isStrayKraftReplica).

        Up to 3.6 they are deleted last, and are in the way of a new topic's replica (KAFKA-14616); before 3.0 the others are
        deleted (KAFKA-13127).
        """
        self.begun = True
        blocked = []
        for partition in self.logs.on_disk():
            topic_id, reported = self.logs.topic_id(partition), self.image.partitions.get(partition)
            if topic_id is None:
                continue
            if not self._is_stray(partition, reported):
                self.future_logs.recover(partition, self._named(partition), self.k.future_log_recovered_if_whole)
            assigned = reported is not None and self.number in reported.replicas
            stray = not assigned or reported is None or text_of(reported.topic_id) != topic_id
            others = self.k.stray_replicas == StrayReplicas.OTHERS_DELETED
            if stray != others or self._is_stray(partition, reported):
                self._delete(partition)
            if stray and assigned and self.k.stray_replicas == StrayReplicas.DELETED_LAST:
                blocked.append(partition)
        return blocked

    def _delete(self, partition: TopicPartition) -> None:
        """Stop a replica, and delete its log: the folder is renamed, and removed later (stopPartitions, asyncDelete)."""
        self.fetchers.pop(partition, None)
        if self.partitions.pop(partition, None) is not None:
            self.roles.fire("stop", partition)
            self.proposals.fire("stop", partition)
        self.future_logs.delete(partition)
        self.failures.update(self.logs.delete([partition]))
        self.changed(partition)

    def fail_directory(self) -> None:
        """Take all replicas offline: they neither lead nor follow, and keep what is on disk (handleLogDirFailure)."""
        self.directory_failed = True
        self.fetchers.clear()
        for partition in list(self.partitions):
            del self.partitions[partition]
            self.roles.fire("stop", partition)
            self.proposals.fire("stop", partition)
            self.changed(partition)

    def _make_leader(
        self, partition: TopicPartition, hosted: HostedKRaftPartition, reported: RegisteredPartition, now: int
    ) -> None:
        if image_settles_proposal(reported.partition_epoch, hosted.partition_epoch, self.k.proposal_survives_known_epoch):
            self._settle(partition, hosted)
        self.fetchers.pop(partition, None)
        led_before = int(self.role_of(partition) == LEADER)
        hosted.lead(self.number, reported, log_ends_are_forgotten(led_before, self.k.follower_ends), now)
        self.roles.fire("become_leader", partition)
        self.advance_high_watermark(partition, now)
        self.changed(partition)

    def _make_follower(self, partition: TopicPartition, hosted: HostedKRaftPartition, reported: RegisteredPartition) -> None:
        """Follow; the fetcher is restarted in a new leader epoch only. A broker that shuts down fetches no more outside the ISR."""
        self._settle(partition, hosted)
        if hosted.follow(reported):
            self.fetchers.pop(partition, None)
            if reported.leader != NONE:
                self.fetchers[partition] = FetchState(reported.leader, reported.leader_epoch, hosted.opened.end_offset)
        if self.is_stopping and (reported.leader == NONE or self.number not in reported.isr):
            self.fetchers.pop(partition, None)
        self.roles.fire("become_follower", partition)
        self.changed(partition)

    def _settle(self, partition: TopicPartition, hosted: HostedKRaftPartition) -> None:
        """Drop a pending proposal: the image shows what has become of it."""
        hosted.pending_isr = None
        if self.proposal_of(partition) != SETTLED:
            self.proposals.fire("supersede", partition)

    # Leaders

    def may_join(self, partition: TopicPartition, follower: int) -> bool:
        """Whether the metadata cache lets a follower into the ISR, under the broker epoch of its last fetch; there must be one."""
        known = self.partitions[partition].followers[follower]
        if known.end == UNKNOWN_END:
            return False
        active, cached = int(self.image.is_active(follower)), self.image.epoch_of(follower)
        return is_candidate(active, known.broker_epoch, cached, self.k.leader_checks_eligibility, self.k.fetch_epochs_compared)

    def advance_high_watermark(self, partition: TopicPartition, now: int) -> bool:
        """Advance a leader's high watermark to the smallest log end in the maximal ISR; return whether it rose.

        Not while the ISR is below min.insync.replicas, as the era decides (3.7, KAFKA-15583).
        """
        hosted = self.partitions[partition]
        least = effective_min_isr(self.min_insync_replicas(partition), len(hosted.replicas))
        if self.k.high_watermark_needs_min_isr == Checked.YES and len(hosted.isr) < least:
            return False
        eligible = [broker for broker in hosted.followers if self.may_join(partition, broker)]
        moved = hosted.raise_high_watermark(hosted.high_watermark_candidate(now, self.settings.replica_lag_time_max_ms, eligible))
        if moved:
            self.changed(partition)
        return moved

    # Moves to another log directory

    def move(self, partition: TopicPartition, directory: UUID) -> bool:
        """Begin to move a replica to another log directory; return whether it can be, now (alterReplicaLogDirs)."""
        if self.role_of(partition) == NO_ROLE or partition in self.future_logs:
            return False
        self.future_logs.begin(partition, directory)
        return True

    def promote(self, partition: TopicPartition) -> bool:
        """Let the future log of a replica replace its log, if its directory is assigned and it has all records; return whether."""
        if partition not in self.future_logs or not self.future_logs.may_replace(partition, self._named(partition)):
            return False
        self.future_logs.promote(partition)
        self.partitions[partition].log, _ = self.logs.open(partition)
        return True

    def _named(self, partition: TopicPartition) -> UUID | None:
        held = self.image.partitions.get(partition)
        return None if held is None else held.directory_of(self.number)

    def close(self) -> None:
        """Close cleanly: the next start need not recover the logs."""
        super().close()
        self.future_logs.close()

    def crash(self) -> None:
        """Close the files without a flush, as a crash does."""
        super().crash()
        self.future_logs.crash()

    # Logs

    def _opened(self, partition: TopicPartition, topic_id: str) -> HostedKRaftPartition:
        """Return a partition whose log is open, and is of this topic."""
        hosted = self.partitions.setdefault(partition, HostedKRaftPartition())
        if hosted.log is None:
            hosted.log, hosted.high_watermark = self.logs.open(partition)
        if hosted.topic_id != topic_id:
            hosted.topic_id = topic_id
            self.logs.write_topic_id(partition, topic_id)
        return hosted

    def _fail(self, partition: TopicPartition, error: OSError) -> None:
        """Note the reason; the process has to end, since its only log directory has failed."""
        self.failures[partition] = error


def differ(old: RegisteredPartition | None, new: RegisteredPartition | None) -> bool:
    """Whether a partition is not the same in two images: another topic, or another partition epoch."""
    if old is None or new is None:
        return old is not new
    return (old.topic_id, old.partition_epoch) != (new.topic_id, new.partition_epoch)
