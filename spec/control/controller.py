"""The controller: election, fail-over, broker changes, topic creation, elections of leaders, controlled shutdown, resignation.

An event is handled in steps with at most one ZooKeeper operation each; between them other brokers, ZooKeeper and faults have
their turn. What is left of an event is data: `step` and the sets in `context`. Requests are put into channels in the step of the
write that they tell of: until they arrive they are lost with their controller anyway. The two tables decide what becomes of
partition and replicas; this module states their guards and effects, and fires them.

Source: Kafka 2.8 KafkaController.scala, PartitionStateMachine.scala, ReplicaStateMachine.scala.
"""

from __future__ import annotations

from kafka_spec.spec.control.decisions import (
    Checked,
    ControllerElection,
    DeadReplicas,
    EpochWatch,
    GivingUp,
    LastIsrMember,
    OfflineRecipients,
    ShrinkRecipients,
    ShutdownRecipients,
)
from kafka_spec.spec.control.network import (
    discard_channels,
    send_leader_and_isr,
    send_leader_and_isr_to_all,
    send_stop_replica_to,
    send_update_metadata,
)
from kafka_spec.spec.control.state import (
    ACTIVE,
    BROKERS,
    CONTROLLER,
    ELECTING,
    LOADING,
    NO_EPOCH,
    STANDBY,
    Life,
    Step,
    Strategy,
    World,
)
from kafka_spec.spec.control.zookeeper import (
    create_controller_and_increment_epoch,
    create_state,
    fence_holds,
    read_state,
    register,
    write_state,
)
from kafka_spec.spec.domain import NONE, Broker, contains, including, only, reset, truncate
from kafka_spec.spec.election import (
    elect_controlled_shutdown,
    elect_offline,
    elect_preferred,
    first_leader_and_isr,
    isr_without,
    leader_without,
    members,
    unclean_election_is_permitted,
)
from kafka_spec.spec.log import divergence_offset
from kafka_spec.spec.partition import PARTITION, PartitionState
from kafka_spec.spec.replica import REPLICA
from kafka_spec.spec.table import Constants, Rule, fire

KAFKA = "Kafka 2.8 KafkaController"
ANY_CONTROLLER = {"controller": Broker(BROKERS)}

# ---------------------------------------------------------------------------------------------------------------------
# What a controller knows


def live_brokers(s: World, controller: int) -> int:
    """Return the brokers that can lead, as far as the controller knows: registered, and not shutting down."""
    return s.controllers[controller].context.live & ~s.controllers[controller].context.stopping


def assigned_replicas(s: World, controller: int) -> int:
    """Return the replicas of the partition, once the controller knows the topic."""
    if s.controllers[controller].context.knows_topic == 0:
        return 0
    return members(s.zookeeper.assignment)


def leadership_is_known(s: World, controller: int) -> bool:
    """The controller has leader and ISR of the partition in its cache."""
    return s.controllers[controller].context.leadership.leader_epoch != NO_EPOCH


def leadership_is_unknown(s: World, controller: int) -> bool:
    """The controller knows no leader and ISR of the partition: it never had any."""
    return s.controllers[controller].context.leadership.leader_epoch == NO_EPOCH


def cached_leader_is_live(s: World, controller: int) -> bool:
    """The cached leader is a live broker."""
    leader = s.controllers[controller].context.leadership.leader
    return leader != NONE and contains(live_brokers(s, controller), leader) == 1


def cached_leader_is_not_live(s: World, controller: int) -> bool:
    """The cached leader is dead, shutting down, or nobody."""
    return not cached_leader_is_live(s, controller)


def is_handling_no_event(s: World, controller: int) -> bool:
    """The controller is active, and between two events."""
    return s.controllers[controller].life == ACTIVE and s.controllers[controller].step == Step.IDLE


# ---------------------------------------------------------------------------------------------------------------------
# The partition table's guards and effects


def an_assigned_replica_is_live(s: World, controller: int) -> bool:
    """Some assigned replica is on a live broker."""
    return members(s.zookeeper.assignment) & live_brokers(s, controller) != 0


def state_znode_is_absent(s: World) -> bool:
    """ZooKeeper holds no state of the partition yet: otherwise the creation answers NODEEXISTS, and the partition stays new."""
    return s.zookeeper.partition.leader_epoch == NO_EPOCH


def create_state_znode(s: World, controller: int) -> None:
    """Create the state znode: the first live replica leads, all live ones are in sync."""
    leader, isr, _ = first_leader_and_isr(s.zookeeper.assignment, live_brokers(s, controller))
    create_state(s, controller, leader, isr)


