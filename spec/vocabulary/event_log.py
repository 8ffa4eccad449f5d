"""Writes a log that `kafka-spec explain` reads, from a Python program: a line of JSON for each event."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TextIO


class EventLog:
    """A log of events. Lines of several threads do not mix; a line is written at once, so a crash loses none that was reported.

    The order of the lines is the order of the calls: report an event under the lock under which it happened. A context manager.
    """

    def __init__(self, file: Path | str | TextIO) -> None:
        """Write to a file, which is emptied, or to an open stream."""
        self._stream: TextIO = file if not isinstance(file, Path | str) else Path(file).open("w", encoding="utf-8")  # noqa: SIM115
        self._lock = threading.Lock()

    def event(self, rule: str, state: Mapping[str, Any] | None = None, **params: Any) -> None:
        """Report that a rule fired: its parameters, and what the state was seen to be after it, by path."""
        self._write({"event": rule, **params, **({"state": dict(state)} if state else {})})

    def saw(self, state: Mapping[str, Any]) -> None:
        """Report what the state was seen to be, without an event."""
        self._write({"state": dict(state)})

    def close(self) -> None:
        """Close the file or stream."""
        self._stream.close()

    def __enter__(self) -> EventLog:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _write(self, line: Mapping[str, Any]) -> None:
        with self._lock:
            self._stream.write(json.dumps({"time": time.time(), **line}) + "\n")
            self._stream.flush()
