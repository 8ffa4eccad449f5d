"""The properties of spec/kraft, asked of the image: of each partition after a batch, and of each change.

A property is a function of the model's state. Here it gets a view of one partition, with the brokers that the
partition names numbered from 0. Answers are remembered by what the view shows, since partitions share few shapes.
"""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

from kafka_spec.conformance.metadata.image import Image
from kafka_spec.conformance.metadata.shapes import FoldedPartition, PartitionShape
from kafka_spec.spec.decisions.alter_partition import is_eligible
from kafka_spec.spec.decisions.partition_change import RecoveryState, effective_min_isr
from kafka_spec.spec.decisions.variants import Checked
from kafka_spec.spec.kraft.machines import IN_ELR, IN_ISR, MEMBERSHIP, NO_ROLE, OUTSIDE, BrokerState, Membership
from kafka_spec.spec.kraft.properties.safety import SAFETY
from kafka_spec.spec.kraft.state import ProcessLife
from kafka_spec.spec.language.domain import NO_BROKERS, NONE, BrokerSet
from kafka_spec.spec.vocabulary.table import Property

NOT_IN_A_LOG: Mapping[str, str] = {
    "OneLeaderInEachEpoch": "which replicas believe to lead is on the brokers; each leader epoch has one leader in the log",
    "JoinsInItsProcess": "the broker epochs of a proposal are in a request, not in the log",
    "UncleanElectionHasCause": "who requested an election is not in the log; that it is marked is checked apart",
    "LeaderCountsCandidates": "the leader's own view is on the brokers",
    "CandidatesHoldCommitted": "records are on the brokers",
    "Committed": "records are on the brokers",
    "LogMatch": "records are on the brokers",
    "HighWatermarkGrows": "high watermarks are on the brokers",
    "ReassignmentEndsAtTarget": "targets are in requests; an explanation names those that it infers",
    "SettingsKeepCandidates": "the report names elr-cleared-while-offline where a change of a setting takes the last candidate",
    "MovesKeepCandidates": "the report names assignment-empties-elr where an assignment to a directory empties the ELR",
    "ProposalsAreValid": "refused proposals leave no record",
    "DeletedRecordsStayGone": "records are on the brokers",
}
"""The properties that a metadata log cannot show, and why."""
INVARIANTS = tuple(one for one in SAFETY if one.kind == "invariant" and one.name not in NOT_IN_A_LOG)
STEPS = tuple(one for one in SAFETY if one.kind == "step invariant" and one.name not in NOT_IN_A_LOG)
"""The properties of the image, and those of its changes."""
MOST_REMEMBERED = 1 << 18


def _asks(function: Callable[..., Any]) -> int:
    return len(inspect.signature(function).parameters)


def _answers(properties: Sequence[Property]) -> list[tuple[str, Callable[..., Any], int, Callable[..., Any] | None, int]]:
    return [(one.name, one.predicate, _asks(one.predicate), one.when, _asks(one.when) if one.when else 0) for one in properties]


_INVARIANTS, _STEPS = _answers(INVARIANTS), _answers(STEPS)
STILL = SimpleNamespace(epoch=0, life=ProcessLife.UP, replica=SimpleNamespace(role=NO_ROLE, topic_id=0))
"""A broker of which nothing is known: it hosts no replica."""


class View:
    """A partition as the model's state has it: brokers are numbered from 0, and lists of brokers are sets."""

    def __init__(
        self,
        shape: PartitionShape,
        numbers: Mapping[int, int],
        states: Sequence[BrokerState],
        memberships: Sequence[Membership],
        epochs: tuple[int, int] = (0, 0),
        offline: BrokerSet = NO_BROKERS,
    ) -> None:
        def some(brokers: tuple[int, ...]) -> BrokerSet:
            return BrokerSet.of(numbers[broker] for broker in brokers)

        partition = SimpleNamespace(
            topic_id=0,
            replicas=[numbers[broker] for broker in shape.replicas],
            isr=some(shape.isr),
            elr=some(shape.elr),
            leader=numbers.get(shape.leader, NONE),
            leader_epoch=epochs[0],
            partition_epoch=epochs[1],
            adding=some(shape.adding),
            removing=some(shape.removing),
            recovery=shape.recovery,
            min_isr_changed=0,
            last_known_leader=numbers[shape.last_known[0]] if shape.last_known and shape.last_known[0] >= 0 else NONE,
        )
        known = [int(broker in BrokerSet(offline)) for broker in numbers] or [0] * len(states)
        registrations = [
            SimpleNamespace(state=state, epoch=0, directory_offline=one) for state, one in zip(states, known, strict=True)
        ]
        self.controller = SimpleNamespace(
            partition=partition, registrations=registrations, memberships=memberships, unclean_changed=0
        )
        self.brokers = [STILL] * len(states)


def membership_of(shape: PartitionShape, broker: int) -> Membership:
    """Return where a broker stands, by the lists."""
    return IN_ISR if broker in shape.isr else IN_ELR if broker in shape.elr else OUTSIDE


def moved(old: PartitionShape, new: PartitionShape, broker: int) -> Membership:
    """Return where a broker stands after a change by the rows of the table: where it stood, if no row leads where the lists say."""
    before, after = membership_of(old, broker), membership_of(new, broker)
    return after if before == after or (before, after) in MEMBERSHIP.legal_pairs else before


def numbered(*shapes: PartitionShape) -> dict[int, int]:
    """Return numbers from 0 for all brokers that the shapes name."""
    named = {one.leader for one in shapes}
    for one in shapes:
        named.update(one.replicas, one.isr, one.elr, one.last_known, one.adding, one.removing)
    return {broker: number for number, broker in enumerate(sorted(broker for broker in named if broker >= 0))}


