"""What Kafka's tools and controllers refuse of a topic: its name, its configuration, its assignment.

Source: Kafka 2.8 Topic.java, LogConfig.scala, AdminZkClient.scala, TopicCommand.scala; 4.1 ReplicationControlManager.java.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence

from kafka_spec.impl.protocol.errors import ErrorCode, KafkaError

LONGEST_NAME = 249
"""A log's folder is named TOPIC-PARTITION, and a file name has at most 255 characters."""

CONFIGS: Mapping[str, Callable[[str], bool]] = {
    "min.insync.replicas": lambda value: int(value) >= 1,
    "unclean.leader.election.enable": lambda value: value in ("true", "false"),
    "segment.bytes": lambda value: int(value) >= 14,
    "segment.ms": lambda value: int(value) >= 1,
    "segment.index.bytes": lambda value: int(value) >= 4,
    "index.interval.bytes": lambda value: int(value) >= 0,
}
"""The configuration names of a topic, each with the values that it accepts."""


def validate_name(name: str) -> None:
    """Check the name of a topic.

    Raises:
        KafkaError: it is empty, `.` or `..`, too long, or has a character beyond letters, digits, dots, underscores and hyphens.
    """
    if name == "":
        reason = "it can't be empty"
    elif name in (".", ".."):
        reason = "it can't be '.' or '..'"
    elif len(name) > LONGEST_NAME:
        reason = f"it can't be longer than {LONGEST_NAME} characters"
    elif not re.fullmatch(r"[a-zA-Z0-9._-]+", name):
        reason = "it contains a character other than ASCII alphanumerics, '.', '_' and '-'"
    else:
        return
    raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, f"Topic name {name!r} is illegal, {reason}")


def validate_apart(name: str, topics: Iterable[str]) -> None:
    """Check that the name of a topic is not that of another with dots for underscores: metrics could not tell them apart.

    Raises:
        KafkaError: some topics have such names.
    """
    if collides := sorted(other for other in topics if other.replace(".", "_") == name.replace(".", "_")):
        raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, f"Topic '{name}' collides with existing topics: {', '.join(collides)}")


def validate_config(config: Mapping[str, str]) -> None:
    """Check the configuration of a topic.

    Raises:
        KafkaError: a name is unknown, or a value is invalid; the message lists the known names.
    """
    for name, value in config.items():
        if name not in CONFIGS:
            raise KafkaError(ErrorCode.INVALID_CONFIG, f"Unknown topic config name: {name}; there are {', '.join(CONFIGS)}")
        try:
            good = CONFIGS[name](value)
        except (TypeError, ValueError):  # a TypeError: it is null
            good = False
        if not good:
            raise KafkaError(ErrorCode.INVALID_CONFIG, f"Invalid value {value} for configuration {name}")


def parse_assignment(text: str) -> dict[int, tuple[int, ...]]:
    """Return the replicas of each partition that a text such as `1:2,3:4` assigns: partition 0 to 1 and 2, partition 1 to 3 and 4.

    Raises:
        KafkaError: an entry is not a broker number; a partition names a broker twice; lists have different lengths.
    """
    assignment: dict[int, tuple[int, ...]] = {}
    for partition, listed in enumerate(text.split(",")):
        parts = [part.strip() for part in listed.split(":")]
        if not all(re.fullmatch(r"[0-9]+", part) for part in parts):
            raise KafkaError(
                ErrorCode.UNKNOWN_SERVER_ERROR, f"{listed!r} is not a list of brokers for partition {partition}; write 1:2,3:4"
            )
        replicas = tuple(map(int, parts))
        if twice := sorted({broker for broker in replicas if replicas.count(broker) > 1}):
            named = ",".join(map(str, twice))
            raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, f"Partition replica lists may not contain duplicate entries: {named}")
        assignment[partition] = replicas
        if len(replicas) != len(assignment[0]):
            raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, f"Partition {partition} has different replication factor: {listed}")
    return assignment


def validate_list(partition: int, replicas: Sequence[int]) -> None:
    """Check the replicas that a partition is assigned.

    Raises:
        KafkaError: there is none, a broker comes twice, or a number is negative.
    """
    if not replicas:
        raise KafkaError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, f"Cannot have replication factor of 0 for partition id {partition}.")
    if len(set(replicas)) != len(replicas):
        listed = ", ".join(map(str, replicas))
        raise KafkaError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, f"Duplicate brokers not allowed in replica assignment: {listed}")
    if min(replicas) < 0:
        raise KafkaError(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT, f"Partition {partition} names broker {min(replicas)}; broker ids are not negative"
        )


def validate_new(
    assignment: Mapping[int, Sequence[int]], wanted: range, replication_factor: int, brokers: Mapping[int, str | None]
) -> None:
    """Check the manual assignment of partitions to add; `brokers` are the registered ones.

    Raises:
        KafkaError: a list that `validate_list` refuses; an unknown broker; another number of replicas, or of partitions.
    """
    for partition in assignment:
        validate_list(partition, assignment[partition])
        if unknown := sorted(set(assignment[partition]) - set(brokers)):
            raise KafkaError(
                ErrorCode.BROKER_NOT_AVAILABLE,
                f"Some brokers specified for partition {partition} are not available: {', '.join(map(str, unknown))}",
            )
        if len(assignment[partition]) != replication_factor:
            raise KafkaError(
                ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                f"Inconsistent replication factor between partitions: partition 0 has {replication_factor}, "
                f"partition {partition} has {len(assignment[partition])}",
            )
    if list(assignment) != list(wanted):
        raise KafkaError(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            f"Partitions should be {wanted.start} to {wanted.stop - 1}, but they are {list(assignment)}",
        )
