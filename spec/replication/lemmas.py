"""Lemmas of replication: with them `kafka-spec prove replication/kip_320` shows its properties for logs of any length.

Each holds in every reachable state of KIP-320 and is kept by every rule from any state that meets all of them. They come in five
groups: requests and epochs, what is applied where, logs, what is committed, and which replica may still be elected.
The other versions break one or more of them: that is what each design had overlooked.
"""

from __future__ import annotations

from kafka_spec.spec.decisions.log import holds_same_prefix
from kafka_spec.spec.language.domain import NONE, contains
from kafka_spec.spec.replication.lemmas_of_logs import LEMMAS_OF_LOGS, follows_in_epoch
from kafka_spec.spec.replication.state import Partition
from kafka_spec.spec.vocabulary.table import Constants, lemma

# ---------------------------------------------------------------------------------------------------------------------
# What is committed


def logs_reach_high_watermark(s: Partition) -> bool:
    """No high watermark is beyond the end of its log."""
    return all(replica.high_watermark <= len(replica.log) for replica in s.replicas)


def isr_holds_exposed(s: Partition, k: Constants) -> bool:
    """Every member of ZooKeeper's ISR holds what any replica has below its high watermark."""
    return all(not contains(s.quorum.isr, q) or holds_exposed(s, k, q) for q in range(k.replicas))


def holds_exposed(s: Partition, k: Constants, q: int) -> bool:
    """Whether a replica holds what any other has below its high watermark."""
    for p in range(k.replicas):
        if p != q and not holds_same_prefix(s.replicas[p].log, s.replicas[q].log, s.replicas[p].high_watermark):
            return False
    return True


def leaders_expose_first(s: Partition, k: Constants) -> bool:
    """A follower exposes no entry of its leader's epoch that the leader does not expose."""
    return all(
        not follows_in_epoch(s, p, q)
        or s.replicas[p].log[o].epoch != s.replicas[q].leader_epoch
        or o < s.replicas[q].high_watermark
        for p in range(k.replicas)
        for q in range(k.replicas)
        if p != q
        for o in range(s.replicas[p].high_watermark)
    )


# ---------------------------------------------------------------------------------------------------------------------
# Which replica may still be elected, and what it holds


def one_is_newer(s: Partition, k: Constants, isr: int, epoch: int) -> bool:
    """Whether a member of a set is in a newer epoch: then a leader of this epoch with this ISR cannot advance any more."""
    return any(contains(isr, m) and s.replicas[m].leader_epoch > epoch for m in range(k.replicas))


def is_applied(s: Partition, k: Constants, request: int) -> bool:
    """Whether the leader that a request names has applied it, or a newer one."""
    return any(s.requests[request].leader == m and s.replicas[m].leader_epoch >= request for m in range(k.replicas))


def old_leaders_cannot_commit_without_isr(s: Partition, k: Constants) -> bool:
    """A leader counts all of ZooKeeper's ISR, or one of its own ISR has left its epoch."""
    return all(
        s.replicas[p].leader != p
        or s.quorum.isr & ~s.replicas[p].isr == 0
        or one_is_newer(s, k, s.replicas[p].isr, s.replicas[p].leader_epoch)
        for p in range(k.replicas)
    )


def pending_requests_count_isr(s: Partition, k: Constants) -> bool:
    """The same of the leader of a request that it has not applied yet."""
    return all(
        s.requests[e].leader == NONE
        or is_applied(s, k, e)
        or s.quorum.isr & ~s.requests[e].isr == 0
        or one_is_newer(s, k, s.requests[e].isr, e)
        for e in range(len(s.requests))
    )


def new_leaders_are_of_older_isr(s: Partition, k: Constants) -> bool:
    """The leader of a newer request is in a leader's ISR, or one of that ISR has left its epoch."""
    return all(
        s.replicas[p].leader != p
        or s.requests[e].leader == NONE
        or contains(s.replicas[p].isr, s.requests[e].leader)
        or one_is_newer(s, k, s.replicas[p].isr, s.replicas[p].leader_epoch)
        for p in range(k.replicas)
        for e in range(s.replicas[p].leader_epoch + 1, len(s.requests))
    )