def send_leader_and_isr_to_first_isr(s: World, k: Constants, controller: int) -> None:
    """Send LeaderAndIsr to the members of the first ISR, and to nobody else."""
    send_leader_and_isr_to_all(s, k, controller, s.controllers[controller].context.leadership.isr)


def no_newer_controller_wrote(s: World, controller: int) -> bool:
    """The state znode was not written under a newer controller epoch; it exists."""
    state = s.zookeeper.partition
    return state.leader_epoch != NO_EPOCH and state.controller_epoch <= s.controllers[controller].epoch


def elected(s: World, k: Constants, controller: int) -> tuple[int, int, int]:
    """Return leader, ISR and recipients as the strategy at hand elects them from the state znode."""
    context = s.controllers[controller].context
    live = live_brokers(s, controller)
    isr = s.zookeeper.partition.isr
    if context.strategy == Strategy.PREFERRED:
        leader, left, told = elect_preferred(s.zookeeper.assignment, live, isr)
    elif context.strategy == Strategy.CONTROLLED_SHUTDOWN:
        leader, left, told = elect_controlled_shutdown(s.zookeeper.assignment, live, context.stopping, isr)
        if k.shutdown_recipients == ShutdownRecipients.LIVE:
            told = told & ~context.stopping
    else:
        unclean = unclean_election_is_permitted(isr, live, 0, k.unclean)
        leader, left, told = elect_offline(s.zookeeper.assignment, live, isr, unclean)
        if k.offline_recipients == OfflineRecipients.LIVE_OR_STOPPING:
            told = told | (members(s.zookeeper.assignment) & context.stopping)
    return leader, left, told


def a_leader_can_be_elected(s: World, k: Constants, controller: int) -> bool:
    """The strategy at hand finds a leader."""
    leader, _, _ = elected(s, k, controller)
    return leader != NONE


def write_elected_leader_and_isr(s: World, k: Constants, controller: int) -> None:
    """Write the elected leader and ISR with the next leader epoch, even where both stay."""
    leader, isr, _ = elected(s, k, controller)
    if contains(s.zookeeper.partition.isr, leader) == 0:
        note_unclean_election(s, leader)
    write_state(s, controller, leader, isr)


def note_unclean_election(s: World, leader: int) -> None:
    """Note for the properties that what the leader has not is committed no more, nor what older leaders still commit."""
    s.notes.unclean_epoch = s.zookeeper.partition.leader_epoch + 1
    truncate(s.notes.committed, divergence_offset(s.notes.committed, s.brokers[leader].replica.log))


def send_leader_and_isr_to_recipients(s: World, k: Constants, controller: int) -> None:
    """Send LeaderAndIsr to whom the strategy tells."""
    _, _, told = elected(s, k, controller)
    send_leader_and_isr_to_all(s, k, controller, told)


# ---------------------------------------------------------------------------------------------------------------------
# The replica table's guards and effects


def replica_is_live(s: World, controller: int, replica: int) -> bool:
    """The replica's broker is live."""
    return contains(live_brokers(s, controller), replica) == 1


def replica_is_not_live(s: World, controller: int, replica: int) -> bool:
    """The replica's broker is dead or shutting down."""
    return contains(live_brokers(s, controller), replica) == 0


def replica_is_not_cached_leader(s: World, controller: int, replica: int) -> bool:
    """Another broker is the cached leader: a new replica can only follow."""
    return s.controllers[controller].context.leadership.leader != replica


def replica_is_assigned(s: World, replica: int) -> bool:
    """The replica is part of the assignment."""
    return contains(members(s.zookeeper.assignment), replica) == 1


def replica_is_not_assigned(s: World, replica: int) -> bool:
    """The replica is missing from the assignment."""
    return contains(members(s.zookeeper.assignment), replica) == 0


def isr_contains_replica(s: World, replica: int) -> bool:
    """The state znode's ISR holds the replica."""
    return contains(s.zookeeper.partition.isr, replica) == 1


def isr_does_not_contain_replica(s: World, replica: int) -> bool:
    """The state znode's ISR does not hold the replica: nothing to write, and no new leader epoch."""
    return contains(s.zookeeper.partition.isr, replica) == 0


def send_leader_and_isr_to_replica(s: World, controller: int, replica: int) -> None:
    """Send the replica's broker the cached leader and ISR; the leader epoch is not a new one."""
    send_leader_and_isr(s, controller, replica)


def send_stop_replica(s: World, controller: int, replica: int) -> None:
    """Ask the replica's broker to stop it, with the leader epoch from before the ISR shrinks."""
    send_stop_replica_to(s, controller, replica)


