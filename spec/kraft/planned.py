"""A partition as a cluster's metadata has it, and an action that an operator plans: KRaft from there on.

This is a version of a model of KRaft, with other initial states, and with guards that let operators do what is planned and nothing
else. The bounds `at_...` are the partition and its brokers in the metadata; broker 0 is the first replica. What the metadata does
not say is assumed:

- one record is committed. The ISR and the ELR hold it, and replicas outside hold nothing;
- active brokers have applied all metadata, brokers that are fenced do not run, and may or may not have ended in order;
- followers do not know the high watermark.
"""

from __future__ import annotations

import enum
from dataclasses import replace

from kafka_spec.spec.decisions.election import members
from kafka_spec.spec.kraft.brokers import SHUT_DOWN
from kafka_spec.spec.kraft.controller import commit, move_replicas
from kafka_spec.spec.kraft.machines import REGISTRATION, BrokerState
from kafka_spec.spec.kraft.operators import CHANGE_MIN_ISR, ELECT_PREFERRED, UNREGISTER, WRITE
from kafka_spec.spec.kraft.processes import START_BROKER, START_WITHOUT_DIRECTORY
from kafka_spec.spec.kraft.reassignment import CANCEL_REASSIGNMENT, REASSIGN
from kafka_spec.spec.kraft.replica import apply_image
from kafka_spec.spec.kraft.settings import least_isr
from kafka_spec.spec.kraft.state import BROKERS, UNKNOWN, KRaft, ProcessLife
from kafka_spec.spec.kraft.wanted import WANTED
from kafka_spec.spec.language.domain import NO_BROKERS, NONE, Bound, BrokerSet, SetOf, append, contains, excluding
from kafka_spec.spec.vocabulary.table import Constants, Rule, Spec, fire

MOST_BROKERS = BROKERS.high
"""The brokers of a partition and of what is planned for it that the model has room for."""
SETS = (1 << MOST_BROKERS) - 1

AT_REPLICAS = Bound("at_replicas", 1, MOST_BROKERS, "replicas of the partition: the first brokers")
AT_ISR = Bound("at_isr", 0, SETS, "the ISR, as a bit mask")
AT_ELR = Bound("at_elr", 0, SETS, "the ELR, as a bit mask")
AT_LEADER = Bound("at_leader", NONE, MOST_BROKERS - 1, "the leader; -1 if there is none")
AT_LAST_KNOWN = Bound("at_last_known", NONE, MOST_BROKERS - 1, "the last known leader; -1 if there is none")
AT_RECOVERY = Bound("at_recovery", 0, 1, "1 while the leader recovers from an unclean election")
AT_ADDING = Bound("at_adding", 0, SETS, "the replicas that a reassignment adds, as a bit mask")
AT_REMOVING = Bound("at_removing", 0, SETS, "the replicas that a reassignment removes, as a bit mask")
AT_ACTIVE = Bound("at_active", 0, SETS, "the brokers that are registered and not fenced, as a bit mask")
AT_STOPPING = Bound("at_stopping", 0, SETS, "those of them that are in controlled shutdown, as a bit mask")
AT_UNREGISTERED = Bound("at_unregistered", 0, SETS, "the brokers that are not registered, as a bit mask")

PLAN_STOP = Bound("plan_stop", 0, SETS, "the brokers that are to be shut down, as a bit mask")
PLAN_ONE_BY_ONE = Bound("plan_one_by_one", 0, 1, "1 if they are started again, and one is shut down at a time")
PLAN_REMOVES = Bound("plan_removes", 0, 1, "1 if they start without the log directory of the partition")
PLAN_TARGET = Bound("plan_target", 0, SETS, "the replicas that a reassignment asks for, as a bit mask; 0 if none does")
PLAN_CANCEL = Bound("plan_cancel", 0, 1, "1 if the reassignment that runs is to be cancelled")
PLAN_UNREGISTERS = Bound("plan_unregisters", 0, SETS, "the brokers that are to be unregistered, as a bit mask")
PLAN_WAIT = Bound("plan_wait", 0, 2, "what is waited for before each action: see Wait")

STATE_BOUNDS = (
    AT_REPLICAS, AT_ISR, AT_ELR, AT_LEADER, AT_LAST_KNOWN, AT_RECOVERY, AT_ADDING, AT_REMOVING, AT_ACTIVE, AT_STOPPING,
    AT_UNREGISTERED,
)  # fmt: skip
PLAN_BOUNDS = (PLAN_STOP, PLAN_ONE_BY_ONE, PLAN_REMOVES, PLAN_TARGET, PLAN_CANCEL, PLAN_UNREGISTERS, PLAN_WAIT)


