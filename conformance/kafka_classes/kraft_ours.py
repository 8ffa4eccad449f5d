"""Our side of the comparisons with KRaft's controller: the rules of spec/kraft, executed by the reference interpreter.

The decisions are those of `kraft/fixed`, but for what the compared version of Kafka decides otherwise.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kafka_spec.model_check.interpreter.interpreter import Interpreter
from kafka_spec.spec.decisions.kraft_variants import LastKnownLeader, NewIncarnation
from kafka_spec.spec.decisions.variants import Checked
from kafka_spec.spec.error_codes import ErrorCode
from kafka_spec.spec.kraft.cases import CASE
from kafka_spec.spec.kraft.controller import there_is_a_topic
from kafka_spec.spec.kraft.fixed import FIXED
from kafka_spec.spec.kraft.machines import IN_ELR, IN_ISR, OUTSIDE, BrokerState
from kafka_spec.spec.kraft.reassignment import (
    a_reassignment_runs,
    cancellation_is_accepted,
    nobody_new_is_eligible,
    target_is_registered,
)
from kafka_spec.spec.kraft.replica import forget_request
from kafka_spec.spec.kraft.state import RECREATIONS, UNKNOWN
from kafka_spec.spec.language.domain import NO_BROKERS, NONE, BrokerSet, OutOfBound, OutOfDomain, append, count_firing, truncate

VERSIONS = ("3.9.1", "4.1.2", "4.3.1", "4.4.0")
"""The versions of Kafka whose controller is compared."""

FOUND = (
    "stale-reassignment-lists", "cancellation-elects-cleanly", "cancellation-below-min-isr", "elr-outside-replicas",
    "reassignment-waits-after-election", "elr-cleared-while-offline", "elected-on-failed-directory", "offline-directory-joins-isr",
)  # fmt: skip
"""The bugs of the controller that every compared version has, by the names of their switches."""
IN_ALL: Mapping[str, Any] = {name: value for switch in FOUND for name, value in CASE[switch].decisions.items()}

DECISIONS: Mapping[str, Mapping[str, Any]] = {
    "4.1.2": {**IN_ALL, **CASE["assignment-empties-elr"].decisions},
    "4.3.1": {**IN_ALL, **CASE["KAFKA-19975"].decisions},
    "4.4.0": {**IN_ALL, **CASE["KAFKA-19975"].decisions},
    "3.9.1": {
        **IN_ALL,
        "last_known_acceptable": Checked.NO,
        "last_known_leader": LastKnownLeader.WHEN_ISR_EMPTIES,
        "clean_shutdown_detected": Checked.NO,
        "new_incarnation": NewIncarnation.STAYS,
        **CASE["assignment-empties-elr"].decisions,
    },
}
"""What a version decides otherwise than `kraft/fixed`, as the classes that are compared ask it."""

TOPICS = 3
"""The number of topics of the name that a sequence may have, one after the other."""

COMMITTING = frozenset(
    (
        *("FenceDead", "FenceAlive", "Unfence", "BeginControlledShutdown", "GrantShutdown", "StartBroker", "ReportDirectory"),
        *("ElectPreferred", "ElectUnclean", "ElectWhereAllowed", "DeleteTopic", "CreateTopic", "AssignDirectory", "Unregister"),
    )
)
"""The rules that commit one batch whenever they fire."""
COMMITTING_CHANGES = ("AlterPartition", "Exit", "Reassign", "CancelReassignment")
"""The rules that commit one batch if the partition changes."""


@dataclass(frozen=True)
class KRaftPartition:
    """A partition's registration on either side. The ISR and the ELR are in ascending order: theirs has no effect on elections."""

    replicas: tuple[int, ...]
    leader: int
    isr: tuple[int, ...]
    elr: tuple[int, ...] = ()
    last_known_leader: int = NONE
    recovery: int = 0
    leader_epoch: int = 0
    partition_epoch: int = 0
    adding: tuple[int, ...] = ()
    removing: tuple[int, ...] = ()


NO_PARTITION = KRaftPartition((), NONE, (), leader_epoch=UNKNOWN, partition_epoch=UNKNOWN)
"""What is seen of the partition while there is no topic."""


