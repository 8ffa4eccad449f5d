"""A temporary folder for files that both sides flush all the time: in memory, where there is such a folder."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

MEMORY = Path("/dev/shm")


def scratch() -> TemporaryDirectory[str]:
    """Return a temporary folder, a context manager."""
    return TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None)
