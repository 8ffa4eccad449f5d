"""What an operator plans.

Brokers are shut down, restarted or unregistered, one loses a log directory, partitions are reassigned, that is cancelled, leaders
are elected, settings change.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias
from uuid import UUID

from kafka_spec.conformance.metadata.image import Image
from kafka_spec.conformance.metadata.settings import settings_given
from kafka_spec.conformance.metadata.shapes import PartitionShape
from kafka_spec.impl.protocol.settings import MIN_ISR
from kafka_spec.impl.protocol.topic_ids import text_of
from kafka_spec.spec.decisions.partition_change import ElectionKind
from kafka_spec.spec.kraft.planned import Wait
from kafka_spec.spec.language.domain import NONE
from kafka_spec.spec.vocabulary.table import SpecError

PartitionName: TypeAlias = tuple[str, int]
"""A topic and the number of a partition."""

WAITS = {"nothing": Wait.NOTHING, "unfenced": Wait.UNFENCED, "in-sync": Wait.IN_SYNC}
WAITS_IN_WORDS = {
    Wait.NOTHING: "without waiting",
    Wait.UNFENCED: "waiting until the broker before is unfenced",
    Wait.IN_SYNC: "waiting until every replica of these partitions is in the ISR",
}


@dataclass(frozen=True)
class OperatorPlan:
    """One action. `stop` are the brokers to shut down, `targets` the replicas that a reassignment asks for."""

    text: str
    stop: frozenset[int] = frozenset()
    one_by_one: bool = False
    """They are started again, and one is shut down at a time."""
    removes: tuple[int, bytes] | None = None
    """A broker that is started without a log directory, and the id of that."""
    unregisters: frozenset[int] = frozenset()
    """The brokers that are to be unregistered."""
    targets: Mapping[PartitionName, tuple[int, ...]] = field(default_factory=dict)
    cancel: frozenset[PartitionName] = frozenset()
    settings: Mapping[str, str] = field(default_factory=dict)
    elects: ElectionKind | None = None
    """The election that is requested, PREFERRED or UNCLEAN."""
    topics: frozenset[str] = frozenset()
    """The topics whose settings change, or whose leaders are elected; empty: all."""
    wait: Wait = Wait.NOTHING

    @property
    def idle(self) -> str:
        """Why there is nothing to do if it touches no partition, as far as the plan says."""
        if self.elects is None:
            return ""
        return "each of them has a leader" if self.elects == ElectionKind.UNCLEAN else "each of them is led by its first replica"

    @property
    def waits(self) -> tuple[Wait, ...]:
        """What else could be waited for, the least first."""
        if (self.settings and not self.changes_min_isr) or self.elects == ElectionKind.UNCLEAN:
            return ()
        found = (Wait.UNFENCED, Wait.IN_SYNC) if self.one_by_one else (Wait.IN_SYNC,)
        return tuple(wait for wait in found if wait > self.wait)

    @property
    def changes_min_isr(self) -> bool:
        """Whether it changes min.insync.replicas, which empties the ELR."""
        return MIN_ISR in self.settings

    @property
    def touches_candidates(self) -> bool:
        """Whether it may leave no replica that can be elected cleanly: it empties the ELR, or gives a broker up."""
        return self.changes_min_isr or bool(self.unregisters)

    def changes(self, name: PartitionName) -> bool:
        """Whether it changes settings of the topic of a partition."""
        return bool(self.settings) and self._is_about(name[0])

    def elects_in(self, name: PartitionName, shape: PartitionShape) -> bool:
        """Whether it elects a leader of a partition; an unclean election is for one without a leader."""
        if self.elects is None or not self._is_about(name[0]):
            return False
        return shape.leader == NONE if self.elects == ElectionKind.UNCLEAN else shape.leader != shape.replicas[0]

    def _is_about(self, topic: str) -> bool:
        return not self.topics or topic in self.topics


def stopping(image: Image, brokers: Sequence[int], wait: Wait) -> OperatorPlan:
    """Return the plan to shut down brokers, all at once.

    Raises:
        SpecError: one of them is not registered, or does not run.
    """
    _check_brokers(image, brokers)
    several = f"brokers {', '.join(map(str, brokers))}" if len(brokers) > 1 else f"broker {brokers[0]}"
    return OperatorPlan(f"shut down {several}", frozenset(brokers), wait=wait)


def unregistering(image: Image, brokers: Sequence[int], wait: Wait) -> OperatorPlan:
    """Return the plan to unregister brokers, running or not.

    Raises:
        SpecError: one of them is not registered.
    """
    _check_registered(image, brokers)
    several = f"brokers {', '.join(map(str, brokers))}" if len(brokers) > 1 else f"broker {brokers[0]}"
    return OperatorPlan(f"unregister {several}", unregisters=frozenset(brokers), wait=wait)


def restarting(image: Image, brokers: Sequence[int], wait: Wait) -> OperatorPlan:
    """Return the plan to restart brokers one at a time, in any order; without names, all that are not fenced.

    Raises:
        SpecError: one of them is not registered, or does not run.
    """
    _check_brokers(image, brokers)
    chosen = brokers or [number for number, broker in sorted(image.brokers.items()) if not broker.fenced]
    several = f"brokers {', '.join(map(str, brokers))}" if brokers else "all brokers"
    return OperatorPlan(f"restart {several}, one at a time", frozenset(chosen), one_by_one=True, wait=wait)


def removing(image: Image, broker: int, directory: str, wait: Wait) -> OperatorPlan:
    """Return the plan to restart a broker without one of its log directories, which is named by its id.

    Raises:
        SpecError: the broker is not registered, or does not run; it has no such directory, or no other.
    """
    _check_brokers(image, [broker])
    known = {text_of(UUID(bytes=one)): one for one in image.brokers[broker].directories}
    if directory not in known or len(known) < 2:
        listed = ", ".join(sorted(known)) or "none"
        where = f"--remove-directory {broker}:{directory}"
        raise SpecError(f"{where}: name one of several directories of broker {broker}: {listed}")
    text = f"restart broker {broker} without the log directory {directory}"
    return OperatorPlan(text, frozenset([broker]), one_by_one=True, removes=(broker, known[directory]), wait=wait)


def reassigning(image: Image, file: Path, wait: Wait) -> OperatorPlan:
    """Return the plan of a file as kafka-reassign-partitions --execute takes it."""
    targets = {}
    for name, entry in _partitions_of(image, file):
        replicas = entry.get("replicas")
        if not isinstance(replicas, list) or not replicas or not all(isinstance(one, int) for one in replicas):
            raise SpecError(f"{file}: {name[0]}-{name[1]} has replicas {replicas!r}; they are a list of broker ids")
        if len(set(replicas)) < len(replicas):
            raise SpecError(f"{file}: {name[0]}-{name[1]} names a broker twice: {replicas}")
        if unknown := [one for one in replicas if one not in image.brokers]:
            raise SpecError(f"{file}: {name[0]}-{name[1]}: broker {unknown[0]} is not registered; {_known(image)}")
        targets[name] = tuple(replicas)
    return OperatorPlan(f"reassign as in {file}", targets=targets, wait=wait)


def cancelling(image: Image, file: Path, wait: Wait) -> OperatorPlan:
    """Return the plan to cancel the reassignments of the partitions in a file, as kafka-reassign-partitions --cancel does."""
    names = [name for name, _ in _partitions_of(image, file)]
    for topic, number in names:
        shape = _find(image, (topic, number), file).shape
        if not shape.adding and not shape.removing:
            raise SpecError(f"{file}: no reassignment of {topic}-{number} runs; leave it out")
    return OperatorPlan(f"cancel the reassignments in {file}", cancel=frozenset(names), wait=wait)


def setting(image: Image, settings: Sequence[str], topics: Sequence[str], wait: Wait) -> OperatorPlan:
    """Return the plan to change settings of topics, given as NAME=VALUE."""
    changed, where = settings_given("--set", settings), _of_topics(image, topics)
    return OperatorPlan(f"set {', '.join(settings)} {where}", settings=changed, topics=frozenset(topics), wait=wait)


def electing(image: Image, kind: ElectionKind, topics: Sequence[str], wait: Wait) -> OperatorPlan:
    """Return the plan to elect leaders, as kafka-leader-election --election-type does."""
    text = f"elect {'leaders uncleanly' if kind == ElectionKind.UNCLEAN else 'preferred leaders'} {_of_topics(image, topics)}"
    return OperatorPlan(text, elects=kind, topics=frozenset(topics), wait=wait)


def _of_topics(image: Image, topics: Sequence[str]) -> str:
    """Return in words which topics a plan is about."""
    if unknown := [topic for topic in topics if topic not in image.ids]:
        raise SpecError(f"--topic {unknown[0]}: there is no such topic; there is {', '.join(sorted(image.ids)[:10]) or 'none'}")
    return f"of {', '.join(topics)}" if topics else "of all topics"


def _partitions_of(image: Image, file: Path) -> list[tuple[PartitionName, Mapping[str, Any]]]:
    """Return the partitions that a file of kafka-reassign-partitions names, each with its entry."""
    try:
        entries = json.loads(file.read_text(encoding="utf-8"))["partitions"]
        found = [((one["topic"], one["partition"]), one) for one in entries]
    except OSError as error:
        raise SpecError(f"{file}: {error.strerror}; name a file as kafka-reassign-partitions takes it") from None
    except (ValueError, LookupError, TypeError):
        example = '{"version": 1, "partitions": [{"topic": "t", "partition": 0, "replicas": [1, 2]}]}'
        raise SpecError(f"{file}: it is not a reassignment; write {example}") from None
    if not found:
        raise SpecError(f"{file}: it names no partition")
    for name, _ in found:
        _find(image, name, file)
    return found


def _find(image: Image, name: PartitionName, file: Path) -> Any:
    partition = image.find(image.ids.get(name[0], b""), name[1])
    if partition is None:
        known = ", ".join(sorted(image.ids)[:10]) or "no topic"
        raise SpecError(f"{file}: there is no partition {name[0]}-{name[1]} in this metadata, which has {known}")
    return partition


def _check_registered(image: Image, brokers: Sequence[int]) -> None:
    if unknown := [one for one in brokers if one not in image.brokers]:
        raise SpecError(f"broker {unknown[0]} is not registered; {_known(image)}")


def _check_brokers(image: Image, brokers: Sequence[int]) -> None:
    _check_registered(image, brokers)
    if fenced := [one for one in brokers if image.brokers[one].fenced]:
        raise SpecError(f"broker {fenced[0]} is fenced: it does not run, as far as the controller knows; leave it out")


def _known(image: Image) -> str:
    return f"there are brokers {', '.join(map(str, sorted(image.brokers))) or 'none'}"
