"""Kafka's state-change.log: the file, and the form of its lines.

The form is that of Kafka's log4j configuration; an exception follows on a line of its own. The messages are in
controller/state_change_lines.py and broker/state_change_lines.py.

Source: Kafka 2.8 StateChangeLogger.scala, config/log4j.properties.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from datetime import UTC, datetime


class LogLevel(enum.IntEnum):
    """The level of a line; Kafka's default is TRACE up to 2.5, and INFO from 2.6 (KAFKA-8470)."""

    TRACE = 0
    DEBUG = 1
    INFO = 2
    WARN = 3
    ERROR = 4


class StateChangeLog:
    """The file: complete lines, from a level on."""

    def __init__(self, write: Callable[[str], object], clock: Callable[[], float], level: LogLevel = LogLevel.INFO) -> None:
        """`write` receives a line with its newline; `clock` returns seconds since 1970."""
        self._write = write
        self._clock = clock
        self._level = level

    def writes(self, level: LogLevel) -> bool:
        """Whether a line of this level is written."""
        return level >= self._level

    def line(self, level: LogLevel, message: str, exception: str = "") -> None:
        """Write a message and its exception, unless the level is below the log's."""
        if not self.writes(level):
            return
        now = datetime.fromtimestamp(self._clock(), UTC)
        date = f"{now:%Y-%m-%d %H:%M:%S},{now.microsecond // 1000:03}"
        self._write(f"[{date}] {level.name} {message} (state.change.logger)\n" + (f"{exception}\n" if exception else ""))
