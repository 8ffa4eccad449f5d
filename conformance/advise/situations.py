"""Partitions as the model takes them: numbers in place of broker ids, and one situation for all partitions that are equal so.

The first replica is broker 0, the others follow in their order, then the brokers that a plan adds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from kafka_spec.conformance.advise.plans import OperatorPlan
from kafka_spec.conformance.metadata.cluster import ClusterAtEnd
from kafka_spec.conformance.metadata.image import Image
from kafka_spec.conformance.metadata.shapes import FoldedPartition, PartitionShape
from kafka_spec.impl.protocol.settings import MIN_ISR, UNCLEAN
from kafka_spec.spec.decisions.partition_change import ElectionKind
from kafka_spec.spec.kraft.family_base import HAPPENINGS
from kafka_spec.spec.kraft.planned import MOST_BROKERS, PLAN_BOUNDS
from kafka_spec.spec.kraft.state import CONTROLLED_SHUTDOWNS, PREFERRED_ELECTIONS, UNCLEAN_ELECTIONS, UNREGISTRATIONS
from kafka_spec.spec.language.domain import NONE, BrokerSet

Bounds: TypeAlias = tuple[tuple[str, int], ...]
"""Bounds of the model, sorted by their names."""
ELECTIONS = {ElectionKind.PREFERRED: PREFERRED_ELECTIONS.name, ElectionKind.UNCLEAN: UNCLEAN_ELECTIONS.name}
"""The bound that lets each election happen."""
ROOM_FOR_IMAGES = 20
"""Batches of the metadata log that a broker may be behind."""


@dataclass(frozen=True)
class Situation:
    """A partition and its brokers as bounds of the model, without the plan and with it."""

    before: Bounds
    planned: Bounds


@dataclass
class Alike:
    """The partitions in one situation, each with the ids of its brokers in the order of the model's numbers."""

    situation: Situation
    partitions: list[tuple[str, PartitionShape, tuple[int, ...]]] = field(default_factory=list)
    least: int = 1
    """min.insync.replicas, before the plan."""

    @property
    def name(self) -> str:
        """The first partition."""
        return self.partitions[0][0]

    @property
    def ids(self) -> tuple[int, ...]:
        """The ids of the brokers of the first partition."""
        return self.partitions[0][2]


@dataclass
class Touched:
    """What a plan touches: situations, and the partitions that the model cannot judge, each with the reason."""

    alike: list[Alike]
    not_modelled: Mapping[str, str]


def touched_by(plan: OperatorPlan, cluster: ClusterAtEnd) -> Touched:
    """Return what a plan touches of a cluster."""
    image = cluster.judge.image
    found: dict[tuple[Situation, int], Alike] = {}
    not_modelled: dict[str, str] = {}
    for partition in sorted(image.all_partitions(), key=lambda one: (image.names[one.topic_id], one.number)):
        name = (image.names[partition.topic_id], partition.number)
        target = plan.targets.get(name, ())
        ids = brokers_of(partition.shape, target)
        leaves = plan.stop & set(partition.shape.replicas) or plan.unregisters & set(ids)
        elects = plan.elects_in(name, partition.shape)
        if not (target or name in plan.cancel or plan.changes(name) or elects or leaves):
            continue
        if reason := cluster.not_modelled(partition) or _too_large(plan, ids):
            not_modelled[image.name_of(partition)] = reason
            continue
        least = cluster.judge.min_isr(partition.topic_id)
        before = _before(image, partition, ids, least, cluster.allows_unclean(partition.topic_id))
        planned = _planned(plan, name, ids, target) | _removed(plan, partition)
        situation = Situation(_sorted(before), _sorted({**before, **planned}))
        alike = found.setdefault((situation, least), Alike(situation, least=least))
        alike.partitions.append((image.name_of(partition), partition.shape, ids))
    return Touched(sorted(found.values(), key=lambda one: -len(one.partitions)), not_modelled)


def holders_of(shape: PartitionShape) -> tuple[int, ...]:
    """Return the ids of the replicas that hold what is committed: the ISR and the ELR, or else the last known leader."""
    return tuple(sorted({*shape.isr, *shape.elr})) or shape.last_known[:1]


def waiting_for(plan: OperatorPlan, image: Image) -> Mapping[int, Sequence[str]]:
    """Return the brokers of a plan, those first that can be shut down at once, each with its partitions that are not in sync."""
    found: dict[int, list[str]] = {broker: [] for broker in sorted(plan.stop)}
    for partition in image.all_partitions():
        if set(partition.shape.replicas) - set(partition.shape.isr):
            for broker in plan.stop & set(partition.shape.replicas):
                found[broker].append(image.name_of(partition))
    return dict(sorted(found.items(), key=lambda one: len(one[1])))


