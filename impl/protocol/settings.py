"""Settings of a broker: Kafka's names and the defaults of 2.8. Times in milliseconds, sizes in bytes."""

from __future__ import annotations

from dataclasses import dataclass

MIN_ISR, UNCLEAN = "min.insync.replicas", "unclean.leader.election.enable"


@dataclass(frozen=True)
class Settings:
    """The settings.

    `replica_lag_time_max_ms` is the longest lag of a member of the ISR (10 s before 2.5), `replica_fetch_backoff_ms` a fetcher's
    wait after an error, `file_delete_delay_ms` the time between the deletion of a log and that of its files. With
    `truncation_on_fetch`, as since inter.broker.protocol.version 2.7 (KIP-595), followers fetch at once, and truncate where an
    answer says that the logs diverge; all brokers must have it. With `topic_ids`, as since 2.8 (KIP-516), controllers give an id to
    each topic without one, and tell it to brokers, which refuse another one for a log that they have. With `alter_partition`, as
    since 2.7 (KIP-497), leaders ask the controller to change an ISR; else they write it to ZooKeeper. `num_partitions` and
    `default_replication_factor` are for automatic topic creation. Kafka's default of `auto_leader_rebalance_enable` is true.
    """

    auto_create_topics_enable: bool = True
    num_partitions: int = 1
    default_replication_factor: int = 1
    unclean_leader_election_enable: bool = False
    delete_topic_enable: bool = True
    auto_leader_rebalance_enable: bool = False
    leader_imbalance_per_broker_percentage: int = 10
    leader_imbalance_check_interval_seconds: int = 300

    min_insync_replicas: int = 1
    replica_lag_time_max_ms: int = 30_000
    replica_fetch_max_bytes: int = 1 << 20
    replica_fetch_min_bytes: int = 1
    replica_fetch_wait_max_ms: int = 500
    replica_fetch_backoff_ms: int = 1_000
    truncation_on_fetch: bool = False
    topic_ids: bool = False
    alter_partition: bool = False
    replica_high_watermark_checkpoint_interval_ms: int = 5_000
    file_delete_delay_ms: int = 60_000
