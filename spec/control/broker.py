"""The broker: requests of controllers, becoming leader and follower, fetching, the high watermark, and the ISR.

Knows its own replica, its metadata cache and ZooKeeper, no controller's thoughts. A fetch is one step of leader and follower, which
must be in the same leader epoch; what a leader knows of a follower's log it learns there, so it is read there. Every request
that a broker takes leaves its channel, unless the connection is lost before the answer.

Source: Kafka 2.8 KafkaApis.scala, ReplicaManager.scala, Partition.scala at inter.broker.protocol 2.6 (ISR through ZooKeeper).
"""

from __future__ import annotations

from kafka_spec.spec.control.decisions import BadVersion, Checked, FollowerSkip, Truncation
from kafka_spec.spec.control.network import (
    ErrorCode,
    answer_to_fetch_epoch,
    answer_to_leader_and_isr,
    answer_to_request,
    answer_to_stop_replica,
)
from kafka_spec.spec.control.state import BROKERS, NO_EPOCH, ROLE, Kind, Life, Role, Stale, World
from kafka_spec.spec.control.zookeeper import isr_write_succeeds, write_isr
from kafka_spec.spec.domain import Broker, append, contains, excluding, including, pop_first, truncate
from kafka_spec.spec.election import members
from kafka_spec.spec.log import (
    divergence_offset,
    follower_high_watermark,
    high_watermark_may_pass,
    holds_same_prefix,
    may_join_isr,
)
from kafka_spec.spec.table import Constants, Rule, fire

KAFKA = "Kafka 2.8"
A_CHANNEL = {"controller": Broker(BROKERS), "broker": Broker(BROKERS)}
THE_REQUEST = "controllers[{controller}].channels[{broker}].requests"
LEADER_AND_FOLLOWER = {"leader": Broker(BROKERS), "follower": Broker(BROKERS)}
A_LEADER = {"leader": Broker(BROKERS)}

# ---------------------------------------------------------------------------------------------------------------------
# A request arrives


def a_request_arrives(s: World, controller: int, broker: int) -> bool:
    """Something waits in the channel, and the broker's process runs."""
    return len(s.controllers[controller].channels[broker].requests) > 0 and s.brokers[broker].life != Life.DOWN


def request_is_refused(s: World, k: Constants, controller: int, broker: int) -> bool:
    """The broker refuses the request as a whole: STALE_BROKER_EPOCH or STALE_CONTROLLER_EPOCH."""
    request = s.controllers[controller].channels[broker].requests[0]
    node = s.brokers[broker]
    answer = answer_to_request(
        request.controller_epoch,
        node.controller_epoch,
        k.controller_epoch_checked,
        request.broker_epoch,
        node.broker_epoch,
        k.broker_epoch_checked,
    )
    return answer != ErrorCode.NONE


def request_is_taken(s: World, k: Constants, controller: int, broker: int) -> bool:
    """The broker takes the request and looks inside."""
    return not request_is_refused(s, k, controller, broker)


def answer_request(s: World, controller: int, broker: int) -> None:
    """Take the request out of the channel, or leave it there where the answer is lost and it will be sent again."""
    if s.controllers[controller].channels[broker].repeats == 1:
        s.controllers[controller].channels[broker].repeats = 0
    else:
        pop_first(s.controllers[controller].channels[broker].requests)


REFUSE_REQUEST = Rule(
    "RefuseRequest",
    actor="{broker}",
    params=A_CHANNEL,
    receives=THE_REQUEST,
    guards=(a_request_arrives, request_is_refused),
    effects=(answer_request,),
    says="{broker} refuses a request of the controller on {controller}: its controller epoch or its broker epoch is stale",
    cites=f"{KAFKA} KafkaApis.isBrokerEpochStale, ReplicaManager: stale controller epoch",
)


def see_controller_epoch(s: World, controller: int, broker: int) -> None:
    """Remember the newest controller epoch; note for the properties if an older one is believed."""
    request = s.controllers[controller].channels[broker].requests[0]
    node = s.brokers[broker]
    node.controller_epoch = max(node.controller_epoch, request.controller_epoch)