def keeps_last_isr_member(k: Constants) -> int:
    """1 if the last member of an ISR stays when its broker dies."""
    if k.last_isr_member == LastIsrMember.KEPT:
        return 1
    if k.last_isr_member == LastIsrMember.DROPPED_IF_UNCLEAN:
        return 1 - k.unclean
    return 0


def write_isr_without_replica(s: World, k: Constants, controller: int, replica: int) -> None:
    """Write the ISR without the replica, nobody leading if it led, with the next leader epoch."""
    leader = leader_without(s.zookeeper.partition.leader, replica)
    isr = isr_without(s.zookeeper.partition.isr, replica, keeps_last_isr_member(k))
    if k.last_isr_member == LastIsrMember.DROPPED and isr == 0:
        leader = replica
    if contains(isr | s.zookeeper.registered | s.controllers[controller].context.rejoining, replica) == 0:
        s.notes.removed = including(s.notes.removed, replica)
    write_state(s, controller, leader, isr)


def send_leader_and_isr_to_other_replicas(s: World, k: Constants, controller: int, replica: int) -> None:
    """Send LeaderAndIsr to all assigned replicas but this one."""
    others = members(s.zookeeper.assignment) & ~only(replica)
    if k.shrink_recipients == ShrinkRecipients.LEADER_ONLY:
        leader = s.controllers[controller].context.leadership.leader
        others = others & only(leader) if leader != NONE else 0
    send_leader_and_isr_to_all(s, k, controller, others)


def refresh_leadership(s: World, controller: int) -> None:
    """Take leader and ISR from the state znode into the cache."""
    read_state(s, controller)


# ---------------------------------------------------------------------------------------------------------------------
# How an event goes on


def an_election_is_due(s: World, controller: int) -> bool:
    """The step is an election, and the partition is new or offline, or an election was asked for."""
    boss = s.controllers[controller]
    if boss.context.strategy != Strategy.OFFLINE:
        return True
    return boss.partition == PartitionState.NEW or boss.partition == PartitionState.OFFLINE


def go_on(s: World, k: Constants, controller: int) -> None:
    """Go on to the next ZooKeeper operation of the event, through all that needs none, or end the event.

    A bounced broker is first failed and then started, and dead ones are failed after that: four stages at the most, each with
    an election and removals that may have nothing to do.
    """
    for _ in range(6):
        if s.controllers[controller].step == Step.ELECT and not an_election_is_due(s, controller):
            end_election(s, k, controller)
        if s.controllers[controller].step == Step.REMOVE and s.controllers[controller].context.leaving == 0:
            begin_next_stage(s, k, controller)


def end_election(s: World, k: Constants, controller: int) -> None:
    """Go on from an election; the replicas of a partition that was just created go online."""
    s.controllers[controller].context.strategy = Strategy.OFFLINE
    s.controllers[controller].step = Step.REMOVE
    if s.controllers[controller].context.creating == 1:
        s.controllers[controller].context.creating = 0
        put_replicas_online(s, k, controller, assigned_replicas(s, controller))


def begin_next_stage(s: World, k: Constants, controller: int) -> None:
    """Begin the next stage of the event, or end it."""
    boss = s.controllers[controller]
    if boss.life == LOADING and boss.context.knows_topic == 1 and boss.partition == PartitionState.NON_EXISTENT:
        fire(s, k, PARTITION, (controller,), "startup")
        boss.step = Step.ELECT
    elif boss.life == LOADING:
        fire(s, k, CONTROLLER, (controller,), "failover")
        boss.step = Step.IDLE
    elif boss.context.bounced != 0:
        boss.context.rejoining = boss.context.bounced
        boss.context.bounced = 0
        fail_brokers(s, k, controller, boss.context.rejoining)
    elif boss.context.rejoining != 0:
        rejoining = boss.context.rejoining
        boss.context.rejoining = 0
        start_brokers(s, k, controller, rejoining)
    elif boss.context.failed != 0:
        failed = boss.context.failed
        boss.context.failed = 0
        fail_brokers(s, k, controller, failed)
    else:
        boss.step = Step.IDLE


def put_replicas_online(s: World, k: Constants, controller: int, replicas: int) -> None:
    """Ask the table to put each replica of the set online."""
    for replica in range(k.brokers):
        if contains(replicas, replica) == 1:
            fire(s, k, REPLICA, (controller, replica), "online_replica")


def start_brokers(s: World, k: Constants, controller: int, brokers: int) -> None:
    """Take the brokers for live: tell everybody, put their replicas online, then try to elect (onBrokerStartup)."""
    context = s.controllers[controller].context
    context.live = context.live | brokers
    send_update_metadata(s, k, controller, context.live)
    put_replicas_online(s, k, controller, brokers & assigned_replicas(s, controller))
    s.controllers[controller].step = Step.ELECT


