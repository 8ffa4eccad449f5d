"""What the control plane promises, as predicates over states and steps, and the goals that an exploration must reach.

The same claims are made of every era; which of them an era keeps is what the checks find out. The names in capitals among the
sources are those of the list of known bugs: NOSTALE, ONEWRITER, ISRNE, ISRLIVE, COMMITTED, LOGMATCH, HWMONO, CONVERGE.
"""

from __future__ import annotations

from kafka_spec.spec.control.broker.requests import a_request_arrives, what_is_over
from kafka_spec.spec.control.controller.broker_changes import brokers_have_changed
from kafka_spec.spec.control.controller.steps import controller_is_fenced
from kafka_spec.spec.control.controller.topics import a_topic_is_new, isr_has_changed
from kafka_spec.spec.control.state import ACTIVE, ELECTING, LOADING, NO_EPOCH, STANDBY, Life, Role, Stale, Step, World
from kafka_spec.spec.domain import NONE, contains
from kafka_spec.spec.election import members
from kafka_spec.spec.log import holds_same_prefix, same_entry
from kafka_spec.spec.partition import PartitionState
from kafka_spec.spec.replica import ReplicaState
from kafka_spec.spec.table import Constants, Property, invariant, reachable, recoverable, step_invariant

# ---------------------------------------------------------------------------------------------------------------------
# Epochs


def two_believe_to_lead(s: World, k: Constants) -> bool:
    """Two replicas lead at once."""
    leaders = 0
    for broker in range(k.brokers):
        if s.brokers[broker].replica.role == Role.LEADER:
            leaders += 1
    return leaders > 1


def one_leader_in_each_epoch(s: World, k: Constants) -> bool:
    """No two brokers lead under the same leader epoch."""
    for one in range(k.brokers):
        for other in range(one):
            if s.brokers[one].replica.role == Role.LEADER and s.brokers[other].replica.role == Role.LEADER:
                if s.brokers[one].replica.leader_epoch == s.brokers[other].replica.leader_epoch:
                    return False
    return True


def an_epoch_changes(before: World, after: World, k: Constants) -> bool:
    """A leader epoch or a controller epoch changes, in ZooKeeper or on a broker."""
    if after.zookeeper.controller_epoch != before.zookeeper.controller_epoch:
        return True
    if after.zookeeper.partition.leader_epoch != before.zookeeper.partition.leader_epoch:
        return True
    for broker in range(k.brokers):
        old = before.brokers[broker]
        new = after.brokers[broker]
        if new.controller_epoch != old.controller_epoch or new.replica.leader_epoch != old.replica.leader_epoch:
            return True
    return False


def epochs_never_go_back(before: World, after: World, k: Constants) -> bool:
    """Leader epoch and controller epoch grow, in ZooKeeper, and on a broker while its registration is the same."""
    if after.zookeeper.controller_epoch < before.zookeeper.controller_epoch:
        return False
    if after.zookeeper.partition.leader_epoch < before.zookeeper.partition.leader_epoch:
        return False
    for broker in range(k.brokers):
        old = before.brokers[broker]
        new = after.brokers[broker]
        if old.broker_epoch == new.broker_epoch:
            if new.controller_epoch < old.controller_epoch or new.replica.leader_epoch < old.replica.leader_epoch:
                return False
    return True


def the_leader_changes(before: World, after: World) -> bool:
    """ZooKeeper gets another leader, or loses the one it has."""
    return before.zookeeper.partition.leader != after.zookeeper.partition.leader


def the_leader_epoch_grows(before: World, after: World) -> bool:
    """ZooKeeper gets a larger leader epoch."""
    return before.zookeeper.partition.leader_epoch < after.zookeeper.partition.leader_epoch


def a_request_is_stale(s: World, k: Constants) -> bool:
    """A request waits for a broker that runs though its generation is over, or has taken effect so."""
    for broker in range(k.brokers):
        if s.brokers[broker].stale != Stale.NOTHING:
            return True
        for controller in range(k.brokers):
            if a_request_arrives(s, controller, broker) and what_is_over(s, controller, broker) != Stale.NOTHING:
                return True
    return False