def note_if_stale(s: World, controller: int, broker: int) -> None:
    """Note for the properties that a request takes effect here though its generation is over."""
    request = s.controllers[controller].channels[broker].requests[0]
    node = s.brokers[broker]
    if node.stale == Stale.NOTHING:
        if request.controller_epoch < node.controller_epoch:
            node.stale = Stale.CONTROLLER_EPOCH
        elif request.broker_epoch < node.broker_epoch:
            node.stale = Stale.BROKER_EPOCH
        elif request.kind != Kind.UPDATE_METADATA and NO_EPOCH < request.leader_epoch < node.replica.leader_epoch:
            node.stale = Stale.LEADER_EPOCH


# ---------------------------------------------------------------------------------------------------------------------
# LeaderAndIsr


def request_is_leader_and_isr(s: World, controller: int, broker: int) -> bool:
    """The request is a LeaderAndIsr."""
    return s.controllers[controller].channels[broker].requests[0].kind == Kind.LEADER_AND_ISR


def leader_and_isr_is_news(s: World, controller: int, broker: int) -> bool:
    """The request has a larger leader epoch than the replica, and the broker is assigned."""
    request = s.controllers[controller].channels[broker].requests[0]
    is_assigned = contains(members(s.zookeeper.assignment), broker)
    return answer_to_leader_and_isr(request.leader_epoch, s.brokers[broker].replica.leader_epoch, is_assigned) == ErrorCode.NONE


def leader_and_isr_is_old(s: World, controller: int, broker: int) -> bool:
    """The replica knows this leader epoch, or a larger one: STALE_CONTROLLER_EPOCH for the partition."""
    return not leader_and_isr_is_news(s, controller, broker)


def broker_is_named_leader(s: World, controller: int, broker: int) -> bool:
    """The request names this broker as the leader."""
    return s.controllers[controller].channels[broker].requests[0].leader == broker


def another_is_named_leader(s: World, controller: int, broker: int) -> bool:
    """The request names another broker as the leader, or none."""
    return s.controllers[controller].channels[broker].requests[0].leader != broker


def named_leader_is_alive(s: World, controller: int, broker: int) -> bool:
    """The named leader is among the alive brokers of the metadata cache."""
    leader = s.controllers[controller].channels[broker].requests[0].leader
    return leader >= 0 and contains(s.brokers[broker].alive, leader) == 1


def named_leader_is_not_alive(s: World, controller: int, broker: int) -> bool:
    """The named leader, or the lack of one, is nothing that the metadata cache holds for alive."""
    return not named_leader_is_alive(s, controller, broker)


IGNORE_LEADER_AND_ISR = Rule(
    "IgnoreLeaderAndIsr",
    actor="{broker}",
    params=A_CHANNEL,
    receives=THE_REQUEST,
    guards=(a_request_arrives, request_is_leader_and_isr, request_is_taken, leader_and_isr_is_old),
    effects=(see_controller_epoch, answer_request),
    says="{broker} ignores a LeaderAndIsr of the controller on {controller}: its leader epoch is not larger than the replica's",
    cites=f"{KAFKA} ReplicaManager.becomeLeaderOrFollower",
)


def make_leader(s: World, k: Constants, controller: int, broker: int) -> None:
    """Lead under the request's leader epoch, with its ISR and version (Partition.makeLeader)."""
    request = s.controllers[controller].channels[broker].requests[0]
    replica = s.brokers[broker].replica
    replica.leader_epoch = request.leader_epoch
    replica.leader = broker
    replica.isr = request.isr
    replica.version = request.version
    replica.state_epoch = request.state_epoch
    replica.epoch_start = len(replica.log)
    replica.fetching = 0
    fire(s, k, ROLE, (broker,), "become_leader")


BECOME_LEADER = Rule(
    "BecomeLeader",
    actor="{broker}",
    params=A_CHANNEL,
    receives=THE_REQUEST,
    guards=(a_request_arrives, request_is_leader_and_isr, request_is_taken, leader_and_isr_is_news, broker_is_named_leader),
    effects=(note_if_stale, see_controller_epoch, make_leader, answer_request),
    says="{broker} takes a LeaderAndIsr of the controller on {controller}, and leads",
    cites=f"{KAFKA} ReplicaManager.makeLeaders, Partition.makeLeader",
)


