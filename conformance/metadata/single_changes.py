"""The events that change one partition by itself: a leader's proposal, elections, reassignments, assignments of directories.

Each is tried with what the record leaves open: the ISR that was proposed before a reassignment completed, or a reassignment's
target.

Source: Kafka 3.9 ReplicationControlManager.alterPartition, electLeader, alterPartitionReassignment, handleAssignReplicasToDirs.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from kafka_spec.conformance.metadata.batches import MetadataEntry
from kafka_spec.conformance.metadata.event_requests import EventRequests
from kafka_spec.conformance.metadata.predictions import AskedShape, Explained, recorded
from kafka_spec.conformance.metadata.shapes import NOTHING, FoldedPartition, ShapeChange
from kafka_spec.impl.kraft.partition_change import AssignedReplicas
from kafka_spec.impl.kraft.reassignment import assignment_to, cancelled
from kafka_spec.impl.protocol.errors import KafkaError
from kafka_spec.spec.decisions.alter_partition import answer_to_isr, is_eligible
from kafka_spec.spec.decisions.partition_change import ElectionKind, RecoveryState
from kafka_spec.spec.error_codes import ErrorCode
from kafka_spec.spec.language.domain import BrokerSet


class PossibleEvent(NamedTuple):
    """An event that may have written a change, and what it asks."""

    name: str
    asked: AskedShape


def explain_alone(requests: EventRequests, entry: MetadataEntry) -> Explained | None:
    """Return the event that wrote a change of one partition by itself."""
    partition = requests.find(entry)
    if partition is None:
        return None
    record = entry.record
    subject = requests.image.name_of(partition)
    found = recorded(record)
    assigns = record.directories is not None and record.replicas is None
    if assigns and found == NOTHING:
        return Explained("assign directories", 1, subject)
    if not assigns and record.directories != requests.directories_after(partition, record.replicas):
        return None
    for attempt in assigned(requests, partition) if assigns else attempts(requests, partition, found):
        if requests.predict(partition, attempt.asked) == found:
            return Explained(attempt.name, 1, subject, ((partition, attempt.asked),))
    return None


def attempts(requests: EventRequests, partition: FoldedPartition, found: ShapeChange) -> Iterator[PossibleEvent]:
    """Yield the events that may have written a change, the likeliest first."""
    shape = partition.shape
    acceptable = requests.acceptable(partition, requests.image.active)
    usual = AskedShape(shape.isr, acceptable, requests.least(partition), requests.election(partition))
    if shape.leader >= 0:
        yield from _proposals(requests, partition, found, usual)
        if shape.leader != shape.preferred:
            yield PossibleEvent("preferred election", usual._replace(election=ElectionKind.PREFERRED))
    else:
        yield PossibleEvent("unclean election", usual._replace(election=ElectionKind.UNCLEAN))
    if found.replicas is not None or found.adding is not None or found.removing is not None:
        yield from _cancellation(requests, partition, usual)
        yield from _reassignments(requests, partition, found, usual)


def _proposals(
    requests: EventRequests, partition: FoldedPartition, found: ShapeChange, usual: AskedShape
) -> Iterator[PossibleEvent]:
    """Yield the proposals of the leader: the recorded ISR, and those that lead to it by completing a reassignment."""
    shape, k, image = partition.shape, requests.ruling.k, requests.image
    proposed = shape.isr if found.isr is None else found.isr
    tries = [proposed]
    if shape.adding or shape.removing:
        gone = [broker for broker in shape.removing if broker not in proposed]
        come = [broker for broker in shape.adding if broker not in shape.isr]
        tries += [(*proposed, *gone), (*proposed, *(one for one in gone if one in shape.isr)), *((*proposed, one) for one in gone)]
        tries += [*((*shape.isr, one) for one in come), (*shape.isr, *come)]
    if shape.leader not in image.brokers:
        return
    for isr in dict.fromkeys(tries):
        if not all(is_eligible(int(one in image.active), -1, -1, k.bar_ineligible, k.alter_epochs_compared) for one in isr):
            continue
        answer = answer_to_isr(
            BrokerSet.of(isr), BrokerSet.of(shape.replicas), shape.leader, len(isr), RecoveryState.RECOVERED, shape.recovery
        )
        if answer == ErrorCode.NONE:
            yield PossibleEvent(_title(shape.isr, isr, found), usual._replace(isr=isr, recovery=RecoveryState.RECOVERED))


def _title(before: tuple[int, ...], isr: tuple[int, ...], found: ShapeChange) -> str:
    if found.replicas is not None or found.adding is not None or found.removing is not None:
        return "proposal that completes a reassignment"
    if len(isr) > len(before):
        return "proposal of a larger ISR"
    if len(isr) < len(before):
        return "proposal of a smaller ISR"
    return "proposal that ends a recovery" if found.recovery == RecoveryState.RECOVERED else "proposal"


def _cancellation(requests: EventRequests, partition: FoldedPartition, usual: AskedShape) -> Iterator[PossibleEvent]:
    shape = partition.shape
    if not shape.adding and not shape.removing:
        return
    unclean = usual.election == ElectionKind.UNCLEAN
    try:
        isr, assignment = cancelled(shape.registered(), unclean, usual.least, requests.ruling.k)
    except KafkaError:
        return
    yield PossibleEvent("cancel a reassignment", usual._replace(isr=isr, election=ElectionKind.ONLINE, assignment=assignment))
    if unclean:
        yield PossibleEvent("cancel a reassignment", usual._replace(isr=isr, assignment=assignment))


def _reassignments(
    requests: EventRequests, partition: FoldedPartition, found: ShapeChange, usual: AskedShape
) -> Iterator[PossibleEvent]:
    """Yield the reassignments to each target that the recorded replicas begin with."""
    shape, image = partition.shape, requests.image
    replicas = found.replicas or shape.replicas
    for count in range(len(replicas), 0, -1):
        target = replicas[:count]
        if len(set(target)) != len(target) or any(broker not in image.brokers for broker in target):
            continue
        try:
            assignment: AssignedReplicas = assignment_to(shape.registered(), target, image.active, requests.ruling.k)
        except KafkaError:
            continue
        name = f"reassign to {list(target)}"
        yield PossibleEvent(name, usual._replace(election=ElectionKind.ONLINE, assignment=assignment))


def assigned(requests: EventRequests, partition: FoldedPartition) -> Iterator[PossibleEvent]:
    """Yield what an assignment of directories makes of a partition: all is decided again; up to 4.2 the ELR is emptied."""
    acceptable = requests.acceptable(partition, requests.image.active)
    usual = AskedShape(partition.shape.isr, acceptable, requests.least(partition))
    yield PossibleEvent("assign directories", usual)
    yield PossibleEvent("assign directories", usual._replace(election=requests.election(partition)))
    yield PossibleEvent("assign directories, which empties the ELR", usual._replace(least=0))
