"""Gates: whether a request, write or fetch is current, by controller, leader and broker epoch, and by version.

Pure functions of the language of spec/language, for every model and for the implementation; the decisions of an era are arguments.
Epochs are numbers; a negative number means that there is none.

Source: Kafka 2.8 KafkaApis.scala:241-365; ReplicaManager.scala:350-492, 1298-1484; Partition.scala.
"""

from __future__ import annotations

from kafka_spec.spec.decisions.variants import (
    BadVersionHandling,
    Checked,
    EpochWatch,
    FetchAnswers,
    RefusedIsrWrite,
    StopReplicaEpoch,
)
from kafka_spec.spec.error_codes import ErrorCode
from kafka_spec.spec.language.domain import BrokerSet, contains

# ---------------------------------------------------------------------------------------------------------------------
# Requests of controllers, at a broker


def answer_to_request(
    controller_epoch: int,
    seen_controller_epoch: int,
    controller_epoch_checked: int,
    broker_epoch: int,
    own_broker_epoch: int,
    broker_epoch_checked: int,
) -> int:
    """Return a broker's answer to a request as a whole, before it reads the partitions.

    `controller_epoch` and `broker_epoch` are the request's. A broker epoch larger than the broker's own passes: it has not
    learned its new one yet; so does -1, which older controllers send.
    Kafka 2.8: KafkaApis.isBrokerEpochStale, ReplicaManager.becomeLeaderOrFollower.
    """
    if broker_epoch_checked == Checked.YES and 0 <= broker_epoch < own_broker_epoch:
        return ErrorCode.STALE_BROKER_EPOCH
    if controller_epoch_checked == Checked.YES and controller_epoch < seen_controller_epoch:
        return ErrorCode.STALE_CONTROLLER_EPOCH
    return ErrorCode.NONE


def answer_to_leader_and_isr(leader_epoch: int, current: int, is_assigned: int) -> int:
    """Return a broker's answer for one partition of a LeaderAndIsr: only a larger leader epoch is accepted.

    Kafka 2.8: ReplicaManager.becomeLeaderOrFollower, the same code for a smaller and for an equal epoch.
    """
    if leader_epoch <= current:
        return ErrorCode.STALE_CONTROLLER_EPOCH
    if is_assigned == 0:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return ErrorCode.NONE


def leader_is_available(leader: int, alive: BrokerSet) -> bool:
    """Whether a broker can follow this leader: there is one, and the broker's metadata cache lists it as alive.

    Kafka 2.8: ReplicaManager.makeFollowers.
    """
    return leader >= 0 and contains(alive, leader) == 1


def answer_to_stop_replica(leader_epoch: int, current: int, stop_replica_epoch: int) -> int:
    """Return a broker's answer for one hosted partition of a StopReplica; a negative leader epoch means none and passes.

    Kafka 2.8: ReplicaManager.stopReplicas refuses an equal epoch; 3.5 takes it (KAFKA-13972); before 2.6 there was none.
    """
    if stop_replica_epoch == StopReplicaEpoch.NONE or leader_epoch < 0 or leader_epoch > current:
        return ErrorCode.NONE
    if stop_replica_epoch == StopReplicaEpoch.AT_LEAST and leader_epoch == current:
        return ErrorCode.NONE
    return ErrorCode.FENCED_LEADER_EPOCH


def stop_replica_is_of_topic(is_of_former_topic: int, stop_replica_topic_checked: int) -> bool:
    """Whether a StopReplica is for the topic that the broker hosts now, or the era does not check this.

    No version up to 3.9 checks it: a StopReplica names its topic, and has no topic id (KIP-516 left it out).
    """
    return is_of_former_topic == 0 or stop_replica_topic_checked == Checked.NO


LEADER_DURING_DELETE = -2
"""The leader in an UpdateMetadata that takes a partition out of the caches (LeaderAndIsr.LeaderDuringDelete)."""
EPOCH_DURING_DELETE = -2
"""The leader epoch in a StopReplica of a topic queued for deletion (LeaderAndIsr.EpochDuringDelete)."""


def leader_epoch_in_stop_replica(cached: int, queued_for_deletion: int) -> int:
    """Return the leader epoch that a StopReplica carries: the cached one, or the mark of a topic that is queued for deletion.

    Kafka 2.8: AbstractControllerBrokerRequestBatch.addStopReplicaRequestForBrokers.
    """
    return EPOCH_DURING_DELETE if queued_for_deletion == 1 else cached


# ---------------------------------------------------------------------------------------------------------------------
# Fetches, at a leader


def answer_to_fetch_epoch(leader_epoch: int, current: int, fetches_fenced: int) -> int:
    """Return a broker's answer to the leader epoch of a fetcher; a negative one means none and passes.

    Compared before the check that the broker leads (2.1, KIP-320). Kafka 2.8: Partition.checkCurrentLeaderEpoch.
    """
    if fetches_fenced == Checked.NO or leader_epoch < 0 or leader_epoch == current:
        return ErrorCode.NONE
    if leader_epoch < current:
        return ErrorCode.FENCED_LEADER_EPOCH
    return ErrorCode.UNKNOWN_LEADER_EPOCH