def no_stale_request_takes_effect(s: World, k: Constants) -> bool:
    """No broker has believed a request whose generation was over."""
    for broker in range(k.brokers):
        if s.brokers[broker].stale != Stale.NOTHING:
            return False
    return True


# ---------------------------------------------------------------------------------------------------------------------
# Controllers


def a_controller_writes(before: World, after: World) -> bool:
    """A controller writes the partition state: the leader epoch changes."""
    return before.zookeeper.partition.leader_epoch != after.zookeeper.partition.leader_epoch


def writer_is_the_newest_controller(before: World, after: World) -> bool:
    """The partition state is written under the newest controller epoch."""
    return after.zookeeper.partition.controller_epoch == before.zookeeper.controller_epoch


def holder_has_an_epoch(s: World) -> bool:
    """Somebody holds /controller, and has an epoch."""
    holder = s.zookeeper.controller
    return holder != NONE and s.controllers[holder].life != STANDBY and s.controllers[holder].life != ELECTING


def holder_has_newest_epoch(s: World) -> bool:
    """Who holds /controller has the newest controller epoch."""
    return s.controllers[s.zookeeper.controller].epoch == s.zookeeper.controller_epoch


def two_have_controller_epochs(s: World, k: Constants) -> bool:
    """Two brokers work under controller epochs."""
    controllers = 0
    for controller in range(k.brokers):
        if s.controllers[controller].epoch != 0:
            controllers += 1
    return controllers > 1


def one_controller_in_each_epoch(s: World, k: Constants) -> bool:
    """No two controllers work under the same controller epoch."""
    for one in range(k.brokers):
        for other in range(one):
            if s.controllers[one].epoch == s.controllers[other].epoch and s.controllers[one].epoch != 0:
                return False
    return True


def holder_loses_its_znode(before: World, after: World) -> bool:
    """Who held /controller holds it no more."""
    return before.zookeeper.controller != NONE and after.zookeeper.controller != before.zookeeper.controller


def holder_is_gone_or_gives_up(before: World, after: World) -> bool:
    """The session of who held /controller is over, or it is no controller any more."""
    holder = before.zookeeper.controller
    return (
        after.brokers[holder].has_session == 0 or after.controllers[holder].life == STANDBY or holder_bounced(before, after, holder)
    )


def holder_bounced(before: World, after: World, holder: int) -> bool:
    """The holder's process ended and began again."""
    return before.zookeeper.broker_epochs[holder] != after.zookeeper.broker_epochs[holder]


def writer_knows_what_it_wrote(after: World, k: Constants) -> bool:
    """The cache of the controller that wrote equals ZooKeeper."""
    state = after.zookeeper.partition
    for controller in range(k.brokers):
        cached = after.controllers[controller].context.leadership
        if after.controllers[controller].epoch == state.controller_epoch:
            if cached.leader == state.leader and cached.leader_epoch == state.leader_epoch:
                if cached.isr == state.isr and cached.version == state.version:
                    return True
    return False


# ---------------------------------------------------------------------------------------------------------------------
# The ISR


def there_is_a_leader(s: World) -> bool:
    """There is a leader in ZooKeeper."""
    return s.zookeeper.partition.leader != NONE


def leader_is_in_isr(s: World) -> bool:
    """ZooKeeper's leader is in ZooKeeper's ISR."""
    return contains(s.zookeeper.partition.isr, s.zookeeper.partition.leader) == 1


def there_is_an_isr(s: World) -> bool:
    """The state znode of the partition was written."""
    return s.zookeeper.partition.leader_epoch != NO_EPOCH


def isr_is_not_empty(s: World) -> bool:
    """ZooKeeper's ISR has a member."""
    return s.zookeeper.partition.isr != 0


