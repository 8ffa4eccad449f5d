"""The image at an offset, as text and as JSON; and why a partition is as it is: what refuses each broker, and what would change it.

The reasons are the answers of the controller's own decisions: what an event would write is predicted, not guessed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any
from uuid import UUID

from kafka_spec.conformance.metadata.bugs import MEANINGS, is_wrong, pages
from kafka_spec.conformance.metadata.explain import Explainer
from kafka_spec.conformance.metadata.explaining import Acting
from kafka_spec.conformance.metadata.image import Image
from kafka_spec.conformance.metadata.judge import shown, time_of
from kafka_spec.conformance.metadata.predictions import AskedShape
from kafka_spec.conformance.metadata.shapes import FoldedPartition, merged
from kafka_spec.spec.decisions.alter_partition import answer_to_isr, is_eligible
from kafka_spec.spec.decisions.partition_change import ElectionKind, RecoveryState
from kafka_spec.spec.error_codes import ErrorCode
from kafka_spec.spec.kraft.machines import BrokerState
from kafka_spec.spec.language.domain import NONE, BrokerSet, including
from kafka_spec.spec.vocabulary.table import SpecError


def partition_named(image: Image, name: str) -> FoldedPartition:
    """Return the partition of a name.

    Raises:
        SpecError: there is none.
    """
    topic, _, number = name.rpartition("-")
    found = image.find(image.ids.get(topic, b""), int(number)) if number.isdigit() else None
    if found is None:
        topics = ", ".join(sorted(image.ids)[:10]) or "no topic"
        raise SpecError(f"there is no partition {name}; name one as TOPIC-NUMBER, of {topics}")
    return found


def state_text(image: Image, broker: int) -> str:
    """Return the state of a registration in words."""
    state = BrokerState(image.state_of(broker))
    return "in controlled shutdown" if state == BrokerState.CONTROLLED_SHUTDOWN else state.name.lower()


def image_text(image: Image, end: int, when: int) -> str:
    """Return the image as text."""
    lines = [f"image of the log before offset {end:,}" + (f", at {time_of(when)} UTC" if when else "")]
    lines += ["", "brokers"]
    for number, broker in sorted(image.brokers.items()):
        directories = "1 log directory" if len(broker.directories) == 1 else f"{len(broker.directories)} log directories"
        lines.append(f"  {number:>6}  {state_text(image, number)}, broker epoch {broker.epoch}, {directories}")
    lines += ["", "features", *(f"  {name} {level}" for name, level in sorted(image.features.items()))]
    lines += ["", "configurations"]
    for (_, name), values in sorted(image.configs.items()):
        lines += [f"  {name or 'the cluster'}: {key} = {value}" for key, value in sorted(values.items())]
    lines += ["", "partitions"]
    for partition in sorted(image.all_partitions(), key=lambda one: (image.names[one.topic_id], one.number)):
        epochs = f"epochs {partition.leader_epoch}.{partition.partition_epoch}"
        lines.append(f"  {image.name_of(partition)}: {shown(partition.shape)}, {epochs}")
    return "\n".join(lines) + "\n"


def image_plain(image: Image, end: int, when: int) -> dict[str, Any]:
    """Return the image as plain dictionaries."""
    return {
        "end": end,
        "when": time_of(when) if when else None,
        "brokers": {
            str(number): {
                "state": state_text(image, number),
                "epoch": broker.epoch,
                "incarnation": str(UUID(bytes=broker.incarnation)),
                "directories": [str(UUID(bytes=one)) for one in broker.directories],
            }
            for number, broker in sorted(image.brokers.items())
        },
        "features": dict(sorted(image.features.items())),
        "configurations": {name or "": dict(sorted(values.items())) for (_, name), values in sorted(image.configs.items())},
        "topics": {name: str(UUID(bytes=topic_id)) for name, topic_id in sorted(image.ids.items())},
        "partitions": {
            image.name_of(one): {
                **one.shape._asdict(),
                "leader_epoch": one.leader_epoch,
                "partition_epoch": one.partition_epoch,
                "directories": [str(UUID(bytes=each)) for each in one.directories],
            }
            for one in sorted(image.all_partitions(), key=lambda one: (image.names[one.topic_id], one.number))
        },
    }


def why_text(explainer: Explainer, name: str, acting: Sequence[Acting] = ()) -> str:
    """Return why a partition has no leader, or who is not in its ISR and why, and which events would change that.

    `acting` are the known bugs that acted so far; those that acted on this partition are reported.
    """
    lines = [*_why(explainer, partition_named(explainer.image, name)), *_met(one for one in acting if name in one.subjects)]
    return "\n".join(lines) + "\n"


def _why(explainer: Explainer, partition: FoldedPartition) -> Iterator[str]:
    image, shape = explainer.image, partition.shape
    acceptable = explainer.acceptable(partition, image.active)
    usual = AskedShape(shape.isr, acceptable, explainer.least(partition), explainer.election(partition))
    yield f"{image.name_of(partition)}: {shown(shape)}; min.insync.replicas that counts: {usual.least}"
    electable = shape.isr or shape.elr
    if shape.leader == NONE and not electable:
        yield "it has no leader: the ISR and the ELR are empty, so no replica can be elected cleanly"
    elif shape.leader == NONE:
        place = "the ISR" if shape.isr else "the ELR, since the ISR is empty,"
        yield f"it has no leader: only a member of {place} may lead, and it must be active, with its directory online"
    for broker in dict.fromkeys((*shape.replicas, *shape.isr, *shape.elr)):
        yield f"  broker {broker}: {'; '.join(_standing(explainer, partition, broker, electable, acceptable))}"
    yield "what would change it"
    yield from (f"  {line}" for line in _changes(explainer, partition, usual))


def _met(acting: Iterable[Acting]) -> Iterator[str]:
    """Yield the known bugs that acted on a partition, each with what to do and where to read on."""
    found = [one for one in acting if is_wrong(one.bug)]
    if found:
        yield "known bugs of Kafka that acted on it"
    for one in found:
        yield f"  offset {one.offset:,}, {time_of(one.when)}: {one.event}: {one.bug} ({', '.join(pages(one.bug))})"
    for bug in dict.fromkeys(one.bug for one in found):
        yield f"  what to do about {bug}: {MEANINGS[bug].cure}"


def _standing(
    explainer: Explainer, partition: FoldedPartition, broker: int, electable: tuple[int, ...], acceptable: BrokerSet
) -> list[str]:
    """Return where a broker stands, and what refuses it."""
    image, shape = explainer.image, partition.shape
    reasons = ["it leads" if broker == shape.leader else "in the ISR" if broker in shape.isr else "not in the ISR"]
    if broker in shape.elr:
        reasons.append("in the ELR")
    if broker not in shape.replicas:
        reasons.append("it is not a replica")
    if broker not in image.active:
        reasons.append(f"it is {state_text(image, broker)}")
    elif broker not in acceptable:
        reasons.append("its directory of the partition is offline")
    if shape.leader == NONE and broker not in electable:
        reasons.append("it cannot be elected cleanly")
    if broker not in shape.isr and broker in shape.replicas:
        k = explainer.ruling.k
        if not is_eligible(int(broker in image.active), -1, -1, k.bar_ineligible, k.alter_epochs_compared):
            reasons.append("a proposal that names it is refused with INELIGIBLE_REPLICA")
        elif shape.leader != NONE:
            wanted = (*shape.isr, broker)
            replicas, recovered = BrokerSet.of(shape.replicas), RecoveryState.RECOVERED
            answer = answer_to_isr(BrokerSet.of(wanted), replicas, shape.leader, len(wanted), recovered, shape.recovery)
            fits = answer == ErrorCode.NONE
            reasons.append(
                "the leader may propose it once it has caught up" if fits else f"a proposal gets {ErrorCode(answer).name}"
            )
        else:
            reasons.append("only a leader can propose it")
    return reasons


def _changes(explainer: Explainer, partition: FoldedPartition, usual: AskedShape) -> Iterator[str]:
    """Yield what each event would make of the partition, as the controller decides it."""
    image, shape = explainer.image, partition.shape
    tries: list[tuple[str, AskedShape]] = []
    for broker in dict.fromkeys((*shape.replicas, *shape.isr, *shape.elr)):
        if broker in image.brokers and broker not in image.active and shape.leader == NONE:
            active = explainer.acceptable(partition, including(image.active, broker))
            tries.append((f"unfencing broker {broker}", usual._replace(acceptable=active)))
    if shape.leader == NONE:
        tries.append(("an unclean election that an operator asks for", usual._replace(election=ElectionKind.UNCLEAN)))
    elif shape.leader != shape.preferred:
        tries.append(("a preferred election", usual._replace(election=ElectionKind.PREFERRED)))
    for name, asked in tries:
        change = explainer.predict(partition, asked)
        if change is None:
            yield f"{name}: would change nothing"
            continue
        yield f"{name}: {shown(merged(shape, change))}"
    if not tries:
        yield "nothing is needed: the preferred leader leads" if shape.leader == shape.preferred else "nothing that is known here"
