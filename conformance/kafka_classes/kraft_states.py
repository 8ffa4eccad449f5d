"""KRaft's controller, exhaustively: the rules of spec/kraft and Kafka's managers get every request in every state.

A state is loaded into both sides: into Kafka's by the records that describe it, as a controller that takes over loads a log. Then
both get the request, and have to answer and to write the same. The states that come out are loaded in turn, breadth first, until
there are no more, or as many requests as asked for. Epochs begin again in each state: no decision depends on how large they are.

The sequences of kraft-requests go through histories; this goes through all states. Left out: how a controlled shutdown ends, which
depends on heartbeats before, and topics that are deleted.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from random import Random
from typing import Any

from kafka_spec.conformance.kafka_classes.comparison import Comparison, Subject
from kafka_spec.conformance.kafka_classes.java import EXCEPTION, Kafka
from kafka_spec.conformance.kafka_classes.kraft_controller_classes import ControllerClasses
from kafka_spec.conformance.kafka_classes.kraft_kafkas import KafkasKRaft
from kafka_spec.conformance.kafka_classes.kraft_ours import VERSIONS, KRaftView
from kafka_spec.conformance.kafka_classes.kraft_state_search import FAILED, Answer, OurState, StateRequest, StateSearch, settings
from kafka_spec.spec.kraft.machines import BrokerState
from kafka_spec.spec.language.domain import NONE

REQUESTS_FOR_A_CASE = 60
"""By default that is enough for all states of two brokers; then those of three begin."""


class KafkasState(KafkasKRaft):
    """Kafka's managers in a state that is loaded."""

    @functools.cached_property
    def registrations(self) -> dict[int, Any]:
        """The first registration of each broker, as a record."""
        return {}

    def replay(self, messages: Sequence[Any]) -> None:
        """Replay records, and keep the first registrations."""
        for message in messages:
            if str(message.getClass().getSimpleName()) == "RegisterBrokerRecord":
                self.registrations.setdefault(int(message.brokerId()), message)
        super().replay(messages)

    def register_as(self, broker: int, state: BrokerState) -> None:
        """Replay a broker's first registration with another state: all later registrations are forgotten."""
        record = self.registrations[broker].setFenced(state == BrokerState.FENCED)
        self._epochs[broker] = [int(record.brokerEpoch())]
        self.replay([record.setInControlledShutdown(state == BrokerState.CONTROLLED_SHUTDOWN)])

    def load(self, view: KRaftView) -> None:
        """Replay the records that describe a state: the registrations, and the partition as one record."""
        held = view.partition
        for broker, (state, _) in enumerate(view.registrations):
            self.register_as(broker, state)
        numbers = self.kafka.java_list
        record = self.classes.message("PartitionRecord").setTopicId(self.topic_ids[-1]).setPartitionId(0)
        record.setReplicas(numbers(held.replicas)).setIsr(numbers(held.isr)).setLeader(held.leader)
        record.setLeaderEpoch(held.leader_epoch).setPartitionEpoch(held.partition_epoch).setLeaderRecoveryState(held.recovery)
        record.setAddingReplicas(numbers(held.adding)).setRemovingReplicas(numbers(held.removing))
        record.setEligibleLeaderReplicas(numbers(held.elr))
        record.setLastKnownElr(numbers([] if held.last_known_leader == NONE else [held.last_known_leader]))
        record.setDirectories(numbers([self.directory(broker) for broker in held.replicas]))
        self.replay([record])

    def take(self, request: StateRequest) -> Answer:
        """Take a request, and return the answer, if one is compared; what fails writes nothing."""
        try:
            return getattr(self, f"_take_{request.name.replace(' ', '_')}")(request)
        except EXCEPTION:
            return FAILED

    def _take_fence(self, request: StateRequest) -> None:
        self.fence(request.broker)

    def _take_unfence(self, request: StateRequest) -> None:
        self.heartbeat(request.broker, self.offset, stopping=False)

    def _take_shut_down(self, request: StateRequest) -> None:
        self.heartbeat(request.broker, self.offset, stopping=True)

    def _take_start_after_a_crash(self, request: StateRequest) -> None:
        self.register(request.broker, NONE)

    def _take_start_in_order(self, request: StateRequest) -> None:
        self.register(request.broker, 0)

    def _take_alter(self, request: StateRequest) -> Answer:
        held = self.view().partition
        kept = [broker for broker in held.isr if broker in request.members]
        members = [(broker, 0) for broker in (*kept, *(one for one in request.members if one not in kept))]
        return self.alter_partition(request.broker, 0, held.leader_epoch, held.partition_epoch, members)

    def _take_elect_preferred(self, _: StateRequest) -> None:
        self.elect(unclean=False)

    def _take_elect_uncleanly(self, _: StateRequest) -> None:
        self.elect(unclean=True)

    def _take_reassign(self, request: StateRequest) -> Answer:
        return (self.reassign(request.members),)

    def _take_cancel(self, _: StateRequest) -> Answer:
        return (self.reassign(None),)


def compare(kafka: Kafka, comparison: Comparison, _: Random, cases: int) -> None:
    """Search setting after setting, up to so many requests."""
    classes = ControllerClasses(kafka)
    left = cases * REQUESTS_FOR_A_CASE
    for setting in settings():
        size = (setting.brokers, setting.min_isr, setting.unclean, setting.elr)
        ours = OurState(kafka.version, *size, setting.spares)
        kafkas = KafkasState(classes, *size, setting.brokers - setting.spares)
        left -= StateSearch(ours, kafkas, comparison, setting).run(left)
        if left <= 0:
            return


SUBJECT = Subject("kraft-states", "KRaft's controller: every request in every state, breadth first", compare, (), VERSIONS)
