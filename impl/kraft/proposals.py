"""The controller's validation of a leader's proposal, on the metadata that it has. Nothing is written here.

Source: Kafka 3.9 ReplicationControlManager.validateAlterPartitionData.
"""

from __future__ import annotations

from kafka_spec.impl.kraft.image import ClusterImage
from kafka_spec.impl.protocol.errors import ErrorCode
from kafka_spec.impl.protocol.kraft_requests import ProposalRequest, ProposedIsr, members_of
from kafka_spec.impl.protocol.topic_ids import text_of
from kafka_spec.impl.protocol.topic_partition import TopicPartition
from kafka_spec.spec.decisions.alter_partition import (
    answer_to_epochs,
    answer_to_isr,
    answer_to_sender,
    answer_to_topic,
    is_eligible,
)
from kafka_spec.spec.decisions.variants import Checked
from kafka_spec.spec.language.domain import BrokerSet
from kafka_spec.spec.vocabulary.table import Constants

NO_TOPIC, THE_TOPIC = -1, 0
"""The topic of a name, as a number, and any other or none."""


def answer_to_request(image: ClusterImage, request: ProposalRequest) -> ErrorCode:
    """Return the answer to a request as a whole."""
    return ErrorCode(answer_to_sender(request.broker_epoch, image.epoch_of(request.broker)))


def answer_to_proposal(
    image: ClusterImage, broker: int, partition: TopicPartition, proposed: ProposedIsr, k: Constants
) -> ErrorCode:
    """Return the answer to one proposal of a broker whose broker epoch is current."""
    topic_id, known = image.topic_id(partition.topic), image.partitions.get(partition)
    named = topic_id is not None and proposed.topic_id == text_of(topic_id)
    current = NO_TOPIC if topic_id is None else THE_TOPIC
    error = ErrorCode(answer_to_topic(THE_TOPIC if named else NO_TOPIC, current, k.alter_topic_ids))
    if error != ErrorCode.NONE:
        return error
    if known is None:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    error = ErrorCode(
        answer_to_epochs(
            proposed.leader_epoch,
            known.leader_epoch,
            proposed.partition_epoch,
            known.partition_epoch,
            int(known.leader == broker),
            k.ahead_is_not_controller,
        )
    )
    if error != ErrorCode.NONE:
        return error
    isr, replicas = members_of(proposed), BrokerSet.of(known.replicas)
    if len(set(proposed.isr)) != len(proposed.isr):
        return ErrorCode.INVALID_REQUEST
    error = ErrorCode(answer_to_isr(isr, replicas, known.leader, len(proposed.isr), proposed.recovery, known.recovery))
    if error != ErrorCode.NONE:
        return error
    for member, epoch in proposed.members:
        has_directory = k.offline_directory_ineligible == Checked.NO or image.has_directory(known, member)
        active, registered = int(image.is_active(member) and has_directory), image.epoch_of(member)
        if not is_eligible(active, epoch, registered, k.bar_ineligible, k.alter_epochs_compared):
            return ErrorCode.INELIGIBLE_REPLICA
    return ErrorCode.NONE
