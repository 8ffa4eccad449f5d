"""The kinds of arrays that compiled code reads and writes, their addresses, and memory for large ones."""

from __future__ import annotations

import ctypes
import functools
import mmap
import os
import random
import resource
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from kafka_spec.spec.vocabulary.table import SpecError

Bytes: TypeAlias = npt.NDArray[np.uint8]
"""Records, packed or not."""
Words: TypeAlias = npt.NDArray[np.uint64]
"""Fingerprints, and other numbers of 64 bits."""
Numbers: TypeAlias = npt.NDArray[np.uint32]
"""Numbers of states or actions."""
Places: TypeAlias = npt.NDArray[np.int64]
Flags: TypeAlias = npt.NDArray[np.bool_]


def address(array: npt.NDArray[Any]) -> int:
    """Return the address of an array's first byte."""
    area: Any = array
    try:
        return ctypes.addressof(ctypes.c_char.from_buffer(area))  # takes a sixth of the time of what follows
    except (BufferError, TypeError, ValueError):  # it is empty, cannot be written, or is a part of each row of another
        return array.ctypes.data


def some_of(width: int, most: int) -> Places:
    """Return at most so many numbers below `width`, chosen at random, always the same ones, in order."""
    return np.array(sorted(random.Random(width).sample(range(width), min(width, most))), np.int64)


AREAS = 32
"""So many arrays of `memory()` bytes a search reserves at most, for as many threads as are usual where address space is limited."""


@functools.cache
def memory() -> int:
    """Return the bytes of memory that the machine has, or less where the address space is limited (ulimit -v).

    What does not fit into arrays for so much ends a search for want of memory, as it does where the machine has no more.
    """
    machine = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit == resource.RLIM_INFINITY:
        return machine
    try:
        used = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * mmap.PAGESIZE
    except OSError:
        used = 0
    return max(1 << 20, min(machine, (limit - used) // AREAS))


def reserve(count: int, kind: Any, huge: bool) -> npt.NDArray[Any]:
    """Return an array whose memory is allocated when it is first written, in large pages if `huge`."""
    size = count * np.dtype(kind).itemsize
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | getattr(mmap, "MAP_NORESERVE", 0)
    try:
        area = mmap.mmap(-1, size, flags=flags)
    except OSError as error:
        raise SpecError(f"{size >> 20} MiB of address space cannot be reserved: {error}; raise the limit (ulimit -v)") from None
    if huge and hasattr(mmap, "MADV_HUGEPAGE"):
        area.madvise(mmap.MADV_HUGEPAGE)
    if hasattr(mmap, "MADV_DONTFORK"):
        # otherwise the system counts it again for a child process, and may refuse to start one
        area.madvise(mmap.MADV_DONTFORK)
    return np.frombuffer(area, kind)
