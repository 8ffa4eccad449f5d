"""The controller: a function from its memory and an event to one batch of the metadata log, which is committed at once.

Each event changes registrations and the partition in memory, and then appends the image to the log. All changes of one event are
computed from the memory before it.

Source: Kafka 3.9 ReplicationControlManager.java, ClusterControlManager.java, QuorumController.java.
"""

from __future__ import annotations

from kafka_spec.spec.decisions.election import members
from kafka_spec.spec.decisions.log import same_entry
from kafka_spec.spec.decisions.partition_change import (
    awaited_replicas,
    elect_by_choice,
    elr_after,
    elr_beside,
    elr_of_replicas,
    is_unclean,
    isr_after,
    last_known_after,
    leader_epoch_grows,
    ordinary_election,
    reassignment_completes,
    recovery_after,
    replicas_leave,
    target_elr,
)
from kafka_spec.spec.decisions.variants import Checked
from kafka_spec.spec.kraft.machines import IN_ELR, IN_ISR, MEMBERSHIP, OUTSIDE, BrokerState
from kafka_spec.spec.kraft.settings import allows_unclean, least_isr
from kafka_spec.spec.kraft.state import UNKNOWN, KRaft, ProcessLife
from kafka_spec.spec.language.domain import (
    NO_BROKERS,
    BrokerSet,
    append,
    assign,
    contains,
    including,
    pop_first,
    truncate,
)
from kafka_spec.spec.vocabulary.table import Constants, fire

# ---------------------------------------------------------------------------------------------------------------------
# The metadata log


def forget_passed_images(s: KRaft, k: Constants) -> None:
    """Drop the images that every running broker has gone beyond."""
    passed = len(s.metadata) - 1
    for broker in range(k.brokers):
        if s.brokers[broker].life != ProcessLife.DOWN:
            passed = min(passed, s.brokers[broker].image)
    for _ in range(passed):
        pop_first(s.metadata)
    for broker in range(k.brokers):
        if s.brokers[broker].life != ProcessLife.DOWN:
            s.brokers[broker].image -= passed
        s.controller.registrations[broker].shutdown_image = max(0, s.controller.registrations[broker].shutdown_image - passed)


def known_epoch(s: KRaft, broker: int) -> int:
    """Return the broker epoch of a registration; -1 for a broker that is not registered."""
    registration = s.controller.registrations[broker]
    return UNKNOWN if registration.state == BrokerState.UNREGISTERED else registration.epoch


def commit(s: KRaft, k: Constants) -> None:
    """Append the batch of an event to the metadata log, as the image of the controller's memory."""
    append(s.metadata)
    newest = len(s.metadata) - 1
    for broker in range(k.brokers):
        s.metadata[newest].brokers[broker].state = s.controller.registrations[broker].state
        s.metadata[newest].brokers[broker].epoch = known_epoch(s, broker)
        s.metadata[newest].brokers[broker].directory_offline = s.controller.registrations[broker].directory_offline
    assign(s.metadata[newest].partition, s.controller.partition)
    forget_passed_images(s, k)


# ---------------------------------------------------------------------------------------------------------------------
# Changes of the partition


def active_brokers(s: KRaft, k: Constants) -> BrokerSet:
    """Return the brokers that may lead: registered, neither fenced nor in controlled shutdown, their directory online."""
    active = NO_BROKERS
    for broker in range(k.brokers):
        registration = s.controller.registrations[broker]
        if registration.state == BrokerState.UNFENCED and registration.directory_offline == 0:
            active = including(active, broker)
    return active


def registered_brokers(s: KRaft, k: Constants) -> BrokerSet:
    """Return the brokers that the controller knows."""
    known = NO_BROKERS
    for broker in range(k.brokers):
        if s.controller.registrations[broker].state != BrokerState.UNREGISTERED:
            known = including(known, broker)
    return known


