"""The states and requests of kraft-states, our side, and the search: what needs no Java.

A state is loaded, a request is taken, and both sides have to answer and to write the same. Epochs begin again in each state: no
decision depends on how large they are.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Protocol

from kafka_spec.conformance.kafka_classes.comparison import Comparison
from kafka_spec.conformance.kafka_classes.kraft_ours import KRaftView, OurKRaft
from kafka_spec.conformance.kafka_classes.kraft_promises import Setting
from kafka_spec.spec.kraft.machines import IN_ELR, IN_ISR, OUTSIDE, BrokerState
from kafka_spec.spec.kraft.state import UNKNOWN, ProcessLife
from kafka_spec.spec.language.domain import NONE, BrokerSet, append, assign, truncate

Answer = Any
FAILED = ("UNKNOWN_SERVER_ERROR",)
"""The answer to a request that fails with an exception."""
FIRST_EPOCH = 5
"""The epochs of a partition that is loaded: there are older ones."""


@dataclass(frozen=True)
class StateRequest:
    """A request: its name, the broker that it is about, and brokers that it names."""

    name: str
    broker: int = NONE
    members: tuple[int, ...] = ()

    def __str__(self) -> str:
        return f"{self.name} {self.broker if self.broker != NONE else ''}{list(self.members) or ''}"


def requests(view: KRaftView) -> Iterator[StateRequest]:
    """Yield the requests that a state admits: those that a broker or a timer can make there, and any that an operator can make."""
    brokers = range(len(view.registrations))
    held = view.partition
    sets = [members for count in brokers for members in itertools.combinations(brokers, count + 1)]
    for broker, (state, _) in enumerate(view.registrations):
        if state != BrokerState.FENCED:
            yield StateRequest("fence", broker)
        else:
            yield StateRequest("unfence", broker)
        if state == BrokerState.UNFENCED and broker == held.leader:
            yield StateRequest("shut down", broker)
        yield from (StateRequest("start after a crash", broker), StateRequest("start in order", broker))
    if held.leader != NONE:
        yield from (StateRequest("alter", held.leader, members) for members in sets)
    yield from (StateRequest("elect preferred"), StateRequest("elect uncleanly"), StateRequest("cancel"))
    yield from (StateRequest("reassign", NONE, members) for members in sets)


def with_first_epochs(view: KRaftView) -> KRaftView:
    """Return a state whose epochs are the same as those of all others."""
    partition = replace(view.partition, leader_epoch=FIRST_EPOCH, partition_epoch=FIRST_EPOCH)
    return KRaftView(tuple((state, 0) for state, _ in view.registrations), partition, 0)


# ---------------------------------------------------------------------------------------------------------------------
# The model's side


class OurState(OurKRaft):
    """The rules of spec/kraft in a state that is loaded."""

    def load(self, view: KRaftView) -> None:
        """Take over a state: all brokers run, and have applied the metadata log."""
        super().load_initial()
        s, held = self.s, view.partition
        for broker, (state, epoch) in enumerate(view.registrations):
            object.__setattr__(s.controller.registrations[broker], "state", state)
            s.metadata[0].brokers[broker].state = state
            s.controller.registrations[broker].epoch = s.metadata[0].brokers[broker].epoch = epoch
            place = IN_ISR if broker in held.isr else IN_ELR if broker in held.elr else OUTSIDE
            list.__setitem__(s.controller.memberships, broker, place)
        partition = s.controller.partition
        truncate(partition.replicas, 0)
        for replica in held.replicas:
            append(partition.replicas, replica)
        partition.leader, partition.leader_epoch, partition.partition_epoch = held.leader, held.leader_epoch, held.partition_epoch
        partition.isr, partition.elr = BrokerSet.of(held.isr), BrokerSet.of(held.elr)
        partition.adding, partition.removing = BrokerSet.of(held.adding), BrokerSet.of(held.removing)
        partition.last_known_leader, partition.recovery = held.last_known_leader, held.recovery
        assign(s.metadata[0].partition, partition)

    def take(self, request: StateRequest) -> Answer:
        """Take a request, and return the answer, if one is compared.

        Kafka fails where it elects an active broker that is not a replica, and writes nothing: it asks for its directory. That is a
        last known leader which a reassignment has removed (last-known-leader-outside-replicas).
        """
        before = self.view()
        answer = getattr(self, f"_take_{request.name.replace(' ', '_')}")(request)
        leader = self.s.controller.partition.leader
        elected = leader not in (NONE, before.partition.leader)
        if elected and leader not in self.view().partition.replicas and self.states()[leader] == BrokerState.UNFENCED:
            self.load(before)
            return FAILED
        return answer

    def _take_fence(self, request: StateRequest) -> None:
        self.fire("FenceAlive", broker=request.broker)

    def _take_unfence(self, request: StateRequest) -> None:
        self.fire("Unfence", broker=request.broker)

    def _take_shut_down(self, request: StateRequest) -> None:
        self.node(request.broker).life = ProcessLife.STOPPING
        self.fire("BeginControlledShutdown", broker=request.broker)

    def _take_start_after_a_crash(self, request: StateRequest, clean_epoch: int = UNKNOWN) -> None:
        self.node(request.broker).life = ProcessLife.DOWN
        self.node(request.broker).clean_epoch = clean_epoch
        self.fire("StartBroker", broker=request.broker)

    def _take_start_in_order(self, request: StateRequest) -> None:
        self._take_start_after_a_crash(request, self.s.controller.registrations[request.broker].epoch)

    def _take_alter(self, request: StateRequest) -> Answer:
        held = self.s.controller.partition
        members = [(broker, self.s.controller.registrations[broker].epoch) for broker in request.members]
        epoch = self.s.controller.registrations[request.broker].epoch
        return self.alter_partition(request.broker, epoch, held.leader_epoch, held.partition_epoch, members)

    def _take_elect_preferred(self, _: StateRequest) -> None:
        self.fire("ElectPreferred")

    def _take_elect_uncleanly(self, _: StateRequest) -> None:
        self.fire("ElectUnclean")

    def _take_reassign(self, request: StateRequest) -> Answer:
        return (self.reassign(request.members),)

    def _take_cancel(self, _: StateRequest) -> Answer:
        return (self.cancel(),)


# ---------------------------------------------------------------------------------------------------------------------
# The search


class StateSide(Protocol):
    """A side of the comparison."""

    def load(self, view: KRaftView) -> None:
        """Take over a state."""

    def take(self, request: StateRequest) -> Answer:
        """Take a request, and return the answer, if one is compared."""

    def view(self) -> KRaftView:
        """Return registrations and partition."""


@dataclass
class StateSearch:
    """A breadth-first search of the states of both sides, from states where they agree.

    A state whose leader is not a replica is not loaded: up to 4.0 Kafka gets there (KAFKA-19522), and then fails at most requests.
    """

    ours: OurState
    kafkas: StateSide
    comparison: Comparison
    setting: Setting

    def run(self, most: int) -> int:
        """Compare every request in every state, at most so many requests; return how many there were."""
        first = with_first_epochs(self.ours.view())
        known, left, taken = {first}, [first], 0
        for view in left:
            for request in requests(view):
                if taken >= most:
                    return taken
                taken += 1
                after = self.compare(view, request)
                if after is None or after.partition.leader not in (NONE, *after.partition.replicas):
                    continue
                if (next_view := with_first_epochs(after)) not in known:
                    known.add(next_view)
                    left.append(next_view)
        self.comparison.seen[f"{self.setting}: all requests in all {len(known)} states"] += taken
        return taken

    def compare(self, view: KRaftView, request: StateRequest) -> KRaftView | None:
        """Load a state into both sides, and let them take a request; return the state after it, None if they differ."""
        self.ours.load(view)
        self.kafkas.load(view)
        answers = [side.take(request) for side in (self.ours, self.kafkas)]
        mine, theirs = self.ours.view(), self.kafkas.view()
        changes = "changes" if mine != view else "nothing"
        self.comparison.seen[f"{request.name}: {'fails' if answers[1] == FAILED else changes}"] += 1
        self.comparison.compare(f"{self.setting}: {view} {request}", (mine, answers[0]), (theirs, answers[1]))
        return mine if (mine, answers[0]) == (theirs, answers[1]) else None


def settings() -> Iterator[Setting]:
    """Yield the settings that are searched, those of few states first.

    A reassignment leads to any replicas, so that no setting needs brokers without one.
    """
    for brokers in (2, 3):
        for min_isr, unclean, elr in itertools.product(range(1, brokers + 1), (False, True), (True, False)):
            yield Setting(brokers, min_isr, unclean, elr)
