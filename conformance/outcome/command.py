"""What `validate` of both worlds shows on a terminal while it reads."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

EVERY = 0.5
"""Seconds between two lines of progress."""


def progress(size: int, quiet: bool) -> Callable[[int], None]:
    """Return a function that receives how many bytes more were read, and shows them on a terminal."""
    if quiet or not sys.stderr.isatty():
        return lambda _: None
    started = shown = time.monotonic()
    read = 0

    def show(more: int) -> None:
        nonlocal read, shown
        read += more
        now = time.monotonic()
        if now - shown > EVERY:
            shown = now
            speed = read / 1e6 / (now - started)
            sys.stderr.write(f"\r{read / 1e6:,.0f} MB read, {speed:,.0f} MB/s, files hold {size / 1e6:,.0f} MB ")

    return show