def fail_brokers(s: World, k: Constants, controller: int, brokers: int) -> None:
    """Take the brokers for dead: what they led is offline, an election is tried, their replicas leave (onBrokerFailure)."""
    context = s.controllers[controller].context
    context.live = context.live & ~brokers
    context.stopping = context.stopping & ~brokers
    send_update_metadata(s, k, controller, context.live)
    if leadership_is_known(s, controller) and cached_leader_is_not_live(s, controller):
        fire(s, k, PARTITION, (controller,), "offline_partition")
    s.controllers[controller].context.leaving = brokers & assigned_replicas(s, controller)
    s.controllers[controller].step = Step.ELECT


# ---------------------------------------------------------------------------------------------------------------------
# Election of a controller, and fail-over


def nobody_is_controller(s: World) -> bool:
    """/controller does not exist."""
    return s.zookeeper.controller == NONE


def broker_can_be_controller(s: World, controller: int) -> bool:
    """The broker is up, in a session that lives as far as ZooKeeper knows, and no controller yet."""
    node = s.brokers[controller]
    return node.life == Life.UP and node.has_session == 1 and s.controllers[controller].life == STANDBY


def election_is_one_multi(k: Constants) -> bool:
    """The era elects with one multi."""
    return k.controller_election == ControllerElection.ONE_MULTI


def election_takes_two_steps(k: Constants) -> bool:
    """The era creates /controller first."""
    return k.controller_election == ControllerElection.TWO_STEPS


def become_controller(s: World, k: Constants, controller: int) -> None:
    """Create /controller and its epoch in one multi; begin the fail-over."""
    create_controller_and_increment_epoch(s, controller)
    s.controllers[controller].epoch = s.zookeeper.controller_epoch
    s.controllers[controller].step = Step.READ
    fire(s, k, CONTROLLER, (controller,), "elect")


ELECT_CONTROLLER = Rule(
    "ElectController",
    actor="controller on {controller}",
    params=ANY_CONTROLLER,
    guards=(election_is_one_multi, nobody_is_controller, broker_can_be_controller),
    effects=(become_controller,),
    says="{controller} creates /controller and the next controller epoch in one multi, and is the controller",
    cites=f"{KAFKA}.elect, KafkaZkClient.registerControllerAndIncrementControllerEpoch (KAFKA-6082)",
)


def create_controller_znode(s: World, k: Constants, controller: int) -> None:
    """Create /controller, and nothing else."""
    s.zookeeper.controller = controller
    fire(s, k, CONTROLLER, (controller,), "create_controller_znode")


CREATE_CONTROLLER_ZNODE = Rule(
    "CreateControllerZnode",
    actor="controller on {controller}",
    params=ANY_CONTROLLER,
    guards=(election_takes_two_steps, nobody_is_controller, broker_can_be_controller),
    effects=(create_controller_znode,),
    says="{controller} creates /controller; its epoch is still to come",
    cites="Kafka 0.10 ZookeeperLeaderElector.elect",
)


def controller_has_no_epoch_yet(s: World, controller: int) -> bool:
    """The broker has created /controller, and not yet its epoch."""
    return s.controllers[controller].life == ELECTING


def increment_controller_epoch(s: World, k: Constants, controller: int) -> None:
    """Read /controller_epoch and write the next one, whoever has written it meanwhile; begin the fail-over."""
    s.zookeeper.controller_epoch = s.zookeeper.controller_epoch + 1
    s.controllers[controller].epoch = s.zookeeper.controller_epoch
    s.controllers[controller].step = Step.READ
    fire(s, k, CONTROLLER, (controller,), "increment_epoch")


INCREMENT_CONTROLLER_EPOCH = Rule(
    "IncrementControllerEpoch",
    actor="controller on {controller}",
    params=ANY_CONTROLLER,
    guards=(controller_has_no_epoch_yet,),
    effects=(increment_controller_epoch,),
    says="{controller} reads /controller_epoch, increments it, and is the controller under that epoch",
    cites="Kafka 0.10 KafkaController.incrementControllerEpoch",
)


def fail_over_reads(s: World, controller: int) -> bool:
    """The controller is about to read what it takes over."""
    return s.controllers[controller].step == Step.READ


