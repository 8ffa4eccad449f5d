"""Before apache/kafka pull request 11136: a fetch whose answer is where the logs diverge still moves what the leader knows."""

from kafka_spec.spec.kraft.fetching import learn_from_fetch
from kafka_spec.spec.kraft.fetching import truncate_to_leader as truncate_after_answer
from kafka_spec.spec.kraft.state import KRaft
from kafka_spec.spec.vocabulary.table import Constants


def truncate_to_leader(s: KRaft, k: Constants, leader: int, follower: int) -> None:
    """Tell the leader the log end, then truncate where its answer says."""
    learn_from_fetch(s, k, leader, follower, len(s.brokers[follower].replica.log), s.brokers[follower].epoch)
    truncate_after_answer(s, leader, follower)
