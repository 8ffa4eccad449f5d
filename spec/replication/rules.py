"""The rules of replication that all versions share, and the predicates that they use.

A version replaces some of these rules (see versions/). Guards are small and named, so that versions differ in names, traces
show names, and a rule is weakened by removing a name. Each rule cites its source.
"""

from __future__ import annotations

from kafka_spec.spec.decisions.log import both_reach, divergence_offset, follower_high_watermark, high_watermark_may_pass
from kafka_spec.spec.language.domain import NONE, append, contains, excluding, including, singleton, truncate
from kafka_spec.spec.replication.state import ANY_REPLICA, Partition
from kafka_spec.spec.vocabulary.table import Constants, ItemOf, Rule

MODEL = "KafkaReplication.tla (hachikuji/kafka-specification)"

# ---------------------------------------------------------------------------------------------------------------------
# A replica's view of leadership


def leader_presumes_leadership(s: Partition, leader: int) -> bool:
    """The leader believes that it leads."""
    return s.replicas[leader].leader == leader


def leader_is_true_leader(s: Partition, leader: int) -> bool:
    """The leader is ZooKeeper's leader at the newest epoch: only then does its conditional write of the ISR succeed."""
    replica = s.replicas[leader]
    return s.quorum.leader == leader and replica.leader == leader and replica.leader_epoch == s.quorum.leader_epoch


def follower_follows(s: Partition, leader: int, follower: int) -> bool:
    """The follower believes that this replica leads; a replica that leads follows itself."""
    return s.replicas[follower].leader == leader


def follower_is_another(leader: int, follower: int) -> bool:
    """The follower is not the leader."""
    return follower != leader


def is_in_same_epoch(s: Partition, leader: int, follower: int) -> bool:
    """The leader leads, and the follower follows it at the same leader epoch (KIP-320's fencing)."""
    leading = s.replicas[leader]
    following = s.replicas[follower]
    return leading.leader == leader and following.leader == leader and following.leader_epoch == leading.leader_epoch


# ---------------------------------------------------------------------------------------------------------------------
# The controller


def replica_is_in_quorum_isr(s: Partition, replica: int) -> bool:
    """ZooKeeper's ISR holds the replica."""
    return contains(s.quorum.isr, replica)


def replica_is_not_quorum_leader(s: Partition, replica: int) -> bool:
    """ZooKeeper names another leader, or none."""
    return s.quorum.leader != replica


def replica_matters_to_quorum(s: Partition, replica: int) -> bool:
    """ZooKeeper names the replica as leader or in the ISR."""
    return s.quorum.leader == replica or contains(s.quorum.isr, replica)


def a_leader_epoch_is_left(s: Partition, k: Constants) -> bool:
    """The bound on leader epochs allows one more."""
    return len(s.requests) <= k.max_leader_epoch


def update_quorum(s: Partition, leader: int, isr: int) -> None:
    """Write leader and ISR with a new epoch to ZooKeeper, and issue the LeaderAndIsr request of that epoch."""
    epoch = len(s.requests)
    s.quorum.leader_epoch = epoch
    s.quorum.leader = leader
    s.quorum.isr = isr
    append(s.requests, leader_epoch=epoch, leader=leader, isr=isr)


def elect_leader(s: Partition, replica: int) -> None:
    """Make the replica the leader; the ISR stays."""
    update_quorum(s, replica, s.quorum.isr)


def leader_and_isr_without(leader: int, isr: int, replica: int) -> tuple[int, int]:
    """The leader and the ISR without the replica: a last member that leads stays in the ISR, any other leaves it."""
    if leader != replica:
        return leader, excluding(isr, replica)
    if isr == singleton(replica):
        return NONE, isr
    return NONE, excluding(isr, replica)


def shrink_quorum_isr(s: Partition, replica: int) -> None:
    """Remove the replica from leadership and ISR."""
    leader, isr = leader_and_isr_without(s.quorum.leader, s.quorum.isr, replica)
    update_quorum(s, leader, isr)