def make_follower(s: World, k: Constants, controller: int, broker: int) -> None:
    """Follow the named leader under the request's leader epoch (Partition.makeFollower)."""
    request = s.controllers[controller].channels[broker].requests[0]
    replica = s.brokers[broker].replica
    skipped = k.follower_skip == FollowerSkip.SAME_LEADER and replica.role == Role.FOLLOWER and replica.leader == request.leader
    replica.leader_epoch = request.leader_epoch
    replica.leader = request.leader
    replica.isr = 0
    replica.version = 0
    replica.state_epoch = 0
    replica.epoch_start = 0
    fire(s, k, ROLE, (broker,), "become_follower")
    if not skipped:
        replica.fetching = 1
        if k.truncation == Truncation.HIGH_WATERMARK:
            truncate(s.brokers[broker].replica.log, s.brokers[broker].replica.high_watermark)


BECOME_FOLLOWER = Rule(
    "BecomeFollower",
    actor="{broker}",
    params=A_CHANNEL,
    receives=THE_REQUEST,
    guards=(
        a_request_arrives,
        request_is_leader_and_isr,
        request_is_taken,
        leader_and_isr_is_news,
        another_is_named_leader,
        named_leader_is_alive,
    ),
    effects=(note_if_stale, see_controller_epoch, make_follower, answer_request),
    says="{broker} takes a LeaderAndIsr of the controller on {controller}, and follows",
    cites=f"{KAFKA} ReplicaManager.makeFollowers, Partition.makeFollower",
)

LEADER_IS_UNAVAILABLE = Rule(
    "LeaderIsUnavailable",
    actor="{broker}",
    params=A_CHANNEL,
    receives=THE_REQUEST,
    guards=(
        a_request_arrives,
        request_is_leader_and_isr,
        request_is_taken,
        leader_and_isr_is_news,
        another_is_named_leader,
        named_leader_is_not_alive,
    ),
    effects=(see_controller_epoch, answer_request),
    says="{broker} cannot follow: the leader that the controller on {controller} names is not alive in its metadata cache; "
    "it keeps its leader epoch and answers NONE",
    cites=f"{KAFKA} ReplicaManager.makeFollowers: the new leader is unavailable",
)

# ---------------------------------------------------------------------------------------------------------------------
# UpdateMetadata and StopReplica


def request_is_update_metadata(s: World, controller: int, broker: int) -> bool:
    """The request is an UpdateMetadata."""
    return s.controllers[controller].channels[broker].requests[0].kind == Kind.UPDATE_METADATA


def replace_alive_brokers(s: World, controller: int, broker: int) -> None:
    """Take the request's live brokers for alive."""
    s.brokers[broker].alive = s.controllers[controller].channels[broker].requests[0].live


UPDATE_METADATA = Rule(
    "UpdateMetadata",
    actor="{broker}",
    params=A_CHANNEL,
    receives=THE_REQUEST,
    guards=(a_request_arrives, request_is_update_metadata, request_is_taken),
    effects=(note_if_stale, see_controller_epoch, replace_alive_brokers, answer_request),
    says="{broker} learns from the controller on {controller} which brokers are alive",
    cites=f"{KAFKA} MetadataCache.updateMetadata",
)


def request_is_stop_replica(s: World, controller: int, broker: int) -> bool:
    """The request is a StopReplica."""
    return s.controllers[controller].channels[broker].requests[0].kind == Kind.STOP_REPLICA


def replica_may_be_stopped(s: World, k: Constants, controller: int, broker: int) -> bool:
    """The replica is hosted, and the request's leader epoch is not older, as the era reckons."""
    request = s.controllers[controller].channels[broker].requests[0]
    replica = s.brokers[broker].replica
    if replica.role == Role.NONE:
        return False
    return answer_to_stop_replica(request.leader_epoch, replica.leader_epoch, k.stop_replica_epoch) == ErrorCode.NONE


def replica_may_not_be_stopped(s: World, k: Constants, controller: int, broker: int) -> bool:
    """The replica is not hosted, or the request's leader epoch is older: FENCED_LEADER_EPOCH."""
    return not replica_may_be_stopped(s, k, controller, broker)


def stop_fetching(s: World, broker: int) -> None:
    """Stop the replica's fetcher; leadership and leader epoch stay as they were."""
    s.brokers[broker].replica.fetching = 0