@dataclass(frozen=True)
class KRaftView:
    """What is seen of a controller on either side: state and epoch of each broker, the partition, and which topic it is of.

    An epoch is its place among those that the broker has had. Topics of the name are counted from 0; -1 means no topic.
    """

    registrations: tuple[tuple[BrokerState, int], ...]
    partition: KRaftPartition
    topic: int = 0
    offline: tuple[int, ...] = ()
    """The brokers whose log directory of the partition is registered as offline."""


@functools.cache
def executable(version: str, settings: tuple[tuple[str, int], ...]) -> Interpreter:
    """Return `kraft/fixed` with the decisions of a version of Kafka; `settings` are bounds and further decisions."""
    asked = dict(settings)
    decisions = {d.name: type(d.value)(asked.pop(d.name)) for d in FIXED.decisions if d.name in asked}
    spec = FIXED.replacing(
        f"kraft/{version}", f"Kafka {version} as compared", decisions={**DECISIONS.get(version, {}), **decisions}
    )
    return Interpreter(spec, spec.bound_values({**spec.bound_sets[0].values, **asked}))


@functools.cache
def _fresh(rules: Interpreter) -> Any:
    return rules.space.fresh()


def with_partition(rules: Interpreter, partition: KRaftPartition) -> Any:
    """Return a state whose controller has this partition; nobody is registered."""
    s = rules.space.root.copy(_fresh(rules))
    for replica in partition.replicas:
        append(s.controller.partition.replicas, replica)
    held = s.controller.partition
    held.leader, held.leader_epoch = partition.leader, partition.leader_epoch
    held.partition_epoch, held.recovery = partition.partition_epoch, partition.recovery
    held.isr, held.elr = BrokerSet.of(partition.isr), BrokerSet.of(partition.elr)
    held.last_known_leader = partition.last_known_leader
    for broker in range(rules.k.brokers):
        place = IN_ISR if broker in partition.isr else IN_ELR if broker in partition.elr else OUTSIDE
        list.__setitem__(s.controller.memberships, broker, place)
    return s


def partition_of(s: Any) -> KRaftPartition:
    """Return the partition of the controller."""
    held = s.controller.partition
    return KRaftPartition(
        tuple(held.replicas),
        held.leader,
        tuple(BrokerSet(held.isr)),
        tuple(BrokerSet(held.elr)),
        held.last_known_leader,
        held.recovery,
        held.leader_epoch,
        held.partition_epoch,
        tuple(BrokerSet(held.adding)),
        tuple(BrokerSet(held.removing)),
    )


