"""One partition on a broker of KRaft: how an image makes it lead or follow. The rest is that of impl/broker/partition.py.

Source: Kafka 3.9 Partition.makeLeader, makeFollower.
"""

from __future__ import annotations

from dataclasses import dataclass

from kafka_spec.impl.broker.partition import NEVER, UNKNOWN_END, HostedPartition
from kafka_spec.impl.kraft.image import RegisteredPartition
from kafka_spec.impl.protocol.controller_requests import NO_EPOCH


@dataclass
class HostedKRaftPartition(HostedPartition):
    """A partition that the broker hosts; its ISR is changed by the controller alone, on the leader's proposal (`pending_isr`)."""

    partition_epoch: int = NO_EPOCH
    min_isr: int | None = None
    """min.insync.replicas in the configuration of its log; None: the topic has none of its own."""

    def take(self, reported: RegisteredPartition) -> None:
        """Take the leader, the epochs and the replicas of an image."""
        self.leader, self.leader_epoch, self.partition_epoch = reported.leader, reported.leader_epoch, reported.partition_epoch
        self.replicas, self.adding, self.removing = reported.replicas, reported.adding, reported.removing

    def lead(self, number: int, reported: RegisteredPartition, forgets: bool, now: int) -> None:
        """Lead, or continue to lead. A new leader epoch begins at the end of the log; it `forgets` the followers' ends or not.

        Raises:
            OSError: the leader epoch cannot be written; the partition is unchanged.
        """
        is_new = reported.leader_epoch > self.leader_epoch
        if is_new:
            self.begin_epoch(reported.leader_epoch)
        self.take(reported)
        self.isr = reported.isr
        self.know_followers(number, forgets and is_new)
        if is_new:
            self.measure_lag_from(now, forgets)

    def measure_lag_from(self, now: int, forgets: bool = True) -> None:
        """Take the members of the ISR as caught up; of the others, and if it `forgets`, no fetch is known (resetReplicaState)."""
        for broker, follower in self.followers.items():
            in_sync = broker in self.isr
            follower.caught_up_at = now if in_sync else NEVER
            keeps = in_sync and not forgets
            follower.leader_end, follower.fetched_at = (self.epoch_start, now) if keeps else (UNKNOWN_END, NEVER)

    def follow(self, reported: RegisteredPartition) -> bool:
        """Follow the leader of an image, or nobody; return whether its leader epoch is new."""
        is_new = reported.leader_epoch > self.leader_epoch
        self.take(reported)
        self.isr, self.followers, self.epoch_start = (), {}, 0
        return is_new