STOP_REPLICA = Rule(
    "StopReplica",
    actor="{broker}",
    params=A_CHANNEL,
    receives=THE_REQUEST,
    guards=(a_request_arrives, request_is_stop_replica, request_is_taken, replica_may_be_stopped),
    effects=(note_if_stale, see_controller_epoch, stop_fetching, answer_request),
    says="{broker} stops its replica, as the controller on {controller} asks",
    cites=f"{KAFKA} ReplicaManager.stopReplicas",
)

IGNORE_STOP_REPLICA = Rule(
    "IgnoreStopReplica",
    actor="{broker}",
    params=A_CHANNEL,
    receives=THE_REQUEST,
    guards=(a_request_arrives, request_is_stop_replica, request_is_taken, replica_may_not_be_stopped),
    effects=(see_controller_epoch, answer_request),
    says="{broker} does not stop its replica for the controller on {controller}: the leader epoch is older, or there is no replica",
    cites=f"{KAFKA} ReplicaManager.stopReplicas: FENCED_LEADER_EPOCH",
)

# ---------------------------------------------------------------------------------------------------------------------
# Fetching


def leader_leads(s: World, leader: int) -> bool:
    """The broker runs, and believes that it leads."""
    return s.brokers[leader].life != Life.DOWN and s.brokers[leader].replica.role == Role.LEADER


def follower_follows(s: World, k: Constants, leader: int, follower: int) -> bool:
    """The follower runs and fetches from this leader, and both are in one leader epoch, if the era compares it."""
    junior = s.brokers[follower].replica
    if s.brokers[follower].life == Life.DOWN or junior.role != Role.FOLLOWER:
        return False
    if junior.leader != leader or junior.fetching == 0:
        return False
    return k.fetches_fenced == Checked.NO or junior.leader_epoch == s.brokers[leader].replica.leader_epoch


def log_matches(s: World, k: Constants, leader: int, follower: int) -> bool:
    """The follower's log is a prefix of the leader's: nothing is left to truncate; an old era does not look."""
    if k.truncation == Truncation.HIGH_WATERMARK:
        return True
    return holds_same_prefix(s.brokers[leader].replica.log, s.brokers[follower].replica.log, len(s.brokers[follower].replica.log))


def log_does_not_match(s: World, k: Constants, leader: int, follower: int) -> bool:
    """The follower's log parts from the leader's."""
    return not log_matches(s, k, leader, follower)


def truncate_to_leader(s: World, leader: int, follower: int) -> None:
    """Drop what the leader has not; the high watermark goes down with the log."""
    offset = divergence_offset(s.brokers[leader].replica.log, s.brokers[follower].replica.log)
    s.brokers[follower].replica.high_watermark = min(offset, s.brokers[follower].replica.high_watermark)
    truncate(s.brokers[follower].replica.log, offset)


TRUNCATE_TO_LEADER = Rule(
    "TruncateToLeader",
    actor="{follower}",
    params=LEADER_AND_FOLLOWER,
    guards=(leader_leads, follower_follows, log_does_not_match),
    effects=(truncate_to_leader,),
    says="{follower} asks {leader} where their logs part, and truncates there",
    cites=f"{KAFKA} AbstractFetcherThread.truncateToEpochEndOffsets (KIP-279)",
)


def there_is_something_to_fetch(s: World, leader: int, follower: int) -> bool:
    """The leader has more records, or a larger high watermark that the follower can take."""
    boss = s.brokers[leader].replica
    junior = s.brokers[follower].replica
    return len(junior.log) < len(boss.log) or junior.high_watermark < min(boss.high_watermark, len(junior.log))


def fetch(s: World, leader: int, follower: int) -> None:
    """Append the next record, if there is one, and take the leader's high watermark as far as the log reaches."""
    boss = s.brokers[leader].replica
    junior = s.brokers[follower].replica
    end = len(junior.log)
    if end < len(boss.log):
        append(s.brokers[follower].replica.log, record=boss.log[end].record, epoch=boss.log[end].epoch)
    reached = follower_high_watermark(boss.high_watermark, len(junior.log))
    junior.high_watermark = max(junior.high_watermark, reached)


