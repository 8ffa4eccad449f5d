"""The state of one partition's replication: replicas, ZooKeeper and the controller's requests.

Source: facts of the public TLA+ models of Kafka's replication protocol (hachikuji/kafka-specification); field names are Kafka's.
"""

from __future__ import annotations

from dataclasses import dataclass

from kafka_spec.spec.brokers import Broker, BrokerOrNone, PerBroker
from kafka_spec.spec.language.domain import NONE, Bound, Range, SequenceOf, SetOf, field, message

REPLICAS = Bound("replicas", 2, 6, "brokers that hold the partition")
LOG_SIZE = Bound("log_size", 1, 8, "entries a log can hold")
MAX_RECORDS = Bound("max_records", 1, 8, "records that clients write")
MAX_LEADER_EPOCH = Bound("max_leader_epoch", 0, 8, "the largest leader epoch; the first is 0")

NO_EPOCH = -1
"""The leader epoch of a replica that has never received one."""


@dataclass
class LogEntry:
    """One entry of a log: which record, written in which leader epoch."""

    record: int = field(Range(0, MAX_RECORDS - 1))
    epoch: int = field(Range(0, MAX_LEADER_EPOCH))


@dataclass
class Replica:
    """A broker's replica of the partition: its log, and its last LeaderAndIsr."""

    log: list[LogEntry] = field(SequenceOf(LogEntry, LOG_SIZE, "offset"))
    high_watermark: int = field(Range(0, LOG_SIZE))
    leader_epoch: int = field(Range(NO_EPOCH, MAX_LEADER_EPOCH))
    leader: int = field(BrokerOrNone(REPLICAS))
    isr: int = field(SetOf(REPLICAS))


@dataclass
class Quorum:
    """The content of the partition's state znode in ZooKeeper."""

    leader_epoch: int = field(Range(NO_EPOCH, MAX_LEADER_EPOCH))
    leader: int = field(BrokerOrNone(REPLICAS))
    isr: int = field(SetOf(REPLICAS, full=True))


@message
@dataclass
class LeaderAndIsr:
    """A LeaderAndIsr request as the controller issued it; its leader epoch is its number among all requests."""

    leader_epoch: int = field(Range(0, MAX_LEADER_EPOCH))
    leader: int = field(BrokerOrNone(REPLICAS))
    isr: int = field(SetOf(REPLICAS))


@dataclass
class Partition:
    """The whole state.

    `requests` holds every LeaderAndIsr ever issued, one for each epoch, and is never emptied: a replica may read any of them at
    any time, so loss, delay, repetition and reordering are all covered.
    """

    replicas: list[Replica] = field(PerBroker(Replica, REPLICAS))
    quorum: Quorum = field(Quorum, kept_by="ZooKeeper")
    requests: list[LeaderAndIsr] = field(SequenceOf(LeaderAndIsr, MAX_LEADER_EPOCH + 1, "epoch"))
    next_record: int = field(Range(0, MAX_RECORDS))


ANY_REPLICA = Broker(REPLICAS)

__all__ = ["ANY_REPLICA", "LOG_SIZE", "MAX_LEADER_EPOCH", "MAX_RECORDS", "NONE", "NO_EPOCH", "REPLICAS", "Partition", "Replica"]
