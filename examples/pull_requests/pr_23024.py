"""With apache/kafka pull request 23024: below min.insync.replicas a follower joins the ISR at the leader's log end only."""

from kafka_spec.spec.kraft.fetching import follower_is_candidate as is_candidate_now
from kafka_spec.spec.kraft.state import KRaft
from kafka_spec.spec.language.domain import size
from kafka_spec.spec.vocabulary.table import Constants


def follower_is_candidate(s: KRaft, k: Constants, leader: int, follower: int, epoch: int) -> bool:
    """The metadata cache lets the follower into the ISR and, where the ISR is too small, its log reaches the leader's log end."""
    leading = s.brokers[leader].replica
    if size(leading.isr) < k.min_isr and len(s.brokers[follower].replica.log) < len(leading.log):
        return False
    return is_candidate_now(s, k, leader, follower, epoch)