FETCH = Rule(
    "Fetch",
    actor="{follower}",
    params=LEADER_AND_FOLLOWER,
    guards=(leader_leads, follower_follows, log_matches, there_is_something_to_fetch),
    effects=(fetch,),
    says="{follower} fetches from {leader}",
    cites=f"{KAFKA} ReplicaFetcherThread.processPartitionData, Partition.updateFollowerFetchState",
)


def isr_holds_next_record(s: World, k: Constants, leader: int) -> bool:
    """Every member of the leader's ISR holds the record at the high watermark, as its fetches tell."""
    boss = s.brokers[leader].replica
    if not high_watermark_may_pass(boss.high_watermark, len(boss.log)):
        return False
    for member in range(k.brokers):
        if contains(boss.isr, member) == 1 and member != leader:
            if not (follower_follows(s, k, leader, member) and log_matches(s, k, leader, member)):
                return False
            if not high_watermark_may_pass(boss.high_watermark, len(s.brokers[member].replica.log)):
                return False
    return True


def advance_high_watermark(s: World, leader: int) -> None:
    """Advance the high watermark by one; what is below it is committed, and is noted for the properties."""
    boss = s.brokers[leader].replica
    boss.high_watermark += 1
    if boss.leader_epoch >= s.notes.unclean_epoch:
        for offset in range(len(s.notes.committed), boss.high_watermark):
            append(s.notes.committed, record=boss.log[offset].record, epoch=boss.log[offset].epoch)


ADVANCE_HIGH_WATERMARK = Rule(
    "AdvanceHighWatermark",
    actor="{leader}",
    params=A_LEADER,
    guards=(leader_leads, isr_holds_next_record),
    effects=(advance_high_watermark,),
    says="{leader} advances its high watermark: all its ISR holds the next record, which is now committed",
    cites=f"{KAFKA} Partition.maybeIncrementLeaderHW",
)

# ---------------------------------------------------------------------------------------------------------------------
# The ISR, through ZooKeeper


def follower_is_in_isr(s: World, leader: int, follower: int) -> bool:
    """The leader's ISR holds the follower, which is another broker."""
    return leader != follower and contains(s.brokers[leader].replica.isr, follower) == 1


def follower_is_not_in_isr(s: World, leader: int, follower: int) -> bool:
    """The leader's ISR does not hold the follower."""
    return contains(s.brokers[leader].replica.isr, follower) == 0


def follower_lags(s: World, k: Constants, leader: int, follower: int) -> bool:
    """The follower does not fetch from this leader, or has not got all of its log."""
    if not (follower_follows(s, k, leader, follower) and log_matches(s, k, leader, follower)):
        return True
    return len(s.brokers[follower].replica.log) < len(s.brokers[leader].replica.log)


def adopt_isr(s: World, leader: int) -> None:
    """Take ISR and version as written."""
    s.brokers[leader].replica.isr = s.zookeeper.partition.isr
    s.brokers[leader].replica.version = s.zookeeper.partition.version


def follower_has_stopped(s: World, leader: int, follower: int) -> bool:
    """The follower's process does not run, or its fetcher does not."""
    node = s.brokers[follower]
    return node.life == Life.DOWN or (node.replica.role == Role.FOLLOWER and node.replica.fetching == 0)


def drop_from_isr(s: World, leader: int, follower: int) -> None:
    """Write the ISR without the follower; the leader knows the new version."""
    write_isr(s, leader, excluding(s.brokers[leader].replica.isr, follower))
    adopt_isr(s, leader)


DROP_FROM_ISR = Rule(
    "DropFromIsr",
    actor="{leader}",
    params=LEADER_AND_FOLLOWER,
    guards=(leader_leads, isr_write_succeeds, follower_is_in_isr, follower_has_stopped),
    effects=(drop_from_isr,),
    says="{leader} hears no more of {follower}, and takes it out of the ISR by a conditional write",
    cites=f"{KAFKA} Partition.maybeShrinkIsr, shrinkIsrWithZk",
)


def an_isr_shrink_is_left(s: World, k: Constants) -> bool:
    """The bound on slow followers allows one more."""
    return s.spent.isr_shrinks < k.isr_shrinks


