"""Where the replicas of new partitions go if nobody says: striped over racks and brokers, so that each leads and holds as many.

The leader is unfenced; fenced brokers are taken only if there are too few others.

Source: Kafka 4.4 StripedReplicaPlacer.java, whose starts are random; KIP-36.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random

from kafka_spec.impl.kraft.image import ClusterImage
from kafka_spec.impl.protocol.errors import ErrorCode, KafkaError
from kafka_spec.spec.kraft.machines import CONTROLLED_SHUTDOWN

Racks = Sequence[Sequence[int]]


def placed(image: ClusterImage, first: int, partitions: int, factor: int, random: Random) -> dict[int, tuple[int, ...]]:
    """Return the replicas of so many partitions, numbered from `first` on; brokers in controlled shutdown get none.

    Raises:
        KafkaError: INVALID_PARTITIONS, INVALID_REPLICATION_FACTOR: a number is not positive, or too few brokers are registered.
    """
    if partitions < 1:
        raise KafkaError(ErrorCode.INVALID_PARTITIONS, f"the number of partitions {partitions} is not positive")
    usable = [known for known in image.brokers.values() if known.state != CONTROLLED_SHUTDOWN]
    unfenced, fenced = ({one.broker: one.rack for one in usable if one.fenced == is_fenced} for is_fenced in (False, True))
    if factor < 1:
        raise KafkaError(ErrorCode.INVALID_REPLICATION_FACTOR, f"the replication factor {factor} is not positive")
    if factor > len(usable):
        reason = f"the replication factor {factor} cannot be reached: {len(usable)} brokers can hold replicas"
        raise KafkaError(ErrorCode.INVALID_REPLICATION_FACTOR, reason)
    if not unfenced:
        raise KafkaError(ErrorCode.INVALID_REPLICATION_FACTOR, "all brokers are fenced")
    groups = [_racks(brokers, random) for brokers in (unfenced, fenced)]
    start = random.randrange(len(usable))
    return {
        first + number: tuple(broker for group in groups for broker in _striped(group, start + number))[:factor]
        for number in range(partitions)
    }


def _racks(brokers: dict[int, str | None], random: Random) -> list[list[int]]:
    racks: dict[str, list[int]] = {}
    for broker, rack in sorted(brokers.items()):
        racks.setdefault(rack or "", []).append(broker)
    for one in racks.values():
        random.shuffle(one)
    return [racks[name] for name in sorted(racks)]


def _striped(racks: Racks, start: int) -> Iterator[int]:
    """Yield all brokers, one of each rack in turn, from another rack and another broker for each start."""
    if not racks:
        return
    turn, rack = divmod(start, len(racks))
    queues = [[*one[turn % len(one) :], *one[: turn % len(one)]] for one in (*racks[rack:], *racks[:rack])]
    for place in range(max(map(len, queues))):
        for queue in queues:
            if place < len(queue):
                yield queue[place]
