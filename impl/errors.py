"""Kafka's error codes, as the implementation answers them."""

from __future__ import annotations

import enum


class Code(enum.IntEnum):
    """An error code of Kafka's protocol."""

    UNKNOWN_SERVER_ERROR = -1
    NONE = 0
    UNKNOWN_TOPIC_OR_PARTITION = 3
    BROKER_NOT_AVAILABLE = 8
    STALE_CONTROLLER_EPOCH = 11
    INVALID_TOPIC_EXCEPTION = 17
    TOPIC_ALREADY_EXISTS = 36
    INVALID_PARTITIONS = 37
    INVALID_REPLICATION_FACTOR = 38
    INVALID_REPLICA_ASSIGNMENT = 39
    INVALID_CONFIG = 40
    NOT_CONTROLLER = 41
    KAFKA_STORAGE_ERROR = 56
    STALE_BROKER_EPOCH = 77
    PREFERRED_LEADER_NOT_AVAILABLE = 80
    ELECTION_NOT_NEEDED = 84


class KafkaError(Exception):
    """Something that Kafka refuses, with its code; an error that only its tools know has UNKNOWN_SERVER_ERROR."""

    def __init__(self, code: Code, message: str) -> None:
        super().__init__(message)
        self.code = code