class Wait(enum.IntEnum):
    """What an operator waits for before an action, besides that the processes of the plan run."""

    NOTHING = 0
    UNFENCED = 1
    """The brokers of the plan are unfenced."""
    IN_SYNC = 2
    """The ISR has every replica: no partition is under-replicated."""


# ---------------------------------------------------------------------------------------------------------------------
# The beginning


def only_fenced_ones_ended(k: Constants, orderly: BrokerSet) -> bool:
    """The brokers that ended in order are fenced. For one that is not registered it does not matter how it ended."""
    return orderly & (k.at_active | k.at_unregistered) == 0


def set_partition(s: KRaft, k: Constants) -> None:
    """Give the controller the partition of the metadata, in its epochs 0."""
    for broker in range(k.at_replicas):
        append(s.controller.partition.replicas, broker)
    partition = s.controller.partition
    partition.topic_id = 0
    partition.adding = NO_BROKERS | k.at_adding
    partition.removing = NO_BROKERS | k.at_removing
    partition.leader = k.at_leader
    partition.leader_epoch = 0
    partition.partition_epoch = 0
    partition.isr = NO_BROKERS | k.at_isr
    partition.elr = NO_BROKERS | k.at_elr
    partition.last_known_leader = k.at_last_known
    partition.recovery = k.at_recovery
    s.history.target = members(s.controller.partition.replicas) & ~k.at_removing
    if k.at_adding | k.at_removing != 0:
        s.history.origin = members(s.controller.partition.replicas) & ~k.at_adding


def set_memberships(s: KRaft, k: Constants) -> None:
    """Put each replica where it stands; the members of the ELR come out of the ISR, as their table demands."""
    move_replicas(s, k, NO_BROKERS | k.at_isr | k.at_elr, NO_BROKERS)
    move_replicas(s, k, NO_BROKERS | k.at_isr, NO_BROKERS | k.at_elr)


def set_registration(s: KRaft, k: Constants, broker: int, orderly: BrokerSet) -> None:
    """Register a broker, in the state that the metadata has, and let its process run if it is registered and not fenced."""
    fire(s, k, REGISTRATION, (broker,), "register")
    s.controller.registrations[broker].epoch = 0
    s.brokers[broker].clean_epoch = UNKNOWN
    if contains(k.at_active, broker) == 1:
        fire(s, k, REGISTRATION, (broker,), "unfence")
        s.brokers[broker].epoch = 0
        if contains(k.at_stopping, broker) == 1:
            fire(s, k, REGISTRATION, (broker,), "begin_controlled_shutdown")
            s.brokers[broker].life = ProcessLife.STOPPING
    else:
        s.brokers[broker].life = ProcessLife.DOWN
        if contains(orderly, broker) == 1:
            s.brokers[broker].clean_epoch = 0
        if contains(k.at_unregistered, broker) == 1:
            fire(s, k, REGISTRATION, (broker,), "unregister")


def set_log(s: KRaft, k: Constants, broker: int) -> None:
    """Give a replica its log on disk: with the committed record if it is in the ISR or the ELR, or was the last to lead."""
    if broker < k.at_replicas:
        s.brokers[broker].replica.topic_id = 0
        holds = contains(k.at_isr | k.at_elr, broker) == 1
        if k.at_isr | k.at_elr == 0 and k.at_last_known == broker:
            holds = True
        if holds:
            append(s.brokers[broker].replica.log, record=k.records, epoch=0, topic_id=0)


def note_followers(s: KRaft, k: Constants) -> None:
    """Let the leader know where its followers are, and that the record is committed."""
    for leader in range(k.brokers):
        if k.at_leader == leader and contains(k.at_active, leader) == 1:
            for follower in range(k.brokers):
                if follower != leader and contains(k.at_isr, follower) == 1:
                    s.brokers[leader].replica.ends[follower] = 1
                    s.brokers[leader].replica.fetch_epochs[follower] = 0
            s.brokers[leader].replica.high_watermark = 1


def begin(s: KRaft, k: Constants, orderly: BrokerSet) -> None:
    """Begin with the partition and the brokers of the metadata, and one committed record: that which clients can not write."""
    for broker in range(k.brokers):
        set_registration(s, k, broker, orderly)
    set_memberships(s, k)
    set_partition(s, k)
    commit(s, k)
    append(s.history.committed, record=k.records, epoch=0, topic_id=0)
    for broker in range(k.brokers):
        set_log(s, k, broker)
        if contains(k.at_active, broker) == 1:
            apply_image(s, k, broker)
    note_followers(s, k)


START = Rule(
    "Start",
    actor="world",
    params={"orderly": SetOf(BROKERS)},
    guards=(only_fenced_ones_ended,),
    effects=(begin,),
    summary="the metadata is as it is now; of the brokers that are down, {orderly} have ended in order",
    reference="",
)

