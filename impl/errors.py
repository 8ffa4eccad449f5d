"""Kafka's error codes, as the implementation answers them."""

from __future__ import annotations

import enum


class Code(enum.IntEnum):
    """An error code of Kafka's protocol."""

    UNKNOWN_SERVER_ERROR = -1
    NONE = 0
    UNKNOWN_TOPIC_OR_PARTITION = 3
    BROKER_NOT_AVAILABLE = 8
    INVALID_TOPIC_EXCEPTION = 17
    TOPIC_ALREADY_EXISTS = 36
    INVALID_PARTITIONS = 37
    INVALID_REPLICATION_FACTOR = 38
    INVALID_REPLICA_ASSIGNMENT = 39
    INVALID_CONFIG = 40


class KafkaError(Exception):
    """Something that Kafka refuses, with its code; an error that only its tools know has UNKNOWN_SERVER_ERROR."""

    def __init__(self, code: Code, message: str) -> None:
        super().__init__(message)
        self.code = code
