"""Epochs: how a node enters one, hears of its leader and leaves its role, and how a leader resigns.

Any message may bring an epoch and its leader: a request, or an answer.

Source: Kafka 4.3 KafkaRaftClient.java, QuorumState.java.
"""

from __future__ import annotations

from kafka_spec.spec.language.domain import NONE, contains
from kafka_spec.spec.quorum.logs import voters_of
from kafka_spec.spec.quorum.machines import LEADER, QUORUM, RESIGNED, UNATTACHED
from kafka_spec.spec.quorum.state import A_NODE, RESIGNATIONS, UNKNOWN, MetadataQuorum
from kafka_spec.spec.vocabulary.table import Constants, Rule, fire

SOURCE = "Kafka 4.3 KafkaRaftClient."
NODE = {"node": A_NODE}


def forget_role(s: MetadataQuorum, k: Constants, node: int) -> None:
    """Forget what belongs to a role: grants, fetches, and the ends of the others' logs."""
    mine = s.nodes[node]
    mine.granted = 0
    mine.has_fetched = 0
    mine.epoch_start = 0
    for other in range(k.nodes):
        mine.ends[other] = UNKNOWN


def enter_epoch(s: MetadataQuorum, node: int, epoch: int, leader: int) -> None:
    """Enter an epoch, whose leader is known or NONE; the vote of an epoch before is forgotten."""
    mine = s.nodes[node]
    if epoch > mine.epoch:
        mine.voted = NONE
    mine.epoch = epoch
    mine.leader = leader


def another_node(node: int, other: int) -> bool:
    """They are two nodes."""
    return node != other


def other_knows_more(s: MetadataQuorum, node: int, other: int) -> bool:
    """The other node is in a later epoch, or knows the leader of this one, or its address."""
    mine, theirs = s.nodes[node], s.nodes[other]
    if theirs.epoch == mine.epoch:
        return theirs.leader != NONE and (mine.leader == NONE or mine.role == UNATTACHED)
    return theirs.epoch > mine.epoch


def other_names_another(s: MetadataQuorum, node: int, other: int) -> bool:
    """The leader that it names, if it names one, is not this node."""
    return s.nodes[other].leader != node


def follow_or_detach(s: MetadataQuorum, k: Constants, node: int) -> None:
    """Follow the leader of the epoch, if another is known."""
    leader = s.nodes[node].leader
    forget_role(s, k, node)
    if leader != NONE and leader != node:
        fire(s, k, QUORUM, (node,), "follow")
    else:
        fire(s, k, QUORUM, (node,), "detach")


def learn(s: MetadataQuorum, k: Constants, node: int, other: int) -> None:
    """Enter the epoch, and follow its leader if it has one."""
    enter_epoch(s, node, s.nodes[other].epoch, s.nodes[other].leader)
    follow_or_detach(s, k, node)


LEARN = Rule(
    "LearnEpoch",
    actor="{node}",
    params={"node": A_NODE, "other": A_NODE},
    guards=(another_node, other_knows_more, other_names_another),
    effects=(learn,),
    summary="{node} hears from {other} of its epoch, and of the leader if {other} knows one",
    reference=SOURCE + "maybeTransition; every request but Fetch, and every answer",
)


def catch_up_in_epochs(s: MetadataQuorum, k: Constants, candidate: int, node: int) -> None:
    """Enter the candidate's epoch, if the node is in an earlier one."""
    if s.nodes[node].epoch < s.nodes[candidate].epoch:
        forget_role(s, k, node)
        enter_epoch(s, node, s.nodes[candidate].epoch, NONE)
        fire(s, k, QUORUM, (node,), "detach")


# ---------------------------------------------------------------------------------------------------------------------
# Resignation


def leads(s: MetadataQuorum, node: int) -> bool:
    """It leads."""
    return s.nodes[node].role == LEADER


def resign(s: MetadataQuorum, k: Constants, node: int) -> None:
    """Resign from the epoch."""
    forget_role(s, k, node)
    s.nodes[node].high_watermark = 0
    fire(s, k, QUORUM, (node,), "resign")


RESIGN = Rule(
    "Resign",
    actor="{node}",
    kind="operator",
    params=NODE,
    guards=(leads,),
    at_most=RESIGNATIONS,
    effects=(resign,),
    summary="{node} resigns: it shuts down, or no majority fetches from it",
    reference=SOURCE + "pollLeader, resign",
)


def has_resigned(s: MetadataQuorum, node: int) -> bool:
    """It has resigned from its epoch."""
    return s.nodes[node].role == RESIGNED


def does_not_stand(s: MetadataQuorum, node: int, k: Constants) -> bool:
    """It leaves its epoch without a vote; where there are no pre-votes, a voter stands for election instead."""
    return k.pre_votes == 1 or contains(voters_of(s, node), node) == 0


def leave_epoch(s: MetadataQuorum, k: Constants, node: int) -> None:
    """Enter the next epoch without a leader."""
    enter_epoch(s, node, s.nodes[node].epoch + k.resigned_enters_next, NONE)
    fire(s, k, QUORUM, (node,), "detach")


LEAVE_EPOCH = Rule(
    "LeaveEpoch",
    actor="{node}",
    params=NODE,
    guards=(has_resigned, does_not_stand),
    effects=(leave_epoch,),
    summary="{node}, which has resigned, enters the next epoch without a leader",
    reference=SOURCE + "pollResigned (4.0)",
)

RULES = (LEARN, RESIGN, LEAVE_EPOCH)