def isr_is_assigned(s: World) -> bool:
    """The ISR holds assigned replicas only."""
    return s.zookeeper.partition.isr & ~members(s.zookeeper.assignment) == 0


def somebody_was_removed(s: World) -> bool:
    """Some broker was taken out of the ISR as dead, and has not registered since."""
    return s.notes.removed != 0


def the_dead_stay_out_of_the_isr(s: World) -> bool:
    """Who was taken out of the ISR as dead is not in it again unless it has registered."""
    return s.zookeeper.partition.isr & s.notes.removed == 0


# ---------------------------------------------------------------------------------------------------------------------
# Logs


def a_leader_has_to_hold_records(s: World, k: Constants) -> bool:
    """A record is committed, and somebody leads under the newest leader epoch."""
    for broker in range(k.brokers):
        replica = s.brokers[broker].replica
        if replica.role == Role.LEADER and replica.leader_epoch == s.zookeeper.partition.leader_epoch:
            return len(s.notes.committed) > 0
    return False


def leaders_hold_what_is_committed(s: World, k: Constants) -> bool:
    """Who leads under the newest leader epoch holds all that was committed."""
    for broker in range(k.brokers):
        replica = s.brokers[broker].replica
        if replica.role == Role.LEADER and replica.leader_epoch == s.zookeeper.partition.leader_epoch:
            if not holds_same_prefix(replica.log, s.notes.committed, len(s.notes.committed)):
                return False
    return True


def two_high_watermarks_are_above_zero(s: World, k: Constants) -> bool:
    """Two logs have records below their high watermarks, and no election was unclean."""
    logs = 0
    for broker in range(k.brokers):
        replica = s.brokers[broker].replica
        if replica.high_watermark > 0 and len(replica.log) > 0:
            logs += 1
    return logs > 1 and s.notes.unclean_epoch == NO_EPOCH


def logs_agree_below_high_watermarks(s: World, k: Constants) -> bool:
    """No two logs hold different entries at an offset below both high watermarks."""
    for one in range(k.brokers):
        for other in range(one):
            mine = s.brokers[one].replica
            theirs = s.brokers[other].replica
            for offset in range(min(min(mine.high_watermark, theirs.high_watermark), min(len(mine.log), len(theirs.log)))):
                if not same_entry(mine.log, theirs.log, offset):
                    return False
    return True


def a_high_watermark_is_above_zero(before: World, after: World, k: Constants) -> bool:
    """Some high watermark is above 0, before the step or after it."""
    for broker in range(k.brokers):
        if before.brokers[broker].replica.high_watermark > 0 or after.brokers[broker].replica.high_watermark > 0:
            return True
    return False


def high_watermarks_of_leaders_grow(before: World, after: World, k: Constants) -> bool:
    """A leader's high watermark never goes back within its leader epoch, and never passes its log."""
    for broker in range(k.brokers):
        old = before.brokers[broker].replica
        new = after.brokers[broker].replica
        if new.high_watermark > len(new.log):
            return False
        if old.role == Role.LEADER and new.role == Role.LEADER and old.leader_epoch == new.leader_epoch:
            if new.high_watermark < old.high_watermark:
                return False
    return True


# ---------------------------------------------------------------------------------------------------------------------
# Quiet, and what must be true then


def nothing_waits(s: World, k: Constants) -> bool:
    """No request waits in any channel."""
    for controller in range(k.brokers):
        for broker in range(k.brokers):
            if len(s.controllers[controller].channels[broker].requests) > 0:
                return False
    return True


def only_the_holder_controls(s: World, k: Constants) -> bool:
    """Nobody works as a controller but the holder of /controller, and no running broker is without a session."""
    for broker in range(k.brokers):
        if s.controllers[broker].life != STANDBY and s.zookeeper.controller != broker:
            return False
        if s.brokers[broker].life != Life.DOWN and s.brokers[broker].has_session == 0:
            return False
    return True


