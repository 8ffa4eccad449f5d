"""Before apache/kafka pull request 14457: an answer without records clears the follower's last fetched epoch.

The next fetch then names no epoch, and the leader cannot see that the logs diverge. This version is the worst case: a fetch names
no epoch wherever the answer would hold no records, also the first one in a leader epoch. Kafka asks with the epoch of its log then.
"""

from kafka_spec.spec.decisions.log import fetch_diverges
from kafka_spec.spec.kraft.fetching import last_epoch
from kafka_spec.spec.kraft.state import KRaft


def logs_diverge(s: KRaft, leader: int, follower: int) -> bool:
    """The leader answers the follower's fetch with where the logs diverge, unless the fetch names no epoch."""
    end = len(s.brokers[follower].replica.log)
    if end == len(s.brokers[leader].replica.log):
        return False
    return fetch_diverges(s.brokers[leader].replica.log, last_epoch(s, follower), end)
