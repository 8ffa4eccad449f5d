"""Elections: pre-votes, votes, and a leader's first batch.

A request for votes is handled while its sender asks, or it is lost; a grant may be counted at any time after.

Source: Kafka 4.3 KafkaRaftClient.java, QuorumState.java.
"""

from __future__ import annotations

from kafka_spec.spec.decisions.quorum import vote_is_granted
from kafka_spec.spec.decisions.variants import Checked
from kafka_spec.spec.language.domain import NONE, contains, including, singleton
from kafka_spec.spec.quorum.epochs import NODE, SOURCE, catch_up_in_epochs, enter_epoch, follow_or_detach, forget_role
from kafka_spec.spec.quorum.logs import (
    append_batch,
    has_majority_of,
    is_newer_or_equal,
    last_change,
    may_be_voter_still,
    raise_high_watermark,
    voters_of,
)
from kafka_spec.spec.quorum.machines import CANDIDATE, FOLLOWER, LEADER, PROSPECTIVE, QUORUM, RESIGNED, UNATTACHED
from kafka_spec.spec.quorum.state import A_NODE, MetadataQuorum
from kafka_spec.spec.vocabulary.table import Constants, Rule, fire

ASKED = {"candidate": A_NODE, "node": A_NODE}

# ---------------------------------------------------------------------------------------------------------------------
# Pre-votes


def there_are_pre_votes(k: Constants) -> bool:
    """Nodes ask for pre-votes before they stand."""
    return k.pre_votes == 1


def may_campaign(s: MetadataQuorum, node: int, k: Constants) -> bool:
    """It is a voter in its own view, or may be one still, and does not lead; nor has it resigned, where there are pre-votes."""
    role = s.nodes[node].role
    if role == LEADER or (role == RESIGNED and k.pre_votes == 1):
        return False
    return contains(voters_of(s, node), node) == 1 or (k.removed_voter_campaigns == Checked.YES and may_be_voter_still(s, node))


def does_not_ask(s: MetadataQuorum, node: int) -> bool:
    """It does not ask for pre-votes already."""
    return s.nodes[node].role != PROSPECTIVE


def an_epoch_is_left(s: MetadataQuorum, node: int, k: Constants) -> bool:
    """The bound on epochs allows one more."""
    return s.nodes[node].epoch < k.epochs


def ask(s: MetadataQuorum, k: Constants, node: int) -> None:
    """Ask for pre-votes in the same epoch, and grant the own."""
    forget_role(s, k, node)
    s.nodes[node].granted = singleton(node)
    fire(s, k, QUORUM, (node,), "ask_for_pre_votes")


ASK = Rule(
    "AskForPreVotes",
    actor="{node}",
    params=NODE,
    guards=(there_are_pre_votes, may_campaign, does_not_ask),
    bound_guards=(an_epoch_is_left,),
    effects=(ask,),
    summary="a timer of {node} ends: it asks for pre-votes",
    reference=SOURCE + "pollFollowerAsVoter, pollUnattachedAsVoter, pollCandidate (4.0, KIP-996)",
)


def asks(s: MetadataQuorum, candidate: int) -> bool:
    """The candidate asks for pre-votes."""
    return s.nodes[candidate].role == PROSPECTIVE


def is_asked(s: MetadataQuorum, candidate: int, node: int) -> bool:
    """The node is another voter of the candidate's, in no later epoch, whose grant the candidate lacks."""
    asking = s.nodes[candidate]
    if candidate == node or contains(asking.granted, node) == 1 or s.nodes[node].epoch > asking.epoch:
        return False
    return contains(voters_of(s, candidate), node) == 1


def would_vote(s: MetadataQuorum, candidate: int, node: int) -> bool:
    """The candidate's log is as new, and the node neither leads nor fetches from a leader of this epoch."""
    mine = s.nodes[node]
    if mine.epoch == s.nodes[candidate].epoch and (mine.role == LEADER or (mine.role == FOLLOWER and mine.has_fetched == 1)):
        return False
    return is_newer_or_equal(s, candidate, node)


def names_no_leader(s: MetadataQuorum, candidate: int, node: int) -> bool:
    """The answer does not name a leader whom the candidate does not know: it would follow that leader, and count no grant."""
    asking, mine = s.nodes[candidate], s.nodes[node]
    return mine.epoch < asking.epoch or mine.leader == NONE or asking.leader != NONE


def grant(s: MetadataQuorum, candidate: int, node: int) -> None:
    """Grant it."""
    s.nodes[candidate].granted = including(s.nodes[candidate].granted, node)


PRE_VOTE = Rule(
    "GrantPreVote",
    actor="{node}",
    params=ASKED,
    guards=(asks, is_asked, would_vote, names_no_leader),
    effects=(catch_up_in_epochs, grant),
    summary="{node} would vote for {candidate}, and says so",
    reference=SOURCE + "handleVoteRequest (4.0, KIP-996)",
)


