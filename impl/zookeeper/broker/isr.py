"""A leader's ISR: conditional writes of the state znode, and notifications to the controller.

A write expects the version of the znode that the leader knows. If the answer is lost, the ISR stays *pending*, and the same write
is repeated until it is answered. Another version may then mean that the first attempt took effect. Since 2.8 a refused change
stays pending too, without being repeated, until the next LeaderAndIsr: nobody can tell whether it took effect before another did.

Source: Kafka 2.8 at inter.broker.protocol 2.6: Partition.handleAlterIsrResponse, ZkIsrManager.scala, ReplicationUtils.scala.
"""

from __future__ import annotations

from contextlib import suppress

from kafka_spec.impl.broker.isr_manager import IsrManager, IsrWrite
from kafka_spec.impl.protocol.topic_partition import TopicPartition
from kafka_spec.impl.zookeeper.broker.replica_manager import ReplicaManager
from kafka_spec.impl.zookeeper.coordination import znodes
from kafka_spec.impl.zookeeper.coordination.interface import BadVersion, ConnectionLost, NoNode, Session, SessionExpired
from kafka_spec.spec.decisions.election import is_isr_candidate
from kafka_spec.spec.decisions.fencing import fetch_is_of_registration, isr_write_took_effect, refused_isr_stays_pending

NOT_REGISTERED = -1
"""The broker epoch of a broker that is not registered."""
PROPAGATION_CHECK_MS = 2_500
QUIET_MS = 5_000
"""Milliseconds without a change after which changes are reported."""
PROPAGATION_MAX_MS = 60_000
"""Milliseconds after the last report at which changes are reported in any case."""


class ZkIsrManager(IsrManager):
    """Writes the ISRs of the partitions that a broker leads.

    `session` is replaced when the broker has a new one, and None while it has none.
    """

    def __init__(self, replicas: ReplicaManager, session: Session | None = None) -> None:
        super().__init__(replicas)
        self.session = session
        self.changed: list[TopicPartition] = []
        """Partitions whose ISR change has not been reported to the controller yet."""
        self.changed_at = 0
        self.told_at: int | None = None
        """The time of the last report to the controller, or of the first check whether one is due."""
        self._replicas = replicas
        self._k = replicas.k

    # Joining

    def _may_join(self, partition: TopicPartition, follower: int) -> bool:
        """Whether a follower may join: as the era decides, only if it is alive, and its last fetch is of the registered process."""
        if not is_isr_candidate(follower, self._replicas.alive, self._k.isr_candidates_alive):
            return False
        return self._is_of_registration(self._replicas.partitions[partition].followers[follower].broker_epoch, follower)

    def _is_of_registration(self, broker_epoch: int, broker: int) -> bool:
        """Whether a follower's last fetch came from the registered process; ZooKeeper is read only if the era compares them."""
        if fetch_is_of_registration(broker_epoch, NOT_REGISTERED, self._k.fetch_generation_checked):
            return True
        return fetch_is_of_registration(broker_epoch, self._registered_epoch(broker), self._k.fetch_generation_checked)

    def _registered_epoch(self, broker: int) -> int:
        """Return the broker epoch of a broker's registration, NOT_REGISTERED if there is none or ZooKeeper does not answer."""
        if self.session is None:
            return NOT_REGISTERED
        try:
            stat = self.session.exists(znodes.broker(broker))
        except (ConnectionLost, SessionExpired):
            return NOT_REGISTERED
        return NOT_REGISTERED if stat is None else stat.czxid

    # Writing

    def _change(self, partition: TopicPartition, isr: tuple[int, ...], now: int) -> IsrWrite:
        hosted = self._replicas.partitions[partition]
        if hosted.pending_isr is not None:
            return IsrWrite.NOT_NEEDED
        hosted.pending_isr = isr
        return self.retry(partition, now)

    def retry_all(self, now: int) -> None:
        """Retry all pending writes."""
        for partition, hosted in list(self._replicas.partitions.items()):
            if hosted.pending_isr is not None and self.retry(partition, now) == IsrWrite.WRITTEN:
                self._replicas.advance_high_watermark(partition, now)

    def retry(self, partition: TopicPartition, now: int) -> IsrWrite:
        """Try or retry a pending write; without a session it stays pending."""
        hosted = self._replicas.partitions[partition]
        if hosted.pending_isr is None or hosted.isr_write_refused:
            return IsrWrite.NOT_NEEDED
        wanted = znodes.State(self._replicas.number, hosted.leader_epoch, hosted.pending_isr, hosted.controller_epoch)
        try:
            version = self._set(partition, wanted, hosted.partition_epoch)
        except (ConnectionLost, SessionExpired):
            return IsrWrite.UNANSWERED
        if version is None and refused_isr_stays_pending(self._k.refused_isr_write):
            hosted.isr_write_refused = True
            return IsrWrite.SKIPPED
        hosted.pending_isr = None
        if version is None:
            return IsrWrite.SKIPPED
        hosted.isr, hosted.partition_epoch = wanted.isr, version
        if partition not in self.changed:
            self.changed.append(partition)
        self.changed_at = now
        return IsrWrite.WRITTEN

    def _set(self, partition: TopicPartition, wanted: znodes.State, version: int) -> int | None:
        """Return the version at which the znode holds the wanted state, None if it holds another state."""
        if self.session is None:
            raise SessionExpired("the broker has no session")
        path = znodes.state(partition)
        try:
            return self.session.set(path, wanted.encode(), version).version
        except NoNode:
            return None
        except BadVersion:
            if not isr_write_took_effect(1, self._k.bad_version):
                return None  # another state, or one that cannot be decoded
        try:
            data, stat = self.session.get(path)
        except NoNode:
            return None
        holds_it = 0
        with suppress(znodes.Undecodable):
            holds_it = int(znodes.State.decode(partition, data) == wanted)
        return stat.version if isr_write_took_effect(holds_it, self._k.bad_version) else None

    # Notifications

    def propagate(self, now: int) -> bool:
        """Report changed ISRs to the controller in one notification, if due; return whether one was written.

        A notification whose answer is lost is written again: an additional one does no harm (maybePropagateIsrChanges).
        """
        self.told_at = now if self.told_at is None else self.told_at
        due = self.changed_at + QUIET_MS < now or self.told_at + PROPAGATION_MAX_MS < now
        if not self.changed or not due or self.session is None:
            return False
        try:
            self.session.create(znodes.isr_change(), znodes.encode_partitions(self.changed), sequential=True)
        except (ConnectionLost, SessionExpired):
            return False
        self.changed.clear()
        self.told_at = now
        return True