def move_replicas(s: KRaft, k: Constants, isr: BrokerSet, elr: BrokerSet) -> None:
    """Bring each replica's place up to date with the ISR and the ELR."""
    for broker in range(k.brokers):
        now = s.controller.memberships[broker]
        if contains(isr, broker) == 1:
            if now != IN_ISR:
                fire(s, k, MEMBERSHIP, (broker,), "join_isr")
        elif contains(elr, broker) == 1:
            if now != IN_ELR:
                fire(s, k, MEMBERSHIP, (broker,), "keep_eligible")
        elif now == IN_ISR:
            fire(s, k, MEMBERSHIP, (broker,), "leave_isr")
        elif now != OUTSIDE:
            fire(s, k, MEMBERSHIP, (broker,), "leave_elr")


def may_delete_its_log(s: KRaft, broker: int) -> bool:
    """The broker runs, and there is an image ahead of it in which it is not a replica of its topic."""
    node = s.brokers[broker]
    if node.life == ProcessLife.DOWN:
        return node.replica.topic_id != s.controller.partition.topic_id
    return any(
        s.metadata[place].partition.topic_id != node.replica.topic_id
        or contains(members(s.metadata[place].partition.replicas), broker) == 0
        for place in range(node.image, len(s.metadata))
    )


def forget_lost_commits(s: KRaft, leader: int) -> None:
    """After an unclean election only what the new leader holds counts as committed, and nothing if it may yet delete its log."""
    s.history.unclean_epoch = s.controller.partition.leader_epoch
    held = 0 if may_delete_its_log(s, leader) else len(s.brokers[leader].replica.log)
    kept = 0
    for offset in range(min(len(s.history.committed), held)):
        if kept == offset and same_entry(s.history.committed, s.brokers[leader].replica.log, offset):
            kept = offset + 1
    truncate(s.history.committed, kept)


def drop_replicas(s: KRaft, left: BrokerSet) -> None:
    """Take brokers out of the replicas; the others keep their order."""
    for _ in range(len(s.controller.partition.replicas)):
        replica = s.controller.partition.replicas[0]
        pop_first(s.controller.partition.replicas)
        if contains(left, replica) == 0:
            append(s.controller.partition.replicas, replica)


def completes_reassignment(s: KRaft, k: Constants, isr: BrokerSet) -> bool:
    """A change that leads to this ISR completes the reassignment."""
    partition = s.controller.partition
    awaited = awaited_replicas(k.reassignment_lists, partition.adding, partition.removing)
    return reassignment_completes(k.reassignment_completion, partition.replicas, awaited, partition.removing, isr)


def elr_is_outdated(s: KRaft, k: Constants) -> bool:
    """A request that leaves the ISR as it is would change the ELR: fewer replicas need a smaller ISR, and then the ELR is empty."""
    partition = s.controller.partition
    min_isr = least_isr(k, partition.min_isr_changed, len(partition.replicas))
    elr = target_elr(partition.replicas, partition.isr, partition.elr, partition.isr, NO_BROKERS, min_isr, k.elr)
    return elr_of_replicas(elr, partition.replicas, k.elr_within_replicas) != partition.elr


def a_request_writes(s: KRaft, k: Constants) -> bool:
    """A request that asks for no change would write all the same: it completes a reassignment, or changes the ELR."""
    return completes_reassignment(s, k, s.controller.partition.isr) or elr_is_outdated(s, k)


def end_reassignment(s: KRaft, left: BrokerSet) -> None:
    """Nothing is reassigned any more, and these replicas have left."""
    drop_replicas(s, left)
    s.controller.partition.adding = NO_BROKERS
    s.controller.partition.removing = NO_BROKERS


def partition_differs(s: KRaft, isr: BrokerSet, elr: BrokerSet, recovery: int, last_known_leader: int) -> bool:
    """The partition has another ISR, ELR, recovery state or last known leader."""
    old = s.controller.partition
    return isr != old.isr or elr != old.elr or recovery != old.recovery or last_known_leader != old.last_known_leader


