"""Reassignment of replicas: what an assignment holds while it changes, and when a step of the change is due.

Pure functions. Those on sets of brokers are of the language of spec/language, for models and implementation alike;
`PartitionAssignment` is for callers outside models. The *origin* of an assignment is what it was before the reassignment, its
*target* what it will be.

Source: Kafka 2.8 ControllerContext.scala:41-73 (ReplicaAssignment), KafkaController.scala (onPartitionReassignment, KIP-455).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from kafka_spec.spec.decisions.variants import (
    BumpedEpoch,
    EndOfReassignment,
    LostTarget,
    OlderPlans,
    Reassignment,
    RemovedFromZnode,
    ReplacedReassignment,
    UnassignedBrokers,
)
from kafka_spec.spec.language.domain import NO_BROKERS, NONE, BrokerSet, contains


@dataclass(frozen=True, slots=True)
class PartitionAssignment:
    """The ordered replicas of a partition, the preferred one first, and which of them a reassignment adds and removes."""

    replicas: tuple[int, ...]
    adding: tuple[int, ...] = ()
    removing: tuple[int, ...] = ()

    @property
    def origin(self) -> tuple[int, ...]:
        """The replicas before the reassignment."""
        return tuple(broker for broker in self.replicas if broker not in self.adding)

    @property
    def target(self) -> tuple[int, ...]:
        """The replicas after the reassignment."""
        return tuple(broker for broker in self.replicas if broker not in self.removing)

    @property
    def is_being_reassigned(self) -> bool:
        """Whether a reassignment has begun and not ended."""
        return bool(self.adding or self.removing)

    def reassigned_to(
        self, target: Iterable[int], replaced_reassignment: int = ReplacedReassignment.DROPPED_AT_ONCE
    ) -> PartitionAssignment:
        """Return the assignment under way to a target: its replicas first, then the others that stay until the end.

        A reassignment that runs already is replaced: its origin stays, and so do, if the era keeps them, the replicas that it has
        added. Kafka 2.8: ReplicaAssignment.reassignTo.
        """
        wanted = tuple(dict.fromkeys(target))
        kept = replicas_under_way(BrokerSet.of(self.origin), BrokerSet.of(self.adding), BrokerSet.of(wanted), replaced_reassignment)
        full = tuple(dict.fromkeys((*wanted, *(broker for broker in self.replicas if broker in kept))))
        adding = tuple(broker for broker in full if broker not in self.origin)
        removing = tuple(broker for broker in full if broker not in wanted)
        return PartitionAssignment(full, adding, removing)

    def without(self, broker: int) -> PartitionAssignment:
        """Return the assignment without a broker. Kafka 2.8: ReplicaAssignment.removeReplica."""

        def rest(brokers: tuple[int, ...]) -> tuple[int, ...]:
            return tuple(one for one in brokers if one != broker)

        return PartitionAssignment(rest(self.replicas), rest(self.adding), rest(self.removing))


def changes_nothing(assigned: BrokerSet, adding: BrokerSet, target: BrokerSet, reassignment: int) -> bool:
    """Whether no replica is added or removed, so that the reassignment ends as soon as it begins (KIP-455)."""
    return reassignment == Reassignment.KIP_455 and assigned == target and adding == NO_BROKERS


def target_is_in_isr(target: BrokerSet, isr: BrokerSet) -> bool:
    """Whether all brokers of the target are in the ISR.

    Kafka 2.8: KafkaController.isReassignmentComplete; 0.10: areReplicasInIsr.
    """
    return target & ~isr == 0


def leader_has_to_move(leader: int, target: BrokerSet, live: BrokerSet) -> bool:
    """Whether a reassignment that ends elects a leader: there is none, or it is not of the target, or it cannot lead.

    Kafka 2.8: KafkaController.moveReassignedPartitionLeaderIfRequired.
    """
    return leader == NONE or contains(target & live, leader) == 0


def leader_is_imbalanced(preferred: int, led_elsewhere: int, percentage: int) -> bool:
    """Whether so many of the partitions that prefer a broker are led by others that the controller elects it for them.

    `preferred` counts the partitions that prefer the broker, `percentage` is leader.imbalance.per.broker.percentage.
    Kafka 2.8: KafkaController.checkAndTriggerAutoLeaderRebalance.
    """
    return 100 * led_elsewhere > percentage * preferred


def other_leaves_plan(is_begun: int, removed_from_znode: int) -> bool:
    """Whether a partition leaves /admin/reassign_partitions with another; `is_begun` if its reassignment has begun (KAFKA-6193)."""
    return removed_from_znode == RemovedFromZnode.ALL_NOT_BEGUN and is_begun == 0


def plan_is_withdrawn(is_planned: int, older_plans: int) -> bool:
    """Whether a request through the API takes the partition out of /admin/reassign_partitions first; `is_planned` if it names it.

    Kafka 2.4: KafkaController.processApiPartitionReassignment (KAFKA-9089).
    """
    return is_planned == 1 and older_plans == OlderPlans.REMOVED_FIRST


def plan_ends(is_planned: int, names_target: int, older_plans: int) -> bool:
    """Whether the end of a reassignment takes the partition out of /admin/reassign_partitions; `names_target`: as planned."""
    return is_planned == 1 and (names_target == 1 or older_plans == OlderPlans.REMOVED_AT_END)


def replicas_under_way(origin: BrokerSet, adding: BrokerSet, target: BrokerSet, replaced_reassignment: int) -> BrokerSet:
    """Return all replicas while a reassignment to the target runs; `adding` are those that one before it has added.

    Kafka 2.8: ReplicaAssignment.reassignTo, which drops the added ones.
    """
    if replaced_reassignment == ReplacedReassignment.KEPT_TO_THE_END:
        return origin | adding | target
    return origin | target


def remembered_after_bump(written: int, bumped_epoch: int) -> int:
    """Return the leader epoch, or the data version, that a controller remembers after it has written the next one and nothing else.

    Kafka 2.4.0: KafkaController.updateLeaderEpochAndSendRequest, which caches nothing (KAFKA-9212).
    """
    return written - 1 if bumped_epoch == BumpedEpoch.FORGOTTEN else written


def reassignment_may_end(target: BrokerSet, isr: BrokerSet, live: BrokerSet, lost_target: int) -> bool:
    """Whether a controller that has found a reassignment to be complete continues when it is about to move the leader.

    Kafka 2.8: KafkaController.moveReassignedPartitionLeaderIfRequired, which ignores a failed election.
    """
    return lost_target == LostTarget.IGNORED or (target & ~isr == 0 and target & live != 0)


def replicas_at_end(assigned: BrokerSet, target: BrokerSet, end_of_reassignment: int) -> BrokerSet:
    """Return the replicas that controller and leader act on while the replicas outside the target leave.

    Kafka 2.8: KafkaController.moveReassignedPartitionLeaderIfRequired (KAFKA-1097).
    """
    return target if end_of_reassignment == EndOfReassignment.ANNOUNCED else assigned


def brokers_to_clean(brokers: BrokerSet, assigned: BrokerSet, unassigned_brokers: int) -> BrokerSet:
    """Return the brokers that are asked to delete the replica, since they are not assigned (KIP-866: a full LeaderAndIsr)."""
    return brokers & ~assigned if unassigned_brokers == UnassignedBrokers.TOLD else NO_BROKERS
