"""Inputs that can be read only once (pipes, FIFOs), as files that can be read again; devices and sockets are refused by name.

A validation opens a file several times: to learn its layout, to find its first time, to read it. So what comes through a pipe is
copied first. Nothing waits forever: a FIFO that nobody writes to, or that says nothing for a while, is refused.
"""

from __future__ import annotations

import os
import select
import shutil
import stat
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from kafka_spec.spec.vocabulary.table import SpecError

PATIENCE = 30.0
"""Seconds to wait for the first bytes of a pipe, or for the next ones."""
BLOCK = 1 << 20
SPARE = 1 << 28
"""Bytes of the disk that a copy leaves free."""


@contextmanager
def readable_again(paths: Sequence[Path]) -> Iterator[tuple[list[Path], dict[str, str]]]:
    """Yield the paths, with copies of what can be read only once; and the name of each copy's original.

    Raises:
        SpecError: a path is a device or a socket, or nothing comes through a pipe.
    """
    with tempfile.TemporaryDirectory(prefix="kafka-spec-validate-") as folder:
        found: list[Path] = []
        names: dict[str, str] = {}
        for number, path in enumerate(paths):
            if _is_pipe(path):
                copy = Path(folder) / str(number) / path.name
                copy.parent.mkdir()
                _copy(path, copy)
                names[str(copy)] = str(path)
                path = copy
            found.append(path)
        yield found, names


def _is_pipe(path: Path) -> bool:
    try:
        mode = path.stat().st_mode
    except OSError:
        return False  # whoever opens it will say so
    if stat.S_ISCHR(mode) or stat.S_ISBLK(mode) or stat.S_ISSOCK(mode):
        kind = "a socket" if stat.S_ISSOCK(mode) else "a device"
        raise SpecError(f"{path}: it is {kind}, and no log; name a file, a folder or a pipe")
    return stat.S_ISFIFO(mode)


def _copy(path: Path, copy: Path) -> None:
    source = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    size = 0
    try:
        with copy.open("wb") as file:
            while True:
                if not select.select([source], [], [], PATIENCE)[0]:
                    raise SpecError(f"{path}: nothing has come through it for {PATIENCE:.0f} seconds; name a file")
                block = os.read(source, BLOCK)
                if not block:
                    break
                size += file.write(block)
                if shutil.disk_usage(copy.parent).free < SPARE:
                    raise SpecError(f"{path}: it is longer than the temporary folder has room for, {size:,} bytes; name a file")
    finally:
        os.close(source)
    if not size:
        raise SpecError(f"{path}: nothing comes through it; start what writes to it first, or name a file")