# ---------------------------------------------------------------------------------------------------------------------
# What is planned


def stop_is_planned(s: KRaft, k: Constants, broker: int) -> bool:
    """The broker is one of those that are to be shut down, and runs since the beginning: each is shut down once.

    A broker whose process was killed, and was started again, counts as restarted.
    """
    return contains(k.plan_stop, broker) == 1 and s.controller.registrations[broker].epoch == 0


def stops_have_their_turn(s: KRaft, k: Constants) -> bool:
    """No other broker of the plan is down, if they are shut down one at a time; with `Wait.UNFENCED` all of them are unfenced."""
    for other in range(k.brokers):
        if contains(k.plan_stop, other) == 1 and k.plan_one_by_one == 1:
            if s.brokers[other].life != ProcessLife.UP:
                return False
            if k.plan_wait == Wait.UNFENCED and s.controller.registrations[other].state != BrokerState.UNFENCED:
                return False
    return True


def removal_is_planned(k: Constants, broker: int) -> bool:
    """The broker is to start without the directory of its log."""
    return k.plan_removes == 1 and contains(k.plan_stop, broker) == 1


def directory_is_there(s: KRaft, k: Constants, broker: int) -> bool:
    """The broker does not have to start without its directory: that is not planned, or done already."""
    return not removal_is_planned(k, broker) or s.spent.removed_directories > 0


def replicas_are_in_sync(s: KRaft, k: Constants) -> bool:
    """With `Wait.IN_SYNC`, every replica is in the ISR, but for those that leave for good."""
    if k.plan_wait != Wait.IN_SYNC:
        return True
    awaited = members(s.controller.partition.replicas) & ~k.plan_unregisters
    for broker in range(k.brokers):
        gone = s.brokers[broker].life != ProcessLife.UP and contains(k.plan_stop, broker) == 1
        if gone and k.plan_one_by_one == 0:
            awaited = excluding(awaited, broker)
    return awaited & ~s.controller.partition.isr == 0


def target_is_planned(k: Constants, target: BrokerSet) -> bool:
    """The reassignment asks for what is planned."""
    return target == k.plan_target


def cancellation_is_planned(k: Constants) -> bool:
    """The reassignment is to be cancelled."""
    return k.plan_cancel == 1


def write_is_accepted(s: KRaft, k: Constants, leader: int) -> bool:
    """The leader's ISR has min.insync.replicas members: else a write with acks=all is refused (NOT_ENOUGH_REPLICAS)."""
    mine = s.brokers[leader].replica
    in_sync = sum(contains(mine.isr, broker) for broker in range(k.brokers))
    assigned = sum(contains(mine.assigned, broker) for broker in range(k.brokers))
    return in_sync >= least_isr(k, mine.min_isr_changed, assigned)


def unregistration_is_planned(k: Constants, broker: int) -> bool:
    """The broker is one of those that are to be unregistered; the bound on that counts them."""
    return contains(k.plan_unregisters, broker) == 1


PLANNED_RULES = (
    replace(WRITE, guards=(*WRITE.guards, write_is_accepted)),
    replace(SHUT_DOWN, guards=(stops_have_their_turn, replicas_are_in_sync, stop_is_planned, *SHUT_DOWN.guards)),
    replace(START_BROKER, guards=(directory_is_there, *START_BROKER.guards)),
    replace(START_WITHOUT_DIRECTORY, guards=(removal_is_planned, *START_WITHOUT_DIRECTORY.guards)),
    replace(REASSIGN, guards=(replicas_are_in_sync, *REASSIGN.guards, target_is_planned)),
    replace(CHANGE_MIN_ISR, guards=(replicas_are_in_sync, *CHANGE_MIN_ISR.guards)),
    replace(ELECT_PREFERRED, guards=(replicas_are_in_sync, *ELECT_PREFERRED.guards)),
    replace(UNREGISTER, guards=(replicas_are_in_sync, unregistration_is_planned, *UNREGISTER.guards)),
    replace(CANCEL_REASSIGNMENT, guards=(cancellation_is_planned, replicas_are_in_sync, *CANCEL_REASSIGNMENT.guards)),
)


def planned(spec: Spec) -> Spec:
    """Return a model of KRaft from the metadata of a cluster on, with planned actions alone."""
    return spec.replacing(
        f"{spec.name} as planned",
        f"{spec.summary}; from a cluster's metadata on",
        rules=PLANNED_RULES,
        properties=WANTED,
        start=START,
        more_bounds=(*spec.more_bounds, *STATE_BOUNDS, *PLAN_BOUNDS),
        bound_sets=(),
        unreachable_rules=(),
    )