def is_quiet(s: World, k: Constants) -> bool:
    """The controller is between events and has none pending, nothing is on its way, and nobody else takes part."""
    holder = s.zookeeper.controller
    if holder == NONE or s.controllers[holder].life != ACTIVE or s.controllers[holder].step != Step.IDLE:
        return False
    if brokers_have_changed(s, k, holder) or isr_has_changed(s, holder) or a_topic_is_new(s, holder):
        return False
    return only_the_holder_controls(s, k) and nothing_waits(s, k)


def settled_members(s: World, k: Constants) -> int:
    """Return the assigned brokers that are registered and not shutting down."""
    brokers = 0
    for broker in range(k.brokers):
        if s.brokers[broker].life == Life.UP and contains(s.zookeeper.registered & members(s.zookeeper.assignment), broker) == 1:
            brokers = brokers | (1 << broker)
    return brokers


def leader_is_registered_or_none_can_be(s: World, k: Constants) -> bool:
    """The leader in ZooKeeper is registered; or there is none, and no member of the ISR is up."""
    state = s.zookeeper.partition
    if state.leader_epoch == NO_EPOCH:
        return settled_members(s, k) == 0
    if state.leader == NONE:
        return state.isr & settled_members(s, k) == 0
    return contains(s.zookeeper.registered, state.leader) == 1


def replicas_know_the_epoch(s: World, k: Constants) -> bool:
    """Every assigned replica that is up has applied the leader epoch, and follows the leader or leads."""
    state = s.zookeeper.partition
    for broker in range(k.brokers):
        if contains(settled_members(s, k), broker) == 1:
            replica = s.brokers[broker].replica
            if replica.leader_epoch != state.leader_epoch or replica.leader != state.leader:
                return False
            if (replica.role == Role.LEADER) != (state.leader == broker) or (broker != state.leader and replica.fetching == 0):
                return False
    return True


def nobody_leads_at_an_older_epoch(s: World, k: Constants) -> bool:
    """No running broker believes that it leads under an older leader epoch."""
    for broker in range(k.brokers):
        if s.brokers[broker].replica.role == Role.LEADER:
            if s.brokers[broker].replica.leader_epoch < s.zookeeper.partition.leader_epoch:
                return False
    return True


def topic_exists(s: World) -> bool:
    """The topic was created."""
    return len(s.zookeeper.assignment) > 0


def a_topic_is_quiet(s: World, k: Constants) -> bool:
    """The topic exists, and all is quiet."""
    return topic_exists(s) and is_quiet(s, k)


def a_leader_is_quiet(s: World, k: Constants) -> bool:
    """There is a leader, and all is quiet."""
    return there_is_a_leader(s) and is_quiet(s, k)


def nobody_runs(s: World, k: Constants) -> bool:
    """No broker runs, so nothing can happen by itself."""
    for broker in range(k.brokers):
        if s.brokers[broker].life != Life.DOWN:
            return False
    return True


def is_recovered(s: World, k: Constants) -> bool:
    """All is quiet, everybody knows leader and epoch, and the ISR is all replicas that are up; or nobody runs."""
    if nobody_runs(s, k):
        return True
    if not is_quiet(s, k):
        return False
    if not topic_exists(s):
        return True
    state = s.zookeeper.partition
    if state.leader == NONE:
        return leader_is_registered_or_none_can_be(s, k)
    if not (leader_is_registered_or_none_can_be(s, k) and replicas_know_the_epoch(s, k) and nobody_leads_at_an_older_epoch(s, k)):
        return False
    return s.brokers[state.leader].life != Life.UP or state.isr == settled_members(s, k)


# ---------------------------------------------------------------------------------------------------------------------
# Goals


def a_partition_is(s: World, k: Constants, state: int) -> bool:
    """Some controller takes the partition for this."""
    for controller in range(k.brokers):
        if s.controllers[controller].partition == state:
            return True
    return False


