"""Packs the records of a search into fewer bytes where they wait: in the frontier, among the new states, in files.

Depends on bytes. The code is compiled for the domains at the search's bounds (lowering/packing.py), when a search gets large, and
kept like all compiled code.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import numpy.typing as npt

from kafka_spec.model_check.code.arrays import Bytes, Words, address
from kafka_spec.model_check.exploration import EngineError
from kafka_spec.model_check.llvm.machine_code import CodeText, load, text_known
from kafka_spec.model_check.lowering.packing import SPARE, codec_text, packed_bytes, size_bits
from kafka_spec.model_check.record.layout import Layout


class Codec:
    """The compiled codec of records; `most` is the most bytes of a row, `seed` that of the program's fingerprints.

    Rows have different lengths and stand one after the other. `reach` bytes from the start of each must be readable, also of the
    last one.
    """

    def __init__(self, text: CodeText, most: int, record_bytes: int, seed: int, fresh: bool = False) -> None:
        self.text, self.most, self.record_bytes, self.seed = text, most, record_bytes, seed
        self.reach = most + SPARE
        self.counter = np.dtype(f"u{size_bits(most) // 8}")
        """The type of the numbers that count the bytes of a row."""
        self._library = load(text, fresh=fresh).engine
        pointer, integer = ctypes.c_void_p, ctypes.c_int64
        pack, unpack = (self._library.get_function_address(name) for name in ("pack", "unpack"))
        self._pack = ctypes.CFUNCTYPE(integer, pointer, pointer, integer, pointer, pointer)(pack)
        self._unpack = ctypes.CFUNCTYPE(integer, pointer, integer, pointer, *[integer] * 3, pointer)(unpack)

    @classmethod
    def of(cls, layout: Layout, seed: int, fresh: bool = False) -> Codec:
        """Return the codec of a layout."""
        return cls(text_known(codec_text(layout)), packed_bytes(layout), layout.size, seed, fresh)

    def pack(self, states: Bytes, places: npt.NDArray[np.uint32], rows: Bytes, sizes: npt.NDArray[Any]) -> int:
        """Pack the records at some places into rows, in the order of the places; return the bytes of all, and set that of each."""
        return int(self._pack(address(states), address(places), len(places), address(rows), address(sizes)))

    def unpack(self, rows: Bytes, size: int, marks: Words, states: Bytes | None = None) -> Bytes:
        """Return the records of rows with these fingerprints, in `states` if it is given; the rows are of so many bytes at most.

        Raises:
            EngineError: a record has another fingerprint than when it was packed.
        """
        states = np.empty((len(marks), self.record_bytes), np.uint8) if states is None else states[: len(marks)]
        wrong = self._unpack(address(rows), size, address(marks), True, len(marks), self.seed, address(states))
        if wrong >= 0:
            raise EngineError(f"the packed state {int(marks[wrong]):016x} has changed: its memory or its file is damaged")
        return states

    def restore(self, rows: Bytes, size: int, states: Bytes, marks: Words) -> None:
        """Write the records of rows whose fingerprints are not known, and these; the rows are of so many bytes.

        Raises:
            EngineError: there are fewer rows.
        """
        if self._unpack(address(rows), size, address(marks), False, len(states), self.seed, address(states)) >= 0:
            raise EngineError("packed states are missing: they are damaged")