def is_prospective(s: MetadataQuorum, node: int) -> bool:
    """It asks for pre-votes."""
    return s.nodes[node].role == PROSPECTIVE


GIVE_UP = Rule(
    "GiveUpAsking",
    actor="{node}",
    params=NODE,
    guards=(is_prospective,),
    effects=(follow_or_detach,),
    summary="{node} is refused pre-votes, or waits no longer",
    reference=SOURCE + "pollProspective (4.0, KIP-996)",
)

# ---------------------------------------------------------------------------------------------------------------------
# Votes


def may_stand(s: MetadataQuorum, node: int, k: Constants) -> bool:
    """A majority of its voters would vote for it; where there are no pre-votes, its timer ends.

    One that has resigned, and is the only voter, asks nobody: so it begins when its process starts.
    """
    if k.pre_votes == 0:
        return may_campaign(s, node, k)
    if s.nodes[node].role == RESIGNED:
        return voters_of(s, node) == singleton(node)
    return s.nodes[node].role == PROSPECTIVE and has_majority_of(s, node, s.nodes[node].granted)


def stand(s: MetadataQuorum, k: Constants, node: int) -> None:
    """Begin the next epoch, and vote for itself."""
    forget_role(s, k, node)
    enter_epoch(s, node, s.nodes[node].epoch + 1, NONE)
    s.nodes[node].voted = node
    s.nodes[node].granted = singleton(node)
    fire(s, k, QUORUM, (node,), "stand")


STAND = Rule(
    "Stand",
    actor="{node}",
    params=NODE,
    guards=(may_stand,),
    effects=(stand,),
    summary="{node} stands for election in the next epoch, and votes for itself",
    reference=SOURCE + "transitionToCandidate",
)


def stands(s: MetadataQuorum, candidate: int) -> bool:
    """The candidate asks for votes."""
    return s.nodes[candidate].role == CANDIDATE


def votes(s: MetadataQuorum, candidate: int, node: int) -> bool:
    """The node is in an earlier epoch, or has its vote free and no leader; and the candidate's log is as new."""
    mine = s.nodes[node]
    newer = is_newer_or_equal(s, candidate, node)
    if mine.epoch < s.nodes[candidate].epoch:
        return newer
    if mine.role != UNATTACHED and mine.role != PROSPECTIVE:
        return False
    return vote_is_granted(candidate, mine.voted, mine.leader, newer)


def vote(s: MetadataQuorum, k: Constants, candidate: int, node: int) -> None:
    """Vote for the candidate, on disk; a node that asks for pre-votes counts from one again."""
    s.nodes[node].voted = candidate
    if s.nodes[node].role == PROSPECTIVE:
        s.nodes[node].granted = singleton(node)


VOTE = Rule(
    "Vote",
    actor="{node}",
    params=ASKED,
    guards=(stands, is_asked, votes),
    effects=(catch_up_in_epochs, vote, grant),
    summary="{node} votes for {candidate}",
    reference=SOURCE + "handleVoteRequest",
)


def hears_of_later_epoch(s: MetadataQuorum, candidate: int, node: int) -> bool:
    """The node is in an earlier epoch, and does not vote for the candidate, whose log is older."""
    return s.nodes[node].epoch < s.nodes[candidate].epoch and not is_newer_or_equal(s, candidate, node)


REFUSE_VOTE = Rule(
    "RefuseVote",
    actor="{node}",
    params=ASKED,
    guards=(stands, is_asked, hears_of_later_epoch),
    effects=(catch_up_in_epochs,),
    summary="{node} enters the epoch of {candidate}, and refuses the vote",
    reference=SOURCE + "handleVoteRequest",
)


def has_votes(s: MetadataQuorum, candidate: int) -> bool:
    """A majority of its voters voted for it."""
    return has_majority_of(s, candidate, s.nodes[candidate].granted)


def win(s: MetadataQuorum, k: Constants, candidate: int) -> None:
    """Lead; append the first batch of the epoch, with the voters if the log has none. No high watermark is known in this epoch."""
    forget_role(s, k, candidate)
    mine = s.nodes[candidate]
    mine.leader = candidate
    mine.voted = NONE
    mine.high_watermark = 0
    mine.epoch_start = len(mine.log)
    fire(s, k, QUORUM, (candidate,), "win")
    voters = mine.formatted if k.kraft_version == 1 and last_change(s, candidate) < 0 else 0
    append_batch(s, k, candidate, mine.epoch, voters, s.spent.lossy_crashes)
    if s.history.leaders[mine.epoch] == NONE:
        s.history.leaders[mine.epoch] = candidate
    raise_high_watermark(s, k, candidate)


WIN = Rule(
    "Win",
    actor="{candidate}",
    params={"candidate": A_NODE},
    guards=(stands, has_votes),
    effects=(win,),
    summary="{candidate} has a majority, leads, and appends the LeaderChange of its epoch",
    reference=SOURCE + "onBecomeLeader",
)

RULES = (ASK, PRE_VOTE, GIVE_UP, STAND, VOTE, REFUSE_VOTE, WIN)
