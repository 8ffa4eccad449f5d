"""What a leader writes into ZooKeeper about its ISR: the state znode, conditionally, and notifications of such changes.

A write has the version that the leader knows of the znode. Where the answer is lost, the ISR stays *pending*, and the same write is
tried again until it is answered: then another version may mean that the first try took effect. Knows no log and no follower.

Source: Kafka 2.8 at inter.broker.protocol 2.6: ZkIsrManager.scala, ReplicationUtils.scala, ReplicaManager.scala:303-336.
"""

from __future__ import annotations

import enum

from impl import znodes
from impl.coordination.interface import BadVersion, ConnectionLost, NoNode, Session, SessionExpired
from impl.partition import Partition
from impl.partitions import TopicPartition
from spec.control import decisions
from spec.table import Constants

PROPAGATION_CHECK_MS = 2_500
QUIET_MS = 5_000
"""Changes are told when there was none for so long,"""
PROPAGATION_MAX_MS = 60_000
"""or when the last telling is so long ago."""


class IsrWrite(enum.Enum):
    """What came of an attempt to change the ISR."""

    NOT_NEEDED = "nothing to change, or a change is pending"
    WRITTEN = "the znode and the leader have it"
    SKIPPED = "the znode has another version; nothing changes (cached zkVersion not equal, skip)"
    UNANSWERED = "the connection or the session was lost; the change is pending"


class IsrWriter:
    """Writes the ISRs of one broker's partitions. `session` may be replaced when the broker has another; None while it has none."""

    def __init__(self, broker: int, k: Constants, session: Session | None = None) -> None:
        """`k` are the decisions of the era."""
        self.session = session
        self.changed: list[TopicPartition] = []
        """Partitions whose ISR has changed, and the controller was not told yet."""
        self.changed_at = 0
        self.told_at = 0
        self._broker = broker
        self._k = k

    def write(self, partition: TopicPartition, hosted: Partition, isr: tuple[int, ...], now: int) -> IsrWrite:
        """Write another ISR for a leader, unless a change is pending."""
        if hosted.pending_isr is not None:
            return IsrWrite.NOT_NEEDED
        hosted.pending_isr = isr
        return self.retry(partition, hosted, now)

    def retry(self, partition: TopicPartition, hosted: Partition, now: int) -> IsrWrite:
        """Try a pending write, for the first time or again; a session that is over leaves it pending."""
        if hosted.pending_isr is None:
            return IsrWrite.NOT_NEEDED
        wanted = znodes.State(self._broker, hosted.leader_epoch, hosted.pending_isr, hosted.controller_epoch)
        try:
            version = self._set(partition, wanted, hosted.version)
        except (ConnectionLost, SessionExpired):
            return IsrWrite.UNANSWERED
        hosted.pending_isr = None
        if version is None:
            return IsrWrite.SKIPPED
        hosted.isr, hosted.version = wanted.isr, version
        if partition not in self.changed:
            self.changed.append(partition)
        self.changed_at = now
        return IsrWrite.WRITTEN

    def _set(self, partition: TopicPartition, wanted: znodes.State, version: int) -> int | None:
        """Return the version that the znode has with what was wanted, None if it holds something else."""
        if self.session is None:
            raise SessionExpired("the broker has no session")
        path = znodes.state(partition)
        try:
            return self.session.set(path, wanted.encode(), version).version
        except NoNode:
            return None
        except BadVersion:
            if self._k.bad_version == decisions.BadVersion.SKIPPED:
                return None
        try:
            data, stat = self.session.get(path)
        except NoNode:
            return None
        return stat.version if znodes.State.decode(partition, data) == wanted else None

    def is_registered(self, broker: int, broker_epoch: int) -> bool:
        """Whether a broker is registered in ZooKeeper under this very broker epoch.

        Raises:
            ConnectionLost: it cannot be known now.
            SessionExpired: the same.
        """
        if self.session is None:
            raise SessionExpired("the broker has no session")
        stat = self.session.exists(znodes.broker(broker))
        return stat is not None and stat.czxid == broker_epoch

    def propagate(self, now: int) -> bool:
        """Tell the controller of changed ISRs by one notification, if it is time; return whether it was told.

        A notification whose answer is lost is written again: one too many does no harm (maybePropagateIsrChanges).
        """
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