CONTROLLER_ELECT_LEADER = Rule(
    "ControllerElectLeader",
    actor="controller",
    params={"replica": ANY_REPLICA},
    guards=(replica_is_in_quorum_isr, replica_is_not_quorum_leader),
    bound_guards=(a_leader_epoch_is_left,),
    effects=(elect_leader,),
    summary="the controller elects {replica} from the ISR, under a new leader epoch",
    reference=f"{MODEL}: ControllerElectLeader; Kafka 2.8 PartitionStateMachine.electLeaderForPartitions",
)

CONTROLLER_SHRINK_ISR = Rule(
    "ControllerShrinkIsr",
    actor="controller",
    params={"replica": ANY_REPLICA},
    guards=(replica_matters_to_quorum,),
    bound_guards=(a_leader_epoch_is_left,),
    effects=(shrink_quorum_isr,),
    summary="the controller considers {replica} failed and removes it from leadership and ISR, under a new leader epoch",
    reference=f"{MODEL}: ControllerShrinkIsr; Kafka 2.8 ReplicaStateMachine.removeReplicasFromIsr",
)

# ---------------------------------------------------------------------------------------------------------------------
# A replica applies a LeaderAndIsr request


def request_names_a_leader(s: Partition, request: int) -> bool:
    """The request names a leader; replicas never apply a request without one."""
    return s.requests[request].leader != NONE


def request_is_new_to_its_leader(s: Partition, request: int) -> bool:
    """The epoch is larger than the one the named leader knows."""
    return s.requests[request].leader_epoch > s.replicas[s.requests[request].leader].leader_epoch


def become_leader(s: Partition, request: int) -> None:
    """Take epoch, leadership and ISR from the request; the high watermark stays."""
    leader = s.requests[request].leader
    take_request(s, request, leader)


def take_request(s: Partition, request: int, replica: int) -> None:
    """Take epoch, leader and ISR from the request."""
    s.replicas[replica].leader_epoch = s.requests[request].leader_epoch
    s.replicas[replica].leader = s.requests[request].leader
    s.replicas[replica].isr = s.requests[request].isr


BECOME_LEADER = Rule(
    "BecomeLeader",
    actor="{request.leader}",
    params={"request": ItemOf("requests")},
    guards=(request_names_a_leader, request_is_new_to_its_leader),
    effects=(become_leader,),
    summary="{request.leader} applies LeaderAndIsr request {request} and leads",
    reference=f"{MODEL}: BecomeLeader; Kafka 2.8 Partition.makeLeader",
)


def replica_is_not_the_leader(s: Partition, request: int, replica: int) -> bool:
    """The request names another replica as leader."""
    return s.requests[request].leader != replica


def request_is_new_to_replica(s: Partition, request: int, replica: int) -> bool:
    """The epoch is larger than the one the replica knows."""
    return s.requests[request].leader_epoch > s.replicas[replica].leader_epoch


def replica_reaches_its_high_watermark(s: Partition, replica: int) -> bool:
    """The log reaches the high watermark, so it can be truncated there."""
    return s.replicas[replica].high_watermark <= len(s.replicas[replica].log)


def truncate_to_high_watermark(s: Partition, replica: int) -> None:
    """Drop the entries above the replica's own high watermark."""
    truncate(s.replicas[replica].log, s.replicas[replica].high_watermark)


def truncate_log(s: Partition, replica: int, offset: int) -> None:
    """Drop the entries from the offset on; lower the high watermark if it is above the new end of the log."""
    truncate(s.replicas[replica].log, offset)
    s.replicas[replica].high_watermark = min(offset, s.replicas[replica].high_watermark)


def truncate_to_divergence(s: Partition, request: int, replica: int) -> None:
    """Drop the entries that the leader of the request does not have."""
    leader = s.requests[request].leader
    truncate_log(s, replica, divergence_offset(s.replicas[leader].log, s.replicas[replica].log))