def shrink_isr(s: World, leader: int, follower: int) -> None:
    """Write the ISR without the follower; the leader knows the new version."""
    s.spent.isr_shrinks += 1
    drop_from_isr(s, leader, follower)


SHRINK_ISR = Rule(
    "ShrinkIsr",
    actor="{leader}",
    kind="fault",
    params=LEADER_AND_FOLLOWER,
    guards=(leader_leads, isr_write_succeeds, follower_is_in_isr, follower_lags),
    within=(an_isr_shrink_is_left,),
    effects=(shrink_isr,),
    says="{leader} finds {follower} slow, and takes it out of the ISR by a conditional write",
    cites=f"{KAFKA} Partition.maybeShrinkIsr, shrinkIsrWithZk",
)


def follower_has_caught_up(s: World, k: Constants, leader: int, follower: int) -> bool:
    """The follower has reached the high watermark and, since 2.0.1, the start of the leader epoch."""
    return end_is_far_enough(s, k, leader, len(s.brokers[follower].replica.log))


def end_is_far_enough(s: World, k: Constants, leader: int, end: int) -> bool:
    """A follower whose log ends here may join the leader's ISR."""
    boss = s.brokers[leader].replica
    start = boss.epoch_start if k.join_needs_epoch_start == Checked.YES else 0
    return may_join_isr(end, boss.high_watermark, start)


def follower_is_alive_in_cache(s: World, k: Constants, leader: int, follower: int) -> bool:
    """The leader's metadata cache holds the follower for alive, if the era looks."""
    return k.isr_candidates_alive == Checked.NO or contains(s.brokers[leader].alive, follower) == 1


def expand_isr(s: World, leader: int, follower: int) -> None:
    """Write the ISR with the follower; the leader knows the new version."""
    write_isr(s, leader, including(s.brokers[leader].replica.isr, follower))
    adopt_isr(s, leader)


EXPAND_ISR = Rule(
    "ExpandIsr",
    actor="{leader}",
    params=LEADER_AND_FOLLOWER,
    guards=(
        leader_leads,
        isr_write_succeeds,
        follower_is_not_in_isr,
        follower_follows,
        log_matches,
        follower_has_caught_up,
        follower_is_alive_in_cache,
    ),
    effects=(expand_isr,),
    says="{leader} finds {follower} caught up, and takes it into the ISR by a conditional write",
    cites=f"{KAFKA} Partition.maybeExpandIsr, expandIsrWithZk",
)


def a_lost_reply_is_left(s: World, k: Constants) -> bool:
    """The bound on lost replies allows one more."""
    return s.spent.lost_replies < k.lost_replies


def shrink_isr_unanswered(s: World, k: Constants, leader: int, follower: int) -> None:
    """Write the ISR without the follower; the answer is lost, and the client library's second try meets another version."""
    s.spent.isr_shrinks += 1
    s.spent.lost_replies += 1
    write_isr(s, leader, excluding(s.brokers[leader].replica.isr, follower))
    if k.bad_version == BadVersion.READ_BACK:
        adopt_isr(s, leader)


SHRINK_ISR_UNANSWERED = Rule(
    "ShrinkIsrUnanswered",
    actor="{leader}",
    kind="fault",
    params=LEADER_AND_FOLLOWER,
    guards=(leader_leads, isr_write_succeeds, follower_is_in_isr, follower_lags),
    within=(an_isr_shrink_is_left, a_lost_reply_is_left),
    effects=(shrink_isr_unanswered,),
    says="{leader} takes slow {follower} out of the ISR; ZooKeeper's answer is lost, and the write sent again meets BADVERSION",
    cites=f"{KAFKA} ReplicationUtils.updateLeaderAndIsr, checkLeaderAndIsrZkData (KAFKA-1382)",
)

# ---------------------------------------------------------------------------------------------------------------------
# A fetch that waits on the network


def a_late_fetch_is_left(s: World, k: Constants) -> bool:
    """The bound on fetches that wait on the network allows one more."""
    return s.spent.late_fetches < k.late_fetches


def send_late_fetch(s: World, leader: int, follower: int) -> None:
    """Send a fetch that will be processed later, perhaps after its sender's process has ended."""
    s.spent.late_fetches += 1
    append(
        s.fetches,
        follower=follower,
        end=len(s.brokers[follower].replica.log),
        leader_epoch=s.brokers[leader].replica.leader_epoch,
        broker_epoch=s.brokers[follower].broker_epoch,
    )