def a_replica_is(s: World, k: Constants, state: int) -> bool:
    """Some controller takes some replica for this."""
    for controller in range(k.brokers):
        for replica in range(k.brokers):
            if s.controllers[controller].replicas[replica] == state:
                return True
    return False


def a_controller_is(s: World, k: Constants, state: int) -> bool:
    """Some broker is this as a controller."""
    for controller in range(k.brokers):
        if s.controllers[controller].life == state:
            return True
    return False


def a_partition_is_new(s: World, k: Constants) -> bool:
    """Some controller takes the partition for new."""
    return a_partition_is(s, k, PartitionState.NEW)


def a_partition_is_online(s: World, k: Constants) -> bool:
    """Some controller takes the partition for online."""
    return a_partition_is(s, k, PartitionState.ONLINE)


def a_partition_is_offline(s: World, k: Constants) -> bool:
    """Some controller takes the partition for offline."""
    return a_partition_is(s, k, PartitionState.OFFLINE)


def a_replica_is_new(s: World, k: Constants) -> bool:
    """Some controller takes a replica for new."""
    return a_replica_is(s, k, ReplicaState.NEW)


def a_replica_is_online(s: World, k: Constants) -> bool:
    """Some controller takes a replica for online."""
    return a_replica_is(s, k, ReplicaState.ONLINE)


def a_replica_is_offline(s: World, k: Constants) -> bool:
    """Some controller takes a replica for offline."""
    return a_replica_is(s, k, ReplicaState.OFFLINE)


def a_dead_replica_is_seeded(s: World, k: Constants) -> bool:
    """Some controller has seeded a dead replica as ineligible for deletion."""
    return a_replica_is(s, k, ReplicaState.DELETION_INELIGIBLE)


def a_controller_is_loading(s: World, k: Constants) -> bool:
    """Some controller takes over."""
    return a_controller_is(s, k, LOADING)


def a_controller_is_active(s: World, k: Constants) -> bool:
    """Some controller handles events."""
    return a_controller_is(s, k, ACTIVE)


def a_role_is(s: World, k: Constants, role: int) -> bool:
    """Some broker's replica has this role."""
    for broker in range(k.brokers):
        if s.brokers[broker].replica.role == role:
            return True
    return False


def a_replica_leads(s: World, k: Constants) -> bool:
    """Some broker's replica leads."""
    return a_role_is(s, k, Role.LEADER)


def a_replica_follows(s: World, k: Constants) -> bool:
    """Some broker's replica follows."""
    return a_role_is(s, k, Role.FOLLOWER)


def a_second_leader_was_elected(s: World) -> bool:
    """A leader was elected cleanly after the first."""
    state = s.zookeeper.partition
    return state.leader_epoch > 0 and state.leader != NONE and s.notes.unclean_epoch == NO_EPOCH


def an_election_was_unclean(s: World) -> bool:
    """A leader was elected from outside the ISR."""
    return s.notes.unclean_epoch != NO_EPOCH


def a_zombie_is_fenced(s: World, k: Constants) -> bool:
    """Some controller is about to write under an epoch that is over."""
    for controller in range(k.brokers):
        if controller_is_fenced(s, k, controller):
            return True
    return False


def a_bounce_is_noticed(s: World, k: Constants) -> bool:
    """Some controller handles a broker that came back before it was missed."""
    for controller in range(k.brokers):
        if s.controllers[controller].context.rejoining != 0:
            return True
    return False


def all_is_quiet_after_a_fail_over(s: World, k: Constants) -> bool:
    """All is quiet again under a second controller."""
    return s.zookeeper.controller_epoch > 1 and topic_exists(s) and is_quiet(s, k)


def two_believe_to_control(s: World, k: Constants) -> bool:
    """Two controllers are active at once."""
    active = 0
    for controller in range(k.brokers):
        if s.controllers[controller].life == ACTIVE:
            active += 1
    return active > 1