BECOME_FOLLOWER = Rule(
    "BecomeFollower",
    actor="{replica}",
    params={"request": ItemOf("requests"), "replica": ANY_REPLICA},
    guards=(
        request_names_a_leader,
        replica_is_not_the_leader,
        request_is_new_to_replica,
        replica_reaches_its_high_watermark,
    ),
    effects=(truncate_to_high_watermark, take_request),
    summary="{replica} applies LeaderAndIsr request {request}, truncates to its high watermark and follows",
    reference="KafkaTruncateToHighWatermark.tla: BecomeFollowerAndTruncateTo; Kafka 0.10 ReplicaManager.makeFollowers",
)

# ---------------------------------------------------------------------------------------------------------------------
# Writing and fetching


def log_has_room(s: Partition, k: Constants, leader: int) -> bool:
    """The bound on log size allows one more entry."""
    return len(s.replicas[leader].log) < k.log_size


def a_record_is_left(s: Partition, k: Constants) -> bool:
    """The bound on records allows one more."""
    return s.next_record < k.max_records


def append_next_record(s: Partition, leader: int) -> None:
    """Append the next record in the leader's epoch."""
    append(s.replicas[leader].log, record=s.next_record, epoch=s.replicas[leader].leader_epoch)
    s.next_record += 1


LEADER_WRITE = Rule(
    "LeaderWrite",
    actor="{leader}",
    kind="operator",
    params={"leader": ANY_REPLICA},
    guards=(leader_presumes_leadership,),
    bound_guards=(a_record_is_left, log_has_room),
    effects=(append_next_record,),
    summary="a client writes a record to {leader}",
    reference=f"{MODEL}: LeaderWrite; Kafka 2.8 Partition.appendRecordsToLeader",
)


def leader_has_more(s: Partition, leader: int, follower: int) -> bool:
    """The leader's log is longer than the follower's."""
    return len(s.replicas[follower].log) < len(s.replicas[leader].log)


def fetch_next_entry(s: Partition, leader: int, follower: int) -> None:
    """Copy one entry from leader to follower, with the leader's high watermark."""
    offset = len(s.replicas[follower].log)
    entry = s.replicas[leader].log[offset]
    append(s.replicas[follower].log, record=entry.record, epoch=entry.epoch)
    s.replicas[follower].high_watermark = follower_high_watermark(s.replicas[leader].high_watermark, offset + 1)


FOLLOWER_REPLICATE = Rule(
    "FollowerReplicate",
    actor="{follower}",
    asks="{leader}",
    params={"leader": ANY_REPLICA, "follower": ANY_REPLICA},
    guards=(leader_presumes_leadership, follower_follows, leader_has_more),
    effects=(fetch_next_entry,),
    summary="{follower} fetches one record and the high watermark from {leader}",
    reference=f"{MODEL}: FollowerReplicate; Kafka 0.10 ReplicaFetcherThread.processPartitionData",
)

# ---------------------------------------------------------------------------------------------------------------------
# High watermark


def isr_follows_and_has_next_entry(s: Partition, k: Constants, leader: int) -> bool:
    """Every member of the leader's ISR follows it and holds the entry at the leader's high watermark."""
    for member in range(k.replicas):
        if contains(s.replicas[leader].isr, member):
            if s.replicas[member].leader != leader:
                return False
            if not high_watermark_may_pass(s.replicas[leader].high_watermark, len(s.replicas[member].log)):
                return False
    return True


def high_watermark_has_room(s: Partition, k: Constants, leader: int) -> bool:
    """The high watermark is below the bound on log size; a leader outside its ISR is not held back by its own log."""
    return s.replicas[leader].high_watermark < k.log_size


def advance_high_watermark(s: Partition, leader: int) -> None:
    """Advance the leader's high watermark by one."""
    s.replicas[leader].high_watermark += 1