def brokers_of(shape: PartitionShape, target: Iterable[int] = ()) -> tuple[int, ...]:
    """Return the ids of the brokers that matter to a partition, in the order of the model's numbers."""
    return tuple(dict.fromkeys((*shape.replicas, *shape.isr, *shape.elr, *target)))


def _too_large(plan: OperatorPlan, ids: tuple[int, ...]) -> str:
    """Return why the model has no room for a partition, or ""."""
    brokers = len(ids)
    stopped, forgotten = len(plan.stop & set(ids)), len(plan.unregisters & set(ids))
    if brokers > MOST_BROKERS:
        return f"{brokers} brokers matter to it, and the model has room for {MOST_BROKERS}"
    if stopped > CONTROLLED_SHUTDOWNS.high:
        return f"{stopped} of its brokers shut down, and the model has room for {CONTROLLED_SHUTDOWNS.high}"
    if forgotten > UNREGISTRATIONS.high:
        return f"{forgotten} of its brokers are unregistered, and the model has room for {UNREGISTRATIONS.high}"
    return ""


def _before(image: Image, partition: FoldedPartition, ids: tuple[int, ...], least: int, unclean: bool) -> dict[str, int]:
    """Return the bounds that state the partition and its brokers, without a plan."""
    shape = partition.shape
    last_known = shape.last_known[0] if shape.last_known else NONE
    registered = {number: image.brokers[number] for number in ids if number in image.brokers}
    return {
        **dict.fromkeys(HAPPENINGS, 0),
        **dict.fromkeys((bound.name for bound in PLAN_BOUNDS), 0),
        "brokers": len(ids),
        "min_isr": min(least, MOST_BROKERS),
        "other_min_isr": 1,
        "unclean": int(unclean),
        "isr_size": 1,
        "spares": 0,
        "lag": ROOM_FOR_IMAGES,
        "cache_ahead": 0,
        "at_replicas": len(shape.replicas),
        "at_isr": _mask(shape.isr, ids),
        "at_elr": _mask(shape.elr, ids),
        "at_leader": _number(shape.leader, ids),
        "at_last_known": _number(last_known, ids),
        "at_recovery": shape.recovery,
        "at_adding": _mask(shape.adding, ids),
        "at_removing": _mask(shape.removing, ids),
        "at_active": _mask((number for number, broker in registered.items() if not broker.fenced), ids),
        "at_unregistered": _mask((number for number in ids if number not in registered), ids),
        "at_stopping": _mask((number for number, broker in registered.items() if broker.stops and not broker.fenced), ids),
    }


def _planned(plan: OperatorPlan, name: tuple[str, int], ids: tuple[int, ...], target: tuple[int, ...]) -> dict[str, int]:
    """Return the bounds in which a plan differs."""
    changed: dict[str, int] = {}
    if plan.stop:
        stopped = plan.stop & set(ids)
        changed |= {"plan_stop": _mask(stopped, ids), "controlled_shutdowns": len(stopped), "plan_one_by_one": int(plan.one_by_one)}
    elif plan.unregisters:
        forgotten = plan.unregisters & set(ids)
        changed |= {"plan_unregisters": _mask(forgotten, ids), "unregistrations": len(forgotten)}
    elif target:
        changed |= {"plan_target": _mask(target, ids), "reassignments": 1}
    elif name in plan.cancel:
        changed |= {"plan_cancel": 1, "reassignments": 1}
    elif plan.elects is not None:
        changed[ELECTIONS[plan.elects]] = 1
    if plan.changes(name):
        if MIN_ISR in plan.settings:
            changed |= {"other_min_isr": min(int(plan.settings[MIN_ISR]), MOST_BROKERS), "min_isr_changes": 1}
        if UNCLEAN in plan.settings:
            changed["unclean"] = int(plan.settings[UNCLEAN] == "true")
    return changed


def _removed(plan: OperatorPlan, partition: FoldedPartition) -> dict[str, int]:
    """Return the bounds in which a plan differs that takes the directory of a replica away."""
    places = zip(partition.shape.replicas, partition.directories, strict=False)
    if plan.removes is None or plan.removes not in places:
        return {}
    return {"plan_removes": 1, "removed_directories": 1}


def _sorted(bounds: Mapping[str, int]) -> Bounds:
    return tuple(sorted(bounds.items()))


def _number(broker: int, ids: tuple[int, ...]) -> int:
    return ids.index(broker) if broker in ids else NONE


def _mask(brokers: Iterable[int], ids: tuple[int, ...]) -> int:
    return int(BrokerSet.of(ids.index(broker) for broker in brokers))