def change_partition(
    s: KRaft, k: Constants, isr: BrokerSet, acceptable: BrokerSet, unclean_replicas: BrokerSet, election: int, recovery: int
) -> None:
    """Change the partition towards this ISR and recovery state, and elect; nothing is written where nothing differs.

    `acceptable` may lead; `unclean_replicas` have lost records.
    """
    before = members(s.controller.partition.replicas)
    change_reassigned(s, k, before, 0, isr, acceptable, unclean_replicas, election, recovery)


def change_reassigned(
    s: KRaft,
    k: Constants,
    before: BrokerSet,
    reassigned: int,
    isr: BrokerSet,
    acceptable: BrokerSet,
    unclean_replicas: BrokerSet,
    election: int,
    recovery: int,
) -> None:
    """Change the partition, whose assignment this event has changed already if `reassigned` is 1; `before` were its replicas.

    First, the change completes a reassignment if it can. min.insync.replicas is limited by the number of replicas before. A leader
    that is elected from the ELR or uncleanly is alone in the ISR, which may be the whole target: in `fixed`, that completes it too.
    Kafka 3.9: PartitionChangeBuilder.build.
    """
    written, wanted = reassigned, isr
    if completes_reassignment(s, k, isr):
        wanted = isr & ~s.controller.partition.removing
        end_reassignment(s, s.controller.partition.removing)
        written = 1
    old = s.controller.partition
    min_isr = least_isr(k, old.min_isr_changed, sum(contains(before, broker) for broker in range(k.brokers)))
    elr = target_elr(old.replicas, old.isr, old.elr, wanted, unclean_replicas, min_isr, k.elr)
    elr = elr_of_replicas(elr, old.replicas, k.elr_within_replicas)
    leader, choice = elect_by_choice(
        election, old.replicas, old.leader, wanted, elr, old.last_known_leader, acceptable, k.elr, k.last_known_acceptable
    )
    new_isr = isr_after(choice, old.leader, leader, old.isr, wanted, elr, k.elr)
    if k.completes_after_election == Checked.YES and completes_reassignment(s, k, new_isr):
        end_reassignment(s, s.controller.partition.removing)
        written = 1
    new_elr = elr_after(choice, old.leader, leader, elr)
    new_elr = elr_beside(new_isr, new_elr, old.replicas, min_isr, k.elr_within_replicas, k.elr_kept_without_isr)
    new_recovery = recovery_after(choice, old.leader, leader, old.recovery, recovery)
    elected_uncleanly = 1 if is_unclean(choice) and leader != old.leader else 0
    leaving = replicas_leave(before, members(old.replicas))
    epochs = 1 if leaving or leader_epoch_grows(k.bump_on_shrink, old.leader, leader, old.isr, wanted, new_isr) else 0
    last_known = old.last_known_leader
    if k.elr == Checked.YES:
        last_known = last_known_after(k.last_known_leader, old.last_known_leader, old.leader, leader, epochs, old.isr, new_isr)
    if epochs == 1 or partition_differs(s, new_isr, new_elr, new_recovery, last_known):
        written = 1
    s.controller.partition.leader = leader
    s.controller.partition.isr = new_isr
    s.controller.partition.elr = new_elr
    s.controller.partition.recovery = new_recovery
    s.controller.partition.last_known_leader = last_known
    s.controller.partition.leader_epoch += epochs
    s.controller.partition.partition_epoch += written
    move_replicas(s, k, new_isr, new_elr)
    if elected_uncleanly == 1:
        forget_lost_commits(s, leader)


def there_is_a_topic(s: KRaft) -> bool:
    """The topic exists."""
    return s.controller.partition.topic_id != UNKNOWN


def election_kind(s: KRaft, k: Constants) -> int:
    """Return the kind of election of ordinary changes: unclean ones where the topic allows them."""
    return ordinary_election(allows_unclean(s, k), k.unclean_setting_honoured)