SAFETY: tuple[Property, ...] = (
    invariant(
        "OneLeaderInEachEpoch",
        one_leader_in_each_epoch,
        "at most one replica leads the partition under one leader epoch",
        "Kafka's replication protocol; two-leader scenario of KAFKA-532",
        when=two_believe_to_lead,
    ),
    step_invariant(
        "EpochsNeverGoBack",
        epochs_never_go_back,
        "leader epoch and controller epoch never go back, in ZooKeeper and on a broker within one registration",
        "ONEWRITER; Kafka 2.8 ReplicaManager.becomeLeaderOrFollower",
        when=an_epoch_changes,
    ),
    step_invariant(
        "LeaderChangesWithItsEpoch",
        the_leader_epoch_grows,
        "another leader in ZooKeeper comes with a larger leader epoch",
        "Kafka 2.8 LeaderAndIsr.newLeader",
        when=the_leader_changes,
    ),
    invariant(
        "NoStaleRequest",
        no_stale_request_takes_effect,
        "no request takes effect after its receiver, in this registration, has seen a newer controller epoch or leader epoch, "
        "and none that was meant for an earlier registration",
        "NOSTALE: KAFKA-532, KAFKA-7235, KIP-380, KIP-570",
        when=a_request_is_stale,
    ),
    step_invariant(
        "OneWriter",
        writer_is_the_newest_controller,
        "a controller's write of the partition state takes effect only while its epoch is the newest",
        "ONEWRITER: KAFKA-6082",
        when=a_controller_writes,
    ),
    invariant(
        "HolderHasNewestEpoch",
        holder_has_newest_epoch,
        "the holder of /controller has the newest controller epoch",
        "ONEWRITER: KAFKA-6082, the two-step election",
        when=holder_has_an_epoch,
    ),
    invariant(
        "OneControllerInEachEpoch",
        one_controller_in_each_epoch,
        "no two controllers work under the same controller epoch",
        "ONEWRITER: KAFKA-1096",
        when=two_have_controller_epochs,
    ),
    step_invariant(
        "ControllerKeepsItsZnode",
        holder_is_gone_or_gives_up,
        "/controller goes only with its holder's session, or when its holder gives it up",
        "ONEWRITER: KAFKA-6082, resignation",
        when=holder_loses_its_znode,
    ),
    step_invariant(
        "WriterKnowsWhatItWrote",
        writer_knows_what_it_wrote,
        "after a controller's own write its cache equals ZooKeeper",
        "Kafka 2.8 KafkaZkClient.updateLeaderAndIsr and ControllerContext.putPartitionLeadershipInfo",
        when=a_controller_writes,
    ),
    invariant(
        "LeaderInIsr",
        leader_is_in_isr,
        "the leader is in the ISR, or there is none",
        "ISRNE: KAFKA-708",
        when=there_is_a_leader,
    ),
    invariant(
        "IsrNeverEmpty",
        isr_is_not_empty,
        "the ISR has a member",
        "ISRNE: KAFKA-708, KAFKA-5083",
        when=there_is_an_isr,
    ),
    invariant(
        "IsrAssigned",
        isr_is_assigned,
        "the ISR holds assigned replicas only",
        "ISR within the assignment",
        when=there_is_an_isr,
    ),
    invariant(
        "DeadStayOutOfIsr",
        the_dead_stay_out_of_the_isr,
        "a broker that a controller took out of the ISR as dead is not in it again unless it registered again",
        "ISRLIVE",
        when=somebody_was_removed,
    ),
    invariant(
        "Committed",
        leaders_hold_what_is_committed,
        "who leads under the newest leader epoch holds all that was committed",
        "COMMITTED: KIP-101, KAFKA-14617",
        when=a_leader_has_to_hold_records,
    ),
    invariant(
        "LogMatch",
        logs_agree_below_high_watermarks,
        "two logs never hold different records at an offset below both high watermarks, unless an election was unclean",
        "LOGMATCH: KIP-101, KIP-279",
        when=two_high_watermarks_are_above_zero,
    ),
    step_invariant(
        "HighWatermarkGrows",
        high_watermarks_of_leaders_grow,
        "a leader's high watermark never goes back within its leader epoch, and never passes the end of its log",
        "HWMONO",
        when=a_high_watermark_is_above_zero,
    ),
    invariant(
        "QuietLeaderIsRegistered",
        leader_is_registered_or_none_can_be,
        "when all is quiet the leader is registered; or there is none, and no member of the ISR is up",
        "CONVERGE: KAFKA-3143, KAFKA-7235",
        when=a_topic_is_quiet,
    ),
    invariant(
        "QuietReplicasKnowTheEpoch",
        replicas_know_the_epoch,
        "when all is quiet every assigned replica that is up has applied the newest leader epoch, and its fetcher runs",
        "CONVERGE: KAFKA-1188, KAFKA-7235",
        when=a_leader_is_quiet,
    ),
    invariant(
        "QuietLeadersAreOfNewestEpoch",
        nobody_leads_at_an_older_epoch,
        "when all is quiet and there is a leader, nobody leads under an older leader epoch: a demoted leader, in controlled "
        "shutdown too, was told",
        "CONVERGE: KAFKA-7482",
        when=a_leader_is_quiet,
    ),
)
"""What must never be otherwise."""