def _failed(
    asked: Sequence[tuple[str, Callable[..., Any], int, Callable[..., Any] | None, int]], *given: Any
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the properties that were tested, and those of them that fail."""
    tested, failed = [], []
    for name, predicate, count, when, wanted in asked:
        if when is None or when(*given[:wanted]):
            tested.append(name)
            if not predicate(*given[:count]):
                failed.append(name)
    return tuple(tested), tuple(failed)


def _faults_of(shape: PartitionShape) -> tuple[str, ...]:
    """Return what is wrong with the lists of a partition."""
    faults = []
    if any(len(set(brokers)) < len(brokers) for brokers in (shape.replicas, shape.isr, shape.elr, shape.adding, shape.removing)):
        faults.append("twice")
    if shape.removing and shape.replicas[-len(shape.removing) :] != tuple(sorted(shape.removing)):
        faults.append("wrong-order-of-removal")
    return tuple(faults)


def _faults_of_change(image: Image, old: PartitionShape, new: PartitionShape, min_isr: int) -> tuple[str, ...]:
    """Return what is wrong with a change, by decisions of the controller that are not properties of a state."""
    faults = []
    joined = set(new.isr) - set(old.isr)
    if not all(is_eligible(int(broker in image.active), -1, -1, Checked.YES, Checked.YES) for broker in joined):
        faults.append("joins-inactive")
    elected = new.leader if new.leader != old.leader else NONE
    led = old.leader in image.active
    if elected >= 0 and elected not in (*old.isr, *old.elr) and not led and new.recovery != RecoveryState.RECOVERING:
        faults.append("unmarked-unclean-election")
    if image.has_elr and new.replicas == old.replicas and new.recovery != RecoveryState.RECOVERING:
        before, after = ({*one.isr, *one.elr} & {*one.replicas} for one in (old, new))
        if len(after) < min(len(before), effective_min_isr(min_isr, len(new.replicas))):
            faults.append("too-few-candidates")
    return tuple(faults)


class PropertyChecker:
    """Asks the properties, and counts how often each was tested."""

    def __init__(self) -> None:
        self._states: dict[Any, tuple[tuple[str, ...], tuple[str, ...]]] = {}
        self._steps: dict[Any, tuple[tuple[str, ...], tuple[str, ...]]] = {}
        self.tested: Counter[tuple[str, ...]] = Counter()
        """How often which properties were tested together."""

    def of_state(self, image: Image, partition: FoldedPartition, min_isr: int) -> tuple[str, ...]:
        """Return the properties that a partition violates."""
        shape, offline = partition.shape, image.offline(partition)
        key = (shape, image.registrations, min_isr, image.has_elr, offline)
        found = self._states.get(key)
        if found is None:
            if len(self._states) >= MOST_REMEMBERED:
                self._states.clear()
            numbers = numbered(shape)
            states = [image.state_of(broker) for broker in numbers]
            view = View(shape, numbers, states, [membership_of(shape, broker) for broker in numbers], offline=offline)
            k = SimpleNamespace(brokers=len(numbers), min_isr=min_isr, elr=int(image.has_elr))
            tested, failed = _failed(_INVARIANTS, view, k)
            found = self._states[key] = (tested, failed + _faults_of(shape))
        self.tested[found[0]] += 1
        return found[1]

    def of_change(self, image: Image, old: PartitionShape, new: PartitionShape, leader_epoch: int, min_isr: int) -> tuple[str, ...]:
        """Return what a change violates, made while the brokers are as the image has them.

        The leader epoch grows by `leader_epoch`, the partition epoch by 1.
        """
        key = (old, new, leader_epoch, min_isr, image.has_elr, image.active)
        found = self._steps.get(key)
        if found is None:
            if len(self._steps) >= MOST_REMEMBERED:
                self._steps.clear()
            numbers = numbered(old, new)
            states = [BrokerState.UNFENCED] * len(numbers)
            before = View(old, numbers, states, [membership_of(old, broker) for broker in numbers])
            after = View(new, numbers, states, [moved(old, new, broker) for broker in numbers], (leader_epoch, 1))
            k = SimpleNamespace(brokers=len(numbers), min_isr=min_isr, elr=int(image.has_elr))
            tested, failed = _failed(_STEPS, before, after, k)
            _, by_rows = _failed([one for one in _INVARIANTS if one[0] == "MembershipsFollowTheirTable"], after, k)
            found = self._steps[key] = (tested, failed + by_rows + _faults_of_change(image, old, new, min_isr))
        self.tested[found[0]] += 1
        return found[1]

    def of_registration(self, old_epoch: int, epoch: int, same_process: bool) -> tuple[str, ...]:
        """Return the properties that a registration of a broker that was registered violates."""
        life = ProcessLife.UP if same_process else ProcessLife.DOWN
        shape = PartitionShape((), (), NONE)
        views = [View(shape, {}, [BrokerState.FENCED], [OUTSIDE]) for _ in range(2)]
        for view, one in zip(views, (old_epoch, epoch), strict=True):
            view.controller.registrations[0].epoch = one
            view.brokers = [SimpleNamespace(epoch=0, life=life, replica=STILL.replica)]
        tested, failed = _failed(_STEPS, *views, SimpleNamespace(brokers=1, min_isr=1, elr=0))
        self.tested[tested] += 1
        return failed

    def count(self) -> Counter[str]:
        """Return how often each property was tested."""
        found: Counter[str] = Counter()
        for names, times in self.tested.items():
            found.update(dict.fromkeys(names, times))
        return found
