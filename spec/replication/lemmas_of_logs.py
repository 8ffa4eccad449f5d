"""Lemmas of replication about requests, epochs and logs: the ground on which those of lemmas.py stand."""

from __future__ import annotations

from kafka_spec.spec.decisions.log import holds_same_prefix, same_entry
from kafka_spec.spec.language.domain import NONE, contains
from kafka_spec.spec.replication.state import NO_EPOCH, Partition
from kafka_spec.spec.vocabulary.table import Constants, lemma

# ---------------------------------------------------------------------------------------------------------------------
# Requests and epochs


def requests_are_numbered(s: Partition) -> bool:
    """The leader epoch of a request is its number."""
    return all(s.requests[e].leader_epoch == e for e in range(len(s.requests)))


def quorum_has_newest_epoch(s: Partition) -> bool:
    """ZooKeeper's leader epoch is that of the newest request."""
    return s.quorum.leader_epoch == len(s.requests) - 1


def quorum_has_newest_leader(s: Partition) -> bool:
    """ZooKeeper's leader is that of the newest request; before the first there is none."""
    if len(s.requests) == 0:
        return s.quorum.leader == NONE
    return s.requests[len(s.requests) - 1].leader == s.quorum.leader


def leaders_of_requests_are_in_isr(s: Partition) -> bool:
    """The leader that a request names is in the ISR that it names."""
    return all(s.requests[e].leader == NONE or contains(s.requests[e].isr, s.requests[e].leader) for e in range(len(s.requests)))


# ---------------------------------------------------------------------------------------------------------------------
# What is applied where


def epochs_are_issued(s: Partition) -> bool:
    """No replica is ahead of ZooKeeper's leader epoch."""
    return all(replica.leader_epoch <= s.quorum.leader_epoch for replica in s.replicas)


def followers_know_the_leader_of_their_epoch(s: Partition) -> bool:
    """A replica follows the leader of the request that it has applied last; before the first, nobody."""
    for replica in s.replicas:
        if replica.leader_epoch == NO_EPOCH and replica.leader != NONE:
            return False
        if replica.leader_epoch != NO_EPOCH and (
            replica.leader == NONE or s.requests[replica.leader_epoch].leader != replica.leader
        ):
            return False
    return True


def leaders_apply_first(s: Partition, k: Constants) -> bool:
    """A replica applies a request only after the leader that the request names."""
    return all(
        s.replicas[p].leader != q or s.replicas[q].leader_epoch >= s.replicas[p].leader_epoch
        for p in range(k.replicas)
        for q in range(k.replicas)
    )


def newest_leader_has_quorum_isr(s: Partition, k: Constants) -> bool:
    """A leader in ZooKeeper's epoch believes in ZooKeeper's ISR."""
    for p in range(k.replicas):
        if s.replicas[p].leader == p and s.replicas[p].leader_epoch == s.quorum.leader_epoch:
            if s.replicas[p].isr != s.quorum.isr:
                return False
    return True


def pending_request_has_quorum_isr(s: Partition, k: Constants) -> bool:
    """While ZooKeeper's leader has not applied the newest request, the ISR is that of the request."""
    for p in range(k.replicas):
        if s.quorum.leader == p and s.replicas[p].leader_epoch < s.quorum.leader_epoch:
            if s.requests[len(s.requests) - 1].isr != s.quorum.isr:
                return False
    return True


def leaders_are_in_their_isr(s: Partition, k: Constants) -> bool:
    """A replica that believes that it leads is in its own ISR."""
    return all(s.replicas[p].leader != p or contains(s.replicas[p].isr, p) for p in range(k.replicas))


def known_isr_is_not_empty(s: Partition) -> bool:
    """A replica that has applied a request knows an ISR with a member."""
    return all(replica.leader_epoch == NO_EPOCH or replica.isr != 0 for replica in s.replicas)


# ---------------------------------------------------------------------------------------------------------------------
# Logs


def entries_are_of_known_epochs(s: Partition) -> bool:
    """No entry is of an epoch that its replica has not reached."""
    return all(replica.log[o].epoch <= replica.leader_epoch for replica in s.replicas for o in range(len(replica.log)))


def entries_are_written(s: Partition) -> bool:
    """Every entry holds a record that a client has written."""
    return all(replica.log[o].record < s.next_record for replica in s.replicas for o in range(len(replica.log)))


