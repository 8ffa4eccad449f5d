"""Packs the records of a search into fewer bytes where they wait: in the frontier, among the new states, in files.

Depends on bytes. The code is compiled for the domains at the search's bounds (lowering/packing.py), when a search gets large, and
kept like all compiled code.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import numpy.typing as npt

from kafka_spec.model_check.exploration import EngineError
from kafka_spec.model_check.layout import Layout
from kafka_spec.model_check.lowering.packing import SPARE, codec_text, packed_bytes, size_bits
from kafka_spec.model_check.machine_code import load, text_known

Bytes = npt.NDArray[np.uint8]
Words = npt.NDArray[np.uint64]


class Codec:
    """The compiled codec of a layout; `most` is the most bytes of a row, `seed` that of the program's fingerprints.

    Rows have different lengths and stand one after the other. `reach` bytes from the start of each must be readable, also of the
    last one.
    """

    def __init__(self, layout: Layout, seed: int, anew: bool = False) -> None:
        self.most, self.record_bytes, self.seed = packed_bytes(layout), layout.size, seed
        self.reach = self.most + SPARE
        self.counter = np.dtype(f"u{size_bits(layout) // 8}")
        """The type of the numbers that count the bytes of a row."""
        self.text = codec_text(layout)
        self._library = load(text_known(self.text), anew).engine
        pointer, integer = ctypes.c_void_p, ctypes.c_int64
        pack, unpack, gather = (self._library.get_function_address(name) for name in ("pack", "unpack", "gather"))
        self._pack = ctypes.CFUNCTYPE(integer, pointer, pointer, integer, pointer, pointer)(pack)
        self._unpack = ctypes.CFUNCTYPE(integer, pointer, pointer, integer, integer, pointer)(unpack)
        self._gather = ctypes.CFUNCTYPE(integer, pointer, pointer, pointer, integer, pointer, pointer)(gather)

    def pack(self, states: Bytes, places: npt.NDArray[np.uint32], rows: Bytes, sizes: npt.NDArray[Any]) -> int:
        """Pack the records at some places into rows, in the order of the places; return the bytes of all, and set that of each."""
        return int(self._pack(_address(states), _address(places), len(places), _address(rows), _address(sizes)))

    def unpack(self, rows: Bytes, marks: Words, states: Bytes | None = None) -> Bytes:
        """Return the records of rows with these fingerprints, in `states` if it is given.

        Raises:
            EngineError: a record has another fingerprint than when it was packed.
        """
        count = len(marks)
        states = np.empty((count, self.record_bytes), np.uint8) if states is None else states[:count]
        wrong = self._unpack(_address(rows), _address(marks), count, self.seed, _address(states))
        if wrong >= 0:
            raise EngineError(f"the packed state {int(marks[wrong]):016x} has changed: its memory or its file is damaged")
        return states

    def gather(self, rows: Bytes, starts: Words, order: npt.NDArray[np.intp], into: Bytes, sizes: npt.NDArray[Any]) -> int:
        """Copy rows in another order; return the bytes of all, and set that of each. Row n ends where row n + 1 starts."""
        places = _address(rows), _address(starts), _address(order)
        return int(self._gather(*places, len(order), _address(into), _address(sizes)))


def _address(array: npt.NDArray[Any]) -> int:
    return array.ctypes.data
