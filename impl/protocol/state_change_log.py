"""Kafka's state-change.log: the file, and the frame of its lines.

The frame is that of Kafka's log4j configuration; an exception stands on the next line, without a frame. What is traced up to
2.5 only is left out above level TRACE. Controllers (controller/state_change_lines.py) and brokers (broker/state_change_lines.py)
write the lines.

Source: Kafka 2.8 StateChangeLogger.scala, config/log4j.properties.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from datetime import UTC, datetime


class LogLevel(enum.IntEnum):
    """How loud a line is; the default of Kafka is TRACE up to 2.5, and INFO from 2.6 (KAFKA-8470)."""

    TRACE = 0
    DEBUG = 1
    INFO = 2
    WARN = 3
    ERROR = 4


class StateChangeLog:
    """The file: lines in their frame, from a level on."""

    def __init__(self, write: Callable[[str], object], clock: Callable[[], float], level: LogLevel = LogLevel.INFO) -> None:
        """`write` takes a line with its newline; `clock` returns seconds since 1970."""
        self._write = write
        self._clock = clock
        self._level = level

    def line(self, level: LogLevel, message: str, exception: str = "") -> None:
        """Write a message, and the exception that belongs to it, if the level is loud enough."""
        if level < self._level:
            return
        now = datetime.fromtimestamp(self._clock(), UTC)
        date = f"{now:%Y-%m-%d %H:%M:%S},{now.microsecond // 1000:03}"
        self._write(f"[{date}] {level.name} {message} (state.change.logger)\n" + (f"{exception}\n" if exception else ""))