OLD_LEADERS_STOP = invariant(
    "OldLeadersStop",
    nobody_leads_at_an_older_epoch,
    "when all is quiet nobody leads under an older leader epoch, not even while the partition has no leader",
    "a claim that no Kafka keeps: a LeaderAndIsr without a leader changes nothing on a broker",
    when=is_quiet,
)
"""Stricter than what Kafka promises; no part of `fixed`."""

RECOVERS = recoverable(
    "Recovers",
    is_recovered,
    "the protocol alone finds a way back: the leader is registered, or none can be; every replica that is up has applied the "
    "newest leader epoch and fetches; the ISR is all of them; nobody leads at an older epoch",
    "CONVERGE",
)
"""What must always be possible again."""

GOALS: tuple[Property, ...] = (
    reachable("PartitionNew", a_partition_is_new, "a partition is new", "goal"),
    reachable("PartitionOnline", a_partition_is_online, "a partition is online", "goal"),
    reachable("PartitionOffline", a_partition_is_offline, "a partition is offline", "goal"),
    reachable("ReplicaNew", a_replica_is_new, "a replica is new", "goal"),
    reachable("ReplicaOnline", a_replica_is_online, "a replica is online", "goal"),
    reachable("ReplicaOffline", a_replica_is_offline, "a replica is offline", "goal"),
    reachable("DeadReplicaSeeded", a_dead_replica_is_seeded, "a fail-over seeds a dead replica", "goal"),
    reachable("ControllerLoading", a_controller_is_loading, "a controller takes over", "goal"),
    reachable("ControllerActive", a_controller_is_active, "a controller handles events", "goal"),
    reachable("ReplicaLeads", a_replica_leads, "a replica leads", "goal"),
    reachable("ReplicaFollows", a_replica_follows, "a replica follows", "goal"),
    reachable("CleanElection", a_second_leader_was_elected, "a second leader is elected from the ISR", "goal"),
    reachable("UncleanElection", an_election_was_unclean, "a leader is elected from outside the ISR", "goal"),
    reachable("ZombieFenced", a_zombie_is_fenced, "a controller whose epoch is over is about to write, and is refused", "goal"),
    reachable("BounceNoticed", a_bounce_is_noticed, "a controller handles a bounce", "goal"),
    reachable("QuietAgain", all_is_quiet_after_a_fail_over, "all is quiet again under another controller", "goal"),
    reachable("TwoControllers", two_believe_to_control, "two brokers believe that they are the controller", "goal"),
    reachable("TwoLeaders", two_believe_to_lead, "two replicas believe that they lead, under different epochs", "goal"),
)
"""What an exploration must reach, or it has proved little."""