def take_over(s: World, k: Constants, controller: int) -> None:
    """Read brokers, topic and state; tell all brokers who is alive; start the replicas; then dead ones go offline.

    The order of 2.8's onControllerFailover: UpdateMetadata without partitions, the replica machine, the partition machine.
    """
    context = s.controllers[controller].context
    context.live = s.zookeeper.registered
    for broker in range(k.brokers):
        if contains(context.live, broker) == 1:
            context.broker_epochs[broker] = s.zookeeper.broker_epochs[broker]
    context.knows_topic = 1 if len(s.zookeeper.assignment) > 0 else 0
    read_state(s, controller)
    live = s.controllers[controller].context.live
    send_update_metadata(s, k, controller, live)
    replicas = assigned_replicas(s, controller)
    for replica in range(k.brokers):
        if contains(replicas, replica) == 1:
            fire(s, k, REPLICA, (controller, replica), "startup")
    put_replicas_online(s, k, controller, replicas & live)
    if k.dead_replicas == DeadReplicas.TAKEN_OFFLINE:
        s.controllers[controller].context.leaving = replicas & ~live
    s.controllers[controller].step = Step.REMOVE
    go_on(s, k, controller)


TAKE_OVER = Rule(
    "TakeOver",
    actor="controller on {controller}",
    params=ANY_CONTROLLER,
    guards=(fail_over_reads,),
    effects=(take_over,),
    says="the controller on {controller} reads brokers, topic and partition state, tells the brokers who is alive, "
    "and sends the live replicas their LeaderAndIsr again",
    cites=f"{KAFKA}.onControllerFailover, ReplicaStateMachine.startup",
)

# ---------------------------------------------------------------------------------------------------------------------
# Events. Each begins with a read of ZooKeeper, for which a session is needed; one that has begun goes on without.


def zookeeper_can_be_read(s: World, k: Constants, controller: int) -> bool:
    """The broker's session lives, or the era's client library opens a new one and tries again, whoever asks."""
    return s.brokers[controller].has_session == 1 or k.expired_sessions_read == Checked.YES


def brokers_have_changed(s: World, k: Constants, controller: int) -> bool:
    """The registered brokers differ from those that the controller knows, or one of them has registered anew."""
    context = s.controllers[controller].context
    return s.zookeeper.registered != context.live or bounced_brokers(s, k, controller) != 0


def bounced_brokers(s: World, k: Constants, controller: int) -> int:
    """Return the brokers that the controller takes for live and that have registered anew since, if the era looks."""
    if k.bounces_noticed == Checked.NO:
        return 0
    context = s.controllers[controller].context
    bounced = 0
    for broker in range(k.brokers):
        if contains(s.zookeeper.registered & context.live, broker) == 1:
            if s.zookeeper.broker_epochs[broker] > context.broker_epochs[broker]:
                bounced = including(bounced, broker)
    return bounced


def notice_broker_change(s: World, k: Constants, controller: int) -> None:
    """Compare the registered brokers with those known; open and close channels; start new ones, then fail and start others."""
    live = s.controllers[controller].context.live
    bounced = bounced_brokers(s, k, controller)
    dead = live & ~s.zookeeper.registered
    new = s.zookeeper.registered & ~live
    discard_channels(s, k, controller, bounced | dead)
    for broker in range(k.brokers):
        if contains(new | bounced, broker) == 1:
            s.controllers[controller].context.broker_epochs[broker] = s.zookeeper.broker_epochs[broker]
        if contains(dead, broker) == 1:
            s.controllers[controller].context.broker_epochs[broker] = 0
    s.controllers[controller].context.bounced = bounced
    s.controllers[controller].context.failed = dead
    if new != 0:
        start_brokers(s, k, controller, new)
    else:
        s.controllers[controller].step = Step.REMOVE
    go_on(s, k, controller)


NOTICE_BROKER_CHANGE = Rule(
    "NoticeBrokerChange",
    actor="controller on {controller}",
    params=ANY_CONTROLLER,
    guards=(is_handling_no_event, zookeeper_can_be_read, brokers_have_changed),
    effects=(notice_broker_change,),
    says="the controller on {controller} reads /brokers/ids and handles brokers that came, went, or bounced",
    cites=f"{KAFKA}.processBrokerChange, onBrokerStartup, onBrokerFailure",
)


def a_topic_is_new(s: World, controller: int) -> bool:
    """The topic exists, and the controller does not know it."""
    return s.controllers[controller].context.knows_topic == 0 and len(s.zookeeper.assignment) > 0


def create_partition(s: World, k: Constants, controller: int) -> None:
    """Take partition and replicas for new, and go on to bring the partition online (onNewPartitionCreation)."""
    s.controllers[controller].context.knows_topic = 1
    s.controllers[controller].context.creating = 1
    fire(s, k, PARTITION, (controller,), "new_partition")
    for replica in range(k.brokers):
        if contains(assigned_replicas(s, controller), replica) == 1:
            fire(s, k, REPLICA, (controller, replica), "new_replica")
    s.controllers[controller].step = Step.ELECT


