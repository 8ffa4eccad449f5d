"""Ends of log lines that many lines share, read once."""

from __future__ import annotations

import re
from typing import Any

MOST_ENDS = 20_000
"""Number of cached ends of lines."""


class LineEnds:
    """Reads the ends of lines of one kind, and caches them: all lines of a request have the same one, or all of a partition."""

    def __init__(self, pattern: re.Pattern[bytes], numbers: int) -> None:
        self._pattern = pattern
        self._numbers = numbers
        self._known: dict[bytes, tuple[Any, ...] | None] = {}

    def read(self, end: bytes) -> tuple[Any, ...] | None:
        """Return the groups of the pattern, the first ones as numbers; None if the end does not match."""
        known = self._known.get(end)
        if known is None:
            match = self._pattern.match(end)
            if match is None:
                return None
            if len(self._known) >= MOST_ENDS:
                self._known.clear()
            groups = match.groups()
            known = self._known[end] = (*map(int, groups[: self._numbers]), *groups[self._numbers :])
        return known
