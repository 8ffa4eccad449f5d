"""A replica moves to another log directory of its broker: a future log copies the log, and replaces it.

When the future log has caught up, the broker has the controller note its directory. Once that is done and the future log has caught
up again, it becomes the log. Records that arrive between the two steps are in the old log alone.

Source: Kafka 4.3 ReplicaAlterLogDirsThread, Partition.maybeReplaceCurrentWithFutureReplica, LogManager.scala (KIP-113, KIP-858).
"""

from __future__ import annotations

from kafka_spec.spec.decisions.election import members
from kafka_spec.spec.decisions.partition_change import ElectionKind
from kafka_spec.spec.decisions.variants import Checked
from kafka_spec.spec.kraft.controller import active_brokers, change_reassigned, commit, known_epoch, move_replicas
from kafka_spec.spec.kraft.machines import NO_ROLE
from kafka_spec.spec.kraft.replica import ANY_BROKER, broker_is_up, broker_runs, forget_copy
from kafka_spec.spec.kraft.state import MOVES, FutureLog, KRaft
from kafka_spec.spec.language.domain import NO_BROKERS, contains, truncate
from kafka_spec.spec.vocabulary.table import Constants, Rule


def replica_is_online(s: KRaft, broker: int) -> bool:
    """The broker's replica leads or follows."""
    return s.brokers[broker].replica.role != NO_ROLE


def nothing_is_copied(s: KRaft, broker: int) -> bool:
    """The broker's log is not being moved."""
    return s.brokers[broker].copy == FutureLog.NONE


def begin_move(s: KRaft, broker: int) -> None:
    """Create an empty future log. Kafka 4.3: ReplicaManager.alterReplicaLogDirs."""
    s.brokers[broker].copy = FutureLog.COPIED


BEGIN_MOVE = Rule(
    "BeginMove",
    actor="operator",
    kind="operator",
    params=ANY_BROKER,
    guards=(broker_is_up, replica_is_online, nothing_is_copied),
    at_most=MOVES,
    effects=(begin_move,),
    summary="an operator moves the replica of {broker} to another log directory",
    reference="Kafka 4.3 ReplicaManager.alterReplicaLogDirs (KIP-113)",
)


def log_has_more(s: KRaft, broker: int) -> bool:
    """There is a future log, and the log has entries that it does not have."""
    node = s.brokers[broker]
    return node.copy != FutureLog.NONE and node.copied < len(node.replica.log)


def copy_entry(s: KRaft, broker: int) -> None:
    """Append the next entry to the future log."""
    s.brokers[broker].copied += 1


COPY = Rule(
    "Copy",
    actor="{broker}",
    params=ANY_BROKER,
    guards=(broker_runs, replica_is_online, log_has_more),
    effects=(copy_entry,),
    summary="{broker} copies an entry of its log to the new directory",
    reference="Kafka 4.3 ReplicaAlterLogDirsThread.processPartitionData",
)


def copy_is_whole(s: KRaft, broker: int) -> bool:
    """The future log has all entries of the log."""
    return s.brokers[broker].copied == len(s.brokers[broker].replica.log)


def directory_is_to_assign(s: KRaft, broker: int) -> bool:
    """The metadata does not name the future log's directory, and the controller knows the broker's process and replica."""
    node = s.brokers[broker]
    if node.copy != FutureLog.COPIED or node.epoch != known_epoch(s, broker):
        return False
    return (
        s.controller.partition.topic_id == node.replica.topic_id and contains(members(s.controller.partition.replicas), broker) == 1
    )


def note_directory(s: KRaft, k: Constants) -> None:
    """Write the partition with a new directory, which may elect a leader."""
    partition = s.controller.partition
    before, active, online = members(partition.replicas), active_brokers(s, k), ElectionKind.ONLINE
    change_reassigned(s, k, before, 1, partition.isr, active, NO_BROKERS, online, partition.recovery)


def note_directory_without_elr(s: KRaft, k: Constants) -> None:
    """Write it as if there were no ELR (up to 4.2): that is emptied, no last leader is elected, and none is remembered."""
    remembered = s.controller.partition.last_known_leader
    s.controller.partition.elr = NO_BROKERS
    move_replicas(s, k, s.controller.partition.isr, NO_BROKERS)
    if s.controller.partition.isr == 0:
        s.controller.partition.partition_epoch += 1
    else:
        note_directory(s, k)
    s.controller.partition.last_known_leader = remembered


def assign_directory(s: KRaft, k: Constants, broker: int) -> None:
    """Note the future log's directory. Kafka 4.3: ReplicationControlManager.handleAssignReplicasToDirs."""
    s.brokers[broker].copy = FutureLog.ASSIGNED
    if k.assignment_keeps_elr == Checked.YES:
        note_directory(s, k)
    else:
        note_directory_without_elr(s, k)
    commit(s, k)


ASSIGN_DIRECTORY = Rule(
    "AssignDirectory",
    actor="controller",
    params=ANY_BROKER,
    guards=(broker_runs, replica_is_online, directory_is_to_assign, copy_is_whole),
    effects=(assign_directory,),
    summary="the copy of {broker} has the whole log, and the controller notes its directory",
    reference="Kafka 4.3 ReplicaAlterLogDirsThread.maybePromoteFutureReplica, ReplicationControlManager.handleAssignReplicasToDirs",
)


def directory_is_assigned(s: KRaft, broker: int) -> bool:
    """The metadata names the future log's directory."""
    return s.brokers[broker].copy == FutureLog.ASSIGNED


PROMOTE = Rule(
    "Promote",
    actor="{broker}",
    params=ANY_BROKER,
    guards=(broker_runs, replica_is_online, directory_is_assigned, copy_is_whole),
    effects=(forget_copy,),
    summary="the copy of {broker} replaces its log",
    reference="Kafka 4.3 Partition.maybeReplaceCurrentWithFutureReplica",
)


def recover_future_log(s: KRaft, k: Constants, broker: int) -> None:
    """When a process starts: promote a future log whose directory the metadata names; in `fixed`, only if it has the whole log.

    Kafka 4.3: LogManager.recoverAbandonedFutureLogs.
    """
    if directory_is_assigned(s, broker) and (copy_is_whole(s, broker) or k.future_log_recovered_if_whole == Checked.NO):
        mine = s.brokers[broker].replica
        truncate(s.brokers[broker].replica.log, s.brokers[broker].copied)
        mine.high_watermark = min(mine.high_watermark, s.brokers[broker].copied)
        forget_copy(s, broker)


RULES = (BEGIN_MOVE, COPY, ASSIGN_DIRECTORY, PROMOTE)