NOTICE_TOPIC = Rule(
    "NoticeTopic",
    actor="controller on {controller}",
    params=ANY_CONTROLLER,
    guards=(is_handling_no_event, zookeeper_can_be_read, a_topic_is_new),
    effects=(create_partition,),
    says="the controller on {controller} reads the new topic; its partition and replicas are new",
    cites=f"{KAFKA}.processTopicChange, onNewPartitionCreation",
)


def isr_has_changed(s: World, controller: int) -> bool:
    """A leader has changed the ISR since the controller read it."""
    cached = s.controllers[controller].context.leadership
    return cached.leader_epoch != NO_EPOCH and cached.version != s.zookeeper.partition.version


def learn_isr(s: World, controller: int) -> None:
    """Read the changed state into the cache."""
    read_state(s, controller)


NOTICE_ISR_CHANGE = Rule(
    "NoticeIsrChange",
    actor="controller on {controller}",
    params=ANY_CONTROLLER,
    guards=(is_handling_no_event, zookeeper_can_be_read, isr_has_changed),
    effects=(learn_isr,),
    says="the controller on {controller} is notified of a changed ISR, and reads it",
    cites=f"{KAFKA}.processIsrChangeNotification",
)


def preferred_leader_does_not_lead(s: World, controller: int) -> bool:
    """The partition has a leader that is not the first assigned replica."""
    cached = s.controllers[controller].context.leadership
    return cached.leader_epoch != NO_EPOCH and cached.leader != s.zookeeper.assignment[0]


def a_preferred_election_is_left(s: World, k: Constants) -> bool:
    """The bound on preferred elections allows one more."""
    return s.spent.preferred_elections < k.preferred_elections


def ask_for_preferred_election(s: World, controller: int) -> None:
    """Have the preferred leader elected, if it is live and in sync."""
    s.spent.preferred_elections += 1
    s.controllers[controller].context.strategy = Strategy.PREFERRED
    s.controllers[controller].step = Step.ELECT


PREFERRED_ELECTION = Rule(
    "PreferredElection",
    actor="operator",
    kind="operator",
    params=ANY_CONTROLLER,
    guards=(is_handling_no_event, preferred_leader_does_not_lead),
    within=(a_preferred_election_is_left,),
    effects=(ask_for_preferred_election,),
    says="an operator asks the controller on {controller} for a preferred replica election",
    cites=f"{KAFKA}.processReplicaLeaderElection",
)


def broker_asks_to_shut_down(s: World, controller: int, broker: int) -> bool:
    """The broker wants to shut down, under the registration that the controller knows, and has not been heard yet."""
    context = s.controllers[controller].context
    if s.brokers[broker].life != Life.STOPPING or contains(context.live & ~context.stopping, broker) == 0:
        return False
    return s.brokers[broker].broker_epoch == context.broker_epochs[broker]


def shut_broker_down(s: World, k: Constants, controller: int, broker: int) -> None:
    """Take the broker for one that shuts down: move its leadership, or stop its replica and take it out of the ISR."""
    context = s.controllers[controller].context
    context.stopping = including(context.stopping, broker)
    s.controllers[controller].step = Step.REMOVE
    if leadership_is_known(s, controller) and len(s.zookeeper.assignment) > 1:
        if context.leadership.leader == broker:
            context.strategy = Strategy.CONTROLLED_SHUTDOWN
            s.controllers[controller].step = Step.ELECT
        elif contains(assigned_replicas(s, controller), broker) == 1:
            send_stop_replica_to(s, controller, broker)
            context.leaving = only(broker)
    go_on(s, k, controller)


CONTROLLED_SHUTDOWN = Rule(
    "ControlledShutdown",
    actor="controller on {controller}",
    params={**ANY_CONTROLLER, "broker": Broker(BROKERS)},
    guards=(is_handling_no_event, broker_asks_to_shut_down),
    effects=(shut_broker_down,),
    says="the controller on {controller} hears that {broker} shuts down",
    cites=f"{KAFKA}.doControlledShutdown",
)

# ---------------------------------------------------------------------------------------------------------------------
# The steps of an event