def later_requests_are_of_older_isr(s: Partition, k: Constants) -> bool:
    """The leader of a newer request is in the ISR of an older one, unless that was applied or has lost a member."""
    return all(
        s.requests[e].leader == NONE
        or s.requests[later].leader == NONE
        or contains(s.requests[e].isr, s.requests[later].leader)
        or one_is_newer(s, k, s.requests[e].isr, e)
        or is_applied(s, k, e)
        for e in range(len(s.requests))
        for later in range(e + 1, len(s.requests))
    )


def newer_requests_keep_to_older_isr(s: Partition, k: Constants) -> bool:
    """The ISR of a newer request is within that of a leader, or one of a leader's ISR has left its epoch."""
    return all(
        s.replicas[p].leader != p
        or s.requests[e].isr & ~s.replicas[p].isr == 0
        or one_is_newer(s, k, s.replicas[p].isr, s.replicas[p].leader_epoch)
        for p in range(k.replicas)
        for e in range(s.replicas[p].leader_epoch + 1, len(s.requests))
    )


def later_requests_keep_to_older_isr(s: Partition, k: Constants) -> bool:
    """The ISR of a newer request is within that of an older one, unless that was applied or has lost a member."""
    return all(
        s.requests[e].leader == NONE
        or s.requests[later].isr & ~s.requests[e].isr == 0
        or one_is_newer(s, k, s.requests[e].isr, e)
        or is_applied(s, k, e)
        for e in range(len(s.requests))
        for later in range(e + 1, len(s.requests))
    )


def older_leaders_have_lost_a_member(s: Partition, k: Constants) -> bool:
    """Of two leaders, one of the older one's ISR has left its epoch."""
    return all(
        s.replicas[p].leader != p
        or s.replicas[q].leader != q
        or s.replicas[p].leader_epoch >= s.replicas[q].leader_epoch
        or one_is_newer(s, k, s.replicas[p].isr, s.replicas[p].leader_epoch)
        for p in range(k.replicas)
        for q in range(k.replicas)
        if p != q
    )


def isr_of_pending_requests_holds_exposed(s: Partition, k: Constants) -> bool:
    """While a request is pending, the members of its ISR hold what replicas in older epochs have below their high watermark."""
    return all(
        s.requests[e].leader == NONE
        or is_applied(s, k, e)
        or not contains(s.requests[e].isr, m)
        or s.replicas[r].leader_epoch >= e
        or holds_same_prefix(s.replicas[r].log, s.replicas[m].log, s.replicas[r].high_watermark)
        for m in range(k.replicas)
        for r in range(k.replicas)
        if m != r
        for e in range(len(s.requests))
    )


def leaders_hold_what_older_expose(s: Partition, k: Constants) -> bool:
    """A leader holds what replicas in older epochs have below their high watermark."""
    return all(s.replicas[q].leader != q or holds_older(s, k, q, s.replicas[q].leader_epoch) for q in range(k.replicas))


def holds_older(s: Partition, k: Constants, q: int, epoch: int) -> bool:
    """Whether a replica holds what others in epochs older than this one have below their high watermark."""
    for r in range(k.replicas):
        if r != q and s.replicas[r].leader_epoch < epoch:
            if not holds_same_prefix(s.replicas[r].log, s.replicas[q].log, s.replicas[r].high_watermark):
                return False
    return True


def request_has_older(s: Partition, k: Constants, request: int, epoch: int) -> bool:
    """Whether a member of a request's ISR is in an older epoch."""
    return any(contains(s.requests[request].isr, m) and s.replicas[m].leader_epoch < epoch for m in range(k.replicas))


def leaders_hold_what_is_exposed_before_pending_requests(s: Partition, k: Constants) -> bool:
    """A leader holds what is exposed before a pending request while a member of that one's ISR is older than the leader."""
    return all(
        s.replicas[q].leader != q
        or s.requests[e].leader == NONE
        or is_applied(s, k, e)
        or not request_has_older(s, k, e, s.replicas[q].leader_epoch)
        or holds_older(s, k, q, e)
        for q in range(k.replicas)
        for e in range(s.replicas[q].leader_epoch + 1, len(s.requests))
    )