def leader_epoch_in_fetch(leader_epoch: int, fetches_fenced: int) -> int:
    """Return the leader epoch that a follower's fetch carries: its own, or none before leaders compared it (2.1, KIP-320)."""
    return leader_epoch if fetches_fenced == Checked.YES else -1


def late_answer_is_taken(leader_epoch: int, current: int, fetch_answers_taken: int) -> bool:
    """Whether a follower takes an answer to a fetch of this leader epoch: it is its current one, or the era does not compare.

    Kafka 2.8: AbstractFetcherThread.partitionFetchState: a new leader epoch begins with the truncation.
    """
    return fetch_answers_taken == FetchAnswers.OF_OFFSET or leader_epoch == current


def fetch_is_of_registration(broker_epoch: int, registered: int, fetch_generation_checked: int) -> bool:
    """Whether a fetch comes from the process that is registered now, or the era does not compare broker epochs (KIP-903).

    `registered` is the broker epoch of the registration, -1 if the fetcher is not registered.
    Kafka 3.5: Partition.isReplicaIsrEligible.
    """
    if fetch_generation_checked == Checked.NO:
        return True
    return registered >= 0 and broker_epoch == registered


def fetch_is_outdated(broker_epoch: int, latest: int, fetch_generation_checked: int) -> bool:
    """Whether a fetch is older than one that was processed before, from a later process of the same broker.

    With ZooKeeper, where brokers know no broker epochs of others; see `fetch_is_stale`.
    """
    return fetch_generation_checked == Checked.YES and broker_epoch < latest


def fetch_is_stale(broker_epoch: int, cached: int, is_unfenced: int, fetch_epochs_compared: int) -> bool:
    """Whether a fetch is of an earlier process than the one that the leader's metadata cache has unfenced (3.5, KIP-903).

    `broker_epoch` is -1 in a fetch of an older version. Kafka 3.9 and 4.4: Replica.updateFetchStateOrThrow.
    """
    return fetch_epochs_compared == Checked.YES and broker_epoch != -1 and is_unfenced == 1 and broker_epoch < cached


# ---------------------------------------------------------------------------------------------------------------------
# Reads of ZooKeeper by a controller or a leader


def has_bounced(registered: int, known: int, bounces_noticed: int) -> bool:
    """Whether a broker that a controller considers live has registered again since: its broker epoch is larger.

    Kafka 2.8: KafkaController.processBrokerChange (2.2, KAFKA-7235).
    """
    return bounces_noticed == Checked.YES and registered > known


def state_may_be_replaced(controller_epoch: int, own: int) -> bool:
    """Whether a controller may write a partition's state over one that was written under this controller epoch.

    Kafka 2.8: PartitionStateMachine.doElectLeaderForPartitions, ReplicaStateMachine.doRemoveReplicasFromIsr.
    """
    return controller_epoch <= own


def shutdown_is_of_registration(broker_epoch: int, known: int, broker_epoch_checked: int) -> bool:
    """Whether a controller processes a controlled shutdown: the broker asks under the registration it knows, or a later one.

    Kafka 2.8: KafkaController.doControlledShutdown; up to 2.1 the request has no broker epoch.
    """
    return broker_epoch_checked == Checked.NO or broker_epoch >= known


def epoch_after_change(own: int, newest: int, epoch_watch: int) -> int:
    """Return the epoch of a controller after it has seen /controller_epoch change (KAFKA-1096)."""
    return newest if epoch_watch == EpochWatch.ADOPTED and newest > own else own


def isr_write_took_effect(holds_what_was_written: int, bad_version: int) -> bool:
    """Whether a leader treats an ISR write that found another version as successful: the first answer may have been lost.

    Kafka 2.8: ReplicationUtils.checkLeaderAndIsrZkData (0.8.2, KAFKA-1382).
    """
    return bad_version == BadVersionHandling.READ_BACK and holds_what_was_written == 1


def refused_isr_stays_pending(refused_isr_write: int) -> bool:
    """Whether an ISR that could not be written still counts for the high watermark, until the next LeaderAndIsr.

    Kafka 2.8: Partition.handleAlterIsrResponse gives up and stays pending, whoever writes the ISR.
    """
    return refused_isr_write == RefusedIsrWrite.KEPT_PENDING


# ---------------------------------------------------------------------------------------------------------------------
# Images of KRaft's metadata log, at a broker


def image_is_applied(partition_epoch: int, current: int, equal_partition_epoch_applied: int) -> bool:
    """Whether a replica applies an image of the metadata log by its partition epoch: one that it has not gone beyond.

    It may know the same partition epoch from the answer to its proposal, and not all that the record has (3.3, KAFKA-13790).
    Kafka 3.9: Partition.makeLeader, makeFollower.
    """
    return partition_epoch > current or (equal_partition_epoch_applied == Checked.YES and partition_epoch == current)


def image_settles_proposal(partition_epoch: int, current: int, proposal_survives_known_epoch: int) -> bool:
    """Whether an image that is applied drops a leader's pending proposal: the partition has changed since the proposal was made.

    An image whose partition epoch the leader knows from an answer is older than the proposal that it made since, which the
    controller may have accepted already. No version up to 4.1 distinguishes this: Partition.makeLeader drops the proposal.
    """
    return partition_epoch > current or proposal_survives_known_epoch == Checked.NO
