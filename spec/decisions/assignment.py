"""Which brokers hold a partition: Kafka's two algorithms for new topics and new partitions.

Pure functions. Kafka chooses `start` (the first leader's index) and `shift` (the distance of the followers from it) at random; here
the caller passes both. A result holds, for each new partition, its replicas in order, the preferred leader first. Leaders rotate
through the brokers; with each full rotation the followers begin one broker further away from their leader.

Source: Kafka 2.8 AdminUtils.scala:103-237; 0.10 has the same algorithms.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence


def assign_rack_unaware(
    brokers: Sequence[int], partitions: int, replication_factor: int, start: int, shift: int, first_partition: int = 0
) -> list[tuple[int, ...]]:
    """Assign partitions to brokers, in their order, without regard to racks; the new partitions count from `first_partition`.

    Raises:
        ValueError: there are fewer brokers than replicas.
    """
    count = len(brokers)
    _check(count, replication_factor)
    assignment = []
    for partition in range(first_partition, first_partition + partitions):
        if partition > 0 and partition % count == 0:
            shift += 1
        first = (partition + start) % count
        followers = [brokers[_follower_index(first, shift, place, count)] for place in range(replication_factor - 1)]
        assignment.append((brokers[first], *followers))
    return assignment


def assign_rack_aware(
    racks: Mapping[int, str], partitions: int, replication_factor: int, start: int, shift: int, first_partition: int = 0
) -> list[tuple[int, ...]]:
    """Assign partitions to brokers so that no rack has two replicas of one while another has none; `racks` has each broker's.

    Raises:
        ValueError: there are fewer brokers than replicas.
    """
    brokers = alternate_racks(racks)
    count = len(brokers)
    _check(count, replication_factor)
    rack_count = len(set(racks.values()))
    assignment = []
    for partition in range(first_partition, first_partition + partitions):
        if partition > 0 and partition % count == 0:
            shift += 1
        first = (partition + start) % count
        replicas = [brokers[first]]
        used = {racks[brokers[first]]}
        place = 0
        while len(replicas) < replication_factor:
            broker = brokers[_follower_index(first, shift * rack_count, place, count)]
            place += 1
            rack_will_do = racks[broker] not in used or len(used) == rack_count
            if rack_will_do and (broker not in replicas or len(replicas) == count):
                replicas.append(broker)
                used.add(racks[broker])
        assignment.append(tuple(replicas))
    return assignment


def alternate_racks(racks: Mapping[int, str]) -> list[int]:
    """Return the brokers so that neighbours are in different racks: one of each rack in turn, racks by name, brokers by number."""
    waiting = [sorted(b for b in racks if racks[b] == rack) for rack in sorted(set(racks.values()))]
    return [brokers[turn] for turn in range(len(racks)) for brokers in waiting if turn < len(brokers)]


def start_for_new_partitions(brokers: Sequence[int], first_leader: int) -> int:
    """Return the start of partitions that are added to a topic, and their shift: the preferred leader of its partition 0.

    `brokers` are sorted; if that broker no longer exists, the next larger one replaces it, or the first.
    Kafka 2.8: AdminZkClient.addPartitions.
    """
    return next((index for index, broker in enumerate(brokers) if broker >= first_leader), 0)


def _follower_index(first: int, shift: int, place: int, count: int) -> int:
    """Return the index of the follower at a place: never that of the leader. Kafka 2.8: AdminUtils.replicaIndex."""
    return (first + 1 + (shift + place) % (count - 1)) % count


def _check(brokers: int, replication_factor: int) -> None:
    if not 1 <= replication_factor <= brokers:
        raise ValueError(f"{replication_factor} replicas cannot be on {brokers} brokers, each on one of its own")
