"""With apache/kafka pull request 14170: the leader epoch does not grow when replicas leave the replica set."""

from kafka_spec.spec.language.domain import BrokerSet


def replicas_leave(before: BrokerSet, after: BrokerSet) -> bool:
    """No change of the replicas makes the leader epoch grow by itself."""
    return False
