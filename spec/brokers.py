"""Kafka's words for the members of its cluster: brokers and partitions, what each has, and the replicas of a partition."""

from __future__ import annotations

from kafka_spec.spec.language.domain import ArrayOf, Distinct, Domain, Member, MemberOrNone, Number


class Broker(Member):
    """One of `brokers` brokers, numbered from 0. Brokers are not interchangeable: assignments order them."""

    def __init__(self, brokers: Number) -> None:
        super().__init__(brokers, "broker")


class BrokerOrNone(MemberOrNone):
    """One of `brokers` brokers, or none (`NONE`, the initial value)."""

    def __init__(self, brokers: Number) -> None:
        super().__init__(brokers, "broker")


class PerBroker(ArrayOf):
    """One item for each broker."""

    def __init__(self, item: Domain | type, brokers: Number) -> None:
        super().__init__(item, brokers, "broker")


class PartitionIndex(Member):
    """One of `partitions` partitions of a topic, numbered from 0."""

    def __init__(self, partitions: Number) -> None:
        super().__init__(partitions)


class PerPartition(ArrayOf):
    """One item for each partition."""

    def __init__(self, item: Domain | type, partitions: Number) -> None:
        super().__init__(item, partitions, "partition")


class Assignment(Distinct):
    """An ordered list of distinct brokers: Kafka's assigned replicas, where the first is preferred."""

    def __init__(self, brokers: Number) -> None:
        super().__init__(Broker(brokers), brokers)
