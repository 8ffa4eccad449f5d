"""What the quorum is for the rest of Kafka: one list of batches, of which each node hands over a prefix.

spec/kraft takes the metadata log as this list. `kafka-spec refines quorum/fixed` shows that the quorum implements it.
"""

from __future__ import annotations

from dataclasses import dataclass

from kafka_spec.spec.language.domain import ArrayOf, Range, SequenceOf, append, field, truncate
from kafka_spec.spec.quorum.properties import RAFT
from kafka_spec.spec.quorum.state import A_NODE, EPOCH, EPOCHS, LOG_SIZE, LOSSY_CRASHES, NODES, OFFSET, MetadataQuorum
from kafka_spec.spec.vocabulary.table import BoundSet, Check, Constants, Refinement, Rule, Spec, anywhere, step_invariant


@dataclass
class ListedBatch:
    """A batch of the list."""

    epoch: int = field(EPOCH)
    losses: int = field(Range(0, LOSSY_CRASHES))
    """It distinguishes batches that were written twice at one epoch and offset."""


@dataclass
class HandedOver:
    """What a node has handed to its listeners since its process began."""

    batches: list[ListedBatch] = field(SequenceOf(ListedBatch, LOG_SIZE, "offset"))


@dataclass
class OneList:
    """The list, and what each node has handed over of it."""

    batches: list[ListedBatch] = field(SequenceOf(ListedBatch, LOG_SIZE, "offset"))
    nodes: list[HandedOver] = field(ArrayOf(HandedOver, NODES, "node"))


def is_not_of_earlier_epoch(s: OneList, epoch: int) -> bool:
    """The batch is not of an earlier epoch than the last one."""
    end = len(s.batches)
    return end == 0 or s.batches[end - 1].epoch <= epoch


def has_room(s: OneList, k: Constants) -> bool:
    """The list has room."""
    return len(s.batches) < k.log_size


def add_batch(s: OneList, epoch: int, losses: int) -> None:
    """Add a batch at the end."""
    append(s.batches, epoch=epoch, losses=losses)


def is_ahead(s: OneList, node: int, end: int) -> bool:
    """The list has batches up to this end, and the node has not handed them over."""
    return len(s.nodes[node].batches) < end and end <= len(s.batches)


def hand_over(s: OneList, node: int, end: int) -> None:
    """Hand the next batches over, in order."""
    for offset in range(len(s.nodes[node].batches), end):
        append(s.nodes[node].batches, s.batches[offset])


def has_begun(s: OneList, node: int) -> bool:
    """The node has handed a batch over."""
    return len(s.nodes[node].batches) > 0


def begin_again(s: OneList, node: int) -> None:
    """Know nothing of what is committed."""
    truncate(s.nodes[node].batches, 0)


def there_are_batches(before: OneList, after: OneList) -> bool:
    """The list has batches."""
    return len(before.batches) > 0


def batches_stay(before: OneList, after: OneList) -> bool:
    """No batch of the list changes or goes."""
    if len(after.batches) < len(before.batches):
        return False
    return all(
        before.batches[offset].epoch == after.batches[offset].epoch
        and before.batches[offset].losses == after.batches[offset].losses
        for offset in range(len(before.batches))
    )


ONE_LIST = Spec(
    "quorum/one_list",
    "one list of batches, of which each node hands over a prefix: what spec/kraft takes the metadata log for",
    OneList,
    (
        Rule(
            "Commit", "quorum", "a batch of epoch {epoch} is committed", "", (add_batch,),
            {"epoch": Range(1, EPOCHS), "losses": Range(0, LOSSY_CRASHES)}, (has_room, is_not_of_earlier_epoch),
        ),
        Rule(
            "HandOver", "{node}", "{node} hands over what is before offset {end}", "", (hand_over,),
            {"node": A_NODE, "end": OFFSET}, (is_ahead,),
        ),
        Rule(
            "BeginAgain", "{node}", "{node} does not know what is committed", "", (begin_again,),
            {"node": A_NODE}, (has_begun,), kind="fault",
        ),
    ),
    (
        step_invariant(
            "BatchesStay", batches_stay, "what is committed stays so, at its offset", RAFT + "State Machine Safety",
            when=there_are_batches,
        ),
    ),
    final=anywhere,
    bound_sets=(BoundSet("three", {"nodes": 3, "epochs": 2, "log_size": 3, "lossy_crashes": 0}, "three nodes, two epochs"),),
)  # fmt: skip


def as_one_list(s: MetadataQuorum, a: OneList, k: Constants) -> None:
    """The list is what was ever committed; a node has handed over what is below its high watermark, as it is in its log."""
    for offset in range(len(s.history.committed)):
        append(a.batches, epoch=s.history.committed[offset].epoch, losses=s.history.committed[offset].losses)
    for node in range(k.nodes):
        mine = s.nodes[node]
        for offset in range(mine.high_watermark):
            append(a.nodes[node].batches, epoch=mine.log[offset].epoch, losses=mine.log[offset].losses)


AT_ONCE = 9
"""Steps of the list in one of the quorum: a fetch may commit the whole log, which leader and follower hand over."""
IS_ONE_LIST = Refinement(ONE_LIST, as_one_list, steps=AT_ONCE)
CHECKS = (Check("quorum/one_list", "three", why="what spec/kraft assumes of the metadata log"),)
