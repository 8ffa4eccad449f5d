"""The error of a refused request or operation; the error codes are those of spec/error_codes.py."""

from __future__ import annotations

from kafka_spec.spec.error_codes import ErrorCode

__all__ = ["ErrorCode", "KafkaError"]


class KafkaError(Exception):
    """A request or operation that Kafka refuses, with its code; errors of its tools alone have UNKNOWN_SERVER_ERROR."""

    def __init__(self, code: ErrorCode, message: str) -> None:
        super().__init__(message)
        self.code = code