def leaders_to_be_hold_what_is_exposed_before_pending_requests(s: Partition, k: Constants) -> bool:
    """So does the leader of a request that is pending itself."""
    return all(
        s.requests[e].leader != q
        or s.replicas[q].leader_epoch >= e
        or s.requests[later].leader == NONE
        or is_applied(s, k, later)
        or not request_has_older(s, k, later, e)
        or holds_older(s, k, q, later)
        for q in range(k.replicas)
        for e in range(len(s.requests))
        for later in range(e + 1, len(s.requests))
    )


def leader_has_older(s: Partition, k: Constants, p: int, epoch: int) -> bool:
    """Whether a member of a leader's ISR is in an older epoch."""
    return any(contains(s.replicas[p].isr, m) and s.replicas[m].leader_epoch < epoch for m in range(k.replicas))


def older_leaders_hold_what_newer_expose(s: Partition, k: Constants) -> bool:
    """A leader holds what a newer one exposes while a member of the newer one's ISR is older than both."""
    return all(
        s.replicas[p].leader != p
        or s.replicas[q].leader != q
        or s.replicas[q].leader_epoch >= s.replicas[p].leader_epoch
        or not leader_has_older(s, k, p, s.replicas[q].leader_epoch)
        or holds_same_prefix(s.replicas[p].log, s.replicas[q].log, s.replicas[p].high_watermark)
        for p in range(k.replicas)
        for q in range(k.replicas)
        if p != q
    )


def older_leaders_to_be_hold_what_newer_expose(s: Partition, k: Constants) -> bool:
    """So does the leader of a request that is pending."""
    return all(
        s.replicas[p].leader != p
        or s.requests[e].leader != q
        or s.replicas[q].leader_epoch >= e
        or not leader_has_older(s, k, p, e)
        or holds_same_prefix(s.replicas[p].log, s.replicas[q].log, s.replicas[p].high_watermark)
        for p in range(k.replicas)
        for q in range(k.replicas)
        if p != q
        for e in range(s.replicas[p].leader_epoch)
    )


LEMMAS = (
    *LEMMAS_OF_LOGS,
    lemma("LogsReachHighWatermark", logs_reach_high_watermark),
    lemma("IsrHoldsExposed", isr_holds_exposed),
    lemma("LeadersExposeFirst", leaders_expose_first),
    lemma("OldLeadersCannotCommitWithoutIsr", old_leaders_cannot_commit_without_isr),
    lemma("PendingRequestsCountIsr", pending_requests_count_isr),
    lemma("NewLeadersAreOfOlderIsr", new_leaders_are_of_older_isr),
    lemma("LaterRequestsAreOfOlderIsr", later_requests_are_of_older_isr),
    lemma("NewerRequestsKeepToOlderIsr", newer_requests_keep_to_older_isr),
    lemma("LaterRequestsKeepToOlderIsr", later_requests_keep_to_older_isr),
    lemma("OlderLeadersHaveLostAMember", older_leaders_have_lost_a_member),
    lemma("IsrOfPendingRequestsHoldsExposed", isr_of_pending_requests_holds_exposed),
    lemma("LeadersHoldWhatOlderExpose", leaders_hold_what_older_expose),
    lemma("LeadersHoldWhatIsExposedBeforePendingRequests", leaders_hold_what_is_exposed_before_pending_requests),
    lemma("LeadersToBeHoldWhatIsExposedBeforePendingRequests", leaders_to_be_hold_what_is_exposed_before_pending_requests),
    lemma("OlderLeadersHoldWhatNewerExpose", older_leaders_hold_what_newer_expose),
    lemma("OlderLeadersToBeHoldWhatNewerExpose", older_leaders_to_be_hold_what_newer_expose),
)
"""All lemmas."""
