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

from collections.abc import Callable, Mapping
from typing import TypeAlias

from kafka_spec.impl.broker.delayed import DelayedFetch, DelayedProduce
from kafka_spec.impl.broker.fetcher import Fetchers
from kafka_spec.impl.broker.isr import PROPAGATION_CHECK_MS, IsrKeeper, IsrWrite
from kafka_spec.impl.broker.led_partitions import ACKS_ALL, LedPartitions
from kafka_spec.impl.broker.purgatory import Purgatory
from kafka_spec.impl.broker.replica_manager import ReplicaManager
from kafka_spec.impl.coordination import znodes
from kafka_spec.impl.coordination.interface import ConnectionLost, Session, SessionExpired
from kafka_spec.impl.protocol.data_requests import (
    CONSUMER,
    Fetched,
    FetchPosition,
    FetchRequest,
    Produced,
    ProduceRequest,
)
from kafka_spec.impl.protocol.errors import ErrorCode, KafkaError
from kafka_spec.impl.protocol.topic_partition import TopicPartition
from kafka_spec.spec.control.state import Role
from kafka_spec.spec.gates import fetch_is_outdated

Produces: TypeAlias = Mapping[TopicPartition, Produced]
Fetches: TypeAlias = Mapping[TopicPartition, Fetched]


class DataPlane(LedPartitions):
    """The data plane of one broker."""

    def __init__(self, replicas: ReplicaManager, session: Session | None = None) -> None:
        """`replicas` are the broker's; `session` is its session with ZooKeeper, None if it has none yet."""
        super().__init__(replicas)
        self.fetchers = Fetchers(replicas)
        self.isr = IsrKeeper(replicas, session)
        self.produces = Purgatory()
        self.fetches = Purgatory()
        self.shrink_due = self.propagation_due = self.checkpoint_due = 0
        """The time of the next periodic work."""
        self._reported: set[TopicPartition] = set()
        replicas.changed = self._look_again

    def session_opened(self, session: Session) -> None:
        """Use a new session with ZooKeeper."""
        self.isr.session = session

    def _look_again(self, partition: TopicPartition) -> None:
        """Check the operations that wait for a partition: its role, its high watermark or its log end has changed."""
        self.produces.check(partition)
        self.fetches.check(partition)

    # Produce

    def handle_produce(self, request: ProduceRequest, now: int, reply: Callable[[Produces], object]) -> None:
        """Append batches; with acks -1 the answer waits for the ISR, with acks 0 `reply` is not called."""
        if request.acks not in (ACKS_ALL, 0, 1):
            reply({p: Produced(ErrorCode.INVALID_REQUIRED_ACKS) for p in request.partitions})
            return
        done: dict[TopicPartition, Produced] = {}
        required: dict[TopicPartition, int] = {}
        for partition, records in request.partitions.items():
            try:
                self.check_named(partition)
                first, last = self.append_as_leader(partition, records, request.acks)
                done[partition], required[partition] = Produced(ErrorCode.NONE, first), last + 1
            except KafkaError as error:
                done[partition] = Produced(error.code)
        for partition in required:
            if not self.advance_high_watermark(partition, now):
                self.fetches.check(partition)
        if request.acks == ACKS_ALL and required:
            waiting = DelayedProduce(now + request.timeout_ms, done, required, self.reached, reply)
            self.produces.complete_or_watch(waiting, required)
        elif request.acks != 0:
            reply(done)

    def reached(self, partition: TopicPartition, required: int) -> ErrorCode | None:
        """Return the answer to a produce with acks=all, None while it has to wait (checkEnoughReplicasReachOffset)."""
        try:
            hosted = self.led(partition)
            if hosted.high_watermark < required:
                return None
            enough = len(hosted.maximal_isr) >= self.min_insync_replicas(partition.topic)
        except KafkaError as error:
            return error.code
        return ErrorCode.NONE if enough else ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND

    # Fetch

    def handle_fetch(self, request: FetchRequest, now: int, reply: Callable[[Fetches], object]) -> None:
        """Read up to the log's end for a follower, up to the high watermark for a consumer; wait for `min_bytes`."""
        fetched = self.read_all(request)
        if request.replica != CONSUMER:
            for partition, position in request.partitions.items():
                if fetched[partition].error == ErrorCode.NONE and fetched[partition].diverging is None:
                    self._follower_fetched(partition, position, request, now)
        if request.max_wait_ms <= 0 or not fetched or self.has_enough(request, fetched):
            reply(fetched)
        else:
            waiting = DelayedFetch(now + request.max_wait_ms, request, self.read_all, self.has_enough, reply)
            self.fetches.complete_or_watch(waiting, request.partitions)

    def read_all(self, request: FetchRequest) -> Fetches:
        """Read what a fetch requests, without a change to the broker."""
        return {p: self.read(p, position, request.replica) for p, position in request.partitions.items()}

    def has_enough(self, request: FetchRequest, fetched: Fetches) -> bool:
        """Whether a fetch need not wait: a partition is refused or diverges, there are enough bytes, or it reads a full segment."""
        if any(one.error != ErrorCode.NONE or one.diverging is not None for one in fetched.values()):
            return True
        if sum(len(one.records) for one in fetched.values()) >= request.min_bytes:
            return True
        for partition, position in request.partitions.items():
            hosted = self.replicas.partitions[partition]
            end = hosted.high_watermark if request.replica == CONSUMER else hosted.opened.end_offset
            if position.offset < end and not hosted.opened.same_segment(position.offset, end):
                return True
        return False

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
        """See `ReplicaManager.advance_high_watermark`."""
        return self.replicas.advance_high_watermark(partition, now, at_most)

    # Time

    def tick(self, now: int) -> None:
        """Do the periodic work that is due."""
        self.produces.expire(now)
        self.fetches.expire(now)
        if now >= self.shrink_due:
            self.shrink_due = now + self.replicas.settings.replica_lag_time_max_ms // 2
            self.isr.shrink_all(now)
        if now >= self.propagation_due:
            self.propagation_due = now + PROPAGATION_CHECK_MS
            self.isr.retry_all(now)
            self.isr.propagate(now)
            self._report_failures()
        if now >= self.checkpoint_due:
            settings = self.replicas.settings
            self.checkpoint_due = now + settings.replica_high_watermark_checkpoint_interval_ms
            self.replicas.checkpoint_high_watermarks()
            self.replicas.logs.remove_deleted(now, settings.file_delete_delay_ms)

    def next_tick(self, now: int) -> int:
        """Return when `tick` next has work; `now` if it has work already."""
        deadlines = [self.shrink_due, self.propagation_due, self.checkpoint_due]
        deadlines += [d for d in (self.produces.next_deadline(), self.fetches.next_deadline()) if d is not None]
        return max(now, min(deadlines))

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