SEND_LATE_FETCH = Rule(
    "SendLateFetch",
    actor="{follower}",
    kind="fault",
    params=LEADER_AND_FOLLOWER,
    guards=(leader_leads, follower_follows, log_matches),
    within=(a_late_fetch_is_left,),
    effects=(send_late_fetch,),
    says="{follower} sends {leader} a fetch that waits on the network",
    cites="KIP-903",
)


def a_fetch_waits(s: World) -> bool:
    """A fetch waits on the network."""
    return len(s.fetches) > 0


def fetch_is_of_leaders_epoch(s: World, k: Constants, leader: int) -> bool:
    """The fetch is of the leader epoch that the leader is in, if the era compares it."""
    answer = answer_to_fetch_epoch(s.fetches[0].leader_epoch, s.brokers[leader].replica.leader_epoch, k.fetches_fenced)
    return answer == ErrorCode.NONE


def fetch_is_of_this_generation(s: World, k: Constants) -> bool:
    """The fetch carries the broker epoch under which its sender is registered, if the era compares it."""
    if k.fetch_generation_checked == Checked.NO:
        return True
    sender = s.fetches[0].follower
    return contains(s.zookeeper.registered, sender) == 1 and s.fetches[0].broker_epoch == s.zookeeper.broker_epochs[sender]


def sender_is_alive_in_cache(s: World, k: Constants, leader: int) -> bool:
    """The leader's metadata cache holds the sender for alive, if the era looks."""
    return follower_is_alive_in_cache(s, k, leader, s.fetches[0].follower)


def sender_could_join(s: World, k: Constants, leader: int) -> bool:
    """The sender is not in the leader's ISR, and the fetch offset is far enough for it."""
    if s.fetches[0].follower == leader or not follower_is_not_in_isr(s, leader, s.fetches[0].follower):
        return False
    return end_is_far_enough(s, k, leader, s.fetches[0].end)


def expand_isr_by_late_fetch(s: World, leader: int) -> None:
    """Write the ISR with the sender of the fetch, as the offset in it allows."""
    write_isr(s, leader, including(s.brokers[leader].replica.isr, s.fetches[0].follower))
    adopt_isr(s, leader)


def drop_fetch(s: World) -> None:
    """The fetch is done with."""
    pop_first(s.fetches)


LATE_FETCH_EXPANDS_ISR = Rule(
    "LateFetchExpandsIsr",
    actor="{leader}",
    params=A_LEADER,
    guards=(
        a_fetch_waits,
        fetch_is_of_this_generation,
        leader_leads,
        isr_write_succeeds,
        fetch_is_of_leaders_epoch,
        sender_could_join,
        sender_is_alive_in_cache,
    ),
    receives="fetches",
    effects=(expand_isr_by_late_fetch, drop_fetch),
    says="{leader} processes the fetch that waited, finds its sender caught up, and takes it into the ISR",
    cites=f"{KAFKA} Partition.updateFollowerFetchState, maybeExpandIsr (KAFKA-14617)",
)

LOSE_LATE_FETCH = Rule(
    "LoseLateFetch",
    actor="network",
    guards=(a_fetch_waits,),
    receives="fetches",
    effects=(drop_fetch,),
    says="the fetch that waited is refused, changes nothing, or is lost",
    cites="KIP-903",
)

RULES = (
    REFUSE_REQUEST,
    IGNORE_LEADER_AND_ISR,
    BECOME_LEADER,
    BECOME_FOLLOWER,
    LEADER_IS_UNAVAILABLE,
    UPDATE_METADATA,
    STOP_REPLICA,
    IGNORE_STOP_REPLICA,
    TRUNCATE_TO_LEADER,
    FETCH,
    ADVANCE_HIGH_WATERMARK,
    EXPAND_ISR,
    DROP_FROM_ISR,
    LATE_FETCH_EXPANDS_ISR,
    LOSE_LATE_FETCH,
    SHRINK_ISR,
    SHRINK_ISR_UNANSWERED,
    SEND_LATE_FETCH,
)
"""The rules of brokers."""