LEADER_INC_HIGH_WATERMARK = Rule(
    "LeaderIncHighWatermark",
    actor="{leader}",
    params={"leader": ANY_REPLICA},
    guards=(leader_presumes_leadership, isr_follows_and_has_next_entry),
    bound_guards=(high_watermark_has_room,),
    effects=(advance_high_watermark,),
    summary="{leader} advances its high watermark: all its ISR holds the next record, which is now committed",
    reference=f"{MODEL}: LeaderIncHighWatermark; Kafka 0.10 Partition.maybeIncrementLeaderHW",
)

# ---------------------------------------------------------------------------------------------------------------------
# The leader changes the ISR, by conditional write


def leader_counts_follower(s: Partition, leader: int, follower: int) -> bool:
    """The leader's ISR holds the follower."""
    return contains(s.replicas[leader].isr, follower)


def leader_does_not_count_follower(s: Partition, leader: int, follower: int) -> bool:
    """The leader's ISR does not hold the follower."""
    return not contains(s.replicas[leader].isr, follower)


def is_caught_up_to(s: Partition, leader: int, follower: int, end: int) -> bool:
    """The follower follows this leader, and both logs reach the offset: before KIP-320 a leader can check no more."""
    if s.replicas[follower].leader != leader:
        return False
    return both_reach(s.replicas[leader].log, s.replicas[follower].log, end)


def follower_lags(s: Partition, leader: int, follower: int) -> bool:
    """The follower does not have all of the leader's log, or follows another replica."""
    return not is_caught_up_to(s, leader, follower, len(s.replicas[leader].log))


def follower_reaches_high_watermark(s: Partition, leader: int, follower: int) -> bool:
    """The follower has reached the leader's high watermark."""
    return is_caught_up_to(s, leader, follower, s.replicas[leader].high_watermark)


def remove_from_isr(s: Partition, leader: int, follower: int) -> None:
    """Write the ISR without the follower to ZooKeeper; no new epoch, no request."""
    s.replicas[leader].isr = excluding(s.replicas[leader].isr, follower)
    s.quorum.isr = s.replicas[leader].isr


def add_to_isr(s: Partition, leader: int, follower: int) -> None:
    """Write the ISR with the follower to ZooKeeper; no new epoch, no request."""
    s.replicas[leader].isr = including(s.replicas[leader].isr, follower)
    s.quorum.isr = s.replicas[leader].isr


LEADER_SHRINK_ISR = Rule(
    "LeaderShrinkIsr",
    actor="{leader}",
    params={"leader": ANY_REPLICA, "follower": ANY_REPLICA},
    guards=(leader_is_true_leader, follower_is_another, leader_counts_follower, follower_lags),
    effects=(remove_from_isr,),
    summary="{leader} removes the lagging {follower} from the ISR",
    reference=f"{MODEL}: LeaderShrinkIsr; Kafka 0.10 Partition.maybeShrinkIsr",
)

LEADER_EXPAND_ISR = Rule(
    "LeaderExpandIsr",
    actor="{leader}",
    params={"leader": ANY_REPLICA, "follower": ANY_REPLICA},
    guards=(leader_is_true_leader, leader_does_not_count_follower, follower_reaches_high_watermark),
    effects=(add_to_isr,),
    summary="{leader} adds {follower}, which has reached its high watermark, to the ISR",
    reference=f"{MODEL}: LeaderExpandIsr; Kafka 0.10 Partition.maybeExpandIsr",
)

RULES = (
    CONTROLLER_ELECT_LEADER,
    CONTROLLER_SHRINK_ISR,
    BECOME_LEADER,
    BECOME_FOLLOWER,
    LEADER_WRITE,
    FOLLOWER_REPLICATE,
    LEADER_INC_HIGH_WATERMARK,
    LEADER_SHRINK_ISR,
    LEADER_EXPAND_ISR,
)