def write_is_due(s: World, k: Constants, controller: int) -> bool:
    """The next step writes to ZooKeeper, unless something there refuses it."""
    boss = s.controllers[controller]
    if boss.step == Step.ELECT and boss.partition == PartitionState.NEW:
        return an_assigned_replica_is_live(s, controller)
    if boss.step == Step.ELECT:
        return no_newer_controller_wrote(s, controller) and a_leader_can_be_elected(s, k, controller)
    if boss.step == Step.REMOVE:
        return (
            leadership_is_known(s, controller)
            and no_newer_controller_wrote(s, controller)
            and isr_contains_replica(s, lowest(boss.context.leaving, k.brokers))
        )
    return False


def lowest(brokers: int, count: int) -> int:
    """Return the lowest broker of a set that has one, of so many brokers."""
    for broker in range(count):
        if contains(brokers, broker) == 1:
            return broker
    return 0


def controller_is_not_fenced(s: World, k: Constants, controller: int) -> bool:
    """The next step writes nothing, or the check of /controller_epoch in its multi holds."""
    return fence_holds(s, k, controller) or not write_is_due(s, k, controller)


def controller_is_fenced(s: World, k: Constants, controller: int) -> bool:
    """The next step writes, and the check of /controller_epoch in its multi fails: another controller was elected."""
    return not controller_is_not_fenced(s, k, controller)


def step_is_election(s: World, controller: int) -> bool:
    """The next step brings the partition online."""
    return s.controllers[controller].step == Step.ELECT


def bring_partition_online(s: World, k: Constants, controller: int) -> None:
    """Ask the table to bring the partition online; where it refuses, the event goes on all the same."""
    fire(s, k, PARTITION, (controller,), "online_partition")
    end_election(s, k, controller)
    go_on(s, k, controller)


ELECT_LEADER = Rule(
    "ElectLeader",
    actor="controller on {controller}",
    params=ANY_CONTROLLER,
    guards=(step_is_election, controller_is_not_fenced),
    effects=(bring_partition_online,),
    says="the controller on {controller} brings the partition online: it writes leader and ISR, and tells the replicas",
    cites="Kafka 2.8 PartitionStateMachine.doHandleStateChanges: case OnlinePartition",
)


def step_is_removal(s: World, controller: int) -> bool:
    """The next step takes a replica offline."""
    return s.controllers[controller].step == Step.REMOVE


def isr_has_grown_meanwhile(s: World, controller: int) -> bool:
    """All have left that had to, the partition is offline, and its ISR has a live member, which it had not at the election."""
    boss = s.controllers[controller]
    if boss.context.leaving != 0 or boss.partition != PartitionState.OFFLINE:
        return False
    return boss.context.leadership.isr & live_brokers(s, controller) != 0


def take_replica_offline(s: World, k: Constants, controller: int) -> None:
    """Ask the table to take the next replica offline; where it refuses, StopReplica is sent all the same."""
    replica = lowest(s.controllers[controller].context.leaving, k.brokers)
    if not fire(s, k, REPLICA, (controller, replica), "offline_replica"):
        send_stop_replica_to(s, controller, replica)
    s.controllers[controller].context.leaving = s.controllers[controller].context.leaving & ~only(replica)
    if k.election_after_removal == Checked.YES and isr_has_grown_meanwhile(s, controller):
        s.controllers[controller].step = Step.ELECT
    go_on(s, k, controller)


TAKE_REPLICA_OFFLINE = Rule(
    "TakeReplicaOffline",
    actor="controller on {controller}",
    params=ANY_CONTROLLER,
    guards=(step_is_removal, controller_is_not_fenced),
    effects=(take_replica_offline,),
    says="the controller on {controller} takes the next replica offline: it leaves the ISR, and the others are told",
    cites="Kafka 2.8 ReplicaStateMachine.doHandleStateChanges: case OfflineReplica",
)

# ---------------------------------------------------------------------------------------------------------------------
# The end of a controller


def resign(s: World, k: Constants, controller: int) -> None:
    """Stop being the controller: forget everything, close all channels (onControllerResignation)."""
    fire(s, k, CONTROLLER, (controller,), "resign")
    forget_controller(s, k, controller)


def forget_controller(s: World, k: Constants, controller: int) -> None:
    """Shut the machines down, clear the context, and drop what waits in the channels."""
    fire(s, k, PARTITION, (controller,), "shutdown")
    for replica in range(k.brokers):
        fire(s, k, REPLICA, (controller, replica), "shutdown")
    s.controllers[controller].epoch = 0
    s.controllers[controller].step = Step.IDLE
    reset(s.controllers[controller].context)
    discard_channels(s, k, controller, (1 << k.brokers) - 1)


