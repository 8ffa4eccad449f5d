"""The small values of Kafka's controller that several subjects make: its context, brokers, assignments, LeaderAndIsr."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from kafka_spec.conformance.kafka_classes.java import Kafka
from kafka_spec.impl.protocol.controller_requests import Leadership


class LeaderAndIsrRecords:
    """Makes the values of one version; 3.x renamed a few."""

    def __init__(self, kafka: Kafka) -> None:
        self._kafka = kafka
        self.is_newer = kafka.version.startswith("3.")
        self.without_recovery: tuple[bool, ...] = (False,) if self.is_newer else ()
        """An argument of 3.x: whether an unclean leader is marked as recovering, which depends on the protocol's version."""

    def assignment(self, replicas: Sequence[int]) -> Any:
        """Return a ReplicaAssignment without reassignment."""
        return self._kafka.named("kafka.controller.ReplicaAssignment").apply(self._kafka.sequence(replicas))

    def leader_and_isr(self, leader: int, leader_epoch: int, isr: Sequence[int], version: int) -> Any:
        """Return a LeaderAndIsr."""
        kafka = self._kafka
        kind = kafka.named("kafka.api.LeaderAndIsr")
        if not self.is_newer:
            return kind.apply(leader, leader_epoch, kafka.sequence(isr), version)
        recovered = kafka.named("org.apache.kafka.metadata.LeaderRecoveryState").RECOVERED
        return kind.apply(leader, leader_epoch, kafka.sequence(isr), recovered, version)

    def isr(self, held: Any) -> tuple[int, ...]:
        """Return the ISR of a LeaderAndIsr."""
        return self._kafka.numbers(held.isr())

    def version(self, held: Any) -> int:
        """Return the version of the state znode in a LeaderAndIsr."""
        return int(held.partitionEpoch() if self.is_newer else held.zkVersion())

    def leadership(self, held: Any) -> Leadership:
        """Return a LeaderIsrAndControllerEpoch as ours."""
        one = held.leaderAndIsr()
        return Leadership(int(one.leader()), int(one.leaderEpoch()), self.isr(one), self.version(one), int(held.controllerEpoch()))

    def broker(self, number: int, rack: str | None = None) -> Any:
        """Return a Broker with one plaintext listener; its port is its number and 9000."""
        kafka = self._kafka
        protocol = kafka.named("org.apache.kafka.common.security.auth.SecurityProtocol").PLAINTEXT
        listener = kafka.named("org.apache.kafka.common.network.ListenerName").forSecurityProtocol(protocol)
        endpoint = kafka.named("kafka.cluster.EndPoint")("127.0.0.1", 9000 + number, listener, protocol)
        return kafka.named("kafka.cluster.Broker").apply(number, kafka.sequence([endpoint]), kafka.option(rack))

    def context(self, live: Iterable[int], stopping: Iterable[int], broker_epoch: int = 100) -> Any:
        """Return a ControllerContext with brokers, their epochs counted from `broker_epoch`."""
        return self.know(self._kafka.named("kafka.controller.ControllerContext")(), live, stopping, broker_epoch)

    def know(self, context: Any, live: Iterable[int], stopping: Iterable[int], broker_epoch: int) -> Any:
        """Put brokers into a ControllerContext, and return it."""
        kafka = self._kafka
        stopping = list(stopping)
        brokers = [*live, *stopping]
        context.setLiveBrokers(kafka.mapping({self.broker(b): kafka.long(broker_epoch + b) for b in brokers}))
        for broker in stopping:
            getattr(context.shuttingDownBrokerIds(), "$plus$eq")(kafka.boxed(broker))
        return context