class OurKRaft:
    """The controller of spec/kraft with `brokers` active brokers, all but the `spares` in the ISR.

    Rules fire in place, whatever their bounds.
    """

    AT_BOUND = (OutOfBound, OutOfDomain)
    """What is raised where the model's numbers end."""

    def __init__(self, version: str, brokers: int, min_isr: int, unclean: bool, elr: bool, spares: int = 0) -> None:
        settings = {"brokers": brokers, "isr_size": brokers - spares, "spares": spares, "recreations": TOPICS - 1}
        settings |= {"min_isr": min_isr, "unclean": int(unclean), "elr": int(elr), "failed_directories": 1}
        self.rules = executable(version, tuple(settings.items()))
        self.load_initial()
        self.commits = 0
        """The number of batches that were committed."""

    def load_initial(self) -> None:
        """Begin with the initial state."""
        self.s = self.rules.space.root.copy(_initial(self.rules))

    def fire(self, name: str, **binding: int) -> bool:
        """Fire a rule if its guards hold; whether they do."""
        rule = self.rules.spec.rule(name)
        bound = tuple(binding[parameter] for parameter in rule.params)
        if not self.rules.holds(rule.guards, rule, self.s, bound):
            return False
        epoch = self.s.controller.partition.partition_epoch
        scope = {"s": self.s, "k": self.rules.k, **self.rules.arguments(rule, bound, self.s)}
        self.rules.attempts.clear()
        for effect in rule.effects:
            self.rules.call(effect, scope, rule.name, bound)
        changed = self.s.controller.partition.partition_epoch != epoch
        self.commits += name in COMMITTING or (changed and name in COMMITTING_CHANGES)
        return True

    def alter_partition(
        self, sender: int, epoch: int, leader_epoch: int, partition_epoch: int, members: Sequence[tuple[int, int]], topic: int = 0
    ) -> tuple[Any, ...]:
        """Answer a proposal as the controller does; the arguments and the result are those of KafkasKRaft.alter_partition."""
        node = self.s.brokers[sender]
        isr = BrokerSet.of(broker for broker, _ in members)
        append(
            node.requests,
            broker_epoch=epoch,
            topic_id=topic,
            leader_epoch=leader_epoch,
            partition_epoch=partition_epoch,
            isr=isr,
        )
        for broker in range(self.rules.k.brokers):
            node.requests[0].epochs[broker] = dict(members).get(broker, NONE)
        self.fire("AlterPartition", broker=sender)
        answer = node.answers[0]
        error, epochs, isr = ErrorCode(answer.error), (answer.leader_epoch, answer.partition_epoch), answer.isr
        truncate(node.answers, 0)
        forget_request(self.s, sender)
        return (error.name,) if error != ErrorCode.NONE else (error.name, *epochs, tuple(BrokerSet(isr)))

    # Operators: each answers with the name of an error, as the first guard says that does not hold

    def reassign(self, replicas: Sequence[int]) -> str:
        """Reassign the partition. The model leaves out a request for what was asked for last: that one is made here too."""
        if not there_is_a_topic(self.s):
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION.name
        if not replicas:
            return ErrorCode.INVALID_REPLICA_ASSIGNMENT.name
        target = BrokerSet.of(replicas)
        if not target_is_registered(self.s, self.rules.k, target):
            return ErrorCode.INVALID_REPLICA_ASSIGNMENT.name
        if not nobody_new_is_eligible(self.s, self.rules.k, target):
            return ErrorCode.UNKNOWN_SERVER_ERROR.name
        self.s.history.target = NO_BROKERS
        return self._done("Reassign", target=target)

    def cancel(self) -> str:
        """Cancel the reassignment."""
        if not there_is_a_topic(self.s):
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION.name
        if not a_reassignment_runs(self.s):
            return ErrorCode.NO_REASSIGNMENT_IN_PROGRESS.name
        if not cancellation_is_accepted(self.s, self.rules.k):
            return ErrorCode.INVALID_REPLICA_ASSIGNMENT.name
        return self._done("CancelReassignment")

    def delete_topic(self) -> str:
        """Delete the topic; the request names the newest by its id."""
        return self._done("DeleteTopic") if there_is_a_topic(self.s) else ErrorCode.UNKNOWN_TOPIC_ID.name

    def create_topic(self) -> str:
        """Create a topic of the same name, on the first replicas."""
        if there_is_a_topic(self.s):
            return ErrorCode.TOPIC_ALREADY_EXISTS.name
        if not self.fire("CreateTopic"):
            return ErrorCode.INVALID_REPLICA_ASSIGNMENT.name
        count_firing(self.s, RECREATIONS)
        return ErrorCode.NONE.name

    def _done(self, rule: str, **binding: int) -> str:
        if not self.fire(rule, **binding):
            raise AssertionError(f"{rule} has a guard that no error is known for")
        return ErrorCode.NONE.name

    def node(self, broker: int) -> Any:
        """Return a broker's process."""
        return self.s.brokers[broker]

    def images(self) -> int:
        """Return the number of images that are not forgotten."""
        return len(self.s.metadata)

    def states(self) -> list[BrokerState]:
        """Return the state of each broker's registration."""
        return [BrokerState(one.state) for one in self.s.controller.registrations]

    def view(self) -> KRaftView:
        """Return registrations and partition."""
        registrations = tuple((BrokerState(one.state), one.epoch) for one in self.s.controller.registrations)
        offline = tuple(broker for broker, one in enumerate(self.s.controller.registrations) if one.directory_offline)
        return KRaftView(registrations, partition_of(self.s), self.s.controller.partition.topic_id, offline)


@functools.cache
def _initial(rules: Interpreter) -> Any:
    (state,) = rules.initial()
    return state
