"""The kinds of arrays that compiled code reads and writes, and their addresses."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

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
    return array.ctypes.data