def entries_are_of_leaders(s: Partition) -> bool:
    """Every entry is of an epoch with a leader."""
    return all(s.requests[replica.log[o].epoch].leader != NONE for replica in s.replicas for o in range(len(replica.log)))


def leaders_of_entries_have_applied(s: Partition, k: Constants) -> bool:
    """The leader of an entry's epoch has applied the request of that epoch."""
    return all(
        s.requests[replica.log[o].epoch].leader != q or s.replicas[q].leader_epoch >= replica.log[o].epoch
        for replica in s.replicas
        for q in range(k.replicas)
        for o in range(len(replica.log))
    )


def epochs_ascend(s: Partition) -> bool:
    """In a log no entry is followed by one of an older epoch."""
    return all(
        replica.log[o].epoch <= replica.log[later].epoch
        for replica in s.replicas
        for o in range(len(replica.log))
        for later in range(o + 1, len(replica.log))
    )


def logs_match(s: Partition, k: Constants) -> bool:
    """Two logs that have the same epoch at an offset are equal up to it."""
    return all(
        s.replicas[p].log[end].epoch != s.replicas[q].log[end].epoch or same_entry(s.replicas[p].log, s.replicas[q].log, o)
        for p in range(k.replicas)
        for q in range(k.replicas)
        if p != q
        for end in range(min(len(s.replicas[p].log), len(s.replicas[q].log)))
        for o in range(end + 1)
    )


def followers_have_a_prefix(s: Partition, k: Constants) -> bool:
    """The log of a follower in its leader's epoch is a prefix of the leader's."""
    for p in range(k.replicas):
        for q in range(k.replicas):
            if p != q and follows_in_epoch(s, p, q):
                if not holds_same_prefix(s.replicas[p].log, s.replicas[q].log, len(s.replicas[p].log)):
                    return False
    return True


def follows_in_epoch(s: Partition, p: int, q: int) -> bool:
    """Whether q leads and p follows it, both in the same epoch."""
    return s.replicas[p].leader == q and s.replicas[q].leader == q and s.replicas[p].leader_epoch == s.replicas[q].leader_epoch


def leaders_hold_their_epoch(s: Partition, k: Constants) -> bool:
    """A leader holds every entry of its epoch that any replica holds, at the same offset."""
    return all(
        s.replicas[q].leader != q
        or s.replicas[p].log[o].epoch != s.replicas[q].leader_epoch
        or (o < len(s.replicas[q].log) and same_entry(s.replicas[p].log, s.replicas[q].log, o))
        for p in range(k.replicas)
        for q in range(k.replicas)
        if p != q
        for o in range(len(s.replicas[p].log))
    )


LEMMAS_OF_LOGS = (
    lemma("RequestsAreNumbered", requests_are_numbered),
    lemma("QuorumHasNewestEpoch", quorum_has_newest_epoch),
    lemma("QuorumHasNewestLeader", quorum_has_newest_leader),
    lemma("LeadersOfRequestsAreInIsr", leaders_of_requests_are_in_isr),
    lemma("EpochsAreIssued", epochs_are_issued),
    lemma("FollowersKnowTheLeaderOfTheirEpoch", followers_know_the_leader_of_their_epoch),
    lemma("LeadersApplyFirst", leaders_apply_first),
    lemma("NewestLeaderHasQuorumIsr", newest_leader_has_quorum_isr),
    lemma("PendingRequestHasQuorumIsr", pending_request_has_quorum_isr),
    lemma("LeadersAreInTheirIsr", leaders_are_in_their_isr),
    lemma("KnownIsrIsNotEmpty", known_isr_is_not_empty),
    lemma("EntriesAreOfKnownEpochs", entries_are_of_known_epochs),
    lemma("EntriesAreWritten", entries_are_written),
    lemma("EntriesAreOfLeaders", entries_are_of_leaders),
    lemma("LeadersOfEntriesHaveApplied", leaders_of_entries_have_applied),
    lemma("EpochsAscend", epochs_ascend),
    lemma("LogsMatch", logs_match),
    lemma("FollowersHaveAPrefix", followers_have_a_prefix),
    lemma("LeadersHoldTheirEpoch", leaders_hold_their_epoch),
)
"""The lemmas about requests, epochs and logs."""