CONTROLLER_MOVED = Rule(
    "ControllerMoved",
    actor="controller on {controller}",
    params=ANY_CONTROLLER,
    guards=(controller_is_fenced,),
    effects=(resign,),
    says="the controller on {controller} finds its write refused, since /controller_epoch has moved, and resigns",
    cites=f"{KAFKA}.maybeResign, ControllerMovedException",
)


def another_is_controller(s: World, controller: int) -> bool:
    """/controller names another broker, or is gone."""
    return s.zookeeper.controller != controller


RESIGN = Rule(
    "Resign",
    actor="controller on {controller}",
    params=ANY_CONTROLLER,
    guards=(is_handling_no_event, another_is_controller),
    effects=(resign,),
    says="the controller on {controller} sees that /controller is not its own, and resigns",
    cites=f"{KAFKA}.processControllerChange, maybeResign",
)


def controller_is_loading(s: World, controller: int) -> bool:
    """The controller is in its fail-over."""
    return s.controllers[controller].life == LOADING


def a_failed_failover_is_left(s: World, k: Constants) -> bool:
    """The bound on fail-overs that end with an error allows one more."""
    return s.spent.failed_failovers < k.failed_failovers


def give_up(s: World, k: Constants, controller: int) -> None:
    """Resign and delete /controller, so that another is elected (triggerControllerMove)."""
    s.spent.failed_failovers += 1
    if k.giving_up == GivingUp.UNCONDITIONAL or s.zookeeper.controller_epoch == s.controllers[controller].epoch:
        s.zookeeper.controller = NONE
    resign(s, k, controller)


GIVE_UP = Rule(
    "GiveUp",
    actor="controller on {controller}",
    kind="fault",
    params=ANY_CONTROLLER,
    guards=(controller_is_loading,),
    within=(a_failed_failover_is_left,),
    effects=(give_up,),
    says="the controller on {controller} meets an error in its fail-over, resigns, and deletes /controller",
    cites=f"{KAFKA}.triggerControllerMove",
)


def era_adopts_epochs(k: Constants) -> bool:
    """The era copies a changed /controller_epoch into the controller's context."""
    return k.epoch_watch == EpochWatch.ADOPTED


def controller_epoch_has_moved(s: World, controller: int) -> bool:
    """The controller is active under an epoch that is not the newest."""
    return s.controllers[controller].life == ACTIVE and s.controllers[controller].epoch < s.zookeeper.controller_epoch


def adopt_epoch(s: World, controller: int) -> None:
    """Go on under the newest epoch."""
    s.controllers[controller].epoch = s.zookeeper.controller_epoch


ADOPT_EPOCH = Rule(
    "AdoptEpoch",
    actor="controller on {controller}",
    params=ANY_CONTROLLER,
    guards=(era_adopts_epochs, controller_epoch_has_moved),
    effects=(adopt_epoch,),
    says="the old controller on {controller} sees /controller_epoch change, and takes the new epoch for its own",
    cites="Kafka 0.8.1 ControllerEpochListener (KAFKA-1096)",
)


def session_is_over(s: World, controller: int) -> bool:
    """The broker runs, and its session has expired."""
    return s.brokers[controller].life != Life.DOWN and s.brokers[controller].has_session == 0


def no_event_is_being_handled(s: World, controller: int) -> bool:
    """No event is being handled on the broker: it is no controller, or an idle one."""
    return s.controllers[controller].step == Step.IDLE and s.controllers[controller].life != ELECTING


def open_new_session(s: World, k: Constants, controller: int) -> None:
    """Resign if this was the controller, open a new session, and register anew."""
    if s.controllers[controller].life != STANDBY:
        resign(s, k, controller)
    register(s, controller)


NOTICE_EXPIRY = Rule(
    "NoticeExpiry",
    actor="{controller}",
    params=ANY_CONTROLLER,
    guards=(session_is_over, no_event_is_being_handled),
    effects=(open_new_session,),
    says="{controller} notices that its session has expired, opens a new one, and registers anew",
    cites=f"{KAFKA}: Expire, RegisterBrokerAndReelect",
)

RULES = (
    ELECT_CONTROLLER,
    CREATE_CONTROLLER_ZNODE,
    INCREMENT_CONTROLLER_EPOCH,
    TAKE_OVER,
    NOTICE_BROKER_CHANGE,
    NOTICE_TOPIC,
    NOTICE_ISR_CHANGE,
    CONTROLLED_SHUTDOWN,
    ELECT_LEADER,
    TAKE_REPLICA_OFFLINE,
    CONTROLLER_MOVED,
    RESIGN,
    NOTICE_EXPIRY,
    ADOPT_EPOCH,
    PREFERRED_ELECTION,
    GIVE_UP,
)
"""The rules of controllers, those of single eras among them."""
