"""What happens to a broker's registration, and what the controller writes of the partition then: one batch for an event.

Source: Kafka 3.9 ReplicationControlManager.java, ClusterControlManager.java.
"""

from __future__ import annotations

from kafka_spec.spec.decisions.election import members
from kafka_spec.spec.decisions.kraft_variants import NewIncarnation
from kafka_spec.spec.decisions.partition_change import last_known_is_electable
from kafka_spec.spec.decisions.variants import Checked
from kafka_spec.spec.kraft.controller import active_brokers, change_partition, commit, election_kind, there_is_a_topic
from kafka_spec.spec.kraft.machines import REGISTRATION
from kafka_spec.spec.kraft.state import KRaft
from kafka_spec.spec.language.domain import NO_BROKERS, NONE, contains, excluding, singleton
from kafka_spec.spec.vocabulary.table import Constants, fire


def take_out(s: KRaft, k: Constants, broker: int) -> None:
    """Change the partition to what it is without a broker in the ISR, which cannot be elected, either."""
    left = excluding(s.controller.partition.isr, broker)
    acceptable = excluding(active_brokers(s, k), broker)
    change_partition(s, k, left, acceptable, NO_BROKERS, election_kind(s, k), s.controller.partition.recovery)


def remove_from_partition(s: KRaft, k: Constants, broker: int) -> None:
    """Take a broker out of the ISR, if it is in it, and out of leadership.

    Kafka 3.9: ReplicationControlManager.generateLeaderAndIsrUpdates, with a broker to remove.
    """
    if contains(s.controller.partition.isr, broker) == 1:
        take_out(s, k, broker)


def fence(s: KRaft, k: Constants, broker: int) -> None:
    """Fence a broker: it leaves the ISR, and leads no more. Kafka 3.9: ReplicationControlManager.handleBrokerFenced."""
    remove_from_partition(s, k, broker)
    fire(s, k, REGISTRATION, (broker,), "fence")
    s.controller.registrations[broker].shutdown_image = 0
    commit(s, k)


def last_known_is_elected_twice(s: KRaft, k: Constants, broker: int) -> bool:
    """A heartbeat that unfences a broker and reports its directory elects a last known leader that need not be active (up to 4.0).

    Both records are computed from the memory before: the second elects it again.
    """
    partition, active = s.controller.partition, excluding(active_brokers(s, k), broker)
    if not there_is_a_topic(s) or contains(members(partition.replicas), broker) == 0 or partition.leader != NONE:
        return False
    return last_known_is_electable(
        partition.isr, partition.elr, partition.last_known_leader, active, k.elr, k.last_known_acceptable
    )


def unfence(s: KRaft, k: Constants, broker: int) -> None:
    """Unfence a broker: a partition without a leader may elect it. Kafka 3.9: ReplicationControlManager.handleBrokerUnfenced.

    The same heartbeat may report that the directory of its replica has failed. In `fixed` that counts for the election.
    """
    before = s.controller.partition.leader
    fails = s.brokers[broker].directory_failed > s.controller.registrations[broker].directory_offline
    twice = last_known_is_elected_twice(s, k, broker)
    fire(s, k, REGISTRATION, (broker,), "unfence")
    if k.unfencing_reads_directories == Checked.YES:
        s.controller.registrations[broker].directory_offline = s.brokers[broker].directory_failed
    if there_is_a_topic(s) and s.controller.partition.leader == NONE:
        isr = s.controller.partition.isr
        change_partition(s, k, isr, active_brokers(s, k), NO_BROKERS, election_kind(s, k), s.controller.partition.recovery)
    if fails and (before != NONE or s.controller.partition.leader == NONE):
        leave_directory(s, k, broker)
    elif fails and twice:
        s.controller.partition.leader_epoch += 1
        s.controller.partition.partition_epoch += 1
    s.controller.registrations[broker].directory_offline = s.brokers[broker].directory_failed
    commit(s, k)


def leave_directory(s: KRaft, k: Constants, broker: int) -> None:
    """Take a broker whose directory has failed out of the ISR and out of leadership; in it or not, that may elect a leader.

    Kafka 3.9: ReplicationControlManager.handleDirectoriesOffline, of the partitions in a directory.
    """
    if contains(members(s.controller.partition.replicas), broker) == 1:
        take_out(s, k, broker)


def report_directory(s: KRaft, k: Constants, broker: int) -> None:
    """Learn that the directory of a broker's replica is offline: the broker leaves the ISR, and leads no more.

    Kafka 3.9: ReplicationControlManager.handleDirectoriesOffline.
    """
    leave_directory(s, k, broker)
    s.controller.registrations[broker].directory_offline = 1
    commit(s, k)


def begin_controlled_shutdown(s: KRaft, k: Constants, broker: int) -> None:
    """Begin the controlled shutdown of a broker: it leaves the ISR, and its leadership moves.

    Kafka 3.9: ReplicationControlManager.handleBrokerInControlledShutdown.
    """
    remove_from_partition(s, k, broker)
    fire(s, k, REGISTRATION, (broker,), "begin_controlled_shutdown")
    s.controller.registrations[broker].shutdown_image = len(s.metadata)
    commit(s, k)


def unregister(s: KRaft, k: Constants, broker: int) -> None:
    """Forget a broker: it leaves the ISR, and leads no more. A member of the ELR stays there until it registers again.

    Kafka 3.9: ReplicationControlManager.handleBrokerUnregistered.
    """
    if contains(s.controller.partition.isr | s.controller.partition.elr, broker) == 1:
        take_out(s, k, broker)
    fire(s, k, REGISTRATION, (broker,), "unregister")
    s.controller.registrations[broker].shutdown_image = 0
    s.controller.registrations[broker].directory_offline = 0
    commit(s, k)


def replace_registration(s: KRaft, k: Constants, broker: int, clean: int) -> None:
    """Register a broker's new process: fenced, under a new broker epoch; `clean` is 1 if the process before ended in order.

    With the ELR, a process that ended otherwise may have lost records: its replica leaves the ISR and the ELR. Without, it leaves
    the ISR since 4.0. Kafka 4.0: ClusterControlManager.registerBroker, ReplicationControlManager.handleBrokerShutdown.
    """
    if k.elr == Checked.YES and clean == 0:
        if contains(s.controller.partition.isr | s.controller.partition.elr, broker) == 1:
            left = excluding(s.controller.partition.isr, broker)
            acceptable = excluding(active_brokers(s, k), broker)
            change_partition(s, k, left, acceptable, singleton(broker), election_kind(s, k), s.controller.partition.recovery)
    elif k.new_incarnation == NewIncarnation.LEAVES_ISR:
        remove_from_partition(s, k, broker)
    fire(s, k, REGISTRATION, (broker,), "register")
    s.controller.registrations[broker].epoch += 1
    s.controller.registrations[broker].shutdown_image = 0
    s.controller.registrations[broker].directory_offline = s.brokers[broker].directory_failed
    commit(s, k)
