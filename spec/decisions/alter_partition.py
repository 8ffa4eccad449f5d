"""AlterPartition: the controller's answer to a leader's proposal of an ISR, and what the leader does with the answer.

Pure functions of the language of spec/language; the decisions of an era are arguments.

Source: Kafka 3.9 ReplicationControlManager.validateAlterPartitionData; Partition.handleAlterPartitionUpdate,
handleAlterPartitionError.
"""

from __future__ import annotations

import enum

from kafka_spec.spec.decisions.partition_change import RecoveryState
from kafka_spec.spec.decisions.variants import Checked
from kafka_spec.spec.error_codes import ErrorCode
from kafka_spec.spec.language.domain import BrokerSet, contains


def answer_to_sender(broker_epoch: int, registered: int) -> int:
    """Return the answer to a request as a whole, by its sender's broker epoch; `registered` is the current one, or -1."""
    return ErrorCode.NONE if registered >= 0 and broker_epoch == registered else ErrorCode.STALE_BROKER_EPOCH


def answer_to_topic(topic_id: int, current: int, topic_ids_compared: int) -> int:
    """Return the answer to a proposal by its topic; `current` is the id of the topic of that name, -1 if there is none.

    Up to version 1 a request has the name alone (3.3, KAFKA-13923).
    """
    if current == -1:
        return ErrorCode.UNKNOWN_TOPIC_ID if topic_ids_compared == Checked.YES else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return ErrorCode.UNKNOWN_TOPIC_ID if topic_ids_compared == Checked.YES and topic_id != current else ErrorCode.NONE


def answer_to_epochs(
    leader_epoch: int, current_leader_epoch: int, partition_epoch: int, current_partition_epoch: int, leads: int, ahead: int
) -> int:
    """Return the answer to a proposal's epochs and its sender, who leads if `leads` is 1.

    A proposal that is ahead of the controller shows that the controller is not the newest (3.3, KAFKA-14154); `ahead` decides.
    """
    if ahead == Checked.YES and (leader_epoch > current_leader_epoch or partition_epoch > current_partition_epoch):
        return ErrorCode.NOT_CONTROLLER
    if leader_epoch != current_leader_epoch:
        return ErrorCode.FENCED_LEADER_EPOCH
    if leads == 0:
        return ErrorCode.INVALID_REQUEST
    if partition_epoch != current_partition_epoch:
        return ErrorCode.INVALID_UPDATE_VERSION
    return ErrorCode.NONE


def answer_to_isr(isr: BrokerSet, replicas: BrokerSet, leader: int, members: int, recovery: int, current_recovery: int) -> int:
    """Return the answer to the proposed ISR, of `members` members, and the recovery state."""
    if isr & ~replicas != 0 or contains(isr, leader) == 0:
        return ErrorCode.INVALID_REQUEST
    if recovery == RecoveryState.RECOVERING and (members > 1 or current_recovery == RecoveryState.RECOVERED):
        return ErrorCode.INVALID_REQUEST
    return ErrorCode.NONE


def is_eligible(active: int, epoch: int, registered: int, bar_ineligible: int, broker_epochs_compared: int) -> bool:
    """Whether the controller lets a broker into the ISR, or leaves it there.

    `active` is 1 if it is neither fenced nor shutting down (3.3, KIP-841); `epoch` is the broker epoch that the leader knows of
    it, -1 if none, and `registered` the current one (3.5, KIP-903).
    """
    if bar_ineligible == Checked.YES and active == 0:
        return False
    return broker_epochs_compared == Checked.NO or epoch == -1 or epoch == registered


def is_candidate(active: int, epoch: int, cached: int, leader_checks: int, fetch_epochs_compared: int) -> bool:
    """Whether a leader may propose a follower: its metadata cache has it as active, and under the broker epoch of its last fetch.

    A follower of an older version fetches with -1.

    Kafka 3.9: Partition.isReplicaIsrEligible, isBrokerEpochIsrEligible (3.3, KIP-841; 3.5, KIP-903).
    """
    if leader_checks == Checked.YES and active == 0:
        return False
    return fetch_epochs_compared == Checked.NO or epoch == -1 or epoch == cached


class Reaction(enum.IntEnum):
    """What a leader does with the answer to its proposal."""

    ADOPT = 0
    """It adopts the ISR and the partition epoch of the answer."""
    ROLL_BACK = 1
    """It keeps the ISR that it had; it may propose again."""
    WAIT = 2
    """The proposal stays pending until the metadata log has another record of the partition."""
    RETRY = 3
    """It sends the proposal again."""


NEWER_IMAGE_COMES = (
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID, ErrorCode.FENCED_LEADER_EPOCH,
    ErrorCode.INVALID_UPDATE_VERSION, ErrorCode.INVALID_REQUEST, ErrorCode.NEW_LEADER_ELECTED,
)  # fmt: skip
"""The errors that show that the leader's image is old; after any other one the leader proposes again."""


def reaction(error: int, answered_leader_epoch: int, leader_epoch: int, answered_partition_epoch: int, partition_epoch: int) -> int:
    """Return what a leader does with the answer to its current proposal (`Reaction`)."""
    if error == ErrorCode.NONE:
        if answered_leader_epoch != leader_epoch or answered_partition_epoch < partition_epoch:
            return Reaction.WAIT
        return Reaction.ADOPT
    if error == ErrorCode.INELIGIBLE_REPLICA or error == ErrorCode.OPERATION_NOT_ATTEMPTED:
        return Reaction.ROLL_BACK
    return Reaction.WAIT if error in NEWER_IMAGE_COMES else Reaction.RETRY
