"""The requests of followers and clients to a broker: produce, fetch, offsets; ISR changes; the high watermark.

Sans-IO except for the logs and ZooKeeper: requests come in with the time, answers go to a callback, at once or later. A callback
must not call back into the broker. Times are milliseconds of one clock that never goes back.

The code that runs a broker calls
* `handle_produce`, `handle_fetch`, `handle_offsets_for_leader_epoch`, `handle_list_offsets` with what arrives, and
  `replicas.handle` with controllers' requests;
* `fetchers` (fetcher.py) for this broker's requests to its leaders;
* `tick(now)` at `next_tick(now)` or more often: delayed operations expire, slow followers leave the ISR, pending ISR writes are
  retried, ISR changes and failed log directories are reported, high watermarks are written;
* `session_opened` with each session of the broker, and `replicas.close` or `replicas.crash` at the end.

The steps of the model are separate methods, which the handlers combine: `note_fetch`, `try_expand_isr`, `try_shrink_isr`,
`retry_isr_write`, `advance_high_watermark`, `read`, `append_as_leader`; those of a follower are
`Fetchers.truncate_to_answer` and `Fetchers.append_fetched`.

Source: Kafka 2.8 ReplicaManager.scala, Partition.scala, KafkaApis.scala, DelayedProduce.scala, DelayedFetch.scala.
"""

from __future__ import annotations

from kafka_spec.impl.broker.fetcher import Fetchers
from kafka_spec.impl.broker.isr_manager import IsrWrite
from kafka_spec.impl.broker.periodic_work import PeriodicWork
from kafka_spec.impl.protocol.data_requests import FetchPosition, FetchRequest
from kafka_spec.impl.protocol.topic_partition import TopicPartition
from kafka_spec.impl.zookeeper.broker.isr import PROPAGATION_CHECK_MS, ZkIsrManager
from kafka_spec.impl.zookeeper.broker.isr_proposals import AlterIsrManager
from kafka_spec.impl.zookeeper.broker.replica_manager import ReplicaManager
from kafka_spec.impl.zookeeper.coordination import znodes
from kafka_spec.impl.zookeeper.coordination.interface import ConnectionLost, Session, SessionExpired
from kafka_spec.spec.decisions.fencing import fetch_is_outdated
from kafka_spec.spec.zookeeper.machines import Role


class DataPlane(PeriodicWork):
    """The data plane of one broker."""

    def __init__(self, replicas: ReplicaManager, session: Session | None = None) -> None:
        """`replicas` are the broker's; `session` is its session with ZooKeeper, None if it has none yet."""
        super().__init__(replicas)
        self.replicas: ReplicaManager = replicas
        self.fetchers = Fetchers(replicas, replicas.settings.truncation_on_fetch)
        self.isr: ZkIsrManager = (AlterIsrManager if replicas.settings.alter_partition else ZkIsrManager)(replicas, session)
        self.propagation_due = 0
        self._reported: set[TopicPartition] = set()

    def session_opened(self, session: Session) -> None:
        """Use a new session with ZooKeeper."""
        self.isr.session = session

    def _follower_fetched(self, partition: TopicPartition, position: FetchPosition, request: FetchRequest, now: int) -> None:
        """Update ISR and high watermark after a follower's fetch (updateFollowerFetchState)."""
        if self.replicas.role_of(partition) != Role.LEADER or request.replica not in self.replicas.partitions[partition].followers:
            return
        moved = self.note_fetch(partition, request.replica, position.offset, request.broker_epoch, now)
        self.try_expand_isr(partition, request.replica, now)
        if moved:
            self.advance_high_watermark(partition, now)

    # The steps of a leader

    def note_fetch(self, partition: TopicPartition, follower: int, offset: int, broker_epoch: int, now: int) -> bool:
        """Record a follower's fetch position; return whether its log end has changed.

        A fetch from an earlier process of the follower is ignored if the era compares broker epochs (KIP-903).
        """
        hosted = self.replicas.partitions[partition]
        latest = hosted.followers[follower].broker_epoch
        if fetch_is_outdated(broker_epoch, latest, self.replicas.k.fetch_generation_checked):
            return False
        return hosted.note_fetch(follower, offset, broker_epoch, now)

    def try_expand_isr(self, partition: TopicPartition, follower: int, now: int) -> IsrWrite:
        """Add a follower to the ISR by a conditional write, if it may join."""
        return self.isr.try_expand(partition, follower, now)

    def try_shrink_isr(self, partition: TopicPartition, followers: tuple[int, ...], now: int) -> IsrWrite:
        """Remove followers from the ISR by a conditional write, without a check of their lag."""
        return self.isr.try_shrink(partition, followers, now)

    def retry_isr_write(self, partition: TopicPartition, now: int) -> IsrWrite:
        """Retry a pending ISR write."""
        return self.isr.retry(partition, now)

    def advance_high_watermark(self, partition: TopicPartition, now: int, at_most: int | None = None) -> bool:
        """Advance a leader's high watermark to the smallest log end in the ISR; return whether it rose."""
        return self.replicas.advance_high_watermark(partition, now, at_most)

    # Time

    def _report(self, now: int) -> None:
        if now >= self.propagation_due:
            self.propagation_due = now + PROPAGATION_CHECK_MS
            self.isr.retry_all(now)
            self.isr.propagate(now)
            self._report_failures()

    def _reports_due(self) -> tuple[int, ...]:
        return (self.propagation_due,)

    def _report_failures(self) -> None:
        """Report failed log directories, so that the controller finds out which replicas are offline."""
        unreported = [p for p in self.replicas.failures if p not in self._reported]
        if not unreported or self.isr.session is None:
            return
        try:
            self.isr.session.create(znodes.log_dir_event(), znodes.encode_log_dir_event(self.replicas.number), sequential=True)
        except (ConnectionLost, SessionExpired):
            return  # reported again at the next check; an additional notification does no harm
        self._reported.update(unreported)
